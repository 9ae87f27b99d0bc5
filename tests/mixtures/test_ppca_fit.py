"""The fitted mixture of PPCA: in the units of its rows, with as many latents as its clusters call for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from gramian._precision import HALF_DIGITS
from gramian.mixtures.complete import CompleteRows
from gramian.mixtures.holes import RowsWithHoles
from gramian.mixtures.mixture import nonempty
from gramian.mixtures.ppca_fit import fit_mixture, gaussian_rows, with_directions_above_noise
from gramian.mixtures.rows import MixtureTable
from gramian.mixtures.start import Given
from oracles import naive
from oracles.tables import TABLES, with_holes

X = 50.0 * TABLES["tall"] + 1000.0
OPTIONS = {"shared": False, "rng": np.random.default_rng(0)}


def two_clusters(n=200):
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 2
    W = rng.standard_normal((2, 5, 3)) * np.array([[3.0, 2.0, 0.0], [3.0, 0.0, 0.0]])[:, None]
    rows = np.einsum("ndq,nq->nd", W[labels], rng.standard_normal((n, 3))) + 30.0 * labels[:, None]
    return rows + 0.1 * rng.standard_normal((n, 5)), np.eye(2)[labels]


def test_one_cluster_is_ppca_in_the_units_of_the_rows():
    found = fit_mixture(MixtureTable.of(X, np.ones(60), np.ones((60, 1))), [2], Given(), **OPTIONS)
    mean, W, noise = naive.ppca(X, 2)[:3]
    model = found.components[0]
    assert_allclose(model.subspace.mean, mean)
    assert_allclose(model.gaussian.noise_variance, noise, rtol=1e-8)
    assert_allclose(found.objective, naive.log_density(X, mean, W, noise).mean(), rtol=1e-8)
    assert_allclose(found.responsibilities, 1.0)


@pytest.mark.parametrize("share", [0.0, 0.2], ids=["complete", "holes"])
def test_the_objective_is_the_mean_log_likelihood_of_what_rows_show_and_never_falls(share):
    rows, start = two_clusters()
    rows = with_holes(rows, share) if share else rows
    table = MixtureTable.of(rows, np.ones(200), nonempty(0.7 * start + 0.15))
    found = fit_mixture(table, [2, 1], Given(), tol=1e-10, max_iter=300, **OPTIONS)
    terms = np.column_stack(
        [
            np.log(m)
            + naive.log_density(rows, c.subspace.mean, c.subspace.loadings(c.gaussian.gains), c.gaussian.noise_variance)
            for c, m in zip(found.components, found.mixing)
        ]
    )
    assert_allclose(found.objective, logsumexp(terms, axis=1).mean(), rtol=1e-5)
    assert (np.diff(found.log_likelihoods) >= -1e-9).all()
    kind = RowsWithHoles if share else CompleteRows
    assert type(gaussian_rows(table, [1], **OPTIONS)) is kind


def test_a_fraction_of_the_variance_becomes_the_number_that_each_cluster_needs():
    rows, start = two_clusters(400)
    table = MixtureTable.of(rows, np.ones(400), start)
    expected = []
    for mine in (start[:, 0] > 0, start[:, 1] > 0):
        values = np.linalg.eigvalsh(naive.covariance(rows[mine])[1])[::-1]
        expected.append(int(np.searchsorted(np.cumsum(values) / values.sum(), 0.98)) + 1)
    found = fit_mixture(table, [0.98, 0.98], Given(), **OPTIONS)
    assert expected[0] > expected[1]
    assert [model.gaussian.n_components for model in found.components] == expected
    slim = fit_mixture(table, expected, Given(), with_responsibilities=False, **OPTIONS)
    assert slim.responsibilities.shape == (0, 2)
    assert_allclose(slim.objective, found.objective, rtol=1e-6)


def test_directions_at_the_noise_are_dropped_and_the_density_stays():
    rows, start = two_clusters(400)
    found = fit_mixture(MixtureTable.of(rows, np.ones(400), start), [4, 4], Given(), shared=True, rng=OPTIONS["rng"])
    slim = with_directions_above_noise(found)
    for model, before in zip(slim.components, found.components):
        gaussian = before.gaussian
        expected = int((gaussian.eigenvalues > gaussian.noise_variance * (1 + HALF_DIGITS)).sum())
        assert model.gaussian.n_components == expected
        assert_allclose(
            model.gaussian.log_density(model.subspace.project(rows[:5])),
            gaussian.log_density(before.subspace.project(rows[:5])),
            rtol=1e-6,
        )


def test_a_cluster_without_noise_is_named():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((80, 4))
    rows[:40] = rng.standard_normal((40, 1)) @ np.ones((1, 4)) + 20.0
    start = np.eye(2)[(np.arange(80) >= 40).astype(int)]
    found = fit_mixture(MixtureTable.of(rows, np.ones(80), start), [2, 2], Given(), **OPTIONS)
    assert found.at_floor == [0]
    assert_allclose(found.components[0].gaussian.noise_variance, found.noise_floor, rtol=1e-3)
