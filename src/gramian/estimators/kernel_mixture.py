"""KernelPPCAMixture: clusters with their own nonlinear subspaces, as a mixture of kernel PPCA models."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array
from gramian._checks import (
    check_choice,
    check_count,
    check_number,
    check_table,
    check_tolerance,
    check_weights,
    is_auto,
    refuse_dask,
    starting_generator,
)
from gramian._content import SmallestRows, row_hashes
from gramian._types import Batches, RandomState, Table, Weights
from gramian.evidence.selection import Selection
from gramian.exceptions import NumericalWarning, warn
from gramian.features import approximations
from gramian.kernels import RBF, is_precomputed
from gramian.kernels.gram_checks import warn_of_offset, warn_without_structure
from gramian.kernels.units import standardizes
from gramian.latent.feature_moments import draw_rows
from gramian.latent.model import warn_if_indefinite
from gramian.latent.units import Units
from gramian.mixtures.answers import AUTO, check_clusters
from gramian.mixtures.choice import choose_clusters
from gramian.mixtures.cluster_strength import ClusterRows
from gramian.mixtures.dual_answers import DualMixture
from gramian.mixtures.feature_fit import block_features
from gramian.mixtures.kernel_component import DualRows, FeatureRows
from gramian.mixtures.kernel_restarts import Restarts
from gramian.mixtures.mixture import MixtureFit
from gramian.policy import CLUSTERS, KERNELS, LOOK
from gramian.preimage import as_preimage
from gramian.rows import BatchRows, Block, Rows, as_rows, is_dask
from gramian.rows.converted import rows_in_units
from gramian.single.answers import atomic, forget, keep_columns
from gramian.single.kernel_fit import distinct_rows, resolved_kernel, stored_gram
from gramian.solvers import as_solver

INITS = ("kernel_kmeans", "kmeans", "random")
SPARSE_SHARE = 1e-6
"""A component with a smaller share of the weight is reported as empty."""
EXACT = "exact"
"""An ``approximation`` that is none, however many rows there are."""
ADVICE = "Use approximation='nystroem', which stores no Gram matrix."
ROWS_ADVICE = "Use approximation='nystroem', which is fitted in sums over rows"
PRIVATE = ("_components", "_columns", "_gram", "_units", "_width")


class KernelPPCAMixture(DualMixture):
    """A mixture of kernel PPCA models in one feature space ([ZH] section 3) [6].

    Every component is the latent Gaussian φ(x) = μ_i + W_i z + ε with the responsibilities as sample weights, ε of fixed
    variance ρ, and the directions whose variance exceeds ρ. EM climbs Σ log Σ_i m_i exp(-L^_i/2), which never falls.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the largest number, up to 10, whose clusters models of different rows agree on (the prediction strength of Tibshirani and
        Walther), from at most 600 rows drawn by content [10]; one where `PPCAMixture` finds one, which halves of one Gaussian do not tell.
    n_components : "auto", int, float or list of them, default="auto"
        q of every component (a list: one for each); "auto": one common q by rows that were not fitted [10]; a fraction is settled on
        the start. A component keeps the directions above ``noise_variance`` only, so its q may be smaller: see ``n_components_``.
    kernel : "auto", str, Kernel, callable, scikit-learn GP kernel or "precomputed", default="auto"
        "auto": an RBF whose width follows the distances between neighbours, ``RBF("local")``: with the median over all pairs the
        objective itself prefers the wrong cut of two rings or moons [10].
    noise_variance : float, default=0.01
        ρ > 0, one for all components.
    standardize : bool or "auto", default=False
        Columns to unit variance on the way in, undone on the way out; "auto": unless the kernel has a numeric length scale or period,
        is a function, a scikit-learn kernel or precomputed.
    init : {"kernel_kmeans", "kmeans", "random"} or array of shape (n_samples, n_clusters), default="kernel_kmeans"
        Where the responsibilities start. "kernel_kmeans": kernel k-means on graphs of nearest neighbours in feature space
        (normalised cuts), which finds curved and interlocked clusters that a wide kernel does not; where graphs of different
        sizes disagree, EM runs from each. Restarts alternate with kernel k-means in feature space itself. "kmeans": k-means of
        the inputs. An array: responsibilities.
    n_init : int, default=1
        Starts, each a different one; the best objective is kept.
    approximation : None, "exact", "nystroem" or "rff", default=None
        Components live in the features of ``n_landmarks`` landmarks (or in so many random features), at a cost linear in N. "exact": in those of all
        rows; None: exactly up to 2,000 rows, or where a ``solver`` is asked for, and from landmarks beyond.
    n_landmarks : int or None
        None is min(N, 500).
    preimage : {"smoother", "fixed_point", "mds", "ridge", "gradient"} or object, default="smoother"
        How `sample` and `reconstruct` come back to inputs.
    tol : float, default=1e-4
        Relative change of the mean objective at which EM stops.
    max_iter : int, default=200
    random_state : None, int, Generator or RandomState
        Of the starts. None: the same starts for the same rows, whatever their order and blocks.
    verbose : int, default=0
    solver : {"auto", "eigh", "em", "krylov"} or object, default="auto"
        How a component's eigenpairs are found. "auto": small components are decomposed whole, the leading eigenpairs of large ones are
        continued from those of the last step. "em" is [ZH]'s EM for the empirical loadings Q_i.

    Attributes
    ----------
    weights_ : ndarray of shape (n_clusters,)
        Mixing weights m_i.
    responsibilities_ : ndarray of shape (n_samples, n_clusters)
        Of the training rows.
    n_components_ : list of int
        The q of every component.
    explained_variance_ : list of ndarray
        The eigenvalues l of every component.
    noise_variance_ : float
    kernel_ : Kernel
    log_likelihoods_ : ndarray
        The objective, mean per row, one per step; never decreases.
    converged_ : bool
    n_iter_ : int
    selection_ : Selection
        What was tried and how it scored, where ``n_clusters`` or else ``n_components`` was "auto".

    References
    ----------
    [6] docs/theory.md, section 6: mixtures; [10] section 10: choosing.

    Examples
    --------
    >>> from gramian import KernelPPCAMixture
    >>> from gramian.datasets import make_c_shapes
    >>> X, shape = make_c_shapes(interlocked=True, random_state=0)
    >>> labels = KernelPPCAMixture(n_clusters=2, random_state=0).fit_predict(X)
    >>> agreement = float((labels == shape).mean())
    >>> max(agreement, 1 - agreement) > 0.98
    True
    """

    explained_variance_: list[Array]
    selection_: Selection
    n_components_: Annotated[list[int], "*: width"]
    n_features_in_: Annotated[int, "=d"]
    kernel_: Annotated[Any, "Kernel"]

    def __init__(
        self,
        n_clusters: Any = 2,
        n_components: Any = AUTO,
        *,
        kernel: Any = AUTO,
        noise_variance: float = 0.01,
        standardize: bool | str = False,
        init: Any = "kernel_kmeans",
        n_init: int = 1,
        approximation: Any = None,
        n_landmarks: int | None = None,
        preimage: Any = "smoother",
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: RandomState = None,
        verbose: int = 0,
        solver: Any = AUTO,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.standardize = standardize
        self.init = init
        self.n_init = n_init
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.preimage = preimage
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.solver = solver

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.allow_nan = not is_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(
        self, X: Table, y: object = None, sample_weight: Weights = None, inputs: Table | None = None
    ) -> KernelPPCAMixture:
        """Fit by EM from the best of ``n_init`` starts [6].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or the Gram matrix with ``kernel="precomputed"``
            With an approximation also a Dask array or frame, whose rows stay where they are; no ``responsibilities_`` are kept then.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.
        inputs : array-like of shape (n_samples, n_inputs), optional
            With a precomputed kernel: the rows behind it, so that `sample` and `reconstruct` work.

        Returns
        -------
        KernelPPCAMixture

        Examples
        --------
        >>> from gramian import KernelPPCAMixture
        >>> from gramian.datasets import make_c_shapes
        >>> from gramian.kernels import RBF
        >>> X, shape = make_c_shapes(60, random_state=0)
        >>> model = KernelPPCAMixture(n_components=2, kernel=RBF(8.0), random_state=0)
        >>> model.fit(X).weights_.round(2)
        array([0.5, 0.5])
        """
        self._check_params()
        forget(self, *PRIVATE)
        rng = starting_generator(self.random_state)
        if self.approximation in (None, EXACT):
            refuse_dask(self, X, advice=ROWS_ADVICE)
        elif is_dask(X):
            return self._fit_rows(as_rows(X, sample_weight, missing=False), rng)
        X = check_table(self, X, reset=True, missing=not is_precomputed(self.kernel), min_samples=2)
        X, weights = self._known_inputs(X, check_weights(sample_weight, X))
        kept = np.flatnonzero(weights > 0)
        standard = standardizes(self.standardize, None if is_auto(self.kernel) else self.kernel)
        if standard and is_precomputed(self.kernel):
            raise ValueError("standardize=True needs the inputs, not a precomputed Gram matrix.")
        self._units = Units.of(X[kept], weights[kept]) if standard else None
        if not is_precomputed(self.kernel):
            self._remember_inputs(X[kept], weights[kept])
        table, given, inverse, weights = self._arranged(self._in_units(X), kept, weights[kept], inputs)
        if not is_auto(self.n_clusters):
            check_clusters(int(self.n_clusters), row_hashes(table), table)
        rows = self._rows(table, weights, rng)
        start = None if isinstance(self.init, str) else self._merged_start(inverse, kept, X.shape[0], rows.size)
        K, clusters = self._clusters(rows, table, weights)
        asked = self._asked(K)
        best, selection = self._restarts(K, asked, rng).best(rows, given, weights, start, rng)
        self._store(best, asked, clusters or selection)
        self._fit_preimage(rows, given)
        self._store_responsibilities(X, kept, best.responsibilities[inverse])
        self._warn(best, asked)
        return self

    @atomic
    def fit_batches(self, source: Batches) -> KernelPPCAMixture:
        """Fit on all rows of batches, out of core, from landmarks or random features; equal to `fit` on the concatenated rows [6, 13].

        Parameters
        ----------
        source : list, other iterable that can be read again, or function that opens an iterator
            A batch is an array, a frame or an Arrow batch, or (X, sample_weight). No ``responsibilities_`` are kept: `predict_proba` gives
            them.

        Returns
        -------
        KernelPPCAMixture

        Examples
        --------
        >>> from gramian import KernelPPCAMixture
        >>> from gramian.datasets import make_c_shapes
        >>> from gramian.kernels import RBF
        >>> X, shape = make_c_shapes(60, random_state=0)
        >>> model = KernelPPCAMixture(n_components=2, kernel=RBF(8.0), approximation="nystroem", n_landmarks=20, random_state=0)
        >>> model.fit_batches([X[:30], X[30:]]).weights_.round(2)
        array([0.5, 0.5])
        """
        self._check_params()
        forget(self, *PRIVATE)
        if self.approximation in (None, EXACT):
            raise ValueError(
                f"fit_batches needs an approximation, but approximation={self.approximation!r}. {ROWS_ADVICE}."
            )
        return self._fit_rows(BatchRows.of(source, missing=False), starting_generator(self.random_state))

    def _fit_rows(self, rows: Rows, rng: np.random.Generator) -> KernelPPCAMixture:
        """Rows that are only summed over: batches that can be read again, Dask."""
        if not (isinstance(self.init, str) and self.init == "kernel_kmeans"):
            raise ValueError(f"init={self.init!r} needs rows in memory. Use init='kernel_kmeans' for batches and Dask.")
        keep_columns(self, rows)
        self._forget_law()
        self._columns: Array | None = None
        self._units = None
        if standardizes(self.standardize, None if is_auto(self.kernel) else self.kernel):
            self._units = Units.of(rows)
            rows = rows_in_units(rows, self._units.mean, self._units.scale)
        most = max(LOOK.rows, self.n_landmarks or KERNELS.landmarks)
        drawn = rows.fold(draw_rows, most)
        check_clusters(max(2, 1 if is_auto(self.n_clusters) else self.n_clusters), drawn.rows.hashes, rows)
        table = drawn.rows.rows
        self.kernel_ = resolved_kernel(RBF("local") if is_auto(self.kernel) else self.kernel, table)
        features = self._feature_rows(table, drawn.rows.weights, rng)
        prepared = rows.prepare(block_features, features.feature_map)
        drawn_rows = Block(table, drawn.rows.weights, prepared=features.features)
        K, clusters = self._clusters(features, table, drawn.rows.weights)
        asked = self._asked(K)
        best, selection = self._restarts(K, asked, rng).best_of_sums(prepared, features, drawn_rows, rng)
        self._store(best, asked, clusters or selection)
        self._fit_preimage(features, None)
        self._warn(best, asked)
        return self

    def _clusters(self, rows: DualRows | FeatureRows, table: Array, weights: Array) -> tuple[int, Selection | None]:
        """The number of clusters, and how it was chosen where it was.

        The halves of one long Gaussian are as stable as clusters are: so where inputs are known, and held-out rows are described as well by one
        Gaussian as by several, there is one cluster.
        """
        if not is_auto(self.n_clusters):
            return int(self.n_clusters), None
        if not is_precomputed(self.kernel):
            drawn = SmallestRows.of(table, weights, CLUSTERS.rows)
            found = choose_clusters(drawn.rows, drawn.weights, None, False)
            if found.chosen["n_clusters"] == 1:
                return 1, found
        asked = self._asked(1)
        found = ClusterRows.drawn(row_hashes(table), weights, rows.gram_of, float(self.noise_variance)).choose(
            None if asked is None else asked[0]
        )
        return int(found.chosen["n_clusters"]), found

    def _check_params(self) -> None:
        if is_auto(self.n_clusters):
            if not isinstance(self.init, str):
                raise ValueError(
                    "init holds responsibilities of some clusters, which n_clusters='auto' does not go with."
                )
            if isinstance(self.n_components, list | tuple | np.ndarray):
                raise ValueError(
                    f"n_components={self.n_components!r} is a list, which n_clusters='auto' does not go with."
                )
            self._asked(1)
        else:
            self._asked_once(check_count("n_clusters", self.n_clusters, 1))
        check_number("noise_variance", self.noise_variance, 0.0, open_low=True)
        if isinstance(self.init, str):
            check_choice("init", self.init, INITS)
            if self.init == "kmeans" and is_precomputed(self.kernel):
                raise ValueError("init='kmeans' must have inputs, not a precomputed kernel. Use 'kernel_kmeans'.")
        check_count("n_init", self.n_init, 1)
        if self.approximation is not None:
            check_choice("approximation", self.approximation, (EXACT, *approximations()))
            if is_precomputed(self.kernel) and self.approximation != EXACT:
                raise ValueError(
                    f"approximation={self.approximation!r} needs the inputs, not a precomputed Gram matrix."
                )
        if self.n_landmarks is not None:
            check_count("n_landmarks", self.n_landmarks, 1)
        check_tolerance(self.tol, self.max_iter)
        as_solver(self.solver)
        as_preimage(self.preimage)

    def _arranged(self, X: Array, kept: Array, weights: Array, inputs: Table | None) -> tuple[Array, Any, Array, Array]:
        """(rows to fit, the inputs behind them, where each kept row went, weights); distinct rows in an order of their own."""
        self._columns = None
        if is_precomputed(self.kernel):
            resolved_kernel(self.kernel, X)  # a Gram matrix, or an error that says why not
            behind = None if inputs is None else check_table(None, inputs, reset=False, name="inputs")
            if behind is not None and len(behind) != len(X):
                raise ValueError(f"inputs has {len(behind)} rows, but the Gram matrix has {len(X)}.")
            self._columns = kept
            return X[np.ix_(kept, kept)], None if behind is None else behind[kept], np.arange(len(kept)), weights
        if inputs is not None:
            raise ValueError("inputs= goes with kernel='precomputed' only: otherwise X holds the inputs already.")
        first, inverse, total = distinct_rows(X[kept], weights)
        return X[kept][first], X[kept][first], inverse, total

    def _rows(self, table: Array, weights: Array, rng: np.random.Generator) -> DualRows | FeatureRows:
        self.kernel_ = resolved_kernel(RBF("local") if is_auto(self.kernel) else self.kernel, table)
        if self._exact(len(table)):
            gram = stored_gram(self.kernel_, table, ADVICE)
            shares = weights / weights.sum()
            size = float(shares @ np.diagonal(gram))
            if not warn_of_offset(self.kernel_, size, size - float(shares @ gram @ shares)):
                warn_without_structure(gram)
            warn_if_indefinite(self.kernel_, gram, weights, table.dtype)
            return DualRows(self.kernel_, None if self._columns is not None else table, gram)
        return self._feature_rows(table, weights, rng)

    def _exact(self, n_rows: int) -> bool:
        """Whether components live in the span of all rows, and not in that of landmarks."""
        if self.approximation is not None:
            return bool(self.approximation == EXACT)
        return n_rows <= KERNELS.exact_rows or is_precomputed(self.kernel) or not is_auto(self.solver)

    def _feature_rows(self, table: Array, weights: Array, rng: np.random.Generator) -> FeatureRows:
        n_landmarks = min(len(table), KERNELS.landmarks) if self.n_landmarks is None else int(self.n_landmarks)
        name = "nystroem" if self.approximation is None else self.approximation
        if n_landmarks > len(table) and name == "nystroem":
            warn(
                f"n_landmarks={n_landmarks} exceeds the {len(table)} distinct training rows: all of them are landmarks.",
                NumericalWarning,
            )
            n_landmarks = len(table)
        seed = int(rng.integers(2**31 - 1))
        return FeatureRows.of(name, self.kernel_, table, n_landmarks, weights, seed)

    def _restarts(self, n_clusters: int, asked: list[int | float] | None, rng: np.random.Generator) -> Restarts:
        """How the EM is run."""
        own = is_auto(self.solver)
        return Restarts(
            n_clusters,
            asked,
            float(self.noise_variance),
            None if own else as_solver(self.solver, tol=1e-8, random_state=int(rng.integers(2**31 - 1))),
            self.init if isinstance(self.init, str) else None,
            int(self.n_init),
            float(self.tol),
            int(self.max_iter),
            int(self.verbose),
        )

    def _merged_start(self, inverse: Array, kept: Array, n_rows: int, size: int) -> Array:
        """Given responsibilities, averaged over the copies of a row."""
        start = self._given_responsibilities(self.init, n_rows, int(self.n_clusters), kept)
        merged = np.zeros((size, start.shape[1]))
        np.add.at(merged, inverse, start)
        return merged / np.bincount(inverse, minlength=size)[:, None]

    def _store(self, best: MixtureFit[Any], asked: list[int | float] | None, selection: Selection | None) -> None:
        self._store_mixture(best)
        if selection is not None:
            self.selection_ = selection
        self.explained_variance_ = [model.gaussian.eigenvalues for model in best.components]
        self.noise_variance_ = float(self.noise_variance)
        largest = [] if asked is None else [q for q in asked if isinstance(q, int)]
        self._width = max(largest + self.n_components_)

    def _fit_preimage(self, rows: DualRows | FeatureRows, inputs: Array | None) -> None:
        points = rows.points if isinstance(rows, FeatureRows) else inputs
        self.X_fit_ = points
        self._gram = rows.gram if isinstance(rows, DualRows) and self._columns is not None else None
        self.preimage_: Any = None
        if points is not None:
            preimage = clone(as_preimage(self.preimage))
            gram = rows.gram if isinstance(rows, DualRows) else rows.point_features @ rows.point_features.T
            self.preimage_ = preimage.fit(points, gram, kernel=self.kernel_, scores=None)

    def _warn(self, found: MixtureFit[Any], asked: list[int | float] | None) -> None:
        if not self.converged_:
            warn(
                f"EM stopped after max_iter={self.max_iter} steps before its objective settled to tol={self.tol:g}. Raise max_iter.",
                ConvergenceWarning,
            )
        empty = np.flatnonzero(self.weights_ < SPARSE_SHARE)
        if len(empty):
            warn(
                f"Component(s) {', '.join(map(str, empty))} hold no rows. Use fewer than n_clusters={self.n_clusters}, or another start.",
                ConvergenceWarning,
            )
        counts = [] if asked is None else list(asked)
        fewer = [i for i, q in enumerate(counts) if isinstance(q, int) and self.n_components_[i] < q]
        if fewer:
            named = ", ".join(f"component {i} keeps {self.n_components_[i]} of {counts[i]}" for i in fewer[:5])
            warn(
                f"Directions with a variance of at most noise_variance={self.noise_variance:g} are dropped: {named}. Lower "
                "noise_variance or n_components.",
                NumericalWarning,
            )
