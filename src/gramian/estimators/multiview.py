"""MultiViewRKM: several views of the same rows under one latent Gaussian, with any of them missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, Kept, fitted_array, on_dask
from gramian._checks import (
    check_choice,
    check_flag,
    check_n_components,
    check_number,
    check_seed,
    check_tolerance,
    check_weights,
    is_auto,
    refuse_dask,
)
from gramian._content import row_hashes, smallest_positions
from gramian._types import Batches, RandomState, Views, Weights
from gramian.evidence.folds import check_folds
from gramian.evidence.robustness import check_robust
from gramian.evidence.selection import Selection
from gramian.features import WithInputs
from gramian.kernels import Linear, is_precomputed
from gramian.kernels.precomputed import check_square
from gramian.policy import LOOK
from gramian.preimage import check_preimage_method
from gramian.rows import Rows
from gramian.single.answers import BaseEstimator, FoldsMixin, atomic, forget, keep_columns
from gramian.solvers import as_solver, solvers_for
from gramian.views.answers import ViewAnswers, decoded_inputs, fitted_preimage
from gramian.views.fit import ViewFit, ViewOptions, fit_views
from gramian.views.holes import filled_views, view_laws
from gramian.views.kernel_choice import choose_view_kernels
from gramian.views.robust_fit import believed_views, check_robust_views, split_views, without_cells
from gramian.views.rows import SummedViews
from gramian.views.rows_missing import HoledFit, complete_rows
from gramian.views.sources import rows_of_batches, rows_on_dask, view_columns
from gramian.views.specs import NestedKernels, kernel_per_view
from gramian.views.survey import check_specs, check_survey, fitted_maps, gather_rows
from gramian.views.tables import ViewLayout, ViewRows, usable_rows
from gramian.views.trusts import TrustedViews


class MultiViewRKM(FoldsMixin, NestedKernels, TrustedViews, BaseEstimator):
    """The multi-view restricted kernel machine, φ_v(x_v) = μ_v + W_v z + ε_v for every view v, with noise [8].

    One latent z ~ N(0, I) explains all views of a row. Whatever views a row shows give the posterior of z, and that
    predicts the views it does not show, with standard deviations. Every view has its own noise, which is what makes the model a
    regressor; how far the views shown are trusted, and what errors to expect, is learned from held-out rows.
    ``noise_variance=0.0`` is AC's model exactly, in all four algorithms (primal or dual, eigendecomposition or Stiefel).

    Parameters
    ----------
    n_components : "auto", int, float or None, default="auto"
        Latent dimension. "auto": the smallest within one standard error of the least error of held-out views, each predicted from all
        others; with a single view of the best held-out likelihood (95 % of the variance at noise 0). A fraction in (0, 1) of the
        (weighted) variance. None: above the noise if that is a number, else 95 %.
    kernel : "auto", kernel, name, callable, feature map, or a list or dict of these with one per view, default="linear"
        "auto": linear, or the inputs beside Gaussian features (`gramian.features.WithInputs`: a view is then predicted linearly, and says
        what it says of the others by curves too), whichever predicts held-out views better; ``selection_`` is then that choice.
        A feature map (`gramian.features`, or any object with ``fit`` and ``transform``) gives a view explicit features; with an
        ``inverse_transform`` it is also the way back to inputs.
    views : dict of name -> columns or None, default=None
        For tables: names, positions, slices or callables. None is one view. Columns in no view are left out, with a warning.
    space : {"auto", "primal", "dual"}, default="auto"
        "auto" follows the flow chart of AC figure 1; `explain()` says why.
    solver : {"auto", "eigh", "stiefel"} or object, default="auto"
    rotate : bool, default=True
        Whether a Stiefel solution is rotated to the eigenvectors.
    noise_variance : "per-view", "ml" or float, default="per-view"
        One noise per view by ECM, the maximum-likelihood one of all views, or a number for all (0 is AC).
    view_weights : None, "balanced", or a list or dict of numbers, default=None
        View v is scaled by √β_v. "balanced" gives every view unit variance. Under "per-view" noise it only matters to a
        fractional ``n_components``.
    n_folds : int, scikit-learn splitter, iterable of (kept, held) positions, or None, default=5
        Folds, by the content of rows, on which the trust in the views shown and the standard deviations are calibrated. None: not.
    robust : False, "rows", "cells" or "auto", default=False
        Of linear views in memory. "rows": rows count by their weight in a multivariate t, with the noise of each view. "cells": cells that the others
        of their row contradict are holes. "auto": one of these, or neither, by hidden cells [14].
    tol : float, default=1e-6
        EM: relative change of the mean log-likelihood (ECM: its square root, of the noises); Stiefel: relative residual.
    max_iter : int, default=1000
    preimage : str or object, default="smoother"
        How a view with a kernel is mapped back to inputs.
    random_state : None, int, Generator or RandomState
    verbose : int, default=0

    Attributes
    ----------
    latents_ : ndarray of shape (n_samples, n_components_)
        AC's H, HᵀH = I; the largest entry of each column is positive. Without rows where the fit was from batches or Dask (more than
        2,000 rows): `transform` gives them.
    eigenvalues_ : ndarray of shape (n_components_,)
        λ = N l.
    gamma_ : ndarray of shape (n_components_, n_components_)
        Γ, diagonal when rotated.
    loadings_ : list of ndarray
        W_v of shape (D_v, n_components_), None where a view has a kernel only; AC's U_v = √N W_v.
    noise_variances_ : ndarray of shape (n_views,)
    view_names_ : list
    algorithm_ : str
        Which of AC's four algorithms ran.
    selection_ : Selection
        How ``kernel="auto"`` was chosen, or else ``n_components="auto"``; absent where neither was open.
    trusts_ : list of (given, view, trust, std)
        By how much the noise of the views ``given`` is divided to predict ``view``, and the standard deviations of that prediction's
        columns; empty where nothing was held out.
    robust_ : False, "cells" or "rows"
        What was taken; this and the following only where ``robust`` is not False.
    flags_ : ndarray of bool, or a list or dict of these with one per view
        Cells taken as holes at fit, in the container of the views.
    row_weights_ : ndarray of shape (n_samples,)
        How much each row counted; ones unless "rows" was taken.
    degrees_of_freedom_ : float
        Of the t; only for "rows".

    References
    ----------
    [8] docs/theory.md, section 8: views. [10] section 10: choosing by what was not seen. [12] section 12: small samples.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import MultiViewRKM
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((100, 2))
    >>> views = {"left": z @ rng.standard_normal((2, 5)), "right": z @ rng.standard_normal((2, 3))}
    >>> model = MultiViewRKM(n_components=2, noise_variance=0.0).fit(views)
    >>> guess = model.predict_view({"left": views["left"]}, "right")
    >>> bool(np.abs(guess - views["right"]).max() < 1e-10)
    True
    """

    _dtype: Annotated[str, "maybe dtype"]
    _view_laws: list[Any] | None
    robust_: str | bool
    _view_kept: Kept
    solver_: Any
    solver_reason_: str
    algorithm_: str
    _reason: str
    gamma_: Array
    _counts: Annotated[list[Array], "maybe v: + *"]
    degrees_of_freedom_: float
    selection_: Selection
    latents_: Annotated[Array, "* q"]
    n_features_in_: Annotated[int, "maybe =d"]
    eigenvalues_: Annotated[Array, "q"]
    _widths: Annotated[list[int], "v: count"]
    _columns: Annotated[list[Any] | None, "v: #d *"]
    loadings_: Annotated[list[Array | None], "v"]
    preimages_: Annotated[list[Any], "v: Preimage"]
    _input_std: Annotated[list[Array | None], "maybe v"]
    _container: Annotated[str, ""]
    _labels: Annotated[list[Any] | None, "maybe v"]

    def __init__(
        self,
        n_components: int | float | str | None = "auto",
        *,
        kernel: Any = "linear",
        views: Any = None,
        space: str = "auto",
        solver: Any = "auto",
        rotate: bool = True,
        noise_variance: float | str = "per-view",
        view_weights: Any = None,
        n_folds: Any = 5,
        robust: bool | str = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        preimage: Any = "smoother",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.views = views
        self.space = space
        self.solver = solver
        self.rotate = rotate
        self.noise_variance = noise_variance
        self.view_weights = view_weights
        self.n_folds = n_folds
        self.robust = robust
        self.tol = tol
        self.max_iter = max_iter
        self.preimage = preimage
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        linear = isinstance(self.kernel, Linear) or self.kernel == "linear"
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.allow_nan = not tags.input_tags.pairwise and (
            not linear or isinstance(self.noise_variance, str)
        )
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, X: Views, y: object = None, sample_weight: Weights = None) -> MultiViewRKM:
        """Fit to a table, a list or a dict of views [8, 10].

        Parameters
        ----------
        X : table of shape (n_samples, n_features), list of 2-D arrays, or dict of name -> 2-D array
            NaN where an entry, or a whole row of any view, is missing (linear views and whole rows need "ml" or "per-view" noise; cells of a
            view with a kernel are filled with their means given the others of the view).
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        MultiViewRKM

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MultiViewRKM
        >>> X = load_iris().data
        >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
        >>> model = MultiViewRKM(n_components=2, n_folds=None).fit(views)
        >>> model.n_components_
        2
        """
        self._check_params()
        forget(self)
        if on_dask(X):
            return self._fit_rows(*rows_on_dask(X, self.views, sample_weight), refuse=TypeError)
        refuse_dask(self, sample_weight)
        layout, rows = ViewLayout.read(self, X, self.views)
        self._keep_layout(layout)
        weights = check_weights(sample_weight, rows.views[0])
        self._deal(rows.stacked)
        self._fit_views(layout, rows, weights)
        del self._dealt
        return self

    @atomic
    def fit_batches(self, source: Batches) -> MultiViewRKM:
        """Fit on all rows of batches, out of core, with linear views or feature maps; equal to `fit` on the concatenated rows [8, 13].

        Parameters
        ----------
        source : list, other iterable that can be read again, or function that opens an iterator
            A batch is a table (an array, a frame or an Arrow batch, whose columns ``views`` names), a list or a dict of views, or one of
            these with weights: (X, sample_weight). NaN as in `fit`.

        Returns
        -------
        MultiViewRKM

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import MultiViewRKM
        >>> X = np.random.default_rng(0).standard_normal((60, 4))
        >>> model = MultiViewRKM(2, views={"a": [0, 1], "b": [2, 3]})
        >>> batched = model.fit_batches([X[:20], X[20:]]).score(X)
        >>> np.allclose(batched, model.fit(X).score(X))
        True
        """
        self._check_params()
        forget(self)
        return self._fit_rows(*rows_of_batches(source, self.views), refuse=ValueError)

    def _fit_rows(self, layout: ViewLayout, rows: Rows, refuse: type[Exception]) -> MultiViewRKM:
        """Rows that are only summed over; so few that every draw holds them all are fitted as in memory."""
        if self.robust is not False:
            raise ValueError(
                f"robust={self.robust!r} needs rows in memory. Give arrays or frames to fit, or robust=False."
            )
        given = kernel_per_view(self.kernel, layout.names)
        specs: Sequence[Any] = [
            WithInputs() if is_auto(spec) else spec for spec in given
        ]  # what a view may need is drawn for it
        check_specs(specs, layout.names, refuse)
        if layout.kind == "table":
            keep_columns(self, rows)
        else:
            self.n_features_in_ = sum(layout.widths)
        self._keep_layout(layout)
        survey = check_survey(layout, rows, specs)
        few = gather_rows(survey, layout)
        if few is not None:
            return self._fit_views(layout, *few)
        columns = view_columns(layout)
        inputs = ViewRows.of(survey.inputs(columns))
        options = self._with_kernels(self._options(layout), inputs, survey.drawn.weights)
        specs = options.specs
        if self.space == "dual" or options.stiefel:
            raise ValueError(
                "space='dual' and solver='stiefel' work on the rows themselves, which must be in memory. Use space='auto', solver='auto'."
            )
        summed: SummedViews | None
        if survey.complete:
            rows = complete_rows(rows, layout) if survey.empty else rows
            maps = fitted_maps(specs, survey, layout.names)
            summed = SummedViews.of(layout, rows, survey, maps, self._folds or LOOK.folds)
            fitted = summed.fit(options)
        else:
            holed = HoledFit.of(layout, rows, survey, options)
            fitted = holed.fit()
            summed = holed.complete(holed.maps) if self._calibrates(layout) else None
        self._dtype = str(rows.dtype)
        stops = np.cumsum([0, *(len(view) for view in columns)])
        counts = [survey.counts[start:stop] for start, stop in pairwise(stops)]
        self._store_fit(fitted, inputs, counts)
        asked = summed if self._calibrates(layout) else None
        self._keep_trusts(None if asked is None else asked.trusts(self._model, self.preimage, layout.names))
        return self

    def _keep_layout(self, layout: ViewLayout) -> None:
        self._container, self._columns, self._widths = layout.kind, layout.columns, layout.widths
        self._labels = layout.labels
        self.view_names_ = layout.names

    def _with_kernels(self, options: ViewOptions, rows: ViewRows, weights: Array) -> ViewOptions:
        """The options with a kernel for every view that was left open, chosen on held-out rows."""
        if not any(is_auto(spec) for spec in options.specs):
            return options
        specs, self._kernel_selection = choose_view_kernels(rows, weights, options, self.preimage)
        return replace(options, specs=specs)

    def _options(self, layout: ViewLayout) -> ViewOptions:
        return ViewOptions(
            self.n_components,
            kernel_per_view(self.kernel, layout.names),
            layout.names,
            self.space,
            self.solver,
            self.rotate,
            self.noise_variance,
            self.view_weights,
            self._folds,
            self.tol,
            self.max_iter,
            self.random_state,
            self.verbose,
        )

    def _fit_views(self, layout: ViewLayout, rows: ViewRows, weights: Array) -> MultiViewRKM:
        """Rows in memory."""
        options = self._with_kernels(self._options(layout), rows, weights)
        for spec, view in zip(options.specs, rows.views):
            if is_precomputed(spec):
                check_square(view)  # before rows are taken from it
        laws = view_laws(rows, weights, options.specs)
        self._view_laws = laws if any(law is not None for law in laws) else None
        rows = filled_views(rows, lambda v: laws[v])
        n_rows = len(weights)
        rows, weights, kept = usable_rows(rows, weights, layout.names, self.noise_variance)
        if self.robust is not False:
            rows, weights = self._believed(layout, options.specs, rows, weights, kept, n_rows)
        fitted = fit_views(rows, weights, kept, options)
        self._dtype = str(rows.dtype)
        self._store_fit(fitted, rows, [weights @ ~np.isnan(view) for view in rows.views])
        self._keep_trusts(
            self._held_out(rows, weights, None, self._folds or LOOK.folds, fitted.views)
            if self._calibrates(layout)
            else None
        )
        return self

    def _believed(
        self, layout: ViewLayout, specs: Sequence[Any], rows: ViewRows, weights: Array, kept: Array, n_rows: int
    ) -> tuple[ViewRows, Array]:
        """The rows without their wild cells, or with the weights of a t: of these the fit is that of the t [14]."""
        check_robust_views(self.robust, specs, layout.names, self.noise_variance)
        found = believed_views(rows, weights, self.n_components, self.noise_variance, str(self.robust))
        self.robust_, self.row_weights_ = found.kind, np.ones(n_rows)
        self.row_weights_[kept] = found.row_weights
        if found.degrees_of_freedom is not None:
            self.degrees_of_freedom_ = found.degrees_of_freedom
        flags = np.zeros((n_rows, found.flags.shape[1]), dtype=bool)
        flags[kept] = found.flags
        parts = split_views(flags, rows)
        if layout.columns is not None:
            d = self.n_features_in_ if self._coding is None else len(self._coding.owner)
            every = np.zeros((n_rows, d), dtype=bool)
            for columns, part in zip(layout.columns, parts):
                every[:, columns] = part
            self.flags_ = self._flags_of_columns(every)
        else:
            self.flags_ = dict(zip(layout.names, parts)) if layout.kind == "dict" else parts
        if found.flags.any():
            rows = without_cells(rows, found.flags)
        if (found.row_weights != 1.0).any():
            weights = weights * found.row_weights * (weights.sum() / (weights @ found.row_weights))
        return rows, weights

    def _check_params(self) -> None:
        check_robust(self.robust)
        check_n_components(self.n_components, rules=("auto",))
        check_choice("space", self.space, ("auto", "primal", "dual"))
        if isinstance(self.solver, str):
            check_choice("solver", self.solver, solvers_for("views", self.solver))
        else:
            as_solver(self.solver)
        check_flag("rotate", self.rotate)
        if isinstance(self.noise_variance, str):
            check_choice("noise_variance", self.noise_variance, ("ml", "per-view"))
        else:
            check_number("noise_variance", self.noise_variance, 0.0)
        check_folds(self.n_folds)
        check_tolerance(self.tol, self.max_iter)
        check_seed(self.random_state)
        check_preimage_method(self.preimage)

    def _store_fit(self, fitted: ViewFit, rows: ViewRows, counts: list[Array]) -> None:
        self._view_kept = Kept()
        self._store(fitted.model)
        gains, rotation = self._gaussian.gains, fitted.rotation
        self._rotation = rotation
        self.solver_, self.solver_reason_ = fitted.solver, fitted.solver_reason
        self.algorithm_, self._reason = fitted.algorithm, fitted.reason
        self.noise_variances_ = np.asarray(fitted.noise_variances, dtype=np.float64)
        selection = self.__dict__.pop("_kernel_selection", None) or fitted.selection
        if selection is not None:
            self.selection_ = selection
        if fitted.log_likelihoods is not None:
            dims = np.array([part.dim for part in self._subspace.parts])
            self.noise_variance_ = float(dims @ fitted.noise_variances / dims.sum())
            self.log_likelihoods_, self.converged_ = fitted.log_likelihoods, fitted.converged
            self.n_iter_ = fitted.n_iter
        self.latents_ = fitted.latents if rotation is None else fitted.latents @ rotation
        self.eigenvalues_ = fitted.total_weight * self._gaussian.eigenvalues
        if hasattr(self, "objectives_"):
            self.objectives_ = fitted.total_weight * self.objectives_  # in the units of eigenvalues_, as AC has them
        diagonal = np.diag(self.eigenvalues_)
        self.gamma_ = diagonal if rotation is None else rotation.T @ diagonal @ rotation
        loadings = [part.loadings(gains) for part in self._subspace.parts]
        self.loadings_ = [W if W is None or rotation is None else W @ rotation for W in loadings]
        self._counts = counts
        scores = np.sqrt(len(fitted.latents)) * self.latents_
        self.preimages_ = [
            fitted_preimage(view, self.preimage, scores if len(scores) and view.n_rows == len(scores) else None)
            for view in fitted.views
        ]
        self._input_std = [self._decoding_error(v, rows) for v in range(len(rows.views))]
        for name in ("latents_", "gamma_", "explained_variance_", "explained_variance_ratio_"):
            setattr(self, name, fitted_array(getattr(self, name), self._dtype))
        self.loadings_ = [None if W is None else fitted_array(W, self._dtype) for W in self.loadings_]

    def _decoding_error(self, v: int, rows: ViewRows) -> Array | None:
        """What decoding leaves of the training rows of a view that is not linear, root mean square per column."""
        part = self._subspace.parts[v]
        if part.invertible or part.precomputed:
            return None
        here = np.flatnonzero(rows.seen[:, v])
        shown = rows.take(here[smallest_positions(row_hashes(rows.take(here).stacked), 1000)])
        scores = self._gaussian.decode(self._answers.posterior(shown).mean)
        left = shown.views[v] - decoded_inputs(part, scores, self.preimages_[v], self.view_names_[v])
        return np.asarray(np.sqrt(np.square(left).mean(axis=0)))

    @property
    def _layout(self) -> ViewLayout:  # type: ignore[override]
        columns = self._columns
        widths = self._widths if columns is None else [len(found) for found in columns]
        return ViewLayout(self._container, self.view_names_, columns, widths, vars(self).get("_labels"))

    @property
    def _answers(self) -> ViewAnswers:
        check_is_fitted(self)
        counts = getattr(
            self, "_counts", [np.full(1, float(len(self.latents_)))] * len(self.view_names_)
        )  # of old model files
        return ViewAnswers(
            self._subspace,
            self._gaussian,
            self.view_names_,
            self.noise_variances_,
            counts,
            getattr(self, "trusts_", []),
            self.preimages_,
            getattr(self, "_input_std", []),
            float(self.eigenvalues_[0] / self._gaussian.eigenvalues[0])
            if self.n_components_
            else max(float(count.max()) for count in counts),
            getattr(self, "_reaches", ()),
        )

    def explain(self) -> str:
        """Which of AC's four algorithms was run, and why (AC figure 1); how q was chosen, and what was calibrated."""
        check_is_fitted(self)
        words = f"{self.algorithm_}: {self._reason}. {self.solver_!r}; residual {self.residual_norm_:.1e} of the largest eigenvalue."
        if hasattr(self, "selection_"):
            words += f" {self.selection_.reason}."
        if getattr(self, "trusts_", []):
            words += f" Trusts and standard deviations of {len(self.trusts_)} questions are from held-out rows."
        return words
