"""suggest: a kernel, a width and q for a table, in seconds, with the reasons."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from gramian._arrays import Array
from gramian._checks import check_random_state, check_table
from gramian._threads import single_blas_thread
from gramian._types import RandomState, Table
from gramian.policy import LOOK, SUGGEST
from gramian.tuning.evaluation import Evaluation
from gramian.tuning.fast import Distances, KernelEvaluation, best_count
from gramian.tuning.objectives import denoising


@dataclass(frozen=True)
class Proposal:
    """A model to start from: ``estimator`` is unfitted and ready for the whole table; ``reasons`` say why.

    ``kernel`` is "linear" (then ``estimator`` is a PPCA and ``length_scale`` is None) or "rbf" (then it is a KernelPPCA).
    """

    kernel: str
    length_scale: float | None
    n_components: int
    estimator: Any
    reasons: list[str]

    @property
    def width(self) -> float | None:
        """Another word for ``length_scale``."""
        return self.length_scale

    def __repr__(self) -> str:
        scale = "" if self.length_scale is None else f", length_scale={self.length_scale:.4g}"
        head = f"Proposal(kernel={self.kernel!r}{scale}, n_components={self.n_components})"
        return "\n".join([head, f"  {self.estimator!r}", *(f"  - {reason}" for reason in self.reasons)])


def suggest(X: Table, *, random_state: RandomState = 0) -> Proposal:
    """Propose a kernel, a width and q for the rows of X [10].

    Models are judged by denoising: on held-out rows to which noise was added, by how near they come to the clean row. Copying the
    input cannot win (a kernel has to beat that too), so that a linear model and kernels of all widths compare fairly, at every q. With missing cells only the linear
    model remains. Where scores are equal to a standard error, the simpler model is proposed. Its q is the one that ``n_components="auto"`` takes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        NaN marks missing cells.
    random_state : None, int, Generator or RandomState, default=0
        For the choice of rows in large tables, and of folds.

    Returns
    -------
    Proposal

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import suggest
    >>> rng = np.random.default_rng(2)
    >>> X = rng.standard_normal((120, 2)) @ rng.standard_normal((2, 8)) + 0.1 * rng.standard_normal((120, 8))
    >>> proposal = suggest(X)
    >>> proposal.kernel, proposal.n_components
    ('linear', 2)
    """
    from gramian.estimators.kernel_ppca import KernelPPCA
    from gramian.estimators.ppca import PPCA
    from gramian.kernels import RBF
    from gramian.tuning.defaults import usual_distance

    table = np.asarray(
        check_table(None, X, reset=False, missing=True, min_samples=6, accept_sparse=False), dtype=np.float64
    )
    seen = np.isfinite(table)
    rng = check_random_state(random_state)
    reasons: list[str] = []
    if len(table) > SUGGEST.rows:
        reasons.append(f"looked at {SUGGEST.rows} of {len(table)} rows, chosen at random")
        rows = np.sort(rng.choice(len(table), SUGGEST.rows, replace=False))
        table, seen = table[rows], seen[rows]
    empty = ~seen.any(axis=0)
    if empty.any():
        raise ValueError(
            f"X has columns without a single value (positions {np.flatnonzero(empty).tolist()}). Drop them first."
        )
    spread = np.nanstd(table, axis=0)
    if not (spread > 1e-12 * np.abs(np.nanmean(table, axis=0))).any():
        raise ValueError("all rows of X are equal: there is nothing to model.")
    _mention_scales(spread, reasons)
    splitter = KFold(SUGGEST.folds, shuffle=True, random_state=int(rng.integers(2**31 - 1)))
    folds = [(train, test) for train, test in splitter.split(table)]
    n_train, d = min(len(train) for train, _ in folds), table.shape[1]
    counts = list(range(1, max(2, min(SUGGEST.components, n_train - 1, d - 1 if d > 1 else 1) + 1)))
    if not seen.all():
        reasons.append(f"{(~seen).mean():.1%} of the cells are missing: only PPCA takes them, so the model is linear")
        q = _chosen_q(PPCA(), table, reasons)
        return Proposal("linear", None, q, PPCA(q), reasons)
    linear = _by_count(Evaluation(PPCA(), denoising, table, None, folds, {}, 0), counts)
    middle = usual_distance(table)
    distances = Distances.of(table)
    kernel_counts = list(range(1, min(SUGGEST.components, n_train - 1) + 1))
    curves = {
        float(factor * middle): _by_count(
            KernelEvaluation(
                KernelPPCA(kernel=RBF(factor * middle)),
                denoising,
                table,
                None,
                folds,
                {},
                None,
                counts=kernel_counts,
                distances=distances,
            ),
            kernel_counts,
        )
        for factor in 2.0 ** np.arange(-3.0, 4.0)
    }
    curves = {width: curve for width, curve in curves.items() if curve.scores}
    reasons.append(f"noise added to held-out rows: PPCA is left with {_percent(linear)} of the variance")
    if curves:
        width = max(curves, key=lambda w: curves[w].top())
        reasons.append(
            f"an RBF kernel of width {width:.4g} ({width / middle:.3g} times the median distance {middle:.4g}) with {_percent(curves[width])}"
        )
        gain = curves[width].top() - max(linear.top(), -(LOOK.noise**2))
        if gain > max(curves[width].error(), linear.error()):
            reasons.append("the kernel wins by more than a standard error")
            q = _chosen_q(KernelPPCA(kernel=RBF(width)), table, reasons)
            return Proposal("rbf", width, q, KernelPPCA(q, kernel=RBF(width)), reasons)
        reasons.append("the kernel does not win by more than a standard error, so the simpler linear model is proposed")
    if linear.top() < -(LOOK.noise**2):
        reasons.append(
            f"copying the noisy rows would leave {LOOK.noise**2:.0%}: hardly any structure was found, use with care"
        )
    q = _chosen_q(PPCA(), table, reasons)
    return Proposal("linear", None, q, PPCA(q), reasons)


# ---------------------------------------------------------------- details


def _chosen_q(model: Any, table: Array, reasons: list[str]) -> int:
    """The q that a model left at "auto" chooses on these rows, by the one rule [10]; its reason is added."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # exact structure: the fit on the whole table says it
        fitted = model.fit(table)
    reasons.append(fitted.selection_.reason if hasattr(fitted, "selection_") else f"q = {fitted.n_components_}")
    return int(fitted.n_components_)


@dataclass(frozen=True)
class _Curve:
    """Scores a fold, by q."""

    scores: dict[int, Array]

    def mean(self, q: int) -> float:
        return float(self.scores[q].mean())

    def best(self) -> int:
        return max(self.scores, key=lambda q: (self.mean(q), -q))

    def top(self) -> float:
        return self.mean(self.best())

    def error(self) -> float:
        """Standard error of the best mean over folds."""
        values = self.scores[self.best()]
        return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _by_count(evaluation: Any, counts: list[int]) -> _Curve:
    found: dict[int, Array] = {}
    with warnings.catch_warnings(), single_blas_thread():
        warnings.simplefilter("ignore")  # widths and q that deserve a warning are looked at on purpose
        score = _scorer(evaluation)

        def look(q: int) -> float:
            values = score(q)
            if not np.isfinite(values).all():
                return float("nan")
            found[q] = values
            return float(values.mean())

        best_count(counts, look)
    if not found and not isinstance(evaluation, KernelEvaluation):
        raise ValueError("no model could be fitted to X: too few rows or no variance in some folds.")
    return _Curve(found)


def _scorer(evaluation: Any) -> Callable[[int], Array]:
    if isinstance(evaluation, KernelEvaluation):
        models = evaluation.fold_models({})
        return lambda q: np.array([evaluation.fold_score(model, q) if q <= model.limit else np.nan for model in models])

    def refit(q: int) -> Array:
        outcome = evaluation({"n_components": q})
        return np.array(outcome.scores if outcome.scores else [np.nan])

    return refit


def _mention_scales(spread: Array, reasons: list[str]) -> None:
    positive = spread[spread > 0]
    if positive.size > 1 and positive.max() > 100 * np.median(positive):
        reasons.append(
            f"one column varies {positive.max() / np.median(positive):.0f} times as much as the middle one and rules all distances: "
            "consider scaling the columns first"
        )


def _percent(curve: _Curve) -> str:
    return f"{-curve.top():.1%} (q = {curve.best()})"
