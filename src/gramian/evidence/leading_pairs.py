"""Leading eigenpairs of a stored matrix in a fraction of the time of a dense decomposition."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from gramian._arrays import Array
from gramian.solvers.turned import Reflected


def in_single(matrix: Array) -> Reflected:
    """The decomposition in float32 of a matrix divided by its trace."""
    return Reflected.of((matrix / (float(np.trace(matrix)) or 1.0)).astype(np.float32))


def leading_pairs(matrix: Array, count: int, single: Reflected | None = None) -> tuple[Array, Array]:
    """The ``count`` largest eigenvalues of a positive semi-definite matrix, largest first, and their vectors as columns.

    A decomposition in float32 finds the space (``single``, where it is known), and Rayleigh-Ritz in float64 gives the pairs.

    >>> import numpy as np
    >>> values, vectors = leading_pairs(np.diag(0.5 ** np.arange(40.0)), 3)
    >>> values.round(9).tolist()
    [1.0, 0.5, 0.25]
    """
    single = in_single(matrix) if single is None else single
    width = min(len(matrix), count + count // 6 + 8)  # the last pairs of a block are the worst
    axes = single.leading(width).astype(np.float64)
    if single.values[width - 1] <= 1e-5 * single.values[0]:  # what float32 hardly sees, a product with the matrix shows
        axes = np.linalg.qr(matrix @ axes)[0]
    values, rotation = linalg.eigh(axes.T @ (matrix @ axes), axes.T @ axes, check_finite=False)
    return values[::-1][:count], axes @ rotation[:, ::-1][:, :count]
