"""PPCA of rows that come batch by batch: only their moments are kept, and the model is made of them on its first use [1, 13]."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np

from gramian._arrays import float_dtype
from gramian._checks import check_number, check_table, check_weights, positive_rows
from gramian._progress import Progress
from gramian._types import Batches, Points, Table, Weights
from gramian.evidence.fold_stream import FoldStream
from gramian.evidence.selection import Selection
from gramian.evidence.tables import choose_for_moments
from gramian.latent.sample import MomentSample
from gramian.operators.moments import Moments
from gramian.rows import BatchRows, is_one_shot
from gramian.single.answers import BaseEstimator, atomic, forget
from gramian.single.hole_fit import check_finite_or_missing, has_holes
from gramian.single.primal_answers import PrimalMixin

PRIVATE = ("_model", "_moments", "_n_rows", "_tail", "_stream", "_column_weights", "_dtype", "_held_out_spe")
LAZY = frozenset(
    [
        "_model",
        "mean_",
        "components_",
        "loadings_",
        "rotation_",
        "n_components_",
        "noise_variance_",
        "explained_variance_",
        "explained_variance_ratio_",
        "residual_norm_",
        "n_iter_",
        "solver_",
        "solver_reason_",
        "log_likelihoods_",
        "objectives_",
        "converged_",
        "n_samples_",
        "selection_",
        "_tail",
        "_column_weights",
    ]
)


class PrimalStream(PrimalMixin, BaseEstimator):
    """The ways of `PPCA` to batches. A subclass provides ``_check_params``, ``_chooses``, ``_fit_rows`` and ``_fit_sample``."""

    _fitted_by = "components_"  # a model of which only the moments are known has nothing else yet

    center: bool
    noise_variance: Any
    verbose: int
    _moments: Annotated[Moments, "maybe its d"]
    _n_rows: Annotated[int, "maybe count"]
    _dtype: Annotated[str, "maybe dtype"]  # of the rows
    _stream: FoldStream

    def _wrong_state(self) -> str | None:
        """What a model file may not leave out: axes or moments, and what goes with them."""
        state = vars(self)
        needed = {"_n_rows", "_dtype"} if "_moments" in state else set()
        if "_model" in state or ("n_features_in_" in state and not needed):
            needed.add("components_")
        return next((f"{name} is missing" for name in sorted(needed - state.keys())), None)

    @atomic
    def partial_fit(
        self, X: Table, y: object = None, sample_weight: Weights = None, *, forgetting: float = 1.0
    ) -> Self:
        """Add a batch of complete rows; the result equals `fit` on all rows so far, whatever the batches [1, 13].

        Only moments are kept, one per fold where q is to be chosen; the decomposition is made when the model is first used.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.
        forgetting : float in (0, 1], default=1
            What all earlier rows still count when this batch comes: with 0.9 a batch of ten batches ago counts 0.35 of this one, so that the
            model follows a process that drifts. 1: nothing is forgotten [21].

        Returns
        -------
        PPCA

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import numpy as np
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).partial_fit(X[:50]).partial_fit(X[50:])
        >>> np.allclose(model.components_, PPCA(n_components=2).fit(X).components_)
        True
        """
        self._check_params()
        check_number("forgetting", forgetting, 0.0, 1.0, open_low=True)
        if self.noise_variance == "per-column":
            raise ValueError(
                "partial_fit keeps moments only, which noise_variance='per-column' cannot be fitted to. Use fit, or fit_batches."
            )
        fresh = "_moments" not in vars(self)
        if fresh:
            forget(self, *PRIVATE)
        else:
            for name in LAZY & vars(self).keys():
                delattr(self, name)
        X = check_table(self, X, reset=fresh, missing=True, accept_sparse=True, min_samples=0, ensure_all_finite=False)
        if X.shape[0] == 0:
            if fresh:
                raise ValueError("The first batch has 0 rows. Give at least one row.")
            return self
        X, weights = positive_rows(X, check_weights(sample_weight, X))
        with np.errstate(all="ignore"):  # what is not finite shows in the moments
            batch = Moments.of(X, None if sample_weight is None else weights)
        if not np.isfinite(np.trace(batch.scatter)):
            check_finite_or_missing(X)
            if has_holes(X):
                raise ValueError(
                    "partial_fit streams complete rows, but X contains NaN. Use fit, or fit_batches with a source that can be read "
                    "again: both handle missing values exactly."
                )
        self._moments = batch if fresh else self._moments.faded(forgetting).merge(batch)
        self._n_rows = X.shape[0] if fresh else self._n_rows + X.shape[0]
        single = float_dtype(X) == np.float32 and (fresh or self._dtype == "float32")
        self._dtype = "float32" if single else "float64"
        if self._chooses:
            stream = FoldStream() if fresh else vars(self).get("_stream")
            if stream is None:
                raise ValueError(
                    "n_components was not 'auto' when the first rows came, so no folds were kept. Start anew, or give an integer."
                )
            self._stream = stream.faded(forgetting).add(X, weights)
        return self

    @atomic
    def fit_batches(self, source: Batches) -> Self:
        """Fit on all rows of batches, out of core; equal to `fit` on the concatenated rows, whatever the batches [5, 13].

        Parameters
        ----------
        source : list, other iterable that can be read again, or function that opens an iterator
            A batch is an array, a frame or an Arrow batch, or (X, sample_weight). Rows with holes need several passes; an iterator that can
            be read only once is taken for complete rows.

        Returns
        -------
        PPCA

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import numpy as np
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(n_components=2).fit_batches([X[:50], X[50:]])
        >>> np.allclose(model.components_, PPCA(n_components=2).fit(X).components_)
        True
        """
        self._check_params()
        if not is_one_shot(source):
            forget(self, *PRIVATE)
            return self._fit_rows(BatchRows.of(source))
        self.__dict__.pop("_moments", None)
        with Progress("batches", verbose=self.verbose) as bar:
            for batch in source:
                X, weights = batch if isinstance(batch, tuple) else (batch, None)
                if getattr(X, "num_rows", None) == 0 or (hasattr(X, "__len__") and len(X) == 0):
                    continue
                self._stream_batch(X, weights)
                bar.step()
        if "_moments" not in vars(self):
            raise ValueError("source held no rows. Give an iterable of at least one non-empty batch.")
        self._finalise()
        return self

    def _stream_batch(self, X: Points, weights: Any) -> None:
        try:
            self.partial_fit(X, sample_weight=weights)
        except ValueError as error:
            if "partial_fit streams complete rows" not in str(error):
                raise
            raise ValueError(
                "The batches come from an iterator that can be read only once, but they contain NaN, which needs several passes. Give "
                "fit_batches a list, or a function that opens the iterator anew."
            ) from None

    def _finalise(self) -> None:
        """Decompose the moments that `partial_fit` has gathered."""
        if self._n_rows < 2:
            raise ValueError(
                f"PPCA needs at least 2 rows, but partial_fit has seen {self._n_rows} (n_samples = {self._n_rows})."
            )
        sample = MomentSample(self._moments, self._n_rows, self.center, single=self._dtype == "float32")
        self._column_weights = np.full(len(self._moments.mean), self._moments.weight)

        def selected() -> Selection | None:
            stream = vars(self).get("_stream")  # kept only where q was open while rows came
            return choose_for_moments(stream.judged, sample) if stream is not None and stream.folds else None

        self._fit_sample(sample, self._moments.weight, selected)
