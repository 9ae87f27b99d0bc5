"""The solver that docs/add_a_solver.md writes keeps the contract that the page speaks of."""

import re
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

from gramian.solvers.spectrum import residual_norm
from gramian.testing import check_solver

PAGE = Path(__file__).parents[2] / "docs" / "add_a_solver.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)


@pytest.fixture
def page(monkeypatch):
    module = types.ModuleType("solver_page")  # a real module: the contract pickles the solver by name
    monkeypatch.setitem(sys.modules, "solver_page", module)
    exec(compile(BLOCKS[0], str(PAGE), "exec"), vars(module))
    return module


@pytest.mark.parametrize("sizes", [(1, 2, 3), (16, 50), (120,)], ids=str)
def test_the_solver_of_the_page_keeps_its_contract(page, sizes):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_solver(page.Powers(), sizes=sizes)


def test_the_page_runs_the_contract_on_its_own_solver():
    assert "check_solver(Powers()" in BLOCKS[1]


def test_too_few_steps_break_the_contract(page):
    with pytest.raises(AssertionError):
        check_solver(page.Powers(n_steps=2, n_spare=0), sizes=(50,))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_certificate_does_not_depend_on_the_scale(scale):
    values, vectors = np.array([2.0, 1.0]), np.eye(4)[:, :2]
    images = vectors * values + 1e-3 * np.ones((4, 2))
    assert residual_norm(images * scale, values * scale, vectors) == pytest.approx(1e-3)
