"""Kernels chosen on held-out rows, and what landmarks lose."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian._content import row_hashes
from gramian.kernels import RBF, Linear, Sum
from gramian.policy import TARGETS
from gramian.targets.design import families
from gramian.targets.kernel_choice import choose_target_kernel, copies_of_smallest
from gramian.targets.landmarks import landmark_loss


def rows(n=150, d=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def noisy(values, seed=1):
    return (values + 0.1 * np.random.default_rng(seed).standard_normal(len(values)))[:, None]


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (lambda X: X @ [1.0, -2.0], (Linear, Sum)),
        (lambda X: np.sin(3 * X[:, 0]), (RBF, Sum)),
        (lambda X: 2 * X[:, 0] + np.sin(3 * X[:, 1]), (Sum, RBF)),
    ],
)
def test_the_kernel_suits_the_function(function, kinds):
    X = rows()
    choice = choose_target_kernel(X, noisy(function(X)), np.ones(len(X)), 5)
    assert isinstance(choice.kernel, kinds)
    assert choice.selection.chosen["kernel"] is choice.kernel
    assert choice.selection.scores[choice.selection.index] == choice.selection.scores.max()
    assert len(choice.selection.candidates) == 3
    assert not choice.squash


def test_the_choice_depends_on_contents_only():
    X = rows()
    Y = noisy(np.sin(2 * X[:, 0]))
    order = np.random.default_rng(3).permutation(len(X))
    a, b = (choose_target_kernel(X[o], Y[o], np.ones(len(X)), 5) for o in (np.arange(len(X)), order))
    assert repr(a.kernel) == repr(b.kernel)
    assert_allclose(a.selection.scores, b.selection.scores, rtol=1e-8)
    twice = choose_target_kernel(np.repeat(X, 2, axis=0), np.repeat(Y, 2, axis=0), np.ones(2 * len(X)), 5)
    weighted = choose_target_kernel(X, Y, np.full(len(X), 2.0), 5)
    assert_allclose(twice.selection.scores, weighted.selection.scores, rtol=1e-8)


def test_squashed_inputs_are_taken_where_they_predict_better():
    rng = np.random.default_rng(0)
    X = rng.standard_t(1.2, (200, 1))
    squashed = np.arcsinh(X)
    choice = choose_target_kernel(X, noisy(squashed[:, 0]), np.ones(200), 5, squashed)
    assert choice.squash
    assert len(choice.selection.candidates) == 6
    assert not choose_target_kernel(X, noisy(X[:, 0]), np.ones(200), 5, squashed).squash


@pytest.mark.parametrize("kind", [0, 1, 2], ids=["linear", "gaussian", "sum"])
def test_slopes_are_those_of_the_ridge_regression(kind):
    X, weights = rows(60, 3), np.random.default_rng(2).uniform(0.5, 1.5, 60)
    weights /= weights.sum()
    Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] ** 2])
    design, ridge = families(X, weights, row_hashes(X), (1.0,))[kind][0], 1e-3
    centre = np.sqrt(weights)[:, None] * (np.eye(60) - weights)

    def fitted(Z):
        """Kernel ridge regression in the dual, from the kernel itself."""
        dual = centre @ design.kernel(X) @ centre.T + ridge * np.eye(60)
        values = design.kernel(Z, X) - weights @ design.kernel(X)
        return values @ centre.T @ np.linalg.solve(dual, centre @ Y)

    step = 1e-5
    slopes = []
    for j in range(3):
        move = step * np.eye(3)[j]
        slopes.append((fitted(X + move) - fitted(X - move)) / (2 * step))
    expected = np.sqrt(np.einsum("n,jnk->j", weights, np.square(slopes)))
    assert_allclose(design.slopes(X, Y, weights, ridge), expected, rtol=1e-4)


def test_columns_that_do_not_matter_count_less_where_that_predicts_better():
    X = rows(200, 8)
    Y = noisy(np.sin(2 * X[:, 0]) + X[:, 1] ** 2)
    choice = choose_target_kernel(X, Y, np.ones(200), 5, weigh=True)
    assert choice.selection.chosen["relevance"]
    assert choice.relevance[:2].min() > 3 * choice.relevance[2:].max()
    assert choice.relevance.max() == 1.0
    assert choice.relevance.min() >= TARGETS.relevance
    alike = choose_target_kernel(X, noisy(X @ np.ones(8)), np.ones(200), 5, weigh=True)
    assert alike.relevance is None
    assert not alike.selection.chosen["relevance"]


@pytest.mark.parametrize("X, Y", [(rows(100, 1), noisy(rows(100, 1)[:, 0])), (rows(100, 3), np.zeros((100, 1)))])
def test_one_column_and_a_constant_target_have_no_relevances(X, Y):
    choice = choose_target_kernel(X, Y, np.ones(100), 5, weigh=True)
    assert choice.relevance is None
    assert choice.selection is None or "relevance" not in choice.selection.chosen


def test_nothing_to_hold_out_is_the_median_width():
    choice = choose_target_kernel(rows(6), np.arange(6.0)[:, None], np.ones(6), 5)
    assert choice.selection is None
    assert isinstance(choice.kernel, RBF)


def test_drawn_rows_keep_all_copies():
    X = np.repeat(rows(20), 2, axis=0)
    taken = copies_of_smallest(row_hashes(X), 5)
    assert len(taken) == 10
    assert len(np.unique(X[taken], axis=0)) == 5


def test_landmarks_lose_what_they_lose():
    X = rows(200, 3)
    Y = noisy(np.sin(2 * X[:, 0]) * np.cos(2 * X[:, 1]))
    few = landmark_loss(RBF(1.0), X, Y, np.ones(200), 10, 5)
    all_rows = landmark_loss(RBF(1.0), X, Y, np.ones(200), 200, 5)
    assert few.approximate > 1.5 * few.exact
    assert_allclose(all_rows.approximate, all_rows.exact)
    assert (few.n_landmarks, few.n_rows) == (10, 200)
