"""How many small faults in the code do the tests notice? A sample of mutants of the latent models and of the jury, one at a time, in a copy.

Run as ``python -m benchmarks.mutation_score [mutants] [seed]``. A mutant is one operator, comparison, number or returned value changed somewhere in
``gramian/latent`` or ``gramian/evidence`` (not in docstrings, messages or annotations). It is noticed when the tests of its room, or those of the identities
and properties, fail. What survives is listed: some mutants change nothing that can be seen.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._results import note

ROOT = Path(__file__).parents[1]
ROOMS = ("latent", "evidence")
SWAPS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
SECONDS = 600


@dataclass(frozen=True)
class Mutant:
    """The n-th place of a file that can be changed."""

    file: Path
    place: int

    @property
    def room(self) -> str:
        """Which tests look at it first."""
        return self.file.parent.name

    def source(self) -> tuple[str, str]:
        """The changed text, and what was changed."""
        tree = ast.parse(self.file.read_text(encoding="utf-8"))
        node = places(tree)[self.place]
        before = ast.unparse(node)
        line = node.lineno  # type: ignore[attr-defined]
        if isinstance(node, ast.BinOp):
            node.op = SWAPS[type(node.op)]()
        elif isinstance(node, ast.Compare):
            node.ops[0] = SWAPS[type(node.ops[0])]()
        elif isinstance(node, ast.Constant):
            node.value = node.value + 1  # type: ignore[operator]
        return ast.unparse(tree), f"{self.file.parent.name}/{self.file.name}:{line}: {before} -> {ast.unparse(node)}"


def places(tree: ast.AST) -> list[ast.AST]:
    """What can be changed: arithmetic, comparisons, numbers."""
    skipped = {id(inner) for node in ast.walk(tree) for part in _unseen(node) for inner in ast.walk(part)}
    found = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if (
            (isinstance(node, ast.BinOp) and type(node.op) in SWAPS)
            or (isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS)
            or (isinstance(node, ast.Constant) and type(node.value) in (int, float))
        ):
            found.append(node)
    return found


def _unseen(node: ast.AST) -> list[ast.AST]:
    """Annotations, messages and decorators."""
    if isinstance(node, ast.Raise | ast.JoinedStr):
        return [node]
    if isinstance(node, ast.AnnAssign):
        return [node.annotation]
    if isinstance(node, ast.arg) and node.annotation is not None:
        return [node.annotation]
    if isinstance(node, ast.FunctionDef):
        return [*node.decorator_list, *([node.returns] if node.returns is not None else [])]
    return []


def sample(count: int, seed: int) -> list[Mutant]:
    """So many mutants, drawn from all places alike."""
    every = [
        Mutant(file, place)
        for room in ROOMS
        for file in sorted((ROOT / "src" / "gramian" / room).glob("*.py"))
        for place in range(len(places(ast.parse(file.read_text(encoding="utf-8")))))
    ]
    drawn = np.random.default_rng(seed).choice(len(every), min(count, len(every)), replace=False)
    return [every[int(i)] for i in drawn]


def noticed(mutant: Mutant, copy: Path) -> tuple[bool, str]:
    """Whether a test fails (or does not end), and the change in words."""
    text, words = mutant.source()
    target = copy / mutant.file.relative_to(ROOT / "src")
    right = target.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{ROOT}", "OPENBLAS_NUM_THREADS": "1"}
    try:
        for tests in (f"tests/{mutant.room}", "tests/identities"):
            call = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", tests]
            try:
                done = subprocess.run(call, cwd=ROOT, env=env, capture_output=True, timeout=SECONDS, check=False)
            except subprocess.TimeoutExpired:
                return True, words
            if done.returncode:
                return True, words
        return False, words
    finally:
        target.write_text(right, encoding="utf-8")


def main() -> None:
    """Print and keep the score."""
    given = [int(word) for word in sys.argv[1:]]
    count, seed = (*given, *(20, 0)[len(given) :])
    caught, survived = 0, []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", folder, dirs_exist_ok=True)
        for mutant in sample(count, seed):
            found, words = noticed(mutant, Path(folder))
            caught += found
            survived += [] if found else [words]
            print("noticed " if found else "SURVIVED", words, flush=True)
            note("mutants", {"tried": caught + len(survived), "noticed": caught, "survived": survived, "seed": seed})


if __name__ == "__main__":
    main()
