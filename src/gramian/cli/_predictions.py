"""Predictions of rows under any model: the output's columns, how they are computed, and their summary.

Where the truth is in the table, the summary compares.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from gramian._arrays import Array
from gramian.cli._goodness import agreement, class_sets, of_classes, of_values
from gramian.io.table import Table
from gramian.io.table_model import TableModel

LEVEL = 0.9
Summary = tuple[dict[str, Any], list[str]]


class Predictor:
    """What a model says of rows: the names of the output's columns, and the columns themselves piece by piece."""

    def __init__(self, model: TableModel, level: float | None) -> None:
        self.estimator, self.prepare = model.estimator, model.preprocessing
        self.level = LEVEL if level is None else level
        self.level_given = level is not None
        self.truth: list[Array] = []

    names: list[str]

    def columns(self, X: Array, table: Table) -> list[Array]:
        """The output's columns for the rows of a piece of the table."""
        raise AssertionError("each kind of prediction has its own")

    def summary(self, columns: dict[str, Array]) -> Summary:
        """Numbers and lines about all rows."""
        raise AssertionError("each kind of prediction has its own")

    def keep_truth(self, table: Table) -> None:
        """The target, where the table has it."""
        target = self.prepare.target
        if target is not None and target in table:
            self.truth.append(np.asarray(table[target]))

    @property
    def seen(self) -> Array | None:
        """The targets of all pieces, or None."""
        return np.concatenate(self.truth) if self.truth else None


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


def _counts(labels: Array) -> Summary:
    found, counts = np.unique(labels.astype(str), return_counts=True)
    counted = {label: int(count) for label, count in zip(found.tolist(), counts)}
    return {"counts": counted}, [f"  {label}: {count}" for label, count in list(counted.items())[:20]]


def _compared(facts: dict[str, float], n_rows: int, what: str) -> Summary:
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
        self.chances = [f"p({label})" for label in self.labels]
        self.names = [self.name, *self.chances, *([f"{self.name}_set"] if self.level_given else [])]

    def columns(self, X: Array, table: Table) -> list[Array]:
        self.keep_truth(table)
        chances = self.estimator.predict_proba(X)
        sets = [_texts(["|".join(self.labels[row]) for row in class_sets(chances, self.level)])]
        return [_texts(self.estimator.predict(X)), *chances.T, *(sets if self.level_given else [])]

    def summary(self, columns: dict[str, Array]) -> Summary:
        counted, seen = _counts(columns[self.name]), self.seen
        if seen is None:
            return counted
        known = np.array([value is not None for value in seen])
        chances = np.column_stack([columns[name] for name in self.chances])[known]
        facts = of_classes(np.array([str(value) for value in seen[known]]), self.labels, chances, self.level)
        return _both(counted, _compared(facts, int(known.sum()), self.name))


class _Clusters(Predictor):
    def __init__(self, model: TableModel, level: float | None) -> None:
        super().__init__(model, level)
        if level is not None:
            raise ValueError(f"--level is for values, classes and views; a {model.kind} model gives clusters.")
        self.names = ["cluster", *(f"p({k})" for k in range(1, len(self.estimator.weights_) + 1))]

    def columns(self, X: Array, table: Table) -> list[Array]:
        self.keep_truth(table)
        return [_texts(self.estimator.predict(X) + 1), *self.estimator.predict_proba(X).T]

    def summary(self, columns: dict[str, Array]) -> Summary:
        counted, seen = _counts(columns["cluster"]), self.seen
        if seen is None:
            return counted
        facts = {"adjusted Rand index": agreement(columns["cluster"], seen)}
        return _both(counted, _compared(facts, len(seen), str(self.prepare.target)))


class _Values(Predictor):
    def __init__(self, model: TableModel, level: float | None) -> None:
        super().__init__(model, level)
        self.name = self.prepare.target or "prediction"
        self.names = [self.name, *(f"{self.name}_{part}" for part in ("std", "lower", "upper"))]

    def columns(self, X: Array, table: Table) -> list[Array]:
        self.keep_truth(table)
        mean, std = self.estimator.predict(X, return_std=True)
        lower, upper = self.estimator.interval(X, self.level)
        unit, shift = self.prepare.target_scale, self.prepare.target_mean
        values = [np.ravel(part) * unit + shift for part in (mean, lower, upper)]
        return [values[0], np.ravel(std) * unit, *values[1:]]

    def summary(self, columns: dict[str, Array]) -> Summary:
        facts = {"mean": float(columns[self.name].mean()), "mean std": float(columns[f"{self.name}_std"].mean())}
        said = {**facts, "level": self.level}, [f"  {key}  {value:.4g}" for key, value in facts.items()]
        said[1].append(f"  {self.name}_lower and {self.name}_upper hold {100 * self.level:g} % (--level)")
        seen = self.seen
        if seen is None or seen.dtype == object:
            return said
        lower, upper = (columns[f"{self.name}_{end}"] for end in ("lower", "upper"))
        found = of_values(seen, columns[self.name], lower, upper, self.level)
        return _both(said, _compared(found, int((~np.isnan(seen)).sum()), self.name))


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
        self.parts: list[tuple[Array, Array, Array]] = []

    def columns(self, X: Array, table: Table) -> list[Array]:
        given = {name: None if name == self.view else X[:, columns] for name, columns in self.prepare.views.items()}
        full, spread = np.full(X.shape, np.nan), np.zeros(X.shape)
        full[:, self.wanted], spread[:, self.wanted] = self.estimator.predict_view(given, self.view, return_std=True)
        self.parts.append((X[:, self.wanted], full[:, self.wanted], spread[:, self.wanted]))
        restored, stds = self.prepare.columns(np.nan_to_num(full)), self.prepare.spread(spread)
        wide = float(ndtri(0.5 + self.level / 2))
        ends = [restored[position] + sign * wide * stds[position] for position in self.numbers for sign in (-1.0, 1.0)]
        return [*(restored[position] for position in self.positions), *(ends if self.level_given else [])]

    def summary(self, columns: dict[str, Array]) -> Summary:
        listed = ", ".join(self.shown[:10]) + (", ..." if len(self.shown) > 10 else "")
        said: Summary = {"view": self.view, "columns": self.shown}, [f"  view {self.view}: {listed}"]
        truth, mean, std = (np.ravel(np.concatenate(part)) for part in zip(*self.parts))
        wide = float(ndtri(0.5 + self.level / 2)) * std
        facts = of_values(truth, mean, mean - wide, mean + wide, self.level)
        shown = {key: value for key, value in facts.items() if "error" not in key}  # in units of no column
        return _both(said, _compared(shown, sum(len(part[0]) for part in self.parts), f"view {self.view}"))
