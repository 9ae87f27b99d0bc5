"""Held-out stretches inside a series, on which plans of a forecaster are judged, and linear candidates by the hundred [10]."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian import policy
from gramian._arrays import Array
from gramian._progress import checkpoint
from gramian.series.candidates import Candidate, SeriesOptions, lags_to_try, transforms_to_try
from gramian.series.paths import shared_transform, transformed_inputs
from gramian.series.stretches import Stretch
from gramian.series.transform import Removed, SeriesTransform, back_table, bridge_gaps, forward_table
from gramian.series.window_model import WindowOptions, fit_windows, with_fewer_components
from gramian.series.window_ridge import fit_window_ridge

FAR_OFF = 1.5
"""A structure whose held-out error is larger than the best by this factor is not averaged."""


def windows_at(z: Array, origins: Array, lags: int) -> Array:
    """The last ``lags`` rows of z before each origin, (n, lags) or (n, lags, d)."""
    return z[origins[:, None] - np.arange(lags, 0, -1)]


def values_at(y: Array, origins: Array, steps: int) -> Array:
    """The ``steps`` rows from each origin on, NaN beyond the end."""
    padded = np.concatenate([y, np.full((steps, *y.shape[1:]), np.nan)])
    return padded[origins[:, None] + np.arange(steps)]


def back_at(transform: SeriesTransform, removed: Removed, paths: Array, origins: Array) -> Array:
    """Forecasts (n_origins, steps) of the series from forecasts of z."""
    return transform.back(paths, removed.at(origins, transform.season))


# ---------------------------------------------------------------- plans


@dataclass(frozen=True)
class Plan:
    """What is to be fitted: candidates per member, one transformation per series each."""

    transforms: tuple[tuple[SeriesTransform, ...], ...]  # one tuple per member
    lags: tuple[int, ...]
    kernels: tuple[Any, ...]
    weights: tuple[float, ...] = ()  # of the members in their mean; empty: all alike

    @classmethod
    def of(cls, *candidates: Candidate) -> Plan:
        """The mean of candidates for one series."""
        return cls(
            tuple((candidate.transform,) for candidate in candidates),
            tuple(candidate.lags for candidate in candidates),
            tuple(candidate.kernel for candidate in candidates),
        )

    def weight(self, member: int) -> float:
        return self.weights[member] if self.weights else 1.0

    def options(self, member: int, base: WindowOptions) -> WindowOptions:
        lags = self.lags[member]
        if lags == 0:  # no window: what was taken off goes on as it is
            return replace(base, lags=1, kernel="linear", n_components=0, noise_variance="ml")
        return replace(base, lags=lags, kernel=self.kernels[member])

    def without(self, kind: type) -> Plan:
        """The members whose model is not of this kind."""
        kept = [member for member, kernel in enumerate(self.kernels) if not isinstance(kernel, kind)]
        return Plan(
            tuple(self.transforms[member] for member in kept),
            tuple(self.lags[member] for member in kept),
            tuple(self.kernels[member] for member in kept),
        )

    def joined(self, other: Plan, share: float) -> Plan:
        """The members of both plans, those of the other with this share of the whole."""
        parts = [
            part * plan.weight(member) / sum(plan.weight(m) for m in range(len(plan.lags)))
            for plan, part in ((self, 1.0 - share), (other, share))
            for member in range(len(plan.lags))
        ]
        return Plan(
            self.transforms + other.transforms, self.lags + other.lags, self.kernels + other.kernels, tuple(parts)
        )


@dataclass(frozen=True)
class SeriesEvidence:
    """What held-out stretches said of what was taken."""

    errors: Array  # (n, horizon, d), of the forecasts; of logarithms where the logarithm was taken
    error: float  # mean absolute error in units of the series (the first, where there are several)
    naive: float  # of the last value
    seasonal_naive: float | None  # of the value a season ago

    @property
    def skill(self) -> dict[str, float]:
        """The mean absolute errors by name."""
        found = {"error": self.error, "naive": self.naive}
        if self.seasonal_naive is not None:
            found["seasonal naive"] = self.seasonal_naive
        return found


# ---------------------------------------------------------------- the trial


class SeriesTrial:
    """A series with its held-out stretches, on which candidates are judged."""

    def __init__(self, series: Array, inputs: Array | None, horizon: int, stretches: list[Stretch]) -> None:
        self.series, self.inputs, self.horizon, self.stretches = series, inputs, horizon, stretches
        self.known = np.column_stack([bridge_gaps(column, 0) for column in series.T])
        self.origins = np.concatenate([stretch.origins for stretch in stretches])
        self.truth = values_at(series, self.origins, horizon)  # (n, H, d)
        self.folds = np.repeat(np.arange(len(stretches)), [len(stretch.origins) for stretch in stretches])

    def fold_errors(self, forecasts: Array, column: int | None = None) -> Array:
        """Mean absolute errors, one per stretch, of forecasts (n, H) of one series, or (n, H, d) of all in units of their steps."""
        if column is not None:
            errors = np.abs(forecasts - self.truth[:, :, column])
        else:
            errors = (np.abs(forecasts - self.truth) / self.steps).mean(axis=2)
        return np.array([_mean(errors[self.folds == fold]) for fold in range(len(self.stretches))])

    @property
    def weights(self) -> Array:
        """What each stretch counts: the square of what its models saw, since the model that is fitted in the end has seen all of it."""
        ends = np.array([stretch.end for stretch in self.stretches], dtype=np.float64)
        counts = (ends / ends.max()) ** 2
        return np.asarray(counts / counts.sum())

    def score(self, errors: Array) -> float:
        """Minus the mean logarithm of errors, one per stretch."""
        return -float(self.weights @ np.log(errors + self.smallest))

    def share(self, errors: Array, others: Array) -> float:
        """What forecasts with these errors, one per stretch, count in a mean with simpler ones, which are believed at first."""
        own, other = (max(float(self.weights @ part), self.smallest) for part in (errors, others))
        return float(1.0 / (1.0 + policy.WINDOWS.odds * (own / other) ** policy.WINDOWS.power))

    @property
    def smallest(self) -> float:
        """An error in units of the steps that is as good as none."""
        size = float(np.nanmax(np.abs(self.known), initial=0.0))
        return 1e-12 * size / float(self.steps.min()) + float(np.finfo(float).tiny)

    @property
    def steps(self) -> Array:
        """The usual step of each series, (d,)."""
        usual = np.nanmean(np.abs(np.diff(self.known, axis=0)), axis=0)
        return np.where(usual > 0, usual, 1.0)

    # ------------------------------------------------------------ linear models of one series

    def linear_forecasts(self, column: int, transform: SeriesTransform, lags: Sequence[int]) -> dict[int, Array]:
        """Forecasts (n, H) of every number of lags by ridge models, one per stretch."""
        z, _ = transform.forward(self.series[:, column])
        history, removed = transform.forward(self.known[:, column])
        inputs = None if self.inputs is None else transformed_inputs(self.inputs, transform)
        found = {}
        for count in lags:
            checkpoint("stretches held out")
            paths = []
            for stretch in self.stretches:
                if stretch.end - count < transform.lost:
                    break
                known = None if inputs is None else inputs[: stretch.end]
                model = fit_window_ridge(z[: stretch.end], count, known)
                if model is None:
                    break
                future = None if inputs is None else values_at(inputs, stretch.origins, self.horizon)
                paths.append(model.recursion(windows_at(history, stretch.origins, count), self.horizon, future))
            else:
                found[count] = back_at(transform, removed, np.concatenate(paths), self.origins)
        return found

    # ------------------------------------------------------------ target models of all series

    def forecasts(self, plan: Plan, member: int, base: WindowOptions, *, most: int = 300) -> Array | None:
        """Forecasts (n, H, d) by target models of at most so many values, one per stretch; None where the stretches are too short for it."""
        transforms = plan.transforms[member]
        options = replace(plan.options(member, base), verbose=0)
        z, _ = forward_table(transforms, self.series)
        history, removed_parts = forward_table(transforms, self.known)
        inputs = None if self.inputs is None else transformed_inputs(self.inputs, shared_transform(transforms))
        lost = max(transform.lost for transform in transforms)
        parts = []
        for number, stretch in enumerate(self.stretches):
            checkpoint("stretches held out", number, len(self.stretches))
            start = max(lost, stretch.end - most)
            length = stretch.end - start
            if length < options.lags + options.ahead + 2:
                return None
            shorter = with_fewer_components(options, length - options.lags - options.ahead - 1)
            rows = slice(start, stretch.end)
            try:
                model = fit_windows(z[rows], None if inputs is None else inputs[rows], shorter)
            except ValueError:
                return None
            windows = (windows_at(history, stretch.origins, options.lags) - model.shift) / model.scale
            future = None
            if inputs is not None:
                future = model.scaled_inputs(values_at(inputs, stretch.origins, self.horizon))
            parts.append(model.run(np.nan_to_num(windows), self.horizon, future))
        starts = [removed.at(self.origins, t.season) for removed, t in zip(removed_parts, transforms)]
        return back_table(transforms, np.concatenate(parts), starts)

    # ------------------------------------------------------------ evidence

    def naive(self, season: int) -> Array:
        """The value a season ago (the last value for 1), (n, H, d)."""
        back = season - np.arange(self.horizon) % season
        return self.known[self.origins[:, None] - back]

    def evidence(self, forecasts: Array, logs: Sequence[bool], season: int) -> SeriesEvidence:
        with np.errstate(invalid="ignore", divide="ignore"):
            errors = [
                np.log(np.maximum(forecasts[..., j], np.finfo(float).tiny)) - np.log(self.truth[..., j])
                if log
                else forecasts[..., j] - self.truth[..., j]
                for j, log in enumerate(logs)
            ]
        own, naive, seasonal = (
            float(self.weights @ self.fold_errors(found[..., 0], 0))
            for found in (forecasts, self.naive(1), self.naive(max(season, 1)))
        )
        return SeriesEvidence(np.stack(errors, axis=2), own, naive, seasonal if season > 1 else None)


def _mean(errors: Array) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(np.nanmean(errors))


# ---------------------------------------------------------------- linear candidates by the hundred


@dataclass(frozen=True)
class Screened:
    """A linear candidate with its forecasts (n, H) for the held-out stretches and its mean absolute error on each of them."""

    candidate: Candidate
    forecasts: Array
    errors: Array


def screen(trial: SeriesTrial, column: int, seasons: Sequence[int], given: SeriesOptions) -> list[Screened]:
    """Every linear candidate of one series that the parameters leave open."""
    most = max(1, (trial.stretches[0].end - 2) // 3)
    found = []
    for transform in transforms_to_try(
        trial.series[:, column], given.season, given.difference, given.transform, seasons
    ):
        counts = lags_to_try(given.lags, seasons, most)
        for count, forecasts in trial.linear_forecasts(column, transform, counts).items():
            errors = trial.fold_errors(forecasts, column)
            if np.isfinite(errors).all():
                found.append(Screened(Candidate(transform, count), forecasts, errors))
    return found


def best_of_structures(rows: Sequence[Screened], weights: Array) -> list[Screened]:
    """The best candidate of each structure (season or not, level or not, logarithm or not), the best of all first."""
    best: dict[tuple[int, int, bool], Screened] = {}
    for row in sorted(rows, key=lambda row: float(weights @ row.errors)):
        best.setdefault(row.candidate.structure, row)
    return list(best.values())


def near_the_best(best: Sequence[Screened], weights: Array, most: int) -> list[Screened]:
    """Of the best of structures, those that may be averaged."""
    limit = FAR_OFF * float(weights @ best[0].errors)
    return [row for row in best if weights @ row.errors <= limit][:most]
