"""A target model predicts by ridge on the kept components, and its deviations grow with leverage and missing inputs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from gramian.evidence.held_out import HeldOut
from gramian.features import RandomFourier
from gramian.kernels import RBF
from gramian.solvers import Eigh
from gramian.targets.fit import fit_target
from gramian.views.view import ExplicitView, ViewTable

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 6))
OTHER = RNG.standard_normal((80, 3))
Y = np.column_stack([X[:, 0] + 0.5 * OTHER[:, 1], X[:, 1] - X[:, 2]]) + 0.2 * RNG.standard_normal((80, 2))
WEIGHTS = np.full(80, 1 / 80)


def fitted(inputs, **options):
    table = ViewTable(
        (*(view if isinstance(view, ExplicitView) else ExplicitView(view) for view in inputs), ExplicitView(Y)),
        WEIGHTS,
        80.0,
    )
    settings = {"noise_variance": "per-view", "view_weights": 1.0 / table.traces, "folds": HeldOut.of(X, 4)} | options
    return fit_target(table, 4, Eigh(), "primal", **settings)


@pytest.fixture(scope="module")
def model():
    return fitted([X])


@pytest.fixture(scope="module")
def two_inputs():
    return fitted([X, OTHER])


def test_predictions_are_ridge_regression_on_the_kept_components(model):
    part = model.model.subspace.parts[0]
    U = part.subspace.components.T * part.scale  # scores are of the scaled view
    gains = model.gaussian.gains
    W = U / part.scale * gains
    Wy = model.model.subspace.loadings_of(-1, model.gaussian.gains)
    ridge = 1.0 / part.trust
    centred = part.scale * (X[:5] - X.mean(axis=0))
    expected = Y.mean(axis=0) + np.linalg.solve(W.T @ W + ridge * np.eye(len(gains)), W.T @ centred.T).T @ Wy.T
    assert_allclose(model.predict([X[:5]])[0], expected, atol=1e-9)


def test_deviations_grow_by_one_plus_leverage(model):
    far = np.vstack([X.mean(axis=0), 20 * X[:1]])
    _, posterior = model.predict([far])
    std = model.deviations(posterior)
    leverages = np.square(posterior.mean).sum(axis=1) / 80
    assert_allclose(std, np.sqrt(1 + leverages)[:, None] * model.std, rtol=1e-12)
    assert_allclose(model.law([far])[1], std)
    assert (std[1] > 1.5 * std[0]).all()


def test_rows_that_miss_an_input_know_less_and_say_so(two_inputs):
    every, some = np.array([[True, True, False]]), np.array([[True, False, False]])
    solved = {}
    whole = two_inputs.predict([X[:1], OTHER[:1]], every, solved)
    assert_allclose(whole[0], two_inputs.predict([X[:1], OTHER[:1]])[0], atol=1e-12)
    part = two_inputs.predict([X[:1], OTHER[:1]], some, solved)
    assert_allclose(part[0], two_inputs.predict([X[:1], np.full((1, 3), np.nan)], some)[0], atol=1e-9)
    covariances = [posterior.covariance for _, posterior in (whole, part)]
    assert (np.linalg.eigvalsh(covariances[1] - covariances[0]) > -1e-9).all()
    W = two_inputs.model.subspace.loadings_of(-1, two_inputs.gaussian.gains)
    extra = np.diagonal(W @ (covariances[1] - two_inputs.usual_covariance) @ W.T)
    leverage = np.square(part[1].mean).sum() / 80
    expected = np.sqrt((np.square(two_inputs.std) + np.maximum(extra, 0)) * (1 + leverage))
    assert_allclose(two_inputs.deviations(part[1])[0], expected, rtol=1e-9)


def test_intervals_are_normal_quantiles_and_draws_have_their_law(model):
    mean, std = model.law([X[:3]])
    low, high = model.interval(mean, std, 0.9)
    assert_allclose(high - mean, norm.ppf(0.95) * std)
    assert_allclose(mean - low, high - mean)
    drawn = model.draws(
        np.zeros((20_000, 2)), np.ones((20_000, 2)), np.random.default_rng(0), np.array([[1.0, 0], [0.8, 0.6]])
    )
    assert_allclose(np.cov(drawn.T), [[1.0, 0.8], [0.8, 1.0]], atol=0.03)


def test_without_the_rows_behind_a_map_predictions_stay():
    feature_map = RandomFourier(RBF(3.0), 60, random_state=0).fit(X)
    model = fitted([ExplicitView(feature_map.transform(X), feature_map, X)])
    slim = model.without_rows(None)
    assert slim.model.subspace.parts[0].subspace.size == 0
    assert_allclose(slim.predict([X[:5]])[0], model.predict([X[:5]])[0])
