"""The Laplacian kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._types import DType, Points
from gramian.kernels._radial import Stationary
from gramian.kernels._scales import check_length_scale
from gramian.kernels.base import Tile


class Laplacian(Stationary):
    """k(x, y) = exp(-|x - y|₁ / ℓ), or exp(-Σⱼ |xⱼ - yⱼ| / ℓⱼ).

    Parameters
    ----------
    length_scale : float, array of shape (d,), "median" or "local", default=1.0
        ℓ, one for all columns or one for each; "median" is the median Euclidean distance between training
        rows, "local" twice the distance to near neighbours.

    Examples
    --------
    >>> from gramian.kernels import Laplacian
    >>> Laplacian(2.0)([[0.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    def __init__(self, length_scale: Any = 1.0) -> None:
        self.length_scale = length_scale

    def typical_distance(self, median: float, n_columns: int) -> float:
        """City-block distances are longer."""
        return median * float(np.sqrt(n_columns))

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        from scipy.spatial.distance import cdist  # 60 ms that few need

        scale = check_length_scale(self.length_scale, X.shape[1])
        left = np.asarray(X, dtype=np.float64) / scale
        right = left if Y is X else np.asarray(Y, dtype=np.float64) / scale

        def tile(rows: slice, columns: slice) -> Array:
            distances = cdist(left[rows], right[columns], "cityblock").astype(dtype, copy=False)
            np.negative(distances, out=distances)
            return np.exp(distances, out=distances)

        return tile
