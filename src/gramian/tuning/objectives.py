"""What a search maximises: scores on rows that the model has not seen, chosen so that copying or smoothing cannot win.

Every objective is called as scikit-learn's scorers are, ``objective(model, X, y)``, with a model fitted on other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score
from sklearn.pipeline import Pipeline

from gramian._arrays import Array
from gramian._types import Table
from gramian.policy import DEFAULTS, LOOK

Objective = Callable[[Any, Any, Any], float]


def reconstruction(model: BaseEstimator, X: Table, y: object = None) -> float:
    """Minus the mean squared error with which held-out inputs are reconstructed.

    Models that take missing values (PPCA, its mixture, LatentImputer) are asked for cells of the held-out rows that were
    hidden from them: shown whole, a linear model with q = d copies its input and scores a perfect 0. Models of several views
    are asked for each view from the others, in units of its variance (with one view only: `denoising`). Models that map whole inputs back through a
    pre-image (also where they take missing values) are shown the whole row and judged in input space.
    """
    model, X = _final(model, X)
    if hasattr(model, "predict_view"):
        return _hidden_views(model, X) if len(model.view_names_) > 1 else denoising(model, X)
    table = _table(X)
    if _fills(model) or (hasattr(model, "impute") and not hasattr(model, "preimage")):
        return _hidden_cells(model, table)
    if not hasattr(model, "reconstruct"):
        raise ValueError(
            f'scoring="reconstruction" needs a model with reconstruct, impute or predict_view; {type(model).__name__} has none.'
        )
    return -float(np.mean((table - np.asarray(model.reconstruct(X))) ** 2))


def denoising(model: BaseEstimator, X: Table, y: object = None) -> float:
    """Minus the squared error of held-out rows reconstructed after noise was added to them, over their variance.

    The noise has half the standard deviation of each column, and the target is the clean row: copying the input earns -0.25
    and only structure earns more. The objective to compare a linear kernel with others by, or to choose q of any kernel.
    """
    model, X = _final(model, X)
    table = _table(X)
    spread = table.std(axis=0)
    if not spread.any():
        raise ValueError(
            'scoring="denoising": the held-out rows are all equal. Use fewer folds (cv) or another objective.'
        )
    noisy = table + LOOK.noise * spread * np.random.default_rng(0).standard_normal(table.shape)
    errors = ((table - np.asarray(model.reconstruct(noisy))) ** 2).mean(axis=0)
    return -float(errors.sum() / (spread**2).sum())


def log_likelihood(model: BaseEstimator, X: Table, y: object = None) -> float:
    """Mean log-density of the held-out rows [2]. Likelihoods of different kernels do not compare."""
    model, X = _final(model, X)
    return float(np.mean(model.score_samples(X)))


def kernel_error(model: BaseEstimator, X: Table, y: object = None) -> float:
    """How much more of scrambled held-out rows than of the true ones is left outside the principal subspace.

    With e = Σ residual / Σ ‖φ(y) - μ‖² over held-out rows, and e° the same after every column was shuffled among these rows
    (the margins stay, what links the columns goes), the score is e° - e, between -1 and 1. The plain error alone is won by a
    width so large that every kernel is linear, or by q = N - 1; these lose here, as they fit scrambled rows just as well.
    """
    model, X = _final(model, X)
    table = _table(X)
    if getattr(model, "kernel", None) == "precomputed":
        raise ValueError('scoring="kernel_error" scrambles columns and so needs inputs, not a precomputed kernel.')
    rng = np.random.default_rng(0)
    scrambled = np.column_stack([rng.permutation(column) for column in table.T])
    return _left_over(model, scrambled) - _left_over(model, table)


def _left_over(model: BaseEstimator, X: Array) -> float:
    residual = np.maximum(model.residual(X), 0.0).sum()
    total = residual + (np.asarray(model.scores(X)) ** 2).sum()
    return float(residual / total) if total > 0 else 0.0


def accuracy(model: BaseEstimator, X: Table, y: object) -> float:
    """Share of the held-out rows whose class is predicted."""
    return float(accuracy_score(y, model.predict(X)))


def forecast(model: BaseEstimator, X: Table, y: object = None) -> float:
    """Minus the mean squared error of the held-out stretch that follows the training series, all steps forecast at once."""
    truth = np.asarray(X, dtype=float)
    answer = _reshape(_predict(model, "predict", len(truth), y), truth)
    seen = np.isfinite(truth)
    if not seen.any():
        raise ValueError("a held-out stretch of the series has no observed value. Use fewer or longer folds (cv).")
    return -float(np.mean((truth[seen] - answer[seen]) ** 2))


def interval_score(model: BaseEstimator, X: Table, y: object = None) -> float:
    """Minus the mean interval score of 90 % intervals on held-out targets.

    With α = 0.1: (u - l) + 2/α (l - y)₊ + 2/α (y - u)₊ (Gneiting & Raftery 2007). It is proper: neither wider nor narrower
    intervals than the truth's can win.
    """
    if hasattr(model, "predict_interval"):
        truth = np.asarray(X, dtype=float)
        lower, upper = (
            _reshape(end, truth) for end in _predict(model, "predict_interval", len(truth), y, level=DEFAULTS.cover)
        )
    else:
        from scipy.special import ndtri

        truth = np.asarray(y, dtype=float)
        mean, std = model.predict(X, return_std=True)
        half = ndtri(0.5 + DEFAULTS.cover / 2.0) * _reshape(std, truth)
        lower, upper = _reshape(mean, truth) - half, _reshape(mean, truth) + half
    seen = np.isfinite(truth)
    truth, lower, upper = truth[seen], lower[seen], upper[seen]
    outside = np.maximum(lower - truth, 0.0) + np.maximum(truth - upper, 0.0)
    return -float(np.mean(upper - lower + 2.0 / (1.0 - DEFAULTS.cover) * outside))


OBJECTIVES: dict[str, Objective] = {
    "reconstruction": reconstruction,
    "log_likelihood": log_likelihood,
    "kernel_error": kernel_error,
    "forecast": forecast,
    "accuracy": accuracy,
    "interval_score": interval_score,
    "denoising": denoising,
}


# ---------------------------------------------------------------- details


def _final(model: BaseEstimator, X: Table) -> tuple[Any, Any]:
    """The last step of a pipeline and what reaches it."""
    if isinstance(model, Pipeline):
        return model.steps[-1][1], model[:-1].transform(X) if len(model) > 1 else X
    return model, X


def _table(X: Table) -> Array:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)


def _fills(model: BaseEstimator) -> bool:
    return any(base.__name__ == "LatentImputer" for base in type(model).__mro__)


def hidden_mask(table: Array, share: float = 0.2) -> Array:
    """Which observed cells to hide: a fixed random share, and always at least one of each row that has two."""
    rng = np.random.default_rng(0)
    seen = np.isfinite(table)
    draw = np.where(seen, rng.random(table.shape), np.inf)
    count = np.where(seen.sum(axis=1) > 1, np.maximum(1, np.rint(share * seen.sum(axis=1))), 0)
    rank = np.argsort(np.argsort(draw, axis=1, kind="stable"), axis=1, kind="stable")
    return seen & (rank < count[:, None])


def _hidden_cells(model: BaseEstimator, table: Array) -> float:
    hidden = hidden_mask(table)
    if not hidden.any():
        raise ValueError(
            'scoring="reconstruction" hides cells of the held-out rows and needs rows with two observed cells or more.'
        )
    holes = np.where(hidden, np.nan, table)
    filled = np.asarray(model.transform(holes) if _fills(model) else model.impute(holes))
    return -float(np.mean((table[hidden] - filled[hidden]) ** 2))


def _hidden_views(model: BaseEstimator, X: Table) -> float:
    """Minus the error of every view predicted from the others, over the view's variance, averaged over views."""
    shown = model._rows(X)
    errors = []
    for position, (name, view) in enumerate(zip(model.view_names_, shown.views)):
        rows = shown.whole(position) & (shown.seen.sum(axis=1) > 1)
        if view is None or not rows.any():
            continue
        truth = np.asarray(view, dtype=float)[rows]
        spread = truth.var(axis=0).sum()
        if spread > 0:
            guess = np.asarray(model.predict_view(X, name))[rows]
            errors.append(float(((truth - guess) ** 2).mean(axis=0).sum() / spread))
    if not errors:
        raise ValueError(
            'scoring="reconstruction" predicts views from each other, and no held-out row shows two that vary.'
        )
    return -float(np.mean(errors))


def _predict(model: BaseEstimator, method: str, steps: int, exogenous: Any, **options: Any) -> Any:
    call = getattr(model, method)
    return call(steps, **options) if exogenous is None else call(steps, X=exogenous, **options)


def _reshape(values: Any, like: Array) -> Array:
    return np.asarray(values, dtype=float).reshape(like.shape)
