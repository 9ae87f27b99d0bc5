"""The engine of many small systems: equal to the Gaussian of one row, with one noise or one per block of columns."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.decomposition import FactorAnalysis

from gramian.latent import masked_em
from gramian.latent.masked_em import (
    Parameters,
    chunk_statistics,
    eliminate,
    expectation,
    regress_columns,
    row_posterior,
)
from gramian.latent.masked_table import Chunk, MaskedTable
from gramian.latent.missing import fit_missing
from gramian.latent.primal import latent_model
from gramian.policy import SIZES
from oracles import naive

BLOCKS = np.array([0, 0, 1, 1, 1, 2, 2])


def table(n=60, d=7, holes=0.25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + np.sqrt([0.05, 0.4, 1.0])[
        BLOCKS
    ] * rng.standard_normal((n, d))
    X[rng.random(X.shape) < holes] = np.nan
    return X


def parameters(d=7, q=3, blocks=None, seed=1):
    rng = np.random.default_rng(seed)
    noise = np.array([0.3]) if blocks is None else np.array([[0.3, 0.7, 1.5]])
    return Parameters(rng.standard_normal((1, d)), rng.standard_normal((1, d, q)), noise, blocks)


def test_it_equals_the_one_gaussian_of_the_library():
    X, p = table(), parameters()
    model = latent_model(p.mean[0], p.loadings[0], 0.3)
    seen = model.subspace.project(X)
    found = row_posterior(Chunk.of(X.copy()), p)
    assert_allclose(found.log_density[0], model.gaussian.log_density(seen), rtol=1e-9)
    # the axes are turned: compare what does not depend on them
    means = found.mean[:, 0].T @ p.loadings[0].T
    assert_allclose(
        means, model.subspace.embed(model.gaussian.decode(model.gaussian.posterior(seen).mean)) - p.mean[0], atol=1e-9
    )


def test_with_a_noise_per_block_rows_have_the_marginal_of_scipy():
    X, p = table(), parameters(blocks=BLOCKS)
    found = row_posterior(Chunk.of(X.copy(), BLOCKS), p)
    W = p.loadings[0]
    C = W @ W.T + np.diag(p.noise_variance[0, BLOCKS])
    for i, row in enumerate(X):
        o = ~np.isnan(row)
        exact = multivariate_normal(p.mean[0, o], C[np.ix_(o, o)]).logpdf(row[o]) if o.any() else 0.0
        assert_allclose(found.log_density[0, i], exact, rtol=1e-8, atol=1e-12)
        gain = W[o].T @ np.linalg.inv(C[np.ix_(o, o)]) if o.any() else np.zeros((3, 0))
        assert_allclose(found.mean[:, 0, i], gain @ (row - p.mean[0])[o], atol=1e-9)


def test_one_block_is_one_noise():
    X = table()
    one = fit_missing(X, 2)
    same = fit_missing(X, 2, blocks=np.zeros(7, dtype=int))
    assert_allclose(same.noise_variance, [one.noise_variance], rtol=1e-5)
    assert_allclose(same.loadings, one.loadings, atol=1e-4)


def test_the_noises_of_blocks_are_found_and_the_likelihood_never_falls():
    X = table(3000, holes=0.2)
    fit = fit_missing(X, 2, blocks=BLOCKS)
    assert_allclose(fit.noise_variance, [0.05, 0.4, 1.0], rtol=0.1)
    assert (np.diff(fit.log_likelihoods) >= 0).all()
    C = fit.loadings @ fit.loadings.T + np.diag(fit.noise_variance[BLOCKS])
    exact = [
        multivariate_normal(fit.mean[o], C[np.ix_(o, o)]).logpdf(x[o]) if o.any() else 0.0
        for x in X[:200]
        for o in [~np.isnan(x)]
    ]
    part = fit_missing(X[:200], 2, blocks=BLOCKS)
    assert part.log_likelihoods[-1] >= np.mean(exact)  # the maximum of these rows is above any other point


def test_a_block_per_column_is_factor_analysis():
    X = table(300, holes=0.0)
    fit = fit_missing(X, 2, blocks=np.arange(7), tol=1e-8)
    oracle = FactorAnalysis(2, tol=1e-8, max_iter=5000).fit(X)
    assert_allclose(fit.log_likelihoods[-1], oracle.score(X), rtol=1e-6)
    assert_allclose(fit.noise_variance, oracle.noise_variance_, atol=1e-3)


def test_noises_of_blocks_may_be_fixed_one_by_one():
    fit = fit_missing(table(), 2, blocks=BLOCKS, noise_variance=np.array([0.1, np.nan, 2.0]))
    assert_allclose(fit.noise_variance[[0, 2]], [0.1, 2.0])
    assert not np.isclose(fit.noise_variance[1], [0.1, 2.0]).any()


@pytest.mark.parametrize("blocks", [None, BLOCKS])
def test_rows_taken_together_do_not_matter(monkeypatch, blocks):
    X, p = table(50), parameters(blocks=blocks)
    chunk, weights = Chunk.of(X, blocks), np.random.default_rng(0).random(50)
    whole = chunk_statistics(chunk, weights, p)
    monkeypatch.setattr(masked_em, "SIZES", replace(SIZES, tile=14))  # seven rows
    parts = chunk_statistics(chunk, weights, p)
    for name in ("second", "first", "totals", "square", "log_likelihood"):
        assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-10, atol=1e-10)


def test_a_row_that_shows_nothing_counts_for_nothing():
    X, p = table(20), parameters()
    more = np.vstack([X, np.full((5, 7), np.nan)])
    one, two = (masked_em.expectation(MaskedTable.of(T, np.zeros(7)), np.ones(len(T)), p) for T in (X, more))
    assert_allclose(two.totals, one.totals)


@pytest.mark.parametrize("share", [0.01, 0.04, 0.5])
def test_a_column_that_few_rows_show_is_fitted_from_these_rows(share):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    few = max(2, int(200 * share))
    X[few:, 2] = np.nan
    X[:few, 2] += 7.0
    before = Parameters(np.zeros((1, 3)), rng.standard_normal((1, 3, 1)), np.array([0.5]))
    statistics = expectation(MaskedTable.of(X, np.zeros(3)), np.ones(200), before)
    loadings, mean = regress_columns(statistics, before, center=True)
    latents = [naive.posterior(row, before.mean[0], before.loadings[0], 0.5) for row in X[:few]]
    design = np.column_stack([[z[0] for z, _ in latents], np.ones(few)])
    normal = design.T @ design + np.diag([sum(c[0, 0] for _, c in latents), 0.0])
    expected = np.linalg.solve(normal, design.T @ X[:few, 2])
    assert_allclose([loadings[0, 2, 0], mean[0, 2]], expected, rtol=1e-8)


def test_a_pivot_that_rounding_took_away_is_one():
    """Huge equal loadings: the second pivot of I + VᵀV is 2 beside a first of 1e20, and comes out as 0."""
    v = 1e10
    systems = np.array([1 + v * v, v * v, 1 + v * v, 0.0, 0.0, 0.0])[:, None, None]
    log_determinant = eliminate(systems, 2, least=1.0)
    assert np.isfinite(systems).all()
    assert log_determinant[0, 0] == pytest.approx(np.log(1 + 2 * v * v), abs=0.7)


def test_pivots_of_any_size_have_their_logarithm():
    q = 9
    matrix = np.diag(np.logspace(0, 200, q))
    packed = np.concatenate([matrix[np.tril_indices(q)], np.zeros(q), [1.0]])[:, None, None]
    with np.errstate(over="raise"):
        log_determinant = eliminate(packed.copy(), q)
    assert_allclose(log_determinant[0, 0], np.log(matrix.diagonal()).sum(), rtol=1e-12)
