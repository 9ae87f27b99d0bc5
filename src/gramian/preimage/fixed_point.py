"""The nearest image for the Gaussian kernel, from several starts: a fixed point of Mika's iteration."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian._precision import ROUNDING
from gramian.kernels import RBF, Scaled
from gramian.preimage.base import PreImageInfo, fitted_rows
from gramian.preimage.gradient import Gradient


class FixedPoint(Gradient):
    """x = Σᵢ γᵢ k(x, xᵢ) xᵢ / Σᵢ γᵢ k(x, xᵢ): where f(x) = <φ(x), Φγ> has a top (Mika 1998), by `Gradient` from three starts [4].

    The starts are the smoother, the nearest training row and the row of the largest weight; the best end wins. Where f is
    not positive at any of them, the smoother answers and ``converged`` is False.

    Parameters
    ----------
    tol : float, default=1e-6
        A point has settled when its next step is below this fraction of the data's spread.
    max_iter : int, default=200
        Most steps a start may take.
    n_neighbors : int or None, default=10
        For the smoother that starts, and answers where there is no fixed point.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.kernels import RBF
    >>> from gramian.preimage import FixedPoint
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> found = FixedPoint().fit(X, kernel=RBF(1.0))
    >>> found.transform(np.eye(3), RBF(1.0)(X)).round(6)  # feature points that are images have them back
    array([[0.],
           [1.],
           [5.]])
    """

    def prepare(self, K0: Array | None, scores: Array | None) -> None:
        inner = self.kernel_
        while isinstance(inner, Scaled):
            inner = inner.kernel
        if not isinstance(inner, RBF):
            raise ValueError(
                f"preimage='fixed_point' needs an RBF kernel, got {self.kernel_!r}. Use 'gradient' for other smooth "
                "kernels, or 'smoother', which takes any."
            )
        super().prepare(K0, scores)

    def invert(self, weights: Array, values: Array) -> tuple[Array, PreImageInfo]:
        smooth, _ = self.smoother_.invert(weights, values)
        rows = np.column_stack([values.argmax(axis=1), weights.argmax(axis=1)])
        starts = np.concatenate([smooth[:, None, :], fitted_rows(self.X_, rows)], axis=1)
        n_points, n_starts, n_columns = starts.shape
        new = np.ones((n_points, n_starts), dtype=bool)
        new[:, 2] = rows[:, 0] != rows[:, 1]  # a start that two rules agree on is tried once
        tried = np.flatnonzero(new)
        ends, errors, settled, steps = self._descend(starts.reshape(-1, n_columns)[tried], weights[tried // n_starts])
        ranked = np.full(n_points * n_starts, np.inf)
        ranked[tried] = errors
        best = ranked.reshape(n_points, n_starts).argmin(axis=1) + n_starts * np.arange(n_points)
        best = np.searchsorted(tried, best)
        shares = weights * self.kernel_(ends[best], self.X_)
        lost = ~(shares.sum(axis=1) > ROUNDING * np.abs(shares).sum(axis=1))
        return np.where(lost[:, None], smooth, ends[best]), PreImageInfo(settled[best] & ~lost, steps[best], lost)
