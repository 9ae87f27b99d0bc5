"""Starts for mixtures of kernel models: kernel k-means in feature space, and on the graph of nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
from scipy import linalg, optimize, sparse
from scipy.sparse.linalg import eigsh

from gramian._arrays import Array, row_chunks
from gramian._threads import single_blas_thread
from gramian.policy import SIZES

Product = Callable[[Array], Array]


def kernel_kmeans(gram: Array, weights: Array, n_clusters: int, rng: np.random.Generator, n_starts: int = 5) -> Array:
    """Labels by k-means in feature space: |φ - μ_c|² by K₀ alone."""
    return _kmeans(lambda block: gram @ block, np.diagonal(gram), weights, n_clusters, rng, n_starts)


def kmeans(rows: Array, weights: Array, n_clusters: int, rng: np.random.Generator, n_starts: int = 10) -> Array:
    """Labels by k-means of explicit rows: the same with K₀ = X Xᵀ, never formed."""
    centred = np.asarray(rows, dtype=np.float64) - np.mean(rows, axis=0, dtype=np.float64)
    squares = np.einsum("nd,nd->n", centred, centred)
    return _kmeans(lambda block: centred @ (centred.T @ block), squares, weights, n_clusters, rng, n_starts)


def _kmeans(
    product: Product, diagonal: Array, weights: Array, n_clusters: int, rng: np.random.Generator, n_starts: int
) -> Array:
    """The best of ``n_starts`` runs, each seeded by k-means++."""
    best, least = np.zeros(len(diagonal), dtype=int), np.inf
    with single_blas_thread():
        for _ in range(n_starts):
            labels = _seeds(product, diagonal, weights, n_clusters, rng)
            labels, inertia = _lloyd(product, diagonal, weights, labels, n_clusters)
            if inertia < least:
                best, least = labels, inertia
    return best


def _seeds(product: Product, diagonal: Array, weights: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """k-means++ (Arthur & Vassilvitskii 2007): each seed drawn by its squared distance to those before."""
    n = len(diagonal)
    nearest = np.full(n, np.inf)
    labels = np.zeros(n, dtype=int)
    for cluster in range(n_clusters):
        chance = weights * (np.ones(n) if cluster == 0 else nearest)
        if not chance.sum() > 0:
            break  # fewer distinct points than clusters
        seed = rng.choice(n, p=chance / chance.sum())
        one = np.zeros((n, 1))
        one[seed] = 1.0
        distance = np.maximum(diagonal - 2 * product(one)[:, 0] + diagonal[seed], 0.0)
        labels[distance < nearest] = cluster
        nearest = np.minimum(nearest, distance)
    return labels


def _lloyd(product: Product, diagonal: Array, weights: Array, labels: Array, n_clusters: int) -> tuple[Array, float]:
    n = len(diagonal)
    inertia = np.inf
    for _ in range(100):
        members = np.zeros((n, n_clusters))
        members[np.arange(n), labels] = weights
        masses = members.sum(axis=0)
        means = members / np.where(masses > 0, masses, 1.0)
        products = product(means)
        distances = diagonal[:, None] - 2 * products + np.einsum("nc,nc->c", means, products)
        distances[:, masses == 0] = np.inf
        new = distances.argmin(axis=1)
        inertia = float(weights @ np.maximum(np.take_along_axis(distances, new[:, None], axis=1)[:, 0], 0.0))
        if (new == labels).all():
            break
        labels = new
    return labels, inertia


@dataclass(frozen=True)
class Neighbours:
    """The nearest other rows of each row in feature space, nearest first, with |φ - φ'|²."""

    near: Array  # (n, m)
    squares: Array  # (n, m)

    @classmethod
    def of(cls, gram: Array, count: int) -> Neighbours:
        """The ``count`` nearest of each row, or all others."""
        n = len(gram)
        count = min(count, n - 1)
        diagonal = np.diagonal(gram)
        near, squares = np.empty((n, count), dtype=np.intp), np.empty((n, count))
        for rows in row_chunks(n, max(1, SIZES.chunk // 8 // n)):
            distances = diagonal - 2 * gram[rows]  # but for k(x, x), which is the same along a row
            distances[np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)] = np.inf
            found = np.argpartition(distances, count - 1, axis=1)[:, :count]
            values = np.take_along_axis(distances, found, axis=1)
            order = np.argsort(values, axis=1, kind="stable")
            near[rows] = np.take_along_axis(found, order, axis=1)
            squares[rows] = np.take_along_axis(values, order, axis=1) + diagonal[rows, None]
        return cls(near, np.maximum(squares, 0.0))

    def graph(self, count: int) -> sparse.csr_array:
        """Edges to the ``count`` nearest, weighted by exp(-d²/(σ σ')) with σ² the squared distance to the last of them."""
        near, squares = self.near[:, :count], self.squares[:, :count]
        # rows with that many copies have no scale of their own: a small one keeps the copies together
        scale = np.sqrt(np.maximum(squares[:, -1], 1e-12 * float(squares.max()) or 1.0))
        return self._symmetric(near, np.exp(-squares / (scale[:, None] * scale[near])))

    def graph_of_one_width(self, sharpness: float) -> sparse.csr_array:
        """Edges weighted by exp(-c d²/w²), c the sharpness, w² the median squared distance to the tenth neighbour: the same for all rows.

        Where rows are sparse, as between two noisy shapes, its edges are faint, while those of `graph` are as strong as anywhere.
        """
        rank = min(WIDTH_NEIGHBOUR, self.near.shape[1]) - 1
        width = float(np.median(self.squares[:, rank])) or float(self.squares.max()) or 1.0
        return self._symmetric(self.near, np.maximum(np.exp(-sharpness * self.squares / width), np.finfo(float).tiny))

    def _symmetric(self, near: Array, values: Array) -> sparse.csr_array:
        n, count = near.shape
        rows = np.repeat(np.arange(n), count)
        graph = sparse.csr_array((values.ravel(), (rows, near.ravel())), shape=(n, n))
        return sparse.csr_array(graph.maximum(graph.T))


def graph_cut(edges: sparse.csr_array, weights: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Labels by the normalised cut of a graph.

    Normalised cut is kernel k-means with the graph as its kernel (Dhillon, Guan & Kulis 2004). Neighbours follow a curved
    cluster where a wide kernel sees only its hull, so interlocked shapes come apart.
    """
    n = edges.shape[0]
    degree = np.asarray(edges.sum(axis=1)).ravel()
    # The share of an edge's weight that connects every pair: so that a graph in pieces is cut where it matters.
    background = 1e-3 * degree.mean()
    total = degree + background
    root = 1.0 / np.sqrt(total)
    scaled = sparse.csr_array(edges.multiply(root[:, None]).multiply(root[None, :]))
    uniform = root * np.sqrt(background / n)
    vectors = _leading(scaled, uniform, n_clusters)
    rows = vectors * root[:, None]
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
    return kmeans(rows, weights * total, n_clusters, rng)


def _leading(scaled: sparse.csr_array, uniform: Array, count: int) -> Array:
    """Leading eigenvectors of the normalised graph and its background u uᵀ."""
    n = len(uniform)
    if n <= SIZES.dense:
        matrix = scaled.toarray() + np.outer(uniform, uniform)
        with single_blas_thread():
            return linalg.eigh(matrix, subset_by_index=(n - count, n - 1))[1]
    from scipy.sparse.linalg import LinearOperator

    def product(v: Array) -> Array:
        v = v.ravel()
        return scaled @ v + uniform * (uniform @ v)

    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    return np.asarray(eigsh(operator, k=count, which="LA", v0=np.ones(n), tol=1e-6, maxiter=50 * n)[1])


# ---------------------------------------------------------------- starting responsibilities


WIDTH_NEIGHBOUR = 10
"""... from the distance to this neighbour."""
GRAPH_SIZES = (10, 30)
"""Neighbours of further graphs, with a width per row. A sparse one may cut a thin place of a cluster, a dense one jumps gaps: which start is
right, the objective says."""


def graph_start(rows: Any, weights: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Starting responsibilities (N, I), zeros and ones, by the first of `graph_starts`."""
    return graph_starts(rows, weights, n_clusters, rng, n_starts=1)[0]


def graph_starts(
    rows: Any,
    weights: Array,
    n_clusters: int,
    rng: np.random.Generator,
    attempt: int = 0,
    n_starts: int | None = None,
) -> list[Array]:
    """Starting responsibilities (N, I), zeros and ones: by graphs at even attempts, by kernel k-means at odd ones.

    Every attempt differs: its graphs have other widths and numbers of neighbours, its k-means other seeds. Of starts that are alike the
    first is kept, so that clusters that all graphs agree on cost one EM. With explicit features the landmarks are
    clustered, and each row goes with its nearest.
    """
    if hasattr(rows, "gram"):
        return graph_members(rows.gram, weights, n_clusters, rng, attempt, n_starts)
    members = landmark_members(rows.point_features, n_clusters, rng, attempt, n_starts)
    nearest = nearest_points(rows.features, rows.point_features)
    return [start[nearest] for start in members]


def landmark_members(
    point_features: Array, n_clusters: int, rng: np.random.Generator, attempt: int = 0, n_starts: int | None = None
) -> list[Array]:
    """The same of landmarks, known by their features."""
    gram = point_features @ point_features.T
    return graph_members(gram, np.ones(len(gram)), n_clusters, rng, attempt, n_starts)


def graph_members(
    gram: Array, heavy: Array, n_clusters: int, rng: np.random.Generator, attempt: int, n_starts: int | None
) -> list[Array]:
    """The same of the points of a Gram matrix."""
    if len(gram) <= n_clusters:
        found = [np.arange(len(gram)) % n_clusters]
    elif attempt % 2:
        found = [kernel_kmeans(gram, heavy, n_clusters, rng)]
    else:
        found = [graph_cut(graph, heavy, n_clusters, rng) for graph in _graphs(gram, attempt, n_starts)]
    members: list[Array] = []
    for start in (np.eye(n_clusters)[labels] for labels in found):
        if not any(_alike(start, other) for other in members):
            members.append(start)
    return members


def _graphs(gram: Array, attempt: int, count: int | None) -> Iterator[sparse.csr_array]:
    """At most ``count`` graphs of an attempt; no width and no number of neighbours comes twice."""
    sizes = [size + 3 * attempt for size in GRAPH_SIZES]
    neighbours = Neighbours.of(gram, max(sizes))
    yield from islice(
        chain(
            # Of the first start, a graph of one width ...
            (neighbours.graph_of_one_width(c) for c in (2.0 / (1.0 + 0.5 * attempt),)),
            (neighbours.graph(size) for size in sizes),
        ),
        count,
    )


def _alike(one: Array, other: Array) -> bool:
    """Whether two clusterings agree on nearly all rows, whatever the names of their clusters."""
    common = one.T @ other
    # Starts that differ in at most this share of the rows climb to the same top.
    return float(common[optimize.linear_sum_assignment(-common)].sum()) >= (1 - 0.02) * len(one)


def nearest_points(features: Array, landmarks: Array) -> Array:
    """The landmark nearest to each row, by their features."""
    half = 0.5 * np.einsum("mr,mr->m", landmarks, landmarks)
    nearest = [(features[rows] @ landmarks.T - half).argmax(axis=1) for rows in row_chunks(len(features))]
    return np.concatenate(nearest)
