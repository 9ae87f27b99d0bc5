"""Subspaces: projections with and without holes, embedding, fewer axes; primal and dual alike."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.kernels import Linear
from gramian.latent.sample import DualSample, primal_sample
from gramian.latent.subspace import PrimalSubspace, overlaps
from gramian.operators.gram import DenseGram
from gramian.solvers.eigh import Eigh
from oracles.tables import TABLES, with_holes

X = TABLES["tall"]


@pytest.fixture(scope="module")
def pair():
    primal = primal_sample(X, np.ones(60))
    dual = DualSample(Linear(), X, DenseGram(X @ X.T), np.full(60, 1 / 60), dim=6.0)
    return [sample.subspace(Eigh().solve(sample.operator(), 3).signed()) for sample in (primal, dual)]


def test_overlaps_are_those_of_the_entries_that_were_seen():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((6, 3)))[0]
    seen = rng.random((5, 6)) < 0.6
    for mask, found in zip(seen, overlaps(seen, axes)):
        assert_allclose(found, axes[mask].T @ axes[mask], atol=1e-12)


def test_holes_are_what_was_not_seen(pair):
    primal = pair[0]
    rows = with_holes(X, 0.4)
    seen = primal.project(rows)
    centred = np.nan_to_num(rows - primal.mean)
    assert_allclose(seen.scores, centred @ primal.components.T)
    assert_allclose(seen.squared_norm, (centred**2).sum(axis=1))
    assert_allclose(seen.dim, (~np.isnan(rows)).sum(axis=1))


def test_embedding_undoes_projection_within_the_subspace(pair):
    primal, dual = pair
    scores = np.random.default_rng(1).standard_normal((4, 3))
    assert_allclose(primal.project(primal.embed(scores)).scores, scores)
    gamma = dual.embed(scores)  # affine weights over the training rows
    assert_allclose(gamma.sum(axis=1), 1.0)
    assert_allclose(dual.project(gamma @ X).scores, scores, atol=1e-9)
    assert_allclose(dual.kernel_values(scores), gamma @ X @ X.T, atol=1e-8)


def test_fewer_axes_are_the_leading_ones(pair):
    for subspace in pair:
        assert_allclose(subspace.take(2).project(X[:5]).scores, subspace.project(X[:5]).scores[:, :2])


def test_loadings_are_axes_times_gains(pair):
    gains = np.array([3.0, 2.0, 1.0])
    assert_allclose(pair[0].loadings(gains), pair[0].components.T * gains)
    assert isinstance(pair[0], PrimalSubspace)
