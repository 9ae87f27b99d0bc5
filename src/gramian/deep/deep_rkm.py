"""DeepRKM: feature maps trained together with the latent model, then frozen into a `MultiViewRKM` [11]."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_random_state,
    check_seed,
    check_table,
)
from gramian._types import RandomState, Views
from gramian.deep._torch import torch
from gramian.deep.draws import hashes_of_views, held_out_rows
from gramian.deep.frame import FRAMES
from gramian.deep.frozen_answers import FrozenAnswers
from gramian.deep.intake import clean_views, split_views
from gramian.deep.intervals import HeldOutError, error_of, held_out_errors
from gramian.deep.prior import fitted_prior
from gramian.deep.training import Plan, Run, TrainingRows
from gramian.deep.wiring import ViewNets, built_nets
from gramian.estimators._base import BaseEstimator, atomic, forget
from gramian.estimators._view_tables import ViewLayout, ViewRows
from gramian.estimators.multiview import MultiViewRKM

CROSS_WEIGHT = 1.0
"""``cross_weight="auto"`` with several views."""
SPREAD_DRAWS, SPREAD_ROWS = 8, 512
"""Posterior draws and rows by which the spread of a decoded view is measured."""


class DeepRKM(FrozenAnswers, BaseEstimator):
    """Encoders and decoders trained together with a latent Gaussian, for images and for several views [11].

    Every view v has an encoder φ_v and a decoder ψ_v. Training minimises three shares of variance: what the decoders miss of the
    views behind q principal components of the features, ``rkm_weight`` times the variance outside these components, and
    ``cross_weight`` times what they miss of each view when only the others are shown. Then the maps are frozen, and the model
    *is* a `MultiViewRKM` on them (``model_``): posterior, missing views, samples and files are its own. With one view this is a
    probabilistic autoencoder with exact latents.

    Parameters
    ----------
    n_components : int, default=10
        Latent dimension q.
    encoder, decoder : {"mlp", "conv", "identity"}, spec, torch module, or a dict or list with one per view
        A spec is ``nets.MLP(...)`` or ``nets.Conv(...)``. Modules are copied, and trained in float32. An encoder may be a
        feature map of `gramian.features` too, which is not trained.
    n_features : int, default=64
        Features of each encoder.
    hidden : tuple of int, default=(256,)
        Hidden widths of "mlp".
    image_shape : tuple, dict or list of tuples, optional
        (height, width) or (channels, height, width) of a row, for "conv".
    views : dict of name -> columns, optional
        As in `MultiViewRKM`.
    rkm_weight : float, default=0.1
    cross_weight : float or "auto", default="auto"
        "auto" is 1 with several views. 0 is AC's objective.
    frame : {"auto", "eigh", "power", "stiefel"}, default="auto"
        How the principal axes follow the maps: eigenvectors of a running covariance, one orthogonal iteration per step (more
        than 128 features), or AC's Cayley-Adam.
    noise_variance, view_weights :
        Of the `MultiViewRKM` on the frozen maps.
    batch_size : int, default=256
    max_epochs : int, default=100
        0: the maps stay as they are.
    learning_rate : float, default=2e-3
        The largest of the one-cycle schedule of Adam.
    kernel : kernel, name, or a dict or list with one per view, optional
        A kernel on top of the encoder, trained in the dual by mini-batches over anchors.
    n_anchors : int, optional
        Anchor rows of ``kernel``; None is 256.
    early_stopping : bool, default=True
        After ``patience`` epochs without a better held-out error the learning rate falls to its end within as many epochs, then
        training stops; the best epoch is kept. The held-out error is that behind
        the exact principal axes of the training features.
    validation_fraction : float, default=0.1
        Rows held out of training, drawn by what they hold. Standard deviations of predicted views come from them too.
    patience : int, default=10
    device : str, default="cpu"
        A torch device for training.
    checkpoint : path, optional
        Written after every epoch; a fit that finds it goes on from there, to the same numbers.
    random_state : None, int, Generator or RandomState
    verbose : int, default=0

    Attributes
    ----------
    model_ : MultiViewRKM
        The model on the frozen maps; its fitted attributes (``latents_``, ``loadings_``, ...) are found here too.
    maps_ : list of TorchMap
    history_ : dict of lists
        ``epoch``, ``loss``, ``reconstruction``, ``rkm``, ``cross`` (the shares, unweighted), ``held_out``, ``seconds`` (CPU).
    n_epochs_ : int
        Epochs that were trained.
    best_epoch_ : int
        The epoch whose maps were kept; 0 where none was trained.
    prior_ : PPCAMixture
        Of the latents, for `sample`.

    See Also
    --------
    gramian.MultiViewRKM : the same model for given kernels and maps.

    References
    ----------
    [11] docs/theory.md, section 11; [8] section 8; docs/deep.md.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.deep import DeepRKM
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 200)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle), np.cos(2 * angle)]) + 0.01 * rng.standard_normal((200, 3))
    >>> model = DeepRKM(2, hidden=(16,), n_features=8, max_epochs=3, random_state=0).fit(X)
    >>> model.transform(X).shape, model.reconstruct(X).shape, model.n_epochs_
    ((200, 2), (200, 3), 3)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        encoder: Any = "mlp",
        decoder: Any = "mlp",
        n_features: int = 64,
        hidden: Any = (256,),
        image_shape: Any = None,
        views: Any = None,
        rkm_weight: float = 0.1,
        cross_weight: Any = "auto",
        frame: str = "auto",
        noise_variance: Any = "per-view",
        view_weights: Any = "balanced",
        batch_size: int = 256,
        max_epochs: int = 100,
        learning_rate: float = 2e-3,
        kernel: Any = None,
        n_anchors: int | None = None,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        patience: int = 10,
        device: str = "cpu",
        checkpoint: Any = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.encoder = encoder
        self.decoder = decoder
        self.n_features = n_features
        self.hidden = hidden
        self.image_shape = image_shape
        self.views = views
        self.rkm_weight = rkm_weight
        self.cross_weight = cross_weight
        self.frame = frame
        self.noise_variance = noise_variance
        self.view_weights = view_weights
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.learning_rate = learning_rate
        self.kernel = kernel
        self.n_anchors = n_anchors
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.device = device
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __getattr__(self, name: str) -> Any:
        """Fitted attributes of ``model_`` are found here too."""
        if name.endswith("_") and not name.startswith("_") and name != "model_" and "model_" in vars(self):
            return getattr(self.model_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.n_components_)

    @property
    def _model(self) -> Any:
        return self.model_._model  # what pictures of views look at

    # ------------------------------------------------------------ fitting

    def _check_params(self) -> None:
        check_count("n_components", self.n_components, 1)
        check_count("n_features", self.n_features, 1)
        check_number("rkm_weight", self.rkm_weight, 0.0)
        if isinstance(self.cross_weight, str):
            check_choice("cross_weight", self.cross_weight, ("auto",))
        else:
            check_number("cross_weight", self.cross_weight, 0.0)
        check_choice("frame", self.frame, ("auto", *FRAMES))
        check_count("batch_size", self.batch_size, 2)
        check_count("max_epochs", self.max_epochs, 0)
        check_number("learning_rate", self.learning_rate, 0.0, open_low=True)
        check_flag("early_stopping", self.early_stopping)
        check_number("validation_fraction", self.validation_fraction, 0.0, 0.9, open_low=True)
        check_count("patience", self.patience, 1)
        if self.n_anchors is not None:
            check_count("n_anchors", self.n_anchors, 1)
            if self.kernel is None:
                raise ValueError(f"n_anchors={self.n_anchors!r} needs a kernel on top of the encoder, but kernel=None.")
        check_seed(self.random_state)
        try:
            torch.device(self.device)
        except (RuntimeError, TypeError) as error:
            raise ValueError(f"device={self.device!r} is no torch device ({error}). Use 'cpu' or 'cuda'.") from error

    @atomic
    def fit(self, X: Views, y: object = None) -> DeepRKM:
        """Train the maps, freeze them, and fit the latent model on their features.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), list of 2-D arrays, or dict of name -> 2-D array
            A view missing for some rows is NaN there: these rows take part with what they show.
        y : ignored

        Returns
        -------
        DeepRKM

        References
        ----------
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.n_epochs_
        2
        """
        self._check_params()
        forget(self, "_layout", "_errors", "_frame_name", "_dtype")
        layout, rows = ViewLayout.read(self, X, self.views)
        self._layout, self._dtype = layout, str(rows.dtype)
        views, seen = clean_views(rows, layout.names), rows.seen
        shown = np.flatnonzero(seen.any(axis=1))
        if len(shown) < 2:
            raise ValueError(f"DeepRKM needs at least 2 samples that show a view, got n_samples = {len(shown)}.")
        for name, here in zip(layout.names, np.asarray(seen.any(axis=0))):
            if not here:
                raise ValueError(f"View {name!r} is missing (NaN) for all rows at fit. Leave the view out.")
        hashes = hashes_of_views(views, seen)
        held_out = shown[held_out_rows(hashes[shown], float(self.validation_fraction))]
        train = np.setdiff1d(shown, held_out)
        # training rows in the order of their hashes: what is drawn from them does not depend on where they stand
        train = train[np.argsort(hashes[train], kind="stable")]
        seed = int(check_random_state(self.random_state).integers(2**31 - 1))
        nets = built_nets(self, layout.names, views, seen, train, hashes, seed)
        run = self._trained(nets, views, seen, train, held_out if len(held_out) else train, seed)
        self.maps_ = [net.frozen(view[seen[:, v]]) for v, (net, view) in enumerate(zip(nets, views))]
        self.history_, self.n_epochs_, self.best_epoch_ = run.history, run.epoch, run.best_epoch
        self._fit_model(X, layout)
        # fixed maps have not seen the rows, and MultiViewRKM's own held-out rows are right for them
        self._errors = (
            self._held_out_errors(views, seen, held_out if len(held_out) else train) if self.n_epochs_ else []
        )
        self.prior_ = fitted_prior(self.model_.latents_, hashes)
        return self

    def _trained(
        self,
        nets: list[ViewNets],
        views: list[Array],
        seen: Array,
        train: Array,
        held_out: Array,
        seed: int,
    ) -> Run:
        cross = (CROSS_WEIGHT if len(views) > 1 else 0.0) if self.cross_weight == "auto" else float(self.cross_weight)
        plan = Plan(
            n_components=int(self.n_components),
            rkm_weight=float(self.rkm_weight),
            cross_weight=cross if len(views) > 1 else 0.0,
            frame=self.frame,
            batch_size=int(self.batch_size),
            max_epochs=int(self.max_epochs),
            learning_rate=float(self.learning_rate),
            early_stopping=bool(self.early_stopping),
            patience=int(self.patience),
            seed=seed,
            device=str(self.device),
            checkpoint=self.checkpoint,
            fingerprint=self._fingerprint(views, seen) if self.checkpoint is not None else "",
            verbose=int(self.verbose),
        )
        tensors = [torch.as_tensor(np.asarray(view, dtype=np.float32), device=self.device) for view in views]
        variances = [net.variance for net in nets]
        whole = TrainingRows(tensors, None if seen.all() else seen, variances)
        encoders, decoders = [net.encoder for net in nets], [net.decoder for net in nets]
        run = Run(encoders, decoders, plan, whole.take(train), whole.take(held_out))
        self._frame_name = type(run.way).__name__
        run.go()
        return run

    def _fingerprint(self, views: list[Array], seen: Array) -> str:
        """Of the rows and of the settings that a run depends on."""
        free = (
            "max_epochs",
            "patience",
            "early_stopping",
            "checkpoint",
            "verbose",
            "device",
            "noise_variance",
            "view_weights",
        )
        settings = {name: value for name, value in self.get_params(deep=False).items() if name not in free}
        rows = np.sort(hashes_of_views(views, seen)).tobytes()
        return hashlib.sha256(rows + repr(sorted(settings.items(), key=lambda item: item[0])).encode()).hexdigest()

    def _fit_model(self, X: Views, layout: ViewLayout) -> None:
        options: dict[str, Any] = {}
        if layout.columns is not None:
            X = check_table(None, X, reset=False, missing=True)
            options["views"] = {name: columns.tolist() for name, columns in zip(layout.names, layout.columns)}
        if self.n_epochs_:
            options["n_folds"] = None  # trained features know the training rows: trust is not learnt from these
        self.model_ = MultiViewRKM(
            self.n_components,
            kernel=list(self.maps_),
            noise_variance=self.noise_variance,
            view_weights=self.view_weights,
            random_state=self.random_state if not isinstance(self.random_state, np.random.Generator) else None,
            **options,
        ).fit(X)

    def _held_out_errors(self, views: list[Array], seen: Array, rows: Array) -> list[HeldOutError]:
        def spread(given: list[Array], v: int) -> Array:
            few = [view[:SPREAD_ROWS] for view in given]
            draws = self._decoded(self.model_.posterior(few).sample(SPREAD_DRAWS, random_state=0), v)
            return np.asarray(draws.var(axis=0, ddof=1).mean(axis=0))

        def predict(given: list[Array], v: int) -> Array:
            return np.asarray(self._mean_view(given, v), dtype=np.float64)

        held = [np.asarray(view[rows], dtype=np.float64) for view in views]
        return held_out_errors(held, seen[rows], predict, spread)

    # ------------------------------------------------------------ the model on the frozen maps

    def calibrate(self, X: Views, questions: Any = None, **options: Any) -> DeepRKM:
        """As `MultiViewRKM.calibrate`; then standard deviations in input units are measured anew, on X.

        Parameters
        ----------
        X : table, list or dict of views
            Rows that the maps have not seen, if there are any.
        questions : list of (given, view), optional
        **options : keyword arguments
            Of `MultiViewRKM.calibrate`.

        Returns
        -------
        DeepRKM

        References
        ----------
        [8] docs/theory.md, section 8: views (AC), and what the papers do not say.
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> views = [X[:, :2], X[:, 2:]]
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(views)
        >>> model.calibrate(views).model_.n_components_
        2
        """
        given = self._layout.rows(self, X)
        self.model_.calibrate(list(given.views), questions, **options)
        if self.n_epochs_:
            views = [
                np.zeros((len(given), width)) if view is None else view
                for view, width in zip(given.views, self._layout.widths)
            ]
            self._errors = self._held_out_errors(views, given.seen, np.arange(len(given)))
        return self

    def explain(self) -> str:
        """Which of AC's algorithms was run, and why (AC figure 1)."""
        check_is_fitted(self)
        if self.n_epochs_ == 0:
            return f"max_epochs=0, so the maps are fixed; {self.model_.explain()}"
        number, space = ("4", "dual over anchors") if self.kernel is not None else ("3", "primal")
        return (
            f"trainable maps, so AC figure 1 asks for the {space} objective with a reconstruction term (AC algorithm {number}); frame "
            f"{self._frame_name}, {self.n_epochs_} epochs, the best was {self.best_epoch_}. The maps are then frozen: "
            f"{self.model_.explain()}"
        )

    # ------------------------------------------------------------ views

    def predict_view(
        self,
        X: Views,
        view: Any,
        return_std: bool = False,
        n_draws: int | None = None,
        *,
        small_sample: bool = True,
        random_state: RandomState = None,
    ) -> Any:
        """A view from the others: E[φ_v | o] through the decoder [8, 11].

        Parameters
        ----------
        X : table, list or dict of views
            What is given of ``view`` itself is not looked at.
        view : name or position
        return_std : bool, default=False
            Also standard deviations in input units, from held-out rows: 1.645 of them cover 90 %.
        n_draws : int, optional
            Instead, draws of shape (n_draws, n_samples, columns): posterior draws of the latents through the decoder, plus the
            noise that held-out rows show beside them.
        small_sample : bool, default=True
            False: the deviations of the Gaussian of features alone, as `MultiViewRKM` has them.
        random_state : None, int, Generator or RandomState
            Of the draws; None: the estimator's own.

        Returns
        -------
        ndarray of shape (n_samples, columns), (mean, std), or draws

        References
        ----------
        [8] docs/theory.md, section 8: views (AC), and what the papers do not say.
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit([X[:, :2], X[:, 2:]])
        >>> model.predict_view([X[:3, :2], None], 1).shape
        (3, 2)
        """
        check_is_fitted(self)
        v = self._layout.position(view)
        rows = self._layout.rows(self, self._layout.without(X, v)).without(v)
        given, name = self._nameless(rows), self._layout.names[v]
        if not return_std and n_draws is None:
            return self._mean_view(given, v)
        if not self._errors or not small_sample:
            return self.model_.predict_view(
                given, name, return_std, n_draws, small_sample=small_sample, random_state=random_state
            )
        if n_draws is not None:
            rng = check_random_state(self.random_state if random_state is None else random_state)
            draws = self._decoded(self.model_.posterior(given).sample(n_draws, random_state=rng), v)
            noise = self._of_rows(rows.seen, v, "noise", draws.shape[-1])
            return (draws + noise * rng.standard_normal(draws.shape)).astype(
                self._mean_view(given, v).dtype, copy=False
            )
        mean = self._mean_view(given, v)
        return mean, self._of_rows(rows.seen, v, "std", mean.shape[1]).astype(mean.dtype, copy=False)

    def _mean_view(self, given: list[Array], v: int) -> Array:
        """E[x_v | o]; the only view is known through nothing but the prior."""
        if len(given) > 1:
            return np.asarray(self.model_.predict_view(given, self._layout.names[v]))
        return self._decoded(self.model_.posterior(given).mean[None], v)[0].astype(self._dtype, copy=False)

    def _nameless(self, rows: ViewRows) -> list[Any]:
        """The views as a list; NaN rows where a view is not given, so that the number of rows is always known."""
        return [
            np.full((len(rows), width), np.nan) if view is None else view
            for view, width in zip(rows.views, self._layout.widths)
        ]

    def _of_rows(self, seen: Array, v: int, what: str, width: int) -> Array:
        out = np.zeros((len(seen), width))
        for pattern in np.unique(seen, axis=0):
            found = error_of(self._errors, tuple(np.flatnonzero(pattern).tolist()), v)
            if found is not None:
                out[(seen == pattern).all(axis=1)] = getattr(found, what)
        return out

    def _decoded(self, draws: Array, v: int) -> Array:
        """View v of draws of latents (m, n, q)."""
        m, n, q = draws.shape
        views = split_views(self._layout, self.model_.inverse_transform(draws.reshape(m * n, q)))
        return np.asarray(views[v], dtype=np.float64).reshape(m, n, -1)

    def encode(self, X: Views) -> Any:
        """Features of every view: one array for one view, else in the container given to `fit` (a list for a table).

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing.

        Returns
        -------
        features: an array, or in the container given to `fit`

        References
        ----------
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.encode(X).shape[0]
        150
        """
        check_is_fitted(self)
        rows = self._layout.rows(self, X)
        found = []
        for v, feature_map in enumerate(self.maps_):
            features = np.full((len(rows), feature_map.dim), np.nan, dtype=rows.dtype)
            if rows.seen[:, v].any():
                features[rows.seen[:, v]] = feature_map.transform(rows.views[v][rows.seen[:, v]])
            found.append(features)
        return self._listed_or_one(found)

    def decode(self, F: Any) -> Any:
        """Rows of features, the inverse of `encode` as far as the decoders are.

        Parameters
        ----------
        F : features, as `encode` gives them

        Returns
        -------
        views: an array, or in the container given

        References
        ----------
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.decode(model.encode(X)).shape
        (150, 4)
        """
        check_is_fitted(self)
        if len(self.maps_) == 1 and not isinstance(F, list | dict):
            F = [F]
        parts = [F[name] for name in self._layout.names] if isinstance(F, dict) else list(F)
        if len(parts) != len(self.maps_):
            raise ValueError(f"Expected the features of {len(self.maps_)} views, got {len(parts)}.")
        return self._listed_or_one([feature_map.decode(f) for feature_map, f in zip(self.maps_, parts)])

    def _listed_or_one(self, parts: list[Array]) -> Any:
        if self._layout.kind == "dict":
            return dict(zip(self._layout.names, parts))
        return parts[0] if len(parts) == 1 and self._layout.kind == "table" else parts

    # ------------------------------------------------------------ new rows

    def sample(
        self, n_samples: int = 1, prior: str = "mixture", *, latent: Any = None, random_state: RandomState = None
    ) -> Any:
        """New rows: latents through the decoders, without noise.

        Parameters
        ----------
        n_samples : int, default=1
        prior : {"mixture", "normal"}, default="mixture"
            A mixture fitted to the training latents, or N(0, I).
        latent : array of shape (n, n_components_), optional
            Decode these instead.
        random_state : None, int, Generator or RandomState
            None uses the estimator's own.

        Returns
        -------
        views, in the container given to `fit`

        References
        ----------
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.sample(4, random_state=0).shape
        (4, 4)
        """
        check_is_fitted(self)
        check_choice("prior", prior, ("mixture", "normal"))
        if latent is not None:
            return self.inverse_transform(latent)
        count = check_count("n_samples", n_samples, 1)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        if prior == "mixture":
            Z = np.asarray(self.prior_.sample(count, random_state=rng)[0])
        else:
            Z = rng.standard_normal((count, self.model_.n_components_))
        return self.inverse_transform(Z.astype(self._dtype, copy=False))

    def traverse(self, n: int = 9, scale: float = 3.0) -> Any:
        """Rows along each latent axis, from -scale to scale with the others at 0.

        Parameters
        ----------
        n : int, default=9
            Steps on an axis.
        scale : float, default=3.0

        Returns
        -------
        ndarray of shape (n_components_, n, columns), or a list with one per view

        References
        ----------
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.traverse(5).shape
        (2, 5, 4)
        """
        check_is_fitted(self)
        count = check_count("n", n, 1)
        q = int(self.model_.n_components_)
        steps = np.linspace(-1.0, 1.0, count) * check_number("scale", scale, 0.0)
        Z = (np.eye(q)[:, None, :] * steps[None, :, None]).reshape(q * count, q)
        views = split_views(self._layout, self.inverse_transform(Z.astype(self._dtype, copy=False)))
        found = [np.asarray(view).reshape(q, count, -1) for view in views]
        if len(found) == 1:
            return found[0]
        return found
