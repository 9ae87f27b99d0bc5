"""Names say what a thing is: functions are verbs or nouns, never a participle alone, which leaves open who did what."""

import ast
from pathlib import Path

import gramian

IRREGULAR = {
    "told",
    "said",
    "kept",
    "held",
    "built",
    "found",
    "known",
    "shown",
    "drawn",
    "taken",
    "given",
    "chosen",
    "written",
    "hidden",
    "seen",
    "woven",
    "left",
    "thrown",
    "spent",
    "brought",
    "sent",
    "lost",
    "made",
    "bound",
    "broken",
    "meant",
}
VERBS = {"embed", "feed", "seed", "need", "exceed"}


def is_lone_participle(name):
    word = name.strip("_")
    return "_" not in word and word not in VERBS and (word.endswith("ed") or word in IRREGULAR)


def test_the_rule_sees_what_it_forbids():
    assert [name for name in ("_told", "filled", "fill", "held_out", "seed") if is_lone_participle(name)] == [
        "_told",
        "filled",
    ]


def test_no_function_of_a_module_is_a_participle_alone():
    root = Path(gramian.__file__).parent
    found = [
        f"{path.relative_to(root)}: {node.name}"
        for path in sorted(root.rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and is_lone_participle(node.name)
    ]
    assert not found, found
