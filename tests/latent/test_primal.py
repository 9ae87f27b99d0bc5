"""From a model to rows: reconstruction, prediction of what is missing, and their deviations."""

import numpy as np
from numpy.testing import assert_allclose

from gramian.latent.primal import latent_model, predictive, rebuild_rows, signal_std
from oracles import naive
from oracles.tables import TABLES, with_holes

X = TABLES["tall"]
MEAN, W, NOISE = naive.ppca(X, 2)[:3]
MODEL = latent_model(MEAN, W, NOISE)


def test_a_model_made_of_loadings_has_their_covariance():
    loadings = MODEL.subspace.loadings(MODEL.gaussian.gains)
    assert_allclose(loadings @ loadings.T, W @ W.T, atol=1e-10)
    turned = latent_model(MEAN, W @ np.linalg.qr(np.random.default_rng(0).standard_normal((2, 2)))[0], NOISE)
    assert_allclose(turned.gaussian.eigenvalues, MODEL.gaussian.eigenvalues)


def test_projection_is_the_nearest_point_and_map_is_shrunk_towards_the_mean():
    seen = MODEL.subspace.project(X)
    near = rebuild_rows(MODEL, seen, "projection")
    U = MODEL.subspace.components
    assert_allclose(near, MEAN + (X - MEAN) @ U.T @ U, atol=1e-9)
    shrunk = rebuild_rows(MODEL, seen, "map")
    assert (np.linalg.norm(shrunk - MEAN, axis=1) < np.linalg.norm(near - MEAN, axis=1)).all()


def test_predictions_of_missing_entries_are_the_conditional_gaussian():
    rows = with_holes(X, 0.3)
    mean, variance = predictive(MODEL, MODEL.subspace.project(rows))
    for x, found, spread in zip(rows, mean, variance):
        holes = np.isnan(x)
        if holes.any():
            expected, covariance = naive.conditional(x, MEAN, W, NOISE)
            assert_allclose(found[holes], expected, atol=1e-9)
            assert_allclose(spread[holes], np.diag(covariance), atol=1e-9)


def test_the_signal_varies_less_than_the_row_by_the_noise():
    rows = with_holes(X, 0.3)
    seen = MODEL.subspace.project(rows)
    assert_allclose(signal_std(MODEL, seen) ** 2 + NOISE, predictive(MODEL, seen)[1])
