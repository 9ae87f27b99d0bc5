"""Kernel ridge regression from scores to inputs, learned once."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy import linalg

from gramian._arrays import Array, is_sparse, symmetric_part
from gramian._checks import check_count, check_number
from gramian._content import content_folds, row_hashes, smallest_positions
from gramian._precision import LEAST_NOISE, ROUNDING
from gramian._threads import single_blas_thread
from gramian._types import Points
from gramian.kernels import RBF, Precomputed
from gramian.kernels.base import Kernel
from gramian.latent.sample import DualSample
from gramian.operators.gram import DenseGram, LazyGram
from gramian.policy import JURY, LOOK
from gramian.preimage.base import PreImage, PreImageInfo
from gramian.solvers import Eigh

# of equally good choices the first, smoothest, is taken
WIDTHS = (8.0, 4.0, 2.0, 1.0, 0.5)  # of the median distance between scores
PENALTIES = np.logspace(1, -10, 12)


class KernelRidge(PreImage):
    """x = x̄ + Σⱼ r(t, tⱼ) cⱼ with r an RBF kernel of the scores t, fitted to the training rows (Bakir et al. 2004) [4].

    Scores are affine in φ, so a feature point Φγ has the scores Σᵢ γᵢtᵢ. Penalty and width are those that give held-out
    rows back best. Held out means from the components too: new rows have smaller scores than the rows that the
    components were fitted to, and a penalty chosen on those is too small. Without scores the regression is on φ itself,
    whose kernel is K₀.

    Parameters
    ----------
    penalty : float or None, default=None
        The ridge added to r's Gram matrix, whose diagonal is 1; None: chosen on held-out rows.
    length_scale : float or None, default=None
        Width of r, in units of the scores; None: chosen with the penalty.
    n_centers : int, default=500
        How many rows r is centred on, those of smallest hash; all of them if there are no more.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.preimage import KernelRidge
    >>> t = np.linspace(-1, 1, 50)[:, None]
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> ridge = KernelRidge().fit(X, X @ X.T, kernel="precomputed", scores=t)
    >>> weights = np.eye(50)[[9, 40]].mean(axis=0)[None]  # half way between two scores, at 0
    >>> ridge.transform(weights, weights).round(2) + 0.0
    array([[1., 0.]])
    """

    prepared = ("scores_", "centers_", "length_scale_", "mean_", "coefficients_")

    penalty_: float
    held_out_error_: float
    centers_: Annotated[Array, "maybe #n *"]
    coefficients_: Annotated[Array, "maybe m d"]
    mean_: Annotated[Array, "maybe d"]
    length_scale_: Annotated[float | None, "maybe positive"]

    def __init__(self, penalty: float | None = None, length_scale: float | None = None, n_centers: int = 500) -> None:
        self.penalty = penalty
        self.length_scale = length_scale
        self.n_centers = n_centers

    def prepare(self, K0: Any, scores: Array | None) -> None:
        n_centers = check_count("n_centers", self.n_centers, 1)
        if self.penalty is not None:
            check_number("penalty", self.penalty, 0.0, open_low=True)
        if self.length_scale is not None:
            check_number("length_scale", self.length_scale, 0.0, open_low=True)
        inputs = self.X_.toarray() if is_sparse(self.X_) else self.X_
        inputs = np.asarray(inputs, dtype=np.float64)
        self.scores_ = None if scores is None else np.asarray(scores, dtype=np.float64)
        if self.scores_ is None and K0 is None:
            K0 = self.kernel_(self.X_)
        K0 = None if K0 is None else np.asarray(K0, dtype=np.float64)
        hashes = row_hashes(self.X_)
        self.centers_ = smallest_positions(hashes, n_centers)
        with single_blas_thread():
            width, self.penalty_, self.held_out_error_ = self._chosen(K0, inputs, hashes)
            self.length_scale_ = None if self.scores_ is None else width * _median_distance(self.scores_)
            gram = K0[:, self.centers_] if self.scores_ is None else self._similar(self.scores_)
            regression = _Regression.of(gram, gram[self.centers_], inputs)
            self.mean_, self.coefficients_ = regression.solution(self.penalty_)

    @property
    def inverts_scores(self) -> bool:
        return self.scores_ is not None

    def invert(self, weights: Array, values: Array) -> tuple[Array, PreImageInfo]:
        return self.mean_ + values[:, self.centers_] @ self.coefficients_, PreImageInfo.closed_form(len(weights))

    def invert_scores(self, scores: Array, values: Array) -> tuple[Array, PreImageInfo]:
        return self.mean_ + self._similar(scores) @ self.coefficients_, PreImageInfo.closed_form(len(scores))

    def _similar(self, scores: Any) -> Array:
        """r(t, tⱼ) at the centres."""
        return RBF(self.length_scale_)(_rows(scores), _rows(np.asarray(self.scores_)[self.centers_]))

    def _chosen(self, K0: Array, inputs: Array, hashes: Array) -> tuple[float, float, float]:
        """The width (in median distances), the penalty, and the mean squared error of held-out rows that they give."""
        median = 1.0 if self.scores_ is None else _median_distance(self.scores_)
        widths = WIDTHS if self.length_scale is None else (self.length_scale / median,)
        widths = widths if self.scores_ is not None else (1.0,)
        penalties = PENALTIES if self.penalty is None else np.array([self.penalty])
        rows = smallest_positions(hashes, LOOK.gram)
        out = content_folds(self.X_, LOOK.folds, hashes[rows])[1] == 0
        if len(rows) < JURY.fewest_rows or out.all():
            return widths[len(widths) // 2], float(penalties[len(penalties) // 2]), float("nan")
        kept, held_out = rows[~out], rows[out]
        scores = (
            None if self.scores_ is None else _split_scores(self.kernel_, self.X_, K0, self.scores_, kept, held_out)
        )
        centers = np.arange(min(len(kept), self.n_centers))  # rows come by rising hash
        target = inputs[held_out]
        floor = LEAST_NOISE * float(np.square(target - inputs[kept].mean(axis=0)).sum(axis=1).mean())
        best = 1.0, 1.0, np.inf
        for width in widths:
            if scores is None:
                near, far = K0[np.ix_(kept, kept[centers])], K0[np.ix_(held_out, kept[centers])]
            else:
                kernel = RBF(width * _median_distance(scores[0]))
                near, far = (kernel(_rows(part), _rows(scores[0][centers])) for part in scores)
            regression = _Regression.of(near, near[centers], inputs[kept])
            features = regression.features(far)
            for penalty in penalties:
                missed = regression.mean + features @ regression.slopes(penalty) - target
                with np.errstate(over="ignore"):  # an error beyond float64 is not the best
                    error = float(np.square(missed).sum(axis=1).mean())
                if max(error, floor) < best[2]:
                    best = width, float(penalty), max(error, floor)
        return best


class _Regression(NamedTuple):
    """Ridge regression of inputs on the features that the centres span, ready for any penalty.

    Features are F = R_c V S^-½ from the Gram matrix V S Vᵀ of the centres; with FᵀF = Q D Qᵀ (F and x centred) the slopes
    of FQ at penalty a are Q (D + a)⁻¹ QᵀFᵀx.
    """

    basis: Array
    shift: Array
    mean: Array
    squares: Array
    along: Array
    scale: float

    @classmethod
    def of(cls, gram: Array, central: Array, inputs: Array) -> _Regression:
        sizes, axes = linalg.eigh(symmetric_part(central))
        kept = sizes > ROUNDING * max(sizes[-1], 0.0)
        basis = axes[:, kept] / np.sqrt(sizes[kept])
        features = gram @ basis
        shift, mean = features.mean(axis=0), inputs.mean(axis=0)
        features -= shift
        squares, turns = linalg.eigh(symmetric_part(features.T @ features))
        along = turns.T @ (features.T @ (inputs - mean))
        scale = float(np.mean(central.diagonal())) or 1.0
        return cls(basis @ turns, shift @ turns, mean, np.maximum(squares, 0.0), along, scale)

    def solution(self, penalty: float) -> tuple[Array, Array]:
        """The constant (d,) and the coefficients (centres, d)."""
        slopes = self.slopes(penalty)
        return self.mean - self.shift @ slopes, self.basis @ slopes

    def slopes(self, penalty: float) -> Array:
        """(D + a)⁻¹ QᵀFᵀx."""
        return self.along / (self.squares + penalty * self.scale)[:, None]

    def features(self, gram: Array) -> Array:
        """Features of rows, centred and turned, from their kernel values at the centres."""
        return gram @ self.basis - self.shift


def _split_scores(
    kernel: Kernel, X: Points, K0: Array, scores: Array, kept: Array, held_out: Array
) -> tuple[Array, Array]:
    """Scores of the kept rows and of the held-out ones, by components that only the kept rows have formed."""
    if isinstance(kernel, Precomputed):
        if K0 is None:
            return scores[kept], scores[held_out]
        points: Any = None
        raw: Any = DenseGram(K0[np.ix_(kept, kept)])
        new = K0[np.ix_(held_out, kept)]
    else:
        points, raw, new = X[kept], LazyGram(kernel, X[kept]), X[held_out]
    mean = scores.mean(axis=0)
    # whether the model was centred shows in the scores: theirs is then their mean, up to sample weights
    centred = bool(mean @ mean <= 0.1 * np.square(scores).sum(axis=1).mean())
    weights = np.full(len(kept), 1.0 / len(kept))
    sample = DualSample(kernel, points, raw, weights, float(len(kept)), centred)
    spectrum = Eigh().solve(sample.operator(), min(scores.shape[1], sample.max_components))
    rank = int((spectrum.eigenvalues > ROUNDING * spectrum.eigenvalues.max(initial=0.0)).sum())
    subspace = sample.subspace(spectrum.leading(rank))
    old = raw.to_dense() if points is None else points
    # scores need no k(y, y)
    return subspace.project(old, np.zeros(len(kept))).scores, subspace.project(new, np.zeros(len(held_out))).scores


def _rows(scores: Array) -> Array:
    """Scores as rows of a kernel: a model without components has one constant score."""
    return scores if scores.shape[1] else np.zeros((len(scores), 1))


def _median_distance(scores: Array) -> float:
    if scores.size == 0 or not np.ptp(scores, axis=0).any():
        return 1.0
    return float(RBF("median").resolve(scores).length_scale)
