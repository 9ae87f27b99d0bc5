"""Filling gaps of a series from both sides: what the past says, what the future says, and what both knew anyway [8].

With m_f, v_f the forecast and its variance from the left, m_b, v_b from the right (of the series turned round) and μ, v the mean and
variance without either, 1/w = 1/v_f + 1/v_b - 1/v and the filled value is w (m_f/v_f + m_b/v_b - μ/v), its variance w. This is
exact for Gaussian Markov series; for a random walk (1/v = 0) it is the Brownian bridge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array, deviation
from gramian.series.paths import WIDTH_PATHS, ForecastPaths
from gramian.series.transform import bridge_gaps

Side = tuple[Array, Array]  # mean and standard deviation of the values of a gap, from one side


def gaps_of(column: Array) -> list[tuple[int, int]]:
    """Beginnings and lengths of the runs of NaN.

    >>> gaps_of(np.array([1.0, np.nan, np.nan, 2.0, np.nan]))
    [(1, 2), (4, 1)]
    """
    holes = np.concatenate([[False], np.isnan(column), [False]])
    edges = np.flatnonzero(holes[1:] != holes[:-1])
    return [(int(start), int(stop - start)) for start, stop in zip(edges[::2], edges[1::2])]


def join_sides(left: Side | None, right: Side | None, prior: tuple[float, float] | None) -> Side:
    """Means and standard deviations of a gap from (mean, std) of both sides, where they are there."""
    if left is None or right is None:
        found = left if right is None else right
        assert found is not None
        return found
    sizes = np.max(np.abs([*left, *right]), axis=0)
    unit = np.where(sizes > 0, sizes, 1.0)  # squares of what is left neither overflow nor vanish
    (m_f, s_f), (m_b, s_b) = ((mean / unit, std / unit) for mean, std in (left, right))
    rounding = np.finfo(float).eps
    sure_f, sure_b = s_f <= rounding, s_b <= rounding  # the other would add what is below rounding
    p_f, p_b = 1.0 / np.maximum(s_f, rounding) ** 2, 1.0 / np.maximum(s_b, rounding) ** 2
    mu, p = (
        (0.0, 0.0) if prior is None else (prior[0] / unit, 1.0 / np.maximum(np.sqrt(prior[1]) / unit, rounding) ** 2)
    )
    p = np.minimum(p, 0.999 * np.minimum(p_f, p_b))  # neither side knows less than nothing
    precision = p_f + p_b - p
    exact = sure_f | sure_b
    known = np.where(sure_f == sure_b, 0.5 * (m_f + m_b), np.where(sure_f, m_f, m_b))
    mean = np.where(exact, known, (p_f * m_f + p_b * m_b - p * mu) / precision)
    return unit * mean, np.where(exact, 0.0, unit / np.sqrt(precision))


def fill_gaps(series: Array, forward: ForecastPaths, backward: ForecastPaths | None, rng: Any) -> Side:
    """A series (T, d) with its gaps filled, and the standard deviations, 0 where observed.

    ``backward`` are the paths of the series turned round; None where those could not be fitted.
    """
    transforms = forward.members[0].transforms
    filled, std = np.array(series), np.zeros_like(series)
    known = np.column_stack([bridge_gaps(column, t.season) for column, t in zip(series.T, transforms)])
    stationary = all(t.season == 0 and t.difference == 0 for t in transforms)
    for j, column in enumerate(series.T):
        prior = (float(np.nanmean(column)), float(np.nanvar(column))) if stationary else None
        for start, length in gaps_of(column):
            rows = slice(start, start + length)
            left = _side(forward, known[:start], length, rng, j)
            right = None
            if backward is not None:
                turned = _side(backward, known[start + length :][::-1], length, rng, j)
                right = None if turned is None else (turned[0][::-1], turned[1][::-1])
            if left is None and right is None:
                filled[rows, j], std[rows, j] = known[rows, j], np.nanstd(column)
                continue
            filled[rows, j], std[rows, j] = join_sides(left, right, prior)
            known[rows, j] = filled[rows, j]
    return filled, std


def _side(paths: ForecastPaths, history: Array, length: int, rng: Any, column: int) -> Side | None:
    """The next values after a history without gaps; None where it is too short."""
    if len(history) < paths.needed:
        return None
    n_inputs = paths.members[0].n_inputs
    unknown = np.full((length, n_inputs), np.nan) if n_inputs else None
    middle, drawn = paths.middle_and_paths(length, unknown, history, WIDTH_PATHS, rng)
    return middle[:, column], deviation(drawn[..., column], axis=0)
