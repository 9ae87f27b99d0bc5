"""One noise per view: the ECM climbs to a stationary point of the likelihood, and a noise that collapses is bounded."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian._precision import SEEN
from gramian.exceptions import NumericalWarning
from gramian.kernels import RBF, Linear
from gramian.operators.gram import DenseGram
from gramian.solvers.eigh import Eigh
from gramian.views import noise as view_noise
from gramian.views.noise import (
    COLLAPSE,
    fit_view_noises,
    held_out_residuals,
    scales_of,
    solve_scaled,
    start_noises,
    view_inputs,
)
from gramian.views.view import ExplicitView, KernelView, ViewTable
from oracles import naive

RNG = np.random.default_rng(0)
Z = RNG.standard_normal((300, 2))
VIEWS = [Z @ RNG.standard_normal((2, d)) + s * RNG.standard_normal((300, d)) for d, s in ((5, 0.3), (4, 1.0))]
WEIGHTS = np.full(300, 1 / 300)
TABLE = ViewTable(tuple(ExplicitView(X) for X in VIEWS), WEIGHTS, 300.0)


def mean_log_likelihood(noises):
    """Of factor analysis with one noise per view, at its best loadings."""
    scales = 1 / np.sqrt(np.repeat(noises, [5, 4]))
    mean, W = naive.ppca(np.hstack(VIEWS) * scales, 2, noise=1.0)[:2]
    return naive.log_density(np.hstack(VIEWS) * scales, mean, W, 1.0).mean() + np.log(scales).sum()


@pytest.mark.parametrize("space", ["primal", "dual"])
def test_the_noises_are_a_stationary_point_of_the_likelihood(space):
    found = fit_view_noises(TABLE, 2, Eigh(), space, tol=1e-9, max_iter=2000)
    assert_allclose(found.log_likelihoods[-1], mean_log_likelihood(found.noise_variances), rtol=1e-8)
    assert (np.diff(found.log_likelihoods) >= -1e-12).all()
    best = mean_log_likelihood(found.noise_variances)
    for v in range(2):
        for factor in (0.98, 1.02):
            moved = found.noise_variances.copy()
            moved[v] *= factor
            assert mean_log_likelihood(moved) < best
    assert_allclose(found.noise_variances, [0.09, 1.0], rtol=0.2)
    assert found.settled


def test_leaps_and_factored_rows_end_at_the_same_noises():
    slow = fit_view_noises(TABLE, 2, Eigh(), "primal", tol=1e-10, max_iter=2000)
    quick = fit_view_noises(TABLE, 2, Eigh(), "primal", tol=1e-10, max_iter=2000, leaps=True)
    assert_allclose(quick.noise_variances, slow.noise_variances, rtol=1e-6)
    assert quick.n_iter < slow.n_iter


def test_scales_and_starts_are_those_of_the_definition():
    assert_allclose(scales_of(np.array([4.0, 0.0])), [0.5, 0.0])
    traces = [np.trace(naive.covariance(X)[1]) for X in VIEWS]
    assert_allclose(start_noises(TABLE), np.array(traces) / [5, 4])


def test_only_components_above_the_noise_are_kept():
    sample, spectrum = solve_scaled(TABLE, 9, Eigh(), "primal", start_noises(TABLE))
    assert (spectrum.eigenvalues > 1.0).all()
    assert len(spectrum.eigenvalues) < 9
    assert_allclose(sample.scales, scales_of(start_noises(TABLE)))


def test_held_out_residuals_are_those_of_predictions_from_the_other_views():
    mask = np.arange(300) % 5 == 0
    noises = np.array([0.09, 1.0])
    found = held_out_residuals(TABLE, 2, Eigh(), "primal", noises, mask)
    scales = 1 / np.sqrt(np.repeat(noises, [5, 4]))
    table = np.hstack(VIEWS) * scales
    mean, W = naive.ppca(table[~mask], 2, noise=1.0)[:2]
    for v, columns in enumerate((slice(0, 5), slice(5, 9))):
        rows = table[mask].copy()
        rows[:, columns] = np.nan
        predicted = np.array([mean + W @ naive.posterior(row, mean, W, 1.0)[0] for row in rows])
        left = (table[mask] - predicted)[:, columns] / scales[columns]
        assert_allclose(found[v], np.square(left).mean(), rtol=1e-7)


def test_a_noise_that_collapses_is_bounded_by_what_held_out_rows_leave():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = np.sin(X[:, :1]) + 0.3 * rng.standard_normal((80, 1))
    views = (KernelView(RBF(0.2), X, DenseGram(RBF(0.2)(X))), ExplicitView(y))
    table = ViewTable(views, np.full(80, 1 / 80), 80.0)
    held = np.arange(80) % 5 == 0
    free = fit_view_noises(table, 40, Eigh(), "dual", max_iter=100)
    with pytest.warns(NumericalWarning, match="view 'y'"):
        found = fit_view_noises(table, 40, Eigh(), "dual", max_iter=100, held=held, names=["x", "y"])
    left = held_out_residuals(table, 40, Eigh(), "dual", free.noise_variances, held)
    assert free.noise_variances[1] < COLLAPSE * left[1]
    assert 0.5 * left[1] < found.noise_variances[1] <= start_noises(table)[1]


def test_floors_hold_and_an_exact_view_is_held_at_the_smallest_noise():
    found = fit_view_noises(TABLE, 2, Eigh(), "primal", floors=np.array([0.5, 0.0]))
    assert found.noise_variances[0] == 0.5
    exact = ViewTable((ExplicitView(Z @ np.ones((2, 3))), ExplicitView(Z)), WEIGHTS, 300.0)
    noises = fit_view_noises(exact, 2, Eigh(), "primal", max_iter=200).noise_variances
    assert (noises >= SEEN * start_noises(exact) * (1 - 1e-12)).all()


def test_what_a_view_shows_of_held_out_rows_is_features_or_kernel_values_over_the_kept():
    held, kept = np.arange(5), np.arange(5, 20)
    X = VIEWS[0][:20]
    assert_allclose(view_inputs(ExplicitView(X), held, kept), X[:5])
    kernel = KernelView(Linear(), X, DenseGram(X @ X.T))
    assert_allclose(view_inputs(kernel, held, kept), X[:5] @ X[5:].T)


def test_a_leap_from_steps_that_hardly_bend_stays_within_reach():
    """Steps that are all but equal point to infinity; exp of the answer must not overflow."""
    first = np.zeros(2)
    far = view_noise._leap(first, first + 1.0, first + 2.0 + 1e-9)
    assert np.abs(far).max() == 300.0
