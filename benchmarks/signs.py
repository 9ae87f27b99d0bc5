"""Signs of how the house stands: lines, the longest files and classes, parameters typed ``Any``, linear algebra in estimators, tests.

Run as ``python -m benchmarks.signs [folder of another checkout]``: with a folder, the signs of that one are printed. ``--numbers`` prints named
numbers by package. With ``--write`` the
table before and after goes into docs/design.md, between the lines that mark its place.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from experiments._page import write_block

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "design.md"
BEFORE = {
    "lines of `src/gramian`": "28,154",
    "of these, code (no docstrings, comments or blank lines)": "19,164",
    "of these, in `latent` and `estimators`": "7,095",
    "files of more than 300 lines of code": "12",
    "longest file, lines": "819 (`estimators/multiview.py`)",
    "longest file, lines of code": "592 (`estimators/multiview.py`)",
    "longest class, lines": "749 (`MultiViewRKM`)",
    "longest class, lines of code": "532 (`MultiViewRKM`)",
    "parameters typed `Any`": "30.2 %",
    "files of `estimators` with linear algebra": "3",
    "checks of the class of a subspace": "19",
    "modules of `latent` without a test file": "22 of 27",
    "named numbers (`NAME = number` in a module)": "555",
    "fields of the policy": "0",
}
"""The signs of commit 0e460de, the last before the rebuild; named numbers and the policy of c0834db, the last before the jury."""
NAMED = re.compile(r"^(_?[A-Z][A-Z0-9_]+(?:, [A-Z0-9_]+)*) *(?:: *[A-Za-z]+ *)?= *\(?-?[0-9]", re.MULTILINE)
"""Module-level constants that are numbers, or begin with one."""


@dataclass(frozen=True)
class Module:
    """A source file, parsed."""

    path: Path
    text: str
    tree: ast.Module

    @classmethod
    def of(cls, path: Path) -> Module:
        text = path.read_text()
        return cls(path, text, ast.parse(text))

    @property
    def name(self) -> str:
        return self.path.as_posix().rpartition("/src/gramian/")[2]

    @property
    def n_lines(self) -> int:
        return self.text.count("\n")

    def code_lines(self) -> set[int]:
        """Numbers of lines that hold code: no docstrings, comments or blank lines."""
        lines: set[int] = set()
        skipped = {
            tokenize.COMMENT,
            tokenize.NL,
            tokenize.NEWLINE,
            tokenize.INDENT,
            tokenize.DEDENT,
            tokenize.ENDMARKER,
        }
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in skipped:
                lines.update(range(token.start[0], token.end[0] + 1))
        for node in ast.walk(self.tree):
            body = getattr(node, "body", None)
            for item in body if isinstance(body, list) else ():
                if (
                    isinstance(item, ast.Expr)
                    and isinstance(item.value, ast.Constant)
                    and isinstance(item.value.value, str)
                ):
                    assert item.end_lineno is not None
                    lines.difference_update(range(item.lineno, item.end_lineno + 1))
        return lines

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))

    def parameters(self) -> Iterator[ast.arg]:
        """Annotated parameters of every function."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args
                extra = [arg for arg in (given.vararg, given.kwarg) if arg is not None]
                yield from (a for a in [*given.posonlyargs, *given.args, *given.kwonlyargs, *extra] if a.annotation)


def signs(root: Path = ROOT) -> dict[str, str]:
    """The table, in words and numbers."""
    modules = [Module.of(path) for path in sorted((root / "src" / "gramian").rglob("*.py"))]
    code = {module.name: module.code_lines() for module in modules}
    classes = [(module, node) for module in modules for node in module.classes()]

    def length(node: ast.ClassDef) -> int:
        return (node.end_lineno or 0) - node.lineno + 1

    def code_length(module: Module, node: ast.ClassDef) -> int:
        return len(code[module.name] & set(range(node.lineno, (node.end_lineno or 0) + 1)))

    longest = max(modules, key=lambda m: m.n_lines)
    fullest = max(modules, key=lambda m: len(code[m.name]))
    _, long_class = max(classes, key=lambda pair: length(pair[1]))
    home, full_class = max(classes, key=lambda pair: code_length(*pair))
    parameters = [ast.unparse(a.annotation) for module in modules for a in module.parameters() if a.annotation]
    free = sum(name == "Any" for name in parameters)
    estimators = [module for module in modules if module.name.startswith("estimators/")]
    latent = [module.path.stem for module in modules if module.name.startswith("latent/") and module.n_lines]
    untested = [name for name in latent if not (root / "tests" / "latent" / f"test_{name}.py").exists()]
    checks = sum(len(re.findall(r"(?:isinstance|hasattr)\([^)]*[sS]ubspace", module.text)) for module in modules)
    return {
        "lines of `src/gramian`": f"{sum(m.n_lines for m in modules):,}",
        "of these, code (no docstrings, comments or blank lines)": f"{sum(map(len, code.values())):,}",
        "of these, in `latent` and `estimators`": f"{sum(len(code[m.name]) for m in modules if m.name.startswith(('latent/', 'estimators/'))):,}",
        "files of more than 300 lines of code": str(sum(len(lines) > 300 for lines in code.values())),
        "longest file, lines": f"{longest.n_lines} (`{longest.name}`)",
        "longest file, lines of code": f"{len(code[fullest.name])} (`{fullest.name}`)",
        "longest class, lines": f"{length(long_class)} (`{long_class.name}`)",
        "longest class, lines of code": f"{code_length(home, full_class)} (`{full_class.name}`)",
        "parameters typed `Any`": f"{100 * free / len(parameters):.1f} %",
        "files of `estimators` with linear algebra": str(sum("linalg" in module.text for module in estimators)),
        "checks of the class of a subspace": str(checks),
        "modules of `latent` without a test file": f"{len(untested)} of {len(latent)}",
        "named numbers (`NAME = number` in a module)": str(sum(named_numbers(modules).values())),
        "fields of the policy": str(sum(m.text.count("= number(") for m in modules if m.name == "policy.py")),
    }


def named_numbers(modules: list[Module]) -> dict[str, int]:
    """How many each package has, most first."""
    counts = Counter({module.name.partition("/")[0]: 0 for module in modules})
    for module in modules:
        counts[module.name.partition("/")[0]] += sum(names.count(",") + 1 for names in NAMED.findall(module.text))
    return {name: count for name, count in counts.most_common() if count}


def table() -> str:
    """The signs before and after, as Markdown."""
    rows = [f"| {name} | {BEFORE[name]} | {value} |" for name, value in signs().items()]
    return "\n".join(["| sign | before | now |", "|---|---|---|", *rows])


if __name__ == "__main__":
    folders = [Path(word).resolve() for word in sys.argv[1:] if not word.startswith("-")]
    if "--numbers" in sys.argv:
        paths = sorted(((folders or [ROOT])[0] / "src" / "gramian").rglob("*.py"))
        print(
            "\n".join(f"{name}: {count}" for name, count in named_numbers([Module.of(path) for path in paths]).items())
        )
    elif folders:
        print("\n".join(f"    {name!r}: {value!r}," for name, value in signs(folders[0]).items()))
    else:
        print(table())
    if "--write" in sys.argv:
        write_block(PAGE, "signs", table().splitlines())
