"""A target model of windows: one view is the last values of a series, the target what follows them [8].

The one place where a forecaster builds a target model and asks it. Everything here is in units of what the model sees: the
series after its transformation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gramian._arrays import Array
from gramian._progress import Progress
from gramian.evidence.held_out import HeldOut
from gramian.exceptions import NumericalWarning, warn
from gramian.features import approximation_of
from gramian.kernels import Linear, Precomputed, as_kernel
from gramian.latent.gaussian import Posterior
from gramian.policy import KERNELS, SIZES
from gramian.series.series import correlation_root, fill_gaps, lag_windows
from gramian.single.answers import chosen_solver
from gramian.solvers.auto import Auto
from gramian.targets.fit import fit_target
from gramian.targets.model import TargetModel
from gramian.views.specs import ALGORITHMS, choose_space, is_feature_map, training_view, weights_of_views
from gramian.views.view import ExplicitView, ViewTable

FARTHEST = 1e6
"""Recursions that leave the training range by this many of its widths are held there, with a warning."""
FEW_WINDOWS = 0.25
"""With fewer complete windows than this share, gaps are filled before training."""


@dataclass(frozen=True)
class WindowOptions:
    """How windows are modelled: the forecaster's parameters that its target model needs, nothing left to choose."""

    lags: int
    kernel: Any = "rbf"
    n_components: Any = 0.95
    noise_variance: Any = "per-view"
    standardize: bool = True
    ahead: int = 1
    view_weights: Any = "balanced"
    n_folds: int | None = 5
    approximation: Any = "auto"
    n_landmarks: int | None = None
    tol: float = 1e-6
    max_iter: int = 1000
    verbose: int = 0
    exact_windows: int = KERNELS.exact_rows
    random_state: Any = None

    @property
    def is_usual(self) -> bool:
        """Whether neither the noise nor the number of components was given."""
        return self.noise_variance == "per-view" and not isinstance(self.n_components, int)


@dataclass(frozen=True)
class WindowModel:
    """A fitted target model of windows (count, lags, d) -> the next values (count, ahead * d), in scaled units."""

    target: TargetModel
    lags: Annotated[int, "natural"]
    ahead: Annotated[int, "natural"]
    shift: Annotated[Array, "d"]
    scale: Annotated[Array, "++ d"]
    input_shift: Annotated[Array, "e"]  # empty without exogenous inputs
    input_scale: Annotated[Array, "e"]
    low: Annotated[Array, "d"]  # of the scaled training series
    high: Annotated[Array, "d"]
    correlation_root: Array  # of the one-step residuals, for draws
    algorithm: str = ""
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def n_series(self) -> int:
        return len(self.shift)

    @property
    def n_inputs(self) -> int:
        return len(self.input_shift)

    @property
    def one_step_std(self) -> Array:
        """(d,), in units of what the model was fitted to."""
        return self.target.std[: self.n_series] * self.scale

    @property
    def sees_parts(self) -> bool:
        """Whether a window with gaps can be looked at as it is: a linear view shows its entries one by one."""
        return self.target.model.subspace.parts[0].invertible

    # ------------------------------------------------------------ windows

    def last_window(self, series: Array, inputs: Array | None = None) -> Array:
        """The scaled last window, (lags, d). Where its kernel needs all values, gaps are forecast from the values before them."""
        scaled = (series - self.shift) / self.scale
        lags = self.lags
        if self.sees_parts or not np.isnan(scaled[-lags:]).any():
            return np.array(scaled[-lags:])
        whole = sliding_window_view(~np.isnan(scaled).any(axis=1), lags).all(axis=1)
        starts = np.flatnonzero(whole)
        if not len(starts):
            return fill_gaps(scaled, lags)[-lags:]
        known = scaled[starts[-1] :].copy()
        nothing = np.full((1, self.n_inputs * self.ahead), np.nan)
        solved: dict[bytes, Any] = {}
        for t in range(lags, len(known)):
            gaps = np.isnan(known[t])
            if gaps.any():
                guess = self.next_values(known[t - lags : t][None], nothing, solved)[0][0, : self.n_series]
                known[t, gaps] = guess[gaps]
        return np.array(known[-lags:])

    def next_values(
        self, windows: Array, inputs: Array | None = None, solved: dict[bytes, Any] | None = None
    ) -> tuple[Array, Posterior]:
        """The next values of windows (n, lags, d), in scaled units, and the posterior behind them."""
        views: list[Any] = [windows.reshape(len(windows), -1)]
        seen = np.ones((len(windows), 2 + (self.n_inputs > 0)), dtype=bool)
        seen[:, -1] = False
        if self.n_inputs:
            assert inputs is not None
            known: Array = ~np.asarray(np.isnan(inputs).any(axis=1))
            seen[:, 1] = known
            views.append(np.where(known[:, None], inputs, 0.0))
        seen[:, 0] = ~np.isnan(views[0]).all(axis=1)
        return self.target.predict(views, seen, solved)

    # ------------------------------------------------------------ recursions

    def run(self, windows: Array, steps: int, future: Array | None = None, rng: Any = None) -> Array:
        """Forecasts (n, steps, d) after scaled windows (n, lags, d), in units of what the model was fitted to.

        ``future`` holds the scaled inputs, (1 or n, at least ``steps``, k). With ``rng`` every step is a draw from the one-step
        predictive law, else its mean.
        """
        count, d, ahead = len(windows), self.n_series, self.ahead
        blocks = -(-steps // ahead)
        out = np.empty((count, blocks * ahead, d))
        width = np.maximum(self.high - self.low, 1.0)
        low, high = self.low - FARTHEST * width, self.high + FARTHEST * width
        clipped = False
        solved: dict[bytes, Any] = {}  # every step sees the same views: one inverse for all of them
        usual = None if rng is None else self.target.usual_spread
        for block in range(blocks):
            rows = slice(block * ahead, (block + 1) * ahead)
            inputs = None if future is None else self._inputs_of(future[:, rows], count)
            mean, posterior = self.next_values(windows, inputs, solved)
            if rng is not None:
                mean = self.target.draws(mean, self.target.deviations(posterior, usual), rng, self.correlation_root)
            values = mean.reshape(count, ahead, d)
            held = np.clip(np.where(np.isfinite(values), values, self.high), low, high)
            clipped |= bool((held != values).any())
            out[:, rows] = held
            windows = np.concatenate([windows, held], axis=1)[:, -self.lags :]
        if clipped:
            warn(
                "The forecast left the range of the training series by a factor of a million and is held there: the recursion is "
                "unstable. Use noise_variance='per-view', fewer components, or strategy='direct'.",
                NumericalWarning,
            )
        return out[:, :steps] * self.scale + self.shift

    def _inputs_of(self, rows: Array, count: int) -> Array:
        """Inputs of the next ``ahead`` steps, one row per window; steps beyond those given are unknown."""
        padded = np.full((len(rows), self.ahead, self.n_inputs), np.nan)
        padded[:, : rows.shape[1]] = rows
        return np.repeat(padded.reshape(len(rows), -1), count if len(rows) == 1 else 1, axis=0)

    def scaled_inputs(self, inputs: Array) -> Array:
        return (inputs - self.input_shift) / self.input_scale


def fit_windows(series: Array, inputs: Array | None, options: WindowOptions) -> WindowModel:
    """The target model of all complete windows of a series (T, d), with inputs (T, k) at the same times."""
    gone = np.flatnonzero(np.isnan(series).all(axis=0))
    if len(gone):
        raise ValueError(
            f"Series {int(gone[0])} shows no value that has one a season, or a difference, before it. Give season=None and difference=0, or a longer series."
        )
    shift, scale = units(series, options.standardize)
    scaled = (series - shift) / scale
    input_shift, input_scale = (np.empty(0), np.empty(0)) if inputs is None else units(inputs, options.standardize)
    known = None if inputs is None else (inputs - input_shift) / input_scale
    views, targets, notes = _training_rows(scaled, known, options)
    kernel, said = _approximate(options, len(targets))
    n = len(targets)
    ones = np.ones(n)
    built = [training_view(kernel, view, ones) for view in views]
    table = ViewTable((*built, ExplicitView(targets)), ones / n, float(n))
    names = ["window", "X", "next"] if inputs is not None else ["window", "next"]
    space, reason = choose_space("auto", table, names)
    solver, _ = chosen_solver(
        Auto(options.tol, options.max_iter),
        n if space == "dual" else sum(table.widths),
        options.n_components,
    )
    with Progress("ECM", verbose=options.verbose) as bar:
        target = fit_target(
            table,
            options.n_components,
            solver,
            space,
            noise_variance=options.noise_variance,
            view_weights=weights_of_views(options.view_weights, table, names),
            folds=None if options.n_folds is None else HeldOut.stretches(n, options.n_folds),
            robust=True,  # a recursion lives on the usual step: rare jumps must not decide how far windows are trusted
            tol=float(np.sqrt(options.tol)),
            progress=bar,
        )
    residuals = targets - target.held_out.predictions if target.held_out is not None else np.zeros_like(targets)
    return WindowModel(
        target,
        options.lags,
        options.ahead,
        shift,
        scale,
        input_shift,
        input_scale,
        np.nanmin(scaled, axis=0),
        np.nanmax(scaled, axis=0),
        correlation_root(residuals),
        ALGORITHMS[space, False],
        reason,
        (*notes, *said),
    )


def units(series: Array, standardize: bool) -> tuple[Array, Array]:
    """What is taken off each column, and what it is divided by."""
    d = series.shape[1]
    if not standardize:
        return np.zeros(d), np.ones(d)
    shift = np.nanmean(series, axis=0) if not np.isnan(series).all(axis=0).any() else np.zeros(d)
    spread = np.sqrt(np.nanmean(np.square(series - shift), axis=0))
    size = np.nanmax(np.abs(series), axis=0)
    return shift, np.where(spread > 64 * np.finfo(float).eps * size, spread, 1.0)


def _training_rows(
    series: Array, inputs: Array | None, options: WindowOptions
) -> tuple[list[Array], Array, tuple[str, ...]]:
    """The input views and the targets of all complete windows."""
    lags, ahead = options.lags, options.ahead
    windows, targets = lag_windows(series, lags, ahead)
    complete: Array = ~np.asarray(np.isnan(windows).any(axis=1) | np.isnan(targets).any(axis=1))
    if complete.mean() < FEW_WINDOWS or complete.sum() < 3:
        series = fill_gaps(series, lags)
        windows, targets = lag_windows(series, lags, ahead)
        complete = np.ones(len(windows), dtype=bool)
    views = [windows]
    if inputs is not None:
        known = lag_windows(inputs, lags, ahead)[1]
        complete &= ~np.isnan(known).any(axis=1)
        views.append(known)
    if complete.sum() < 3:
        raise ValueError(
            f"Only {int(complete.sum())} windows of lags={lags} values are complete with their target and X. Lower lags, or "
            "fill the gaps."
        )
    notes: tuple[str, ...] = ()
    if complete.sum() > SIZES.batch:
        notes = (f"the last {SIZES.batch} of {int(complete.sum())} windows were learned from",)
        complete[: np.flatnonzero(complete)[-SIZES.batch]] = False
    return [view[complete] for view in views], targets[complete], notes


def _approximate(options: WindowOptions, n: int) -> tuple[Any, tuple[str, ...]]:
    """The kernel, seen from landmarks where there are many windows."""
    spec = options.kernel
    wanted = options.approximation
    if wanted is None or is_feature_map(spec):
        return spec, ()
    kernel = as_kernel(spec)
    if isinstance(kernel, Linear | Precomputed) or (wanted == "auto" and n <= options.exact_windows):
        return spec, ()
    count = min(KERNELS.landmarks if options.n_landmarks is None else options.n_landmarks, n)
    name = "nystroem" if wanted == "auto" else wanted
    words = f"{count} landmarks (Nystroem)" if name == "nystroem" else f"{count} features ({name})"
    return approximation_of(name, kernel, count, options.random_state), (
        f"{n} windows: the kernel is seen from {words}",
    )


def with_fewer_components(options: WindowOptions, most: int) -> WindowOptions:
    """The same options for a shorter stretch: a count of components that it can carry."""
    if isinstance(options.n_components, int) and not isinstance(options.n_components, bool):
        return replace(options, n_components=min(options.n_components, most))
    return options
