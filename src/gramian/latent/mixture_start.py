"""Where the EM of a mixture starts: responsibilities from k-means, from random rows, or from given means [6]."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from gramian._arrays import Array, row_chunks
from gramian.latent.kernel_mixture import responsibilities_of
from gramian.latent.mixture_rows import MixtureTable

KMEANS_ROWS = 5_000
"""k-means sees at most so many rows; the others go to the nearest centre."""
KMEANS_TRIES = 4
"""The best of so many runs of k-means is a start: they cost little beside the EM, which cannot undo a bad one."""


def kmeans_start(filled: Array, weights: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Responsibilities of 0 and 1 from k-means on rows without holes."""
    order = _order(filled, rng)
    if len(filled) > KMEANS_ROWS:
        spaced = (rng.random() + np.arange(KMEANS_ROWS)) / KMEANS_ROWS
        rows, shares = order[_positions(weights[order], spaced)], None
    else:
        rows, shares = order, weights[order]
    kmeans = KMeans(n_clusters, n_init=KMEANS_TRIES, random_state=int(rng.integers(2**31 - 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct rows than clusters: the mixture has its own words
        kmeans.fit(filled[rows], sample_weight=shares)
    return np.eye(n_clusters)[kmeans.predict(filled)]


def random_start(filled: Array, weights: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Responsibilities of 0 and 1: each row goes to the nearest of random rows."""
    order = _order(filled, rng)
    left = weights[order].copy()
    distances = np.full((len(filled), n_clusters), np.inf)
    for k, quantile in enumerate(rng.random(n_clusters)):
        if not left.any():  # fewer different rows than clusters
            break
        chosen = filled[order[_positions(left, quantile)]]
        distances[:, k] = _squared_distances(filled, chosen[None])[:, 0]
        left[distances[order, k] == 0.0] = 0.0
    return np.eye(n_clusters)[distances.argmin(axis=1)]


def _order(X: Array, rng: np.random.Generator) -> Array:
    """The rows along a random direction: draws in this order depend neither on how rows are sorted nor on repetition."""
    return np.argsort(X @ rng.standard_normal(X.shape[1]), kind="stable")


def _positions(weights: Array, quantiles: Any) -> Any:
    """The rows at these quantiles (below 1) of the weight; never one of weight 0."""
    cumulative = np.cumsum(weights)
    return np.searchsorted(cumulative, quantiles * cumulative[-1], side="right").clip(max=len(weights) - 1)


def means_start(table: MixtureTable, means: Array, mixing: Array | None) -> Array:
    """Responsibilities of spherical Gaussians about the means, over what each row shows, of one variance for all."""
    distances = _squared_distances((table.X - table.shift) / table.scale, (means - table.shift) / table.scale)
    seen = (~np.isnan(table.X)).sum(axis=1)
    variance = float(table.weights @ distances.min(axis=1)) / max(float(table.weights @ seen), 1.0)
    with np.errstate(divide="ignore"):
        terms = -0.5 * distances / max(variance, 1e-12) + (0.0 if mixing is None else np.log(mixing))
    return responsibilities_of(terms)[0]


def _squared_distances(X: Array, centers: Array) -> Array:
    """|x_o - c_o|² over the observed cells, (n, K)."""
    out = np.empty((len(X), len(centers)))
    for rows in row_chunks(len(X)):
        for k, center in enumerate(centers):
            out[rows, k] = np.nansum((X[rows] - center) ** 2, axis=1)
    return out
