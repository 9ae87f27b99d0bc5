"""Streamed moments of features equal those of the whole table of features, whichever way they are gathered."""

from dataclasses import replace

import numpy as np
import pytest

from gramian.features import Nystroem, RandomFourier
from gramian.kernels import RBF, Laplacian
from gramian.latent import feature_moments as module
from gramian.latent.feature_moments import feature_moments, precision
from gramian.operators import moments
from gramian.operators.moments import Moments
from gramian.rows import ArrayRows, as_rows

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
    monkeypatch.setattr(module, "SIZES", replace(module.SIZES, chunk=1))  # several chunks
    X = TABLES[table]
    weights = np.random.default_rng(1).random(len(X)) + 0.1 if weighted else np.ones(len(X))
    feature_map = MAPS[name].fit(X)
    blocks = ArrayRows(X, weights, block_rows=300)
    found, expected = feature_moments(feature_map, blocks, len(X)), Moments.of(feature_map.transform(X), weights)
    scale = np.abs(expected.scatter).max()
    assert np.abs(found.scatter - expected.scatter).max() < 1e-9 * scale
    assert np.allclose(found.mean, expected.mean, atol=1e-9)
    assert found.weight == pytest.approx(expected.weight)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("tol", [5e-5, 1e-12])
def test_long_tables_are_gathered_to_the_tolerance(monkeypatch, offset, tol):
    monkeypatch.setattr(module, "SIZES", replace(module.SIZES, single=500))
    monkeypatch.setattr(moments, "SIZES", replace(moments.SIZES, products=0.0))
    X = TABLES["six columns"] + offset
    feature_map = Nystroem(RBF(1.5), 25, random_state=0).fit(X)
    assert precision(feature_map, X.dtype, len(X), tol) is (np.float32 if tol == 5e-5 else np.float64)
    found, expected = feature_moments(feature_map, as_rows(X), len(X), tol), Moments.of(feature_map.transform(X))
    error = np.abs(found.scatter - expected.scatter).max() / np.trace(expected.scatter)
    assert error < (tol if tol == 5e-5 else 1e-10)
    assert (error > 1e-9) == (tol == 5e-5)  # float32 was used, or not


def test_the_condition_decides_which_way():
    X = TABLES["six columns"]
    assert precision(MAPS["well conditioned"].fit(X), X.dtype, len(X), 5e-5) is np.float64
    assert precision(MAPS["well conditioned"].fit(X), np.float32, len(X), 5e-5) is np.float32
    assert precision(MAPS["ill conditioned"].fit(X), np.float32, len(X), 5e-5) is None
    assert precision(MAPS["random"].fit(X), X.dtype, len(X), 5e-5) is None
