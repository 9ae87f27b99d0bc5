"""Leading eigenpairs of a stored matrix in a fraction of the time of a dense decomposition."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from gramian._arrays import Array

SPARE = 0.125
"""Further columns, as a share of the pairs: the last pairs of a block are the worst."""


def rough_pairs(matrix: Array, count: int) -> tuple[Array, Array]:
    """As :func:`leading_pairs` by two products from a random start: the eigenvalues are right to a few percent.

    >>> import numpy as np
    >>> values, vectors = rough_pairs(np.diag(0.5 ** np.arange(40.0)), 3)
    >>> values.round(6).tolist()
    [1.0, 0.5, 0.25]
    """
    start = np.random.default_rng(0).standard_normal((len(matrix), _width(matrix, count)))
    return _ritz(matrix, matrix @ np.linalg.qr(matrix @ start)[0], count)


def leading_pairs(matrix: Array, count: int) -> tuple[Array, Array]:
    """The ``count`` largest eigenvalues of a positive semi-definite matrix, largest first, and their vectors as columns.

    A dense decomposition in float32 finds the space, one product in float64 mends what rounding did to it, and Rayleigh-Ritz
    in float64 gives the pairs.

    >>> import numpy as np
    >>> values, vectors = leading_pairs(np.diag(0.5 ** np.arange(40.0)), 3)
    >>> values.round(9).tolist()
    [1.0, 0.5, 0.25]
    """
    size, scale = len(matrix), float(np.trace(matrix)) or 1.0
    wanted = (size - _width(matrix, count), size - 1)
    single = (matrix / scale).astype(np.float32)
    space = linalg.eigh(single, subset_by_index=wanted, overwrite_a=True, check_finite=False)[1]
    return _ritz(matrix, matrix @ space.astype(np.float64), count)


def _ritz(matrix: Array, block: Array, count: int) -> tuple[Array, Array]:
    axes = np.linalg.qr(block)[0]
    values, rotation = np.linalg.eigh(axes.T @ (matrix @ axes))
    return values[::-1][:count], axes @ rotation[:, ::-1][:, :count]


def _width(matrix: Array, count: int) -> int:
    return min(len(matrix), count + int(SPARE * count) + 8)
