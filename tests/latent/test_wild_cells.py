"""Wild cells: one cell given the others, and flags that raise a penalised likelihood."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian.latent.missing import fit_missing
from gramian.latent.wild_cells import CellModel, find_wild_cells, first_flags, medians


def low_rank(n=120, d=7, q=2, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + noise * rng.standard_normal((n, d)) + 2.0


@pytest.mark.parametrize("noise", [0.4, np.array([0.1, 0.4, 0.9, 1.6, 2.5])], ids=["one", "per column"])
def test_a_cell_given_the_others_is_what_brute_force_says(noise):
    rng = np.random.default_rng(0)
    mean, W = rng.standard_normal(5), rng.standard_normal((5, 2))
    C = W @ W.T + np.diag(np.broadcast_to(noise, 5))
    X = rng.standard_normal((6, 5))
    seen = rng.random(X.shape) < 0.7
    residuals, variances = CellModel.of(mean, W, noise).residuals(X, seen)
    for i in range(6):
        for j in range(5):
            others = np.flatnonzero(seen[i] & (np.arange(5) != j))
            pull = np.linalg.solve(C[np.ix_(others, others)], C[others, j]) if others.size else np.zeros(0)
            assert_allclose(residuals[i, j], X[i, j] - mean[j] - pull @ (X[i] - mean)[others], atol=1e-13)
            assert_allclose(variances[i, j], C[j, j] - pull @ C[others, j], rtol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_penalised_likelihood_never_falls(seed):
    X = low_rank(seed=seed)
    rng = np.random.default_rng(seed + 10)
    X = np.where(rng.random(X.shape) < 0.05, X + 5.0 * X.std(axis=0), X)
    X[rng.random(X.shape) < 0.1] = np.nan
    found = find_wild_cells(X, 2, weights=rng.integers(1, 4, len(X)).astype(float))
    assert len(found.levels) > 1
    assert np.diff(found.levels).min() > -1e-9 * abs(found.levels[0])


def test_planted_cells_are_flagged_and_few_others():
    X = low_rank(n=400, d=10)
    wild = np.random.default_rng(1).random(X.shape) < 0.03
    found = find_wild_cells(np.where(wild, X + 6.0 * X.std(axis=0), X), 2)
    assert (found.flags & wild).sum() > 0.97 * wild.sum()
    assert (found.flags & ~wild).sum() <= 4


def test_no_column_loses_more_than_a_quarter_and_no_row_more_than_half():
    X = low_rank(n=80, d=6)
    X[:30, 0] += 1e3
    X[50] += 1e4 * np.arange(1, 7)
    flags = find_wild_cells(X, 2).flags
    assert flags.sum(axis=0).max() <= 20
    assert flags.sum(axis=1).max() <= 3


def test_medians_with_integer_weights_are_those_of_repeated_rows():
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((31, 3)), rng.integers(0, 4, 31)
    X[rng.random(X.shape) < 0.2] = np.nan
    repeated = np.repeat(X, weights, axis=0)
    found = medians(X, weights.astype(float))
    assert_allclose(found, medians(repeated, np.ones(len(repeated))), rtol=1e-14)
    assert_allclose(found[0], np.nanmedian(repeated, axis=0), rtol=1e-14)


def test_a_column_of_mostly_one_value_is_measured_by_the_others():
    X = np.random.default_rng(0).uniform(size=(50, 2))
    X[:, 0] = 0.0
    X[:10, 0] = np.linspace(1.0, 2.0, 10)
    assert not first_flags(X, np.ones(50)).any()
    X[0, 0] = 99.0
    assert_array_equal(np.argwhere(first_flags(X, np.ones(50))), [[0, 0]])


def test_a_row_that_is_wild_as_a_whole_counts_for_nothing():
    X = low_rank(n=150, d=8)
    spoilt = X.copy()
    rng = np.random.default_rng(3)
    spoilt[:12] += 20.0 * X.std() * rng.standard_normal((12, 8))
    first = first_flags(spoilt, np.ones(150))
    start = fit_missing(np.where(first, np.nan, spoilt)[12:], 2)
    found = find_wild_cells(spoilt, 2, first=first, start=start)
    assert found.rows[:12].mean() > 0.9
    assert not found.rows[12:].any()
    assert not found.flags[found.rows].any()


def test_the_deviation_of_a_column_is_that_of_its_residuals():
    rng = np.random.default_rng(0)
    noises = np.array([0.1, 0.1, 0.1, 0.1, 2.0])
    X = rng.standard_normal((2000, 1)) @ np.array([[2.0, 2.0, 2.0, 2.0, 0.0]]) + noises * rng.standard_normal((2000, 5))
    seer = CellModel.of(np.zeros(5), np.array([[2.0], [2.0], [2.0], [2.0], [0.0]]), 0.8)
    none = np.zeros(X.shape, dtype=bool)
    spread = seer.spreads(X, np.ones(2000), none)
    residuals, variances = seer.residuals(X, ~none)
    assert_allclose(spread[4], (residuals[:, 4] / np.sqrt(variances[:, 4])).std(), rtol=0.05)
    assert (spread[:4] < 0.25).all()
    quiet = X.copy()
    quiet[5, 0] += 3.0  # thirty deviations of its column, three of the model
    wild = replace(seer, spread=spread).flags(quiet)
    assert wild[5, 0]
    assert not seer.flags(quiet)[5, 0]
