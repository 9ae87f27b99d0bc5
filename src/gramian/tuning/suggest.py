"""suggest: a kernel, a width and q for a table, in seconds, with the reasons."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_table
from gramian._content import row_hashes, smallest_positions
from gramian._threads import single_blas_thread
from gramian._types import Table
from gramian.evidence.held_out import HeldOut, ladder
from gramian.evidence.selection import Selection, choose
from gramian.policy import LOOK, SUGGEST
from gramian.tuning.fast import KernelEvaluation
from gramian.tuning.objectives import denoising

WIDTHS = 2.0 ** np.arange(3.0, -4.0, -1.0)
"""Widths of kernels that are tried, in median distances between rows: the widest is the nearest to a line."""
COPY = {"kernel": "none"}
"""The trivial answer: the noisy row itself."""


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
    selection: Selection | None = None  # of the kernel; None where only one kind of model could be asked

    @property
    def width(self) -> float | None:
        """Another word for ``length_scale``."""
        return self.length_scale

    def __repr__(self) -> str:
        scale = "" if self.length_scale is None else f", length_scale={self.length_scale:.4g}"
        head = f"Proposal(kernel={self.kernel!r}{scale}, n_components={self.n_components})"
        return "\n".join([head, f"  {self.estimator!r}", *(f"  - {reason}" for reason in self.reasons)])


def suggest(X: Table) -> Proposal:
    """Propose a kernel, a width and q for the rows of X [10].

    Models are judged by denoising: on held-out rows to which noise was added, by how near they come to the clean row. Copying the
    input cannot win, so that a linear model and kernels of all widths compare fairly, at every q. With missing cells only the linear
    model remains. The simplest within one standard error of the best is proposed. Its q is the one that ``n_components="auto"`` takes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        NaN marks missing cells. Of many rows those of smallest hash are looked at.

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

    table = np.asarray(
        check_table(None, X, reset=False, missing=True, min_samples=6, accept_sparse=False), dtype=np.float64
    )
    reasons: list[str] = []
    if len(table) > LOOK.few:
        reasons.append(f"looked at {LOOK.few} of {len(table)} rows, drawn by what they hold")
    table = table[
        smallest_positions(row_hashes(table), LOOK.few)
    ]  # in an order that follows from them, as the noise goes by it
    seen = np.isfinite(table)
    empty = ~seen.any(axis=0)
    if empty.any():
        raise ValueError(
            f"X has columns without a single value (positions {np.flatnonzero(empty).tolist()}). Drop them first."
        )
    spread = np.nanstd(table, axis=0)
    if not (spread > 1e-12 * np.abs(np.nanmean(table, axis=0))).any():
        raise ValueError("all rows of X are equal: there is nothing to model.")
    _mention_scales(spread, reasons)
    if not seen.all():
        reasons.append(f"{(~seen).mean():.1%} of the cells are missing: only PPCA takes them, so the model is linear")
        q = _chosen_q(PPCA(), table, reasons)
        return Proposal("linear", None, q, PPCA(q), reasons)
    selection = _choose_kernel(table, reasons)
    if selection.chosen["kernel"] == "rbf":
        width = selection.chosen["length_scale"]
        q = _chosen_q(KernelPPCA(kernel=RBF(width)), table, reasons)
        return Proposal("rbf", width, q, KernelPPCA(q, kernel=RBF(width)), reasons, selection)
    if selection.chosen == COPY:
        reasons.append(
            f"copying the noisy rows leaves {LOOK.noise**2:.0%} and is as good: hardly any structure was found, use with care"
        )
    q = _chosen_q(PPCA(), table, reasons)
    return Proposal("linear", None, q, PPCA(q), reasons, selection)


# ---------------------------------------------------------------- details


def _choose_kernel(table: Array, reasons: list[str]) -> Selection:
    """Nothing, a line or a curve, each with its best width and q, by held-out rows [10].

    PPCA is the linear kernel with noise in as many dimensions as there are columns.
    """
    from gramian.estimators.kernel_ppca import KernelPPCA
    from gramian.kernels import RBF
    from gramian.tuning.defaults import usual_distance

    held_out = HeldOut.of(table)
    if not held_out:
        raise ValueError("no model could be fitted to X: too few distinct rows to hold any out.")
    folds = [(part.kept, part.held) for part in held_out]
    asked = KernelEvaluation(None, denoising, table, None, folds, {}, None)
    most, middle = min(SUGGEST.components, min(len(kept) for kept, _ in folds) - 1), usual_distance(table)
    few = ladder(1, max(1, min(most, table.shape[1] - 1)))
    models: list[tuple[dict[str, Any], Any, list[int]]] = [
        ({"kernel": "linear"}, KernelPPCA(kernel="linear", noise_dim=table.shape[1]), few),
        *(
            ({"kernel": "rbf", "length_scale": w}, KernelPPCA(kernel=RBF(w)), ladder(1, most))
            for w in (WIDTHS * middle).tolist()
        ),
    ]
    candidates: list[dict[str, Any]] = [COPY]
    scores = [np.full(len(folds), -(LOOK.noise**2))]
    weights = np.array([len(held) for _, held in folds], dtype=np.float64)
    for kernel, model, counts in models:
        asked_of = replace(asked, estimator=model, counts=counts)
        with warnings.catch_warnings(), single_blas_thread():
            warnings.simplefilter("ignore")  # widths and q that deserve a warning are looked at on purpose
            found = asked_of.scores({})
        finite = [q for q in counts if np.isfinite(found[q]).all()]
        if not finite:
            continue
        best = max(finite, key=lambda q: float(weights @ found[q]))
        kernel = {**kernel, "n_components": best}
        if candidates[-1]["kernel"] != kernel["kernel"]:
            candidates.append(kernel)
            scores.append(found[best])
        elif weights @ found[best] > weights @ scores[-1]:
            candidates[-1], scores[-1] = kernel, found[best]
    selection = choose(candidates, np.array(scores).T, weights, what="model", score="denoising of held-out rows")
    for candidate, score in zip(candidates[1:], selection.scores[1:]):
        width = f" of width {candidate['length_scale']:.4g}" if "length_scale" in candidate else ""
        words = (
            "an RBF kernel" if width else "PPCA"
        ) + f"{width} is left with {-score:.1%} of the variance (q = {candidate['n_components']})"
        reasons.append(f"noise added to held-out rows: {words}")
    reasons.append(selection.reason)
    return selection


def _chosen_q(model: Any, table: Array, reasons: list[str]) -> int:
    """The q that a model left at "auto" chooses on these rows, by the one rule [10]; its reason is added."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # exact structure: the fit on the whole table says it
        fitted = model.fit(table)
    reasons.append(fitted.selection_.reason if hasattr(fitted, "selection_") else f"q = {fitted.n_components_}")
    return int(fitted.n_components_)


def _mention_scales(spread: Array, reasons: list[str]) -> None:
    positive = spread[spread > 0]
    if positive.size > 1 and positive.max() > 100 * np.median(positive):
        reasons.append(
            f"one column varies {positive.max() / np.median(positive):.0f} times as much as the middle one and rules all distances: "
            "consider scaling the columns first"
        )
