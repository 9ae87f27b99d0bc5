"""Tables with holes: values and masks are those of the observed cells, and sums over blocks do not depend on the blocks."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian._checks import check_seen
from gramian.latent import masked_table
from gramian.latent.masked_table import (
    Chunk,
    MaskedTable,
    block_indicator,
    column_sums,
    masked_chunk,
)
from gramian.rows import Block
from oracles.tables import TABLES, with_holes

X = with_holes(TABLES["tall"], 0.3)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, len(X))


def weighted_moments(X, weights):
    seen = ~np.isnan(X)
    counts = weights @ seen
    mean = weights @ np.nan_to_num(X) / counts
    scatter = weights @ np.square(np.where(seen, X - mean, 0.0))
    return counts, mean, scatter


def test_a_chunk_holds_zero_in_the_holes_and_counts_what_was_seen():
    chunk = Chunk.of(X.copy())
    assert_allclose(chunk.values, np.nan_to_num(X))
    assert_allclose(chunk.mask, ~np.isnan(X))
    assert_allclose(chunk.squares, np.nansum(X**2, axis=1))
    assert_allclose(chunk.counts, (~np.isnan(X)).sum(axis=1))
    nothing = Chunk.of(np.array([[np.nan, np.nan], [1.0, np.nan]]))
    assert nothing.shown.tolist() == [0.0, 1.0]


def test_a_chunk_in_blocks_counts_each_block():
    blocks = np.array([0, 0, 1, 1, 1, 2])
    chunk = Chunk.of(X.copy(), blocks)
    for b in range(3):
        assert_allclose(chunk.squares[:, b], np.nansum(X[:, blocks == b] ** 2, axis=1))
        assert_allclose(chunk.counts[:, b], (~np.isnan(X[:, blocks == b])).sum(axis=1))
    assert_allclose(block_indicator(blocks).sum(axis=0), [2, 3, 1])
    assert_allclose(chunk.shown, 1.0)


def test_a_prepared_block_is_shifted_and_scaled():
    chunk = masked_chunk(Block(X, WEIGHTS), np.full(6, 2.0), 3.0)
    assert_allclose(chunk.values, np.nan_to_num((X - 2.0) / 3.0))


@pytest.mark.parametrize("offset", [0.0, 1e7])
@pytest.mark.parametrize("cut", [[60], [20, 40], [1, 2, 57]], ids=str)
def test_column_sums_are_the_moments_of_observed_cells_whatever_the_blocks(offset, cut):
    ends = np.cumsum([0, *cut])
    parts = [column_sums(Block(X[a:b] + offset, WEIGHTS[a:b])) for a, b in pairwise(ends)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    counts, mean, scatter = weighted_moments(X, WEIGHTS)
    assert_allclose(total.counts, counts)
    assert_allclose(total.mean, mean + offset, rtol=1e-12)
    assert_allclose(total.scatter, scatter, rtol=1e-7)
    assert (total.n_rows, total.cells) == (60, int((~np.isnan(X)).sum()))
    assert_allclose(total.weight, WEIGHTS.sum())


@pytest.mark.parametrize("center", [True, False])
def test_location_and_scale_are_those_of_observed_cells(center):
    sums = column_sums(Block(X, WEIGHTS))
    counts, mean, scatter = weighted_moments(X, WEIGHTS)
    expected = scatter.sum() if center else (scatter + counts * mean**2).sum()
    shift, scale = sums.location_and_scale(center)
    assert_allclose(shift, mean if center else 0.0, atol=1e-12)
    assert_allclose(scale, np.sqrt(expected / counts.sum()), rtol=1e-12)


def test_what_is_not_kept_is_made_again_alike(monkeypatch):
    kept = MaskedTable.of(X, np.zeros(6), 2.0)
    monkeypatch.setattr(masked_table, "SIZES", replace(masked_table.SIZES, kept=1))
    fresh = MaskedTable.of(X, np.zeros(6), 2.0)
    assert kept.cache is not None
    assert fresh.cache is None
    for (_, a), (_, b) in zip(kept.chunks(), fresh.chunks()):
        assert_allclose(a.values, b.values)


def test_constant_tables_have_scale_zero_and_columns_without_cells_are_refused():
    assert column_sums(Block(np.full((5, 2), 3.0), np.ones(5))).location_and_scale()[1] == 0.0
    with pytest.raises(ValueError, match="column 1"):
        check_seen(np.array([True, False]))
    with pytest.raises(ValueError, match="All cells"):
        check_seen(np.zeros(2, dtype=bool))
