"""Units of columns: what NumPy says, whatever the blocks, the holes and the scale."""

import numpy as np
import pytest

from gramian.latent.units import Units
from gramian.rows import ArrayRows


@pytest.mark.parametrize("block_rows", [1, 13, 1000])
@pytest.mark.parametrize("scale", [1e-200, 1e-5, 1.0, 1e8, 1e160])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_units_are_mean_and_deviation_of_what_was_observed(block_rows, scale, offset):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3)) + offset
    X[rng.random(X.shape) < 0.2] = np.nan
    weights = rng.integers(0, 3, 80).astype(float)
    repeated = np.repeat(X, weights.astype(int), axis=0)
    units = Units.of(ArrayRows(X * scale, weights, block_rows=block_rows))
    np.testing.assert_allclose(units.mean, np.nanmean(repeated, axis=0) * scale, rtol=1e-9)
    np.testing.assert_allclose(units.scale, np.nanstd(repeated, axis=0) * scale, rtol=1e-9)
    np.testing.assert_allclose(units.back(units.into(X * scale)), X * scale)


def test_a_constant_column_keeps_its_scale():
    X = np.column_stack([np.full(50, 0.1), np.arange(50.0), np.full(50, 1e9)])
    units = Units.of(ArrayRows(X, np.ones(50), block_rows=7))
    assert units.scale[0] == 1.0
    assert units.scale[2] == 1.0
    np.testing.assert_allclose(units.into(X)[:, 0], 0.0, atol=1e-12)


def test_rows_beyond_all_numbers_of_their_units_are_the_largest():
    units = Units(np.array([-1e300, 0.0]), np.array([0.1, 1.0]))
    found = units.into(np.array([[1.7e308, 1.0], [np.nan, -2.0]]))
    assert found[0, 0] == np.finfo(float).max
    np.testing.assert_array_equal(found[:, 1], [1.0, -2.0])
    assert np.isnan(found[1, 0])
