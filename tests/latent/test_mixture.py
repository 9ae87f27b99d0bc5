"""The EM of PPCA mixtures: the three kinds of rows agree, and none lets the likelihood fall."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from gramian.latent.kernel_mixture import log_terms
from gramian.latent.masked_table import MaskedTable
from gramian.latent.mixture import fit_mixture, mixture_rows
from gramian.latent.mixture_complete import ClosedRows, ExpandedRows, shared_noise
from gramian.latent.mixture_lens import Lens
from gramian.latent.mixture_masked import MaskedRows
from gramian.latent.mixture_rows import MixtureTable
from gramian.latent.noise import ZERO_NOISE
from gramian.latent.primal import latent_model


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


def rows_of(kind, X, counts, weights=None, shared=False):
    table = MixtureTable.of(X, np.ones(len(X)) if weights is None else weights)
    if kind is MaskedRows and table.masked is None:
        masked = MaskedTable.of(X, table.shift, table.scale)
        table = MixtureTable(X, table.weights, table.shift, table.scale, None, masked)
    return kind(table, tuple(counts), shared, ZERO_NOISE, np.random.default_rng(0), 1)


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


class AlwaysExpanded(ExpandedRows):
    """PX-EM also where the closed form would be cheaper."""

    def gathers(self, responsibilities):
        return True


KINDS = {"closed": ClosedRows, "mixed": ExpandedRows, "expanded": AlwaysExpanded, "masked": MaskedRows}


@pytest.mark.parametrize("shared", [False, True], ids=["separate", "shared"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_likelihood_never_falls_and_is_the_explicit_mixture_density(kind, shared):
    X, labels = clusters()
    fit = fit_mixture(rows_of(kind, X, (2, 1, 3), shared=shared), soft(labels, 3), max_iter=60)
    assert len(fit.log_likelihoods) > 3
    assert (np.diff(fit.log_likelihoods) >= 0).all()
    assert_allclose(fit.log_likelihoods[-1], log_density(X, fit).mean(), rtol=1e-8)
    noises = [model.gaussian.noise_variance for model in fit.components]
    assert (np.ptp(noises) == 0) == shared


@pytest.mark.parametrize("shared", [False, True], ids=["separate", "shared"])
def test_all_kinds_of_rows_end_in_the_same_maximum(shared):
    X, labels = clusters()
    start = soft(labels, 3)
    levels = [
        fit_mixture(rows_of(kind, X, (2, 2, 2), shared=shared), start, tol=1e-10, max_iter=2000).log_likelihoods[-1]
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
        fit = fit_mixture(rows_of(ClosedRows, X, (3, 3, 3)), start, tol=0.0, max_iter=steps)
        assert len(fit.log_likelihoods) == steps
        assert_allclose(fit.log_likelihoods[-1], reference.lower_bound_, rtol=1e-10)


def test_a_step_without_components_is_that_of_the_spherical_mixture():
    X, labels = clusters(d=4)
    start = soft(labels, 3)

    class Started(GaussianMixture):
        def _initialize_parameters(self, X, random_state, xp=None):
            self._initialize(X, start)

    with pytest.warns(UserWarning, match="did not converge"):
        reference = Started(3, covariance_type="spherical", reg_covar=0.0, tol=0.0, max_iter=4).fit(X)
    for kind in KINDS.values():
        fit = fit_mixture(rows_of(kind, X, (0, 0, 0)), start, tol=0.0, max_iter=4)
        if kind in (ClosedRows, ExpandedRows):  # the others start from a part of the rows, or from a floor
            assert_allclose(fit.log_likelihoods[-1], reference.lower_bound_, rtol=1e-10)
        assert np.isfinite(fit.log_likelihoods).all()


def test_one_component_is_the_closed_form_of_ppca():
    X, _ = clusters(K=1)
    fit = fit_mixture(rows_of(ClosedRows, X, (2,)), np.ones((len(X), 1)))
    values = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    gaussian = fit.components[0].gaussian
    assert_allclose(gaussian.eigenvalues, values[:2])
    assert_allclose(gaussian.noise_variance, values[2:].mean())
    assert fit.converged


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_weights_equal_repeated_rows(kind):
    X, labels = clusters(n=90)
    weights = np.random.default_rng(1).integers(1, 4, 90)
    start = soft(labels, 3)
    weighted = fit_mixture(rows_of(kind, X, (1, 1, 1), weights.astype(float)), start, max_iter=15)
    repeated = fit_mixture(
        rows_of(kind, np.repeat(X, weights, axis=0), (1, 1, 1)), np.repeat(start, weights, axis=0), max_iter=15
    )
    if kind is AlwaysExpanded:  # its start takes every row of a cluster once
        assert_allclose(weighted.log_likelihoods[-1], repeated.log_likelihoods[-1], rtol=1e-3)
    else:
        assert_allclose(weighted.log_likelihoods, repeated.log_likelihoods, rtol=1e-8)


def test_with_holes_densities_and_responsibilities_come_from_what_is_seen():
    X, labels = clusters()
    X[np.random.default_rng(2).random(X.shape) < 0.25] = np.nan
    X[4] = np.nan
    rows = rows_of(MaskedRows, X, (2, 1, 2))
    fit = fit_mixture(rows, soft(labels, 3), tol=1e-9)
    assert (np.diff(fit.log_likelihoods) >= 0).all()
    assert_allclose(fit.log_likelihoods[-1], log_density(X, fit).mean(), rtol=1e-8)
    assert_allclose(fit.responsibilities.sum(axis=1), 1.0, atol=1e-12)
    assert_allclose(fit.responsibilities[4], fit.mixing, rtol=1e-12)


def test_the_lens_sees_what_the_gaussians_see():
    rng = np.random.default_rng(0)
    models = [latent_model(rng.standard_normal(5), rng.standard_normal((5, q)), 0.1 + q) for q in (2, 0, 3)]
    mixing = np.array([0.2, 0.5, 0.3])
    X = rng.standard_normal((20, 5))
    lens = Lens.of(models, mixing)
    seen = [model.subspace.project(X) for model in models]
    for far in (False, True):
        whitened, terms = replace(lens, far=far)(X, (X**2).sum(axis=1))
        assert_allclose(terms, log_terms(models, mixing, seen), rtol=1e-10)
        for k, (model, part) in enumerate(zip(models, seen)):
            q = model.gaussian.n_components
            latents = whitened[:, k, :q] * lens.gains[k, :q]
            assert_allclose(latents, model.gaussian.posterior(part).mean, atol=1e-12)


def test_clusters_far_apart_keep_their_digits():
    X, labels = clusters(n=200, d=4, K=2, q=1)
    near = fit_mixture(rows_of(ClosedRows, X, (1, 1)), np.eye(2)[labels])
    far = fit_mixture(rows_of(ClosedRows, X + 1e5 * labels[:, None], (1, 1)), np.eye(2)[labels])
    for k in range(2):
        rows = X[labels == k]
        values = np.linalg.eigvalsh(np.cov(rows.T, bias=True))[::-1]
        assert_allclose(far.components[k].gaussian.noise_variance, values[1:].mean(), rtol=1e-6)
    assert far.log_likelihoods[-1] >= near.log_likelihoods[-1] - 1.0


def test_shared_noise_is_the_stationary_point():
    values = [np.array([5.0, 1.2]), np.array([3.0, 0.4])]
    traces, masses = np.array([9.0, 6.0]), np.array([2.0, 1.0])

    def objective(noise):
        total = 0.0
        for n, l, trace in zip(masses, values, traces):
            above = l[l > noise]
            rest = 5 - len(above)
            total += n * (np.log(above).sum() + rest * np.log(noise) + (trace - above.sum()) / noise + len(above))
        return total

    found = shared_noise(values, traces, masses, 5, 1e-12)
    grid = np.linspace(0.5 * found, 2 * found, 2001)
    assert objective(found) <= min(map(objective, grid)) + 1e-12


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_an_empty_component_is_rescued(kind):
    X, labels = clusters(n=200, K=2, apart=6.0)
    start = np.zeros((200, 3))
    start[:, 0] = labels == 0
    start[:, 1] = labels == 1
    start[0] = [0.0, 0.0, 1.0]  # one row alone
    fit = fit_mixture(rows_of(kind, X, (1, 1, 1)), start, max_iter=300)
    assert fit.n_rescued >= 1
    assert (fit.mixing > 0.02).all()
    assert (np.diff(fit.log_likelihoods) >= 0).all()


def test_max_iter_one_is_one_step():
    X, labels = clusters()
    fit = fit_mixture(rows_of(ClosedRows, X, (1, 1, 1)), soft(labels, 3), max_iter=1)
    assert len(fit.log_likelihoods) == 1
    assert not fit.converged


def test_the_kind_of_rows_follows_the_shape():
    rng = np.random.default_rng(0)

    def kind(n, d, counts, holes=False):
        X = rng.standard_normal((n, d))
        X[0, 0] = np.nan if holes else 0.0
        return type(mixture_rows(MixtureTable.of(X, np.ones(n)), counts, shared=False, rng=rng))

    assert kind(200, 10, [2, 2]) is ClosedRows
    assert kind(200, 100, [2, 2]) is ExpandedRows
    assert kind(200, 100, [20, 20]) is ClosedRows
    assert kind(200, 100, [2]) is ClosedRows
    assert kind(200, 10, [2, 2], holes=True) is MaskedRows


def test_large_tables_take_the_closed_form_while_rows_belong_to_one_cluster():
    X, labels = clusters(n=400, d=80, K=4, apart=0.05)
    rows = mixture_rows(MixtureTable.of(X, np.ones(400)), [1] * 4, shared=False, rng=np.random.default_rng(0))
    assert type(rows) is ExpandedRows
    assert rows.gathers(soft(labels, 4))
    big = rows_of(ExpandedRows, np.vstack([X] * 20), (5,) * 4)
    assert not big.gathers(np.eye(4)[np.tile(labels, 20)])
    assert big.gathers(np.full((8000, 4), 0.25)) == (8000 * 4 * 80**2 + 4 * 4 * 80**3 > 8 * 8000 * 80 * 4 * 6)
    fit = fit_mixture(big, np.tile(soft(labels, 4), (20, 1)))
    assert (np.diff(fit.log_likelihoods) >= 0).all()
