"""Ridge regression of the next value on a window of past ones: the linear target model in milliseconds, to screen candidates [8, 10].

With a linear view and all components the target model predicts w_y(W_xᵀW_x + κσ²I)⁻¹W_xᵀx, which is ridge regression. Here κ is
the one of the least leave-one-out absolute error, from one decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gramian._arrays import Array

RIDGES = np.geomspace(1e-8, 30.0, 33)
"""Penalties, as shares of the largest squared singular value of the windows."""


@dataclass(frozen=True)
class WindowRidge:
    """x̂ = mean + (w - window_mean)ᵀ coefficients, the known inputs at the time of x behind the window w."""

    mean: float
    window_mean: Array  # (lags + k,)
    coefficients: Array
    n_inputs: int = 0
    deviation: float = 0.0  # of one step, by what is left out one by one
    degrees: float = 2.0  # of freedom

    def recursion(self, windows: Array, steps: int, inputs: Array | None = None) -> Array:
        """Forecasts (n, steps) after windows (n, lags), each fed back, held within a million times the windows.

        ``inputs`` (n, steps, k); unknown ones count as their mean.
        """
        lags = len(self.coefficients) - self.n_inputs
        weights = self.coefficients[:lags]
        out = np.empty((len(windows), lags + steps))
        out[:, :lags] = windows
        offsets = np.full((len(windows), steps), self.mean - float(self.window_mean[:lags] @ weights))
        if self.n_inputs and inputs is not None:
            shifted = np.nan_to_num(inputs - self.window_mean[lags:])
            offsets += shifted @ self.coefficients[lags:]
        bound = 1e6 * (1.0 + np.abs(windows).max(initial=0.0) + abs(self.mean))
        for step in range(steps):
            following = offsets[:, step] + out[:, step : step + lags] @ weights
            out[:, lags + step] = np.clip(following, -bound, bound)
        return out[:, lags:]


def fit_window_ridge(z: Array, lags: int, inputs: Array | None = None, *, fewest: int = 6) -> WindowRidge | None:
    """The regression of a series (T,) with gaps on its last values and on inputs (T, k) at its own time.

    None where fewer than ``fewest`` windows are complete.
    """
    if len(z) <= lags:
        return None
    k = 0 if inputs is None else inputs.shape[1]
    rows = sliding_window_view(z, lags + 1)
    if inputs is not None:
        rows = np.hstack([rows[:, :-1], inputs[lags:], rows[:, -1:]])
    rows = rows[~np.isnan(rows).any(axis=1)]
    n = len(rows)
    if n < fewest + k:
        return None
    window_mean, mean = rows[:, :-1].mean(axis=0), float(rows[:, -1].mean())
    nothing = WindowRidge(mean, window_mean, np.zeros(lags + k), k, float(rows[:, -1].std()), max(n - 1.0, 2.0))
    if lags + k == 0:
        return nothing
    left, gains, right = np.linalg.svd(rows[:, :-1] - window_mean, full_matrices=False)
    targets = rows[:, -1] - mean
    largest = float(gains[0])
    if largest == 0.0:
        return nothing
    turned, gains = left.T @ targets, gains / largest  # squares of a tiny series would vanish
    kept = np.square(gains)[:, None] / (np.square(gains)[:, None] + RIDGES)  # (p, r)
    residuals = targets[:, None] - left @ (kept * turned[:, None])
    leverage = np.square(left) @ kept + 1.0 / n
    left_out = residuals / np.maximum(1.0 - leverage, 1e-3)
    errors = np.abs(left_out).mean(axis=0)
    best = int(np.flatnonzero(errors <= errors.min() * (1 + 1e-9))[-1])
    return WindowRidge(
        mean,
        window_mean,
        right.T @ (gains / (gains**2 + RIDGES[best]) * (turned / largest)),
        k,
        float(np.sqrt(np.mean(np.square(left_out[:, best])))),
        max(n - 1.0 - float(kept[:, best].sum()), 2.0),
    )
