"""The survey of inputs and targets: drawn pairs and spreads do not depend on order, cut or copies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian._content import row_hashes
from gramian.rows import ArrayRows, Block
from gramian.targets.squash import Squash
from gramian.targets.survey import DrawnPairs, InputReading, TargetCoding, class_labels, survey_target

RNG = np.random.default_rng(0)
X = np.round(RNG.standard_normal((60, 2)), 1)  # some rows of inputs occur twice, with other targets
Y = RNG.integers(0, 3, 60).astype(float)[:, None]
W = RNG.integers(1, 4, 60).astype(float)


def drawn(rows, limit):
    return DrawnPairs.of(X[rows], Y[rows], W[rows], limit, row_hashes(X[rows]))


@pytest.mark.parametrize("limit", [7, 1000])
def test_pairs_are_drawn_by_what_they_hold(limit):
    whole = drawn(np.arange(60), limit)
    order = RNG.permutation(60)
    parts = [drawn(rows, limit) for rows in np.array_split(order, 5)]
    merged = sum(parts[1:], parts[0])
    for name in ("hashes", "ties", "X", "Y", "weights"):
        assert_array_equal(getattr(merged, name), getattr(whole, name))
    assert len(whole.hashes) <= limit
    assert (np.diff(whole.hashes.astype(float)) >= 0).all()


def test_copies_of_a_pair_are_one_pair_of_their_total_weight():
    whole, twice = drawn(np.arange(60), 1000), drawn(np.repeat(np.arange(60), 2), 1000)
    assert_array_equal(twice.X, whole.X)
    assert_allclose(twice.weights, 2 * whole.weights)
    pairs = {(*x, *y) for x, y in zip(X, Y)}
    assert len(whole.weights) == len(pairs)
    assert len(whole.of_rows(3).weights) == sum(
        tuple(pair[:2]) in {tuple(x) for x in whole.X[whole.first[:3]]} for pair in pairs
    )


def test_a_survey_is_that_of_the_whole_table_and_deals_folds_by_distinct_inputs():
    coding = TargetCoding()
    whole = survey_target(Block(X, W, Y), coding)
    parts = ArrayRows(X[::-1], W[::-1], Y[::-1], block_rows=13).fold(survey_target, coding)
    assert (parts.n_rows, parts.total_weight) == (60, W.sum())
    weights = W / W.sum()
    for found, table in ((parts.inputs, X), (parts.target, Y)):
        assert_allclose(found.mean, weights @ table, atol=1e-12)
        assert_allclose(found.deviation**2, weights @ (table - weights @ table) ** 2)
    assert_array_equal(parts.input_range, [X.min(axis=0), X.max(axis=0)])
    assert_array_equal(parts.target_range, [Y.min(axis=0), Y.max(axis=0)])
    content, folds = parts.folds(4)
    assert folds.distinct.sum() == len(np.unique(X, axis=0))
    assert_array_equal(folds.numbers, content.assign(row_hashes(parts.drawn.X)))
    assert_array_equal(whole.folds(4)[1].distinct, folds.distinct)


def test_targets_are_numbers_or_one_column_per_class():
    labels = np.array(["b", "a", "b"])
    found = class_labels(Block(np.zeros((3, 1)), np.ones(3), labels)) + class_labels(
        Block(np.zeros((1, 1)), np.ones(1), np.array(["c"]))
    )
    assert found.labels.tolist() == ["a", "b", "c"]
    assert TargetCoding(found.labels)(labels).tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0]]
    assert TargetCoding()([1, 2]).tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match="y contains NaN"):
        survey_target(Block(X[:2], np.ones(2), np.array([1.0, np.nan])), TargetCoding())
    with pytest.raises(ValueError, match="same targets"):
        survey_target(Block(X[:2], np.ones(2), Y[:2]), TargetCoding()) + survey_target(
            Block(X[:2], np.ones(2), Y[:2, 0]), TargetCoding()
        )


def test_inputs_are_drawn_in_before_they_are_brought_to_units():
    squash = Squash(np.zeros(2), np.ones(2))
    far = np.array([[10.0, -1.0]])
    assert_allclose(InputReading(squash, np.ones(2), np.full(2, 2.0))(far), (squash(far) - 1) / 2)
    assert InputReading()(far.astype(np.float32)).dtype == np.float64
