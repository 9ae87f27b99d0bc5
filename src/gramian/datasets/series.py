"""Time series to forecast."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_count, check_number, check_random_state
from gramian._types import RandomState


def make_sum_of_sines(
    n_samples: int = 500,
    *,
    frequencies: Any = (1.0, 20.0),
    amplitudes: Any = (1.0, 0.2),
    step: float = 0.01,
    noise: float = 0.0,
    random_state: RandomState = None,
) -> Array:
    """xᵢ = Σ aⱼ sin(2π fⱼ i·step) + noise: by default the series of [AC], of which 400 values train and 100 test.

    Parameters
    ----------
    n_samples : int, default=500
    frequencies, amplitudes : sequences of the same length
    step : float, default=0.01
        Time between values.
    noise : float, default=0
        Standard deviation of white noise.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    ndarray of shape (n_samples,)

    References
    ----------
    [AC] section 5.1.

    Examples
    --------
    >>> from gramian.datasets import make_sum_of_sines
    >>> make_sum_of_sines(3).round(3)
    array([0.   , 0.253, 0.243])
    """
    n_samples = check_count("n_samples", n_samples, 1)
    step = check_number("step", step, 0.0, open_low=True)
    noise = check_number("noise", noise, 0.0)
    rng = check_random_state(random_state)
    frequency, amplitude = np.asarray(frequencies, dtype=float), np.asarray(amplitudes, dtype=float)
    if frequency.ndim != 1 or frequency.shape != amplitude.shape:
        raise ValueError(
            f"frequencies={frequencies!r} and amplitudes={amplitudes!r} must be sequences of the same length."
        )
    time = step * np.arange(n_samples)
    series = np.sin(2 * np.pi * np.outer(time, frequency)) @ amplitude
    return series + noise * rng.standard_normal(n_samples) if noise > 0 else series


def make_mackey_glass(n_samples: int = 1000, *, delay: float = 17.0, start: float = 1.2, discard: int = 300) -> Array:
    """dx/dt = 0.2 x(t-τ) / (1 + x(t-τ)¹⁰) - 0.1 x, sampled at whole times: a chaotic series from τ = 17 on.

    Runge-Kutta with step 0.1 from a constant history; the first ``discard`` values are dropped.

    Parameters
    ----------
    n_samples : int, default=1000
    delay : float, default=17
        τ.
    start : float, default=1.2
        The constant history.
    discard : int, default=300
        Values left out at the beginning.

    Returns
    -------
    ndarray of shape (n_samples,)

    References
    ----------
    M. C. Mackey and L. Glass, "Oscillation and chaos in physiological control systems", 1977.

    Examples
    --------
    >>> from gramian.datasets import make_mackey_glass
    >>> make_mackey_glass(5).shape
    (5,)
    """
    n_samples = check_count("n_samples", n_samples, 1)
    discard = check_count("discard", discard, 0)
    delay = check_number("delay", delay, 0.0, open_low=True)
    start = check_number("start", start)
    fine = 10
    lag = max(1, round(delay * fine))
    total = (n_samples + discard) * fine
    values = np.full(lag + total + 1, start)
    step = 1.0 / fine
    for i in range(lag, lag + total):
        x, past, after = values[i], values[i - lag], values[i - lag + 1]
        first = _mackey_glass(x, past)
        second = _mackey_glass(x + 0.5 * step * first, 0.5 * (past + after))
        third = _mackey_glass(x + 0.5 * step * second, 0.5 * (past + after))
        fourth = _mackey_glass(x + step * third, after)
        values[i + 1] = x + step / 6 * (first + 2 * second + 2 * third + fourth)
    return values[lag + discard * fine : lag + total : fine].copy()


def _mackey_glass(x: float, past: float) -> float:
    return 0.2 * past / (1.0 + past**10) - 0.1 * x
