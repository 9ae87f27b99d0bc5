"""Predictions of rows under any model: the output's columns, how they are computed, and their summary.

Where the truth is in the table, the summary compares.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from scipy.special import ndtri

from gramian._arrays import Array
from gramian.cli._goodness import ClassTally, GroupTally, ValueTally, class_sets
from gramian.io.table_model import TableModel
from gramian.policy import DEFAULTS
from gramian.tables.table import Table

Summary = tuple[dict[str, Any], list[str]]


class Predictor:
    """What a model says of rows: the names of the output's columns, and the columns themselves piece by piece.

    What is said at the end is summed up on the way: nothing of the length of the table is kept.
    """

    def __init__(self, model: TableModel, level: float | None) -> None:
        self.estimator, self.prepare = model.estimator, model.preprocessing
        self.level = DEFAULTS.cover if level is None else level
        self.level_given = level is not None
        self.compared = 0  # rows that lie beside their truth

    names: list[str]

    def columns(self, X: Array, table: Table) -> list[Array]:
        """The output's columns for the rows of a piece of the table."""
        raise AssertionError("each kind of prediction has its own")

    @property
    def summary(self) -> Summary:
        """Numbers and lines about all rows so far."""
        raise AssertionError("each kind of prediction has its own")

    def truth(self, table: Table) -> Array | None:
        """The target, where the table has it."""
        target = self.prepare.target
        return np.asarray(self.prepare.seen(table)[target]) if target is not None and target in table else None


def predictor(model: TableModel, view: str | None, level: float | None = None) -> Predictor:
    """What the model can predict of a row."""
    if view is not None and model.kind != "views":
        raise ValueError(f"--view is for models of views; this is a {model.kind} model.")
    if model.kind == "views":
        return _View(model, level, view)
    makers = {"classifier": _Classes, "mixture": _Clusters, "kernel-mixture": _Clusters, "regressor": _Values}
    if model.kind not in makers:
        advice = "Use gramian forecast." if model.kind == "forecast" else "Use transform, score or impute."
        raise ValueError(f"a {model.kind} model predicts nothing of a row. {advice}")
    return makers[model.kind](model, level)


def _texts(values: Any) -> Array:
    column = np.empty(len(values), dtype=object)
    column[:] = [str(value) for value in values]
    return column


def _said_counts(counts: Counter[str]) -> Summary:
    counted = dict(sorted(counts.items()))
    return {"counts": counted}, [f"  {label}: {count}" for label, count in list(counted.items())[:20]]


def _comparison(facts: dict[str, float], n_rows: int, what: str) -> Summary:
    """The comparison with the truth, for machines and people."""
    if not facts:
        return {}, []
    width = max(map(len, facts))
    lines = [f"  beside {what} in the table ({n_rows} rows):"]
    return {"compared": facts}, lines + [f"    {name:<{width}}  {value:.4g}" for name, value in facts.items()]


def _both(first: Summary, second: Summary) -> Summary:
    return {**first[0], **second[0]}, [*first[1], *second[1]]


class _Classes(Predictor):
    def __init__(self, model: TableModel, level: float | None) -> None:
        super().__init__(model, level)
        self.name = self.prepare.target or "class"
        self.labels = np.array([str(label) for label in self.estimator.classes_])
        self.names = [self.name, *(f"p({label})" for label in self.labels)]
        self.names += [f"{self.name}_set"] if self.level_given else []
        self.counts: Counter[str] = Counter()
        self.tally = ClassTally(self.labels, self.level)

    def columns(self, X: Array, table: Table) -> list[Array]:
        chances, said = self.estimator.predict_proba(X), _texts(self.estimator.predict(X))
        self.counts.update(said.tolist())
        truth = self.truth(table)
        if truth is not None:
            known = np.array([value is not None for value in truth], dtype=bool)
            self.tally.add(np.array([str(value) for value in truth[known]]), chances[known])
        sets = [_texts(["|".join(self.labels[row]) for row in class_sets(chances, self.level)])]
        return [said, *chances.T, *(sets if self.level_given else [])]

    @property
    def summary(self) -> Summary:
        return _both(_said_counts(self.counts), _comparison(self.tally.facts, self.tally.n, self.name))


class _Clusters(Predictor):
    def __init__(self, model: TableModel, level: float | None) -> None:
        super().__init__(model, level)
        if level is not None:
            raise ValueError(f"--level is for values, classes and views; a {model.kind} model gives clusters.")
        self.names = ["cluster", *(f"p({k})" for k in range(1, len(self.estimator.weights_) + 1))]
        self.counts: Counter[str] = Counter()
        self.tally = GroupTally()

    def columns(self, X: Array, table: Table) -> list[Array]:
        said = _texts(self.estimator.predict(X) + 1)
        self.counts.update(said.tolist())
        truth = self.truth(table)
        if truth is not None:
            self.compared += len(truth)
            self.tally.add(said, truth)
        return [said, *self.estimator.predict_proba(X).T]

    @property
    def summary(self) -> Summary:
        found = self.tally.agreement if self.compared else None
        facts = {} if found is None else {"adjusted Rand index": found}
        return _both(_said_counts(self.counts), _comparison(facts, self.compared, str(self.prepare.target)))


class _Values(Predictor):
    def __init__(self, model: TableModel, level: float | None) -> None:
        super().__init__(model, level)
        self.name = self.prepare.target or "prediction"
        self.names = [self.name, *(f"{self.name}_{part}" for part in ("std", "lower", "upper"))]
        self.n, self.sums = 0, np.zeros(2)  # rows; of the values and of their standard deviations
        self.tally = ValueTally(self.level)

    def columns(self, X: Array, table: Table) -> list[Array]:
        mean, std = self.estimator.predict(X, return_std=True)
        lower, upper = self.estimator.interval(X, self.level)
        unit, shift = self.prepare.target_scale, self.prepare.target_mean
        values, lower, upper = (np.ravel(part) * unit + shift for part in (mean, lower, upper))
        std = np.ravel(std) * unit
        self.n, self.sums = self.n + len(values), self.sums + np.array([values.sum(), std.sum()])
        truth = self.truth(table)
        if truth is not None and truth.dtype != object:
            self.tally.add(truth, values, lower, upper)
        return [values, std, lower, upper]

    @property
    def summary(self) -> Summary:
        facts = dict(zip(("mean", "mean std"), (self.sums / max(self.n, 1)).tolist()))
        said = {**facts, "level": self.level}, [f"  {key}  {value:.4g}" for key, value in facts.items()]
        said[1].append(f"  {self.name}_lower and {self.name}_upper hold {100 * self.level:g} % (--level)")
        return _both(said, _comparison(self.tally.facts, int(self.tally.n), self.name))


class _View(Predictor):
    def __init__(self, model: TableModel, level: float | None, view: str | None) -> None:
        super().__init__(model, level)
        prepare = self.prepare
        if view not in prepare.views:
            known = ", ".join(prepare.views)
            raise ValueError(
                f"--view {view}: the model has the views {known}." if view else f"--view is needed: one of {known}."
            )
        self.view, self.wanted = view, prepare.views[view]
        self.positions = sorted({int(prepare.owner[j]) for j in self.wanted})
        self.shown = [prepare.names[position] for position in self.positions]
        self.numbers = [position for position in self.positions if not prepare.categories[position]]
        ends = [f"{prepare.names[position]}_{end}" for position in self.numbers for end in ("lower", "upper")]
        self.names = [*self.shown, *(ends if self.level_given else [])]
        self.tally = ValueTally(self.level)

    def columns(self, X: Array, table: Table) -> list[Array]:
        given = {name: None if name == self.view else X[:, columns] for name, columns in self.prepare.views.items()}
        full, spread = np.full(X.shape, np.nan), np.zeros(X.shape)
        full[:, self.wanted], spread[:, self.wanted] = self.estimator.predict_view(given, self.view, return_std=True)
        wide = float(ndtri(0.5 + self.level / 2))
        truth, mean, half = (np.ravel(part[:, self.wanted]) for part in (X, full, wide * spread))
        self.tally.add(truth, mean, mean - half, mean + half)
        self.compared += len(X)
        restored, stds = self.prepare.columns(np.nan_to_num(full)), self.prepare.spread(spread)
        ends = [restored[position] + sign * wide * stds[position] for position in self.numbers for sign in (-1.0, 1.0)]
        return [*(restored[position] for position in self.positions), *(ends if self.level_given else [])]

    @property
    def summary(self) -> Summary:
        listed = ", ".join(self.shown[:10]) + (", ..." if len(self.shown) > 10 else "")
        said: Summary = {"view": self.view, "columns": self.shown}, [f"  view {self.view}: {listed}"]
        facts = {key: value for key, value in self.tally.facts.items() if "error" not in key}  # in units of no column
        return _both(said, _comparison(facts, self.compared, f"view {self.view}"))
