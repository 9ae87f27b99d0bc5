"""NaN cells in the inputs of a model: filled at fit without sight of the target, averaged over their law after it [18]."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array, Kept, has_nan, is_sparse
from gramian._checks import check_seen, warn_of_empty_rows
from gramian._content import SmallestRows, row_hashes, smallest_distinct
from gramian.policy import LOOK
from gramian.single.input_law import InputLaw

LAW_ROWS, LAW_CELLS = 500, 200_000
"""Training rows kept of a model that was fitted to complete ones, those of smallest hash, so that rows with holes have a law later."""


class InputHoles:
    """Inputs of which cells are missing.

    At fit a missing cell is its mean under the law of the inputs, which has not seen the target. Of a new row with holes a model of complete rows tells
    the expectation of its answer over that law: by the linearity of kernel models in feature space, its answer to the mean embedding of the row. A model of
    rows with holes tells the same, or its answer to the row with its means, as at fit: whichever held-out rows prefer.
    """

    _law: Annotated[InputLaw, "maybe its d"]
    _law_rows: tuple[Array, Array]
    _law_kept: Kept
    _averages: bool = True  # answers over what a row may be; else they are those of its means

    def _forget_law(self) -> None:
        for name in ("_law", "_law_rows", "_law_kept", "_averages"):
            self.__dict__.pop(name, None)

    def _known_inputs(self, X: Any, weights: Array) -> tuple[Any, Array]:
        """Training inputs with their holes filled, and weights: 0 for rows that show nothing, which are dropped and said."""
        self._forget_law()
        if is_sparse(X) or not has_nan(X):
            return X, weights
        shown = ~np.isnan(X).all(axis=1)
        warn_of_empty_rows(int((~shown & (weights > 0)).sum()))
        weights = np.where(shown, weights, 0.0)
        kept = weights > 0
        check_seen(
            np.asarray(~np.isnan(X[kept]).all(axis=0)),
            getattr(self, "_feature_names", getattr(self, "feature_names_in_", None)),
        )
        self._law = InputLaw.of(X[kept], weights[kept])
        return self._law(X)[0].astype(X.dtype, copy=False), weights

    def _settle_answers(self, X: Array, y: Array, weights: Array, losses: Callable[[Any, Array, Array], Array]) -> None:
        """Whether new rows with holes are answered at their means or on average, by a third of the training rows and a model of the others: the better of the two.
        ``losses(model, X, y)`` has one per row."""
        if "_law" not in self.__dict__ or "_asked" in self.__dict__:
            return
        self._averages = False
        hashes = row_hashes(X)
        shown = (weights > 0) & ~np.isnan(X).all(axis=1)
        looked = shown & (hashes <= smallest_distinct(hashes[shown], LOOK.few)[-1])
        apart = hashes % LOOK.parts == 0
        held, kept = looked & apart & np.isnan(X).any(axis=1), looked & ~apart
        if held.sum() < LOOK.fewest:
            return
        part = clone(self)
        if not isinstance(vars(self).get("n_folds"), int | None):  # folds of all rows
            part.set_params(n_folds=LOOK.folds)
        part._asked = True
        totals = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to all rows has its say
            try:
                part.fit(X[kept], y[kept], sample_weight=weights[kept])
                for part._averages in (False, True):
                    totals.append(float(weights[held] @ losses(part, X[held], y[held])))
            except ValueError:  # too few rows of a class, say
                return
        self._averages = totals[1] < totals[0]

    def _remember_inputs(self, X: Any, weights: Array) -> None:
        """Rows for a law of complete inputs, which is made on first need."""
        if "_law" in self.__dict__ or is_sparse(X):
            return
        count = min(LAW_ROWS, LAW_CELLS // X.shape[1])
        if count >= 2:
            drawn = SmallestRows.of(np.asarray(X), weights, count)
            self._law_rows, self._law_kept = (drawn.rows, drawn.weights), Kept()

    def _input_law(self) -> InputLaw:
        if "_law" in self.__dict__:
            return self._law
        if "_law_rows" not in self.__dict__:
            raise ValueError(
                "X contains NaN, and this model keeps no rows to tell what a missing cell may be. Within gramian, LatentImputer fills the "
                "holes: make_pipeline(LatentImputer(), ...)."
            )
        rows, weights = self._law_rows
        return self._law_kept.get("law", lambda: InputLaw.of(np.asarray(rows, dtype=np.float64), weights))

    def _expected_answers(self, X: Array, answer: Callable[[Array], tuple[Array, ...]]) -> tuple[Array, ...]:
        """``answer(X)``: arrays with one row per row. Of rows with holes their expectation; of two arrays the second is a deviation.

        Deviations follow the law of total variance; where the training rows had holes too, those of held-out rows have counted them already.
        """
        if not has_nan(X):
            return answer(X)
        if not self._averages:
            return answer(self._input_law()(X)[0].astype(X.dtype, copy=False))
        holes = np.isnan(X).any(axis=1)
        draws = self._input_law().draws(X[holes]).astype(X.dtype, copy=False)
        parts = [
            part.reshape(len(draws), holes.sum(), *part.shape[1:]) for part in answer(draws.reshape(-1, X.shape[1]))
        ]
        expected = [parts[0].mean(axis=0)]
        if len(parts) > 1:
            spread = 0.0 if "_law" in self.__dict__ else parts[0].var(axis=0)
            expected.append(np.sqrt(np.square(parts[1]).mean(axis=0) + spread))
        if holes.all():
            return tuple(expected)
        found = []
        for part, whole in zip(expected, answer(X[~holes])):
            both = np.empty((len(X), *part.shape[1:]), dtype=whole.dtype)
            both[holes], both[~holes] = part, whole
            found.append(both)
        return tuple(found)


def label_losses(model: Any, X: Array, y: Array) -> Array:
    """- log p(label) of each row."""
    chances = model.predict_proba(X) @ (model.classes_[:, None] == y)
    return -np.log(np.maximum(np.diagonal(chances), np.finfo(float).tiny))


def squared_errors(model: Any, X: Array, y: Array) -> Array:
    """Of each row, over all targets."""
    return np.asarray(np.square(model.predict(X) - y).reshape(len(X), -1).mean(axis=1))
