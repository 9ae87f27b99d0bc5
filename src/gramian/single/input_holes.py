"""NaN cells in the inputs of a model: filled at fit without sight of the target, averaged over their law after it [18]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian._arrays import Array, Kept, has_nan, is_sparse
from gramian._checks import check_seen, warn_of_empty_rows
from gramian._content import SmallestRows
from gramian.single.input_law import InputLaw

LAW_ROWS, LAW_CELLS = 500, 200_000
"""Training rows kept of a model that was fitted to complete ones, those of smallest hash, so that rows with holes have a law later."""


class InputHoles:
    """Inputs of which cells are missing.

    At fit a missing cell is its mean under the law of the inputs, which has not seen the target. Of a new row with holes the model tells the
    expectation of its answer over that law: by the linearity of kernel models in feature space, its answer to the mean embedding of the row.
    """

    _law: InputLaw
    _law_rows: tuple[Array, Array]
    _law_kept: Kept

    def _forget_law(self) -> None:
        for name in ("_law", "_law_rows", "_law_kept"):
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
