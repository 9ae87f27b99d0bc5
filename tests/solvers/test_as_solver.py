"""Names become solvers with the options given; objects keep their own."""

import pytest

from gramian.solvers import SOLVERS, Eigh, Em, Krylov, as_solver


def test_names_take_the_options_that_they_have():
    solver = as_solver("krylov", tol=1e-3, max_iter=7, random_state=5)
    assert isinstance(solver, Krylov)
    assert solver.get_params() == {"tol": 1e-3, "max_iter": 7, "random_state": 5}
    assert isinstance(as_solver("eigh", tol=1e-3, max_iter=7, random_state=5), Eigh)


def test_objects_keep_their_own_options():
    solver = Em(tol=1e-9)
    assert as_solver(solver, tol=1e-3, max_iter=7, random_state=5) is solver
    assert solver.tol == 1e-9


@pytest.mark.parametrize("bad", ["lapack", "Eigh"])
def test_unknown_name_is_answered_with_the_table(bad):
    with pytest.raises(ValueError, match=f"solver='{bad}'.*'eigh', 'krylov'"):
        as_solver(bad)


@pytest.mark.parametrize("bad", [None, 3, Eigh, object()])
def test_what_cannot_solve_is_refused(bad):
    with pytest.raises(ValueError, match=r"is not a solver.*'auto'"):
        as_solver(bad)


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "eigh"])
@pytest.mark.parametrize(
    "option", [{"tol": -1.0}, {"tol": float("nan")}, {"max_iter": 0}, {"random_state": -1}], ids=str
)
def test_bad_options_are_named_when_solving(name, option):
    import numpy as np

    from gramian.operators.covariance import Stored

    with pytest.raises(ValueError, match=next(iter(option))):
        as_solver(name, **option).solve(Stored(np.eye(700)), 2)


@pytest.mark.parametrize("name", SOLVERS)
def test_memory_grows_with_the_problem(name):
    solver = as_solver(name)
    assert 0 < solver.bytes_needed(100, 2) < solver.bytes_needed(10_000, 2) <= solver.bytes_needed(10_000, 200)
