"""Complete rows of a mixture: which M-step they take, and what it gives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.mixtures.complete import cluster_sums, shared_noise
from gramian.mixtures.holes import RowsWithHoles
from gramian.mixtures.mixture import climb, nonempty
from gramian.mixtures.ppca_fit import gaussian_rows, mixture_fit
from gramian.mixtures.rows import MixtureTable
from gramian.mixtures.start import Given


def test_shared_noise_is_the_stationary_point():
    values = [np.array([5.0, 1.2]), np.array([3.0, 0.4])]
    traces, masses = np.array([9.0, 6.0]), np.array([2.0, 1.0])

    def objective(noise):
        total = 0.0
        for n, l, trace in zip(masses, values, traces):
            above = l[l > noise]
            rest = 5 - len(above)
            total += n * (np.log(above).sum() + rest * np.log(noise) + (trace - above.sum()) / noise + len(above))
        return total

    found = shared_noise(values, traces, masses, 5, 1e-12)
    grid = np.linspace(0.5 * found, 2 * found, 2001)
    assert objective(found) <= min(map(objective, grid)) + 1e-12


def test_the_kind_of_rows_and_of_the_step_follow_the_shape():
    rng = np.random.default_rng(0)

    def rows(d, counts, holes=False):
        X = rng.standard_normal((200, d))
        X[0, 0] = np.nan if holes else 0.0
        return gaussian_rows(MixtureTable.of(X, np.ones(200)), counts, shared=False, rng=rng)

    assert rows(64, [2, 2]).closed
    assert not rows(65, [2, 2]).closed
    assert rows(100, [20, 20]).closed
    assert rows(100, [2]).closed
    assert rows(100, [2]).exact
    assert not rows(10, [2, 2]).exact
    assert type(rows(10, [2, 2], holes=True)) is RowsWithHoles


def test_large_tables_take_the_closed_form_while_rows_belong_to_one_cluster():
    rng = np.random.default_rng(0)
    labels = np.arange(2000) % 4
    X = rng.standard_normal((2000, 80)) + 0.3 * rng.standard_normal((4, 80))[labels]
    start = nonempty(0.5 * np.eye(4)[labels] + 0.5 * rng.dirichlet(np.ones(4), 2000))
    rows = gaussian_rows(MixtureTable.of(X, np.ones(2000), start), [5] * 4, shared=False, rng=rng)
    assert rows.expands(2000, 8000) == (8000 * 80**2 + 16 * 80**3 > 8 * 2000 * 80 * 4 * 6)
    assert not rows.expands(20_000, 20_000)
    found = mixture_fit(rows, climb(rows, Given()))
    assert (np.diff(found.log_likelihoods) >= 0).all()


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_cluster_sums_are_those_of_the_definition_and_add_up(offset):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) + offset
    shares, weights = rng.dirichlet(np.ones(2), 60), rng.uniform(0.5, 2.0, 60)
    centers = np.full((2, 3), offset)
    whole = cluster_sums(X, shares, weights, centers, True)
    parts = [cluster_sums(X[r], shares[r], weights[r], centers, True) for r in (slice(0, 25), slice(25, 60))]
    for one in (whole, parts[0] + parts[1]):
        for k in range(2):
            w, rest = weights * shares[:, k], X - centers[k]
            assert_allclose(one.masses[k], w.sum())
            assert_allclose(one.sums[k], w @ rest, atol=1e-9)
            assert_allclose(one.scatter[k], (rest * w[:, None]).T @ rest, atol=1e-9)
        assert (one.pairs, one.n_rows) == (120, 60)
