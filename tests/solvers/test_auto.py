"""Auto: the rule as a table, its reasons, and what it promises."""

import numpy as np
import pytest

from gramian.kernels import RBF
from gramian.operators.centering import Centering
from gramian.operators.gram import CenteredGram, LazyGram
from gramian.solvers import Auto, Eigh, Krylov

EXACT = 1e-12

CHOICES = [
    # size, q, solver, tol
    (1, 1, Eigh, None),
    (200, 2, Eigh, None),
    (200, 100, Eigh, None),
    (1199, 2, Eigh, None),
    (1200, 2, Krylov, EXACT),
    (1800, 40, Krylov, EXACT),
    (1800, 41, Eigh, None),
    (1999, 10, Krylov, EXACT),
    (2000, 9, Krylov, 5e-5),
    (2000, 10, Krylov, 5e-5),
    (4000, 9, Krylov, 5e-5),
    (4000, 10, Krylov, 5e-5),
    (4000, 333, Krylov, 5e-5),
    (4000, 334, Eigh, None),
    (100_000, 10, Krylov, 5e-5),
    (100_000, 0, Krylov, 5e-5),
]


@pytest.mark.parametrize("size, q, expected, tol", CHOICES)
def test_choice_by_shape(size, q, expected, tol):
    chosen = Auto().choose(size, q)
    assert type(chosen) is expected
    assert getattr(chosen, "tol", None) == tol
    assert Auto().explain(size, q).startswith(expected.__name__ + ": ")


def test_options_are_handed_on():
    chosen = Auto(tol=1e-7, max_iter=50, random_state=4).choose(5000, 3)
    assert chosen.get_params() == {"tol": 1e-7, "max_iter": 50, "random_state": 4}


def test_memory_is_that_of_the_choice():
    assert Auto().bytes_needed(500, 2) == Eigh().bytes_needed(500, 2)
    assert Auto().bytes_needed(50_000, 2) == Krylov().bytes_needed(50_000, 2) < Eigh().bytes_needed(50_000, 2) / 100


@pytest.mark.parametrize("size", [1100, 1250])
def test_below_2000_rows_the_answer_is_exact_whatever_the_tolerance(size):
    X = np.random.default_rng(0).normal(size=(size, 3))
    gram = CenteredGram(LazyGram(RBF(1.0), X), Centering(np.full(size, 1 / size)))
    found, exact = Auto(tol=1e-2).solve(gram, 5), Eigh().solve(gram, 5)
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-10)
    np.testing.assert_allclose(found.signed().eigenvectors, exact.signed().eigenvectors, atol=1e-8)
