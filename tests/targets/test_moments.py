"""Moments of features and target, fold by fold, against the rows behind them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian._content import DistinctHashes, Folds, row_hashes
from gramian._precision import EPS
from gramian.evidence.held_out import HeldOut
from gramian.rows import ArrayRows, Block
from gramian.targets.axes import FeatureInputs
from gramian.targets.moments import MomentInputs, TargetFeatures
from gramian.targets.single import checked_model, component_losses, decomposed_folds
from gramian.targets.survey import InputReading, TargetCoding
from gramian.views.moments import feature_sums

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 4)) + 5.0
Y = np.column_stack([X[:, 0] - X[:, 1], X[:, 2]]) + 0.3 * RNG.standard_normal((80, 2))
RAW = RNG.integers(1, 4, 80).astype(float)
WEIGHTS = RAW / RAW.sum()
FEATURES = TargetFeatures(InputReading(), None, TargetCoding())


def inputs():
    folds = Folds.of(DistinctHashes.of(row_hashes(X)), 4)
    sums = ArrayRows(X, RAW, Y, block_rows=17).fold(feature_sums, FEATURES, folds, 6)
    return MomentInputs(sums.folds, 4, 1e-12, X, Y, WEIGHTS)


def test_losses_from_moments_are_those_of_the_rows():
    dealt = HeldOut.of(X, 4)
    by_rows = decomposed_folds(FeatureInputs(X, Y, WEIGHTS, dealt, 1e-12), dealt, RAW.sum())
    by_sums = inputs().decomposed_folds(dealt)
    for rows, sums in zip(by_rows, by_sums):
        assert_allclose(sums.axes.values, rows.axes.values, rtol=1e-10)
        assert_allclose(sums.axes.mean, rows.axes.mean)
        assert_allclose(abs(sums.scores), abs(rows.scores), atol=1e-10)
        assert_allclose([sums.total_weight, sums.weight(WEIGHTS)], [rows.total_weight, rows.weight(WEIGHTS)])
    expected, found = (component_losses(parts, Y, WEIGHTS, [1, 3, 4]) for parts in (by_rows, by_sums))
    assert_allclose(found.squares, expected.squares, rtol=1e-9)
    assert found.best() == expected.best()
    scales = np.array([1.0, 2.0])
    variance = float(WEIGHTS @ np.square(Y - WEIGHTS @ Y).sum(axis=1))
    one, other = (checked_model(parts, Y, WEIGHTS, scales, 3, False, variance) for parts in (by_rows, by_sums))
    assert_allclose(other.predictions, one.predictions, atol=1e-10)
    assert_allclose(other.leverages, one.leverages, atol=1e-10)
    assert (other.ridge, other.error) == pytest.approx((one.ridge, one.error), rel=1e-9)


def test_squares_of_an_exact_prediction_are_rounding_and_never_negative():
    parts = MomentInputs(inputs().folds, 4, 1e-12, X, Y, WEIGHTS).decomposed_folds(HeldOut.of(X, 4))
    products = parts[0].products
    exact = np.linalg.solve(products.spread, products.cross)[:, None, :]
    assert products.squares(exact)[0] >= 64 * EPS * products.target
    assert products.squares(0 * exact)[0] == pytest.approx(products.target)


def test_features_and_target_stand_side_by_side():
    assert_allclose(FEATURES(Block(X, RAW, Y)), np.hstack([X, Y]))
