"""What one Gram matrix says of some rows and of others that were held out: all that a fold is scored by [1]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian.operators.centering import Centering


@dataclass(frozen=True)
class HeldOutGram:
    """The rows that are fitted, and how they see the held-out ones: with JᵀK₀J = VLVᵀ the scores of these are (VᵀB)ᵀL^-½, B = ``shown``.

    >>> import numpy as np
    >>> X = np.array([[0.0], [2.0], [5.0]])
    >>> block = HeldOutGram.of(X @ X.T, np.ones(3), np.array([0, 1]), np.array([2]))
    >>> block.matrix.trace().round(9).item(), block.squared_norms.round(9).tolist()
    (1.0, [16.0])
    """

    matrix: Array  # JᵀK₀J of the fitted rows
    centering: Centering
    shown: Array  # Jᵀ(k_x - K₀s), one column per held-out row
    squared_norms: Array  # |φ - μ|² of the held-out rows

    @classmethod
    def of(cls, gram: Array, weights: Array, kept: Array, held: Array, center: bool = True) -> HeldOutGram:
        """From K₀ (n, n), raw weights (n,), and the positions of the rows that are fitted and of those held out."""
        centering = Centering(weights[kept] / weights[kept].sum(), center)
        matrix, mean = centering.gram(gram[np.ix_(kept, kept)])
        seen = gram[np.ix_(held, kept)]
        norms = gram[held, held] - (2 * seen - mean) @ centering.affine
        return cls(matrix, centering, centering.transpose((seen - mean).T), np.maximum(norms, 0.0))
