"""Predictions of rows under any model: the output's columns, how they are computed, and their summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.io.table_model import TableModel

Columns = Callable[[Array, Any], list[Array]]
Summary = Callable[[dict[str, Array]], tuple[dict[str, Any], list[str]]]


def predictor(model: TableModel, view: str | None) -> tuple[list[str], Columns, Summary]:
    """What the model can predict of a row."""
    if view is not None and model.kind != "views":
        raise ValueError(f"--view is for models of views; this is a {model.kind} model.")
    makers: dict[str, Callable[[TableModel], tuple[list[str], Columns, Summary]]] = {
        "classifier": _classes,
        "mixture": _clusters,
        "kernel-mixture": _clusters,
        "regressor": _values,
        "views": lambda fitted: _view(fitted, view),
    }
    if model.kind not in makers:
        advice = "Use gramian forecast." if model.kind == "forecast" else "Use transform, score or impute."
        raise ValueError(f"a {model.kind} model predicts nothing of a row. {advice}")
    return makers[model.kind](model)


def _texts(values: Any) -> Array:
    column = np.empty(len(values), dtype=object)
    column[:] = [str(value) for value in values]
    return column


def _counted(name: str) -> Summary:
    def summary(columns: dict[str, Array]) -> tuple[dict[str, Any], list[str]]:
        labels, counts = np.unique(columns[name].astype(str), return_counts=True)
        found = {label: int(count) for label, count in zip(labels.tolist(), counts)}
        return {"counts": found}, [f"  {label}: {count}" for label, count in list(found.items())[:20]]

    return summary


def _classes(model: TableModel) -> tuple[list[str], Columns, Summary]:
    estimator = model.estimator
    name = model.preprocessing.target or "class"
    probabilities = [f"p({label})" for label in estimator.classes_]

    def columns(X: Array, _: Any) -> list[Array]:
        return [_texts(estimator.predict(X)), *estimator.predict_proba(X).T]

    return [name, *probabilities], columns, _counted(name)


def _clusters(model: TableModel) -> tuple[list[str], Columns, Summary]:
    estimator = model.estimator
    count = len(estimator.weights_)

    def columns(X: Array, _: Any) -> list[Array]:
        return [_texts(estimator.predict(X) + 1), *estimator.predict_proba(X).T]

    return ["cluster", *(f"p({k})" for k in range(1, count + 1))], columns, _counted("cluster")


def _values(model: TableModel) -> tuple[list[str], Columns, Summary]:
    estimator, prepare = model.estimator, model.preprocessing
    name = prepare.target or "prediction"

    def columns(X: Array, _: Any) -> list[Array]:
        mean, std = estimator.predict(X, return_std=True)
        return [np.ravel(mean) * prepare.target_scale + prepare.target_mean, np.ravel(std) * prepare.target_scale]

    def summary(columns: dict[str, Array]) -> tuple[dict[str, Any], list[str]]:
        facts = {"mean": float(columns[name].mean()), "mean std": float(columns[f"{name}_std"].mean())}
        return facts, [f"  {key}  {value:.4g}" for key, value in facts.items()]

    return [name, f"{name}_std"], columns, summary


def _view(model: TableModel, view: str | None) -> tuple[list[str], Columns, Summary]:
    estimator, prepare = model.estimator, model.preprocessing
    if view not in prepare.views:
        known = ", ".join(prepare.views)
        raise ValueError(
            f"--view {view}: the model has the views {known}." if view else f"--view is needed: one of {known}."
        )
    wanted = prepare.views[view]
    positions = sorted({int(prepare.owner[j]) for j in wanted})
    names = [prepare.names[position] for position in positions]

    def columns(X: Array, _: Any) -> list[Array]:
        given = {name: None if name == view else X[:, columns] for name, columns in prepare.views.items()}
        full = np.full(X.shape, np.nan)
        full[:, wanted] = estimator.predict_view(given, view)
        restored = prepare.columns(np.nan_to_num(full))
        return [restored[position] for position in positions]

    def summary(_: dict[str, Array]) -> tuple[dict[str, Any], list[str]]:
        return {"view": view, "columns": names}, [
            f"  view {view}: {', '.join(names[:10])}" + (", ..." if len(names) > 10 else "")
        ]

    return names, columns, summary
