"""Levels, slopes and seasons at a few rates, averaged: what short series have to say [8, 12].

No member of :mod:`gramian.series.recursion` is chosen: each counts by its prior times (mean |e|)^(-n), where the n values of a series count as
at most so many as the `RateLaw` says. Short series so stay near the prior, which was learned over many series, once; a panel judges it anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian.series.block import Block, Effects, MemberPosterior
from gramian.series.lines import Line, LineLaw
from gramian.series.mixture_quantiles import Laws, mixture_quantiles
from gramian.series.recursion import RateLaw
from gramian.series.stretches import Stretch
from gramian.series.transform import LARGEST_LOG


@dataclass(frozen=True)
class HeaviestMember:
    """The season and the scale that weigh most, the numbers of their states, the usual one-step deviation, and the lags of lines that lead."""

    lags: int
    season: int | None
    transform: str | None
    n_states: int
    noise: float


@dataclass(frozen=True)
class Smoothing:
    """The members for given seasons, on the scale of the series and on that of its logarithm, and what each counts before it is seen.

    ``effects`` holds what inputs do, on both scales, learned over a panel; empty: nothing is known of it. ``lines`` stand beside the members,
    each with a share of the forecast.
    """

    seasons: Annotated[tuple[int, ...], "*: count"] = ()
    transform: str | None = "auto"
    law: RateLaw = field(default_factory=RateLaw)
    effects: Annotated[tuple[Effects, ...], "*"] = ()
    lines: Annotated[tuple[Line, ...], "*"] = ()

    def _wrong_state(self) -> str | None:
        whole = sum(line.share for line in self.lines)
        return "lines have more than the whole forecast" if whole > 1.0 + 1e-9 else None

    def blocks(self, values: Array, inputs: Array | None = None) -> list[Block]:
        """Series (n, T) of one length, filtered; logarithms where all are positive."""
        T = values.shape[1]
        seasons = [season for season in self.seasons if 2 * season + 2 <= T] or [0]
        logs = {"auto": (False, True), "log": (True,), None: (False,)}[self.transform]
        positive = bool((np.nan_to_num(values, nan=1.0) > 0).all())
        return [
            Block(
                values,
                season,
                log,
                log and self.transform == "auto",
                inputs,
                self.effects[int(log)] if self.effects else None,
            )
            for log in logs
            if positive or not log
            for season in seasons
        ]

    def outlook(self, values: Array, inputs: Array | None = None) -> Outlook:
        """What all members say of series (n, T) of one length with gaps at the same places; of one where there are ``inputs`` (T, k)."""
        scale = None if inputs is None else InputScale.of(inputs)
        known = None if scale is None else scale.scaled(inputs)
        return Outlook(self, values, self.blocks(values, known), scale)

    def forecast(self, values: Array, steps: int) -> Array:
        """The weighted mean over members, (n, steps)."""
        return self.outlook(values).forecast(steps)


@dataclass(frozen=True)
class InputScale:
    """What is taken off inputs (T, k), and what they are divided by; unknown ones count as their mean."""

    shift: Array
    scale: Array

    @classmethod
    def of(cls, inputs: Array) -> InputScale:
        seen = np.where(np.isnan(inputs), 0.0, 1.0)
        counts = np.maximum(seen.sum(axis=0), 1.0)
        shift = np.nansum(inputs, axis=0) / counts
        spread = np.sqrt(np.nansum(np.square(inputs - shift), axis=0) / counts)
        size = np.abs(np.nan_to_num(inputs)).max(axis=0)
        return cls(shift, np.where(spread > 1e-9 * size, spread, 1.0))

    def scaled(self, inputs: Any) -> Array:
        return np.nan_to_num((inputs - self.shift) / self.scale)


class Outlook:
    """What all members say of the future of series, from one pass over their values."""

    def __init__(
        self, smoothing: Smoothing, values: Array, blocks: list[Block], scale: InputScale | None = None
    ) -> None:
        self.smoothing, self.values, self.blocks, self.scale = smoothing, values, blocks, scale

    def beside(self, lines: tuple[Line, ...]) -> Outlook:
        """The same with lines; what was found of the members stays."""
        found = copy(self)
        found.smoothing = replace(self.smoothing, lines=lines)
        for name in ("lines", "shares"):
            vars(found).pop(name, None)
        return found

    @cached_property
    def parts(self) -> list[MemberPosterior]:
        """Where the series stand, block by block."""
        return [block.posterior() for block in self.blocks]

    @cached_property
    def lines(self) -> list[LineLaw]:
        """The lines that a series is long enough for."""
        return [law for line in self.smoothing.lines if (law := line.of(self.values)) is not None]

    @property
    def all_parts(self) -> list[MemberPosterior | LineLaw]:
        return [*self.parts, *self.lines]

    def fits(self, law: RateLaw) -> list[Array]:
        """Log weights (n, G) of every block."""
        return [part.beginnings.fit(part.block, law) for part in self.parts]

    @cached_property
    def shares(self) -> Array:
        """What each member counts, (n, members), lines last."""
        lines = np.array([law.share for law in self.lines])
        found = (1.0 - lines.sum()) * weights(self.fits(self.smoothing.law))
        return np.hstack([found, np.tile(lines, (len(found), 1))])

    def _ahead(self, future: Array | None) -> Array | None:
        return None if self.scale is None else self.scale.scaled(future)

    def means(self, steps: int, future: Array | None = None) -> Array:
        """(steps, n, members), in units of the series."""
        known = self._ahead(future)
        return np.concatenate([_values(part.mean(steps, known), part.log) for part in self.all_parts], axis=2)

    def forecast(self, steps: int, future: Array | None = None) -> Array:
        """The weighted mean over members, (n, steps); ``future`` (steps, k) holds the inputs ahead."""
        return self.held(np.einsum("hng,ng->nh", self.means(steps, future), self.shares))

    def quantiles(self, steps: int, levels: Array, future: Array | None = None) -> Array:
        """Of the mixture of all members, (n_levels, n, steps)."""
        known = self._ahead(future)
        heaviest = -np.sort(-self.shares.max(axis=0))
        least = heaviest[min(len(heaviest) - 1, int(np.searchsorted(np.cumsum(heaviest), 0.999 * heaviest.sum())))]
        laws, shares, end = [], [], 0
        for part in self.all_parts:
            begin, end = end, end + part.noise.shape[1]
            kept = self.shares[:, begin:end].max(axis=0) >= least  # the rest changes no digit that is shown
            if not kept.any():
                continue
            mean, scale = (table[..., kept] for table in (part.mean(steps, known), part.deviations(steps, known)))
            smallest = np.finfo(float).eps * (1.0 + np.abs(mean)) + np.finfo(float).tiny
            laws.append(Laws(mean, np.maximum(scale, smallest), part.degrees, part.log))
            shares.append(self.shares[:, begin:end][:, kept])
        whole = np.sum([share.sum(axis=1) for share in shares], axis=0)[:, None]
        found = mixture_quantiles(laws, [share / whole for share in shares], levels)  # (n_levels, steps, n)
        return self.held(found.transpose(0, 2, 1))

    def paths(self, steps: int, count: int, rng: Any) -> Array:
        """Futures (count, steps) of the first series, each of a member drawn by its share."""
        shares = self.shares[0]
        chosen = np.sort(rng.choice(len(shares), size=count, p=shares))
        drawn, end = [], 0
        for part in self.all_parts:
            begin, end = end, end + part.noise.shape[1]
            own = chosen[(chosen >= begin) & (chosen < end)] - begin
            if len(own):
                drawn.append(_values(part.draws(own, steps, rng), part.log))
        return self.held(np.concatenate(drawn))

    def rolling(self, stretches: Sequence[Stretch], steps: int) -> Array:
        """Forecasts (n_origins, steps) of the first series by the members alone: states go on to each origin, weights stay those of its stretch's beginning."""
        found = [(block.log, *block.rolling(stretches, steps, self.smoothing.law)) for block in self.blocks]
        means = np.concatenate([_values(mean, log) for log, mean, _ in found], axis=2)
        return self.held(np.einsum("nhg,ng->nh", means, weights([fit for _, _, fit in found])))

    def told(self) -> HeaviestMember:
        """What the weights of the first series amount to."""
        shares = weights(self.fits(self.smoothing.law))[0]
        seasonal = np.concatenate([part.block.seasonal * part.season for part in self.parts]).astype(int)
        logs = np.repeat([part.log for part in self.parts], [part.noise.shape[1] for part in self.parts])
        noise = np.concatenate([part.noise[0] for part in self.parts])
        season = max({0, *self.smoothing.seasons}, key=lambda season: float(shares[seasonal == season].sum()))
        same = shares * (logs == (shares @ logs > 0.5))
        leading = max(self.lines, key=lambda law: law.share, default=None)
        return HeaviestMember(
            leading.lags if leading is not None and sum(law.share for law in self.lines) > 0.5 else 0,
            season or None,
            "log" if shares @ logs > 0.5 else None,
            2 + season,
            float(same @ noise / same.sum()),
        )

    def held(self, forecasts: Array) -> Array:
        """What was never negative is not forecast to be: forecasts (..., n, steps), or (..., steps) of one series."""
        least = np.where(np.nanmin(self.values, axis=1) >= 0, 0.0, -np.inf)
        return np.maximum(forecasts, least[:, None] if len(least) > 1 else least[0])


def weights(fits: Sequence[Array]) -> Array:
    """Shares (n, members) from log weights of every block; blocks count alike before they are seen."""
    whole = np.concatenate(fits, axis=1)
    shares = np.exp(whole - whole.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _values(x: Array, log: bool) -> Array:
    return np.exp(np.clip(x, -LARGEST_LOG, LARGEST_LOG)) if log else x
