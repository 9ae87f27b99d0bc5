"""Scales of standard deviations from hidden cells that count as much as they are like missing ones."""

import numpy as np

from gramian.evidence.cell_scales import column_scales, effective_size, likeness


def test_hidden_cells_count_by_how_often_missing_ones_are_like_them():
    """Errors grow with the mean, and cells are missing where it is large: the scale must cover those."""
    rng = np.random.default_rng(0)
    hidden, missing = rng.uniform(0, 1, 4000), np.sqrt(rng.uniform(0, 1, 4000)) ** 0.25
    columns = np.zeros(4000, dtype=int)
    deviations = rng.standard_normal(4000) * (0.5 + 2.0 * hidden)
    truths = np.abs(rng.standard_normal(4000) * (0.5 + 2.0 * missing))
    plain = column_scales(deviations, columns, 1)[0]
    like = likeness(hidden, columns, missing, columns)
    weighed = column_scales(deviations, columns, 1, weights=like)[0]
    assert np.mean(truths < 1.645 * plain) < 0.85
    assert 0.87 < np.mean(truths < 1.645 * weighed) < 0.93


def test_holes_anywhere_change_nothing_but_chance():
    rng = np.random.default_rng(1)
    means, columns = rng.standard_normal(2000), np.arange(2000) % 2
    like = likeness(means, columns, rng.standard_normal(2000), columns)
    np.testing.assert_allclose(like, 1.0, atol=0.25)
    deviations = rng.standard_normal(2000)
    np.testing.assert_allclose(
        column_scales(deviations, columns, 2, weights=like), column_scales(deviations, columns, 2), rtol=0.05
    )


def test_equal_weights_are_no_weights_and_few_cells_are_not_binned():
    rng = np.random.default_rng(2)
    deviations, columns = rng.standard_normal(300), np.arange(300) % 3
    np.testing.assert_array_equal(
        column_scales(deviations, columns, 3, weights=np.full(300, 0.7)), column_scales(deviations, columns, 3)
    )
    assert effective_size(np.array([1.0, 1.0, 0.0])) == 2.0
    np.testing.assert_array_equal(likeness(deviations[:5], columns[:5], deviations, columns), np.ones(5))
