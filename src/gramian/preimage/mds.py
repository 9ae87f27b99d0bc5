"""Kwok and Tsang's pre-image: a position from its distances to the nearest training points."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gramian._arrays import Array, row_chunks
from gramian._checks import check_count
from gramian._precision import SEEN
from gramian._threads import single_blas_thread
from gramian.policy import SIZES
from gramian.preimage.base import PreImage, PreImageInfo, feature_norms, fitted_rows
from gramian.preimage.smoother import nearest


class MDS(PreImage):
    """The least-squares position from distances to the nearest training points (Kwok & Tsang 2003) [4].

    Feature distances |φ(xᵢ) - Φγ|² = k(xᵢ, xᵢ) - 2kᵢ + γᵀK₀γ become input distances by inverting the kernel, clipped at
    the diameter of the data where it cannot reach. With the neighbours x̃ centred on their mean x̄, x = x̄ + y solves
    2 x̃ᵢᵀy = |x̃ᵢ|² - dᵢ² less its mean. Closed form; needs a kernel of |x - y| with one length scale.

    Parameters
    ----------
    n_neighbors : int, default=10
        How many training points are measured from, nearest in feature space first.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.kernels import RBF
    >>> from gramian.preimage import MDS
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    >>> K0 = RBF(2.0)(X)
    >>> MDS().fit(X, K0, kernel=RBF(2.0)).transform(np.eye(4)[:1], K0[:1]).round(6) + 0.0
    array([[0., 0.]])
    """

    n_neighbors: Annotated[int | None, "natural"]

    reproduces_training = True

    def __init__(self, n_neighbors: int = 10) -> None:
        self.n_neighbors = n_neighbors

    def prepare(self, K0: Array | None, scores: Array | None) -> None:
        check_count("n_neighbors", self.n_neighbors, 1)
        if not self.kernel_.isotropic:
            raise ValueError(
                f"preimage='mds' needs a kernel of |x - y| with one length scale (RBF, Matern, RationalQuadratic), got "
                f"{self.kernel_!r}. Use 'gradient' for other smooth kernels, or 'smoother', which takes any."
            )

    def invert(self, weights: Array, values: Array) -> tuple[Array, PreImageInfo]:
        chosen = nearest(values, None, self.n_neighbors)
        at_zero = float(self.kernel_.diagonal(self.X_[:1])[0])
        squared_diameter = float(np.square(self.upper_ - self.lower_).sum())
        # as if Φγ were an image: k(x, xᵢ) = k(0) - |φ(xᵢ) - Φγ|²/2
        similar = np.take_along_axis(values, chosen, axis=1)
        similar += 0.5 * (at_zero - feature_norms(weights, values))[:, None]
        squares = np.minimum(self.kernel_.squared_distance(similar), squared_diameter)
        found = np.empty((len(values), self.X_.shape[1]))
        for rows in row_chunks(len(values), max(1, SIZES.chunk // 8 // (chosen.shape[1] * self.X_.shape[1]))):
            found[rows] = positions(fitted_rows(self.X_, chosen[rows]), squares[rows])
        return found, PreImageInfo.closed_form(len(values))


def positions(neighbors: Array, squares: Array) -> Array:
    """Points (n, d) nearest to having the squared distances (n, k) from their neighbours (n, k, d)."""
    means = neighbors.mean(axis=1)
    centred = neighbors - means[:, None, :]
    right = np.einsum("nkd,nkd->nk", centred, centred) - squares
    right -= right.mean(axis=1, keepdims=True)
    with single_blas_thread():
        left, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    kept = sizes > SEEN * sizes[:, :1]
    inverse = np.divide(0.5, sizes, out=np.zeros_like(sizes), where=kept)
    along = inverse * np.einsum("nkr,nk->nr", left, right)
    return np.asarray(means + np.einsum("nr,nrd->nd", along, axes))
