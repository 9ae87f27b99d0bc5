"""The jury: losses of candidates on what their models have not seen, one rule that chooses, and the evidence it leaves [10].

Losses come as a table, candidate x fold, most often from a loss for every held-out row. Rows far beyond the others do not vote: a few
wild rows would own the mean. The simplest candidate within one standard error of the best, paired over folds, is taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from scipy.special import ndtr, ndtri

from gramian._answers import Answer, Shown
from gramian._arrays import Array
from gramian._precision import ROUNDING
from gramian._quantiles import weighted_quantile
from gramian.policy import JURY, LOOK


@dataclass(frozen=True, repr=False)
class Evidence(Answer):
    """What was tried, and what each candidate lost on data that its model had not seen.

    Attributes
    ----------
    candidates : list
        Simplest first; ints where only q was open, else dicts of parameter and value.
    losses : ndarray of shape (n_candidates, n_folds)
        Mean loss of the held-out rows (cells, stretches) of each fold; lower is better.
    weights : ndarray of shape (n_folds,)
        What each fold counts.
    what, loss : str
        What was chosen, and what the losses are, in words.
    row_losses : ndarray of shape (n_candidates, n_rows) or None
        Loss of each held-out row, fold after fold, where rows were judged one by one.
    voted : ndarray of shape (n_rows,) or None
        Which of these rows voted.

    Examples
    --------
    >>> import numpy as np
    >>> evidence = Evidence([1, 2, 3], np.array([[9.0, 9.0, 9.0], [8.0, 8.1, 7.9], [7.9, 8.2, 7.9]]), np.ones(3))
    >>> evidence.choose()
    2
    """

    candidates: Annotated[list[Any], "c"]
    losses: Annotated[Array, "~ c f"]
    weights: Annotated[Array, "++ f"]
    what: str = "q"
    loss: str = "held-out log-likelihood"
    row_losses: Annotated[Array | None, "~ c n"] = None
    voted: Annotated[Array | None, "~ n"] = None

    @classmethod
    def of_rows(
        cls,
        candidates: Sequence[Any],
        losses: Sequence[Array],
        weights: Sequence[Array],
        *,
        what: str = "q",
        loss: str = "held-out log-likelihood",
    ) -> Evidence:
        """From the losses of single held-out rows; wild rows do not vote [10].

        Parameters
        ----------
        candidates : sequence
            Simplest first.
        losses : sequence of ndarray of shape (n_candidates, n_rows)
            One per fold; lower is better.
        weights : sequence of ndarray of shape (n_rows,)
            One per fold.
        what, loss : str
            What is chosen, and what the losses are, in words.

        Returns
        -------
        Evidence

        Examples
        --------
        >>> import numpy as np
        >>> losses = [np.array([[1.0, 2.0], [0.5, 1.0]]), np.array([[2.0, 2.0], [1.0, 1.5]])]
        >>> Evidence.of_rows(["plain", "rich"], losses, [np.ones(2), np.ones(2)]).losses
        array([[1.5 , 2.  ],
               [0.75, 1.25]])
        """
        found = np.concatenate(losses, axis=1)
        voted = votes(found[0], np.concatenate(weights))
        ends = np.cumsum([0, *(len(part) for part in weights)])
        means, counts = [], []
        for part, weight, first, last in zip(losses, weights, ends, ends[1:]):
            votes_here = weight * voted[first:last]
            counts.append(float(votes_here.sum()))
            shares = votes_here / (counts[-1] or 1.0)
            with np.errstate(invalid="ignore"):
                means.append(np.where(shares > 0, part, 0.0) @ shares)
        kept = np.array(counts) > 0
        table = cls(list(candidates), np.array(means)[kept].T, np.array(counts)[kept], what, loss)
        return table if len(voted) > LOOK.rows else replace(table, row_losses=found, voted=voted)

    def rows(self) -> Array:
        """The loss of each held-out row, (n_candidates, n_rows), fold after fold, where it was kept."""
        if self.row_losses is None:
            raise AttributeError("This choice was made from sums over rows: the losses of single rows were not kept.")
        return self.row_losses

    def choose(self) -> Any:
        """The simplest candidate within one standard error of the best."""
        return choose_by(self).chosen

    @property
    def scores(self) -> Array:
        """Minus the mean loss of each candidate; -inf where it failed in a fold."""
        losses = np.where(np.isnan(self.losses), np.inf, self.losses)
        means = np.where(np.isfinite(losses), losses, 0.0) @ (self.weights / self.weights.sum())
        return np.asarray(np.where(np.isfinite(losses).all(axis=1), -means, -np.inf))

    def _shown(self) -> Shown:
        folds = range(1, self.losses.shape[1] + 1)
        rows = [(one, *map(float, losses)) for one, losses in zip(self.candidates, self.losses)]
        headline = f"{self.what}: {self.loss}, as losses of {len(self.candidates)} candidates (lower is better)"
        return Shown(headline, ("candidate", *(f"fold {k}" for k in folds)), rows)


def votes(losses: Array, weights: Array) -> Array:
    """Which rows vote, from their losses under the simplest candidate: all but those far beyond the others.

    The simplest knows no structure but place and size, so that a row is far by itself, and not because a rich model misses it. Far is
    beyond the outer fence, a number of interquartile ranges above the upper quartile [10].

    >>> import numpy as np
    >>> votes(np.array([1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 2.0, 1.0, 2.0, 900.0]), np.ones(10)).tolist()
    [True, True, True, True, True, True, True, True, True, False]
    """
    known = np.isfinite(losses) & (weights > 0)
    if known.sum() < JURY.fewest_rows:
        return np.ones(len(losses), dtype=bool)
    low, high = (weighted_quantile(losses[known], weights[known], level) for level in (0.25, 0.75))
    return np.asarray(~(losses > high + JURY.fence * (high - low)))


@dataclass(frozen=True, repr=False)
class Selection(Answer):
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
    evidence : Evidence or None
        The losses behind it; None where nothing could be held out.
    """

    candidates: Annotated[list[Any], "c"]
    scores: Array
    errors: Array
    chosen: Any
    reason: str
    evidence: Evidence | None = None

    @property
    def index(self) -> int:
        """Where the chosen candidate stands."""
        return self.candidates.index(self.chosen)

    def _shown(self) -> Shown:
        taken = [number == self.index for number in range(len(self.candidates))]
        rows = [
            (one, float(score), float(error), "taken" if this else "")
            for one, score, error, this in zip(self.candidates, self.scores, self.errors, taken)
        ]
        return Shown(self.reason, ("candidate", "score", "error of the difference", ""), rows)


def without_evidence(chosen: Any, reason: str) -> Selection:
    """A choice for which nothing could be held out: one candidate, no score."""
    return Selection([chosen], np.zeros(1), np.zeros(1), chosen, reason)


def choose(
    candidates: Sequence[Any],
    fold_scores: Array,
    fold_weights: Array | None = None,
    *,
    what: str = "q",
    score: str = "held-out log-likelihood",
    n_errors: float = 1.0,
) -> Selection:
    """The simplest candidate as good as the best, from scores (n_folds, n_candidates); candidates come simplest first [10].

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
    n_errors : float, default=1.0
        Standard errors within which a simpler candidate is as good: ``JURY.clear`` where the richer must clearly help.

    Returns
    -------
    Selection

    Examples
    --------
    >>> choose([1, 2, 3], [[0.0, 1.0, 1.1], [0.0, 1.0, 0.9], [0.0, 1.0, 1.1]]).chosen
    2
    """
    scores = np.array(fold_scores, dtype=np.float64)
    weights = np.full(len(scores), 1.0) if fold_weights is None else np.asarray(fold_weights, dtype=np.float64)
    return choose_by(Evidence(list(candidates), -scores.T, weights, what, score), n_errors)


def choose_by(evidence: Evidence, n_errors: float = 1.0) -> Selection:
    """The rule: with D_f(c) = loss_f(c) - loss_f(best), each fold weighted, c is as good as the best if mean D is at most
    ``n_errors`` times std(D, ddof=1) / √folds and D_f(c) <= 0 in at least one fold; the first such c is taken [10].

    A D that is rounding is none. A loss of inf or NaN is a candidate that failed.
    """
    candidates, what, score = evidence.candidates, evidence.what, evidence.loss
    losses = np.where(np.isnan(evidence.losses), np.inf, evidence.losses)
    n_folds = losses.shape[1]
    weights = evidence.weights / evidence.weights.sum()
    means = evidence.scores
    if not np.isfinite(means).any():
        raise ValueError(f"No candidate for {what} could be scored on held-out data.")
    best = int(means.argmax())
    errors = np.full(len(candidates), np.inf)
    as_good = np.zeros(len(candidates), dtype=bool)
    for c in np.flatnonzero(np.isfinite(means)):
        gap = losses[c] - losses[best]
        gap[np.abs(gap) <= ROUNDING * np.abs(losses[best])] = 0.0
        mean = float(weights @ gap)
        # a power of two, so that squares of huge gaps do not overflow and no digit changes
        unit = np.ldexp(1.0, int(np.frexp(np.abs(gap - mean).max())[1]))
        spread = float(weights @ ((gap - mean) / unit) ** 2) * n_folds / (n_folds - 1) if n_folds > 1 else 0.0
        errors[c] = unit * np.sqrt(spread / n_folds)
        as_good[c] = c == best or (mean <= n_errors * errors[c] and bool((gap <= 0).any()))
    chosen = int(as_good.argmax())
    if chosen == best:
        among = f"best {score} of {len(candidates)} candidates" if len(candidates) > 1 else "only candidate"
        reason = f"{what} = {_words(candidates[best])}: the {among}"
    else:
        errors_of = "one standard error" if n_errors == 1 else f"{n_errors:g} standard errors"
        reason = f"{what} = {_words(candidates[chosen])}: {score} within {errors_of} of the best ({_words(candidates[best])})"
    return Selection(candidates, means, errors, candidates[chosen], reason, evidence)


def clear_errors(n_asked: int) -> float:
    """Standard errors by which one of ``n_asked`` things that tell nothing is clear of a plain model as rarely as a single one is by `JURY.clear`.

    >>> clear_errors(1), round(clear_errors(10), 2)
    (2.0, 2.84)
    """
    return JURY.clear if n_asked <= 1 else float(-ndtri(ndtr(-JURY.clear) / n_asked))


def _words(candidate: Any) -> str:
    """
    >>> _words({"kernel": "RBF(length_scale=3.0246473863443333)", "n_components": 26})
    'kernel RBF(length_scale=3.02465), n_components 26'
    """
    words = str(candidate)
    if isinstance(candidate, dict):
        single = len(candidate) == 1
        words = ", ".join(str(value) if single else f"{name} {value}" for name, value in candidate.items())
    return re.sub(r"\d+\.\d{7,}(?:e-?\d+)?", lambda digits: f"{float(digits[0]):.6g}", words)
