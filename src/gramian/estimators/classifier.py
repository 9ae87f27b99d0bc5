"""KernelPPCAClassifier: a kernel PPCA model, or a mixture of them, per class; the one that explains a row best wins."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from gramian._arrays import Array
from gramian._checks import (
    check_choice,
    check_count,
    check_labels,
    check_number,
    check_random_state,
    check_scale,
    check_table,
    check_weights,
    is_auto,
    quiet_infinities,
)
from gramian._content import row_hashes
from gramian._types import RandomState, Table, Weights
from gramian.classes.answers import ClassAnswers
from gramian.classes.blend import Blend
from gramian.classes.calibration import Calibration
from gramian.classes.choice import OpenRule, RuleSearch, calibration_of
from gramian.classes.models import ClassRule, LabelledRows
from gramian.classes.path import check_class_components
from gramian.evidence import Selection
from gramian.evidence.folds import check_folds
from gramian.exceptions import NumericalWarning, warn
from gramian.features import approximations
from gramian.kernels import is_precomputed
from gramian.kernels.gram_checks import warn_without_structure
from gramian.kernels.units import check_standardize, standardizes
from gramian.latent.model import warn_if_indefinite
from gramian.latent.units import Units
from gramian.mixtures.kernel_component import DualRows
from gramian.policy import CLASSES, DEFAULTS, KERNELS, LOOK
from gramian.single.answers import FoldsMixin, atomic, forget
from gramian.single.input_holes import label_losses
from gramian.single.kernel_fit import distinct_rows, resolved_kernel

SHARED = 0.5
"""A warning where more than this share of the weight lies on rows that more than one class has."""


class KernelPPCAClassifier(FoldsMixin, ClassAnswers):
    """Classification by a kernel PPCA model per class ([ZH] section 4) [7].

    A row goes to the class c with the largest log p(c) - L^_c(x)/2, where -L^_c/2 is the log-density in feature space under the
    class's model; in the limit of vanishing noise, to the class whose principal subspace is nearest. Decision boundaries need
    not be hyperplanes of feature space. What is "auto" is chosen by cross-validation inside `fit`; what is given is taken at its
    word: ``KernelPPCAClassifier(q, kernel=RBF(w), noise_variance=None)`` is [ZH]'s rule.

    Parameters
    ----------
    n_components : "auto", int, float, None or list of them, default="auto"
        q per class. "auto": one count for all classes, chosen on held-out rows (with ``noise_variance="auto"`` several rules together). Else a count, or a fraction of the class's own variance. None:
        the directions above ``noise_variance`` if that is a number, else 95 %. A list has one entry per class, in the order of
        ``classes_``. A count above a class's rank is cut, with a warning.
    kernel : "auto", str, Kernel, callable, scikit-learn GP kernel or "precomputed", default="auto"
        One for all classes, settled on all training rows. "auto": an RBF whose width is chosen on held-out rows.
    noise_variance : "auto", float or None, default="auto"
        The rule. A number: ρ > 0, the noise of every class. None is the limit ρ → 0: the smallest distance to a principal
        subspace wins, priors do not matter, and `predict_proba` uses a noise that `fit` calibrates by cross-validation. "auto": chosen
        on held-out rows, where several finite noises count together, each by what these rows say for it; with a finite noise the priors and the
        sharpness of the probabilities are calibrated there too.
    priors : array-like of shape (n_classes,) or None, default=None
        p(c), in the order of ``classes_``. None: the (weighted) frequencies. Refused with the limiting rule.
    n_clusters : int, default=1
        Components of the mixture that models each class. What is "auto" is chosen with one component per class.
    standardize : bool or "auto", default="auto"
        Columns to unit variance on the way in. "auto": yes, unless the kernel has a numeric length scale or period, is a
        callable, a scikit-learn kernel or precomputed.
    approximation : "auto", None, "nystroem" or "rff", default="auto"
        "auto": exact up to 2,000 distinct rows, Nystroem features above. None: exact. Choices are made on at most 2,000 rows.
    n_landmarks : int or None, default=None
        Landmarks of the approximation, drawn by content; None: 500.
    n_folds : int, scikit-learn splitter, iterable of (kept, held) positions, or None, default=5
        Folds of the choices and of the calibration. None: the rule's own probabilities, no calibration (what is "auto" is chosen on 5
        folds all the same, and so is the noise of the limiting rule's probabilities).
    random_state : None, int, Generator or RandomState
        Used by the starts of mixtures only.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_ : Kernel
    n_components_ : list of lists of int
        The q of every component of every class.
    class_prior_ : ndarray of shape (n_classes,)
        The priors given, or the frequencies.
    noise_variance_ : float
        ρ; 0.0 under the limiting rule; that of the largest share where several rules count together (`explain` has them all).
    calibrated_noise_ : float
        Under the limiting rule, the ρ of `predict_proba`.
    evidence_scale_, evidence_offsets_ : float, ndarray of shape (n_classes,)
        Where the rule was chosen: log p(c | x) = scale · (log p(c) - L^_c(x)/2) + offset + constant, L^_c the mean by shares where several
        rules count together. 1 and 0 where it was given.
    selection_ : Selection
        The candidates with their held-out scores, where something was "auto".

    References
    ----------
    [ZH] Zhou, *Probabilistic Analysis of Kernel Principal Components*. [7, 10] docs/theory.md, sections 7 and 10.

    Examples
    --------
    >>> from gramian import KernelPPCAClassifier
    >>> from gramian.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = KernelPPCAClassifier().fit(X, y)
    >>> bool(model.score(X, y) > 0.98), model.predict_proba(X[:1]).shape
    (True, (1, 2))
    >>> sorted(model.selection_.chosen)
    ['kernel', 'n_components', 'noise_variance']
    """

    _shift: Annotated[Array | None, "d"] = None
    _scale: Annotated[Array | None, "++ d"] = None
    _approximation_told: str | None = None
    _blend: Blend | None = None
    held_out_log_loss_: float | None
    held_out_accuracy_: float | None
    selection_: Selection

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        kernel: Any = "auto",
        noise_variance: Any = "auto",
        priors: Any = None,
        n_clusters: int = 1,
        standardize: bool | str = "auto",
        approximation: Any = "auto",
        n_landmarks: int | None = None,
        n_folds: Any = 5,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.priors = priors
        self.n_clusters = n_clusters
        self.standardize = standardize
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.n_folds = n_folds
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.allow_nan = not is_precomputed(self.kernel)
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, X: Table, y: object, sample_weight: Weights = None) -> KernelPPCAClassifier:
        """Choose what is open on held-out rows, then fit a model to the rows of each class [7, 10].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or the Gram matrix with ``kernel="precomputed"``
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Integer weights equal repeated rows, zero weight a removed row.

        Returns
        -------
        KernelPPCAClassifier

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCAClassifier
        >>> from gramian.kernels import RBF
        >>> X, y = load_iris(return_X_y=True)
        >>> model = KernelPPCAClassifier(n_components=2, kernel=RBF(2.0), noise_variance=1e-3).fit(X[::3], y[::3])
        >>> model.classes_
        array([0, 1, 2])
        """
        open_rule, rng = self._check_params()
        forget(self, "_models", "_mixing", "_columns", "_shift", "_scale", "_approximation_told", "_blend")
        X = check_table(self, X, reset=True, missing=not is_precomputed(self.kernel))
        y = self._check_targets(X, y)
        self._deal(X, y)
        given = X
        X, weights = self._known_inputs(X, check_weights(sample_weight, X))
        kept = np.flatnonzero(weights > 0)
        self.classes_, codes = np.unique(y[kept], return_inverse=True)
        rows = self._labelled(X, kept, weights[kept], codes)
        self.class_prior_ = self._class_priors(np.bincount(rows.codes, weights=rows.weights))
        rows, rule, calibration = self._settled(rows, open_rule)
        self.kernel_ = rows.kernel
        self._blend = rule.blend
        self.noise_variance_ = rule.noise_variance
        if rule.blend is not None:
            self.noise_variance_ = float(rule.blend.noises[rule.blend.shares.argmax()])
        rows = self._approximated(rows)
        self._models, self._mixing = [], []
        told = False
        for code in range(len(self.classes_)):
            own = np.flatnonzero(rows.codes == code)
            part = rows.of_class(own)
            if isinstance(part, DualRows):
                if not is_auto(self.kernel):  # a width that held-out rows chose is as it should be
                    warn_without_structure(part.gram)
                told = told or warn_if_indefinite(self.kernel_, part.gram, rows.weights[own], rows.X.dtype)
            models, mixing = rule.fit(code, part, rows.weights[own], rng)
            self._models.append(models)
            self._mixing.append(mixing)
        self.n_components_ = [[model.gaussian.n_components for model in models] for models in self._models]
        self._calibrate(rows, rule, open_rule, calibration, rng)
        self._warn_cut(rule)
        self._settle_answers(given, y, weights, label_losses)
        del self._dealt
        return self

    def _check_params(self) -> tuple[OpenRule, np.random.Generator]:
        counts = None if is_auto(self.n_components) else (check_class_components(self.n_components),)
        noise: tuple[float | None, ...] | None = (None,)
        if is_auto(self.noise_variance):
            noise = None
        elif self.noise_variance is not None:
            noise = (check_number("noise_variance", self.noise_variance, 0.0),)
            if noise[0] == 0:
                raise ValueError(
                    "noise_variance=0 has no density; a positive number must be given, None for the limiting rule, or 'auto'."
                )
        elif self.priors is not None:
            raise ValueError(
                f"priors={self.priors!r} have no effect under the limiting rule (noise_variance=None), which compares "
                "distances only. Give a positive noise_variance, or leave priors at None."
            )
        check_count("n_clusters", self.n_clusters, 1)
        check_standardize(self.standardize)
        if self.approximation is not None:
            check_choice("approximation", self.approximation, ("auto", *approximations()))
            if self.approximation != "auto" and is_precomputed(self.kernel):
                raise ValueError(
                    f"approximation={self.approximation!r} needs the inputs, not a precomputed Gram matrix."
                )
        if self.n_landmarks is not None:
            check_count("n_landmarks", self.n_landmarks, 1)
        check_folds(self.n_folds)
        priors = None if self.priors is None else np.asarray(self.priors, dtype=np.float64)
        blended = counts is None and noise is None and self.n_clusters == 1 and self.n_folds is not None
        return OpenRule(is_auto(self.kernel), counts, noise, priors, blended), check_random_state(self.random_state)

    def _check_targets(self, X: Array, y: Any) -> Array:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f":
            with quiet_infinities():
                assert_all_finite(y, input_name="y")
        elif y.dtype.kind == "O" and any(value is None or value != value for value in y):
            raise ValueError("Input y contains NaN or None. Every row needs a label; drop the rows without one.")
        check_consistent_length(X, y)
        check_labels(y)
        return y

    def _labelled(self, X: Array, kept: Array, weights: Array, codes: Array) -> LabelledRows:
        """Training rows in an order of their own, equal rows of a class as one; a Gram matrix is taken as it is."""
        if is_precomputed(self.kernel):
            self._columns: list[Array] | None = [kept[codes == code] for code in range(len(self.classes_))]
            kernel = resolved_kernel(self.kernel, X)  # looks at the whole matrix before rows are taken from it
            gram = X[np.ix_(kept, kept)]
            return LabelledRows(kernel, gram, codes, weights, _gram_hashes(gram))
        self._columns = None
        rows = X[kept]
        self._remember_inputs(rows, weights)
        check_scale(float(np.abs(rows - rows.mean(axis=0, dtype=np.float64)).max(initial=0.0)))
        first, _, total = distinct_rows(rows, weights, codes)
        rows, codes = rows[first], codes[first]
        hashes = row_hashes(rows)
        self._warn_shared(rows, hashes, total)
        if self._coding is None and standardizes(self.standardize, self.kernel):
            units = Units.of(rows, total)
            self._shift, self._scale = units.mean, units.scale
            rows = self._inputs(rows)
        kernel = resolved_kernel("rbf" if is_auto(self.kernel) else self.kernel, rows)
        return LabelledRows(kernel, rows, codes, total, hashes)

    def _warn_shared(self, rows: Array, hashes: Array, weights: Array) -> None:
        """Where classes hold the same rows, no rule can tell them apart there."""
        _, inverse = np.unique(hashes, return_inverse=True)
        alike = np.flatnonzero(np.bincount(inverse)[inverse] > 1)  # rows are distinct within a class
        _, same, times = np.unique(rows[alike], axis=0, return_inverse=True, return_counts=True)
        share = float(weights[alike[times[same.ravel()] > 1]].sum() / weights.sum())
        if share > SHARED:
            warn(
                f"{100 * share:.0f} % of the rows are also rows of another class: no classifier can tell those apart. "
                "Are columns missing?",
                NumericalWarning,
            )

    def _settled(
        self, rows: LabelledRows, open_rule: OpenRule
    ) -> tuple[LabelledRows, ClassRule, tuple[Calibration, float, float] | None]:
        """The kernel and the rule, chosen where they were open; and the calibration that came with the choice."""
        calibration, blend = None, None
        kernel, noise = rows.kernel, None if open_rule.noise is None else open_rule.noise[0]
        counts = None if open_rule.n_components is None else open_rule.n_components[0]
        if open_rule.any_open:
            ClassRule(counts, 0.0, self.n_clusters).for_classes(self.classes_)
            found = RuleSearch(rows, open_rule, self._folds or LOOK.folds).run() if len(self.classes_) > 1 else None
            if found is None:
                why = "one class only" if len(self.classes_) == 1 else "too few distinct rows to hold any out"
                noise_free = None if open_rule.priors is None else CLASSES.noise
                chosen: dict[str, Any] = {
                    "kernel": kernel,
                    "n_components": DEFAULTS.explained,
                    "noise_variance": noise_free,
                }
                self.selection_ = Selection(
                    [chosen], np.zeros(1), np.zeros(1), chosen, f"95 % of the variance of each class: {why}"
                )
            else:
                self.selection_ = found.selection
                chosen = found.selection.chosen
                if not isinstance(chosen, dict):
                    chosen = {"n_components": chosen}
                calibration, blend = (found.calibration, found.log_loss, found.accuracy), found.blend
            kernel = chosen["kernel"] if open_rule.kernel_open else kernel
            counts = chosen["n_components"] if open_rule.n_components is None else counts
            noise = chosen["noise_variance"] if open_rule.noise is None else noise
        rule = (
            ClassRule(counts, 0.0 if noise is None else noise, self.n_clusters)
            if blend is None
            else ClassRule.of_blend(blend)
        )
        rule = rule.for_classes(self.classes_)
        return replace(rows, kernel=kernel), rule, calibration

    def _approximated(self, rows: LabelledRows) -> LabelledRows:
        n = len(rows.codes)
        if self.approximation is None or rows.precomputed or (self.approximation == "auto" and n <= KERNELS.exact_rows):
            return rows
        wanted = KERNELS.landmarks if self.n_landmarks is None else int(self.n_landmarks)
        if self.n_landmarks is not None and wanted > n:
            warn(
                f"n_landmarks={wanted} is more than the {n} distinct training rows, and is cut to them.",
                NumericalWarning,
            )
        name = "nystroem" if self.approximation == "auto" else self.approximation
        return rows.on_features(name, min(wanted, n), self.random_state)

    def _class_priors(self, masses: Array) -> Array:
        if self.priors is None:
            return masses / masses.sum()
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != masses.shape or not np.isfinite(priors).all() or (priors < 0).any():
            raise ValueError(
                f"priors={self.priors!r} must be {len(masses)} numbers >= 0, one for each of classes_={self.classes_!r}."
            )
        if not np.isclose(priors.sum(), 1.0, atol=1e-6):
            raise ValueError(
                f"priors={self.priors!r} sum to {priors.sum():g}, but must be probabilities that sum to 1."
            )
        return priors / priors.sum()

    def _warn_cut(self, rule: ClassRule) -> None:
        """Where a q that was given is cut, but not by a noise that was chosen."""
        if is_auto(self.n_components) or (is_auto(self.noise_variance) and rule.noise_variance > 0):
            return
        least = [min(counts) for counts in self.n_components_]
        asked = zip(self.classes_, least, rule.n_components)
        named = [f"{label!s} keeps {q}" for label, q, count in asked if isinstance(count, int) and q < count]
        if named:
            warn(
                f"n_components={self.n_components} is more than some classes have (their rank, or the directions above "
                f"noise_variance), and is cut: class {', '.join(named[:5])}. Lower n_components, or give a fraction.",
                NumericalWarning,
            )

    def _calibrate(
        self,
        rows: LabelledRows,
        rule: ClassRule,
        open_rule: OpenRule,
        found: tuple[Calibration, float, float] | None,
        rng: np.random.Generator,
    ) -> None:
        """Probabilities that held-out rows bear out, where the rule has none of its own or was chosen; what is given stays."""
        limiting = rule.noise_variance == 0
        chosen = open_rule.noise is None
        free = chosen and open_rule.priors is None
        self.evidence_scale_, self.evidence_offsets_ = 1.0, np.zeros(len(self.classes_))
        on_choice = found
        if rows.features is not None or rule.n_clusters > 1 or len(rows.codes) > LOOK.rows:
            found = None  # the choice was made with other models, or on fewer rows
        if found is None and (limiting or (self.n_folds is not None and (chosen or rows.features is not None))):
            found = calibration_of(
                rows, rule, self.class_prior_, self._folds or LOOK.folds, rng, offsets=free and not limiting
            )
        if rows.features is not None:
            self._approximation_told = _words(rows, found, on_choice)
        if limiting:
            scale = 0.0 if found is None else float(found[0].scales[0])
            self.calibrated_noise_ = 0.5 / scale if scale > 0 else 1.0
        if found is None:
            return
        if not (self.n_folds is None and open_rule.any_open):
            self.held_out_log_loss_, self.held_out_accuracy_ = found[1:]
        if not chosen or self.n_folds is None:
            return
        if not limiting:
            self.evidence_scale_, self.evidence_offsets_ = float(found[0].scales[0]), found[0].offsets[0]
        if free and found[2] < self.class_prior_.max():  # never worse than the most frequent class
            self.evidence_scale_, self.evidence_offsets_ = 0.0, np.log(self.class_prior_)


def _gram_hashes(gram: Array) -> Array:
    """A hash per row of a Gram matrix that forgets the order and the repetition of its columns."""
    values = np.sort(gram, axis=1)
    values[:, 1:][values[:, 1:] == values[:, :-1]] = 0.0  # a zero adds nothing to a hash ...
    return row_hashes(np.sort(values, axis=1)[:, ::-1])


def _words(rows: LabelledRows, found: tuple[Any, float, float] | None, choice: tuple[Any, float, float] | None) -> str:
    assert rows.features is not None
    shape = rows.features.features.shape[1], len(rows.features.points)
    map_ = type(rows.features.feature_map).__name__
    lines = f"{map_} features of {shape[1]} landmarks stand for the kernel"
    if not hasattr(rows.features.feature_map, "landmarks_"):
        lines = f"{shape[0]} {map_} features stand for the kernel"
    if found is not None:
        lines += f": held-out log-loss {found[1]:.3f}, accuracy {found[2]:.3f}"
        if choice is not None:
            lines += f" (exact, on the at most {LOOK.rows} rows of the choice: {choice[1]:.3f}, {choice[2]:.3f})"
    return lines + "."
