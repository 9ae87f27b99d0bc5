"""Where the EM of holes starts: on complete tables at the answer, elsewhere near it, and raced only where it may pay."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.latent import masked_start
from gramian.latent.masked_start import (
    SampledSpread,
    add_component,
    block_pairs,
    covariance_start,
    pairwise_spectrum,
    random_starts,
    rows_spread,
    start_from,
    with_random,
)
from gramian.latent.masked_table import Chunk, MaskedTable, masked_chunk
from gramian.rows import Block, as_rows
from oracles import naive
from oracles.tables import TABLES, with_holes

X = TABLES["tall"]
MEAN = X.mean(axis=0)
HOLES = with_holes(X, 0.4)


def block(table, weights=None):
    whole = Block(table, np.ones(len(table)) if weights is None else weights)
    return Block(whole.X, whole.weights, prepared=masked_chunk(whole, MEAN, 1.0))


def test_of_a_complete_table_the_spread_is_its_covariance_and_the_start_is_ppca():
    spread = block_pairs(block(X)).spread()
    assert_allclose(spread.matrix, naive.covariance(X)[1], atol=1e-12)
    start = start_from(spread, 2, np.zeros(6))
    W = start.loadings[0]
    _, expected, noise = naive.ppca(X, 2)[:3]
    assert_allclose(start.noise_variance, noise, rtol=1e-9)
    assert_allclose(W @ W.T, expected @ expected.T, atol=1e-9)


def test_pairs_that_are_few_are_shrunk_towards_zero_and_variances_are_not():
    sums = block_pairs(block(HOLES))
    mask = (~np.isnan(HOLES)).astype(float)
    values = np.nan_to_num(HOLES - MEAN)
    counts = mask.T @ mask
    expected = values.T @ values / (counts + 5.0 * (1 - counts / 60))
    np.fill_diagonal(expected, np.diagonal(values.T @ values) / np.diagonal(counts))
    assert_allclose(sums.spread().matrix, expected, atol=1e-12)
    parts = [block_pairs(block(HOLES[r])) for r in (slice(0, 13), slice(13, 60))]
    assert_allclose((parts[0] + parts[1]).spread().matrix, expected, atol=1e-12)


def test_integer_weights_are_copies_of_rows():
    weights = np.random.default_rng(0).integers(1, 4, 60)
    copies = block_pairs(block(np.repeat(HOLES, weights, axis=0))).spread()
    assert_allclose(block_pairs(block(HOLES, weights.astype(float))).spread().matrix, copies.matrix, atol=1e-10)


def test_sampled_rows_span_what_the_covariance_does():
    chunk = Chunk.of(X - MEAN)
    spread = SampledSpread.of(chunk, np.full(60, 1 / 60))
    values, vectors = spread.leading(3)
    exact, axes = np.linalg.eigh(naive.covariance(X)[1])
    assert_allclose(values, exact[::-1][:3], rtol=1e-9)
    assert_allclose(np.abs(vectors.T @ axes[:, ::-1][:, :3]), np.eye(3), atol=1e-7)
    assert_allclose(spread.trace, exact.sum())
    assert_allclose(spread @ np.ones(6), naive.covariance(X)[1] @ np.ones(6), atol=1e-10)


def test_fewer_sampled_rows_than_components_still_give_as_many_axes():
    values, vectors = SampledSpread.of(Chunk.of(X[:2] - MEAN), np.full(2, 0.5)).leading(4)
    assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-9)
    assert_allclose(values[2:], 0.0, atol=1e-12)


def test_wide_tables_take_sampled_rows_and_narrow_ones_pairs(monkeypatch):
    rows = as_rows(HOLES, None).prepare(masked_chunk, MEAN, 1.0)
    pairs = rows_spread(rows, MEAN, 1.0, 1)
    assert_allclose(pairs.matrix, block_pairs(block(HOLES)).spread().matrix, atol=1e-12)
    monkeypatch.setattr(masked_start, "SIZES", replace(masked_start.SIZES, pairs=1))
    assert isinstance(rows_spread(rows, MEAN, 1.0, 1), SampledSpread)
    table = MaskedTable.of(HOLES, MEAN)
    wide = covariance_start(table, np.ones(60), 1, np.random.default_rng(0), np.zeros(HOLES.shape[1]))
    monkeypatch.undo()
    narrow = covariance_start(table, np.ones(60), 1, np.random.default_rng(0), np.zeros(HOLES.shape[1]))
    cosine = (wide.loadings[0].T @ narrow.loadings[0]).item()
    assert abs(cosine) > 0.9 * np.linalg.norm(wide.loadings) * np.linalg.norm(narrow.loadings)


def test_one_component_more_is_the_next_axis_of_the_spread():
    spread = block_pairs(block(X)).spread()
    _, vectors = spread.leading(3)
    more = add_component(start_from(spread, 2, np.zeros(6)), spread)
    axis = more.loadings[0][:, 2]
    assert more.loadings.shape == (1, 6, 3)
    assert abs(axis @ vectors[:, 2]) > 0.95 * np.linalg.norm(axis)


def test_random_starts_follow_the_first_and_are_raced_only_where_maxima_may_be_several():
    start = start_from(block_pairs(block(X)).spread(), 2, np.zeros(6))
    several = with_random(start, 3, np.random.default_rng(0))
    assert_allclose(several.loadings[0], start.loadings[0])
    assert several.loadings.shape == (4, 6, 2)
    assert random_starts(2, 0.86 * 600, 100, 6) == 0
    assert random_starts(2, 0.84 * 600, 100, 6) == 26
    assert random_starts(0, 300.0, 100, 6) == 0
    assert random_starts(1, 150 * 6 * 2 + 1, 10_000, 6) == 0
    assert random_starts(10, 1e5, 100_000, 60) < 26


@pytest.mark.parametrize("weights", [np.ones(60), np.linspace(0.5, 1.5, 60)], ids=["alike", "weighted"])
def test_the_pairwise_spectrum_of_complete_rows_is_that_of_the_weighted_covariance(weights):
    mean = weights @ X / weights.sum()
    values, vectors, trace = pairwise_spectrum(MaskedTable.of(X, np.zeros(6)), weights, mean)
    covariance = naive.covariance(X, weights)[1]
    assert_allclose((vectors * values) @ vectors.T, covariance, atol=1e-9)
    assert_allclose(trace, np.trace(covariance))
