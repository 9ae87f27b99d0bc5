"""DeepRKM: feature maps trained together with the latent model, then frozen into a `MultiViewRKM` [11]."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

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
from gramian.deep.decoded_latents import DecodedLatents
from gramian.deep.draws import hashes_of_views, held_out_rows
from gramian.deep.frame import FRAMES
from gramian.deep.held_out_answers import CalibratedViewAnswers
from gramian.deep.intake import clean_views
from gramian.deep.intervals import HeldOutError
from gramian.deep.prior import fitted_prior
from gramian.deep.training import Run, TrainingPlan, TrainingRows
from gramian.deep.wiring import ViewNets, built_nets
from gramian.estimators.multiview import MultiViewRKM
from gramian.single.answers import BaseEstimator, atomic, forget
from gramian.views.tables import ViewLayout


class DeepRKM(DecodedLatents, BaseEstimator):
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

    history_: Any
    best_epoch_: int
    _frame_name: str
    model_: Annotated[Any, "MultiViewRKM"]
    _errors: Annotated[list[HeldOutError], "*"]
    n_epochs_: Annotated[int, "count"]

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

    # what `ViewPredictions` asks of a subclass: the rest of the methods follow from it

    @property
    def _model(self) -> Any:  # type: ignore[override]
        return self.model_._model

    @property
    def _rotation(self) -> Any:  # type: ignore[override]
        return self.model_._rotation

    @property
    def _answers(self) -> CalibratedViewAnswers:
        return CalibratedViewAnswers(**vars(self.model_._answers), errors=self._errors)

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
        """Train the maps, freeze them, and fit the latent model on their features [11].

        Parameters
        ----------
        X : table of shape (n_samples, n_features), list of 2-D arrays, or dict of name -> 2-D array
            A view missing for some rows is NaN there: these rows take part with what they show.
        y : ignored

        Returns
        -------
        DeepRKM

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
        self._errors = []
        if self.n_epochs_:  # fixed maps have not seen the rows, and MultiViewRKM's own held-out rows are right for them
            judges = held_out if len(held_out) else train
            self._errors = self._answers.measured([view[judges] for view in views], seen[judges])
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
        cross = float(len(views) > 1) if self.cross_weight == "auto" else float(self.cross_weight)
        plan = TrainingPlan(
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

    def calibrate(self, X: Views, questions: Any = None, **options: Any) -> DeepRKM:
        """As `MultiViewRKM.calibrate`; then standard deviations in input units are measured anew, on X [8, 11].

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
        rows = self._rows(X)
        self.model_.calibrate(list(rows.views), questions, **options)
        if self.n_epochs_:
            widths = self._layout.widths
            views = [np.zeros((len(rows), d)) if view is None else view for view, d in zip(rows.views, widths)]
            self._errors = self._answers.measured(views, rows.seen)
        return self

    def explain(self) -> str:
        """Which of AC's algorithms was run, and why (AC figure 1)."""
        check_is_fitted(self)
        if self.n_epochs_ == 0:
            return f"max_epochs=0, so the maps are fixed; {self.model_.explain()}"
        n, width = len(self.model_.latents_), sum(len(W) for W in self.model_.loadings_ if W is not None)
        number, space = ("4", "dual over anchors") if self.kernel is not None else ("3", "primal")
        chart = ""
        if self.kernel is None and width >= n:
            chart = (
                f", though with {width} features for {n} rows AC figure 1 asks for algorithm 4 (kernel='linear' with n_anchors); by "
                "mini-batches neither costs n²"
            )
        return (
            f"trainable maps, by the {space} objective with a reconstruction term (AC algorithm {number}){chart}; frame "
            f"{self._frame_name}, {self.n_epochs_} epochs, the best was {self.best_epoch_}. The maps are then frozen: "
            f"{self.model_.explain()}"
        )
