"""Mika's fixed point: where the gradient of |φ(x) - Φγ|² vanishes, for the Gaussian kernel."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_tolerance
from gramian._precision import ROUNDING
from gramian.kernels import RBF, Scaled
from gramian.preimage.base import PreImage, PreImageInfo, combine, data_scale, fitted_rows
from gramian.preimage.smoother import KernelSmoother


class FixedPoint(PreImage):
    """x ← Σᵢ γᵢ k(x, xᵢ) xᵢ / Σᵢ γᵢ k(x, xᵢ), from several starts (Mika 1998) [4].

    The denominator is f(x) = <φ(x), Φγ>, and where it is positive the step climbs it; one that would not is halved, and
    steps that do well are stretched, so f never falls and the iteration cannot cycle. The starts are the smoother, the
    nearest training row and the row of the largest weight; the best end wins. Where the denominator vanishes for all of
    them, the smoother answers and ``converged`` is False.

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

    n_neighbors: Annotated[int | None, "natural"]
    smoother_: Annotated[KernelSmoother, "maybe its n d"]
    spread_: Annotated[float, "maybe nonnegative"]

    reproduces_training = True

    prepared = ("smoother_", "spread_")

    def __init__(self, tol: float = 1e-6, max_iter: int = 200, n_neighbors: int | None = 10) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.n_neighbors = n_neighbors

    def prepare(self, K0: Array | None, scores: Array | None) -> None:
        check_tolerance(self.tol, self.max_iter)
        inner = self.kernel_
        while isinstance(inner, Scaled):
            inner = inner.kernel
        if not isinstance(inner, RBF):
            raise ValueError(
                f"preimage='fixed_point' needs an RBF kernel, got {self.kernel_!r}. Use 'gradient' for other smooth "
                "kernels, or 'smoother', which takes any."
            )
        self.smoother_ = KernelSmoother(self.n_neighbors).fit(self.X_, kernel=self.kernel_)
        self.spread_ = data_scale(self.X_)

    def invert(self, weights: Array, values: Array) -> tuple[Array, PreImageInfo]:
        smooth, _ = self.smoother_.invert(weights, values)
        rows = np.column_stack([values.argmax(axis=1), weights.argmax(axis=1)])
        starts = np.concatenate([smooth[:, None, :], fitted_rows(self.X_, rows)], axis=1)
        n_points, n_starts, n_columns = starts.shape
        owner = np.repeat(np.arange(n_points), n_starts)
        new = np.ones((n_points, n_starts), dtype=bool)
        new[:, 2] = rows[:, 0] != rows[:, 1]  # a start that two rules agree on is tried once
        tried = np.flatnonzero(new)
        ends, heights, settled, steps = self._climb(starts.reshape(-1, n_columns)[tried], weights, owner[tried])
        ranked = np.full(n_points * n_starts, -np.inf)
        ranked[tried] = heights
        best = ranked.reshape(n_points, n_starts).argmax(axis=1) + n_starts * np.arange(n_points)
        lost = ~(ranked[best] > 0)
        best = np.searchsorted(tried, best)
        found = np.where(lost[:, None], smooth, ends[best])
        return found, PreImageInfo(settled[best] & ~lost, steps[best], lost)

    def _climb(self, points: Array, weights: Array, owner: Array) -> tuple[Array, Array, Array, Array]:
        """Where each start ends, f there (-inf where the denominator vanished at once), whether it settled, its steps."""
        enough = self.tol * self.spread_
        points = points.copy()
        heights, targets = self._step(points, weights[owner])
        steps = np.ones(len(points), dtype=np.int64)
        settled = np.isfinite(heights) & (_lengths(targets - points) <= enough)
        points[settled] = targets[settled]
        active = np.flatnonzero(np.isfinite(heights) & ~settled)
        stretch = np.ones(len(active))
        trials = targets[active]
        for _ in range(self.max_iter):
            if active.size == 0:
                break
            trial_heights, trial_targets = self._step(trials, weights[owner[active]])
            steps[active] += 1
            # a step of rounding size may seem to fall
            good = trial_heights >= heights[active] * (1 - 1e-14)
            better = active[good]
            points[better], heights[better], targets[better] = trials[good], trial_heights[good], trial_targets[good]
            stretch = np.where(good, np.minimum(1.5 * stretch, 16.0), np.where(stretch > 1, 1.0, stretch / 2))
            moves = targets[active] - points[active]
            done = _lengths(moves) <= enough
            settled[active[done]] = True
            points[active[done]] = targets[active[done]]
            # a step that had to be halved into nothing has met rounding, not a fixed point
            going = ~done & (stretch > 1e-10)
            active, stretch, moves = active[going], stretch[going], moves[going]
            trials = np.clip(points[active] + stretch[:, None] * moves, self.lower_, self.upper_)
        return points, heights, settled, steps

    def _step(self, points: Array, weights: Array) -> tuple[Array, Array]:
        """f(x) and the next x; -inf where the denominator is not positive."""
        shares = weights * self.kernel_(points, self.X_)
        heights = shares.sum(axis=1)
        alive = heights > ROUNDING * np.abs(shares).sum(axis=1)
        targets = points.copy()
        targets[alive] = combine(shares[alive], self.X_) / heights[alive, None]
        return np.where(alive, heights, -np.inf), np.clip(targets, self.lower_, self.upper_)


def _lengths(moves: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", moves, moves)))
