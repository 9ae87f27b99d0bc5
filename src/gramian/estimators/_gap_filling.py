"""Filling gaps of a series from both sides: what the past says, what the future says, and what both knew anyway [8].

With m_f, v_f the forecast and its variance from the left, m_b, v_b from the right (of the series turned round) and μ, v the mean and
variance without either, 1/w = 1/v_f + 1/v_b - 1/v and the filled value is w (m_f/v_f + m_b/v_b - μ/v), its variance w. This is
exact for Gaussian Markov series; for a random walk (1/v = 0) it is the Brownian bridge.
"""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array


def gaps_of(column: Array) -> list[tuple[int, int]]:
    """Beginnings and lengths of the runs of NaN.

    >>> gaps_of(np.array([1.0, np.nan, np.nan, 2.0, np.nan]))
    [(1, 2), (4, 1)]
    """
    holes = np.concatenate([[False], np.isnan(column), [False]])
    edges = np.flatnonzero(holes[1:] != holes[:-1])
    return [(int(start), int(stop - start)) for start, stop in zip(edges[::2], edges[1::2])]


def joined(
    left: tuple[Array, Array] | None, right: tuple[Array, Array] | None, prior: tuple[float, float] | None
) -> tuple[Array, Array]:
    """Means and standard deviations of a gap from (mean, std) of both sides, where they are there."""
    if left is None or right is None:
        found = left if right is None else right
        assert found is not None
        return found
    (m_f, s_f), (m_b, s_b) = left, right
    tiny = np.finfo(float).tiny
    p_f, p_b = 1.0 / np.maximum(s_f**2, tiny), 1.0 / np.maximum(s_b**2, tiny)
    mu, p = (0.0, 0.0) if prior is None else (prior[0], 1.0 / max(prior[1], tiny))
    p = np.minimum(p, 0.999 * np.minimum(p_f, p_b))  # neither side knows less than nothing
    precision = p_f + p_b - p
    exact = ~np.isfinite(precision)
    safe = np.where(exact, 1.0, precision)
    mean = np.where(exact, 0.5 * (m_f + m_b), (p_f * m_f + p_b * m_b - p * mu) / safe)
    return mean, np.where(exact, 0.0, 1.0 / np.sqrt(safe))
