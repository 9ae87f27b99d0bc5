"""What `KernelPPCAClassifier` chooses on held-out rows: width, q and rule; and the calibration of its probabilities [7, 10]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from gramian._arrays import Array, single_blas_thread
from gramian._content import content_folds, smallest_positions
from gramian.choosing.class_calibration import Calibration, calibrated
from gramian.choosing.class_rule import (
    CHOOSING_ROWS,
    COUNTS,
    NOISES,
    Chosen,
    HeldOut,
    Scored,
    choose_rule,
    scored,
    walked_widths,
)
from gramian.estimators._class_models import ADVICE, ClassRule, LabelledRows, evidence
from gramian.estimators._kernel_fit import stored_gram
from gramian.estimators.classifier_path import class_paths
from gramian.kernels import RBF

DEFAULT_FOLDS = 5
"""Where something must be chosen and `n_folds` is None."""


@dataclass(frozen=True)
class Folds:
    """Labelled rows dealt to folds by content, and those of them that can be held out: their class has other rows."""

    rows: LabelledRows
    fold: Array
    test: list[Array]
    train: list[Array]

    @classmethod
    def of(cls, rows: LabelledRows, n_folds: int) -> Folds:
        folds, fold = content_folds(None, n_folds, rows.hashes)
        test, train = [], []
        for number in range(folds.n_folds):
            others, own = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            known = np.unique(rows.codes[others])
            own = own[np.isin(rows.codes[own], known)]
            if len(own) and len(known) > 1:
                test.append(own)
                train.append(others)
        return cls(rows, fold, test, train)

    def __bool__(self) -> bool:
        return bool(self.test)

    @property
    def held_out(self) -> HeldOut:
        """The rows that are held out, fold after fold."""
        every = np.concatenate(self.test)
        return HeldOut(self.rows.codes[every], self.rows.weights[every], self.fold[every])


def floored(found: Array) -> Array:
    """Evidence with the least of a row in place of -inf: for a class without other rows nothing speaks."""
    finite = np.isfinite(found)
    if finite.all():
        return found
    least = np.where(finite, found, np.inf).min(axis=-1, keepdims=True)
    return np.where(finite, found, least)


def grid_evidence(
    folds: Folds, gram: Array, n_components: Sequence[Any], noises: Sequence[float | None], log_priors: Array | None
) -> Array:
    """Held-out evidence (q, noises, n, C) of every candidate at one Gram matrix: one decomposition per fold and class."""
    rows = folds.rows
    listed = [q if isinstance(q, list) else [q] * rows.n_classes for q in n_components]
    every = [q for each in listed for q in each]
    most = max(every) if all(isinstance(q, int) for q in every) else None
    blocks = []
    for train, test in zip(folds.train, folds.test):
        present = np.unique(rows.codes[train])
        found = np.full((len(listed), len(noises), len(test), rows.n_classes), -np.inf)
        for code, path in zip(present, class_paths(gram, rows.codes, rows.weights, train, test, most)):
            if log_priors is not None:
                path = replace(path, log_prior=float(log_priors[code]))
            found[..., code] = path.evidences([q[code] for q in listed], noises)
        blocks.append(found)
    return floored(np.concatenate(blocks, axis=2))


def fitted_evidence(folds: Folds, rule: ClassRule, log_priors: Array, rng: np.random.Generator) -> Array:
    """Held-out evidence (n, C) of one rule by fitting it to the rows of every fold: mixtures and approximations."""
    rows = folds.rows
    blocks = []
    for train, test in zip(folds.train, folds.test):
        present = np.unique(rows.codes[train])
        groups = [train[rows.codes[train] == code] for code in present]
        fitted = [rule.fit(c, rows.of_class(own), rows.weights[own], rng) for c, own in zip(present, groups)]
        models, mixing = [m for m, _ in fitted], [s for _, s in fitted]
        limiting = rule.noise_variance == 0
        found = np.full((len(test), rows.n_classes), -np.inf)
        found[:, present] = evidence(models, mixing, rows.seen_by(models, test, groups), limiting)
        blocks.append(found if limiting else found + log_priors)
    return floored(np.concatenate(blocks))


@dataclass(frozen=True)
class OpenRule:
    """What a classifier leaves open: each of kernel, q and noise is None where it must be chosen, else what was given.

    ``priors`` are those that were given. ``n_components`` and ``noise`` are one-tuples of what was given (either may be None itself).
    """

    kernel_open: bool
    n_components: tuple[Any, ...] | None
    noise: tuple[float | None, ...] | None
    priors: Array | None

    @property
    def anything(self) -> bool:
        return self.kernel_open or self.n_components is None or self.noise is None

    def noises(self, unit: float) -> list[float | None]:
        """The candidates, over the mean k(x, x); with priors the limiting rule is none."""
        if self.noise is not None:
            return list(self.noise)
        return [None if ρ is None else ρ * unit for ρ in NOISES if ρ is not None or self.priors is None]


class RuleSearch:
    """The walk over widths: every width is decomposed once, all q and noises are read off, squared distances are shared."""

    def __init__(self, rows: LabelledRows, open_rule: OpenRule, n_folds: int) -> None:
        if len(np.unique(rows.hashes)) > CHOOSING_ROWS:
            kept = np.unique(rows.hashes[smallest_positions(rows.hashes, CHOOSING_ROWS)])
            rows = rows.some(np.flatnonzero(np.isin(rows.hashes, kept)))
        self.rows, self.open_rule = rows, open_rule
        self.folds = Folds.of(rows, n_folds)

    def run(self) -> Chosen | None:
        """The choice; None where nothing can be held out."""
        if not self.folds:
            return None
        rows, open_rule = self.rows, self.open_rule
        counts = list(COUNTS) if open_rule.n_components is None else list(open_rule.n_components)
        counts = counts[: self._useful(counts)]
        log_priors = None if open_rule.priors is None else _logs(open_rule.priors)
        grids: dict[Any, Scored] = {}
        kernels: dict[Any, Any] = {}
        held_out = self.folds.held_out

        def look(key: Any, kernel: Any, gram: Array) -> float:
            noises = open_rule.noises(float(np.diagonal(gram).mean()))
            found = grid_evidence(self.folds, gram, counts, noises, log_priors)
            kernels[key] = kernel
            grids[key] = scored(found, held_out, noises, offsets=open_rule.priors is None and open_rule.noise is None)
            weights = held_out.fold_weights
            return float(np.tensordot(weights / weights.sum(), grids[key].likelihoods, axes=1).max())

        with single_blas_thread():
            if open_rule.kernel_open:
                middle = float(rows.kernel.get_params()["length_scale"])
                products = -0.5 * euclidean_distances(rows.X - rows.X.mean(axis=0), squared=True)
                np.fill_diagonal(products, 0.0)

                def at(factor: float) -> float:
                    kernel = RBF(float(f"{factor * middle:.6g}"))
                    return look(factor, kernel, kernel.profile(products / kernel.length_scale**2))

                keys: list[Any] = walked_widths(at)
            else:
                gram = stored_gram(rows.kernel, rows.X, ADVICE)
                look(None, rows.kernel, gram)
                keys = [None]
                noises = open_rule.noises(float(np.diagonal(gram).mean()))
        noises = open_rule.noises(1.0) if open_rule.kernel_open else noises

        def named(i: int, j: int, k: int) -> Any:
            if only_q:
                return counts[j]
            found: dict[str, Any] = {}
            if open_rule.kernel_open:
                found["kernel"] = kernels[keys[i]]
            if open_rule.n_components is None:
                found["n_components"] = counts[j]
            if open_rule.noise is None:
                found["noise_variance"] = noises[k]
            return found

        only_q = not open_rule.kernel_open and open_rule.noise is not None
        return choose_rule([grids[key] for key in keys], named, held_out.fold_weights, only_q=only_q)

    def _useful(self, counts: Sequence[Any]) -> int:
        """How many of rising counts differ: the first that no class can fill is the last."""
        if self.open_rule.n_components is not None:
            return len(counts)
        sizes = [np.bincount(self.rows.codes[train]).max() - 1 for train in self.folds.train]
        reached = [i for i, q in enumerate(counts) if q >= max(sizes)]
        return reached[0] + 1 if reached else len(counts)


def calibration_of(
    rows: LabelledRows, rule: ClassRule, priors: Array, n_folds: int, rng: np.random.Generator, *, offsets: bool
) -> tuple[Calibration, float, float] | None:
    """Scale and offsets of one rule from held-out rows, with its log-loss and accuracy there; None where none can be held out."""
    folds = Folds.of(rows, n_folds)
    if not folds:
        return None
    if rule.n_clusters == 1 and rows.features is None:
        noise = None if rule.noise_variance == 0 else rule.noise_variance
        with single_blas_thread():
            gram = stored_gram(rows.kernel, rows.X, ADVICE)
            found = grid_evidence(folds, gram, [rule.n_components], [noise], _logs(priors))[0]
    else:
        found = fitted_evidence(folds, rule, _logs(priors), rng)[None]
    held_out = folds.held_out
    calibration = calibrated(found, held_out.codes, held_out.weights, offsets=offsets)
    logs = calibration.log_probabilities(found)[0]
    share = held_out.weights / held_out.weights.sum()
    log_loss = -float(share @ logs[np.arange(len(logs)), held_out.codes])
    return calibration, log_loss, float(share @ (logs.argmax(axis=1) == held_out.codes))


def _logs(priors: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(priors)
