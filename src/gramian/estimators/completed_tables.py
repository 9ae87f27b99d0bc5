"""What LatentImputer makes of its numbers: tables in the container given, possible values, probabilities, intervals and draws."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype
from gramian._checks import check_count, check_flag, check_number, check_random_state, check_table
from gramian._content import row_hashes
from gramian._types import RandomState, Table
from gramian.estimators.ppca import PPCA
from gramian.exceptions import DataWarning, warn
from gramian.latent.missing import MissingFit
from gramian.tables.bounds import Bounds, check_bounds
from gramian.tables.chances import Chances
from gramian.tables.coding import probabilities
from gramian.tables.frames import as_table, chosen_columns, frame_of, like, with_columns
from gramian.tables.front_door import TakesFrames, filled_like, holes

EM_STEPS = 10
"""Of each draw of parameters, from the fitted ones: the weights of a bootstrap move them by a standard error, not farther."""
ROWS_PER_COLUMN, RICH_STEPS = 10, 100
"""With so many rows per column draws come from a model of all associations, after at most so many EM steps."""
HIDING_DRAWS, HIDDEN_SHARE = 2, 0.1
"""Draws of hidden cells on which probabilities of categories are calibrated, and the share of the cells that each hides."""


SETTLED = ("_of_frame", "_shown_columns", "_bounds", "_chances", "_indicated", "_fitted_rows")
"""What a fit keeps of the columns."""


def _knows_categories(self: Any) -> bool:
    return bool(self.categories_)


class CompletedTables(TakesFrames):
    """The outer shell of `LatentImputer`. A subclass has ``_scaled(X)``, ``_features(scaled)`` and ``_unscaled(features)``."""

    bounds: Any
    add_indicator: Any
    keep_empty_features: Any
    estimator_: Any
    std_scales_: Array
    _scaled: Any
    estimator: Any
    _unscaled: Any
    _features: Any
    _seen: Any
    _without_codes: Any
    _believable: Any
    _impute: Any
    _of_frame = False  # whether the rows of the fit were a data frame
    _shown_columns: Array | None = None  # the columns that show a value, by position, where some show none
    _bounds: Bounds | None = None
    _chances: dict[str, Chances] | None = None
    _indicated: Array | None = None
    _fitted_rows: tuple[int, int] = (0, 0)

    # ------------------------------------------------------------ at fit

    def _check_columns(self) -> None:
        check_bounds(self.bounds)
        check_flag("add_indicator", self.add_indicator)
        check_flag("keep_empty_features", self.keep_empty_features)

    def _settle_columns(self, X: Any, table: Array) -> Array:
        """Which columns take part and what values they may take; the table without those that show nothing."""
        self._of_frame = frame_of(X) is not None
        empty = np.flatnonzero(np.isnan(table).all(axis=0))
        if empty.size == table.shape[1]:
            raise ValueError(
                "All cells of X are missing: nothing to fit. Give at least one observed cell in every column."
            )
        missing = self._holes_of(X, table)
        self._indicated = np.flatnonzero(missing.any(axis=0)) if self.add_indicator else None
        if empty.size:
            names = self._feature_names
            told = ", ".join(repr(str(names[j])) if names is not None else str(j) for j in empty[:10])
            what = (
                "are filled with 0"
                if self.keep_empty_features
                else "are left out of the filled table (keep_empty_features=True keeps them)"
            )
            warn(f"X has no observed value in column(s) {told}, which {what}.", DataWarning)
            self._shown_columns = np.setdiff1d(np.arange(table.shape[1]), empty)
            table = table[:, self._shown_columns]
        if self._coding is None:
            names = range(self.n_features_in_) if self._feature_names is None else self._feature_names
            kept = names if self._shown_columns is None else [names[j] for j in self._shown_columns]
            numbers = dict(zip(kept, table.T))
        else:
            full = self._table(X)
            numbers = {
                name: full[name] for name, values in zip(self._coding.names, self._coding.categories) if not values
            }
        self._bounds = Bounds.of(list(numbers.values()), list(numbers), self.bounds)
        return table

    def _settle_chances(self, scaled: Array) -> None:
        """Probabilities of categories, calibrated on cells that models fitted without them were asked for."""
        self._fitted_rows = (len(scaled), _digest(scaled))
        scaled = self._believable(scaled)
        coding = self._coding
        if coding is None or not any(coding.categories):
            return
        rng = np.random.default_rng(self._fitted_rows[1])
        owner, groups = coding.owner, [j for j, values in enumerate(coding.categories) if values]
        raw: dict[int, list[Array]] = {j: [] for j in groups}
        codes: dict[int, list[Array]] = {j: [] for j in groups}
        for _ in range(HIDING_DRAWS):
            hidden = np.zeros(scaled.shape, dtype=bool)
            for j in groups:
                own = np.flatnonzero(owner == j)
                hidden[:, own] = ((rng.random(len(scaled)) < HIDDEN_SHARE) & ~np.isnan(scaled[:, own[0]]))[:, None]
            hidden[(hidden | np.isnan(scaled)).all(axis=1)] = False
            table = np.where(hidden, np.nan, scaled)
            if not hidden.any() or np.isnan(table).all(axis=0).any():
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all cells has said it
                filled = self._features(clone(self.estimator_).fit(table), table)[0]
            told, true = self._raw_chances(filled), self._raw_chances(scaled)
            for j in groups:
                rows = np.flatnonzero(hidden[:, owner == j][:, 0])
                raw[j].append(told[coding.names[j]][rows])
                codes[j].append(true[coding.names[j]][rows].argmax(axis=1))
        self._chances = {}
        plain = self._raw_chances(scaled)
        for j in groups:
            seen = ~np.isnan(scaled[:, owner == j][:, 0])
            shares = plain[coding.names[j]][seen].mean(axis=0)
            shares = (shares * seen.sum() + 0.5) / (seen.sum() + 0.5 * len(shares))
            said = np.concatenate(raw[j]) if raw[j] else np.empty((0, len(shares)))
            self._chances[coding.names[j]] = Chances.of(
                shares, said, np.concatenate(codes[j]) if codes[j] else np.empty(0, int)
            )

    def _raw_chances(self, features: Array) -> dict[str, Array]:
        assert self._coding is not None
        return self._coding.probabilities(self._unscaled(features))

    # ------------------------------------------------------------ rows and numbers

    def _checked_rows(self, X: Any) -> Array:
        table = check_table(self, X, reset=False, missing=True)
        return table if self._coding is not None else self._seen(table)

    def _rows_of(self, X: Any) -> Array:
        """The rows as the model sees them."""
        table = self._checked_rows(X)
        return table if self._shown_columns is None else table[:, self._shown_columns]

    def _holes_of(self, X: Any, table: Array) -> Array:
        """Which cells of X are missing, one column per column of X."""
        if self._coding is None:
            return np.isnan(table)
        full = self._table(X)
        return np.column_stack([holes(full[str(name)]) for name in self.feature_names_in_])

    def _completed(
        self, X: Any, table: Array, features: Array, texts: dict[str, Array] | None = None, rounded: Any = np.round
    ) -> Any:
        """X in its container with the holes filled by possible values; ``texts`` are categories that are settled already."""
        if self._coding is None:
            full = np.array(features, dtype=float_dtype(table))
            for j in range(full.shape[1]) if self._bounds is not None else ():
                at = np.isnan(table[:, j])
                full[at, j] = self._bounds.held(j, full[at, j], rounded)  # type: ignore[union-attr]
            if X is None or frame_of(X) is None:
                return self._with_empty(full)
            frame = self._without_codes(as_table(X))
            kept = range(len(frame.names)) if self._shown_columns is None else self._shown_columns
            columns = {frame.names[j]: full[:, k] for k, j in enumerate(kept)}
        else:
            frame, columns = self._table(X), self._filled_columns(features)
            numbers = [name for name, values in zip(self._coding.names, self._coding.categories) if not values]
            for j, name in enumerate(numbers) if self._bounds is not None else ():
                columns[name] = self._bounds.held(j, columns[name], rounded)  # type: ignore[union-attr]
            chances = self._calibrated(features) if texts is None else {}
            for name, values in zip(self._coding.names, self._coding.categories):
                if name in chances:
                    columns[name] = np.array(values, dtype=object)[chances[name].argmax(axis=1)]
            columns |= texts or {}
        empty = self._empty_columns(frame.names)
        for name in empty:
            columns[name] = np.zeros(frame.n_rows)
        out = filled_like(X, frame, columns, without=() if self.keep_empty_features else empty)
        return (
            out
            if self.keep_empty_features or not empty
            else chosen_columns(out, [n for n in frame.names if n not in empty])
        )

    def _spread_like(self, X: Any, std: Array) -> Any:
        """Standard deviations in the container of X, 0 where nothing was missing; a category's is the largest of its indicators."""
        if self._coding is not None:
            out = self._with_spread(X, std)
        elif self._shown_columns is None:
            return like(X, std)
        else:
            whole = np.zeros((len(std), self.n_features_in_), dtype=std.dtype)
            whole[:, self._shown_columns] = std
            out = like(X, whole)
        if self.keep_empty_features:
            return out
        if frame_of(X) is None:
            return std if self._coding is None else out
        names = [str(name) for name in as_table(X).names]
        empty = self._empty_columns(names)
        return chosen_columns(out, [name for name in names if name not in empty]) if empty else out

    def _empty_columns(self, names: list[str]) -> list[str]:
        """The columns that showed no value at fit."""
        if self._coding is not None:
            return [name for name in self._coding.empty if name in names]
        return (
            []
            if self._shown_columns is None
            else [names[j] for j in np.setdiff1d(np.arange(len(names)), self._shown_columns)]
        )

    def _with_empty(self, full: Array) -> Array:
        """Arrays of kept columns, with zeros for those that showed nothing where these are to be kept."""
        if self._shown_columns is None or not self.keep_empty_features:
            return full
        out = np.zeros((len(full), self.n_features_in_), dtype=full.dtype)
        out[:, self._shown_columns] = full
        return out

    def _with_indicators(self, X: Any, out: Any) -> Any:
        if self._indicated is None:
            return out
        flags = self._holes_of(X, self._checked_rows(X))[:, self._indicated]
        if frame_of(out) is None:
            return np.hstack([out, flags.astype(out.dtype)])
        return with_columns(out, dict(zip(self._indicator_names(), flags.T)))

    def _indicator_names(self) -> list[str]:
        names = self._input_names()
        return [f"missingindicator_{names[j]}" for j in (() if self._indicated is None else self._indicated)]

    def _input_names(self) -> list[str]:
        found = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if found is None else [str(name) for name in found]

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the columns of the filled table.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns, where the fit knew none; must be those of the fit otherwise.

        Returns
        -------
        ndarray of str

        References
        ----------
        [15] docs/theory.md, section 15: columns of their own law.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import LatentImputer
        >>> X = np.random.default_rng(0).standard_normal((30, 3))
        >>> X[0, 1] = np.nan
        >>> LatentImputer(add_indicator=True).fit(X).get_feature_names_out().tolist()
        ['x0', 'x1', 'x2', 'missingindicator_x1']
        """
        check_is_fitted(self)
        from sklearn.utils.validation import _check_feature_names_in

        names = [str(name) for name in _check_feature_names_in(self, input_features)]
        gone = () if self.keep_empty_features else self._empty_columns(names)
        indicators = [f"missingindicator_{names[j]}" for j in (() if self._indicated is None else self._indicated)]
        return np.array([name for name in names if name not in gone] + indicators, dtype=object)

    def _calibrated(self, features: Array) -> dict[str, Array]:
        """The probabilities of categories that features in the units of the coding stand for."""
        assert self._coding is not None
        raw = self._coding.probabilities(features)
        chances = self._chances or {}
        return {name: chances[name](told) if name in chances else told for name, told in raw.items()}

    # ------------------------------------------------------------ what users ask

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

        References
        ----------
        [15] docs/theory.md, section 15: columns of their own law.

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
            known = ", ".join(map(repr, self.categories_)) or "none"
            raise ValueError(
                f"column={column!r} is not a column of categories of the fitted frame (those are: {known}). Use impute(X, return_std=True) for numbers."
            )
        table, scaled = self._scaled(X)
        features = self._unscaled(self._features(self.estimator_, self._believable(scaled))[0])
        seen = ~holes(self._table(X)[column])
        chances = self._calibrated(features)[column]
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

    def interval(self, X: Table, level: float = 0.9) -> tuple[Any, Any]:
        """Lower and upper ends of what missing cells may be: possible values, calibrated on hidden cells; observed cells are their own ends.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        level : float in (0, 1), default=0.9
            The share of missing cells that lie inside.

        Returns
        -------
        (lower, upper), each in the container of X; a category is its most probable value in both

        References
        ----------
        [12] docs/theory.md, section 12: small samples.
        [15] docs/theory.md, section 15: columns of their own law.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import LatentImputer
        >>> rng = np.random.default_rng(0)
        >>> X = rng.poisson(np.exp(1 + rng.standard_normal((100, 1)) @ np.ones((1, 4)) / 2)).astype(float)
        >>> X[0, 0] = np.nan
        >>> lower, upper = LatentImputer().fit(X).interval(X)
        >>> bool(lower[0, 0] >= 0), float(upper[0, 0] % 1)
        (True, 0.0)
        """
        check_is_fitted(self)
        level = check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
        table = self._rows_of(X)
        filled, std = self._impute(X)
        reach = stats.norm.ppf((1 + level) / 2) * std
        texts = {}
        if self._coding is not None:
            chances = self._calibrated(filled)
            texts = {
                name: np.array(self.categories_[name], dtype=object)[told.argmax(axis=1)]
                for name, told in chances.items()
            }
        lower = self._completed(X, table, filled - reach, texts, np.floor)
        return lower, self._completed(X, table, filled + reach, texts, np.ceil)

    def draws(self, X: Table, m: int = 20, *, random_state: RandomState = None) -> list[Any]:
        """m completed tables, each from parameters of its own: for estimates that are to carry the uncertainty of the holes [16].

        The rows are weighted anew (exponential weights, a smooth bootstrap), the model takes a few EM steps from the fitted one, and
        what is missing is drawn. Fit the same analysis to every table, and `gramian.pool` the fits.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table of the fit; of other rows the parameters stay as they are, and the law is that of small samples.
        m : int, default=20
        random_state : None, int, Generator or RandomState

        Returns
        -------
        list of m tables in the container of X

        References
        ----------
        [16] docs/theory.md, section 16: multiple imputation.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import LatentImputer
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 4)) + 0.3 * rng.standard_normal((60, 4))
        >>> X[::5, 0] = np.nan
        >>> tables = LatentImputer().fit(X).draws(X, 3, random_state=0)
        >>> len(tables), bool(np.isnan(tables[0]).any()), bool((tables[0][0] == tables[1][0]).all())
        (3, False, False)
        """
        check_is_fitted(self)
        m = check_count("m", m, 1)
        rng = check_random_state(random_state)
        table, scaled = self._scaled(X)
        same = self._fitted_rows == (len(scaled), _digest(scaled))
        scaled = self._believable(scaled)
        model = self._rich_model(scaled) if same and np.isnan(scaled).any() else self.estimator_
        return [self._drawn_table(X, table, scaled, model, same, rng) for _ in range(m)]

    def _rich_model(self, scaled: Array) -> Any:
        """The model that draws come from: where rows are many, one that holds every association, as an analysis of the filled tables may ask for
        any of them and what is shrunk here is missed there; else the fitted one."""
        fitted, (n, d) = self.estimator_, scaled.shape
        if not isinstance(fitted, PPCA) or self.estimator is not None or n < ROWS_PER_COLUMN * d or d < 2:
            return fitted
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # exact structure, and steps that are enough
            return PPCA(d - 1, max_iter=RICH_STEPS).fit(scaled, sample_weight=getattr(self, "row_weights_", None))

    def _drawn_table(
        self, X: Any, table: Array, scaled: Array, model: Any, same: bool, rng: np.random.Generator
    ) -> Any:
        gaps = np.isnan(scaled)
        if gaps.any() and same:
            weights = getattr(self, "row_weights_", np.ones(len(scaled)))
            model = self._reweighted(model, scaled, weights * rng.standard_exponential(len(scaled)))
        filled, std = self._features(model, scaled)
        if isinstance(model, PPCA):
            drawn = model._drawn(scaled, 1, model._small_sample(), rng)[0]
        else:
            drawn = filled + std * rng.standard_normal(filled.shape)
        features = np.where(gaps, drawn if same else filled + (drawn - filled) * self.std_scales_, scaled)
        texts = {}
        if self._coding is not None:
            for name, chances in self._calibrated(self._unscaled(filled)).items():
                picked = (rng.random(len(chances))[:, None] > np.cumsum(chances, axis=1)).sum(axis=1)
                texts[name] = np.array(self.categories_[name], dtype=object)[np.minimum(picked, chances.shape[1] - 1)]
        return self._with_indicators(
            X, self._completed(X, table, np.where(np.isnan(table), self._unscaled(features), table), texts)
        )

    def _reweighted(self, fitted: Any, scaled: Array, weights: Array) -> Any:
        """The model a few steps from the fitted one, with these weights of rows."""
        model = clone(fitted).set_params(max_iter=EM_STEPS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is not to converge
            if not isinstance(model, PPCA):
                return model.fit(scaled, sample_weight=weights)
            model.set_params(n_components=int(fitted.n_components_))
            start = MissingFit(fitted.mean_, fitted.loadings_, fitted.noise_variance_, [], 0, True)
            return model._fit(scaled, weights, start if fitted.noise_variance_ > 0 else None)


def _digest(rows: Array) -> int:
    """A number that tells these rows, in this order, from others."""
    places = 2 * np.arange(len(rows), dtype=np.uint64) + 1
    with np.errstate(over="ignore"):
        return int(np.bitwise_xor.reduce(row_hashes(rows) * places)) >> 1 if len(rows) else 0
