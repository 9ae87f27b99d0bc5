"""Which kernel a target wants: linear, Gaussian or their sum, whether far inputs are squashed, and how much each column counts [10]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import Folds, row_hashes
from gramian._precision import ROUNDING
from gramian.evidence.held_out import HeldOut
from gramian.evidence.selection import Selection, choose
from gramian.kernels import RBF, Kernel
from gramian.policy import LOOK, TARGETS
from gramian.targets.axes import FeatureInputs
from gramian.targets.design import Design, families, middle_distance
from gramian.targets.single import component_losses, decomposed_folds

RELEVANT_WIDTHS = (*TARGETS.widths, 0.25)
"""Widths for columns that were multiplied by their relevance: few of them set distances, so that narrow kernels have enough neighbours."""


@dataclass(frozen=True)
class KernelChoice:
    """The kernel for the inputs, whether far values are squashed first, and the evidence (None where nothing can be held out).

    ``relevance`` is what the columns are multiplied by, at most 1 each; None where all count alike.
    """

    kernel: Kernel
    squash: bool
    selection: Selection | None
    relevance: Array | None = None


@dataclass(frozen=True)
class ScoredDesign:
    """A design and how it did: mean squared error over the variance of the target in each fold, at its best ridge."""

    design: Design
    loss: Array
    ridge: float
    squash: bool = False
    relevance: Array | None = None

    @property
    def mean(self) -> float:
        return float(self.loss.mean())


@dataclass(frozen=True)
class Contest:
    """The target, its weights, the hashes of its rows and the folds on which designs are compared."""

    Y: Array
    raw_weights: Array
    hashes: Array
    folds: HeldOut

    def tried(self, designs: Sequence[Design]) -> list[ScoredDesign]:
        """Those that can be scored at all."""
        found = [(design, ridge_losses(design.features, self.Y, self.raw_weights, self.folds)) for design in designs]
        return [ScoredDesign(design, *scored) for design, scored in found if scored is not None]


def choose_target_kernel(
    X: Array,
    Y: Array,
    raw_weights: Array,
    n_folds: int | Folds,
    squashed: Array | None = None,
    hashes: Array | None = None,
    *,
    weigh: bool = False,
) -> KernelChoice:
    """Linear, Gaussian, or their sum, on the inputs X (as the model will see them) or on the ``squashed`` ones if there are any.

    Candidates are compared by ridge regression on their features, the ridge chosen for each: the target's mean squared
    error on held-out rows over its variance. Of the sum the best width stands, and the Gaussian alone is tried at that. With ``weigh``, the best is tried again with each
    column multiplied by its relevance; that is taken where it is better by more than one standard error, since slopes were found on all rows.
    ``hashes`` decide what is drawn and held out: those of the rows before they were brought to units, where they were.
    """
    hashes = row_hashes(X) if hashes is None else hashes
    rows = copies_of_smallest(hashes, LOOK.rows)
    hashes = hashes[rows]
    contest = Contest(Y[rows], raw_weights[rows], hashes, HeldOut.of(None, n_folds, hashes=hashes))
    plain, seen = [], {}
    for squash, inputs in ((False, X), (True, squashed)):
        if inputs is None:
            continue
        seen[squash] = np.asarray(inputs[rows], dtype=np.float64)
        linear, gaussians, sums = families(seen[squash], contest.raw_weights, hashes)
        best = _best(contest.tried(sums), squash)
        alone = gaussians if best is None else [one for one in gaussians if one.factor == best.design.factor]
        found = (_best(contest.tried(linear), squash), _best(contest.tried(alone), squash), best)
        plain += [trial for trial in found if trial is not None]
    if not plain:
        return KernelChoice(RBF(middle_distance(X[rows], hashes)), False, None)
    # what held-out rows prefer: none of these is simpler to a user, and taking the linear one within one standard error of the best
    # cost 2.4 % of error on the tables of experiments/regression_table.py that rules are settled on
    plain.sort(key=lambda one: one.mean)
    weighed = relevance_trials(contest, seen[plain[0].squash], plain[0]) if weigh else []
    trials = [*plain, *sorted(weighed, key=lambda one: one.mean)]
    candidates = [_words(trial, squashed is not None, bool(weighed)) for trial in trials]
    scores = -np.array([trial.loss for trial in trials]).T
    selection = choose(candidates, scores, what="kernel", score="held-out squared error")
    chosen = trials[selection.index]
    return KernelChoice(chosen.design.kernel, chosen.squash, selection, chosen.relevance)


def relevance_trials(contest: Contest, X: Array, best: ScoredDesign) -> list[ScoredDesign]:
    """The best design with each column multiplied by its relevance, and with that found once more, at four widths.

    The relevance of a column is the root mean square slope of the regression along it, over the largest.
    """
    found: list[ScoredDesign] = []
    if not 1 < X.shape[1] <= TARGETS.landmarks:
        return found
    weights = contest.raw_weights / contest.raw_weights.sum()
    kind = 2 if best.design.linear and best.design.gaussian else 1 if best.design.gaussian else 0
    relevance = np.ones(X.shape[1])
    for widths in ((best.design.factor,), RELEVANT_WIDTHS):
        slopes = relevance * best.design.slopes(X * relevance, contest.Y, weights, best.ridge)
        largest = float(slopes.max())
        if not 0 < largest < np.inf:
            break
        relevance = np.maximum(slopes / largest, TARGETS.relevance)
        tried = contest.tried(
            families(X * relevance, contest.raw_weights, contest.hashes, widths if kind else ())[kind]
        )
        if not tried:
            break
        best = replace(min(tried, key=lambda one: one.mean), squash=best.squash, relevance=relevance)
        found.append(best)
    return found


def ridge_losses(features: Array, Y: Array, raw_weights: Array, folds: HeldOut) -> tuple[Array, float] | None:
    """Mean squared error over the variance of the target in each fold of ridge regression on features, and the best ridge.

    None where nothing can be held out, or nothing varies.
    """
    weights = raw_weights / raw_weights.sum()
    variance = float(weights @ np.square(Y - weights @ Y).sum(axis=1))
    if not folds.usable or variance <= 0:
        return None
    parts = decomposed_folds(FeatureInputs(features, Y, weights, folds, ROUNDING), folds, float(raw_weights.sum()))
    if min(len(part.axes.values) for part in parts) == 0:
        return None
    losses = component_losses(parts, Y, weights, [features.shape[1]])
    _, r = losses.best()
    # folds of a content hash are nearly even: dividing by the mean weight keeps their mean the overall error
    return losses.squares[:, 0, r] / losses.weights.mean() / variance, float(losses.ridges[r])


def copies_of_smallest(hashes: Array, limit: int) -> Array:
    """Positions of all copies of the at most ``limit`` distinct rows of smallest hash."""
    distinct = np.unique(hashes)
    return np.flatnonzero(hashes <= distinct[min(limit, len(distinct)) - 1])


def _best(tried: list[ScoredDesign], squash: bool) -> ScoredDesign | None:
    """The member of a family that held-out rows prefer."""
    return replace(min(tried, key=lambda one: one.mean), squash=squash) if tried else None


def _words(trial: ScoredDesign, squashes: bool, weighs: bool) -> dict[str, Any]:
    """A candidate in words: the kernel, and what else differs between candidates."""
    named: dict[str, Any] = {"kernel": trial.design.kernel}
    if squashes:
        named["squash"] = trial.squash
    if weighs:
        named["relevance"] = trial.relevance is not None
    return named
