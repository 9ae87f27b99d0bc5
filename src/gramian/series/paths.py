"""Futures of a series: the models behind a forecast, run on from its end or from other values, and spread as far as is right [8].

Each member frees the series from something and models what is left. The forecast is the weighted mean over members; paths are dealt out
to them, and their distance to the forecast is stretched by a factor per step ahead: so far that held-out stretches lie inside
their intervals as often as promised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian._quantiles import weighted_quantile
from gramian.policy import DEFAULTS, SPREAD
from gramian.series.smoothing import Outlook, Smoothing
from gramian.series.transform import LARGEST_LOG, Removed, SeriesTransform, back_table, forward_table
from gramian.series.window_model import WindowModel

WIDTH_PATHS = 200
"""Paths behind a width or a standard deviation."""


@dataclass(frozen=True)
class Member:
    """One fitted model behind a forecast: a transformation per series, and the model of what it leaves."""

    transforms: Annotated[tuple[SeriesTransform, ...], "d"]
    model: WindowModel
    weight: Annotated[float, "order"] = 1.0  # in the mean over members

    @property
    def needed(self) -> int:
        """Values that a forecast begins with."""
        return self.model.lags + max(t.lost for t in self.transforms)

    def where(self, series: Array) -> tuple[Array, list[Removed], int]:
        """The scaled last window, where each series stands, and how many values before the first step are unknown too."""
        late = 0
        if any(t.season or t.difference for t in self.transforms):
            while np.isnan(series[len(series) - 1 - late]).all():
                late += 1
            series = series[: len(series) - late]
        z, removed_parts = forward_table(self.transforms, series)
        lost = max(t.lost for t in self.transforms)
        window = self.model.last_window(z[lost:])
        return window, [removed.at(len(series), t.season) for removed, t in zip(removed_parts, self.transforms)], late

    def paths(
        self, series: Array, steps: int, X: Array | None, past: Array | None, count: int, rng: Any = None
    ) -> Array:
        """Futures (count, steps, d) of a series; without ``rng`` the forecast."""
        window, starts, late = self.where(series)
        future = self.future(X, past, steps, late)
        run = self.model.run(np.repeat(window[None], count, axis=0), late + steps, future, rng)
        return back_table(self.transforms, run, starts)[:, late:]

    @property
    def n_inputs(self) -> int:
        return self.model.n_inputs

    def future(self, X: Array | None, past: Array | None, steps: int, late: int) -> Array | None:
        """Scaled inputs (1, late + steps, k) of the steps ahead, after the inputs of the past where those are known."""
        if X is None:
            return None
        transform = shared_transform(self.transforms)
        before = np.full((transform.lost, X.shape[1]), np.nan) if past is None else past
        whole = transformed_inputs(np.vstack([before, X[:steps]]), transform)
        return self.model.scaled_inputs(whole[len(before) - late :])[None]


@dataclass(frozen=True)
class SmoothingMember:
    """Levels, slopes and seasons at a few rates; they are found anew from the values that a forecast goes on from."""

    smoothing: Smoothing
    weight: Annotated[float, "order"] = 1.0
    needed = 2
    n_inputs = 0

    @property
    def transforms(self) -> tuple[SeriesTransform, ...]:
        """What it follows, in the words of the other members."""
        return (SeriesTransform(max(self.smoothing.seasons, default=0), 1),)

    def paths(
        self, series: Array, steps: int, X: Array | None, past: Array | None, count: int, rng: Any = None
    ) -> Array:
        """Futures (count, steps, 1) of a series; without ``rng`` the forecast."""
        outlook = self.smoothing.outlook(series.T)
        if rng is not None:
            return outlook.paths(steps, count, rng)[:, :, None]
        return np.repeat(outlook.forecast(steps)[:, :, None], count, axis=0)


@dataclass(frozen=True)
class ForecastPaths:
    """Members with the series that they go on from.

    ``spread`` (h, d) holds the factor of the distance of paths to their middle, step by step; later steps have the last one.
    """

    members: Sequence[Member | SmoothingMember]
    series: Array
    inputs: Array | None
    spread: Array
    outlook: Outlook | None = None  # of the series, where it is at hand

    @property
    def n_series(self) -> int:
        return self.series.shape[1]

    @property
    def needed(self) -> int:
        """Values that a forecast begins with."""
        return max(member.needed for member in self.members)

    def middle(self, steps: int, X: Array | None = None, history: Array | None = None) -> Array:
        """The forecast, (steps, d): the mean over members."""
        found = [self._of_member(member, steps, X, history, 1, None)[0] for member in self.members]
        if len(found) == 1:
            return found[0]
        return np.asarray(np.average(found, axis=0, weights=[member.weight for member in self.members]))

    def drawn(self, steps: int, X: Array | None, history: Array | None, count: int, rng: Any) -> Array:
        """Paths (count, steps, d) as the members draw them, dealt out to the members by their weights."""
        ends = np.cumsum([member.weight for member in self.members])
        shares = np.diff(np.round(count * ends / ends[-1]).astype(int), prepend=0)
        parts = [
            self._of_member(member, steps, X, history, int(share), rng)
            for member, share in zip(self.members, shares)
            if share
        ]
        return np.concatenate(parts)

    def calibrated(self, steps: int, X: Array | None, history: Array | None, count: int, rng: Any) -> Array:
        """Paths (count, steps, d), spread as far as held-out stretches say."""
        return self.middle_and_paths(steps, X, history, count, rng)[1]

    def middle_and_paths(
        self, steps: int, X: Array | None, history: Array | None, count: int, rng: Any
    ) -> tuple[Array, Array]:
        """The forecast (steps, d) and paths (count, steps, d), spread as far as held-out stretches say; a smoothed series is followed once for both."""
        if history is not None and len(self.members) == 1 and isinstance(self.members[0], SmoothingMember):
            outlook = self.members[0].smoothing.outlook(history.T)
            middle, paths = outlook.forecast(steps).T, outlook.paths(steps, count, rng)[:, :, None]
        else:
            middle, paths = self.middle(steps, X, history), self.drawn(steps, X, history, count, rng)
        return middle, self._spread_out(paths, middle) if (self.spread != 1.0).any() else paths

    def quantiles(
        self, steps: int, X: Array | None, history: Array | None, levels: Array, count: int, rng: Any
    ) -> tuple[Array, Array]:
        """The forecast (steps, d), and quantiles (n_levels, steps, d): exact where members are smoothed only, else of ``count`` paths."""
        if len(self.members) == 1 and isinstance(self.members[0], SmoothingMember):
            outlook = self.outlook if history is None else None
            outlook = outlook or self.members[0].smoothing.outlook((self.series if history is None else history).T)
            middle = outlook.forecast(steps).T
            return middle, outlook.held(self._spread_out(outlook.quantiles(steps, levels).transpose(0, 2, 1), middle))
        middle, paths = self.middle_and_paths(steps, X, history, count, rng)
        return middle, np.quantile(paths, levels, axis=0)

    def _spread_out(self, values: Array, middle: Array) -> Array:
        """Values (n, steps, d) as far from the middle as held-out stretches say."""
        factors = self.spread[np.minimum(np.arange(len(middle)), len(self.spread) - 1)]
        middle = self.spreading(middle[None])
        spread = middle + factors * (self.spreading(values) - middle)
        for j in np.flatnonzero(self._logs):
            spread[..., j] = np.exp(np.clip(spread[..., j], -LARGEST_LOG, LARGEST_LOG))
        return spread

    def spreading(self, values: Array) -> Array:
        """Values (..., d) on the scale on which they spread."""
        logs = self._logs
        if not any(logs):
            return values
        out = np.array(values)
        for j in np.flatnonzero(logs):
            out[..., j] = np.log(np.maximum(values[..., j], np.finfo(float).tiny))
        return out

    @property
    def _logs(self) -> list[bool]:
        """Which series spread evenly on the logarithmic scale: those of which every member takes the logarithm."""
        return [all(member.transforms[j].log for member in self.members) for j in range(self.n_series)]

    def _of_member(
        self, member: Member | SmoothingMember, steps: int, X: Array | None, history: Array | None, count: int, rng: Any
    ) -> Array:
        series, past = (self.series, self.inputs) if history is None else (history, None)
        return member.paths(series, steps, X, past, count, rng)


def shared_transform(transforms: Sequence[SeriesTransform]) -> SeriesTransform:
    """What inputs are freed from: the season and the level, where all series are freed from the same."""
    first = replace(transforms[0], log=False)
    return first if all(replace(transform, log=False) == first for transform in transforms) else SeriesTransform()


def transformed_inputs(inputs: Array, transform: SeriesTransform) -> Array:
    """Inputs (T, k) freed from season and level as the series is: the model is linear in both."""
    plain = replace(transform, log=False)
    if plain.is_plain:
        return inputs
    return np.column_stack([plain.forward(column)[0] if not np.isnan(column).all() else column for column in inputs.T])


# ---------------------------------------------------------------- how wide paths must be [12]


def spread_factors(
    errors: Array,
    widths: Array,
    *,
    neighbours: float = 1.5,
    limits: tuple[float, float] = (0.7, 4.0),
) -> Array:
    """Factors (h, d) for the distance of paths to their middle: the model's own width and held-out errors, pooled (`gramian.policy.Spread`).

    Parameters
    ----------
    errors : array of shape (n, h, d)
        Held-out errors, NaN where the truth is not known.
    widths : array of shape (h, d)
        Half of the model's own 90 % interval.
    neighbours : float
        A step is judged together with the steps up to this factor nearer and farther.
    limits : (float, float)
        Factors are held between these.
    """
    _, steps, d = errors.shape
    scaled = np.abs(errors) / np.where(widths > 0, widths, np.inf)
    ahead = np.arange(1, steps + 1)
    belief, wider = SPREAD.belief, SPREAD.wider
    factors = np.full((steps, d), wider)
    for h in range(steps):
        near = (ahead >= ahead[h] / neighbours) & (ahead <= ahead[h] * neighbours)
        for j in range(d):
            own = scaled[:, near, j]
            seen = own[~np.isnan(own)]
            if not len(seen):
                continue
            independent = max(1.0, (~np.isnan(scaled[:, h, j])).sum() / (1.0 + h))
            ratio = weighted_quantile(seen, np.ones(len(seen)), DEFAULTS.cover)
            squared = (belief * wider**2 + independent * ratio**2) / (belief + independent)
            factors[h, j] = np.clip(np.sqrt(squared), *limits)
    return factors


def calibrated_spread(paths: ForecastPaths, errors: Array, rng: Any) -> Array:
    """Factors (h, d) of the distance of paths to their middle, from held-out errors (n, h, d) on the scale on which they spread."""
    steps = errors.shape[1]
    future = None if paths.inputs is None else np.repeat(_last_known(paths.inputs)[None], steps, axis=0)
    ends = np.array([0.5 - DEFAULTS.cover / 2, 0.5 + DEFAULTS.cover / 2])
    plain = replace(paths, spread=np.ones((1, paths.n_series)))
    low, high = paths.spreading(plain.quantiles(steps, future, None, ends, WIDTH_PATHS, rng)[1])
    return spread_factors(errors, 0.5 * (high - low))


def _last_known(inputs: Array) -> Array:
    """The last known value of each input: what widths are judged at."""
    seen = [column[~np.isnan(column)] for column in inputs.T]
    return np.array([column[-1] if len(column) else np.nan for column in seen])
