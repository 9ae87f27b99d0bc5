"""The way of a dual Gaussian back to inputs: pre-images of rows and latents, and what held-out rows say of them [4, 10]."""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, Kept, float_dtype
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    finite_answers,
    is_auto,
)
from gramian._content import row_hashes
from gramian._memory import memory_budget, require_memory
from gramian._threads import threads_for_rows
from gramian._types import Table
from gramian.evidence.selection import Selection
from gramian.exceptions import NumericalWarning, warn
from gramian.kernels import Kernel
from gramian.latent.anomaly import Anomaly
from gramian.latent.gaussian import Projection
from gramian.latent.noise_field import UnitNoise
from gramian.operators.gram import LazyGram
from gramian.preimage import PreImage, as_preimage, by_scores, inputs_of, warn_unsettled
from gramian.rows import lazily
from gramian.single.drift import DriftMixin
from gramian.single.dual_answers import DualMixin
from gramian.single.kernel_held_out import HeldOutLimits, HeldOutRows, held_out_std
from gramian.single.preimage_choice import Nearness, PreimageEvidence, preimage_evidence


class DualInputsMixin(DriftMixin, DualMixin):
    """The methods of `KernelPPCA` that end in inputs, or compare with them."""

    kernel_: Annotated[Kernel, "Kernel"]
    preimage: Any
    memory_limit: Any
    X_fit_: Annotated[Any, "maybe n d"]
    _weights: Annotated[Array | None, "+ n"]
    _held: tuple[Any, Array] | None = None
    _kept: Annotated[Kept, ""]

    # ------------------------------------------------------------ pre-images, fitted on need

    solver_: Any
    solver_reason_: str
    eigenvectors_: Array
    selection_: Selection

    @property
    def preimage_(self) -> Any:
        """The fitted pre-image; with "auto" a dict with the keys "reconstruct", "denoise", "latent", "sample"; None without inputs."""
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} is not fitted: there is no preimage_ yet.")
        if not self._auto_preimage:
            return self.__dict__.get("_preimage")
        return self._on_need("preimages", self._chosen_preimages) if self._has_inputs else None

    def _on_need(self, name: str, make: Any) -> Any:
        with threads_for_rows(0 if self.X_fit_ is None else self.X_fit_.shape[0]):
            return self._kept.get(name, make)

    def _chosen_preimages(self) -> dict[str, Any]:
        return {job: self._kept_preimage(name) for job, name in self._evidence.names.items()}

    def _kept_preimage(self, name: str) -> Any:
        return self._on_need(f"preimage {name}", lambda: self._fitted_preimage(name))

    @property
    def _auto_preimage(self) -> bool:
        return is_auto(self.preimage)

    @property
    def _has_inputs(self) -> bool:
        return self.X_fit_ is not None and not sparse.issparse(self.X_fit_)

    @property
    def _evidence(self) -> PreimageEvidence:
        """What held-out rows say of pre-images."""
        return self._on_need("evidence", lambda: preimage_evidence(self, self._held_source()))

    @property
    def _errors(self) -> Array:
        """Of held-out rows, one standard deviation per column."""
        method = self._evidence.names["reconstruct"] if self._auto_preimage else self.preimage
        return self._on_need("std", lambda: held_out_std(self, self._held_source(), method))

    @property
    def _limits(self) -> HeldOutLimits:
        """T² and SPE of held-out rows."""
        return self._on_need("limits", lambda: HeldOutLimits.of(self, self._held_source()))

    @property
    def _nearness(self) -> Nearness:
        """How near to the data a new row is."""
        source = self._held_source()
        return self._on_need("nearness", lambda: Nearness.of(source.rows, source.weights))

    @property
    def _near_latents(self) -> Nearness:
        """How near to those of training rows the latents of a new row are, in units of feature space."""
        means, weights = self._training_latents()
        first, inverse = self._distinct_points()
        totals = np.bincount(inverse, weights)
        return self._on_need("near_latents", lambda: Nearness.of(self._gaussian.decode(means[first]), totals))

    def _training_latents(self) -> tuple[Array, Array]:
        """E[z | x] of the points that the model keeps, and their weights."""
        scores = self._model.subspace.point_scores()
        means = self._gaussian.posterior(Projection(scores, np.zeros(len(scores)), self._gaussian.dim)).mean
        return means, np.ones(len(means)) if self._weights is None else self._weights

    def _held_source(self) -> HeldOutRows:
        subspace = self._model.subspace
        if self._held is not None:
            return HeldOutRows(*self._held)
        assert self._weights is not None
        return HeldOutRows(self.X_fit_, self._weights, subspace.gram if self._precomputed else None)

    def _distinct_points(self) -> tuple[Array, Array]:
        """Positions of the first copies of the points that weights refer to, and for each point which it is."""
        _, first, inverse = np.unique(row_hashes(self.X_fit_), return_index=True, return_inverse=True)
        if len(first) < len(inverse) and not np.array_equal(self.X_fit_[first][inverse], self.X_fit_):
            # hashes see 24 bits: about a large offset they take different rows for one
            _, first, inverse = np.unique(self.X_fit_, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)  # in the order of the points
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return first[order], place[inverse.ravel()]

    def _fit_preimage(self) -> None:
        """A method that was asked for is fitted now: what does not suit the kernel is an error at once."""
        if self._auto_preimage:
            return
        self._preimage = self._fitted_preimage(self.preimage) if self._has_inputs else None

    def _fitted_preimage(self, preimage: Any) -> Any:
        """``preimage`` fitted to the distinct rows that weights refer to."""
        method = clone(as_preimage(preimage, kernel=self.kernel_))
        first, inverse = self._distinct_points()
        gram = None
        if getattr(method, "needs_gram", True):
            size = len(first)
            require_memory(
                16 * size * size,
                memory_budget(self.memory_limit, 16 * size * size),
                f"preimage={preimage!r} on {size} points",
                "Use preimage='smoother', which stores nothing, or approximation='nystroem'.",
            )
            points = self.X_fit_[first]
            given = self._model.subspace.gram
            gram = LazyGram(self.kernel_, points).to_dense() if given is None else given[np.ix_(first, first)]
        options: dict[str, Any] = {"kernel": self.kernel_, "scores": self._model.subspace.point_scores()[first]}
        if isinstance(method, PreImage):
            weights = self._held_source().weights
            options["sample_weight"] = np.bincount(inverse, weights[: len(inverse)])
        return method.fit(self.X_fit_[first], gram, **options)

    def _map_scores(self, seen: Projection) -> Array:
        """The scores of μ + W E[z | x]."""
        return self._gaussian.decode(self._gaussian.posterior(seen).mean)

    def _decoded(self, method: Any, scores: Array) -> Array:
        """Inputs by a fitted pre-image, quietly: how held-out rows are answered."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return np.asarray(self._answers(method, scores)[0], dtype=np.float64)

    # ------------------------------------------------------------ back to inputs

    @finite_answers
    def inverse_transform(self, Z: Table, return_info: bool = False, return_std: bool = False) -> Any:
        """Inputs whose features are nearest to E[φ | z], by the chosen pre-image [4].

        With ``preimage="auto"`` latents where no row maps, farther from those of every training row than 99 % of rows are (or together
        farther than chance explains), take the method of "latent", which keeps latents of the prior on the data.

        Parameters
        ----------
        Z : array-like of shape (n, n_components_)
        return_info : bool, default=False
            Also return what the method reports, such as ``info.converged``.
        return_std : bool, default=False
            Also return standard deviations of the row itself, (n, n_features), in input units: the error of held-out rows.

        Returns
        -------
        rows, or a tuple (rows[, std][, info])

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2, preimage="smoother").fit(X)
        >>> model.inverse_transform([[0.0, 0.0]]).shape
        (1, 4)
        >>> rows, info = model.inverse_transform([[0.0, 0.0]], return_info=True)
        """
        check_flag("return_info", return_info)
        check_flag("return_std", return_std)
        Z = self._check_latents(Z)
        scores = self._gaussian.decode(Z)
        rows, info = self._preimages(scores, "reconstruct")
        if self._differs("latent"):
            off = self._near_latents.off(scores)
            if off.any():
                rows = rows.copy()
                rows[off], found = self._preimages(scores[off], "latent")
                info = info.replaced(off, found)
        rows = rows.astype(float_dtype(Z), copy=False)
        found = (rows, *((self._std(rows),) if return_std else ()), *((info,) if return_info else ()))
        return found if len(found) > 1 else rows

    @lazily
    def reconstruct(self, X: Table, kind: str = "map", return_std: bool = False) -> Any:
        """The rows as the model sees them: the pre-image of μ + W E[z|x] ("map") or of the projection ("projection") [2, 4].

        With ``preimage="auto"`` rows farther off the subspace than any of as many held-out rows would be (at 99 %) are denoised; all rows, where together they
        lie farther off than chance explains, as noise that all of them share makes them. They are a mix of what "reconstruct" and "denoise" give: the share that held-out rows want that noise has
        carried as far off. ``return_std=True`` adds standard deviations of the row itself, (n, n_features), in input units, from held-out rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        kind : {"map", "projection"}, default="map"
            Shrunk as the posterior is, or the nearest point of the subspace.
        return_std : bool, default=False
            Also return the standard deviations.

        Returns
        -------
        ndarray of shape (n_samples, n_features), or (ndarray, std)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2, preimage="smoother").fit(X)
        >>> model.reconstruct(X).shape
        (50, 4)
        """
        check_choice("kind", kind, ("map", "projection"))
        check_flag("return_std", return_std)
        check_is_fitted(self)
        X = self._check_rows(X)
        seen = self._project(X)
        scores = seen.scores if kind == "projection" else self._map_scores(seen)
        rows = self._preimages(scores, "reconstruct")[0]
        if self._differs("denoise") and not self._precomputed:
            noisy, share = self._limits.noisy_rows(self._gaussian.residual(seen), self._evidence.shares)
            if noisy.any():
                rows = rows.copy()
                rows[noisy] += share[:, None] * (self._preimages(scores[noisy], "denoise")[0] - rows[noisy])
        rows = rows.astype(float_dtype(X), copy=False)
        return (rows, self._std(rows)) if return_std else rows

    def _differs(self, job: str) -> bool:
        """Whether another pre-image than that of "reconstruct" was chosen for this."""
        method = self.preimage_
        return isinstance(method, dict) and method[job] is not method["reconstruct"]

    def _std(self, rows: Array) -> Array:
        return np.broadcast_to(self._errors, rows.shape).astype(rows.dtype)

    def _preimages(self, scores: Array, job: str, noise: UnitNoise | None = None) -> tuple[Array, Any]:
        method = self.preimage_
        if method is None:
            reason = "sparse inputs" if self.X_fit_ is not None else "a precomputed kernel without fit(K, inputs=X)"
            raise ValueError(
                f"There are no pre-images with {reason}: give dense inputs to fit. decode_weights works all the same."
            )
        rows, info = self._answers(method[job] if isinstance(method, dict) else method, scores, noise)
        warn_unsettled(info)
        return rows, info

    def _answers(self, method: Any, scores: Array, noise: UnitNoise | None = None) -> tuple[Array, Any]:
        """What a fitted pre-image makes of feature points; copies of a row are one point to it."""
        subspace = self._model.subspace
        weights, values = subspace.embed(scores), subspace.kernel_values(scores)
        if noise is not None:
            level = np.sqrt(self.noise_variance_)
            values = values + level * noise.values
            if noise.scores is None or not by_scores(method):
                weights = weights + level * noise.weights
            scores = scores if noise.scores is None else scores + level * noise.scores
        first, inverse = self._distinct_points()
        if len(first) < len(inverse):
            merge = sparse.csr_array((np.ones(len(inverse)), (np.arange(len(inverse)), inverse)))
            weights, values = weights @ merge, values[:, first]
        return inputs_of(method, weights, values, scores)

    def interpolate(self, a: Any, b: Any, n_steps: int = 10) -> Array:
        """Inputs on the straight latent line from one row to another, through the pre-image [2, 4].

        Parameters
        ----------
        a, b : array-like of shape (n_features,)
            The rows at the ends.
        n_steps : int, default=10
            Points on the line, ends included.

        Returns
        -------
        ndarray of shape (n_steps, n_features)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2, preimage="smoother").fit(X)
        >>> model.interpolate(X[0], X[-1], n_steps=5).shape
        (5, 4)
        """
        ends = self.transform(np.vstack([np.asarray(a, dtype=float).ravel(), np.asarray(b, dtype=float).ravel()]))
        share = np.linspace(0.0, 1.0, check_count("n_steps", n_steps, 2))[:, None]
        return np.asarray(self.inverse_transform((1 - share) * ends[0] + share * ends[1]))

    # ------------------------------------------------------------ what does not fit

    @finite_answers
    def anomaly(self, X: Table, level: float = 0.99, diagonal: Table | None = None) -> Anomaly:
        """T² along and SPE off the principal subspace of feature space, with p-values and limits from held-out rows [2, 10].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        level : float in (0, 1), default=0.99
            The share of new rows that the limits let pass.
        diagonal : array-like of shape (n_samples,), optional
            k(y, y) of the rows, with a precomputed kernel.

        Returns
        -------
        Anomaly
            ``contributions`` (n, d) are the squared errors of the reconstruction over those of held-out rows; without pre-images
            (n, 0).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2, preimage="smoother").fit(X)
        >>> model.anomaly(X[:2]).flags.tolist()
        [False, False]
        """
        level = check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
        checked = self._checked_diagonal(X, diagonal, "anomaly")
        X = self._check_rows(X)
        seen = self._project(X, diagonal=checked)
        t2, spe, limits = self._gaussian.t_squared(seen), self._gaussian.residual(seen), self._limits
        if not limits.spe.total > 0:
            warn(
                f"Limits and p-values of T² and SPE are unknown: {self._held_source().n_distinct()} distinct rows are too few, or weigh too little, to hold some out. "
                "The limits are infinite and the p-values 1. Fit more rows.",
                NumericalWarning,
            )
        contributions = np.empty((len(t2), 0))
        if self._has_inputs and not self._precomputed:
            spread = np.where(self._errors > 0, self._errors, 1.0)
            rebuilt = self._preimages(self._map_scores(seen), "reconstruct")[0]
            contributions = np.nan_to_num(((np.asarray(X, dtype=np.float64) - rebuilt) / spread) ** 2, nan=0.0)
        return Anomaly(
            t2,
            spe,
            limits.t2.p_values(t2) if self.n_components_ else np.ones_like(t2),
            limits.spe.p_values(spe),
            limits.t2.limit(level) if self.n_components_ else 0.0,
            limits.spe.limit(level),
            contributions,
            level,
            columns=tuple(map(str, getattr(self, "feature_names_in_", ()))),
        )

    def explain(self) -> str:
        """Which solver was run, and why, how q was chosen, and which pre-images, where they were needed already."""
        words = [super().explain()]
        if hasattr(self, "selection_"):
            words.append(f"{self.selection_.reason}.")
        evidence = self.__dict__["_kept"].peek("evidence") if "_kept" in self.__dict__ else None
        if evidence is not None:
            words.extend(f"{chosen.reason}." for chosen in evidence.selections.values())
        return " ".join(words)
