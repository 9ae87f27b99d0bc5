"""What rows that a kernel model has not seen say of it: control limits, errors of pre-images, and which pre-image suits [10].

Everything here is computed on first need from rows drawn by content, so that it is the same whenever it is asked for, and after a
model has been saved and loaded. Each fold is held out once from a model of the same kernel, q and approximation.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri
from sklearn.base import clone

from gramian._arrays import Array
from gramian._content import cell_uniforms, content_folds, row_hashes, smallest_positions
from gramian.evidence import Selection, choose
from gramian.evidence.limits import Tally
from gramian.policy import LOOK
from gramian.preimage import has_identity_features

ERROR_ROWS = 1000
"""Rows that the errors of a pre-image come from."""
CHOOSING_ROWS = 500
"""Rows that pre-images are compared on."""
MDS_COLUMNS = 50
"""Above so many columns "mds" costs more than it may gain."""
RESIDUAL_LEVEL = 0.99
"""Rows farther off the subspace than this share of held-out rows are taken to be noisy."""
ADDED_NOISE = 0.5
"""Noise for the denoising test, in root mean squared deviations of the columns."""
COVERED = 0.9
"""What 1.645 standard deviations cover."""
WIDTHS = (0.5, 0.35, 0.2, 0.1)
"""Of the deviations of the latents: how far from a training row's latents `sample` may draw. The widest is the freest."""
LEAST_NOVELTY = 0.8
"""Draws nearer to training rows than this share of a new row's distance are copies; 0.7 in folds left 0.62 with all rows (breast cancer)."""
N_SAMPLES = 400
"""Draws of each fold's model, for the energy distance."""


@dataclass(frozen=True)
class HeldOutRows:
    """Rows, or a Gram matrix with perhaps the rows behind it, that folds are cut from."""

    rows: Any  # (n, d), or None
    weights: Array
    gram: Array | None = None

    def smallest(self, most: int) -> HeldOutRows:
        """The at most so many distinct rows of smallest hash, weights of copies added up."""
        hashes = self.hashes()
        first = smallest_positions(hashes, most)
        _, inverse = np.unique(hashes, return_inverse=True)
        totals = np.bincount(inverse, self.weights)[: len(first)]
        gram = None if self.gram is None else self.gram[np.ix_(first, first)]
        return HeldOutRows(None if self.rows is None else self.rows[first], totals, gram)

    def n_distinct(self) -> int:
        """How many distinct rows there are."""
        return len(np.unique(self.hashes()))

    def hashes(self) -> Array:
        """Of the rows, or of the sorted kernel values where there are no rows: neither knows their order."""
        return row_hashes(np.sort(self.gram, axis=1) if self.rows is None and self.gram is not None else self.rows)

    def fits(self, model: Any) -> Iterator[tuple[Any, Array]]:
        """For each fold a model of the other rows, and which rows it has not seen."""
        folds, fold = content_folds(self.rows, LOOK.folds, self.hashes())
        for held_out in range(folds.n_folds):
            out, kept = np.flatnonzero(fold == held_out), np.flatnonzero(fold != held_out)
            yield self._fit(model, kept), out

    def _fit(self, model: Any, kept: Array) -> Any:
        q = max(0, min(model.n_components_, len(kept) - 1 - int(model.center)))
        noise = 0.0 if model.noise_variance_ == 0 else "ml"
        part = clone(model).set_params(
            kernel=model.kernel_, n_components=q, noise_variance=noise, preimage="smoother", verbose=0, random_state=0
        )
        if part.n_landmarks is not None:
            part.set_params(n_landmarks=min(part.n_landmarks, len(kept)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a part of the rows may miss what the whole has: rank, structure
            if self.gram is None:
                return part.fit(self.rows[kept], sample_weight=self.weights[kept])
            inputs = None if self.rows is None else self.rows[kept]
            self_gram = self.gram[np.ix_(kept, kept)]
            part.fit(self_gram, sample_weight=self.weights[kept], inputs=inputs)
        part._held_columns = kept
        return part

    def seen_by(self, part: Any, out: Array) -> Any:
        """The projections of the held-out rows."""
        if self.gram is None:
            return part._project(self.rows[out])
        return part._project(self.gram[np.ix_(out, part._held_columns)], diagonal=self.gram[out, out])


@dataclass(frozen=True)
class HeldOutLimits:
    """T² and SPE of rows that their model has not seen."""

    t2: Tally
    spe: Tally

    @classmethod
    def of(cls, model: Any, source: HeldOutRows) -> HeldOutLimits:
        source = source.smallest(LOOK.rows)
        t2, spe, weights = [np.empty(0)], [np.empty(0)], [np.empty(0)]
        for part, out in source.fits(model):
            seen = source.seen_by(part, out)
            t2.append(part._gaussian.t_squared(seen))
            spe.append(part._gaussian.residual(seen))
            weights.append(source.weights[out])
        total = np.concatenate(weights)
        return cls(Tally.of(np.concatenate(t2), total, model.n_components_ or 1), Tally.of(np.concatenate(spe), total))

    @property
    def residual(self) -> float:
        """The residual above which a row is taken to be noisy."""
        return self.spe.limit(RESIDUAL_LEVEL)


@dataclass(frozen=True)
class PreimageEvidence:
    """How pre-images did on held-out rows: the chosen names and their evidence."""

    names: dict[str, str]
    selections: dict[str, Selection]
    prior: str = "normal"  # where `sample` draws latents
    width: float = 0.0


def preimage_evidence(model: Any, source: HeldOutRows) -> PreimageEvidence:
    """Reconstruction, denoising and samples of held-out rows by each method that suits, and the one to take for each."""
    if has_identity_features(model.kernel_):
        return PreimageEvidence(dict.fromkeys(JOBS, "exact"), {})
    source = source.smallest(CHOOSING_ROWS)
    rows = np.asarray(source.rows, dtype=np.float64)
    methods = candidates(model.kernel_, rows.shape[1])
    spread = float(np.sqrt(rows.var(axis=0).mean())) or 1.0
    draws = np.clip(cell_uniforms(source.hashes(), rows.shape[1], 0), 1e-12, 1 - 1e-12)
    noise = ADDED_NOISE * spread * ndtri(draws)
    scores: dict[str, list[list[float]]] = {job: [] for job in JOBS}
    weights, novelty = [], []
    generators = _generators(methods, model.n_components_)
    for part, out in source.fits(model):
        share = source.weights[out] / source.weights[out].sum()
        weights.append(float(source.weights[out].sum()))
        names = list(dict.fromkeys(name for allowed in methods.values() for name in allowed))
        fitted = {name: part._fitted_preimage(name) for name in names}
        questions = {"reconstruct": part._map_scores(source.seen_by(part, out))}
        if source.gram is None:
            questions["denoise"] = part._map_scores(part._project(rows[out] + noise[out]))
        for job, asked in questions.items():
            misses = [part._decoded(fitted[name], asked) - rows[out] for name in methods[job]]
            scores[job].append([-float(share @ np.square(missed).sum(axis=1)) for missed in misses])
        drawn = [part._drawn(fitted[name], N_SAMPLES, 0, prior, width) for prior, width, name in generators]
        scores["sample"].append([-energy_distance(found, rows[out], share) for found in drawn])
        novelty.append(_novelty(drawn, part.X_fit_, rows[out]))
    words = {"reconstruct": "held-out error", "denoise": "held-out error with noise added", "sample": "energy distance"}
    if scores["sample"]:
        # samples that lie on training rows are copies, however near the law they are
        new = np.mean(novelty, axis=0) >= LEAST_NOVELTY
        new[: len(methods["sample"])] = True
        generators = [one for one, fresh in zip(generators, new) if fresh]
        scores["sample"] = [[value for value, fresh in zip(found, new) if fresh] for found in scores["sample"]]
    candidates_of = {**methods, "sample": [_named(*one) for one in generators]}
    selections = {
        job: choose(candidates_of[job], np.array(found), np.array(weights), what=f"preimage ({job})", score=words[job])
        for job, found in scores.items()
        if found
    }
    chosen = {job: selections[job].chosen if job in selections else methods[job][0] for job in JOBS}
    prior, width, chosen["sample"] = (
        generators[candidates_of["sample"].index(chosen["sample"])]
        if "sample" in selections
        else ("normal", 0.0, methods["sample"][0])
    )
    return PreimageEvidence(chosen, selections, prior, width)


def _generators(methods: dict[str, list[str]], n_components: int) -> list[tuple[str, float, str]]:
    """(prior, width, method) of what `sample` may do; the model's own prior first."""
    plain = [("normal", 0.0, name) for name in methods["sample"]]
    if not n_components:
        return plain
    others = dict.fromkeys([*methods["reconstruct"], *methods["sample"]])
    return plain + [("posterior", width, name) for width in WIDTHS for name in others]


def _named(prior: str, width: float, name: str) -> str:
    return name if prior == "normal" else f"{name}, latents about those of training rows (width {width:g})"


def _novelty(drawn: list[Array], training: Any, held_out: Array) -> list[float]:
    """The median distance of draws to the nearest training row, over that of held-out rows, for each generator."""
    training = np.asarray(training, dtype=np.float64)
    usual = float(np.median(cdist(held_out, training).min(axis=1))) or 1.0
    return [float(np.median(cdist(found, training).min(axis=1))) / usual for found in drawn]


def held_out_std(model: Any, source: HeldOutRows, method: Any) -> Array:
    """Per column, the error of rows that their model has not seen, such that 1.645 of it cover 90 % of them, (d,) [12]."""
    source = source.smallest(ERROR_ROWS)
    rows = np.asarray(source.rows, dtype=np.float64)
    errors, weights = [], []
    for part, out in source.fits(model):
        found = part._decoded(part._fitted_preimage(method), part._map_scores(source.seen_by(part, out)))
        errors.append(np.abs(found - rows[out]))
        weights.append(source.weights[out])
    if not errors:
        return rows.std(axis=0)
    misses, counts = np.concatenate(errors), np.concatenate(weights)
    order = np.argsort(misses, axis=0)
    reached = np.cumsum(counts[order], axis=0) >= COVERED * counts.sum() * (1 - 1e-12)
    return np.take_along_axis(misses, order, axis=0)[reached.argmax(axis=0), np.arange(misses.shape[1])] / ndtri(
        (1 + COVERED) / 2
    )


JOBS = ("reconstruct", "denoise", "sample")


def candidates(kernel: Any, n_columns: int) -> dict[str, list[str]]:
    """The methods that a kernel allows, the simplest first; costly ones are left to those who ask."""
    near = ["smoother", "ridge"] + (["mds"] if kernel.isotropic and n_columns <= MDS_COLUMNS else [])
    return {"reconstruct": near, "denoise": ["smoother", "ridge"], "sample": ["smoother", "transport"]}


def energy_distance(X: Array, Y: Array, weights: Array | None = None) -> float:
    """2 E|x - y| - E|x - x'| - E|y - y'|, with weights of the rows of Y that sum to one."""
    weights = np.full(len(Y), 1.0 / len(Y)) if weights is None else weights
    between = float(cdist(X, Y).mean(axis=0) @ weights)
    return 2 * between - float(cdist(X, X).mean()) - float(weights @ cdist(Y, Y) @ weights)
