"""Streamed moments of features equal those of the whole table of features, whichever way they are gathered."""

import numpy as np
import pytest

from gramian.features import Nystroem, RandomFourier
from gramian.kernels import RBF, Laplacian
from gramian.latent import feature_moments as module
from gramian.latent.feature_moments import feature_moments
from gramian.operators.moments import Moments

rng = np.random.default_rng(0)
TABLES = {"six columns": rng.standard_normal((700, 6)), "one column": rng.standard_normal((700, 1))}
MAPS = {
    "well conditioned": Nystroem(Laplacian(1.0), 40, random_state=0),
    "ill conditioned": Nystroem(RBF(20.0), 60, random_state=0),
    "random": RandomFourier(RBF(1.0), 50, random_state=0),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("weighted", [False, True])
def test_streamed_moments_are_those_of_the_features(monkeypatch, table, name, weighted):
    monkeypatch.setattr(module, "CHUNK_BYTES", 1)  # several chunks
    X = TABLES[table]
    weights = np.random.default_rng(1).random(len(X)) + 0.1 if weighted else np.ones(len(X))
    feature_map = MAPS[name].fit(X)
    found, expected = feature_moments(feature_map, X, weights), Moments.of(feature_map.transform(X), weights)
    scale = np.abs(expected.scatter).max()
    assert np.abs(found.scatter - expected.scatter).max() < 1e-9 * scale
    assert np.allclose(found.mean, expected.mean, atol=1e-9)
    assert found.weight == pytest.approx(expected.weight)


@pytest.mark.parametrize("name", ["well conditioned", "ill conditioned"])
def test_float32_rows_give_moments_as_good_as_float32(name):
    X = TABLES["six columns"]
    feature_map = MAPS[name].fit(X)
    exact = feature_moments(feature_map, X, np.ones(len(X)))
    single = feature_moments(feature_map, X.astype(np.float32), np.ones(len(X)))
    assert np.abs(single.scatter - exact.scatter).max() < 2e-4 * np.abs(exact.scatter).max()


def test_the_condition_decides_which_way():
    X = TABLES["six columns"]
    limit = module.MAGNIFIED[X.dtype]
    assert MAPS["well conditioned"].fit(X).condition < limit < MAPS["ill conditioned"].fit(X).condition
