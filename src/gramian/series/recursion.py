"""Exponential smoothing in its innovations form, for a grid of rates at once [8].

With e_t = y_t - l - φb - s_t the one-step error,

    l <- l + φb + αe,    b <- φb + βe,    s_t <- s_t + γe.

α, β, φ and γ are on a grid (`members`): the level alone, a drift, slopes that move, fade or not; no season, a fixed one, one that moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated

import numpy as np

from gramian import policy
from gramian._arrays import Array

State = tuple[Array, Array, Array]
"""Level and slope (..., G), and profile (season, ..., G)."""


@dataclass(frozen=True)
class RateLaw:
    """What members count before they are seen: the share of drifts, and as how many values a series counts at most."""

    drift: Annotated[float, "number"] = field(default_factory=lambda: policy.RATES.drift)
    evidence: Annotated[float, "number"] = field(default_factory=lambda: policy.RATES.evidence)


@dataclass(frozen=True)
class Members:
    """The grid for one season (0: none): rates (G,), and whether each has a season and is a drift."""

    alpha: Array
    beta: Array
    phi: Array
    gamma: Array
    seasonal: Array
    drifts: Array

    def of(self, chosen: Array) -> Members:
        """Some of them, also several times."""
        return Members(*(getattr(self, entry.name)[chosen] for entry in fields(self)))

    def prior(self, law: RateLaw) -> Array:
        """What each counts before it is seen; one over a whole grid, less where slopes are left out."""
        kinds = len(policy.RATES.slopes)
        groups = len(self.alpha) / (kinds if self.drifts.any() else 1)  # of equal level and season
        return np.where(self.drifts, law.drift, (1.0 - law.drift) / (kinds - 1)) / groups


def members(season: int, flat: bool) -> Members:
    """The grid; ``flat`` leaves out slopes, and their share of the prior: those of logarithms would go on exponentially."""
    rates = policy.RATES
    slopes = rates.slopes[:1] if flat else rates.slopes
    rows = [
        (alpha, alpha * ratio, phi, rate, has, (ratio, phi) == (0.0, 1.0))
        for has, seasons in ((0.0, (0.0,)), (1.0, rates.seasons if season else ()))
        for rate in seasons
        for alpha in rates.levels
        for ratio, phi in slopes
    ]
    alpha, beta, phi, gamma, has, drifts = np.array(rows).T
    return Members(alpha, beta, phi, gamma, has.astype(bool), drifts.astype(bool))


def season_basis(season: int) -> Array:
    """An orthonormal basis (season, k) of profiles that sum to zero, the slowest waves first.

    >>> season_basis(4).shape
    (4, 3)
    """
    phases = 2.0 * np.pi * np.arange(season) / season
    waves = [turn(k * phases) for k in range(1, season // 2 + 1) for turn in (np.cos, np.sin)]
    kept = [wave for wave in waves if np.abs(wave).max() > 1e-9][: min(season - 1, policy.RATES.waves)]
    table = np.column_stack(kept)
    return np.asarray(table / np.linalg.norm(table, axis=0))


def onwards(block: Members, phase: int, state: State, steps: int, errors: Array | None = None) -> Array:
    """Values (steps, ..., G) after a state whose next value has this phase; ``errors`` (steps, ..., G) make them paths."""
    level, slope, profile = state[0], state[1], np.array(state[2])
    season = len(profile)
    out = np.empty((steps, *level.shape))
    for h in range(steps):
        slope = block.phi * slope
        level = level + slope
        out[h] = level
        now = (phase + h) % season if season else 0
        if season:
            out[h] += profile[now]
        if errors is not None:
            out[h] += errors[h]
            level = level + block.alpha * errors[h]
            slope = slope + block.beta * errors[h]
            if season:
                profile[now] += block.gamma * errors[h]
    return out


def spread_of_errors(block: Members, season: int, steps: int) -> Array:
    """(steps, G): the variance that errors of variance 1 add up to after so many steps."""
    profile = np.zeros((season, len(block.alpha)))
    if season:
        profile[0] = block.gamma
    echoes = onwards(block, 1, (block.alpha, block.beta, profile), max(steps - 1, 0))
    return 1.0 + np.concatenate([np.zeros((1, len(block.alpha))), np.cumsum(np.square(echoes), axis=0)])


def filter_series(
    values: Array, block: Members, state: State, marks: Sequence[int] = ()
) -> tuple[Array, State, dict[int, State]]:
    """One-step errors (T, R, G) of R series (R, T) from a state, the state after them, and after so many values as ``marks`` say.

    What is NaN in any of the series is passed over by all.
    """
    level, slope, profile = state[0], state[1], np.array(state[2])
    season = len(profile)
    n_rows, T = values.shape
    errors = np.zeros((T, n_rows, len(block.alpha)))
    known = np.asarray(~np.isnan(values).any(axis=0))
    kept = {}
    wanted = set(marks)
    columns = values.T[:, :, None]
    for t in range(T):
        if t in wanted:
            kept[t] = (level, slope, np.array(profile))
        slope = block.phi * slope
        level = level + slope
        if not known[t]:
            continue
        phase = t % season if season else 0
        error = columns[t] - level
        if season:
            error -= profile[phase]
            profile[phase] += block.gamma * error
        errors[t] = error
        level = level + block.alpha * error
        slope = slope + block.beta * error
    if T in wanted:
        kept[T] = (level, slope, np.array(profile))
    return errors, (level, slope, profile), kept
