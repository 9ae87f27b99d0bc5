"""q by held-out evidence: the formula is the density of held-out rows, and the rule finds what is there."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.oracles import naive

from gramian._content import content_folds
from gramian.evidence import dimension
from gramian.evidence.dimension import GramFamily, JudgedMoments, MomentFamily, choose_dimension
from gramian.evidence.held_out import HeldOut
from gramian.operators.moments import Moments


def table(n, d, q, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) * 2 + noise * rng.standard_normal((n, d)) + 3.0


def parts(X, weights=None, n_folds=5):
    fold = content_folds(X, n_folds)[1]
    weights = np.ones(len(X)) if weights is None else weights
    moments = [Moments.of(X[fold == f], weights[fold == f]) for f in range(n_folds)]
    return fold, JudgedMoments(moments, X, weights, fold)


def gram_paths(X, weights, center=True):
    return HeldOut.of(X).each(GramFamily(X @ X.T, weights, center, X.shape[1]).path)


@pytest.mark.parametrize("center", [True, False])
def test_the_score_of_every_q_is_the_mean_density_of_the_held_out_rows(center):
    X, weights = table(60, 7, 2), np.random.default_rng(1).integers(1, 4, 60).astype(float)
    fold, moments = parts(X, weights)
    for f, found in enumerate(MomentFamily(moments, center).paths()):
        out = fold == f
        levels = found.log_likelihoods()
        for q in range(7):
            mean, W, noise, _, _ = naive.ppca(X[~out], q, weights[~out], center)
            assert_allclose(levels[:, q], naive.log_density(X[out], mean, W, noise), rtol=1e-9)
        assert_allclose(levels[:, 7], levels[:, 6], rtol=1e-9)  # the full Gaussian


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(40, 6), (20, 50)])
def test_gram_blocks_give_the_folds_of_the_moments(shape, center):
    X = table(*shape, 3)
    weights = np.random.default_rng(2).random(len(X)) + 0.5
    _, moments = parts(X, weights)
    for primal, dual in zip(MomentFamily(moments, center).paths(), gram_paths(X, weights, center)):
        rank = min(len(primal.eigenvalues), len(dual.eigenvalues))
        assert_allclose(dual.eigenvalues[:rank], primal.eigenvalues[:rank], rtol=1e-8)
        assert_allclose(dual.squared_scores[:, :rank], primal.squared_scores[:, :rank], rtol=1e-6, atol=1e-9)
        assert_allclose(dual.squared_norms, primal.squared_norms, rtol=1e-9)
        assert_allclose(dual.trace, primal.trace, rtol=1e-9)


@pytest.mark.parametrize(("n", "d", "q"), [(200, 10, 3), (30, 20, 4), (50, 100, 5), (30, 500, 5)])
def test_the_true_q_is_found_with_more_and_with_fewer_rows_than_columns(n, d, q):
    X = table(n, d, q)
    _, moments = parts(X)
    paths = MomentFamily(moments).paths() if d <= n else gram_paths(X, np.ones(n))
    assert choose_dimension(paths).chosen == q


@pytest.mark.parametrize(("n", "d"), [(100, 10), (50, 100)])
def test_pure_noise_has_one_component_and_none_where_0_is_a_candidate(n, d):
    X = np.random.default_rng(0).standard_normal((n, d))
    paths = gram_paths(X, np.ones(n))
    assert choose_dimension(paths).chosen == 1
    assert choose_dimension(paths, smallest=0).chosen == 0


def test_exact_rank_is_kept_whole():
    X = table(80, 10, 4, noise=0.0)
    assert choose_dimension(MomentFamily(parts(X)[1]).paths()).chosen == 4


def test_constant_rows_leave_the_smallest_candidate():
    X = np.full((12, 3), 2.0)
    X[0, 0] = 2.0
    moments = [Moments.of(X[i::3]) for i in range(3)]
    judged = JudgedMoments(moments, X, np.ones(12), np.arange(12) % 3)
    assert choose_dimension(MomentFamily(judged).paths()).chosen == 1


def test_a_few_wild_rows_do_not_decide_q():
    rng = np.random.default_rng(0)
    X = table(500, 20, 4)
    wild = X.copy()
    wild[:10] += 50.0 * rng.standard_normal((10, 20))
    _, moments = parts(wild)
    found = choose_dimension(MomentFamily(moments).paths())
    assert (~found.evidence.voted).sum() == 10
    assert found.evidence.row_losses.mean(axis=1).argmin() == 0  # q = 1: what the mean over all rows would take
    assert found.chosen >= 4
    usual, taken = (naive.ppca(wild, q, np.ones(500), True)[:3] for q in (1, found.chosen))
    assert naive.log_density(X, *taken).mean() > naive.log_density(X, *usual).mean() + 1.0


@pytest.mark.parametrize("smallest", [0, 1])
def test_many_rows_are_judged_by_their_means_as_few_are_one_by_one(monkeypatch, smallest):
    """Wild rows do not vote either way, and a fold of nothing but such rows is left out."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3)) @ rng.standard_normal((3, 6)) + 0.5 * rng.standard_normal((150, 6))
    fold = np.arange(150) % 5
    X[[3, 40]] *= 100.0
    fold[[3, 40]] = 5
    weights = rng.integers(1, 4, 150).astype(float)
    parts = [Moments.of(X[fold == f], weights[fold == f]) for f in range(6)]
    paths = MomentFamily(JudgedMoments(parts, X, weights, fold)).paths()
    each = choose_dimension(paths, smallest=smallest)
    monkeypatch.setattr(dimension, "LOOK", replace(dimension.LOOK, rows=149))
    together = choose_dimension(paths, smallest=smallest)
    assert not each.evidence.voted.all()
    assert together.evidence.row_losses is None
    assert (together.chosen, together.candidates) == (each.chosen, each.candidates)
    assert_allclose(together.evidence.losses, each.evidence.losses, rtol=1e-11)
    assert_allclose(together.evidence.weights, each.evidence.weights)
