"""The categories of a table that is filled: their probabilities, calibrated on hidden cells [15]."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._content import row_hashes, smallest_positions
from gramian._types import Table
from gramian.evidence.cells import hidden_cells
from gramian.filling.columns import FilledColumns, ShownRows
from gramian.policy import LOOK
from gramian.tables.chances import Chances
from gramian.tables.coding import probabilities
from gramian.tables.front_door import holes


def _knows_categories(self: Any) -> bool:
    return bool(self.categories_)


def refit(model: Any, table: Array) -> Any:
    """The same model of a table that is nearly that of ``model``: where it can, its EM begins there."""
    return model._refit(table) if hasattr(model, "_refit") else clone(model).fit(table)


class FilledCategories(FilledColumns):
    """A subclass has ``estimator_`` and ``_features(model, told)``."""

    estimator_: Any
    _features: Any
    _law: Any
    _least_std: Any
    std_scales_: Array
    _chances: dict[str, Chances] | None = None

    def _settle_chances(self, scaled: Array) -> None:
        """Probabilities of categories, calibrated on cells that models fitted without them were asked for."""
        coding = self._coding
        if coding is None or not any(coding.categories):
            return
        first = np.searchsorted(coding.owner, np.arange(len(coding.names)))
        hashes, owner = row_hashes(scaled), coding.owner
        groups = [j for j, values in enumerate(coding.categories) if values]
        codes = {j: each.argmax(axis=1) for j in groups for each in (coding.probabilities(scaled)[coding.names[j]],)}
        drawn = np.sort(smallest_positions(hashes, LOOK.rows))
        said: dict[int, list[tuple[Array, Array]]] = {j: [] for j in groups}

        def laws(model: Any, table: Array, j: int) -> Chances:
            rows, own = drawn[~np.isnan(table[drawn, first[j]])], owner == j
            nothing = np.full((1, table.shape[1]), np.nan)
            places = self._places(model, np.vstack([table[rows], nothing]), own)
            return Chances.of(*places, codes[j][rows], len(coding.categories[j]))

        for draw in range(LOOK.draws):
            # the features of a category are missing together; as no number is hidden beside them, a fifth may be
            hidden = hidden_cells(scaled[:, first], draw, hashes, 1 / LOOK.folds)
            hidden[:, [j for j, values in enumerate(coding.categories) if not values]] = False
            table = np.where(hidden[:, owner], np.nan, scaled)
            if not hidden.any() or np.isnan(table).all(axis=0).any():
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all cells has said it
                model = refit(self.estimator_, table)
                for j in groups:
                    rows = np.flatnonzero(hidden[:, j])
                    places = self._places(model, table[rows], owner == j)
                    said[j].append((laws(model, table, j).evidence(*places), codes[j][rows]))
        self._chances = {}
        for j in groups:
            found = laws(self.estimator_, scaled, j)
            if said[j]:
                found = found.held_to(*(np.concatenate(parts) for parts in zip(*said[j])))
            self._chances[coding.names[j]] = found

    def _chances_in(self, coding: Any, X: Array, features: Array, std: Array) -> dict[str, Array]:
        """The chances of the categories of a ``coding`` whose features X the model was fitted to as plain numbers."""
        self._coding = coding
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._settle_chances(self._told_of(X).scaled)
        return self._calibrated(features, std)

    def _places(self, model: Any, rows: Array, own: Array) -> tuple[Array, Array]:
        """What the rest of each row says of features, and the variance that it leaves open."""
        alone = np.where(own, np.nan, rows)
        places, std = self._features(model, ShownRows(alone, alone))
        std = np.maximum(std * self.std_scales_, self._least_std)
        return places[:, own], np.square(std[:, own]).sum(axis=1)

    def _calibrated(self, features: Array, std: Array) -> dict[str, Array]:
        """The probabilities of categories that features in the units of the coding, with their deviations, stand for."""
        assert self._coding is not None
        found = {}
        for name, law in (self._chances or {}).items():
            own = self._coding.owner == self._coding.names.index(name)
            found[name] = law(features[:, own], np.square(std[:, own]).sum(axis=1))
        return found

    def _likeliest(self, features: Array, std: Array) -> dict[str, Array]:
        """The most probable categories."""
        chances = {} if self._coding is None else self._calibrated(features, std)
        values = self.categories_
        return {name: np.array(values[name], dtype=object)[each.argmax(axis=1)] for name, each in chances.items()}

    @property
    def categories_(self) -> dict[str, list[str]]:
        """The values of each column of categories, in the order of `predict_proba`."""
        if self._coding is None:
            return {}
        return {name: list(values) for name, values in zip(self._coding.names, self._coding.categories) if values}

    @available_if(_knows_categories)
    def predict_proba(self, X: Table, column: str) -> Array:
        """The probability of each value of a column of categories, given the rest of each row; calibrated on hidden cells [15].

        Parameters
        ----------
        X : data frame
            Rows, with the columns of `fit`.
        column : str
            A column of categories, texts or booleans.

        Returns
        -------
        ndarray of shape (n_samples, n_values)
            In the order of ``categories_[column]``; 0 and 1 where the cell was observed.

        Examples
        --------
        >>> import pandas as pd
        >>> from gramian import LatentImputer
        >>> size = [1.0, 1.2, 0.9, 5.0, 5.1, 4.8] * 10
        >>> frame = pd.DataFrame({"size": size, "kind": (["cat"] * 3 + ["dog"] * 3) * 10})
        >>> frame.loc[0, "kind"] = None
        >>> model = LatentImputer().fit(frame)
        >>> model.categories_["kind"], bool(model.predict_proba(frame, "kind")[0, 0] > 0.8)
        (['cat', 'dog'], True)
        """
        check_is_fitted(self)
        if column not in self.categories_:
            listed = ", ".join(map(repr, self.categories_)) or "none"
            raise ValueError(
                f"column={column!r} is not a column of categories of the fitted frame (those are: {listed}). Use impute(X, return_std=True) for numbers."
            )
        told = self._told(X)
        table, (features, std) = told.table, self._law(told)
        margins = self._margins_of_law(told)
        features = features if margins is None else margins.back(features)
        seen = ~holes(self._table(X)[column])
        chances = self._calibrated(features, std)[column]
        assert self._coding is not None
        own = np.flatnonzero(self._coding.owner == self._coding.names.index(column))
        known = ~np.isnan(table[:, own[0]])
        exact = probabilities(
            self._coding.restore(np.nan_to_num(table))[:, own],
            chances.shape[1],
            self._coding.codings[self._coding.names.index(column)],
        )
        sure = np.zeros_like(chances)
        sure[np.arange(len(sure)), exact.argmax(axis=1)] = 1.0
        return np.where((seen & known)[:, None], sure, chances)
