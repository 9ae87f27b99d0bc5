"""The EM of mixtures: all kinds of rows agree, and none lets the likelihood fall."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from gramian._precision import ROUNDING
from gramian.latent.masked_table import masked_chunk
from gramian.mixtures.complete import CompleteRows
from gramian.mixtures.holes import RowsWithHoles
from gramian.mixtures.mixture import climb, nonempty
from gramian.mixtures.ppca_fit import mixture_fit
from gramian.mixtures.rows import MixtureTable
from gramian.mixtures.start import Given


def clusters(n=300, d=6, K=3, q=2, apart=2.0, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % K
    X = np.empty((n, d))
    for k in range(K):
        rows = labels == k
        latent = rng.standard_normal((rows.sum(), q)) @ rng.standard_normal((q, d))
        X[rows] = latent + 0.4 * rng.standard_normal((rows.sum(), d)) + apart * rng.standard_normal(d)
    return X, labels


def soft(labels, K, seed=0):
    return 0.5 * np.eye(K)[labels] + 0.5 * np.random.default_rng(seed).dirichlet(np.ones(K), len(labels))


def rows_of(kind, X, counts, start, weights=None, shared=False):
    table = MixtureTable.of(X, np.ones(len(X)) if weights is None else weights, nonempty(start))
    if kind is RowsWithHoles and table.complete:
        prepared = table.rows.prepare(masked_chunk, table.shift, table.scale)
        table = replace(table, rows=prepared, complete=False)
    return kind(table, tuple(counts), shared, ROUNDING, np.random.default_rng(0))


def fit(kind, X, counts, start, weights=None, shared=False, **options):
    rows = rows_of(kind, X, counts, start, weights, shared)
    return mixture_fit(rows, climb(rows, Given(), **options))


def log_density(X, fit):
    """log Σ π_k N(x_o), by SciPy."""
    out = np.zeros(len(X))
    for i, row in enumerate(X):
        o = ~np.isnan(row)
        terms = []
        for weight, model in zip(fit.mixing, fit.components):
            W = model.subspace.components.T * model.gaussian.gains
            C = W @ W.T + model.gaussian.noise_variance * np.eye(len(row))
            density = multivariate_normal(model.subspace.mean[o], C[np.ix_(o, o)]).logpdf(row[o]) if o.any() else 0.0
            terms.append(np.log(weight) + density)
        out[i] = logsumexp(terms)
    return out


class Mixed(CompleteRows):
    """The closed form only where it is cheaper."""

    closed = False


class Expanded(Mixed):
    """PX-EM also where the closed form would be cheaper."""

    def expands(self, n_rows, pairs):
        return True


KINDS = {"closed": CompleteRows, "mixed": Mixed, "expanded": Expanded, "holes": RowsWithHoles}


@pytest.mark.parametrize("shared", [False, True], ids=["separate", "shared"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_likelihood_never_falls_and_is_the_explicit_mixture_density(kind, shared):
    X, labels = clusters()
    found = fit(kind, X, (2, 1, 3), soft(labels, 3), shared=shared, max_iter=60)
    assert len(found.log_likelihoods) > 3
    assert (np.diff(found.log_likelihoods) >= 0).all()
    assert_allclose(found.log_likelihoods[-1], log_density(X, found).mean(), rtol=1e-8)
    noises = [model.gaussian.noise_variance for model in found.components]
    assert (np.ptp(noises) == 0) == shared


@pytest.mark.parametrize("shared", [False, True], ids=["separate", "shared"])
def test_all_kinds_of_rows_end_in_the_same_maximum(shared):
    X, labels = clusters()
    start = soft(labels, 3)
    levels = [
        fit(kind, X, (2, 2, 2), start, shared=shared, tol=1e-10, max_iter=2000).log_likelihoods[-1]
        for kind in KINDS.values()
    ]
    assert_allclose(levels, levels[0], rtol=1e-5)


def test_a_step_with_all_but_one_components_is_that_of_the_full_covariance_mixture():
    X, labels = clusters(d=4)
    start = soft(labels, 3)

    class Started(GaussianMixture):
        def _initialize_parameters(self, X, random_state, xp=None):
            self._initialize(X, start)

    for steps in (1, 2, 5):
        with pytest.warns(UserWarning, match="did not converge"):
            reference = Started(3, reg_covar=0.0, tol=0.0, max_iter=steps).fit(X)
        found = fit(CompleteRows, X, (3, 3, 3), start, tol=0.0, max_iter=steps)
        assert len(found.log_likelihoods) == steps
        assert_allclose(found.log_likelihoods[-1], reference.lower_bound_, rtol=1e-10)


def test_a_step_without_components_is_that_of_the_spherical_mixture():
    X, labels = clusters(d=4)
    start = soft(labels, 3)

    class Started(GaussianMixture):
        def _initialize_parameters(self, X, random_state, xp=None):
            self._initialize(X, start)

    with pytest.warns(UserWarning, match="did not converge"):
        reference = Started(3, covariance_type="spherical", reg_covar=0.0, tol=0.0, max_iter=4).fit(X)
    for kind in KINDS.values():
        found = fit(kind, X, (0, 0, 0), start, tol=0.0, max_iter=4)
        if kind in (CompleteRows, Mixed):  # the others start from a part of the rows, or from a floor
            assert_allclose(found.log_likelihoods[-1], reference.lower_bound_, rtol=1e-10)
        assert np.isfinite(found.log_likelihoods).all()


def test_one_component_is_the_closed_form_of_ppca():
    X, _ = clusters(K=1)
    found = fit(CompleteRows, X, (2,), np.ones((len(X), 1)))
    values = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    gaussian = found.components[0].gaussian
    assert_allclose(gaussian.eigenvalues, values[:2])
    assert_allclose(gaussian.noise_variance, values[2:].mean())
    assert found.converged


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_weights_equal_repeated_rows(kind):
    X, labels = clusters(n=90)
    weights = np.random.default_rng(1).integers(1, 4, 90)
    start = soft(labels, 3)
    weighted = fit(kind, X, (1, 1, 1), start, weights.astype(float), max_iter=15)
    copies, starts = np.repeat(X, weights, axis=0), np.repeat(start, weights, axis=0)
    repeated = fit(kind, copies, (1, 1, 1), starts, max_iter=15)
    assert_allclose(weighted.log_likelihoods, repeated.log_likelihoods, rtol=1e-8)


def test_with_holes_densities_and_responsibilities_come_from_what_is_seen():
    X, labels = clusters()
    X[np.random.default_rng(2).random(X.shape) < 0.25] = np.nan
    X[4] = np.nan
    found = fit(RowsWithHoles, X, (2, 1, 2), soft(labels, 3), tol=1e-9)
    assert (np.diff(found.log_likelihoods) >= 0).all()
    assert_allclose(found.log_likelihoods[-1], log_density(np.delete(X, 4, axis=0), found).mean(), rtol=1e-8)
    assert_allclose(found.responsibilities.sum(axis=1), 1.0, atol=1e-12)
    assert_allclose(found.responsibilities[4], found.mixing, rtol=1e-12)


def test_clusters_far_apart_keep_their_digits():
    X, labels = clusters(n=200, d=4, K=2, q=1)
    near = fit(CompleteRows, X, (1, 1), np.eye(2)[labels])
    far = fit(CompleteRows, X + 1e5 * labels[:, None], (1, 1), np.eye(2)[labels])
    for k in range(2):
        rows = X[labels == k]
        values = np.linalg.eigvalsh(np.cov(rows.T, bias=True))[::-1]
        assert_allclose(far.components[k].gaussian.noise_variance, values[1:].mean(), rtol=1e-6)
    assert far.log_likelihoods[-1] >= near.log_likelihoods[-1] - 1.0


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_an_empty_component_is_rescued(kind):
    X, labels = clusters(n=200, K=2, apart=6.0)
    start = np.zeros((200, 3))
    start[:, 0] = labels == 0
    start[:, 1] = labels == 1
    start[0] = [0.0, 0.0, 1.0]  # one row alone
    found = fit(kind, X, (1, 1, 1), start, max_iter=300)
    assert found.n_rescued >= 1
    assert (found.mixing > 0.02).all()
    assert (np.diff(found.log_likelihoods) >= 0).all()


def test_max_iter_one_is_one_step():
    X, labels = clusters()
    found = fit(CompleteRows, X, (1, 1, 1), soft(labels, 3), max_iter=1)
    assert len(found.log_likelihoods) == 1
    assert not found.converged
