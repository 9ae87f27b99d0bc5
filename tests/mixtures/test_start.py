"""Starts of PPCA mixtures: by content, different at every attempt, never empty."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import cluster

from gramian.mixtures.rows import MixtureTable, shares_of_block
from gramian.mixtures.start import Draw, Given, NearestCenters, about_means, nonempty_start


def clusters(n=120, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) + 5.0 * rng.standard_normal((3, d))[np.arange(n) % 3]


def shares(table, start):
    return np.concatenate(table.rows.map(shares_of_block, start))


def test_the_first_start_is_the_best_of_several_runs_of_k_means(monkeypatch):
    used = []

    class Noted(cluster.KMeans):
        def fit(self, X, y=None, sample_weight=None):
            used.append((self.n_init, self.max_iter))
            return super().fit(X, y, sample_weight)

    monkeypatch.setattr(cluster, "KMeans", Noted)
    table = MixtureTable.of(clusters(), np.ones(120))
    draw, rng = Draw.of(table, 2), np.random.default_rng(0)
    starts = [draw.kmeans(3, attempt, rng).centers for attempt in range(3)]
    assert used == [(4, 300), (1, 1), (1, 1)]
    assert not np.allclose(np.sort(starts[0], axis=0), np.sort(starts[1], axis=0))
    assert not np.allclose(np.sort(starts[1], axis=0), np.sort(starts[2], axis=0))


@pytest.mark.parametrize("kind", ["kmeans", "random"])
def test_neither_order_nor_repetition_of_rows_matters(kind):
    X = clusters()
    weights = np.random.default_rng(0).integers(1, 4, 120)
    copies = np.repeat(X, weights, axis=0)[np.random.default_rng(1).permutation(weights.sum())]
    one, other = MixtureTable.of(X, weights.astype(float)), MixtureTable.of(copies, np.ones(len(copies)))
    first, second = (getattr(Draw.of(t, 2), kind)(3, 0, np.random.default_rng(5)) for t in (one, other))
    assert_allclose(first.centers, second.centers, atol=1e-8)


@pytest.mark.parametrize("kind", ["kmeans", "random"])
def test_fewer_distinct_rows_than_clusters_leave_none_empty(kind):
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 10, axis=0)
    table = MixtureTable.of(X, np.ones(20))
    start = getattr(Draw.of(table, 1), kind)(4, 0, np.random.default_rng(0))
    assert start.centers.shape == (4, 2)
    found = shares(table, nonempty_start(table, start))
    assert (found.sum(axis=0) > 0).all()
    assert_allclose(found.sum(axis=1), 1.0)


def test_rows_with_holes_go_to_the_centre_that_their_filled_row_is_nearest_to():
    X = clusters()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    table = MixtureTable.of(X, np.ones(120))
    draw = Draw.of(table, 2)
    assert not np.isnan(draw.rows).any()
    start = draw.kmeans(3, 0, np.random.default_rng(0))
    assert start.filler is not None
    assert (shares(table, start).sum(axis=0) > 20).all()
    complete = np.flatnonzero(~np.isnan(X).any(axis=1))
    nearest = ((table.scaled(X[complete])[:, None] - start.centers) ** 2).sum(axis=2).argmin(axis=1)
    assert_array_equal(shares(table, start)[complete].argmax(axis=1), nearest)


def test_given_responsibilities_and_given_means():
    X = clusters()
    given = np.random.default_rng(0).dirichlet(np.ones(3), 120)
    assert_array_equal(shares(MixtureTable.of(X, np.ones(120), given), Given()), given)
    means = X[:3]
    table = MixtureTable.of(X, np.ones(120))
    distances = ((X[:, None] - means) ** 2).sum(axis=2)
    variance = distances.min(axis=1).mean() / 3
    expected = np.exp(-0.5 * (distances - distances.min(axis=1, keepdims=True)) / variance)
    found = shares(table, about_means(table, means, None))
    assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), atol=1e-9)
    assert isinstance(nonempty_start(table, NearestCenters(table.scaled(means))), NearestCenters)


@pytest.mark.parametrize("kind", ["kmeans", "random"])
def test_a_seed_picks_the_same_rows_after_a_shift_a_rotation_and_another_order_of_columns(kind):
    X = clusters()
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0][:, ::-1]
    plain, moved = MixtureTable.of(X, np.ones(120)), MixtureTable.of(10.0 * X @ turn + 7.0, np.ones(120))
    first, second = (getattr(Draw.of(t, 2), kind)(3, 0, np.random.default_rng(5)) for t in (plain, moved))
    assert_allclose(second.centers, first.centers @ turn, atol=1e-8)


def test_drawn_rows_stand_by_their_distance_from_their_mean():
    X = clusters()
    draw = Draw.of(MixtureTable.of(X, np.ones(120)), 2)
    assert (np.diff(np.linalg.norm(draw.rows - draw.rows.mean(axis=0), axis=1)) >= -1e-12).all()
