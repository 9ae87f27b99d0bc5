"""Folds of views: moments and rows say the same, and what they say is the error of held-out rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian._content import content_folds
from gramian.kernels import RBF, Polynomial
from gramian.operators.gram import DenseGram
from gramian.rows import Block
from gramian.rows.draws import FoldMoments
from gramian.solvers import Eigh
from gramian.views.folds import FoldedViews, ViewFold, block_moments, fold_moments, ridges_of_folds
from gramian.views.view import ExplicitView, KernelView, ViewTable


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((60, 2))
    views = [z @ rng.standard_normal((2, d)) + 0.4 * rng.standard_normal((60, d)) + 2.0 for d in (4, 3, 2)]
    weights = rng.integers(1, 4, 60).astype(float)
    return ViewTable(tuple(ExplicitView(X) for X in views), weights / weights.sum(), float(weights.sum()))


@pytest.fixture(scope="module")
def fold(table):
    return content_folds(np.hstack([view.features for view in table.views]), 4)[1]


SCALES = np.array([1.0, 2.0, 0.5])


def test_moments_and_rows_give_the_same_folds(table, fold):
    quick = FoldedViews.of(table, fold)
    assert quick.moments is not None
    slow = FoldedViews(table, fold, None)
    for a, b in zip(quick.folds(SCALES, 5, Eigh()), slow.folds(SCALES, 5, Eigh())):
        assert_allclose(a.eigenvalues, b.eigenvalues, rtol=1e-10)
        assert_allclose([a.trace, a.weight], [b.trace, b.weight], rtol=1e-10)
        assert_allclose(a.norms, b.norms, rtol=1e-10)
        for question in (((0, 2), 1), ((1,), 0)):
            errors = [f.errors(question, 3, ridges_of_folds([f]), f.noise(3)) for f in (a, b)]
            assert_allclose(*errors, rtol=1e-7)


@pytest.mark.parametrize("kernel", [False, True])
@pytest.mark.parametrize("question", [((0, 2), 1), ((1,), 0), ((0, 1), 2)])
def test_the_error_of_a_fold_is_that_of_its_predictions(table, fold, question, kernel):
    views = list(table.views)
    if kernel:
        X = views[0].features
        views[0] = KernelView(RBF(3.0), X, DenseGram(RBF(3.0)(X)))
    rows = ViewTable(tuple(views), table.weights, table.total_weight)
    folded = FoldedViews.of(rows, fold, exact=True)
    part: ViewFold = folded.folds(SCALES, 4, Eigh())[1]
    given, target = question
    if kernel and target == 0:
        return  # a kernel view has no coordinates to compare with
    noise, ridges = part.noise(4), np.array([0.01, 1.0])
    seen = part.projections(rows)
    truth = rows.views[target].features[part.held]
    shares = rows.weights[part.held] / rows.weights[part.held].sum()
    for ridge, error in zip(ridges, part.errors(question, 4, ridges, noise)):
        z = part.latents(seen, given, float(ridge), noise)
        guess = part.subspace.parts[target].decoded(z * np.sqrt(np.maximum(part.eigenvalues - noise, 0.0)))
        expected = SCALES[target] ** 2 * shares @ np.square(guess - truth).sum(axis=1)
        assert_allclose(error, expected, rtol=1e-8)


def test_an_infinite_ridge_leaves_the_mean(table, fold):
    part = FoldedViews.of(table, fold).folds(SCALES, 4, Eigh())[0]
    assert not part.latents(part.projections(table), (0,), float("inf"), 0.1).any()
    far = part.errors(((0, 2), 1), 4, np.array([1e12]), 0.1)
    assert_allclose(far, part.norms[1], rtol=1e-6)


def test_moments_of_folds_add_up_over_any_blocks(table, fold):
    features = np.hstack([view.features for view in table.views])
    weights = table.weights * table.total_weight
    whole = fold_moments(features, weights, fold)
    cut = [slice(0, 17), slice(17, 20), slice(20, 60)]
    parts = [block_moments(Block(features[rows], weights[rows], fold[rows]), 4) for rows in cut]
    total: FoldMoments = parts[2] + parts[0] + parts[1]
    for a, b in zip(whole.parts, total.parts):
        assert_allclose(a.mean, b.mean, rtol=1e-10)
        assert_allclose(a.scatter, b.scatter, rtol=1e-9, atol=1e-9)


def test_kernel_views_with_few_components_are_folded_by_moments_and_keep_their_dimension(table, fold):
    X = table.views[1].features
    kernel = Polynomial(degree=2, gamma=0.5)
    views = (KernelView(kernel, X, DenseGram(kernel(X))), table.views[2])
    mixed = ViewTable(views, table.weights, table.total_weight)
    quick, exact = FoldedViews.of(mixed, fold), FoldedViews.of(mixed, fold, exact=True)
    assert quick.moments is not None
    assert exact.moments is None
    pair = [folded.folds(np.ones(2), 3, Eigh())[0] for folded in (quick, exact)]
    assert_allclose(pair[0].eigenvalues, pair[1].eigenvalues, rtol=1e-6)
    assert pair[0].dim == pytest.approx(table.total_weight + 2)
