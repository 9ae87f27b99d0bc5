"""The nearest image: |φ(x) - Φγ|² minimised over x, for any differentiable kernel."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_tolerance
from gramian._precision import EPS
from gramian.preimage.base import PreImage, PreImageInfo, data_scale
from gramian.preimage.smoother import KernelSmoother

MEMORY = 5  # values that a new one may not exceed: spectral steps are fast because they may rise a little


class Gradient(PreImage):
    """argmin over x of |φ(x) - Φγ|² = k(x, x) - 2 Σᵢ γᵢ k(x, xᵢ) + a constant, by spectral projected gradients [4].

    Starts at the smoother; each step is a Barzilai-Borwein one, projected on the box of the data and halved until the
    largest of the last values has been improved on (Birgin, Martinez & Raydan 2000). All points move at once, and those
    that have settled drop out.

    Parameters
    ----------
    tol : float, default=1e-6
        A point has settled when its next step is below this fraction of the data's spread.
    max_iter : int, default=200
        Most steps a point may take.
    n_neighbors : int or None, default=10
        For the smoother that starts.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.kernels import Polynomial
    >>> from gramian.preimage import Gradient
    >>> X, kernel = np.array([[0.0], [1.0], [3.0]]), Polynomial(degree=2)
    >>> Gradient().fit(X, kernel=kernel).transform(np.eye(3), kernel(X)).round(4)
    array([[0.],
           [1.],
           [3.]])
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
        if not self.kernel_.differentiable:
            raise ValueError(
                f"preimage='gradient' needs a differentiable kernel, got {self.kernel_!r}. "
                "Use 'smoother' or 'ridge', which take any."
            )
        self.smoother_ = KernelSmoother(self.n_neighbors).fit(self.X_, K0, kernel=self.kernel_)
        self.spread_ = data_scale(self.X_)

    def invert(self, weights: Array, values: Array) -> tuple[Array, PreImageInfo]:
        points, _ = self.smoother_.invert(weights, values)
        best, _, settled, steps = self._descend(points, weights)
        return best, PreImageInfo(settled, steps, np.zeros(len(points), dtype=bool))

    def _descend(self, points: Array, weights: Array) -> tuple[Array, Array, Array, Array]:
        """Where each start ends, its error there, whether it settled, its steps."""
        points = np.clip(points, self.lower_, self.upper_)
        errors, slopes = self._objective(points, weights)
        history = np.repeat(errors[:, None], MEMORY, axis=1)
        best, least = points.copy(), errors.copy()
        steps = np.ones(len(points), dtype=np.int64)
        settled = np.zeros(len(points), dtype=bool)
        lengths = np.sqrt(_inner(slopes, slopes))
        rates = np.divide(0.1 * self.spread_, lengths, out=np.ones_like(lengths), where=lengths > 0)
        moves = self._moves(points, rates, slopes)
        flat = lengths * self.spread_ <= 64 * EPS * np.maximum(np.abs(errors), 1e-300)
        settled[flat] = True
        active = np.flatnonzero(~flat)
        fraction = np.ones(len(points))
        for _ in range(self.max_iter):
            if active.size == 0:
                break
            trials = points[active] + fraction[active, None] * moves[active]
            trial_errors, trial_slopes = self._objective(trials, weights[active])
            steps[active] += 1
            slack = 64 * EPS * np.abs(errors[active])
            promised = 1e-4 * fraction[active] * _inner(slopes[active], moves[active])
            good = trial_errors <= history[active].max(axis=1) + promised + slack
            fraction[active[~good]] *= 0.5
            taken = active[good]
            change, bend = trials[good] - points[taken], trial_slopes[good] - slopes[taken]
            points[taken], errors[taken], slopes[taken] = trials[good], trial_errors[good], trial_slopes[good]
            history[taken, steps[taken] % MEMORY] = errors[taken]
            improved = taken[errors[taken] < least[taken]]
            best[improved], least[improved] = points[improved], errors[improved]
            curvature, size = _inner(change, bend), _inner(change, change)
            # no curvature along the step: go further
            rates[taken] = np.where(
                curvature > 0, np.divide(size, curvature, out=np.ones_like(size), where=curvature > 0), 4 * rates[taken]
            )
            moves[taken] = self._moves(points[taken], rates[taken], slopes[taken])
            fraction[taken] = 1.0
            left = fraction[active] * np.sqrt(_inner(moves[active], moves[active]))
            done = left <= self.tol * self.spread_
            settled[active[done]] = True
            active = active[~done]
        return best, least, settled, steps

    def _objective(self, points: Array, weights: Array) -> tuple[Array, Array]:
        """k(x, x) - 2 Σᵢ γᵢ k(x, xᵢ) and its gradient."""
        products = np.einsum("nm,nm->n", weights, self.kernel_(points, self.X_))
        errors = self.kernel_.diagonal(points) - 2 * products
        slopes = self.kernel_.diagonal_gradient(points) - 2 * self.kernel_.gradient(points, self.X_, weights)
        return np.asarray(errors, dtype=np.float64), np.asarray(slopes, dtype=np.float64)

    def _moves(self, points: Array, rates: Array, slopes: Array) -> Array:
        return np.clip(points - rates[:, None] * slopes, self.lower_, self.upper_) - points


def _inner(first: Array, second: Array) -> Array:
    return np.asarray(np.einsum("nd,nd->n", first, second))
