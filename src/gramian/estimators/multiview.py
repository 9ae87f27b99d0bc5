"""MultiViewRKM: several views of the same rows under one latent Gaussian, with any of them missing."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_random_state,
    check_scale,
    check_seed,
    check_table,
    check_tolerance,
    check_weights,
)
from gramian._progress import Progress
from gramian.estimators._base import BaseEstimator, LatentModelMixin, atomic, chosen_solver, forget
from gramian.estimators._view_specs import (
    ALGORITHMS,
    SOLVER_NAMES,
    choose_space,
    fitted_view,
    is_feature_map,
    kernel_of,
    named_kernels,
    predictive_variance,
    replaced,
    training_view,
    weights_of_views,
)
from gramian.estimators._view_tables import checked_views, complete_or_missing, kind_of, resolve_columns, split_table
from gramian.exceptions import NumericalWarning
from gramian.kernels import Precomputed, as_kernel
from gramian.latent.dimension import DEFAULT_FRACTION, check_n_components
from gramian.latent.gaussian import SEEN, Posterior
from gramian.latent.model import fit_latent_model
from gramian.latent.subspace import DualSubspace
from gramian.latent.view_noise import NoiseFit, PartialView, fit_missing_views, fit_view_noises
from gramian.latent.view_regression import dealt_folds
from gramian.latent.view_trust import Question, held_out_trusts
from gramian.latent.views import (
    ExplicitView,
    KernelView,
    View,
    ViewSample,
    ViewSubspace,
    ViewTable,
    unrotation,
)
from gramian.preimage import as_preimage, preimage_for
from gramian.solvers import as_solver
from gramian.solvers.spectrum import positive_signs
from gramian.solvers.stiefel import Stiefel


class NoDensityError(ValueError, AttributeError):
    """There is no density without noise: a ValueError to who asks, an absent method to who looks."""


class MultiViewRKM(LatentModelMixin, BaseEstimator):
    """The multi-view restricted kernel machine, φ_v(x_v) = μ_v + W_v z + ε_v for every view v, with noise [8].

    One latent z ~ N(0, I) explains all views of a row. Whatever views a row shows give the posterior of z, and that
    predicts the views it does not show, with standard deviations. Noise 0 is AC's model exactly, in all four algorithms
    (primal or dual, eigendecomposition or Stiefel); ``"per-view"`` noise is what makes it a regressor.

    Parameters
    ----------
    n_components : int, float or None, default=2
        Latent dimension; a fraction in (0, 1) of the (weighted) variance. None: above the noise if that is a number, else
        95 %.
    kernel : kernel, name, callable, feature map, or a list or dict of these with one a view, default="linear"
        A feature map (`gramian.features`) gives a view explicit features.
    views : dict of name -> columns or None, default=None
        For tables: names, positions, slices or callables. None is one view. Columns in no view are left out.
    space : {"auto", "primal", "dual"}, default="auto"
        "auto" follows the flow chart of AC figure 1; `explain()` says why.
    solver : {"auto", "eigh", "stiefel"} or object, default="auto"
    rotate : bool, default=True
        Whether a Stiefel solution is rotated to the eigenvectors.
    noise_variance : float, "ml" or "per-view", default=0.0
        One noise for all views (0 is AC), the maximum-likelihood one, or one a view by ECM.
    view_weights : None, "balanced", or a list or dict of numbers, default=None
        View v is scaled by √β_v. "balanced" gives every view unit variance: use it where scales or numbers of columns
        differ. Under "per-view" noise it only matters to a fractional ``n_components``.
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
        AC's H, HᵀH = I; the largest entry of each column is positive.
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
    trusts_ : list of (given, view, trust, std)
        After `calibrate`: by how much the noise of the views ``given`` is divided to predict ``view``, and the standard deviations
        of that prediction's columns.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import MultiViewRKM
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((100, 2))
    >>> views = {"left": z @ rng.standard_normal((2, 5)), "right": z @ rng.standard_normal((2, 3))}
    >>> model = MultiViewRKM(n_components=2).fit(views)
    >>> guess = model.predict_view({"left": views["left"]}, "right")
    >>> bool(np.abs(guess - views["right"]).max() < 1e-10)
    True
    """

    def __init__(
        self,
        n_components: Any = 2,
        *,
        kernel: Any = "linear",
        views: Any = None,
        space: str = "auto",
        solver: Any = "auto",
        rotate: bool = True,
        noise_variance: Any = 0.0,
        view_weights: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        preimage: Any = "smoother",
        random_state: Any = None,
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
        self.tol = tol
        self.max_iter = max_iter
        self.preimage = preimage
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        return tags

    # ------------------------------------------------------------ nested parameters of a list or dict of kernels

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; kernels of views are reached as ``kernel__NAME__length_scale``, or ``kernel__0__...`` in a list."""
        params: dict[str, Any] = super().get_params(deep)
        if deep:
            for name, kernel in named_kernels(self.kernel):
                params[f"kernel__{name}"] = kernel
                if hasattr(kernel, "get_params") and not isinstance(kernel, type):
                    params.update({f"kernel__{name}__{key}": value for key, value in kernel.get_params().items()})
        return params

    def set_params(self, **params: Any) -> MultiViewRKM:
        """Set parameters; see `get_params` for the names."""
        if "kernel" in params:
            self.kernel = params.pop("kernel")
        known = {str(name): name for name, _ in named_kernels(self.kernel)}
        rest: dict[str, Any] = {}
        for key, value in params.items():
            prefix, _, below = key.partition("__")
            view, _, parameter = below.partition("__")
            if prefix != "kernel" or view not in known:
                rest[key] = value
            elif parameter:
                kernel_of(self.kernel, known[view]).set_params(**{parameter: value})
            else:
                self.kernel = replaced(self.kernel, known[view], value)
        super().set_params(**rest)
        return self

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MultiViewRKM:
        """Fit to a table, a list or a dict of views.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), list of 2-D arrays, or dict of name -> 2-D array
            A view missing for some rows is NaN there (needs "ml" or "per-view" noise).
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        MultiViewRKM
        """
        self._check_params()
        forget(self)
        views, seen = self._read_training(X)
        shown = next(view for view in views if view is not None)
        raw_weights = check_weights(sample_weight, shown)
        self._refuse_empty(seen[raw_weights > 0])
        kept = np.flatnonzero(raw_weights > 0)
        if len(kept) < len(raw_weights):
            views, seen, raw_weights = [view[kept] for view in views], seen[kept], raw_weights[kept]
        if len(raw_weights) < 2:
            raise ValueError(
                f"MultiViewRKM needs at least 2 samples of positive weight, got n_samples = {len(raw_weights)}."
            )
        for name, view in zip(self.view_names_, views):
            check_scale(float((np.nanmax(view, axis=0) - np.nanmin(view, axis=0)).max()), f"view {name!r}")
        specs = self._view_kernels()
        if seen.all():
            built = [training_view(spec, view, raw_weights, kept) for spec, view in zip(specs, views)]
            table = ViewTable(tuple(built), raw_weights / raw_weights.sum(), float(raw_weights.sum()))
            self._fit_complete(table)
        else:
            self._fit_missing(specs, views, seen, raw_weights)
            built = [partial.view for partial in self.__dict__.pop("_partials")]
        self._dtype = str(np.result_type(*[float_dtype(view) for view in views]))
        self._fit_preimages(built)
        return self

    def _check_params(self) -> None:
        check_n_components(self.n_components, rules=())
        check_choice("space", self.space, ("auto", "primal", "dual"))
        if isinstance(self.solver, str):
            check_choice("solver", self.solver, SOLVER_NAMES)
        check_flag("rotate", self.rotate)
        if isinstance(self.noise_variance, str):
            check_choice("noise_variance", self.noise_variance, ("ml", "per-view"))
        else:
            check_number("noise_variance", self.noise_variance, 0.0)
        check_tolerance(self.tol, self.max_iter)
        check_seed(self.random_state)
        as_preimage(self.preimage)

    def _read_training(self, X: Any) -> tuple[list[Any], Array]:
        kind = kind_of(X)
        self._container = kind
        self._columns = None
        if kind == "table":
            table = check_table(self, X, reset=True, missing=True, min_samples=2)
            frame = X if hasattr(X, "columns") else table
            self.view_names_, self._columns = resolve_columns(self.views, frame, table.shape[1])
            return split_table(table, self._columns, self.view_names_)
        if self.views is not None:
            raise ValueError(
                f"views={self.views!r} names columns of one table, but X is a {kind} of views. Leave views=None."
            )
        if not len(X):
            raise ValueError(f"X is an empty {kind}. Give at least one view.")
        self.view_names_ = list(X) if isinstance(X, Mapping) else [f"view{i}" for i in range(len(X))]
        arrays = checked_views(X, self.view_names_)
        empty = [name for name, array in zip(self.view_names_, arrays) if array is None]
        if empty:
            raise ValueError(
                f"View {empty[0]!r} is None at fit, so nothing can be learnt of it. Leave it out, or give some rows."
            )
        self.n_features_in_ = int(sum(array.shape[1] for array in arrays))
        self._widths = [int(array.shape[1]) for array in arrays]
        return complete_or_missing(arrays, self.view_names_)

    def _refuse_empty(self, seen: Array) -> None:
        for name, shown in zip(self.view_names_, np.asarray(seen.any(axis=0))):
            if not shown:
                raise ValueError(
                    f"View {name!r} is missing (NaN) for all rows at fit, so nothing can be learnt of it. Leave the view out."
                )
        if not seen.all() and not isinstance(self.noise_variance, str):
            missing = [name for name, column in zip(self.view_names_, seen.T) if not column.all()]
            raise ValueError(
                f"View {missing[0]!r} contains NaN rows (missing), but noise_variance={self.noise_variance!r}: rows that miss a "
                "view at fit need noise_variance='ml' or 'per-view', since the EM does not move at a fixed noise of 0."
            )

    def _view_kernels(self) -> list[Any]:
        """One kernel or feature map a view, in the order of the views."""
        names = self.view_names_
        if isinstance(self.kernel, Mapping):
            missing = [name for name in names if name not in self.kernel]
            unknown = [name for name in self.kernel if name not in names]
            if missing or unknown:
                raise ValueError(
                    f"kernel is a dict for the views {list(self.kernel)!r}, but the data have {names!r}. Give one kernel a view."
                )
            return [self.kernel[name] for name in names]
        if isinstance(self.kernel, list | tuple):
            if len(self.kernel) != len(names):
                raise ValueError(
                    f"kernel lists {len(self.kernel)} kernels, but there are {len(names)} views. Give one a view."
                )
            return list(self.kernel)
        return [self.kernel] * len(names)

    # ------------------------------------------------------------ complete rows

    def _fit_complete(self, table: ViewTable) -> None:
        space, reason = choose_space(self.space, table, self.view_names_)
        solver = as_solver(
            self.solver, tol=self.tol, max_iter=self.max_iter, random_state=self._solver_seed(), rotate=self.rotate
        )
        weights = weights_of_views(self.view_weights, table, self.view_names_)
        q = check_n_components(self.n_components, rules=())
        sample = ViewSample(table, np.sqrt(weights), space)
        self.solver_, self.solver_reason_ = chosen_solver(solver, sample.operator().size, q)
        stiefel = isinstance(self.solver_, Stiefel)
        self.algorithm_ = ALGORITHMS[space, stiefel]
        self._reason = f"{reason}; " + ("Stiefel as asked" if stiefel else "fixed maps, so an eigendecomposition")
        if self.noise_variance == "per-view":
            self._fit_per_view(table, sample, q, space)
            return
        noise = self.noise_variance if isinstance(self.noise_variance, str) else float(self.noise_variance)
        model = fit_latent_model(sample, q, self.solver_, noise, default_fraction=DEFAULT_FRACTION)
        latents = sample.latents(model.spectrum)
        rotation = unrotation(model.spectrum, latents)
        self._store(model)
        safe = np.where(weights > 0, weights, 1.0)
        noises = np.where(weights > 0, self.noise_variance_ / safe, 0.0)
        self._store_views(latents * positive_signs(latents), rotation, noises, table.total_weight)

    def _fit_per_view(self, table: ViewTable, sample: ViewSample, q: Any, space: str) -> None:
        # one plain solve settles q: the fraction of the weighted variance, or the rank (with its warning)
        count = fit_latent_model(sample, q, self.solver_, 0.0, default_fraction=DEFAULT_FRACTION).gaussian.n_components
        with Progress("ECM", verbose=self.verbose) as bar:
            fitted = fit_view_noises(
                table, count, self.solver_, space, tol=float(np.sqrt(self.tol)), names=self.view_names_, progress=bar
            )
        self._store_noise_fit(fitted, table.total_weight)

    def _store_noise_fit(self, fitted: NoiseFit, total_weight: float) -> None:
        self._store(fitted.model)
        parts = fitted.model.subspace.parts
        dims = np.array([part.dim for part in parts])
        self.noise_variance_ = float(dims @ fitted.noise_variances / dims.sum())
        self.log_likelihoods_ = fitted.log_likelihoods
        self.converged_ = fitted.settled
        self.n_iter_ = fitted.n_iter
        self._store_views(fitted.latents, fitted.rotation, fitted.noise_variances, total_weight)

    def _store_views(self, latents: Array, rotation: Array | None, noises: Array, total_weight: float) -> None:
        gains = self._gaussian.gains
        self._rotation = rotation
        self.latents_ = latents if rotation is None else latents @ rotation
        self.eigenvalues_ = total_weight * self._gaussian.eigenvalues
        diagonal = np.diag(self.eigenvalues_)
        self.gamma_ = diagonal if rotation is None else rotation.T @ diagonal @ rotation
        self.noise_variances_ = np.asarray(noises, dtype=np.float64)
        loadings = [part.loadings(gains) for part in self._subspace.parts]
        self.loadings_ = [W if W is None or rotation is None else W @ rotation for W in loadings]

    def _solver_seed(self) -> Any:
        return 0 if self.random_state is None else self.random_state

    # ------------------------------------------------------------ rows that miss views

    def _fit_missing(self, specs: list[Any], views: list[Any], seen: Array, weights: Array) -> None:
        q = check_n_components(self.n_components, rules=())
        partials = []
        for v, (spec, view) in enumerate(zip(specs, views)):
            rows = np.flatnonzero(seen[:, v])
            if len(rows) < 2:
                raise ValueError(
                    f"View {self.view_names_[v]!r} is shown by {len(rows)} row. At least 2 rows must show it."
                )
            if not is_feature_map(spec) and isinstance(as_kernel(spec), Precomputed):
                raise ValueError(
                    f"View {self.view_names_[v]!r} has a precomputed kernel, which cannot miss rows at fit."
                )
            partials.append(PartialView(training_view(spec, view[rows], weights[rows]), rows, weights[rows]))
        limit = self._missing_limit(partials, len(weights))
        if isinstance(q, int) and q > limit:
            raise ValueError(
                f"n_components={q} must be at most {limit}, the largest possible rank of these views. Lower it."
            )
        with Progress("EM", total=self.max_iter, verbose=self.verbose) as bar:
            fitted = fit_missing_views(
                partials,
                seen,
                weights,
                DEFAULT_FRACTION if q is None else q,
                shared=self.noise_variance == "ml",
                tol=self.tol,
                max_iter=self.max_iter,
                progress=bar,
            )
        if not fitted.settled:
            warnings.warn(
                f"The EM for missing views did not converge in max_iter={self.max_iter} steps. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self._partials = partials
        self.solver_, self.solver_reason_ = "em", "rows miss views, whose likelihood has no closed form"
        self.algorithm_ = "dual EM over the observed views"
        self._reason = self.solver_reason_
        self._store_noise_fit(fitted, float(weights.sum()))

    @staticmethod
    def _missing_limit(partials: list[PartialView], n: int) -> int:
        widths = [p.view.features.shape[1] if isinstance(p.view, ExplicitView) else n for p in partials]
        return min(n - 1, sum(widths))

    # ------------------------------------------------------------ latents

    @property
    def _subspace(self) -> ViewSubspace:
        return self._model.subspace

    def _check_views(self, X: Any) -> tuple[list[Any], Array, Any]:
        """Views in the fitted order, the mask of what is shown, and the dtype of the answer."""
        check_is_fitted(self)
        if kind_of(X) == "table":
            if self._columns is None:
                if len(self.view_names_) > 1:
                    raise ValueError(
                        f"Expected {len(self.view_names_)} views in a list or dict, got one table. Use stack_views and views= to fit "
                        "tables."
                    )
                X = [X]
            else:
                table = check_table(self, X, reset=False, missing=True)
                views, seen = split_table(table, self._columns, self.view_names_)
                return views, seen, float_dtype(table)
        arrays = checked_views(X, self.view_names_)
        widths = [len(c) for c in self._columns] if self._columns is not None else self._widths
        for name, array, width in zip(self.view_names_, arrays, widths):
            if array is not None and array.shape[1] != width:
                raise ValueError(
                    f"View {name!r} has {array.shape[1]} features, but MultiViewRKM is expecting {width} features."
                )
        views, seen = complete_or_missing(arrays, self.view_names_)
        return views, seen, np.result_type(*[float_dtype(view) for view in views if view is not None])

    def _position(self, view: Any) -> int:
        """The position of a view given by name or position."""
        if view in self.view_names_:
            return self.view_names_.index(view)
        if (
            isinstance(view, int | np.integer)
            and not isinstance(view, bool)
            and -len(self.view_names_) <= view < len(self.view_names_)
        ):
            return int(view) % len(self.view_names_)
        raise ValueError(f"view={view!r} is not one of the views {self.view_names_!r}, nor a position among them.")

    def _posterior(self, views: list[Any], seen: Array, trusts: Any = None) -> Posterior:
        if self._gaussian.noise_variance == 0:
            self._warn_singular(seen)
        return self._subspace.posterior(self._gaussian, views, seen, trusts=trusts)

    def _warn_singular(self, seen: Array) -> None:
        """Without noise, views that do not determine all components leave the rest at the prior: say so [8]."""
        q = self.n_components_
        for pattern in np.unique(seen, axis=0):
            if pattern.all() or not pattern.any():
                continue
            overlap = sum(part.overlap for part, here in zip(self._subspace.parts, pattern) if here)
            rank = int((np.linalg.eigvalsh(overlap) > SEEN).sum())
            if rank < q:
                shown = [name for name, here in zip(self.view_names_, pattern) if here]
                warnings.warn(
                    f"The views {shown!r} determine {rank} of the {q} components and the noise is 0, so the system of AC eq. 15 is "
                    "singular; the other components are left at their prior. Use noise_variance='ml' or 'per-view', or at most "
                    f"n_components={rank}.",
                    NumericalWarning,
                    stacklevel=4,
                )

    def _turned(self, latent: Array) -> Array:
        return latent if self._rotation is None else latent @ self._rotation

    def transform(self, X: Any) -> Array:
        """The posterior mean E[z | whatever views a row shows] [8]; rows that show none get the prior mean 0.

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        views, seen, dtype = self._check_views(X)
        return self._turned(self._posterior(views, seen).mean).astype(dtype, copy=False)

    def posterior(self, X: Any) -> Posterior:
        """z given the views shown, ``.mean`` (n, q), ``.covariance`` (q, q) or (n, q, q), ``.sample(n_draws)`` [8]."""
        views, seen, _ = self._check_views(X)
        found = self._posterior(views, seen)
        if self._rotation is None:
            return found
        return Posterior(self._turned(found.mean), self._rotation.T @ found.covariance @ self._rotation)

    def scores(self, X: Any) -> Array:
        """The principal scores t = Uᵀ(φ - μ) of the concatenated (scaled) views; unseen ones at their expectation."""
        return self._by_pattern(X, self._gaussian.complete_scores)

    def residual(self, X: Any) -> Array:
        """Squared distance of the views shown to the principal subspace, in units of the scaled views [2]."""
        return self._by_pattern(X, self._gaussian.residual)

    def mahalanobis(self, X: Any) -> Array:
        """The squared Mahalanobis distance of the views shown [2]."""
        return self._by_pattern(X, self._gaussian.mahalanobis)

    @property
    def score_samples(self) -> Any:
        """``score_samples(X)``: the log-likelihood of the views that each row shows [2, 8]; there is none at zero noise."""
        try:
            if "_model" in vars(self):
                self._gaussian.require_noise("score_samples")
            elif not isinstance(self.noise_variance, str) and self.noise_variance == 0:
                raise ValueError(
                    "score_samples needs noise, but noise_variance=0. Use residual(X), or another noise_variance."
                )
        except ValueError as error:
            raise NoDensityError(str(error)) from None
        return self._log_densities

    def _log_densities(self, X: Any) -> Array:
        _, seen, dtype = self._check_views(X)
        scale = np.array([part.dim * np.log(part.scale) if part.scale > 0 else 0.0 for part in self._subspace.parts])
        return (self._by_pattern(X, self._gaussian.log_density) + seen @ scale).astype(dtype, copy=False)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of the rows; at zero noise, where there is none, minus the mean squared residual."""
        check_is_fitted(self)
        if self._gaussian.noise_variance == 0:
            return -float(np.mean(self.residual(X), dtype=np.float64))
        return float(np.mean(self.score_samples(X), dtype=np.float64))

    def _by_pattern(self, X: Any, verb: Any) -> Array:
        views, seen, dtype = self._check_views(X)
        for part in self._subspace.parts:
            if isinstance(part.subspace, DualSubspace) and part.subspace.points is None:
                raise ValueError(
                    "With a precomputed kernel k(y, y) is not known, so there are no distances and densities."
                )
        parts = [(rows, verb(projection)) for rows, projection in self._subspace.patterns(views, seen)]
        out = np.empty((len(seen), *parts[0][1].shape[1:]))
        for rows, values in parts:
            out[rows] = values
        return out.astype(dtype, copy=False)

    # ------------------------------------------------------------ trust

    @atomic
    def calibrate(self, X: Any, questions: Any = None, *, n_folds: int = 5) -> MultiViewRKM:
        """Learn from held-out rows how far `predict_view` may trust the views shown.

        The likelihood understates the noise along the principal axes. For each question, "view v from the views o", the noise of
        the views o is divided by the trust of the least cross-validated error: ridge regression within the kept components, in
        the same Gaussian. The held-out residuals also give the standard deviations: 1.645 of them cover 90 %. Only `predict_view`
        and only these questions change; latents and densities stay those of the model.

        Parameters
        ----------
        X : table, list or dict of views
            The training views; rows that miss a view are left out.
        questions : list of (given, view), optional
            ``given`` is the view shown, or a list of them. None: every view with explicit features from all others.
        n_folds : int, default=5

        Returns
        -------
        MultiViewRKM
            With ``trusts_``, a list of (given, view, trust, std).

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import MultiViewRKM
        >>> rng = np.random.default_rng(0)
        >>> z = rng.standard_normal((60, 1))
        >>> views = {name: z + rng.standard_normal((60, 20)) for name in ("a", "b")}
        >>> model = MultiViewRKM(10, noise_variance="ml").fit(views).calibrate(views)
        >>> [(given, view, trust < 1) for given, view, trust, _ in model.trusts_]
        [(['b'], 'a', True), (['a'], 'b', True)]
        """
        check_is_fitted(self)
        check_count("n_folds", n_folds, 2)
        if self._gaussian.noise_variance == 0:
            raise ValueError(
                "calibrate divides the noise of views, but noise_variance is 0. Use noise_variance='ml', 'per-view' or a number."
            )
        views, seen, _ = self._check_views(X)
        asked = self._questions(questions)
        rows = np.flatnonzero(seen.all(axis=1))
        complete = [np.asarray(view)[rows] for view in views] if len(rows) else []
        folds = dealt_folds(np.hstack(complete), n_folds) if complete else None
        if folds is None or not folds.usable:
            raise ValueError(
                f"calibrate needs at least 10 distinct rows that show all views, got {len(rows)}. Give more rows."
            )
        built = tuple(fitted_view(part.subspace, view) for part, view in zip(self._subspace.parts, complete))
        table = ViewTable(built, np.full(len(rows), 1.0 / len(rows)), float(len(rows)))
        space, _ = choose_space("auto", table, self.view_names_)
        sample = ViewSample(table, np.array([part.scale for part in self._subspace.parts]), space)
        solver, _ = chosen_solver(as_solver("auto"), sample.operator().size, self.n_components_)
        trusts = held_out_trusts(sample, self.n_components_, self._gaussian.noise_variance, solver, folds, asked)
        names = self.view_names_
        self.trusts_ = [
            ([names[w] for w in given], names[v], trust, std)
            for (given, v), (trust, std) in zip(asked, trusts, strict=True)
        ]
        return self

    def _questions(self, questions: Any) -> list[Question]:
        """Positions of the views shown, in their order, and of the one to be predicted."""
        everyone = range(len(self.view_names_))
        explicit = [not isinstance(part.subspace, DualSubspace) for part in self._subspace.parts]
        if questions is None:
            asked = [(tuple(w for w in everyone if w != v), v) for v in everyone if explicit[v]]
        else:
            asked = [self._question(question) for question in questions]
        for given, v in asked:
            if not given or v in given:
                raise ValueError(f"View {self.view_names_[v]!r} must be predicted from other views, at least one.")
            if not explicit[v]:
                raise ValueError(
                    f"View {self.view_names_[v]!r} has a kernel only, so there is no error of its features. Leave it out of "
                    "questions, or give it a feature map."
                )
        if not asked:
            raise ValueError("No view has explicit features, so there is nothing to calibrate.")
        return asked

    def _question(self, question: Any) -> Question:
        if not isinstance(question, list | tuple) or len(question) != 2:
            raise ValueError(
                f"questions holds {question!r}, which is not a pair (given, view): the views shown, and the view they predict."
            )
        given, view = question
        shown = list(given) if isinstance(given, list | tuple | set | frozenset) else [given]  # a name is one view
        return tuple(sorted({self._position(w) for w in shown})), self._position(view)

    def _calibrated(self, v: int) -> dict[tuple[int, ...], tuple[float, Array]]:
        """Trust and standard deviations of the questions about view v, by the positions of the views shown."""
        name = self.view_names_[v]
        return {
            tuple(self.view_names_.index(w) for w in given): (trust, std)
            for given, view, trust, std in getattr(self, "trusts_", [])
            if view == name
        }

    # ------------------------------------------------------------ views

    def predict_view(self, X: Any, view: Any, return_std: bool = False) -> Any:
        """A view from the others: E[φ_v | o] = μ_v + W_v E[z | o], mapped back to inputs [8].

        Parameters
        ----------
        X : table, list or dict of views
            Whatever other views are known; what is given of ``view`` itself is not looked at.
        view : name or position
        return_std : bool, default=False
            Also the predictive standard deviations, for linear views.

        Returns
        -------
        ndarray of shape (n_samples, number of columns of the view), or (mean, std)
        """
        check_is_fitted(self)
        v = self._position(view)
        views, seen, dtype = self._check_views(self._without(X, v))
        part = self._subspace.parts[v]
        if return_std and not part.invertible:
            raise ValueError(
                f"return_std needs a view whose features are its inputs (a linear kernel); view {self.view_names_[v]!r} has not."
            )
        seen = seen.copy()
        seen[:, v] = False
        known = self._calibrated(v)
        posterior = self._posterior(views, seen, {shown: trust for shown, (trust, _) in known.items()})
        mean = self._inputs(v, self._gaussian.decode(posterior.mean)).astype(dtype, copy=False)
        if not return_std:
            return mean
        variance = predictive_variance(part, self._gaussian.gains, posterior.covariance) + self.noise_variances_[v]
        std = np.broadcast_to(np.sqrt(variance), mean.shape).astype(dtype)
        for shown, (_, calibrated) in known.items():
            std[(seen == np.isin(np.arange(seen.shape[1]), shown)).all(axis=1)] = calibrated
        return mean, std

    def _without(self, X: Any, v: int) -> Any:
        """The same views with the one to be predicted taken out, where it can be: its values are not looked at."""
        kind = kind_of(X)
        if kind == "dict" and self.view_names_[v] in X and len(X) > 1:
            return {name: value for name, value in X.items() if name != self.view_names_[v]}
        if (
            kind == "list"
            and len(X) == len(self.view_names_)
            and any(item is not None for i, item in enumerate(X) if i != v)
        ):
            return [None if i == v else item for i, item in enumerate(X)]
        return X

    def inverse_transform(self, Z: Any) -> Any:
        """Every view of the latents Z, E[φ_v | z] = μ_v + W_v z mapped back to inputs, in the container given to `fit`.

        Linear views are exact; views with a kernel go through ``preimage``.
        """
        check_is_fitted(self)
        Z = check_table(None, Z, reset=False, name="Z", ensure_min_features=0)
        if Z.shape[1] != self.n_components_:
            raise ValueError(f"Z has {Z.shape[1]} columns, but the model has n_components_={self.n_components_}.")
        latent = Z if self._rotation is None else Z @ self._rotation.T
        scores = self._gaussian.decode(latent)
        return self._contained(
            [self._inputs(v, scores).astype(Z.dtype, copy=False) for v in range(len(self.view_names_))]
        )

    def _contained(self, views: list[Array]) -> Any:
        if self._container == "dict":
            return dict(zip(self.view_names_, views))
        if self._container == "list":
            return views
        assert self._columns is not None
        columns = np.concatenate(self._columns)
        return np.hstack(views)[:, np.argsort(columns)]

    def reconstruct(self, X: Any) -> Any:
        """Every view given the views shown: `inverse_transform` of `transform`."""
        return self.inverse_transform(self.transform(X))

    def sample(self, n_samples: int = 1, *, latent: Any = None, random_state: Any = None) -> Any:
        """Draw all views of new rows, or (``latent=Z``) of given latents.

        Linear views carry their noise; views with a kernel are the pre-images of the noise-free feature point.
        """
        check_is_fitted(self)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        if latent is None:
            Z = rng.standard_normal((check_count("n_samples", n_samples, 1), self.n_components_))
        else:
            Z = check_table(None, latent, reset=False, name="latent")
            Z = Z if self._rotation is None else Z @ self._rotation.T
        scores = self._gaussian.decode(Z)
        views = []
        for v, part in enumerate(self._subspace.parts):
            rows = self._inputs(v, scores)
            if part.invertible:
                rows = rows + np.sqrt(self.noise_variances_[v]) * rng.standard_normal(rows.shape)
            views.append(rows)
        return self._contained(views)

    def _fit_preimages(self, built: list[View]) -> None:
        self.preimages_: list[Any] = []
        for view in built:
            feature_map = view.feature_map if isinstance(view, ExplicitView) else None
            identity = isinstance(view, ExplicitView) and feature_map is None
            if identity or hasattr(feature_map, "inverse_transform") or view.points is None:
                self.preimages_.append(None)
                continue
            kernel = view.kernel if isinstance(view, KernelView) else getattr(feature_map, "kernel_", Precomputed())
            method = preimage_for(kernel, self.preimage)
            method = clone(method) if hasattr(method, "get_params") else method
            gram = (
                view.gram(np.full(view.n_rows, 1 / view.n_rows)).to_dense()
                if getattr(method, "needs_gram", True)
                else None
            )
            scores = np.sqrt(len(self.latents_)) * self.latents_ if view.n_rows == len(self.latents_) else None
            self.preimages_.append(method.fit(view.points, gram, kernel=kernel, scores=scores))

    def _inputs(self, v: int, scores: Array) -> Array:
        """Inputs of view v from principal scores."""
        part = self._subspace.parts[v]
        if part.invertible:
            return part.decoded(scores)
        subspace = part.subspace
        if hasattr(getattr(subspace, "feature_map", None), "inverse_transform"):
            return np.asarray(subspace.feature_map.inverse_transform(part.decoded(scores)), dtype=np.float64)
        method = self.preimages_[v]
        if method is None:
            raise ValueError(
                f"View {self.view_names_[v]!r} has a precomputed kernel, so there are no inputs to map back to."
            )
        unscaled = scores / part.scale if part.scale else np.zeros_like(scores)
        weights, values = subspace.embed(unscaled), subspace.kernel_values(unscaled)
        if not hasattr(method, "transform_with_info"):
            return np.asarray(method.transform(weights, values))
        rows, info = method.transform_with_info(weights, values)
        if not np.all(info.converged):
            warnings.warn(
                f"{int((~info.converged).sum())} of {len(rows)} pre-images of view {self.view_names_[v]!r} did not converge.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return np.asarray(rows, dtype=np.float64)

    def explain(self) -> str:
        """Which of AC's four algorithms was run, and why (AC figure 1)."""
        check_is_fitted(self)
        return f"{self.algorithm_}: {self._reason}. {self.solver_!r}; residual {self.residual_norm_:.1e} of the largest eigenvalue."
