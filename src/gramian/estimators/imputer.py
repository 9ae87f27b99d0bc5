"""LatentImputer fills the holes of a table, with any model that can."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_table,
    check_weights,
    is_auto,
    positive_rows,
    shown_rows,
)
from gramian._content import row_hashes
from gramian._types import Batches, Table, Weights
from gramian.estimators.completed_tables import SETTLED, CompletedTables
from gramian.estimators.imputer_family import choose_family
from gramian.estimators.ppca import PPCA
from gramian.evidence.cell_scales import column_scales, corrected_deviations
from gramian.evidence.cells import (
    MOST_ROWS,
    N_DRAWS,
    CellChoice,
    HiddenPredictions,
    choose_by_cells,
    choose_noise_by_cells,
    hidden_cells,
)
from gramian.evidence.robustness import Robust, Trial, check_robust
from gramian.exceptions import NumericalWarning
from gramian.latent.gaussian import NoiseAboveError
from gramian.latent.missing import MissingFit, fit_missing
from gramian.latent.units import Units
from gramian.latent.wild_cells import THRESHOLD, column_thresholds, first_flags
from gramian.rows import BatchRows, Rows, as_rows, is_dask, lazily
from gramian.rows.converted import rows_in_units
from gramian.rows.draws import smallest_rows
from gramian.single.answers import BaseEstimator, atomic, forget, keep_columns
from gramian.single.hole_fit import takes_holes
from gramian.single.standardizing import check_standardize, standardizes
from gramian.tables.codes import Code, check_keep_codes, find_codes, warn_of_codes, without_codes

LEAST_STD = 1e-3
"""No standard deviation below this share of its column's is believed: what looks like exact structure may be rounding in the table."""
MOST_WORK = 3e7
"""Rows times columns times components up to which the noise is chosen, with the components that stand out of it; beyond, q, which costs less."""
MANY_CELLS = 0.01
"""Where a larger share of the cells turns out to be wild, noise and q are chosen again without them."""
REFITS = 2
"""Draws of hidden cells on which an estimator other than PPCA is fitted again, to calibrate its standard deviations."""


class LatentImputer(CompletedTables, TransformerMixin, BaseEstimator):
    """Fills missing entries with their expectation given the observed ones, as a transformer for pipelines [5].

    Columns are brought to unit variance, and the noise is chosen on cells that are hidden from the model, by how well those are filled: the
    components that stand out of it are kept. None at all is a candidate; then entries are filled with column means. Standard deviations
    are held to what they promise on hidden cells.

    Parameters
    ----------
    estimator : "auto" or object with ``fit`` and ``impute`` (or ``reconstruct``), default=None
        None is ``PPCA()`` with a noise and a number of components (0 too) that hidden cells prefer. `PPCAMixture`, `KernelPPCA` and `MultiViewRKM` work as well.
        "auto": PPCA, mixtures of 3 and 6, and `KernelPPCA` fill hidden cells of at most 400 rows, three times; PPCA stays unless another is
        better by more than a standard error. Tables of more than 2,000 rows or 200 columns, Dask and batches are PPCA's [18].
    standardize : bool or "auto", default="auto"
        Columns to unit variance on the way in, undone on the way out. "auto": yes, unless a kernel of the estimator is told in units of
        the data.
    n_folds : int or None, default=5
        Draws of hidden cells for the choice and the calibration. None: standard deviations as the model gives them.
    robust : False, "rows", "cells" or "auto", default="auto"
        "cells": cells that the others of their row contradict are not believed, at fit and when cells are filled; observed cells stay as
        they are. "rows": rows count by their weight in a multivariate t. "auto": one of these, or neither, by hidden cells [14]. Only where
        the estimator is PPCA and rows are in memory; other estimators have a ``robust`` of their own.
    keep_codes : list of float, optional
        Numbers such as -999 or 99 that stand far from all others of their column and repeat are taken as missing, with a `DataWarning`, unless
        they are given here. Rows in memory only.
    bounds : "auto", None or dict, default="auto"
        What values may be filled in. "auto": what the columns show (whole numbers, no negative values, shares between 0 and 1); a dict
        column -> (low, high) with None for no end; None: any.
    add_indicator : bool, default=False
        Whether columns that say where cells were missing are added, as in scikit-learn's imputers.
    keep_empty_features : bool, default=False
        Whether columns without any value at fit are kept and filled with 0, as in scikit-learn's imputers.

    Attributes
    ----------
    estimator_ : the fitted model, in the units of the columns
    selection_ : Selection
        What was tried on hidden cells; only where q was "auto". Candidates are numbers of components, or
        ``{"n_components", "noise_variance"}`` in units of the columns.
    model_selection_ : Selection
        With ``estimator="auto"``: how the models did on hidden cells. Where PPCA lost, `selection_` is the same.
    std_scales_ : ndarray of shape (n_features,)
        By how much the model's standard deviations are multiplied.
    codes_ : list of Code
        Numbers taken for codes of missing, with ``value``, ``count`` and ``columns``.
    robust_ : False, "cells" or "rows"
        What was taken; this and the following only where ``robust`` is not False.
    flags_ : ndarray of bool of shape (n_samples, n_features)
        Cells taken as holes at fit.
    row_weights_ : ndarray of shape (n_samples,)
        How much each row counted; ones unless "rows" was taken.
    degrees_of_freedom_ : float
        Of the t; only for "rows".

    References
    ----------
    [5], [10], [12], [14], [18] docs/theory.md, sections of these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from gramian import LatentImputer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 5)) + 0.1 * rng.standard_normal((80, 5))
    >>> y = X.sum(axis=1)
    >>> X[rng.random(X.shape) < 0.1] = np.nan
    >>> make_pipeline(LatentImputer(), Ridge()).fit(X, y).score(X, y) > 0.9
    True
    """

    _units: Units | None
    _spreads: Array  # the deviation of each column
    codes_: list[Code] = []  # noqa: RUF012 (of models fitted to batches)

    def __init__(
        self,
        estimator: Any = None,
        *,
        standardize: bool | str = "auto",
        n_folds: Any = 5,
        robust: bool | str = "auto",
        keep_codes: Any = None,
        bounds: Any = "auto",
        add_indicator: bool = False,
        keep_empty_features: bool = False,
    ) -> None:
        self.estimator = estimator
        self.standardize = standardize
        self.n_folds = n_folds
        self.robust = robust
        self.keep_codes = keep_codes
        self.bounds = bounds
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, X: Table, y: object = None, sample_weight: Weights = None) -> LatentImputer:
        """Fit the model to the observed entries of X.

        Parameters
        ----------
        X : array-like, data frame or Dask collection of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.

        Returns
        -------
        LatentImputer

        References
        ----------
        [5] docs/theory.md, section 5: EM.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentImputer, PPCA
        >>> from gramian.datasets import make_missing
        >>> X = make_missing(load_iris().data, 0.1, random_state=0)
        >>> model = LatentImputer(PPCA(n_components=2))
        >>> model.fit(X).transform(X).shape
        (150, 4)
        """
        model = self._checked()
        forget(self, "_units", "_spreads", "_threshold", "_wild_model", *SETTLED)
        if is_dask(X):
            return self._fit_rows(model, as_rows(X, sample_weight))
        whole = check_table(self, X, reset=True, missing=True, min_samples=2)
        if self._coding is None:
            whole = self._seen(whole, reset=True)
        whole = self._settle_columns(X, whole)
        given_weights = check_weights(sample_weight, whole)
        table, weights = shown_rows(*positive_rows(whole, given_weights))
        if isinstance(model, PPCA):
            self._fit_ppca(model, table, weights)
            self._keep_beliefs((given_weights > 0) & ~np.isnan(whole).all(axis=1))
        else:
            scaled = self._in_units(model, table, weights)
            given = {} if sample_weight is None else {"sample_weight": weights}
            self.estimator_ = model.fit(scaled, **given)
            self._calibrate_by_refits(model, scaled, weights, given)
        self._settle_chances(whole if self._units is None else self._units.into(whole))
        return self

    def _fit_ppca(self, model: PPCA, table: Array, weights: Array) -> None:
        """The fit to floats with NaN in the holes, every row with a weight and a cell."""
        found, settled = None, None
        if self.robust is not False and takes_holes(model.n_components):
            found, settled = self._believed(model, table, weights)
            if found.kind == "cells":
                table = np.where(found.flags, np.nan, table)
            elif found.kind == "rows":
                weights = weights * found.row_weights
            self._threshold = found.threshold
            self.robust_, self.flags_, self.row_weights_ = found.kind, found.flags, found.row_weights
            if found.degrees_of_freedom is not None:
                self.degrees_of_freedom_ = found.degrees_of_freedom
        if (
            found is not None and found.kind == "rows"
        ):  # in the units of the trial: weights may leave a column without spread
            scaled = table if self._units is None else self._units.into(table)
        else:
            scaled = self._in_units(model, table, weights)
        model, choice = self._with_q(model, scaled, weights) if settled is None else settled
        with _unasked(choice):
            self.estimator_ = _above_noise(model, choice, lambda it: it._fit(scaled, weights, self._begun(choice)))
        said = None if choice is None else choice.said(choice.selection.chosen)
        self._calibrate(said if found is None or found.predictions is None else found.predictions, scaled)
        if is_auto(self.estimator):
            self._take_best_family(model, choice, scaled, weights)

    def _take_best_family(self, model: PPCA, choice: CellChoice | None, scaled: Array, weights: Array) -> None:
        """A mixture or a kernel model in the place of PPCA, where hidden cells prefer it; which cells are not believed, PPCA goes on to say."""

        def linear(table: Array, raw: Array) -> PPCA:
            return _above_noise(clone(model), choice, lambda it: it._fit(table, raw, self._begun(choice)))

        least = LEAST_STD * (1.0 if self._units is not None else self._spreads)
        family = choose_family(linear, _filled, scaled, weights, least)
        if family is None:
            return
        self.model_selection_ = family.selection
        if family.model is not None:
            self._wild_model = self.estimator_
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # of clusters started again, say: nobody asked for this model, and hidden cells judge it
                self.estimator_ = family.model.fit(scaled, sample_weight=weights)
            self.std_scales_ = np.ones(scaled.shape[1]) if self.n_folds is None else family.scales
            self.selection_ = family.selection

    def _believed(
        self, model: PPCA, table: Array, weights: Array
    ) -> tuple[Robust, tuple[PPCA, CellChoice | None] | None]:
        """Which cells and rows are believed, and what was settled on the way, where it still holds."""
        first, kind = first_flags(table, weights, column_thresholds(table, THRESHOLD)), str(self.robust)
        for _ in range(2):
            scaled = self._in_units(model, np.where(first, np.nan, table), weights)
            settled = self._with_q(model, scaled, weights)
            whole = table if self._units is None else self._units.into(table)
            found = self._trial(*settled, whole, weights, first).chosen(kind)
            if found.kind != "cells" or (found.flags != first).mean() <= MANY_CELLS:
                break
            first, kind = found.flags, "cells"  # so many cells were wild that what was settled beside them may be wrong
        holds = found.kind is not False or not first.any()
        return found, settled if holds else None

    def _trial(self, model: PPCA, choice: CellChoice | None, X: Array, weights: Array, first: Array) -> Trial:
        """The trial of wild cells, with the models of what was settled."""
        noise = model.noise_variance
        fixed = None if isinstance(noise, str) or noise == 0 else float(noise)
        start, models = None, []
        if choice is not None:
            start, models = choice.start(choice.selection.chosen), choice.models_of(choice.selection.chosen)
        if start is None:
            shown = np.where(first, np.nan, X)
            q = model.n_components
            if not isinstance(q, int):
                choice = choose_by_cells(shown, weights, self._most_components(model, X), smallest=0, by_error=True)
                q = 0 if choice is None else int(choice.selection.chosen)
            start = fit_missing(shown, q, weights=weights, noise_variance=fixed, center=model.center, tol=1e-3)
        return Trial(X, weights, first, start, models, fixed, model.center)

    def _keep_beliefs(self, kept: Array) -> None:
        """``flags_`` and ``row_weights_`` for all rows that were given, those without weight or cells too."""
        if "flags_" not in self.__dict__:
            return
        flags, weights = np.zeros((len(kept), self.flags_.shape[1]), dtype=bool), np.ones(len(kept))
        flags[kept], weights[kept] = self.flags_, self.row_weights_
        self.flags_, self.row_weights_ = flags, weights

    def _in_units(self, model: Any, table: Array, weights: Array) -> Array:
        """The table in the units of its columns, which are kept."""
        units = Units.of(as_rows(table, weights))
        self._spreads = units.scale
        self._units = units if self._scales(model) else None
        return table if self._units is None else self._units.into(table)

    @atomic
    def fit_batches(self, source: Batches) -> LatentImputer:
        """Fit on all rows of batches that can be read again (a list, or a function that opens an iterator), out of core; PPCA only.

        Parameters
        ----------
        source : list, other iterable that can be read again, or function that opens an iterator
            A batch is an array, a frame or an Arrow batch, or (X, sample_weight).

        Returns
        -------
        LatentImputer

        References
        ----------
        [5] docs/theory.md, section 5: EM.
        [13] docs/theory.md, section 13: faster, the same numbers.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentImputer, PPCA
        >>> from gramian.datasets import make_missing
        >>> X = make_missing(load_iris().data, 0.1, random_state=0)
        >>> model = LatentImputer(PPCA(n_components=2))
        >>> model.fit_batches([X[:75], X[75:]]).transform(X).shape
        (150, 4)
        """
        model = self._checked()
        forget(self, "_units", "_spreads", "_threshold", "_wild_model", *SETTLED)
        return self._fit_rows(model, BatchRows.of(source))

    def _fit_rows(self, model: Any, rows: Rows) -> LatentImputer:
        if not isinstance(model, PPCA):
            raise TypeError(
                f"estimator={model!r} cannot be fitted to batches or Dask rows here. Use PPCA (the default), or fit on a table in memory."
            )
        keep_columns(self, rows)
        units = Units.of(rows)
        self._spreads = units.scale
        self._units = units if self._scales(model) else None
        if self._units is not None:
            rows = rows_in_units(rows, self._units.mean, self._units.scale)
        drawn = smallest_rows(rows, MOST_ROWS)
        shown = ~np.isnan(drawn.rows).all(axis=1)
        scaled, weights = drawn.rows[shown].astype(np.float64), drawn.weights[shown]
        model, choice = self._with_q(model, scaled, weights)
        with _unasked(choice):
            self.estimator_ = _above_noise(model, choice, lambda it: it._fit_rows(rows, self._begun(choice)))
        self.estimator_.__dict__.pop("feature_names_in_", None)  # it is handed arrays, in units of the columns
        self._calibrate(None if choice is None else choice.said(choice.selection.chosen), scaled)
        return self

    def _checked(self) -> Any:
        check_standardize(self.standardize)
        check_robust(self.robust)
        self._check_columns()
        if self.n_folds is not None:
            check_count("n_folds", self.n_folds, 2)
        if isinstance(self.estimator, str):
            check_choice("estimator", self.estimator, ("auto",))
        model = PPCA() if self.estimator is None or is_auto(self.estimator) else clone(self.estimator)
        if not hasattr(model, "impute") and not hasattr(model, "predict_view"):
            raise TypeError(
                f"estimator={model!r} cannot impute. Use PPCA, PPCAMixture, MultiViewRKM or another model with impute(X)."
            )
        return model

    def _scales(self, model: Any) -> bool:
        return self._coding is None and standardizes(self.standardize, getattr(model, "kernel", None))

    def _most_components(self, model: PPCA, scaled: Array) -> int:
        return max(min(len(scaled) - int(model.center), scaled.shape[1] - 1), 0)

    def _with_q(self, model: PPCA, scaled: Array, weights: Array) -> tuple[PPCA, CellChoice | None]:
        """The model with what was open settled on hidden cells, and what was said of them."""
        limit = self._most_components(model, scaled)
        options: dict[str, Any] = {"center": model.center, "n_draws": self.n_folds or N_DRAWS}
        if model.n_components == "auto" and isinstance(model.noise_variance, str):
            if min(len(scaled), MOST_ROWS) * scaled.shape[1] * limit <= MOST_WORK:
                choice = choose_noise_by_cells(scaled, weights, limit, **options)
            else:
                choice = choose_by_cells(scaled, weights, limit, smallest=0, by_error=True, **options)
            if choice is None:
                return clone(model).set_params(n_components=0), None
            self.selection_ = choice.selection
            chosen = choice.selection.chosen
            given = chosen if isinstance(chosen, dict) else {"n_components": int(chosen)}
            return clone(model).set_params(**given), choice
        if self.n_folds is None or not isinstance(model.n_components, int):
            return model, None
        q = min(model.n_components, limit)
        noise = None if isinstance(model.noise_variance, str) else float(model.noise_variance)
        if noise == 0:
            return model, None
        return model, choose_by_cells(scaled, weights, q, smallest=q, noise_variance=noise, **options)

    def _begun(self, choice: CellChoice | None) -> MissingFit | None:
        """Where the fit on all cells begins: the model of the choice, if there was one to make."""
        return choice.start(choice.selection.chosen) if choice is not None and hasattr(self, "selection_") else None

    # ------------------------------------------------------------ calibration

    def _calibrate(self, found: HiddenPredictions | None, scaled: Array) -> None:
        self.std_scales_ = np.ones(scaled.shape[1])
        if self.n_folds is None or found is None:
            return
        # by the law that will be told, that of all cells: its factor for small samples is then held to what hidden cells say as well
        law = self.estimator_._small_sample()
        deviations = corrected_deviations(found.values, found.means, found.variances, law, found.columns, found.latents)
        self.std_scales_ = column_scales(deviations, found.columns, scaled.shape[1])

    def _calibrate_by_refits(self, model: Any, scaled: Array, weights: Array, given: dict[str, Any]) -> None:
        """Models other than PPCA are fitted again without the hidden cells of some draws."""
        d = scaled.shape[1]
        self.std_scales_ = np.ones(d)
        if self.n_folds is None:
            return
        hashes = row_hashes(scaled)
        deviations, columns = [], []
        for draw in range(REFITS):
            hidden = hidden_cells(scaled, draw, hashes)
            if not hidden.any():
                continue
            table = np.where(hidden, np.nan, scaled)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit on all cells has said it
                filled, std = _filled(clone(model).fit(table, **given), table)
            std = np.maximum(std, LEAST_STD * (1.0 if self._units is not None else self._spreads))
            at = hidden
            deviations.append((scaled - filled)[at] / std[at])
            columns.append(at.nonzero()[1])
        if deviations:
            self.std_scales_ = column_scales(np.concatenate(deviations), np.concatenate(columns), d)

    # ------------------------------------------------------------ filling

    @lazily
    def transform(self, X: Table) -> Array:
        """The table with its holes filled; observed entries are untouched.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        array or frame of shape (n_samples, n_features)
            Where a frame was fitted, a frame in is a frame out: the same container, names, index, dtypes and categories.

        References
        ----------
        [5] docs/theory.md, section 5: EM.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentImputer, PPCA
        >>> from gramian.datasets import make_missing
        >>> X = make_missing(load_iris().data, 0.1, random_state=0)
        >>> model = LatentImputer(PPCA(n_components=2))
        >>> bool(np.isnan(model.fit(X).transform(X)).any())
        False
        """
        out = self._completed(X if self._of_frame else None, self._rows_of(X), self._impute(X)[0])
        return self._with_indicators(X, out)

    @lazily
    def impute(self, X: Table, return_std: bool = False) -> Any:
        """Fill the missing entries; the same container, observed entries untouched.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return standard deviations, 0 where observed, calibrated on hidden cells: 1.645 of them cover 90 %.

        Returns
        -------
        The filled table, or (table, std)

        References
        ----------
        [5] docs/theory.md, section 5: EM.
        [12] docs/theory.md, section 12: small samples.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import LatentImputer, PPCA
        >>> from gramian.datasets import make_missing
        >>> X = make_missing(load_iris().data, 0.1, random_state=0)
        >>> model = LatentImputer(PPCA(n_components=2))
        >>> filled, std = model.fit(X).impute(X, return_std=True)
        >>> bool((std[~(X != X)] == 0).all())
        True
        """
        check_flag("return_std", return_std)
        filled, std = self._impute(X)
        full = self._with_indicators(X, self._completed(X, self._rows_of(X), filled))
        return (full, self._spread_like(X, std)) if return_std else full

    def _seen(self, columns: Array, reset: bool = False) -> Array:
        """Numbers (n, d) without the codes of missing; ``reset`` looks for them, and says so."""
        if reset:
            self.codes_ = find_codes(list(columns.T), check_keep_codes(self.keep_codes))
            warn_of_codes(self.codes_, "keep_codes=[{}]")
        return without_codes(columns, self.codes_)

    def _without_codes(self, table: Any, reset: bool = False) -> Any:
        numbers = [j for j, column in enumerate(table.columns) if column.dtype.kind == "f"]
        if not numbers:
            return table
        found = self._seen(np.column_stack([table.columns[j] for j in numbers]), reset)
        columns = list(table.columns)
        for j, column in zip(numbers, found.T):
            columns[j] = column
        return replace(table, columns=columns)

    def _impute(self, X: Table) -> tuple[Array, Array]:
        check_is_fitted(self)
        table, scaled = self._scaled(X)
        dtype = float_dtype(table)
        filled, std = self._features(self.estimator_, self._believable(scaled))
        std = np.maximum(std * self.std_scales_, LEAST_STD * (1.0 if self._units is not None else self._spreads))
        filled, std = self._unscaled(filled), std if self._units is None else std * self._units.scale
        holes = np.isnan(table)
        return np.where(holes, filled, table).astype(dtype, copy=False), np.where(holes, std, 0.0).astype(dtype)

    def _scaled(self, X: Table) -> tuple[Array, Array]:
        """The rows as the model is told of them, and in its units."""
        table = self._rows_of(X)
        return table, table if self._units is None else self._units.into(table)

    def _believable(self, scaled: Array) -> Array:
        """The rows without the cells that the others of their row contradict."""
        if getattr(self, "robust_", False) != "cells":
            return scaled
        return np.where(
            vars(self).get("_wild_model", self.estimator_)._wild_cells(scaled, self._threshold), np.nan, scaled
        )

    def _unscaled(self, features: Array) -> Array:
        return features if self._units is None else self._units.back(features)

    def _features(self, model: Any, scaled: Array) -> tuple[Array, Array]:
        return _filled(model, scaled)

    def explain(self) -> str:
        """How many components were taken and why, and how the model was fitted."""
        check_is_fitted(self)
        inner = self.estimator_.explain() if hasattr(self.estimator_, "explain") else repr(self.estimator_)
        reasons = [getattr(self, name).reason for name in ("model_selection_", "selection_") if hasattr(self, name)]
        return " ".join([*(f"{reason}." for reason in dict.fromkeys(reasons)), inner])


def _above_noise(model: PPCA, choice: CellChoice | None, fit: Callable[[PPCA], PPCA]) -> PPCA:
    """The fitted model; a noise chosen on hidden cells may lie above the last of the axes chosen with it, which are then left out."""
    try:
        return fit(model)
    except NoiseAboveError as told:
        if choice is None or not isinstance(choice.selection.chosen, dict):
            raise
        return fit(clone(model).set_params(n_components=told.above))


@contextmanager
def _unasked(choice: CellChoice | None) -> Iterator[None]:
    """Exact structure leaves a model without a density, which an imputer does not need, or with fewer axes than were chosen, which
    nobody asked for: nothing to warn of."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The kept components explain all", category=NumericalWarning)
        if choice is not None and len(choice.selection.candidates) > 1:
            warnings.filterwarnings(
                "ignore", message="n_components=.* exceeds the numerical rank", category=NumericalWarning
            )
        yield


def _filled(model: Any, table: Array) -> tuple[Array, Array]:
    """The table filled by a model, and standard deviations: its own, or 1 where it has none to give (held-out cells settle them)."""
    if hasattr(model, "impute"):
        filled, std = model.impute(table, return_std=True)
        return np.asarray(filled, dtype=np.float64), np.asarray(std, dtype=np.float64)
    rebuilt = model.reconstruct(table)
    if isinstance(rebuilt, dict):
        whole = np.empty(table.shape)
        names = getattr(model, "feature_names_in_", None)
        for name, part in rebuilt.items():
            spec = model.views[name]
            whole[:, _positions(spec, table.shape[1], names)] = part
        rebuilt = whole
    holes = np.isnan(table)
    return np.where(holes, rebuilt, table), holes.astype(np.float64)


def _positions(spec: Any, n_columns: int, names: Any) -> Array:
    """The columns of a view by position."""
    columns = np.arange(n_columns)
    if isinstance(spec, slice):
        return columns[spec]
    wanted = list(spec) if isinstance(spec, list | tuple | np.ndarray) else [spec]
    known = {} if names is None else {str(name): j for j, name in enumerate(names)}
    return np.array([known[name] if isinstance(name, str) else columns[name] for name in wanted])
