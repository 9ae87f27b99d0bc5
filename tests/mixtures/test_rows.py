"""Rows of PPCA mixtures are only summed over: blocks, batches and fractions."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.mixtures.holes import RowsWithHoles
from gramian.mixtures.mixture import climb, shares_of_weight
from gramian.mixtures.ppca_fit import fit_mixture, gaussian_rows
from gramian.mixtures.rows import MixtureTable
from gramian.mixtures.start import Draw
from gramian.rows import ArrayRows


def clusters(n=300, d=5, share=0.0, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    X = rng.standard_normal((n, d)) * [3.0, 1.0, 0.5, 0.3, 0.1] + 4.0 * rng.standard_normal((3, d))[labels]
    X[rng.random(X.shape) < share] = np.nan
    return X, labels


def fit(table, asked=(1, 1, 1)):
    start = Draw.of(table, 2).kmeans(3, 0, np.random.default_rng(0))
    return fit_mixture(table, asked, start, shared=False, rng=np.random.default_rng(0), tol=1e-8)


@pytest.mark.parametrize("share", [0.0, 0.2], ids=["complete", "holes"])
def test_the_cut_into_blocks_does_not_matter(share):
    X, _ = clusters(share=share)
    whole = fit(MixtureTable.of(X, np.ones(300)))
    blocks = fit(MixtureTable.of(ArrayRows(X, np.ones(300), block_rows=37)))
    assert_allclose(blocks.objective, whole.objective, rtol=1e-9)
    assert_allclose(blocks.responsibilities, whole.responsibilities, atol=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.1], ids=["complete", "holes"])
def test_a_fraction_is_the_smallest_q_that_explains_it_in_each_cluster(share):
    X, labels = clusters(share=share)
    found = fit(MixtureTable.of(X, np.ones(300)), [0.9] * 3)
    complete, _ = clusters()
    values = np.linalg.eigvalsh(np.cov(complete[labels == 0].T))[::-1]
    expected = int((np.cumsum(values) / values.sum() < 0.9).sum()) + 1
    assert [model.gaussian.n_components for model in found.components] == [expected] * 3


def test_leaps_reach_a_likelihood_not_below_plain_em_and_never_fall():
    class Plain(RowsWithHoles):
        leaps = False

    rng = np.random.default_rng(0)
    X = np.sin(rng.uniform(-2, 2, (400, 2)) @ rng.standard_normal((2, 8))) + 0.2 * rng.standard_normal((400, 8))
    X[rng.random(X.shape) < 0.25] = np.nan
    table = MixtureTable.of(X, np.ones(400))
    start = Draw.of(table, 2).kmeans(2, 0, np.random.default_rng(0))
    leaping = gaussian_rows(table, [2, 2], shared=False, rng=rng)
    plain = Plain(**{name: getattr(leaping, name) for name in ("table", "counts", "shared", "floor", "rng")})
    far, near = (climb(rows, start, tol=1e-7, max_iter=1000) for rows in (leaping, plain))
    assert len(far.levels) < 0.5 * len(near.levels)
    assert far.levels[-1] >= near.levels[-1] - 1e-3 * 400
    assert (np.diff(far.levels) >= 0).all()


def test_no_leap_where_a_noise_is_at_its_floor_or_a_component_empty():
    X, _ = clusters(share=0.1)
    rows = gaussian_rows(MixtureTable.of(X, np.ones(300)), [1, 1, 1], shared=False, rng=np.random.default_rng(0))
    start = Draw.of(rows.table, 2).kmeans(3, 0, np.random.default_rng(0))
    components, masses = rows.start(start)
    mixing = shares_of_weight(masses)
    points = [(components, mixing)]
    for _ in range(2):
        components = rows.refit(rows.see(components, mixing), components)
        points.append((components, mixing))
    assert rows.leapt(points) is not None
    assert rows.leapt([*points[:2], (points[2][0], np.array([0.0, 0.5, 0.5]))]) is None
    low = replace(components, parameters=replace(components.parameters, noise_variance=np.full(3, rows.floor)))
    assert rows.leapt([*points[:2], (low, mixing)]) is None
