"""What a fitted classifier says of rows: classes, what the rule compares, probabilities, and how it came to them [7]."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype, has_nan, row_chunks
from gramian._checks import check_finite, check_table, finite_answers
from gramian._precision import TINY
from gramian._types import Table
from gramian.classes.blend import Blend
from gramian.classes.models import evidence, projections
from gramian.latent.model import LatentModel
from gramian.policy import SIZES
from gramian.single.answers import BaseEstimator
from gramian.single.input_holes import InputHoles
from gramian.tables.front_door import TakesFrames


class ClassAnswers(InputHoles, TakesFrames, ClassifierMixin, BaseEstimator):
    """The methods of `KernelPPCAClassifier` once it is fitted."""

    classes_: Annotated[Array, "labels k"]
    class_prior_: Annotated[Array, "+ k"]
    noise_variance_: Annotated[float, "nonnegative"]
    calibrated_noise_: float
    evidence_scale_: Annotated[float, "maybe number"]
    evidence_offsets_: Annotated[Array, "maybe k"]
    n_components_: list[list[int]]
    kernel_: Annotated[Any, "Kernel"]
    _models: Annotated[list[list[LatentModel[Any]]], "k: filled"]
    _mixing: Annotated[list[Array], "k: + *"]
    _columns: Annotated[list[Any] | None, "*: #d *"]
    _blend: Blend | None
    _shift: Array | None
    _scale: Array | None
    _approximation_told: str | None

    def _wrong_state(self) -> str | None:
        """What a model file may not say: the limiting rule without the noise that it is told in."""
        state = vars(self)
        limiting = "_models" in state and state.get("noise_variance_") == 0
        return "calibrated_noise_ is missing" if limiting and "calibrated_noise_" not in state else None

    def _inputs(self, X: Array) -> Array:
        if self._shift is None or self._scale is None:
            return X
        return np.asarray((np.asarray(X, dtype=np.float64) - self._shift) / self._scale)

    def _joint(self, X: Table) -> tuple[Array, Any]:
        """log p(c) - L^_c/2, or minus the limiting distances, (n, C); and the dtype to answer in."""
        check_is_fitted(self)
        X = check_table(self, X, reset=False, missing=self._columns is None)
        if not has_nan(X):
            return self._joint_of(X), float_dtype(X)
        holes = np.isnan(X).any(axis=1)
        joint = np.empty((len(X), len(self.classes_)))
        if not holes.all():
            joint[~holes] = self._joint_of(X[~holes])
        limiting = self.noise_variance_ == 0
        # the probability of a class is the mean over what the row may be; distances have none, and are averaged themselves
        (found,) = self._expected_answers(
            X[holes], lambda rows: (self._joint_of(rows) if limiting else softmax(self._joint_of(rows), axis=1),)
        )
        joint[holes] = found if limiting else np.log(np.maximum(found, TINY))
        return joint, float_dtype(X)

    def _joint_of(self, X: Array) -> Array:
        """The same of rows without holes."""
        limiting = self.noise_variance_ == 0
        parts = []
        for rows in row_chunks(X.shape[0], SIZES.block):
            block = self._inputs(X[rows])
            views = [block if self._columns is None else block[:, own] for own in self._own_columns()]
            seen = projections(self._models, views, None)
            parts.append(evidence(self._models, self._mixing, seen, limiting, self._blend))
        joint = check_finite(np.concatenate(parts), "distances to the classes")
        if not limiting:
            with np.errstate(divide="ignore"):
                joint = joint + np.log(self.class_prior_)
        scale, offsets = self._calibration
        if scale == 0:
            return np.broadcast_to(offsets, joint.shape)
        return joint if scale == 1 and not offsets.any() else scale * joint + offsets

    @property
    def _calibration(self) -> tuple[float, Array]:
        """Scale and offsets of the evidence; models saved before there were any have none."""
        none = np.zeros(len(self.classes_))
        return getattr(self, "evidence_scale_", 1.0), getattr(self, "evidence_offsets_", none)

    def _own_columns(self) -> list[Any]:
        return [None] * len(self.classes_) if self._columns is None else self._columns

    @finite_answers
    def predict(self, X: Table) -> Array:
        """The class of each row [7].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or kernel values with the training rows

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCAClassifier
        >>> from gramian.kernels import RBF
        >>> X, y = load_iris(return_X_y=True)
        >>> model = KernelPPCAClassifier(n_components=2, kernel=RBF(2.0), noise_variance=1e-3).fit(X[::3], y[::3])
        >>> bool((model.predict(X) == y).mean() > 0.9)
        True
        """
        joint, _ = self._joint(X)
        return self.classes_[joint.argmax(axis=1)]

    @finite_answers
    def decision_function(self, X: Table) -> Array:
        """What the rule compares: log p(c) - L^_c/2 (calibrated where it was chosen), or minus the squared distance to the class's subspace [7].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or kernel values with the training rows

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) with two classes: positive means ``classes_[1]``

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCAClassifier
        >>> from gramian.kernels import RBF
        >>> X, y = load_iris(return_X_y=True)
        >>> model = KernelPPCAClassifier(n_components=2, kernel=RBF(2.0), noise_variance=1e-3).fit(X[::3], y[::3])
        >>> bool((model.classes_[model.decision_function(X).argmax(axis=1)] == model.predict(X)).all())
        True
        """
        joint, dtype = self._joint(X)
        if len(self.classes_) <= 2:
            joint = joint[:, -1] - joint[:, 0]
        return joint.astype(dtype, copy=False)

    @finite_answers
    def predict_proba(self, X: Table) -> Array:
        """p(c | x) by Bayes' rule; under the limiting rule, softmax(-distance / 2ρ) with the calibrated ρ [7].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or kernel values with the training rows

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCAClassifier
        >>> from gramian.kernels import RBF
        >>> X, y = load_iris(return_X_y=True)
        >>> model = KernelPPCAClassifier(n_components=2, kernel=RBF(2.0), noise_variance=1e-3).fit(X[::3], y[::3])
        >>> model.predict_proba(X[:4]).sum(axis=1).round(6)
        array([1., 1., 1., 1.])
        """
        joint, dtype = self._joint(X)
        if self.noise_variance_ == 0 and self._calibration[0] != 0:
            joint = joint / (2 * self.calibrated_noise_)
        return softmax(joint, axis=1).astype(dtype, copy=False)

    def explain(self) -> str:
        """What was chosen and why, how probabilities were calibrated, and what an approximation costs.

        Returns
        -------
        str
        """
        check_is_fitted(self)
        counts = sorted({q for listed in self.n_components_ for q in listed})
        told = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
        rule = "the limiting rule" if self.noise_variance_ == 0 else f"noise {self.noise_variance_:.3g}"
        if self._blend is not None:
            rule = f"{len(self._blend.shares)} rules together ({self._blend.told})"
        lines = [f"{len(self.classes_)} classes, {self.kernel_!r}, q = {told}, {rule}."]
        if hasattr(self, "selection_"):
            lines.append(f"Chosen on held-out rows: {self.selection_.reason}.")
        if hasattr(self, "held_out_accuracy_"):
            lines.append(
                f"Held-out rows: accuracy {self.held_out_accuracy_:.3f} (most frequent class {self.class_prior_.max():.3f}), "
                f"log-loss {self.held_out_log_loss_:.3f}."
            )
        if self._calibration[0] == 0:
            lines.append("No rule beat the most frequent class, which is always predicted.")
        if self._approximation_told is not None:
            lines.append(self._approximation_told)
        return "\n".join(lines)
