"""Kernel ridge regression from scores to inputs, learned once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from gramian._arrays import Array, single_blas_thread, symmetrized
from gramian._checks import check_count, check_number
from gramian.kernels import RBF
from gramian.preimage.base import PreImage, PreImageInfo

WIDTHS = (8.0, 4.0, 2.0, 1.0, 0.5)  # of the median distance between scores; of equals the first, smoothest, is taken
PENALTIES = np.logspace(1, -10, 12)  # of the largest eigenvalue of the features' scatter
HELD_OUT = 512
RANK = 1e-12
RESOLVED = 1e-6  # of the variance: errors below it are equally good, and rounding must not choose between them


class KernelRidge(PreImage):
    """x = x̄ + Σⱼ r(t, tⱼ) cⱼ with r an RBF kernel of the scores t, fitted to the training rows (Bakir et al. 2004) [4].

    Scores are affine in φ, so a feature point Φγ has the scores Σᵢ γᵢtᵢ. Penalty and width are those with the smallest
    leave-one-out error, by its closed form, over up to 512 rows. Without scores the regression is on φ itself, whose
    kernel is K₀.

    Parameters
    ----------
    penalty : float or None, default=None
        The ridge, as a fraction of the largest eigenvalue of the features; None: chosen on held-out rows.
    length_scale : float or None, default=None
        Width of r, in units of the scores; None: chosen with the penalty.
    n_centers : int, default=500
        How many rows r is centred on, evenly spaced; all of them if there are no more.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.preimage import KernelRidge
    >>> t = np.linspace(-1, 1, 50)[:, None]
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> ridge = KernelRidge().fit(X, kernel="rbf", scores=t)
    >>> weights = np.eye(50)[[9, 40]].mean(axis=0)[None]  # half way between two scores, at 0
    >>> ridge.transform(weights, weights).round(3) + 0.0
    array([[1., 0.]])
    """

    def __init__(self, penalty: float | None = None, length_scale: float | None = None, n_centers: int = 500) -> None:
        self.penalty = penalty
        self.length_scale = length_scale
        self.n_centers = n_centers

    def prepare(self, K0: Any, scores: Array | None) -> None:
        n_centers = min(check_count("n_centers", self.n_centers, 1), self.X_.shape[0])
        penalties = PENALTIES if self.penalty is None else [check_number("penalty", self.penalty, 0.0, open_low=True)]
        inputs = self.X_.toarray() if sparse.issparse(self.X_) else self.X_
        inputs = np.asarray(inputs, dtype=np.float64)
        centers = np.linspace(0, len(inputs) - 1, n_centers).astype(np.intp)
        with single_blas_thread():
            fits, widths = self._fits(K0, scores, inputs, centers, penalties)
        best = int(np.argmin([max(fit.error, fit.floor) for fit in fits]))
        self.scores_ = None if scores is None else np.asarray(scores, dtype=np.float64)
        self.centers_, self.length_scale_ = centers, widths[best]
        self.mean_, self.coefficients_ = fits[best].mean, fits[best].coefficients
        self.penalty_, self.held_out_error_ = fits[best].penalty, fits[best].error

    def invert(self, weights: Array, values: Array) -> tuple[Array, PreImageInfo]:
        if self.scores_ is None:
            rows = values[:, self.centers_]
        else:
            rows = RBF(self.length_scale_)(_rows(weights @ self.scores_), _rows(self.scores_[self.centers_]))
        return self.mean_ + rows @ self.coefficients_, PreImageInfo.closed_form(len(weights))

    def _fits(
        self, K0: Any, scores: Any, inputs: Array, centers: Array, penalties: Any
    ) -> tuple[list[_Fit], list[Any]]:
        if scores is None:
            gram = np.asarray(self.kernel_(self.X_) if K0 is None else K0, dtype=np.float64)
            return [_fit(gram[:, centers], gram[np.ix_(centers, centers)], inputs, penalties)], [None]
        scores = np.asarray(scores, dtype=np.float64)
        widths = self._widths(scores)
        return [_fit(*_products(scores, centers, width), inputs, penalties) for width in widths], widths

    def _widths(self, scores: Array) -> list[Any]:
        if self.length_scale is not None:
            return [check_number("length_scale", self.length_scale, 0.0, open_low=True)]
        if scores.size == 0 or not np.ptp(scores, axis=0).any():
            return [1.0]
        median = float(RBF("median").resolve(scores).length_scale)
        return [width * median for width in WIDTHS]


@dataclass(frozen=True)
class _Fit:
    mean: Array
    coefficients: Array
    penalty: float
    error: float
    floor: float


def _rows(scores: Array) -> Array:
    """Scores as rows of a kernel: a model without components has one constant score."""
    return scores if scores.shape[1] else np.zeros((len(scores), 1))


def _products(scores: Array, centers: Array, width: float) -> tuple[Array, Array]:
    kernel = RBF(width)
    gram = kernel(_rows(scores), _rows(scores[centers]))
    return gram, gram[centers]


def _fit(gram: Array, central: Array, inputs: Array, penalties: Any) -> _Fit:
    """Ridge regression of the inputs on the features that the centres span, at the best of the penalties.

    With features F = R_c V S^-½ from the Gram matrix V S Vᵀ of the centres, centred, and F = P D Qᵀ: the fit at penalty
    a is P D²/(D² + a) Pᵀx, its leverage h the diagonal of that plus 1/n, and a row's error when left out e/(1 - h).
    """
    n_rows = len(inputs)
    sizes, axes = linalg.eigh(symmetrized(central))
    kept = sizes > RANK * max(sizes[-1], 0.0)
    basis = axes[:, kept] / np.sqrt(sizes[kept])
    features = gram @ basis
    shift, mean = features.mean(axis=0), inputs.mean(axis=0)
    features -= shift
    squares, turns = linalg.eigh(symmetrized(features.T @ features))
    squares = np.maximum(squares, 0.0)
    scale = float(squares.max(initial=0.0)) or 1.0
    along = turns.T @ (features.T @ (inputs - mean))  # D Pᵀx, (r, d)
    held_out = np.linspace(0, n_rows - 1, min(n_rows, HELD_OUT)).astype(np.intp)
    seen = features[held_out] @ turns  # P D, (held out, r)
    target = inputs[held_out] - mean
    floor = RESOLVED * float(np.square(target).sum(axis=1).mean())
    errors = []
    for penalty in penalties:
        shrunk = seen / (squares + penalty * scale)
        leverage = np.einsum("nr,nr->n", shrunk, seen) + 1.0 / n_rows
        remainder = np.square(target - shrunk @ along).sum(axis=1)
        errors.append(float(np.mean(remainder / np.square(np.maximum(1.0 - leverage, 1e-8)))))
    best = int(np.argmin(np.maximum(errors, floor)))
    slopes = turns @ (along / (squares + penalties[best] * scale)[:, None])
    return _Fit(mean - shift @ slopes, basis @ slopes, float(penalties[best]), errors[best], floor)
