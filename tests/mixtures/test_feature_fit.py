"""Kernel mixtures of rows that are only summed over equal those of the same features in memory, however rows are cut."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.datasets import make_c_shapes
from gramian.features import Nystroem
from gramian.kernels import RBF
from gramian.mixtures.feature_fit import (
    Halved,
    OfComponents,
    OfNearestPoint,
    SummedFeatures,
    block_features,
    sums_of_start,
    sums_of_step,
)
from gramian.mixtures.kernel_component import FeatureRows
from gramian.mixtures.kernel_fit import fit_kernel_mixture, race
from gramian.mixtures.mixture import halve
from gramian.rows import BatchRows, Block, as_rows

NOISE, ASKED = 0.01, (3, 3)


@pytest.fixture(scope="module")
def case():
    X, _ = make_c_shapes(120, random_state=0)
    feature_map = Nystroem(RBF(3.0), 30).fit(X)
    points = feature_map.landmarks_
    features = FeatureRows(feature_map, feature_map.transform(X), points, feature_map.transform(points))
    shares = np.eye(2)[(points[:, 0] > 0).astype(int)]
    return X, features, OfNearestPoint(features.point_features, shares)


def summed(rows, features, asked=ASKED):
    prepared = rows.prepare(block_features, features.feature_map)
    return SummedFeatures(asked, NOISE, None, prepared, 120.0)


@pytest.mark.parametrize("asked", [(3, 3), (0.8, 2)], ids=["counts", "a fraction"])
@pytest.mark.parametrize("cut", [[120], [50, 70], [1, 59, 60]], ids=str)
def test_sums_over_blocks_give_the_mixture_in_memory(case, cut, asked):
    X, features, start = case
    batches = np.split(X, np.cumsum(cut)[:-1])
    rows = BatchRows.of(batches, missing=False)
    found = race(summed(rows, features, asked), [start], tol=1e-8, max_iter=25)
    first = start(Block(X, np.ones(120), prepared=features.features))
    whole = fit_kernel_mixture(features, [first], np.ones(120), asked, NOISE, tol=1e-8, max_iter=25)
    levels, expected_levels = np.array(found.levels) / 120, whole.log_likelihoods
    both = min(len(levels), len(expected_levels))
    assert both >= 3
    assert_allclose(levels[:both], expected_levels[:both], rtol=1e-8)
    assert_allclose(
        levels[-1], expected_levels[-1], rtol=1e-12
    )  # a last step that gains only rounding is told by one alone
    assert_allclose(found.mixing, whole.mixing, atol=1e-7)
    for model, expected in zip(found.components, whole.components):
        assert_allclose(model.gaussian.eigenvalues, expected.gaussian.eigenvalues, rtol=1e-6)


def test_a_row_starts_where_its_nearest_landmark_belongs(case):
    X, features, start = case
    shares = start(Block(X, np.ones(120), prepared=features.features))
    gaps = ((features.features[:, None] - features.point_features) ** 2).sum(axis=2)
    assert (shares == start.shares[gaps.argmin(axis=1)]).all()


def test_sums_add_up_and_the_level_is_the_weighted_log_likelihood(case):
    X, features, start = case
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 120)
    whole = Block(X, weights, prepared=features.features)
    parts = [Block(X[r], weights[r], prepared=features.features[r]) for r in (slice(0, 40), slice(40, 120))]
    model = summed(as_rows(X, None), features)
    components, masses = model.start(start)
    view = OfComponents(components, np.array([0.4, 0.6]))
    both, one = sums_of_step(parts[0], view) + sums_of_step(parts[1], view), sums_of_step(whole, view)
    assert_allclose(both.level, one.level)
    assert_allclose(both.masses, one.masses)
    assert (both.counts == one.counts).all()
    assert_allclose(both.moments.parts[0].scatter, one.moments.parts[0].scatter, atol=1e-10)
    assert_allclose(one.level, weights @ np.log(np.exp(view.terms(whole)).sum(axis=1)))
    assert_allclose(sums_of_start(whole, start).masses, weights @ start(whole))
    assert_allclose(masses.sum(), 120.0)


def test_a_rescue_gives_the_empty_component_the_rows_beyond_the_donor_mean(case):
    X, features, start = case
    block = Block(X, np.ones(120), prepared=features.features)
    components, _ = summed(as_rows(X, None), features).start(start)
    before = OfComponents(components, np.array([1.0, 0.0]))
    scores = components[0].subspace.project(features.features).scores[:, 0]
    assert_allclose(Halved(before, 1, 0)(block), halve(before(block), 1, 0, scores > 0))
    assert 0.2 < Halved(before, 1, 0)(block)[:, 1].mean() < 0.8


def test_a_start_that_leaves_a_component_empty_is_mixed_with_everyone(case):
    X, features, start = case
    alone = OfNearestPoint(features.point_features, np.tile([1.0, 0.0], (len(features.points), 1)))
    model = summed(as_rows(X, None), features)
    assert model.nonempty(start) is start
    shares = model.nonempty(alone)(Block(X, np.ones(120), prepared=features.features))
    assert (shares > 0).all()
    assert_allclose(shares.sum(axis=1), 1.0)
