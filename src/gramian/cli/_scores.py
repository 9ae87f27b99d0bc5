"""Scores of rows under any model: which columns the output has, and how they are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.cli._goodness import class_sets
from gramian.io.table_model import TableModel
from gramian.reporting.words import responsible

SERIES_PAST = 500
"""A row of a series is judged by at most so many rows before it."""
Scorer = Callable[[Array, Any], list[Array]]


def scorer(model: TableModel, level: float) -> tuple[list[str], Scorer]:
    """The names of the scores that the model can give, and the function that gives them for rows."""
    estimator = model.estimator
    if model.kind in ("classifier", "regressor"):
        return _of_target(model, level)
    if model.kind == "forecast":
        return _one_step(model, level)
    if hasattr(estimator, "score_samples"):
        return _of_rows(model, level)
    raise ValueError(
        f"a {model.kind} model has no likelihood of rows. Use predict, or fit --model ppca, kernel or mixture."
    )


def _of_target(model: TableModel, level: float) -> tuple[list[str], Scorer]:
    """How likely the target of each row is, given the rest of the row."""
    estimator, prepare = model.estimator, model.preprocessing
    target = prepare.target

    def known(table: Any) -> Array:
        if target is None or target not in table:
            raise ValueError(
                f"a {model.kind} model scores the target, and there is no likelihood without it: the table has no column "
                f"{target!r}. Use predict."
            )
        column: Array = table[target]
        return column

    def of_classes(X: Array, table: Any) -> list[Array]:
        labels = np.array([str(label) for label in estimator.classes_])
        chances = estimator.predict_proba(X)
        cells = known(table)
        given = np.array([value is not None for value in cells])
        hit = labels[None, :] == np.array([str(value) for value in cells])[:, None]
        chance = np.where(given, (chances * hit).sum(axis=1), np.nan)
        outside = given & ~(class_sets(chances, level) & hit).any(axis=1)
        expected = np.empty(len(X), dtype=object)
        expected[:] = labels[chances.argmax(axis=1)]
        likelihood = np.log(np.maximum(chance, np.finfo(float).tiny))
        return [np.where(given, likelihood, np.nan), chance, outside.astype(float), expected]

    def of_values(X: Array, table: Any) -> list[Array]:
        from scipy.stats import norm  # a slow import that few need

        unit, shift = prepare.target_scale, prepare.target_mean
        mean, std = (np.ravel(part) * unit for part in estimator.predict(X, return_std=True))
        lower, upper = (np.ravel(end) * unit + shift for end in estimator.interval(X, level))
        values = known(table)
        off = (values - (mean + shift)) / np.maximum(std, np.finfo(float).tiny)
        likelihood = norm.logpdf(off) - np.log(std)
        return [likelihood, off, ((values < lower) | (values > upper)).astype(float), mean + shift]

    if model.kind == "classifier":
        return ["log_likelihood", "chance", "flag", "expected"], of_classes
    return ["log_likelihood", "deviation", "flag", "expected"], of_values


def _one_step(model: TableModel, level: float) -> tuple[list[str], Scorer]:
    """Each row of a series against what the rows before it lead one to expect; empty until there are enough of them."""
    estimator, names = model.estimator, model.preprocessing.names
    past: list[Array] = []

    def scores(X: Array, _: Any) -> list[Array]:
        ends = np.full((len(X), 2, X.shape[1]), np.nan)
        for i, row in enumerate(X):
            seen = np.array(past)
            try:
                found = estimator.predict_interval(
                    1, level=level, history=seen[:, 0] if X.shape[1] == 1 and len(seen) else seen
                )
                ends[i] = np.reshape(found, (2, -1))
            except ValueError:  # too little of the series is known yet
                pass
            past.append(row)
            del past[:-SERIES_PAST]
        outside = (ends[:, 0] > X) | (ends[:, 1] < X)
        because = np.full(len(X), None, dtype=object)
        for late in np.flatnonzero(outside.any(axis=1)):
            because[late] = ", ".join(names[j] for j in np.flatnonzero(outside[late])[:3])
        columns = [ends[:, side, j] for j in range(X.shape[1]) for side in (0, 1)]
        return [*columns, outside.any(axis=1).astype(float), because]

    return [*(f"{name}_{end}" for name in names for end in ("lower", "upper")), "flag", "because"], scores


def _of_rows(model: TableModel, level: float) -> tuple[list[str], Scorer]:
    """Likelihood and distances of rows; which of them are odd says the detector, or the limits of a model that has none."""
    estimator, prepare, detector = model.estimator, model.preprocessing, model.detector
    explains = hasattr(estimator, "anomaly")
    dense = not explains or estimator.noise_variance_ > 0
    likely = (
        estimator if dense else detector
    )  # columns that repeat each other leave no noise, but the detector has a floor of it
    if detector is None and not explains:
        raise ValueError(f"the {model.kind} model has no noise, so rows have no likelihood. Fit it without --noise 0.")
    limit = None if detector is None else detector.limit(level)

    def scores(X: Array, _: Any) -> list[Array]:
        first = [] if likely is None else [likely.score_samples(X)]
        if not explains:
            return [*first, (detector.score_samples(X) < limit).astype(float)]
        found = estimator.anomaly(X, level=level)
        flags = found.flags if detector is None else detector.score_samples(X) < limit
        because = np.full(len(X), None, dtype=object)
        for row in np.flatnonzero(flags):
            because[row] = responsible(found.contributions[row], prepare)
        return [*first, found.t2, found.spe, found.p_t2, found.p_spe, flags.astype(float), because]

    distances = ["t2", "spe", "p_t2", "p_spe"] if explains else []
    return [
        *([] if likely is None else ["log_likelihood"]),
        *distances,
        "flag",
        *(["because"] if explains else []),
    ], scores


class ScoreTally:
    """How many rows are flagged, and their mean log-likelihood: sums over the pieces of a table."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.flagged, self.known, self.total = 0, 0, 0.0

    def add(self, columns: list[Array]) -> list[Array]:
        """The columns of a piece, handed on."""
        named = dict(zip(self.names, columns))
        self.flagged += int(named["flag"].sum())
        likelihood = named.get("log_likelihood", np.empty(0))
        known = likelihood[~np.isnan(likelihood)]
        self.known, self.total = self.known + len(known), self.total + float(known.sum())
        return columns

    @property
    def mean(self) -> float | None:
        """The mean log-likelihood of the rows that have one."""
        return self.total / self.known if self.known else None


def too_many(flagged: int, rows: int, level: float) -> str:
    """A remark where far more rows are flagged than the level says; empty otherwise."""
    expected = rows * (1 - level)
    if flagged <= 3 * expected + 3 * np.sqrt(expected) + 2:
        return ""
    return (
        f"{flagged} of {rows} rows are flagged, where about {expected:.3g} are expected at --level {level:g}: these rows are "
        "unlike those that the model was fitted on"
    )
