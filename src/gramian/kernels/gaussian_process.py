"""scikit-learn's Gaussian-process kernels as kernels."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian._types import DType, Points
from gramian.kernels._rows import common_dtype, kernel_rows, pair_of_rows
from gramian.kernels.base import Kernel, Tile


class GaussianProcessKernel(Kernel):
    """A `sklearn.gaussian_process.kernels.Kernel` with its fixed hyperparameters, as a kernel.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Its parameters are reached as ``kernel__length_scale``. White noise counts on the diagonal of k(X) only.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from gramian.kernels import GaussianProcessKernel
    >>> GaussianProcessKernel(DotProduct(sigma_0=1.0))([[1.0], [2.0]])
    array([[2., 3.],
           [3., 5.]])
    """

    kernel: Annotated[Any, "GPKernel"]

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    @property
    def stationary(self) -> bool:
        return bool(self.kernel.is_stationary())

    def __call__(self, X: Points, Y: Points | None = None) -> Array:
        same = Y is None
        X, Y = pair_of_rows(self, X, Y)
        values = self.kernel(X) if same else self.kernel(X, Y)
        return np.array(values, dtype=common_dtype(X, Y))

    def diagonal(self, X: Points) -> Array:
        X = kernel_rows(self, X)
        return np.array(self.kernel.diag(X), dtype=np.float64)

    def tiles(self, X: Points, Y: Points, dtype: DType = np.float64) -> Tile:
        diagonal = self.kernel.diag(X) if Y is X else None

        def tile(rows: slice, columns: slice) -> Array:
            values = np.array(self.kernel(X[rows], Y[columns]), dtype=dtype)
            if diagonal is not None:
                # k(X, Y) leaves out white noise; where a row meets itself it belongs
                n_rows = diagonal.shape[0]
                first, last, _ = rows.indices(n_rows)
                start, stop, _ = columns.indices(n_rows)
                same = np.arange(max(first, start), min(last, stop))
                values[same - first, same - start] = diagonal[same]
            return values

        return tile
