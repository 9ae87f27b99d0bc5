"""How good the filling of a table is, column by column: cells are hidden, filled, and compared with the column's mean."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone

from gramian._arrays import Array
from gramian.estimators.imputer import LatentImputer
from gramian.estimators.time_filling import TimeFilling
from gramian.filling.aside import hidden_tables
from gramian.policy import DEFAULTS, PAGE
from gramian.tables.preprocessing import Preprocessing

HARDLY = 0.95
"""From this share of the mean's error on, nothing is called a help."""


@dataclass(frozen=True)
class ColumnQuality:
    """What hidden cells say of the filling of one column.

    ``ratio`` is the error over that of the mean: roots of mean squares of numbers, shares of wrong values of categories, beside
    the commonest. ``inside`` is the share of truths inside the 90 % intervals, or the smallest sets of 90 % of categories.
    """

    column: str
    cells: int
    error: float
    mean_error: float
    inside: float
    trivial: str = "mean"

    @property
    def ratio(self) -> float:
        """The error over that of the mean."""
        return self.error / self.mean_error if self.mean_error > 0 else 1.0

    @property
    def facts(self) -> dict[str, Any]:
        """For machines."""
        return {
            "hidden cells": self.cells,
            "error": self.error,
            "error of the mean": self.mean_error,
            "error over the mean": self.ratio,
            "share inside 90 %": self.inside,
            "helped": self.ratio < HARDLY,
        }


def fill_quality(prepare: Preprocessing, X: Array, estimator: Any = None) -> dict[str, ColumnQuality]:
    """What hidden cells say of every column that has enough of them; nothing of tables of few rows.

    ``estimator`` has ``fit`` and ``impute``; None is the imputer that is taken unless told otherwise.

    Examples
    --------
    >>> from gramian.tables.table import Table
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal(200)
    >>> table = Table(["a", "b", "c"], [z, z + 0.1 * rng.standard_normal(200), rng.standard_normal(200)])
    >>> prepare = Preprocessing.fit([table])
    >>> found = fill_quality(prepare, prepare.matrix(table))
    >>> found["a"].ratio < 0.3, found["c"].ratio > 0.9
    (True, True)
    """
    estimator = LatentImputer(standardize=False) if estimator is None else estimator
    judged = Judged(prepare)
    for table in hidden_tables(prepare, X):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit on all cells says what there is to say
                full, std = clone(estimator).fit(table.masked).impute(table.masked, return_std=True)
        except ValueError:
            continue
        full = np.asarray(full)
        judged.add(table.X, table.masked, table.hidden, full, np.asarray(std), prepare.probabilities(full))
    return judged.found()


class Judged:
    """Errors of hidden cells, by column: rows of (of the model, of the mean, inside)."""

    def __init__(self, prepare: Preprocessing) -> None:
        self.prepare = prepare
        self.cells: dict[int, list[Array]] = {}

    def add(
        self, X: Array, masked: Array, hidden: Array, full: Array, std: Array, chances: Mapping[str, Array]
    ) -> None:
        """One draw of hidden cells: the features, those without what is hidden, the same filled, and the chances of every category."""
        prepare = self.prepare
        truths, seen = prepare.columns(np.nan_to_num(X)), prepare.restore(masked)
        filled, values, spreads = prepare.columns(full), prepare.restore(X), prepare.spread(std)
        for j, name in enumerate(prepare.names):
            rows = np.flatnonzero(hidden[:, j])
            feature = int(np.searchsorted(prepare.owner, j))
            kept = ~np.isnan(masked[:, feature])
            if not len(rows) or not kept.any():
                continue
            if prepare.categories[j]:
                errors = _category_errors(truths[j], chances[name], prepare.categories[j], rows, kept)
            else:
                errors = _number_errors(values[:, feature], filled[j], spreads[j], rows, seen[kept, feature].mean())
            self.cells.setdefault(j, []).append(np.column_stack(errors))

    def found(self) -> dict[str, ColumnQuality]:
        out = {}
        for j, parts in sorted(self.cells.items()):
            cells = np.concatenate(parts)
            if len(cells) < PAGE.fewest:
                continue
            number = not self.prepare.categories[j]
            model, mean = (float(np.sqrt(e.mean())) if number else float(e.mean()) for e in cells[:, :2].T)
            name = self.prepare.names[j]
            trivial = "mean" if number else "commonest value"
            out[name] = ColumnQuality(name, len(cells), model, mean, float(cells[:, 2].mean()), trivial)
        return out


def quality_along(along: TimeFilling | None) -> dict[str, ColumnQuality]:
    """Of the columns that a clock helps to fill."""
    found = {}
    for name, trial in ({} if along is None else along.trials).items():
        off, plain, inside = _number_errors(trial.truth, trial.filled, trial.spread, trial.cells, trial.mean)
        error, mean_error = (float(np.sqrt(part.mean())) for part in (off, plain))
        found[name] = ColumnQuality(name, len(trial.cells), error, mean_error, float(inside.mean()))
    return found


def _number_errors(truth: Array, filled: Array, spread: Array, rows: Array, mean: float) -> tuple[Array, Array, Array]:
    off = truth[rows] - filled[rows]
    inside = np.abs(off) <= ndtri(0.5 + DEFAULTS.cover / 2) * spread[rows]
    return off**2, (truth[rows] - mean) ** 2, inside


def _category_errors(
    truth: Array, chances: Array, values: list[str], rows: Array, kept: Array
) -> tuple[Array, Array, Array]:
    words, counts = np.unique(truth[kept].astype(str), return_counts=True)
    commonest = words[counts.argmax()]
    position = {value: k for k, value in enumerate(values)}
    own = np.array([position[value] for value in truth[rows]])
    some = chances[rows]
    above = np.where(some > some[np.arange(len(rows)), own][:, None], some, 0.0).sum(axis=1)  # of likelier values
    return some.argmax(axis=1) != own, truth[rows].astype(str) != commonest, above < DEFAULTS.cover


def quality_lines(found: Mapping[str, ColumnQuality], wanted: Mapping[str, int], most: int = 12) -> list[str]:
    """The quality of the columns that had holes, as lines of a terminal."""
    shown = [found[name] for name, count in wanted.items() if count and name in found]
    if not shown:
        return []
    lines = ["  on hidden cells: the error over that of the mean (1: no better), and the share inside 90 % intervals"]
    width = min(max(len(row.column) for row in shown), 30)
    for row in shown[:most]:
        name = row.column if len(row.column) <= width else row.column[: width - 1] + "…"
        said = "  hardly a help" * (row.ratio >= HARDLY)
        said = f"  nothing helps: filled with the {row.trivial}" if row.ratio >= 1 else said
        lines.append(f"    {name:<{width}}  {row.ratio:5.2f}  {100 * row.inside:3.0f} %{said}")
    return lines + ["    ..."] * (len(shown) > most)


def unhelped_columns(found: Mapping[str, ColumnQuality]) -> list[str]:
    """Columns that the mean fills at least as well as the model, on hidden cells."""
    return [name for name, row in found.items() if row.ratio >= 1]


@dataclass(frozen=True)
class Means:
    """The columns that are filled with their means, and the means and deviations of all features."""

    columns: list[str]
    mean: Array
    spread: Array

    @classmethod
    def of(cls, X: Array, found: Mapping[str, ColumnQuality]) -> Means:
        """Where the mean fills hidden cells at least as well as the model does."""
        return cls(unhelped_columns(found), np.nanmean(X, axis=0), np.nanstd(X, axis=0))

    def put(self, prepare: Preprocessing, X: Array, full: Array, std: Array) -> tuple[Array, Array]:
        """The filled features with means, and their deviations, in the holes of these columns."""
        if not self.columns:
            return full, std
        at = np.isin(prepare.owner, [prepare.names.index(name) for name in self.columns])
        holes = np.isnan(X) & at
        return np.where(holes, self.mean, full), np.where(holes, self.spread, std)
