"""q by held-out evidence: the formula is the density of held-out rows, and the rule finds what is there."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.oracles import naive

from gramian._content import content_folds
from gramian.evidence.dimension import choose_dimension, gram_folds, held_out_log_likelihoods, moment_folds
from gramian.operators.moments import Moments


def table(n, d, q, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) * 2 + noise * rng.standard_normal((n, d)) + 3.0


def parts(X, weights=None, n_folds=5):
    fold = content_folds(X, n_folds)[1]
    weights = np.ones(len(X)) if weights is None else weights
    return fold, [Moments.of(X[fold == f], weights[fold == f]) for f in range(n_folds)]


@pytest.mark.parametrize("center", [True, False])
def test_the_score_of_every_q_is_the_mean_density_of_the_held_out_rows(center):
    X, weights = table(60, 7, 2), np.random.default_rng(1).integers(1, 4, 60).astype(float)
    fold, moments = parts(X, weights)
    for f, found in enumerate(moment_folds(moments, center)):
        levels = held_out_log_likelihoods(found, 7)
        out = fold == f
        for q in range(7):
            mean, W, noise, _, _ = naive.ppca(X[~out], q, weights[~out], center)
            exact = np.average(naive.log_density(X[out], mean, W, noise), weights=weights[out])
            assert_allclose(levels[q], exact, rtol=1e-9)
        assert_allclose(levels[7], levels[6], rtol=1e-9)  # the full Gaussian


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(40, 6), (20, 50)])
def test_gram_blocks_give_the_folds_of_the_moments(shape, center):
    X = table(*shape, 3)
    weights = np.random.default_rng(2).random(len(X)) + 0.5
    fold, moments = parts(X, weights)
    for primal, dual in zip(moment_folds(moments, center), gram_folds(X @ X.T, weights, fold, center)):
        rank = min(len(primal.eigenvalues), len(dual.eigenvalues))
        assert_allclose(dual.eigenvalues[:rank], primal.eigenvalues[:rank], rtol=1e-8)
        assert_allclose(dual.squared_scores[:rank], primal.squared_scores[:rank], rtol=1e-7)
        assert_allclose([dual.trace, dual.squared_norm], [primal.trace, primal.squared_norm], rtol=1e-9)


@pytest.mark.parametrize(("n", "d", "q"), [(200, 10, 3), (30, 20, 4), (50, 100, 5), (30, 500, 5)])
def test_the_true_q_is_found_with_more_and_with_fewer_rows_than_columns(n, d, q):
    X = table(n, d, q)
    fold, moments = parts(X)
    folds = moment_folds(moments) if d <= n else gram_folds(X @ X.T, np.ones(n), fold)
    assert choose_dimension(folds, d).chosen == q


@pytest.mark.parametrize(("n", "d"), [(100, 10), (50, 100)])
def test_pure_noise_has_one_component_and_none_where_0_is_a_candidate(n, d):
    X = np.random.default_rng(0).standard_normal((n, d))
    folds = gram_folds(X @ X.T, np.ones(n), content_folds(X, 5)[1])
    assert choose_dimension(folds, d).chosen == 1
    assert choose_dimension(folds, d, smallest=0).chosen == 0


def test_exact_rank_is_kept_whole():
    X = table(80, 10, 4, noise=0.0)
    assert choose_dimension(moment_folds(parts(X)[1]), 10).chosen == 4


def test_constant_rows_leave_the_smallest_candidate():
    X = np.full((12, 3), 2.0)
    X[0, 0] = 2.0
    folds = [Moments.of(X[i::3]) for i in range(3)]
    assert choose_dimension(moment_folds(folds), 3).chosen == 1
