"""One rule for every choice: the simplest candidate within one standard error of the best, paired over folds [10]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array

ROUNDING = 1e-12
"""Scores that differ by less than this share of themselves are the same: which is larger is rounding."""


@dataclass(frozen=True)
class Selection:
    """What was tried, how it scored on held-out data, and what was taken.

    Attributes
    ----------
    candidates : list
        Simplest first; ints where only q was open, else dicts of parameter and value.
    scores : ndarray
        Mean held-out score of each candidate; higher is better.
    errors : ndarray
        Standard error of the paired difference to the best candidate.
    chosen : an element of ``candidates``
    reason : str
    """

    candidates: list[Any]
    scores: Array
    errors: Array
    chosen: Any
    reason: str

    @property
    def index(self) -> int:
        """Where the chosen candidate stands."""
        return self.candidates.index(self.chosen)


def choose(
    candidates: Sequence[Any],
    fold_scores: Array,
    fold_weights: Array | None = None,
    *,
    what: str = "q",
    score: str = "held-out log-likelihood",
) -> Selection:
    """The simplest candidate as good as the best, from scores (n_folds, n_candidates); candidates come simplest first.

    With D_f(c) = score_f(best) - score_f(c), each fold weighted by its rows, c is as good as the best if mean D is at most
    std(D, ddof=1) / √folds and D_f(c) <= 0 in at least one fold [10]. A D that is rounding is none. A score of -inf or NaN is a candidate that failed.

    Parameters
    ----------
    candidates : sequence
        Simplest first.
    fold_scores : array-like of shape (n_folds, n_candidates)
        Higher is better.
    fold_weights : array-like of shape (n_folds,), optional
        Rows of the folds.
    what : str, default="q"
        What is chosen, for the reason.
    score : str
        What the scores are, for the reason.

    Returns
    -------
    Selection

    References
    ----------
    [10] docs/theory.md, section 10: choosing, by what was not seen.

    Examples
    --------
    >>> choose([1, 2, 3], [[0.0, 1.0, 1.1], [0.0, 1.0, 0.9], [0.0, 1.0, 1.1]]).chosen
    2
    """
    scores = np.array(fold_scores, dtype=np.float64)
    scores = np.where(np.isnan(scores), -np.inf, scores)
    n_folds = len(scores)
    weights = np.full(n_folds, 1.0) if fold_weights is None else np.asarray(fold_weights, dtype=np.float64)
    weights = weights / weights.sum()
    means = weights @ np.where(np.isfinite(scores), scores, 0.0)
    means[~np.isfinite(scores).all(axis=0)] = -np.inf
    if not np.isfinite(means).any():
        raise ValueError(f"No candidate for {what} could be scored on held-out data.")
    best = int(means.argmax())
    errors = np.full(len(candidates), np.inf)
    as_good = np.zeros(len(candidates), dtype=bool)
    for c in np.flatnonzero(np.isfinite(means)):
        gap = scores[:, best] - scores[:, c]
        gap[np.abs(gap) <= ROUNDING * np.abs(scores[:, best])] = 0.0
        mean = float(weights @ gap)
        # a power of two, so that squares of huge gaps do not overflow and no digit changes
        unit = np.ldexp(1.0, int(np.frexp(np.abs(gap - mean).max())[1]))
        spread = float(weights @ ((gap - mean) / unit) ** 2) * n_folds / (n_folds - 1) if n_folds > 1 else 0.0
        errors[c] = unit * np.sqrt(spread / n_folds)
        as_good[c] = c == best or (mean <= errors[c] and bool((gap <= 0).any()))
    chosen = int(as_good.argmax())
    if chosen == best:
        reason = f"{what} = {_told(candidates[best])}: the best {score} of {len(candidates)} candidates"
    else:
        reason = f"{what} = {_told(candidates[chosen])}: {score} within one standard error of the best ({_told(candidates[best])})"
    return Selection(list(candidates), means, errors, candidates[chosen], reason)


def _told(candidate: Any) -> str:
    if isinstance(candidate, dict):
        return ", ".join(f"{name} {value}" for name, value in candidate.items())
    return str(candidate)
