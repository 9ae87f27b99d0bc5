"""How good a model is on rows that it has not seen: fitted again without some of them, with the same settings.

Which rows are held out follows from what they hold, never from their order. What is chosen by the model ("auto") is chosen
again without the rows held out, except for the number of clusters and of latent dimensions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone

from gramian._arrays import Array
from gramian._content import row_hashes, smallest_positions
from gramian.cli._goodness import Facts, of_classes, of_values, share_inside
from gramian.evidence.cells import hidden_cells
from gramian.evidence.held_out import HeldOut
from gramian.exceptions import NumericalWarning
from gramian.policy import DEFAULTS, LOOK
from gramian.tables.preprocessing import Preprocessing

ALL_FOLDS_CELLS = 50_000
"""A linear model of more cells is judged on one fold."""


def held_out(kind: str, estimator: Any, X: Array, y: Array | None, prepare: Preprocessing) -> Facts:
    """Numbers about a fitted model on rows, or a stretch, that models like it have not seen; none where there are too few."""
    if kind not in JUDGES or len(X) < LOOK.fewest:
        return {}
    if len(X) > LOOK.rows and kind != "forecast":
        rows = np.sort(smallest_positions(row_hashes(X), LOOK.rows))
        X, y = X[rows], None if y is None else y[rows]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to all rows has said what there is to say
            found = JUDGES[kind](estimator, X, y, prepare)
    except ValueError:  # what is left is too small for the model
        return {}
    return {f"held-out {name}": value for name, value in found.items() if np.isfinite(value)}


def splits(X: Array, most: int = LOOK.folds) -> Iterator[tuple[Array, Array]]:
    """Positions of the rows to fit, and of those held out, fold by fold."""
    held_out = HeldOut.of(X)
    if not held_out:
        raise ValueError("too few different rows to hold some out.")
    for part in islice(held_out, most):
        yield part.kept, part.held


def _refit(estimator: Any, X: Array, y: Array | None = None) -> Any:
    """A model like it, fitted to these rows: nothing of the rows held out is seen."""
    model = clone(estimator)
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=".*show no value", category=NumericalWarning
        )  # said by the fit to all rows
        return model.fit(X) if y is None else model.fit(X, y)


def _classes(estimator: Any, X: Array, y: Array | None, _: Preprocessing) -> Facts:
    assert y is not None
    labels = np.unique(y)
    chances = np.zeros((len(X), len(labels)))
    for fit, held in splits(X):
        model = _refit(estimator, X[fit], y[fit])
        chances[np.ix_(held, np.searchsorted(labels, model.classes_))] = model.predict_proba(X[held])
    return of_classes(y, labels, chances, DEFAULTS.cover)


def _values(estimator: Any, X: Array, y: Array | None, prepare: Preprocessing) -> Facts:
    assert y is not None
    mean, lower, upper = np.empty((3, len(X)))
    for fit, held in splits(X):
        model = _refit(estimator, X[fit], y[fit])
        rows = X[held]
        mean[held] = np.ravel(model.predict(rows))
        lower[held], upper[held] = (np.ravel(end) for end in model.interval(rows, DEFAULTS.cover))
    unit, shift = prepare.target_scale, prepare.target_mean
    return of_values(shift + unit * y, shift + unit * mean, shift + unit * lower, shift + unit * upper, DEFAULTS.cover)


def _clusters(estimator: Any, X: Array, _: Any, __: Any) -> Facts:
    """The mean log-likelihood of held-out rows, beside that of one cluster."""
    found, single = np.empty(len(X)), np.empty(len(X))
    guesses = _Guesses()
    for fit, held in splits(X):
        model = _refit(clone(estimator).set_params(n_clusters=len(estimator.weights_)), X[fit])
        one = _refit(clone(estimator).set_params(n_clusters=1), X[fit])
        found[held], single[held] = model.score_samples(X[held]), one.score_samples(X[held])
        guesses.add(model, X[held])
    return {
        "log-likelihood": float(found.mean()),
        "log-likelihood of one cluster": float(single.mean()),
        **guesses.facts,
    }


def _subspace(estimator: Any, X: Array, _: Any, __: Any) -> Facts:
    """Cells of rows that the model has not seen, guessed from the others of their rows; one fold of a large table."""
    guesses = _Guesses()
    for fit, held in splits(X, LOOK.folds if X.size <= ALL_FOLDS_CELLS else 1):
        model = clone(estimator).set_params(n_components=int(estimator.n_components_)).fit(X[fit])
        guesses.add(model, X[held])
    return guesses.facts


def _kernel(estimator: Any, X: Array, _: Any, __: Any) -> Facts:
    """One fold: how much of held-out rows comes back when they are mapped to latent coordinates and back."""
    fit, held = next(splits(X, 1))
    model = _refit(clone(estimator).set_params(n_components=int(estimator.n_components_)), X[fit])
    lost = np.nansum((X[held] - model.reconstruct(X[held])) ** 2)  # cells that are seen alone are compared
    return {"R2 of reconstruction": 1 - float(lost / np.nansum((X[held] - np.nanmean(X[fit], axis=0)) ** 2))}


class _Guesses:
    """Cells of held-out rows, hidden and imputed."""

    def __init__(self) -> None:
        self.parts: list[tuple[Array, Array, Array]] = []

    def add(self, model: Any, rows: Array) -> None:
        if not hasattr(model, "impute"):
            return
        hidden = hidden_cells(rows, 0)
        if hidden.any():
            full, std = model.impute(np.where(hidden, np.nan, rows), return_std=True)
            self.parts.append((rows[hidden], np.asarray(full)[hidden], np.asarray(std)[hidden]))

    @property
    def facts(self) -> Facts:
        if not self.parts:
            return {}
        truth, mean, std = (np.concatenate(part) for part in zip(*self.parts))
        wide = ndtri(0.5 + DEFAULTS.cover / 2) * std
        found = of_values(truth, mean, mean - wide, mean + wide, DEFAULTS.cover)
        return (
            {"R2 of hidden cells": found["R2"], share_inside(DEFAULTS.cover): found[share_inside(DEFAULTS.cover)]}
            if found
            else {}
        )


def _views(estimator: Any, X: Array, _: Any, prepare: Preprocessing) -> Facts:
    """Each view from the others."""
    mean, std = np.full(X.shape, np.nan), np.full(X.shape, np.nan)
    for fit, held in splits(X):
        model = clone(estimator).set_params(n_components=int(estimator.n_components_)).fit(X[fit])
        rows = X[held]
        for view, columns in prepare.views.items():
            given = {name: None if name == view else rows[:, own] for name, own in prepare.views.items()}
            place = np.ix_(held, np.array(columns))
            mean[place], std[place] = model.predict_view(given, view, return_std=True)
    wide = ndtri(0.5 + DEFAULTS.cover / 2) * std
    facts: Facts = {}
    for view, columns in prepare.views.items():
        truth, middle, half = (np.ravel(part[:, columns]) for part in (X, mean, wide))
        found = of_values(truth, middle, middle - half, middle + half, DEFAULTS.cover)
        facts |= {f"{key} of {view}": value for key, value in found.items() if "error" not in key}
    return facts


def _stretches(estimator: Any, X: Array, _: Any, __: Any) -> Facts:
    """The error as a share of the better naive one, as the fit found it, and the coverage of the last stretches."""
    skill = getattr(estimator, "skill_", None) or {}
    facts: Facts = {}
    naive = min((skill[name] for name in ("naive", "seasonal naive") if skill.get(name)), default=0.0)
    if naive > 0:
        facts["share of the best naive error"] = skill["error"] / naive
    ahead = max(1, min(12, len(X) // 10))
    settled = {name: getattr(estimator, f"{name}_", None) for name in ("lags", "season", "difference", "transform")}
    if not settled["lags"] or any(isinstance(value, list | tuple) for value in settled.values()):
        settled = {}  # no single setting to fix: chosen again
    inside: list[Array] = []
    # Stretches at the end of a series that are forecast from what is before them.
    for k in range(2, 0, -1):
        origin = len(X) - k * ahead
        past, future = X[:origin], X[origin : origin + ahead]
        model = clone(estimator).set_params(**settled).fit(past[:, 0] if X.shape[1] == 1 else past)
        lower, upper = (np.reshape(end, (ahead, -1)) for end in model.predict_interval(ahead, level=DEFAULTS.cover))
        known = ~np.isnan(future)
        inside.append(((lower <= future) & (future <= upper))[known])
    hits = np.concatenate(inside)
    return {**facts, share_inside(DEFAULTS.cover): float(hits.mean())} if hits.size else facts


JUDGES: dict[str, Callable[[Any, Array, Array | None, Preprocessing], Facts]] = {
    "ppca": _subspace,
    "kernel": _kernel,
    "mixture": _clusters,
    "kernel-mixture": _clusters,
    "classifier": _classes,
    "regressor": _values,
    "views": _views,
    "forecast": _stretches,
}
