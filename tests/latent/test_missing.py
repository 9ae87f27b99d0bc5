"""PX-EM with holes: exact, monotone, at the maximum, whatever the pattern, the scale and the weights."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from gramian.latent import masked_em, masked_start
from gramian.latent.masked_em import Parameters, row_posterior
from gramian.latent.masked_table import MaskedTable
from gramian.latent.missing import fit_missing
from gramian.rows import ArrayRows, array

SHAPES = {"tall": (200, 8), "wide": (30, 60), "square": (12, 12), "thin": (50, 2)}


def make(n, d, rank=2, noise=0.5, holes=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + noise * rng.standard_normal((n, d))
    X += 3.0 * rng.standard_normal(d)
    X[rng.random((n, d)) < holes] = np.nan
    X[rng.integers(n, size=d), np.arange(d)] = rng.standard_normal(d)  # no column without a value
    return X


def log_densities(X, fit):
    """Each row's observed marginal, by SciPy."""
    covariance = fit.loadings @ fit.loadings.T + fit.noise_variance * np.eye(X.shape[1])
    out = np.zeros(len(X))
    for i, row in enumerate(X):
        o = ~np.isnan(row)
        if o.any():
            out[i] = multivariate_normal(fit.mean[o], covariance[np.ix_(o, o)]).logpdf(row[o])
    return out


def closed_form(X, q, center=True, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    mean = np.average(X, axis=0, weights=weights) if center else np.zeros(X.shape[1])
    values, vectors = np.linalg.eigh((X - mean).T * weights @ (X - mean) / weights.sum())
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = values[q:].mean()
    return mean, (vectors[:, :q] * (values[:q] - noise)) @ vectors[:, :q].T, noise


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("holes", [0.05, 0.4])
def test_log_likelihood_is_the_observed_marginal_of_scipy_and_never_falls(shape, holes):
    X = make(*shape, holes=holes)
    fit = fit_missing(X, 1, random_state=0)
    shown = np.isfinite(X).any(axis=1)
    assert_allclose(fit.log_likelihoods[-1], log_densities(X[shown], fit).mean(), rtol=1e-8)
    assert (np.diff(fit.log_likelihoods) >= 0).all()
    assert fit.converged
    assert fit.n_iter == len(fit.log_likelihoods)


def test_row_densities_and_posteriors_are_those_of_the_conditional_gaussian():
    X = make(40, 7, holes=0.3)
    X[3] = np.nan
    rng = np.random.default_rng(1)
    W, mean, noise = rng.standard_normal((7, 3)), rng.standard_normal(7), 0.3
    ((_, chunk),) = MaskedTable.of(X, np.zeros(7)).chunks()
    found = row_posterior(chunk, Parameters(mean[None], W[None], np.array([noise])))
    covariance = W @ W.T + noise * np.eye(7)
    for i, row in enumerate(X):
        o = ~np.isnan(row)
        gain = W[o].T @ np.linalg.inv(covariance[np.ix_(o, o)]) if o.any() else np.zeros((3, 0))
        spread = np.eye(3) - gain @ W[o]
        assert_allclose(found.mean[:, 0, i], gain @ (row - mean)[o], atol=1e-10)
        assert_allclose(found.covariance[:, 0, i], spread[np.tril_indices(3)], atol=1e-10)
        exact = multivariate_normal(mean[o], covariance[np.ix_(o, o)]).logpdf(row[o]) if o.any() else 0.0
        assert_allclose(found.log_density[0, i], exact, rtol=1e-8, atol=1e-12)


def test_several_gaussians_go_through_together_as_they_do_alone():
    X = make(50, 6)
    rng = np.random.default_rng(2)
    both = Parameters(rng.standard_normal((2, 6)), rng.standard_normal((2, 6, 2)), np.array([0.3, 2.0]))
    table, weights = MaskedTable.of(X, np.zeros(6)), rng.random(50)
    joint = masked_em.maximization(masked_em.expectation(table, weights, both), both)
    for k in range(2):
        alone = masked_em.maximization(masked_em.expectation(table, weights, both[k : k + 1]), both[k : k + 1])
        assert_allclose(joint.loadings[k], alone.loadings[0], rtol=1e-12)
        assert_allclose(joint.mean[k], alone.mean[0], rtol=1e-12)
        assert_allclose(joint.noise_variance[k], alone.noise_variance[0], rtol=1e-12)


def test_padded_components_stay_zero_and_change_nothing():
    X = make(60, 5)
    start = Parameters(np.zeros((1, 5)), np.random.default_rng(0).standard_normal((1, 5, 1)), np.ones(1))
    padded = Parameters(start.mean, np.pad(start.loadings, ((0, 0), (0, 0), (0, 2))), start.noise_variance)
    table, weights = MaskedTable.of(X, np.zeros(5)), np.ones(60)
    for _ in range(3):
        start = masked_em.maximization(masked_em.expectation(table, weights, start), start)
        padded = masked_em.maximization(masked_em.expectation(table, weights, padded), padded)
    assert_allclose(padded.loadings[..., :1], start.loadings, rtol=1e-12)
    assert (padded.loadings[..., 1:] == 0).all()


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_without_holes_it_is_the_closed_form(shape, center):
    X = make(*shape, holes=0.0)
    fit = fit_missing(X, 1, center=center)
    mean, outer, noise = closed_form(X, 1, center)
    assert_allclose(fit.mean, mean, atol=1e-9)
    assert_allclose(fit.loadings @ fit.loadings.T, outer, atol=1e-6 * np.abs(outer).max())
    assert_allclose(fit.noise_variance, noise, rtol=1e-6)


def test_em_reaches_the_closed_form_from_a_bad_start():
    X = make(150, 6, holes=0.0)
    rng = np.random.default_rng(0)
    table, weights = MaskedTable.of(X, X.mean(axis=0)), np.ones(150)
    parameters = Parameters(rng.standard_normal((1, 6)), rng.standard_normal((1, 6, 2)), np.array([4.0]))
    levels = []
    for _ in range(60):
        statistics = masked_em.expectation(table, weights, parameters)
        levels.append(float(statistics.log_likelihood[0]))
        parameters = masked_em.maximization(statistics, parameters)
    mean, outer, noise = closed_form(X, 2)
    assert (np.diff(levels) >= -1e-9 * abs(levels[-1])).all()
    assert_allclose(X.mean(axis=0) + parameters.mean[0], mean, atol=1e-6)
    assert_allclose(parameters.loadings[0] @ parameters.loadings[0].T, outer, atol=1e-6)
    assert_allclose(parameters.noise_variance[0], noise, rtol=1e-6)


def best_of_random_starts(X, q, n_starts=20, n_steps=300):
    """The mean log-likelihood that the same EM reaches from random starts."""
    scale = np.nanstd(X)
    table, weights = MaskedTable.of(X, np.nanmean(X, axis=0), scale), np.ones(len(X))
    d = X.shape[1]
    loadings = np.random.default_rng(0).standard_normal((n_starts, d, q))
    parameters = Parameters(np.zeros((n_starts, d)), loadings, np.ones(n_starts))
    for _ in range(n_steps):
        statistics = masked_em.expectation(table, weights, parameters)
        parameters = masked_em.maximization(statistics, parameters)
    return (statistics.log_likelihood.max() - np.isfinite(X).sum() * np.log(scale)) / len(X)


@pytest.mark.parametrize(
    ("n", "d", "rank", "q", "holes"),
    [(100, 6, 2, 2, 0.05), (40, 6, 2, 2, 0.4), (100, 5, 0, 2, 0.5), (20, 30, 2, 2, 0.3)],
)
def test_default_settings_end_within_1e_6_a_cell_of_the_best_of_20_starts(n, d, rank, q, holes):
    X = make(n, d, rank, noise=1.0, holes=holes, seed=3)
    X = X[np.isfinite(X).any(axis=1)]
    fit = fit_missing(X, q, random_state=0)
    cells = np.isfinite(X).sum() / len(X)
    assert (best_of_random_starts(X, q) - fit.log_likelihoods[-1]) / cells < 1e-6


def test_metabolites_end_at_the_maximum(data_file):
    X = np.load(data_file("metabolite.npz"))["incomplete"]
    fit = fit_missing(X, 5)
    cells = np.isfinite(X).sum() / len(X)
    assert (best_of_random_starts(X, 5, n_starts=5, n_steps=100) - fit.log_likelihoods[-1]) / cells < 1e-6


def test_integer_weights_equal_repeated_rows_and_zero_weight_a_removed_one():
    X = make(60, 5)
    weights = np.random.default_rng(0).integers(0, 4, 60)
    weighted, repeated = fit_missing(X, 2, weights=weights), fit_missing(np.repeat(X, weights, axis=0), 2)
    assert_allclose(weighted.loadings, repeated.loadings, atol=1e-8)
    assert_allclose(weighted.mean, repeated.mean, atol=1e-8)
    assert_allclose(weighted.log_likelihoods[-1], repeated.log_likelihoods[-1], rtol=1e-10)


@pytest.mark.parametrize("holes", [0.05, 0.3, 0.6])
def test_the_order_of_rows_and_copies_for_weights_change_no_bit(holes):
    X = make(40, 6, holes=holes)
    X[7, 2], X[9] = 1.0 + 1e-12, X[7]
    X[9, 2] = 1.0  # one hash, two rows
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 4, len(X)).astype(float)
    order = rng.permutation(len(X))
    copies = rng.permutation(np.repeat(np.arange(len(X)), weights.astype(int)))
    fit = fit_missing(X, 2, weights=weights)
    for other in (fit_missing(X[order], 2, weights=weights[order]), fit_missing(X[copies], 2)):
        assert other.log_likelihoods == fit.log_likelihoods
        assert np.array_equal(other.loadings, fit.loadings)
        assert np.array_equal(other.mean, fit.mean)
        assert other.noise_variance == fit.noise_variance


def test_an_empty_row_moves_nothing_and_is_no_row():
    X = make(50, 5)
    more = np.vstack([X, np.full((10, 5), np.nan)])
    fit, other = fit_missing(X, 2), fit_missing(more, 2)
    assert_allclose(fit.loadings, other.loadings, rtol=1e-12)
    assert_allclose(fit.log_likelihoods[-1], other.log_likelihoods[-1], rtol=1e-12)


def test_an_empty_column_is_named_and_an_empty_table_refused():
    X = make(20, 4)
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match="no observed value in column 2"):
        fit_missing(X, 1)
    with pytest.raises(ValueError, match="All cells of X are missing"):
        fit_missing(np.full((5, 3), np.nan), 1)


@pytest.mark.parametrize("offset", [1e8, 1e12])
def test_large_offsets_only_shift_the_mean(offset):
    X = np.round(make(100, 5), 2)
    plain, shifted = fit_missing(X, 2), fit_missing(X + offset, 2)
    rtol = 1e-6 if offset == 1e8 else 1e-2  # 1e12 keeps four decimals of X
    assert_allclose(shifted.noise_variance, plain.noise_variance, rtol=rtol)
    assert_allclose(shifted.loadings @ shifted.loadings.T, plain.loadings @ plain.loadings.T, atol=10 * rtol)
    assert_allclose(shifted.mean - offset, plain.mean, atol=offset * 1e-15 + 1e-6)


@pytest.mark.parametrize("scale", [1e-100, 1e-3, 1e100])
def test_scaling_the_data_scales_the_fit(scale):
    X = make(80, 5)
    plain, scaled = fit_missing(X, 2), fit_missing(X * scale, 2)
    assert_allclose(scaled.loadings / scale, plain.loadings, atol=1e-6)
    assert_allclose(scaled.noise_variance / scale**2, plain.noise_variance, rtol=1e-6)
    cells = np.isfinite(X).sum() / len(X)
    assert_allclose(scaled.log_likelihoods[-1], plain.log_likelihoods[-1] - cells * np.log(scale), rtol=1e-8)


@pytest.mark.parametrize("holes", [0.9, 0.99])
def test_almost_everything_missing_stays_finite(holes):
    X = make(300, 20, holes=holes)
    fit = fit_missing(X, 2, random_state=0)
    assert np.isfinite(fit.mean).all()
    assert np.isfinite(fit.loadings).all()
    assert np.isfinite(fit.log_likelihoods).all()
    assert (np.diff(fit.log_likelihoods) >= 0).all()


def test_constant_columns_get_no_loading():
    X = make(80, 5)
    X[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, 7.0)
    fit = fit_missing(X, 2)
    assert_allclose(fit.loadings[1], 0.0, atol=1e-3)
    assert_allclose(fit.mean[1], 7.0, atol=1e-3)
    constant = fit_missing(np.where(np.isnan(X), np.nan, 2.0), 2)
    assert constant.noise_variance == 0.0
    assert (constant.loadings == 0).all()
    assert_allclose(constant.mean, 2.0)


def test_exact_low_rank_data_have_exactly_no_noise():
    X = make(100, 6, rank=2, noise=0.0, holes=0.2)
    X = np.where(np.isnan(X), np.nan, make(100, 6, rank=2, noise=0.0, holes=0.0))  # undo the fixed-up cells
    keep = np.isfinite(X).all(axis=0) | np.isfinite(X).any(axis=0)
    full = np.random.default_rng(0)
    Z, W = full.standard_normal((100, 2)), full.standard_normal((6, 2))
    low_rank = np.where(np.isnan(X), np.nan, Z @ W.T + 1.0)[:, keep]
    fit = fit_missing(low_rank, 2)
    assert fit.noise_variance == 0.0
    assert fit.converged
    U, S, _ = np.linalg.svd(fit.loadings, full_matrices=False)
    assert S[1] > 0.1
    assert_allclose(U @ (U.T @ W), W, atol=1e-4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", [6, 11])  # of those where the climb by the holes itself arrives at a noise of zero
def test_a_climb_by_the_holes_that_ends_without_noise_is_the_end(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 6))
    X[:, 1] = X[:, 0]
    X[rng.random(X.shape) < 0.02] = np.nan
    fit = fit_missing(X, 5)
    assert fit.noise_variance == 0.0
    assert fit.converged
    assert np.isfinite(fit.log_likelihoods).all()


def test_no_components_is_mean_and_variance():
    X = make(100, 4)
    fit = fit_missing(X, 0)
    assert fit.loadings.shape == (4, 0)
    assert_allclose(fit.mean, np.nanmean(X, axis=0))
    assert_allclose(fit.noise_variance, np.nanmean((X - np.nanmean(X, axis=0)) ** 2), rtol=1e-10)


def test_a_fixed_noise_is_kept_and_maximised_under():
    X = make(100, 6)
    fit = fit_missing(X, 2, noise_variance=0.4)
    assert fit.noise_variance == 0.4
    free = fit_missing(X, 2)
    same = fit_missing(X, 2, noise_variance=free.noise_variance)
    assert_allclose(same.loadings, free.loadings, atol=1e-3)
    assert fit.log_likelihoods[-1] < free.log_likelihoods[-1]
    assert_allclose(fit.log_likelihoods[-1], log_densities(X, fit).mean(), rtol=1e-8)


def test_a_noise_of_zero_without_holes_is_plain_pca():
    X = make(100, 6, holes=0.0)
    fit = fit_missing(X, 2, noise_variance=0)
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    outer = (vectors[:, -2:] * values[-2:]) @ vectors[:, -2:].T
    assert fit.noise_variance == 0.0
    assert_allclose(fit.loadings @ fit.loadings.T, outer, atol=1e-6)


def test_loadings_are_orthogonal_ordered_and_signed():
    W = fit_missing(make(100, 6), 3).loadings
    gram = W.T @ W
    assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10)
    assert (np.diff(np.diag(gram)) <= 0).all()
    assert (W[np.abs(W).argmax(axis=0), np.arange(3)] > 0).all()


def test_chunks_and_threads_and_float32_change_nothing_that_matters(monkeypatch):
    X = make(500, 6)
    whole = fit_missing(X, 2)
    single = fit_missing(X.astype(np.float32), 2)
    assert_allclose(single.loadings, whole.loadings, rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(array, "SIZES", replace(array.SIZES, kept=0))
    monkeypatch.setattr(array, "thread_count", lambda: 2)
    parts = fit_missing(ArrayRows(X, np.ones(500), block_rows=77), 2)
    assert_allclose(parts.loadings, whole.loadings, atol=1e-9)
    assert_allclose(parts.log_likelihoods[-1], whole.log_likelihoods[-1], rtol=1e-12)


def test_a_step_costs_the_same_products_whatever_the_number_of_patterns(monkeypatch):
    counted = []
    product = masked_em._product
    monkeypatch.setattr(masked_em, "_product", lambda a, b: counted.append(a.shape) or product(a, b))
    X = make(2000, 10, holes=0.0)
    parameters = Parameters(np.zeros((1, 10)), np.ones((1, 10, 2)), np.ones(1))
    masked_em.expectation(MaskedTable.of(X, np.zeros(10)), np.ones(2000), parameters)
    without, counted[:] = list(counted), []
    X[np.random.default_rng(0).random(X.shape) < 0.5] = np.nan
    masked_em.expectation(MaskedTable.of(X, np.zeros(10)), np.ones(2000), parameters)
    assert counted == without
    assert len(counted) == 4


def test_many_columns_start_from_rows_alone(monkeypatch):
    X = make(40, 80)
    full = fit_missing(X, 2)
    monkeypatch.setattr(masked_start, "SIZES", replace(masked_start.SIZES, pairs=10))
    assert_allclose(fit_missing(X, 2).log_likelihoods[-1], full.log_likelihoods[-1], rtol=1e-6)
    monkeypatch.setattr(masked_start, "LOOK", replace(masked_start.LOOK, rows=20))
    assert_allclose(fit_missing(X, 2, random_state=0).log_likelihoods[-1], full.log_likelihoods[-1], rtol=1e-6)


def test_max_iter_is_kept_and_reported():
    fit = fit_missing(make(100, 8, holes=0.4), 3, max_iter=2)
    assert fit.n_iter == 2
    assert not fit.converged


def test_a_noise_that_is_nothing_beside_the_data_leaves_the_subspace_of_noise_zero():
    X = make(40, 5, 2, noise=0.3, holes=0.2, seed=1)
    unit = 1e142
    with np.errstate(over="raise", invalid="raise"):
        tiny = fit_missing(X * unit, 2, noise_variance=0.1)
    zero = fit_missing(X, 2, noise_variance=0.0)
    assert tiny.noise_variance == 0.1
    assert_allclose(tiny.loadings / unit, zero.loadings, rtol=1e-9)
