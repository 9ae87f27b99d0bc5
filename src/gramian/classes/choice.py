"""What `KernelPPCAClassifier` chooses on held-out rows: width, q and rule; and the calibration of its probabilities [7, 10]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from gramian._arrays import Array
from gramian._content import Folds, smallest_positions
from gramian._threads import single_blas_thread
from gramian.classes.blend import blend_rules
from gramian.classes.calibration import Calibration, calibrate
from gramian.classes.models import ADVICE, ClassRule, LabelledRows, evidence
from gramian.classes.path import class_paths
from gramian.classes.rule import (
    BLENDED,
    Chosen,
    JudgedRows,
    Rule,
    Scored,
    choose_rule,
    distance_to_usual,
    score_rules,
    top_width,
    walked_widths,
)
from gramian.evidence.held_out import HeldOut, Part, ladder
from gramian.kernels import RBF
from gramian.policy import CLASSES, LOOK
from gramian.single.kernel_fit import stored_gram

MOSTLY_COPIES = 0.5
"""Copies of rows are held out one by one where there are fewer distinct rows than this share of all."""


@dataclass(frozen=True)
class LabelledFolds:
    """Labelled rows dealt to folds by content, and those of them that can be held out: their class has other rows.

    Where most rows are copies, these are dealt to folds one by one, and ``rows`` has a row per fold that holds copies of it.
    """

    rows: LabelledRows
    parts: list[Part]

    @classmethod
    def of(cls, rows: LabelledRows, n_folds: int | Folds) -> LabelledFolds:
        dealt = HeldOut.of(None, n_folds, hashes=rows.hashes)
        if dealt and not isinstance(n_folds, Folds):
            rows, numbers = copies_apart(rows, dealt.numbers, len(dealt))
            dealt = replace(dealt, numbers=numbers)
        known = dealt.each(lambda part: np.isin(rows.codes[part.held], rows.codes[part.kept]))
        parts = [replace(part, held=part.held[mine]) for part, mine in zip(dealt, known)]
        return cls(rows, [part for part in parts if len(part.held) and np.ptp(rows.codes[part.kept]) > 0])

    def __bool__(self) -> bool:
        return bool(self.parts)

    @property
    def judged(self) -> JudgedRows:
        """The rows that are held out, fold after fold."""
        every = np.concatenate([part.held for part in self.parts])
        folds = np.repeat([part.number for part in self.parts], [len(part.held) for part in self.parts])
        return JudgedRows(self.rows.codes[every], self.rows.weights[every], folds)

    def evidence(self, question: Callable[[Part], Array]) -> Array:
        """What is found of the rows of each fold, one after the other along the last axis."""
        return with_floor(np.concatenate([question(part) for part in self.parts], axis=-1))


def copies_apart(rows: LabelledRows, fold: Array, n_folds: int) -> tuple[LabelledRows, Array]:
    """Rows and folds in which the copies of a row are dealt to the folds one after the other, from the row's own fold on.

    Only where rows are few and most of them copies: new rows are then copies of old ones too, and a fold that holds out all
    copies of a row asks what nobody will ask. Whole weights count copies.
    """
    unit, n_distinct = counting_unit(rows.weights), len(np.unique(rows.hashes))
    if unit is None or n_distinct * n_folds > LOOK.rows or rows.precomputed or rows.features is not None:
        return rows, fold
    copies = np.round(rows.weights / unit)
    if n_distinct >= MOSTLY_COPIES * copies.sum():
        return rows, fold
    turn = (np.arange(n_folds) - fold[:, None]) % n_folds  # which of its turns a fold is, for each row
    shares = np.maximum(np.ceil((copies[:, None] - turn) / n_folds), 0.0) * unit
    position, number = np.nonzero(shares)
    return replace(rows.some(position), weights=shares[position, number]), number


def counting_unit(weights: Array) -> int | None:
    """The greatest common divisor of weights that are whole numbers; None where weights are no counts."""
    whole = np.round(weights)
    if not ((whole == weights) & (weights < 2**53)).all():
        return None
    return int(np.gcd.reduce(whole.astype(np.int64)))


def with_floor(found: Array) -> Array:
    """Evidence with -inf replaced by the least finite value of the row: a class without other rows has no evidence."""
    finite = np.isfinite(found)
    if finite.all():
        return found
    least = np.where(finite, found, np.inf).min(axis=-2, keepdims=True)
    return np.where(finite, found, least)


def grid_evidence(folds: LabelledFolds, gram: Array, rules: Sequence[Rule], log_priors: Array | None) -> Array:
    """Held-out evidence (rules, C, n) of every rule at one Gram matrix: one decomposition per fold and class."""
    rows = folds.rows
    listed = [(q if isinstance(q, list) else [q] * rows.n_classes, noise) for q, noise in rules]
    every = [q for each, _ in listed for q in each]
    most = max(every) if all(isinstance(q, int) for q in every) else None

    def of_part(part: Part) -> Array:
        present = np.unique(rows.codes[part.kept])
        found = np.full((len(listed), rows.n_classes, len(part.held)), -np.inf)
        for code, path in zip(present, class_paths(gram, rows.codes, rows.weights, part.kept, part.held, most)):
            if log_priors is not None:
                path = replace(path, log_prior=float(log_priors[code]))
            found[:, code] = path.evidences([(q[code], noise) for q, noise in listed])
        return found

    return folds.evidence(of_part)


def fitted_evidence(folds: LabelledFolds, rule: ClassRule, log_priors: Array, rng: np.random.Generator) -> Array:
    """Held-out evidence (C, n) of one rule by fitting it to the rows of every fold: mixtures and approximations."""
    rows = folds.rows

    def of_part(part: Part) -> Array:
        present = np.unique(rows.codes[part.kept])
        groups = [part.kept[rows.codes[part.kept] == code] for code in present]
        fitted = [rule.fit(c, rows.of_class(own), rows.weights[own], rng) for c, own in zip(present, groups)]
        models, mixing = [m for m, _ in fitted], [s for _, s in fitted]
        limiting = rule.noise_variance == 0
        found = np.full((len(part.held), rows.n_classes), -np.inf)
        found[:, present] = evidence(models, mixing, rows.seen_by(models, part.held, groups), limiting, rule.blend)
        return (found if limiting else found + log_priors).T

    return folds.evidence(of_part)


@dataclass(frozen=True)
class OpenRule:
    """What a classifier leaves open: each of kernel, q and noise is None where it must be chosen, else what was given.

    ``priors`` are those that were given. ``n_components`` and ``noise`` are one-tuples of what was given (either may be None itself).
    Rules are ``blended`` where q and noise are both open and a model of each class can serve several of them.
    """

    kernel_open: bool
    n_components: tuple[Any, ...] | None
    noise: tuple[float | None, ...] | None
    priors: Array | None
    blended: bool = False

    @property
    def any_open(self) -> bool:
        """Whether anything is left to choose."""
        return self.kernel_open or self.n_components is None or self.noise is None

    @property
    def only_q(self) -> bool:
        """Whether q alone is to be chosen: by rising counts."""
        return not self.kernel_open and self.noise is not None

    def rules(self, unit: float, largest: int) -> list[Rule]:
        """The candidates for q and noise, where ``unit`` is the mean k(x, x) and no class has more than ``largest`` components."""
        if self.only_q:
            noise = None if self.noise is None else self.noise[0]
            return [(q, noise) for q in ladder(0, largest, 1.0)]
        noises: list[float | None] = [ρ * unit for ρ in CLASSES.noises] if self.noise is None else list(self.noise)
        if self.noise is None and self.priors is None:
            noises.append(None)
        if self.n_components is not None:
            return [(self.n_components[0], noise) for noise in noises]
        given = self.noise is not None
        few = [(q, CLASSES.noise * unit) for q in CLASSES.few] if self.blended else []
        return few + [
            (q, noise)
            for noise in noises
            for q in (CLASSES.fractions if noise is None else (*CLASSES.fractions, None) if given else (None,))
        ]


class RuleSearch:
    """The walk over widths: every width is decomposed once, all rules are read off, squared distances are shared."""

    def __init__(self, rows: LabelledRows, open_rule: OpenRule, n_folds: int | Folds) -> None:
        self.rows, self.open_rule, self.n_folds = smallest_rows(rows, LOOK.rows), open_rule, n_folds
        self.folds = LabelledFolds.of(self.rows, n_folds)
        self.log_priors = None if open_rule.priors is None else _logs(open_rule.priors)
        self.offsets = open_rule.priors is None and open_rule.noise is None

    def run(self) -> Chosen | None:
        """The choice; None where nothing can be held out."""
        if not self.folds:
            return None
        with single_blas_thread():
            return self._widths() if self.open_rule.kernel_open else self._given()

    def _given(self) -> Chosen:
        """The kernel is given."""
        rows = self.folds.rows
        gram = stored_gram(rows.kernel, rows.X, ADVICE)
        grid, rules = self._look(self.folds, gram)
        unit = float(np.diagonal(gram).mean())
        if self.open_rule.only_q:
            order = np.arange(len(rules), dtype=np.float64)
            return self._choose([grid], [[q for q, _ in rules]], order, "q")
        order = np.array([distance_to_usual(None, rule, unit) for rule in rules])
        return self._choose([grid], [[self._named(None, rule) for rule in rules]], order, "rule")

    def _widths(self) -> Chosen:
        """An RBF whose width is open: a walk on a few rows, then its best and the next narrower width on all."""
        few = smallest_rows(self.rows, LOOK.few)
        screened = few is not self.rows
        folds = LabelledFolds.of(few, self.n_folds) if screened else self.folds
        whole = screen = WidthGrids(self, folds if folds else self.folds)
        seen = walked_widths(screen.score)
        top = top_width(seen)
        seen |= {factor: screen.score(factor) for factor in (top / np.sqrt(2), top * np.sqrt(2))}
        if screened:  # more rows want a narrower kernel, if any other
            whole, top = WidthGrids(self, self.folds), top_width(seen)
            for factor in (top / np.sqrt(2), top):
                whole.score(factor)
        factors = sorted(whole.grids)
        rules = whole.rules
        order = [distance_to_usual(factor, rule, 1.0) for factor in factors for rule in rules]
        names = [[self._named(whole.kernel(factor), rule) for rule in rules] for factor in factors]
        return self._choose([whole.grids[factor] for factor in factors], names, np.array(order), "rule")

    def _look(self, folds: LabelledFolds, gram: Array) -> tuple[Scored, list[Rule]]:
        largest = max(int(np.bincount(folds.rows.codes[part.kept]).max()) - 1 for part in folds.parts)
        rules = self.open_rule.rules(float(np.diagonal(gram).mean()), largest)
        found, held_out, blend = grid_evidence(folds, gram, rules, self.log_priors), folds.judged, None
        if self.open_rule.blended:
            finite = np.array([noise is not None for _, noise in rules])
            several = [rule for rule in rules if rule[1] is not None]
            blend, whole = blend_rules(found[finite], held_out.codes, held_out.weights, several, offsets=self.offsets)
            found = np.concatenate([whole[None], found[~finite]])
            rules = [BLENDED, *(rule for rule in rules if rule[1] is None)]
        return replace(score_rules(found, held_out, rules, offsets=self.offsets), blend=blend), rules

    def _choose(self, grids: list[Scored], names: list[list[Any]], order: Array, what: str) -> Chosen:
        return choose_rule(grids, names, order, self.folds.judged.fold_weights, what=what)

    def _named(self, kernel: Any, rule: Rule) -> dict[str, Any]:
        """A candidate as parameters of the classifier."""
        found: dict[str, Any] = {} if kernel is None else {"kernel": kernel}
        if self.open_rule.n_components is None:
            found["n_components"] = rule[0]
        if self.open_rule.noise is None:
            found["noise_variance"] = rule[1]
        return found


class WidthGrids:
    """Scored rules of RBFs whose widths are multiples of the median distance, on the same folds."""

    def __init__(self, search: RuleSearch, folds: LabelledFolds) -> None:
        self.search, self.folds = search, folds
        self.middle = float(search.rows.kernel.get_params()["length_scale"])
        X = folds.rows.X
        self.products = -0.5 * euclidean_distances(X - X.mean(axis=0), squared=True)
        np.fill_diagonal(self.products, 0.0)
        self.grids: dict[float, Scored] = {}
        self.rules: list[Rule] = []

    def kernel(self, factor: float) -> RBF:
        return RBF(float(f"{factor * self.middle:.6g}"))

    def score(self, factor: float) -> float:
        """The best held-out log-likelihood at a width."""
        kernel = self.kernel(factor)
        gram = kernel.profile(self.products / kernel.length_scale**2)
        self.grids[factor], self.rules = self.search._look(self.folds, gram)
        return self.grids[factor].best(self.folds.judged.fold_weights)


def smallest_rows(rows: LabelledRows, limit: int) -> LabelledRows:
    """All labelled copies of the at most ``limit`` distinct rows of smallest hash [13]; the same object where that is all."""
    kept = rows.hashes[smallest_positions(rows.hashes, limit)]
    chosen = np.flatnonzero(np.isin(rows.hashes, kept))
    return rows if len(chosen) == len(rows.hashes) else rows.some(chosen)


def calibration_of(
    rows: LabelledRows,
    rule: ClassRule,
    priors: Array,
    n_folds: int | Folds,
    rng: np.random.Generator,
    *,
    offsets: bool,
) -> tuple[Calibration, float, float] | None:
    """Scale and offsets of one rule from held-out rows, with its log-loss and accuracy there; None where none can be held out."""
    folds = LabelledFolds.of(rows, n_folds)
    if not folds:
        return None
    if rule.n_clusters == 1 and rows.features is None:
        noise = None if rule.noise_variance == 0 else rule.noise_variance
        rules: list[Rule] = [(rule.n_components, noise)] if rule.blend is None else list(rule.blend.rules)
        with single_blas_thread():
            gram = stored_gram(rows.kernel, folds.rows.X, ADVICE)
            found = grid_evidence(folds, gram, rules, _logs(priors))
        found = found if rule.blend is None else rule.blend(found)[None]
    else:
        found = fitted_evidence(folds, rule, _logs(priors), rng)[None]
    held_out = folds.judged
    calibration = calibrate(found, held_out.codes, held_out.weights, offsets=offsets)
    logs = calibration.log_probabilities(found)[0]
    share = held_out.weights / held_out.weights.sum()
    log_loss = -float(share @ logs[held_out.codes, np.arange(logs.shape[1])])
    return calibration, log_loss, float(share @ (logs.argmax(axis=0) == held_out.codes))


def _logs(priors: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(priors)
