"""The pre-image that needs no method: the feature map is the identity."""

from __future__ import annotations

from gramian._arrays import Array
from gramian.preimage.base import PreImage


class Exact(PreImage):
    """x = Σᵢ γᵢxᵢ, for linear kernels (multiples, and a constant added, included) [4].

    Every pre-image does this on a linear kernel; this one refuses any other.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.kernels import Linear
    >>> from gramian.preimage import Exact
    >>> X = np.array([[0.0, 0.0], [2.0, 4.0]])
    >>> weights = np.array([[0.5, 0.5]])
    >>> Exact().fit(X, kernel=Linear()).transform(weights, weights @ X @ X.T)
    array([[1., 2.]])
    """

    reproduces_training = True

    def prepare(self, K0: Array | None, scores: Array | None) -> None:
        raise ValueError(
            f"preimage='exact' needs a linear kernel, got {self.kernel_!r}. Use 'smoother', which takes any kernel."
        )
