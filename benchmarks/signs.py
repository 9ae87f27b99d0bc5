"""Signs of how the house stands: lines, the longest files and classes, parameters typed ``Any``, linear algebra in estimators, tests.

Run as ``python -m benchmarks.signs``; with ``--write`` the table goes into docs/design.md, between the lines that mark its place.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "gramian"
PAGE = ROOT / "docs" / "design.md"
START, END = "<!-- signs -->", "<!-- end of signs -->"
BEFORE = {
    "lines of `src/gramian`": "28,154",
    "of these, code (no docstrings, comments or blank lines)": "",
    "longest file, lines": "819",
    "longest file, lines of code": "",
    "longest class, lines": "749",
    "longest class, lines of code": "",
    "parameters typed `Any`": "29 %",
    "files of `estimators` with linear algebra": "3",
    "checks of the class of a subspace": "38",
    "modules of `latent` without a test file": "23 of 28",
}
"""What the review before the rebuild found (shared ARCHITECTURE page and issue); empty where it was not counted."""


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
        return self.path.relative_to(SOURCE).as_posix()

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


def signs() -> dict[str, str]:
    """The table, in words and numbers."""
    modules = [Module.of(path) for path in sorted(SOURCE.rglob("*.py"))]
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
    untested = [name for name in latent if not (ROOT / "tests" / "latent" / f"test_{name}.py").exists()]
    checks = sum(len(re.findall(r"(?:isinstance|hasattr)\([^)]*[sS]ubspace", module.text)) for module in modules)
    return {
        "lines of `src/gramian`": f"{sum(m.n_lines for m in modules):,}",
        "of these, code (no docstrings, comments or blank lines)": f"{sum(map(len, code.values())):,}",
        "longest file, lines": f"{longest.n_lines} (`{longest.name}`)",
        "longest file, lines of code": f"{len(code[fullest.name])} (`{fullest.name}`)",
        "longest class, lines": f"{length(long_class)} (`{long_class.name}`)",
        "longest class, lines of code": f"{code_length(home, full_class)} (`{full_class.name}`)",
        "parameters typed `Any`": f"{100 * free / len(parameters):.1f} %",
        "files of `estimators` with linear algebra": str(sum("linalg" in module.text for module in estimators)),
        "checks of the class of a subspace": str(checks),
        "modules of `latent` without a test file": f"{len(untested)} of {len(latent)}",
    }


def table() -> str:
    """The signs before and after, as Markdown."""
    rows = [f"| {name} | {BEFORE[name] or 'not counted'} | {value} |" for name, value in signs().items()]
    return "\n".join(["| sign | before | now |", "|---|---|---|", *rows])


if __name__ == "__main__":
    print(table())
    if "--write" in sys.argv:
        before, rest = PAGE.read_text().split(START)
        PAGE.write_text(f"{before}{START}\n{table()}\n{END}{rest.split(END)[1]}")
