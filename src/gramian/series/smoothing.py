"""Levels, slopes and seasons at a few rates, averaged: what short series have to say [8, 12].

One member is the innovations form of exponential smoothing. With e_t = y_t - l - φb - s_t the one-step error,

    l <- l + φb + αe,    b <- φb + βe,    s_t <- s_t + γe.

α, β, φ and γ are on a grid (`members`): the level alone, a drift, slopes that move, fade or not; no season, a fixed one, one that moves. The
errors are linear in the unknown beginning x₀ = (l, b, s), so with a Gaussian prior x₀ ~ N(0, σ²T²) it is integrated out exactly: a
regression of the errors on what a unit of each x₀ would have left. No member is chosen: each counts by its prior times
(mean |e|)^(-n), where the n values of a series count as at most `EVIDENCE`. Short series so stay near the prior, which was learned over
many series, once; a panel learns its own from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.series.stretches import Stretch
from gramian.series.transform import LARGEST_LOG

LEVEL_RATES = (0.1, 0.2, 0.4, 0.7, 0.9)
SLOPES = ((0.0, 0.0), (0.0, 1.0), (0.3, 0.9), (0.1, 1.0), (0.3, 1.0))
"""β / α and φ: no slope, a drift, and slopes that move; the second of them has the share `DRIFT` of the prior."""
SEASON_RATES = (0.0, 0.2, 0.5)
DRIFT = 0.7
"""Learned, as `EVIDENCE` is, over the 1,080 series of experiments/forecast_competition.py that decide."""
EVIDENCE = 30.0
"""Values that a series counts as, at most, when members are weighed: its law changes, and all members are wrong."""
SLOPE_SPREAD, SEASON_SPREAD, LEVEL_SPREAD = 1.0, 2.0, 30.0
"""Prior deviations of the first slope, season and level, in units of the one-step noise; the last is next to none."""
SPENT = 6.0
"""Degrees of freedom that level, slope and their four rates cost."""
SEASON_TERMS = 23
"""Sines and cosines, at most, that the first season is made of; what is missing is learned by its rate."""


State = tuple[Array, Array, Array]
"""Level and slope (..., G), and profile (season, ..., G)."""


@dataclass(frozen=True)
class Members:
    """The grid for one season (0: none): rates (G,), each one's prior weight, and whether it has a season."""

    alpha: Array
    beta: Array
    phi: Array
    gamma: Array
    seasonal: Array
    prior: Array  # sums to one over the whole grid

    def of(self, chosen: Array) -> Members:
        """Some of them, also several times."""
        return Members(*(getattr(self, field.name)[chosen] for field in fields(self)))


def members(season: int, flat: bool) -> Members:
    """The grid; ``flat`` leaves out slopes, and their share of the prior: those of logarithms would go on exponentially."""
    slopes = SLOPES[:1] if flat else SLOPES
    others = (1.0 - DRIFT) / (len(SLOPES) - 1)
    rows = [
        (alpha, alpha * ratio, phi, rate, has, DRIFT if (ratio, phi) == SLOPES[1] else others)
        for has, rates in ((0.0, (0.0,)), (1.0, SEASON_RATES if season else ()))
        for rate in rates
        for alpha in LEVEL_RATES
        for ratio, phi in slopes
    ]
    alpha, beta, phi, gamma, has, prior = np.array(rows).T
    return Members(alpha, beta, phi, gamma, has.astype(bool), prior * len(slopes) / len(rows))


def season_basis(season: int) -> Array:
    """An orthonormal basis (season, k) of profiles that sum to zero, the slowest waves first.

    >>> season_basis(4).shape
    (4, 3)
    """
    phases = 2.0 * np.pi * np.arange(season) / season
    waves = [turn(k * phases) for k in range(1, season // 2 + 1) for turn in (np.cos, np.sin)]
    table = np.column_stack([wave for wave in waves if np.abs(wave).max() > 1e-9][: min(season - 1, SEASON_TERMS)])
    return np.asarray(table / np.linalg.norm(table, axis=0))


# ---------------------------------------------------------------- one block: one scale (level or logarithm), one season


@dataclass(frozen=True)
class Posterior:
    """Where n series stand after their last value, for each of G members of one block; ``unit`` (n,) is the scale of all."""

    block: Members
    season: int
    log: bool
    phase: int  # of the next value
    fit: Array  # (n, G), log weights before they are normalised over blocks
    level: Array  # (n, G)
    slope: Array
    profile: Array  # (season, n, G)
    root: Array  # (2 + season, p, G): how the state moves with standard normal errors of x₀, in units of the noise
    noise: Array  # (n, G), standard deviation of one step
    degrees: float  # of freedom, of the noise

    def mean(self, steps: int) -> Array:
        """(steps, n, G), on the scale of the block."""
        return onwards(self.block, self.phase, (self.level, self.slope, self.profile), steps)

    def draws(self, chosen: Array, steps: int, rng: Any) -> Array:
        """(len(chosen), steps): one path of the first series for each of ``chosen`` members."""
        count = len(chosen)
        noise = self.noise[0, chosen] * np.sqrt(self.degrees / rng.chisquare(self.degrees, count))
        beginnings = noise[:, None] * rng.standard_normal((count, self.root.shape[1]))
        moved = np.einsum("spc,cp->sc", self.root[:, :, chosen], beginnings)
        level, slope = self.level[0, chosen] + moved[0], self.slope[0, chosen] + moved[1]
        profile = self.profile[:, 0, chosen] + moved[2:]
        errors = noise * rng.standard_normal((steps, count))
        return onwards(self.block.of(chosen), self.phase, (level, slope, profile), steps, errors).T


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


def filtered(
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


class Block:
    """Series (n, T) of one length with gaps at the same places, on one scale, filtered once for every member."""

    def __init__(self, values: Array, season: int, log: bool, flat: bool, prior: Array) -> None:
        self.season, self.log, self.key = season, log, (season, log)
        self.block = members(season, flat)
        self.prior = prior
        x = np.log(values) if log else values
        n, T = x.shape
        self.known = np.asarray(~np.isnan(x).any(axis=0))
        first = np.flatnonzero(self.known)[: max(season, 1)]
        self.shift = x[:, first].mean(axis=1)
        steps = np.diff(x[:, self.known], axis=1)
        spread = np.sqrt(np.mean(np.square(steps), axis=1)) if steps.shape[1] else np.zeros(n)
        size = np.abs(x[:, self.known]).max(axis=1)
        self.unit = np.where(spread > 1e-9 * size, spread, np.where(size > 0, 1e-9 * size, 1.0))
        self.scaled = (x - self.shift[:, None]) / self.unit[:, None]
        basis = season_basis(season) if season else np.empty((0, 0))
        self.n, self.p = n, 2 + basis.shape[1]
        rows, G = n + self.p, len(self.block.alpha)
        level, slope, profile = np.zeros((rows, G)), np.zeros((rows, G)), np.zeros((season, rows, G))
        level[n], slope[n + 1] = LEVEL_SPREAD, SLOPE_SPREAD
        profile[:, n + 2 :] = SEASON_SPREAD * basis[:, :, None] * self.block.seasonal
        data = np.zeros((rows, T))
        data[:n] = self.scaled
        data[n:, ~self.known] = np.nan
        self.start = (level, slope, profile)
        self.errors, self.end, _ = filtered(data, self.block, self.start)

    def beginnings(self, end: int) -> tuple[Array, Array, Array, Array]:
        """E[x₀ | y up to ``end``] (G, p, n) in prior units, log weights (n, G), scaled noise (n, G) and the precision (G, p, p) of x₀."""
        n, count = self.n, int(self.known[:end].sum())
        errors = self.errors[:end].transpose(2, 1, 0)  # (G, rows, T)
        inputs, own = errors[:, n:], errors[:, :n]
        precision = inputs @ inputs.transpose(0, 2, 1) + np.eye(self.p)
        found = -np.linalg.solve(precision, inputs @ own.transpose(0, 2, 1))
        left = own + found.transpose(0, 2, 1) @ inputs  # (G, n, T)
        size = np.abs(left).sum(axis=2).T / max(count, 1)
        squares = np.square(left).sum(axis=2) + np.square(found).sum(axis=1)
        noise = np.sqrt(squares / self._degrees(count)).T
        tiny = 1e-9 * (1.0 + np.abs(own).max(axis=(0, 2)))[:, None]
        evidence = min(1.0, EVIDENCE / max(count, 1))
        spread = 0.5 * np.linalg.slogdet(precision)[1]
        density = count * np.log(size + tiny) + spread + self._jacobian(end)[:, None]
        fit = np.log(self.prior) - evidence * density
        return found, fit, noise, precision

    def posterior(self) -> Posterior:
        """Where the series stand after all their values."""
        T = self.scaled.shape[1]
        found, fit, noise, precision = self.beginnings(T)
        n, unit = self.n, self.unit[:, None]
        root = np.linalg.inv(np.linalg.cholesky(precision)).transpose(2, 1, 0)  # (p, p, G): L⁻ᵀ, columns last but one
        units = np.stack([self.end[0][n:], self.end[1][n:], *(row[n:] for row in self.end[2])])  # (2 + season, p, G)
        moves = np.einsum("gpn,spg->sng", found, units)
        states = [self.end[0][:n], self.end[1][:n], *(row[:n] for row in self.end[2])]
        level, slope, *profile = (state + move for state, move in zip(states, moves))
        return Posterior(
            self.block,
            self.season,
            self.log,
            T % self.season if self.season else 0,
            fit,
            level * unit + self.shift[:, None],
            slope * unit,
            np.array(profile).reshape(self.season, *level.shape) * unit,
            np.einsum("spg,pqg->sqg", units, root),
            noise * unit,
            self._degrees(int(self.known.sum())),
        )

    def _degrees(self, count: int) -> float:
        return max(count - SPENT, 2.0)

    def _jacobian(self, end: int) -> Array:
        """What turns a density of scaled values into one of the series, (n,): the sum of log units and, for logarithms, of log values."""
        count = int(self.known[:end].sum())
        logs = (
            (self.scaled * self.unit[:, None] + self.shift[:, None])[:, :end][:, self.known[:end]].sum(axis=1)
            if self.log
            else 0.0
        )
        return np.asarray(count * np.log(self.unit) + logs)

    def rolling(self, stretches: Sequence[Stretch], steps: int) -> tuple[Array, Array]:
        """Means (n_origins, steps, G) of the first series after each origin, and log weights (n_origins, G), by what came before each stretch."""
        begun = [self.beginnings(stretch.end) for stretch in stretches]
        n = self.n
        found = np.stack([part[0][:, :, 0] for part in begun], axis=1)  # (G, stretches, p)
        level, slope, profile = (np.einsum("gsp,...pg->...sg", found, units[..., n:, :]) for units in self.start)
        marks = sorted({int(origin) for stretch in stretches for origin in stretch.origins})
        rows = np.repeat(self.scaled[:1, : marks[-1]], len(stretches), axis=0)
        kept = filtered(rows, self.block, (level, slope, profile), marks)[2]
        where = [(row, int(origin)) for row, stretch in enumerate(stretches) for origin in stretch.origins]
        level, slope = (np.stack([kept[origin][part][row] for row, origin in where]) for part in (0, 1))
        # the phase of the next value comes first
        profile = np.stack([np.roll(kept[origin][2][:, row], -origin, axis=0) for row, origin in where], axis=1)
        means = onwards(self.block, 0, (level, slope, profile), steps)
        fits = np.stack([begun[row][1][0] for row, _ in where])
        return means.transpose(1, 0, 2) * self.unit[0] + self.shift[0], fits


# ---------------------------------------------------------------- all blocks


@dataclass(frozen=True)
class Told:
    """The season and the scale that weigh most, the numbers of their states, and the usual one-step deviation."""

    season: int | None
    transform: str | None
    n_states: int
    noise: float


@dataclass(frozen=True)
class Smoothing:
    """The members for given seasons, on the scale of the series and on that of its logarithm, and how much each counts before it is seen.

    ``priors`` holds one array of weights per block, learned over a panel; empty: those that came with the grid.
    """

    seasons: tuple[int, ...] = ()
    transform: str | None = "auto"
    priors: tuple[Array, ...] = ()

    def blocks(self, values: Array) -> list[Block]:
        """Series (n, T) of one length, filtered; logarithms where all are positive."""
        T = values.shape[1]
        seasons = [season for season in self.seasons if 2 * season + 2 <= T] or [0]
        logs = {"auto": (False, True), "log": (True,), None: (False,)}[self.transform]
        positive = bool((np.nan_to_num(values, nan=1.0) > 0).all())
        return [
            Block(values, season, log, self._is_flat(log), self.prior((season, log)))
            for log in logs
            if positive or not log
            for season in seasons
        ]

    @property
    def keys(self) -> list[tuple[int, bool]]:
        """Season and scale of every block that there may be, in the order of ``priors``."""
        return [(season, log) for log in (False, True) for season in (0, *self.seasons)]

    def prior(self, key: tuple[int, bool]) -> Array:
        """What the members of a block count before anything is seen."""
        if self.priors:
            return self.priors[self.keys.index(key)]
        return members(key[0], self._is_flat(key[1])).prior

    def _is_flat(self, log: bool) -> bool:
        return log and self.transform == "auto"

    def told(self, values: Array) -> Told:
        """What the weights of one series (T,) amount to."""
        found = [block.posterior() for block in self.blocks(values[None])]
        shares = weights([part.fit for part in found])[0]
        seasonal = np.concatenate([part.block.seasonal * part.season for part in found]).astype(int)
        logs = np.repeat([part.log for part in found], [part.fit.shape[1] for part in found])
        noise = np.concatenate([part.noise[0] for part in found])
        season = max({0, *self.seasons}, key=lambda season: float(shares[seasonal == season].sum()))
        same = shares * (logs == (shares @ logs > 0.5))
        return Told(
            season or None, "log" if shares @ logs > 0.5 else None, 2 + season, float(same @ noise / same.sum())
        )

    def forecast(self, values: Array, steps: int) -> Array:
        """The weighted mean over members, (n, steps)."""
        found = [block.posterior() for block in self.blocks(values)]
        means = [_values(part.mean(steps), part.log) for part in found]
        shares = weights([part.fit for part in found])
        return _held(np.einsum("hng,ng->nh", np.concatenate(means, axis=2), shares), values)

    def paths(self, values: Array, steps: int, count: int, rng: Any) -> Array:
        """Futures (count, steps) of one series (T,), each of a member drawn by its weight."""
        found = [block.posterior() for block in self.blocks(values[None])]
        shares = weights([part.fit for part in found])[0]
        chosen = np.sort(rng.choice(len(shares), size=count, p=shares))
        ends = np.cumsum([part.fit.shape[1] for part in found])
        parts = []
        for part, end in zip(found, ends):
            begin = end - part.fit.shape[1]
            own = chosen[(chosen >= begin) & (chosen < end)] - begin
            if len(own):
                parts.append(_values(part.draws(own, steps, rng), part.log))
        return _held(np.concatenate(parts), values[None])

    def rolling(self, values: Array, stretches: Sequence[Stretch], steps: int) -> Array:
        """Forecasts (n_origins, steps) of one series (T,): states go on to each origin, weights stay those of its stretch's beginning."""
        found = [(block.log, *block.rolling(stretches, steps)) for block in self.blocks(values[None])]
        means = np.concatenate([_values(mean, log) for log, mean, _ in found], axis=2)
        shares = weights([fit for _, _, fit in found])
        return _held(np.einsum("nhg,ng->nh", means, shares), values[None])


def weights(fits: Sequence[Array]) -> Array:
    """Shares (n, members) from log weights of every block; blocks count alike before they are seen."""
    whole = np.concatenate(fits, axis=1)
    shares = np.exp(whole - whole.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _values(x: Array, log: bool) -> Array:
    return np.exp(np.clip(x, -LARGEST_LOG, LARGEST_LOG)) if log else x


def _held(forecasts: Array, values: Array) -> Array:
    """What was never negative is not forecast to be."""
    return np.maximum(forecasts, 0.0) if np.nanmin(values) >= 0 else forecasts
