"""Series followed by every member of one grid, with their unknown beginnings and what inputs do integrated out [8, 12].

The errors of :mod:`gramian.series.recursion` are linear in the unknown beginning x₀ = (l, b, s) and in what inputs do, c: those of y - Xc are
those of y less those of the columns of X. So with a Gaussian prior (x₀, c) ~ N(0, σ²T²) both are integrated out exactly: a regression of
the errors on what a unit of each would have left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gramian import policy
from gramian._arrays import Array
from gramian.series.recursion import Members, RateLaw, filter_series, members, onwards, season_basis, spread_of_errors
from gramian.series.stretches import Stretch


@dataclass(frozen=True)
class Effects:
    """What inputs of variance 1 are thought to do before a series is seen, in units of its steps: mean and deviation, (k,)."""

    mean: Annotated[Array, "k"]
    spread: Annotated[Array, "++ k"]


@dataclass(frozen=True)
class Beginnings:
    """What the values up to some time say of the unknowns, in prior units, and of each member."""

    mean: Array  # (G, p, n)
    precision: Array  # (G, p, p)
    density: Array  # (n, G), minus the log-density of the values, by mean absolute errors
    noise: Array  # (n, G), standard deviation of one step, scaled
    count: int  # of values

    def fit(self, block: Members, law: RateLaw) -> Array:
        """Log weights (n, G): the prior, and the density of n values, which count as ne / (n + e) where the law says e."""
        return np.asarray(np.log(block.prior(law)) - law.evidence / (law.evidence + self.count) * self.density)


@dataclass(frozen=True)
class MemberPosterior:
    """Where n series stand after their last value, for each of G members of one grid."""

    block: Members
    season: int
    log: bool
    phase: int  # of the next value
    beginnings: Beginnings
    level: Array  # (n, G)
    slope: Array
    profile: Array  # (season, n, G)
    root: Array  # (2 + season, p, G): how the state moves with standard normal errors of the unknowns, in units of the noise
    noise: Array  # (n, G), standard deviation of one step
    degrees: float  # of freedom, of the noise
    effects: Array  # (k, n, G), what a unit of each input does
    effects_root: Array  # (k, p, G), how that moves with the same errors

    def mean(self, steps: int, inputs: Array | None = None) -> Array:
        """(steps, n, G), on the scale of the block; ``inputs`` (steps, k) are scaled."""
        found = onwards(self.block, self.phase, (self.level, self.slope, self.profile), steps)
        return found if inputs is None else found + np.einsum("hk,kng->hng", inputs, self.effects)

    def deviations(self, steps: int, inputs: Array | None = None) -> Array:
        """(steps, n, G): the scale of the Student law of each step."""
        moved = onwards(self.block, self.phase, (self.root[0], self.root[1], self.root[2:]), steps)
        if inputs is not None:
            moved = moved + np.einsum("hk,kpg->hpg", inputs, self.effects_root)
        variance = spread_of_errors(self.block, self.season, steps) + np.square(moved).sum(axis=1)
        return np.asarray(self.noise * np.sqrt(variance)[:, None])

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


class Block:
    """Series (n, T) of one length with gaps at the same places, on one scale, filtered once for every member; one series where there are inputs."""

    def __init__(
        self,
        values: Array,
        season: int,
        log: bool,
        flat: bool,
        inputs: Array | None = None,
        effects: Effects | None = None,
    ) -> None:
        self.season, self.log = season, log
        self.block = members(season, flat)
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
        k = 0 if inputs is None else inputs.shape[1]
        self.effects = effects or Effects(np.zeros(k), np.full(k, policy.RATES.season_spread))
        self.n, self.p = n, 2 + basis.shape[1] + k
        rows, G = n + self.p, len(self.block.alpha)
        level, slope, profile = np.zeros((rows, G)), np.zeros((rows, G)), np.zeros((season, rows, G))
        level[n], slope[n + 1] = policy.RATES.level_spread, policy.RATES.slope_spread
        profile[:, n + 2 : rows - k] = policy.RATES.season_spread * basis[:, :, None] * self.block.seasonal
        data = np.zeros((rows, T))
        data[:n] = self.scaled
        if inputs is not None:
            data[:n] -= inputs @ self.effects.mean
            data[rows - k :] = -(inputs * self.effects.spread).T
        data[n:, ~self.known] = np.nan
        self.start, self.data = (level, slope, profile), data
        with np.errstate(over="ignore", invalid="ignore"):  # rates that no long series can have
            errors, end, _ = filter_series(data, self.block, self.start)
        self.errors = bound_values(errors)
        self.end = (bound_values(end[0]), bound_values(end[1]), bound_values(end[2]))

    def beginnings(self, end: int) -> Beginnings:
        """What the values up to ``end`` say."""
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
        spread = 0.5 * np.linalg.slogdet(precision)[1]
        density = count * np.log(size + tiny) + spread + self._jacobian(end)[:, None]
        return Beginnings(found, precision, density, noise, count)

    def posterior(self) -> MemberPosterior:
        """Where the series stand after all their values."""
        T = self.scaled.shape[1]
        begun = self.beginnings(T)
        n, unit, k = self.n, self.unit[:, None], len(self.effects.mean)
        root = inverse_roots(begun.precision).transpose(1, 2, 0)  # (p, p, G)
        units = np.stack([self.end[0][n:], self.end[1][n:], *(row[n:] for row in self.end[2])])  # (2 + season, p, G)
        moves = np.einsum("gpn,spg->sng", begun.mean, units)
        states = [self.end[0][:n], self.end[1][:n], *(row[:n] for row in self.end[2])]
        level, slope, *profile = (state + move for state, move in zip(states, moves))
        spread = self.effects.spread[:, None, None]
        return MemberPosterior(
            self.block,
            self.season,
            self.log,
            T % self.season if self.season else 0,
            begun,
            level * unit + self.shift[:, None],
            slope * unit,
            np.array(profile).reshape(self.season, *level.shape) * unit,
            np.einsum("spg,pqg->sqg", units, root),
            begun.noise * unit,
            self._degrees(int(self.known.sum())),
            (self.effects.mean[:, None, None] + spread * begun.mean[:, self.p - k :].transpose(1, 2, 0)) * unit,
            spread * root[self.p - k :],
        )

    def _degrees(self, count: int) -> float:
        return max(count - policy.RATES.spent, 2.0)

    def _jacobian(self, end: int) -> Array:
        """What turns a density of scaled values into one of the series, (n,): the sum of log units and, for logarithms, of log values."""
        count = int(self.known[:end].sum())
        logs = (
            (self.scaled * self.unit[:, None] + self.shift[:, None])[:, :end][:, self.known[:end]].sum(axis=1)
            if self.log
            else 0.0
        )
        return np.asarray(count * np.log(self.unit) + logs)

    def rolling(self, stretches: Sequence[Stretch], steps: int, law: RateLaw) -> tuple[Array, Array]:
        """Means (n_origins, steps, G) of the first series after each origin, and log weights (n_origins, G), by what came before each stretch."""
        begun = [self.beginnings(stretch.end) for stretch in stretches]
        n = self.n
        found = np.stack([part.mean[:, :, 0] for part in begun], axis=1)  # (G, stretches, p)
        level, slope, profile = (np.einsum("gsp,...pg->...sg", found, units[..., n:, :]) for units in self.start)
        marks = sorted({int(origin) for stretch in stretches for origin in stretch.origins})
        rows = np.repeat(self.scaled[:1, : marks[-1]], len(stretches), axis=0)
        kept = filter_series(rows, self.block, (level, slope, profile), marks)[2]
        where = [(row, int(origin)) for row, stretch in enumerate(stretches) for origin in stretch.origins]
        level, slope = (np.stack([kept[origin][part][row] for row, origin in where]) for part in (0, 1))
        # the phase of the next value comes first
        profile = np.stack([np.roll(kept[origin][2][:, row], -origin, axis=0) for row, origin in where], axis=1)
        means = onwards(self.block, 0, (level, slope, profile), steps)
        fits = [part.fit(self.block, law)[0] for part in begun]
        return means.transpose(1, 0, 2) * self.unit[0] + self.shift[0], np.stack([fits[row] for row, _ in where])


def bound_values(values: Array) -> Array:
    """Values as they are, or so large that no such member has a share of the forecast, and their squares still are numbers; in place."""
    values = np.nan_to_num(values, copy=False, nan=0.0, posinf=1e100, neginf=-1e100)
    return np.clip(values, -1e12, 1e12, out=values)


def inverse_roots(precision: Array) -> Array:
    """(G, p, p) -> R with R Rᵀ the inverse of each; every precision is at least one.

    Rates that no long series can have let beginnings grow without bound: rounding then leaves their precision indefinite, so that its
    eigenvalues are taken to be what they are at least.
    """
    try:
        return np.linalg.inv(np.linalg.cholesky(precision)).transpose(0, 2, 1)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(precision)
        return np.asarray(vectors / np.sqrt(np.maximum(values, 1.0))[:, None, :])
