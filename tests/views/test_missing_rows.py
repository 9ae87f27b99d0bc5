"""Views with holes in sums over blocks: what each task adds up is what the whole table says, however it is cut."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import MultiViewRKM
from gramian.latent.masked_em import Parameters
from gramian.rows import Block
from gramian.views.missing_rows import farthest_latents, filled_moments, largest_magnitudes

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2)) @ RNG.standard_normal((2, 7)) + 0.3 * RNG.standard_normal((60, 7)) + 2.0
X[RNG.random(X.shape) < 0.15] = np.nan
X[:10, :4] = np.nan  # a view that is not there
WEIGHTS = RNG.integers(1, 4, 60).astype(float)
CUTS = [(0, 60), (0, 17), (17, 18), (18, 60)]


def blocks(cuts):
    return [Block(X[a:b], WEIGHTS[a:b]) for a, b in cuts]


def test_moments_with_means_in_the_holes_add_up():
    means = np.nanmean(X, axis=0)
    whole, *parts = (filled_moments(block, means) for block in blocks(CUTS))
    offsets = np.where(np.isnan(X), 0.0, X - means)
    rest = offsets - WEIGHTS @ offsets / WEIGHTS.sum()
    assert_allclose(whole.scatter, (rest * WEIGHTS[:, None]).T @ rest, atol=1e-10)
    assert_allclose((parts[0] + parts[1] + parts[2]).scatter, whole.scatter, atol=1e-10)


def test_the_farthest_latent_along_each_axis_does_not_depend_on_the_cut():
    kinds = np.repeat([0, 1], [4, 3])
    loadings = np.random.default_rng(1).standard_normal((1, 7, 2))
    model = Parameters(np.zeros((1, 7)), loadings, np.array([[0.2, 0.5]]), kinds)
    whole, *parts = (farthest_latents(block, np.full(7, 2.0), model, np.eye(2)) for block in blocks(CUTS))
    latents = []
    for row, weight in zip(X, WEIGHTS):
        seen = ~np.isnan(row)
        W, noise = loadings[0][seen], np.array([0.2, 0.5])[kinds[seen]]
        precision = np.eye(2) + (W / noise[:, None]).T @ W
        latents.append(np.sqrt(weight) * np.linalg.solve(precision, W.T @ ((row[seen] - 2.0) / noise)))
    assert_allclose(whole.low, np.min(latents, axis=0))
    assert_allclose(whole.high, np.max(latents, axis=0))
    merged = parts[0] + parts[1] + parts[2]
    assert_allclose([merged.low, merged.high], [whole.low, whole.high])


def test_largest_magnitudes_pass_holes_over():
    assert largest_magnitudes([np.array([[np.nan, -3.0]]), np.full((2, 1), np.nan)]).tolist() == [3.0, 0.0]


@pytest.mark.parametrize("noise", ["per-view", "ml"])
def test_batches_give_the_model_of_the_table(noise):
    views = {"left": slice(0, 4), "right": slice(4, 7)}
    model = MultiViewRKM(2, views=views, noise_variance=noise, n_folds=None)
    rows = model.fit_batches([X[20:], X[:1], X[1:20]]).transform(X)
    assert_allclose(rows, model.fit(X).transform(X), atol=1e-6)
