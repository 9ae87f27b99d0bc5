"""AC's forecast: the last window of a series is one view, what follows it the other, and every answer is appended (eq. 15)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian import MultiViewRKM
from gramian._arrays import Array


def forecast(series: Array, steps: int, lags: int, q: int, kernel: Any = "linear", **options: Any) -> Array:
    """The next values of a series, which is brought to mean 0 and variance 1 first; noise 0.

    Examples
    --------
    >>> waves = np.sin(np.arange(60) / 5)
    >>> bool(np.abs(forecast(waves[:50], 10, 6, 2, space="dual", solver="eigh") - waves[50:]).max() < 1e-9)
    True
    """
    mean, std = series.mean(), series.std()
    known = (series - mean) / std
    windows = np.lib.stride_tricks.sliding_window_view(known, lags + 1)
    model = MultiViewRKM(q, kernel=[kernel, "linear"], noise_variance=0.0, n_folds=None, preimage="smoother", **options)
    model.fit([windows[:, :-1], windows[:, -1:]])
    for _ in range(steps):
        known = np.append(known, model.predict_view([known[None, -lags:], None], 1))
    return np.asarray(known[-steps:] * std + mean)
