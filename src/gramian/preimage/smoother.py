"""The kernel smoother: an average of the nearest training points."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian._checks import check_count
from gramian._types import Points
from gramian.kernels import Precomputed
from gramian.kernels.base import Kernel
from gramian.preimage.base import PreImage, PreImageInfo, combine


class KernelSmoother(PreImage):
    """x = Σᵢ kᵢxᵢ / Σᵢ kᵢ over the nearest points, k = K₀γ uncentred, negative values clipped before the sum [4].

    DP eq. 19, corrected: the kernel values are uncentred, so no stabilisation term is needed. Where no value is
    positive the nearest training point answers. Finite always, inside the hull of the data always, closed form.

    Parameters
    ----------
    n_neighbors : int or None, default=10
        How many points are averaged, nearest in feature space first; None is all of them, which blurs towards the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.kernels import RBF
    >>> from gramian.preimage import KernelSmoother
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> K0 = RBF(1.0)(X)
    >>> weights = np.array([[0.5, 0.5, 0.0]])
    >>> KernelSmoother(n_neighbors=2).fit(X, K0, kernel=RBF(1.0)).transform(weights, weights @ K0)
    array([[0.5]])
    """

    half_diagonal_: Annotated[Array | None, "n"] = None  # k(x, x) / 2 of the points, where it is not constant
    n_neighbors: Annotated[int | None, "natural"]

    def __init__(self, n_neighbors: int | None = 10) -> None:
        self.n_neighbors = n_neighbors

    def prepare(self, K0: Array | None, scores: Array | None) -> None:
        if self.n_neighbors is not None:
            check_count("n_neighbors", self.n_neighbors, 1)
        self.half_diagonal_ = half_diagonal(self.kernel_, self.X_, K0)

    def invert(self, weights: Array, values: Array) -> tuple[Array, PreImageInfo]:
        if self.n_neighbors is None or self.n_neighbors >= values.shape[1]:
            return self._average_of_all(values)
        chosen = nearest(values, self.half_diagonal_, self.n_neighbors)
        similar = np.maximum(np.take_along_axis(values, chosen, axis=1), 0.0)
        total = similar.sum(axis=1)
        lost = ~(total > 0)
        similar[lost] = 0.0
        similar[lost, 0] = 1.0  # neighbours come nearest first
        similar /= np.where(lost, 1.0, total)[:, None]
        n_points, n_chosen = chosen.shape
        starts = np.arange(0, n_points * n_chosen + 1, n_chosen)
        average = sparse.csr_array((similar.ravel(), chosen.ravel(), starts), shape=values.shape)
        info = PreImageInfo.closed_form(n_points)
        return combine(average, self.X_), PreImageInfo(info.converged, info.n_iter, lost)

    def _average_of_all(self, values: Array) -> tuple[Array, PreImageInfo]:
        similar = np.maximum(values, 0.0)
        total = similar.sum(axis=1)
        lost = np.flatnonzero(~(total > 0))
        similar[lost] = 0.0
        similar[lost, nearest(values[lost], self.half_diagonal_, 1)[:, 0]] = 1.0
        total[lost] = 1.0
        info = PreImageInfo.closed_form(len(values))
        info.fallback[lost] = True
        return combine(similar / total[:, None], self.X_), info


def half_diagonal(kernel: Kernel, X: Points, K0: Array | None) -> Array | None:
    """k(xᵢ, xᵢ)/2, or None where it is the same for all rows and so says nothing about who is near."""
    if kernel.stationary:
        return None
    if K0 is not None:
        return 0.5 * np.array(np.diagonal(K0), dtype=np.float64)
    if isinstance(kernel, Precomputed):
        return None
    return 0.5 * np.asarray(kernel.diagonal(X), dtype=np.float64)


def nearest(values: Array, half_diagonal: Array | None, n_neighbors: int | None) -> Array:
    """Indices (n, k) of the rows nearest in feature space, nearest first: |φ(xᵢ) - φ|²/2 = kᵢᵢ/2 - kᵢ + a constant."""
    distances = -values if half_diagonal is None else half_diagonal - values
    n_rows = values.shape[1]
    if n_neighbors is None or n_neighbors >= n_rows:
        return np.argsort(distances, axis=1, kind="stable")
    near = np.argpartition(distances, n_neighbors - 1, axis=1)[:, :n_neighbors]
    near.sort(axis=1)  # equal distances in the order of the rows, whatever the partition left
    order = np.argsort(np.take_along_axis(distances, near, axis=1), axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1)
