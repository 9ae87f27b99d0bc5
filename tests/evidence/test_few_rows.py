"""Held-out distances to a principal subspace equal their definition, for tall and wide tables."""

import numpy as np
import pytest

from gramian._content import content_folds
from gramian.evidence.few_rows import held_out_distance
from gramian.policy import LOOK


def by_definition(X, weights, q, center):
    """One PCA per fold, by the singular value decomposition of its rows."""
    _, fold = content_folds(X, 2 * LOOK.folds)
    total = 0.0
    for held in range(2 * LOOK.folds):
        kept, out = fold != held, fold == held
        mean = np.average(X[kept], axis=0, weights=weights[kept]) if center else 0.0
        axes = np.linalg.svd((X[kept] - mean) * np.sqrt(weights[kept])[:, None], full_matrices=False)[2][:q]
        centred = X[out] - mean
        total += weights[out] @ ((centred - centred @ axes.T @ axes) ** 2).sum(axis=1)
    return total / weights.sum()


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(40, 6), (40, 40), (30, 200)])
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_held_out_distances_are_those_of_the_definition(shape, offset, center):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1])) + 0.3 * rng.standard_normal(shape)
    weights = rng.integers(1, 4, shape[0]).astype(float)
    found = held_out_distance(X + offset, weights, 2, center)
    assert found == pytest.approx(by_definition(X + offset, weights, 2, center), rel=1e-9)


def test_rows_but_two_more_than_components_are_enough():
    X, weights = np.random.default_rng(0).standard_normal((4, 3)), np.ones(4)
    assert held_out_distance(X, weights, 1) == pytest.approx(by_definition(X, weights, 1, True), rel=1e-12)
    assert held_out_distance(X, weights, 2) is None
