"""Which pre-image a kernel model takes for what: rows, noisy rows, latents and samples, by what held-out rows say [4, 10]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from gramian._arrays import Array, row_chunks
from gramian._content import row_hashes, smallest_positions
from gramian.evidence import Selection, choose
from gramian.evidence.limits import Tally
from gramian.policy import LOOK, WAY_BACK
from gramian.preimage import has_identity_features
from gramian.single.kernel_held_out import HeldOutRows

JOBS = ("reconstruct", "denoise", "latent", "sample")


@dataclass(frozen=True)
class Generator:
    """Where `sample` draws latents, how far from those of training rows, and the pre-image of what it draws."""

    prior: str
    width: float
    method: str

    def __str__(self) -> str:
        places = {"normal": "", "mixture": ", latents of a mixture"}
        return self.method + places.get(self.prior, f", latents about those of training rows (width {self.width:g})")


@dataclass(frozen=True)
class PreimageEvidence:
    """How pre-images did on held-out rows: the chosen names and their evidence.

    ``shares`` is how much of "denoise" is mixed into "reconstruct", without noise and with each of the noises of the policy.
    """

    names: dict[str, str]
    selections: dict[str, Selection]
    shares: Array
    generator: Generator


@dataclass(frozen=True)
class Nearness:
    """How far rows are from the nearest training row, and how far training rows are from the nearest other one."""

    rows: Array
    usual: Tally

    @classmethod
    def of(cls, rows: Any, weights: Array) -> Nearness:
        """Of at most as many distinct rows as a look takes."""
        few = smallest_positions(row_hashes(rows), LOOK.rows)
        kept = np.asarray(rows[few], dtype=np.float64)
        centre = kept.mean(axis=0)  # distances come from products, which a large offset would drown
        apart = euclidean_distances(kept - centre)
        np.fill_diagonal(apart, np.inf)
        nearest = apart.min(axis=1) if len(kept) > 1 else np.zeros(len(kept))
        return cls(kept, Tally.of(nearest, weights[few]))

    def distances(self, X: Array) -> Array:
        """To the nearest training row."""
        centre = self.rows.mean(axis=0)
        found = [euclidean_distances(X[part] - centre, self.rows - centre).min(axis=1) for part in row_chunks(len(X))]
        return np.concatenate(found) if found else np.empty(0)

    def off(self, X: Array) -> Array:
        """Which rows lie off the data, farther than 99 % of new rows; all of them, where together they lie farther off than chance explains."""
        found = self.distances(X)
        return (found > self.usual.limit(WAY_BACK.usual)) | self.usual.exceeded(found, WAY_BACK.usual)

    def share_off(self, X: Array) -> float:
        """The share of rows that lie off the data, taken one by one."""
        return float((self.distances(X) > self.usual.limit(WAY_BACK.usual)).mean())

    def novelty(self, X: Array) -> float:
        """The median distance to the nearest training row, over that of a new row."""
        return float(np.median(self.distances(X))) / (self.usual.limit(0.5) or 1.0)


def preimage_evidence(model: Any, source: HeldOutRows) -> PreimageEvidence:
    """Reconstruction, denoising, latents and samples by each method that suits, and the one to take for each."""
    if has_identity_features(model.kernel_):
        shares = np.zeros(1 + len(WAY_BACK.noises))
        return PreimageEvidence(dict.fromkeys(JOBS, "exact"), {}, shares, Generator("normal", 0.0, "exact"))
    source = source.smallest(LOOK.few)
    rows = np.asarray(source.rows, dtype=np.float64)
    near, drawing = candidates(model.kernel_, rows.shape[1])
    generators = _generators(near, drawing, model.n_components_)
    noisy = source.noisy_rows() if source.gram is None else []
    weights: list[float] = []
    errors: list[list[Array]] = []  # (folds, noises, methods, methods)
    distances: list[list[float]] = []
    novelty: list[list[float]] = []
    for part, out in source.fits(model):
        share = source.weights[out] / source.weights[out].sum()
        weights.append(float(source.weights[out].sum()))
        fitted = {name: part._fitted_preimage(name) for name in dict.fromkeys([*near, *drawing])}
        questions = [source.seen_by(part, out), *(part._project(noise[out]) for noise in noisy)]
        errors.append(
            [_products(part, [fitted[name] for name in near], asked, rows[out], share) for asked in questions]
        )
        around = Nearness.of(part.X_fit_, np.ones(len(part.X_fit_)))
        drawn = [part._drawn(fitted[one.method], WAY_BACK.draws, one) for one in generators]
        distances.append([-energy_distance(found, rows[out], share) for found in drawn])
        novelty.append([around.novelty(found) for found in drawn])
    if not errors:  # too few rows to hold any out
        names = {"reconstruct": near[0], "denoise": near[0], "latent": near[0], "sample": drawing[0]}
        return PreimageEvidence(names, {}, np.zeros(1 + len(noisy)), generators[0])
    counts = np.array(weights)
    products: Array = np.array(errors)
    clean = -np.diagonal(products[:, 0], axis1=1, axis2=2)
    found = {"reconstruct": choose(near, clean, counts, what="preimage (reconstruct)", score="held-out error")}
    place = near.index(found["reconstruct"].chosen)
    shares = np.zeros((len(near), products.shape[1]))
    if noisy:
        shares = np.array([_best_shares(products, counts, place, other) for other in range(len(near))])
        mixes = [
            -_mixed_errors(products, place, other, shares[other])[:, 1:].mean(axis=1) for other in range(len(near))
        ]
        what, score = "preimage (denoise)", "held-out error with noise added, mixed with that of clean rows"
        found["denoise"] = choose(near, np.array(mixes).T, counts, what=what, score=score)
    latents = np.random.default_rng(0).standard_normal((LOOK.folds * WAY_BACK.draws, model.n_components_))
    drawn = [model._decoded(model._kept_preimage(name), model._gaussian.decode(latents)) for name in near]
    astray = np.array([model._nearness.share_off(found) for found in drawn])
    steady = np.flatnonzero(astray <= max(1.0 - WAY_BACK.usual, astray.min()))
    found["latent"] = choose(
        [near[j] for j in steady],
        clean[:, steady],
        counts,
        what="preimage (latent)",
        score="held-out error of methods that keep prior latents on the data",
    )
    # samples that lie on training rows are copies, however near the law they are
    fresh = np.array([one.prior == "normal" for one in generators]) | (np.mean(novelty, axis=0) >= WAY_BACK.novelty)
    scores = np.array(distances)
    order = np.argsort(-(counts @ scores), kind="stable")  # none is simpler than another
    order = order[fresh[order]]
    kept = [generators[j] for j in order]
    found["sample"] = choose(
        list(map(str, kept)), scores[:, order], counts, what="preimage (sample)", score="energy distance"
    )
    generator = kept[found["sample"].index]
    names = {job: selection.chosen for job, selection in found.items()}
    names = {"denoise": names["reconstruct"], **names, "sample": generator.method}
    return PreimageEvidence(names, found, shares[near.index(names["denoise"])], generator)


def _generators(near: list[str], drawing: list[str], n_components: int) -> list[Generator]:
    """What `sample` may do; the model's own prior first."""
    plain = [Generator("normal", 0.0, name) for name in drawing]
    if not n_components:
        return plain
    return plain + [Generator("posterior", width, name) for width in WAY_BACK.widths for name in near]


def _products(part: Any, methods: list[Any], asked: Any, rows: Array, share: Array) -> Array:
    """Mean products of the errors of pre-images of the same feature points, (methods, methods): mean squares on the diagonal."""
    scores = part._map_scores(asked)
    missed = np.array([np.sqrt(share)[:, None] * (part._decoded(method, scores) - rows) for method in methods])
    missed = missed.reshape(len(methods), -1)
    return np.asarray(missed @ missed.T)


def _best_shares(products: Array, counts: Array, place: int, other: int) -> Array:
    """For each noise the share of the other method in the mix of least squared error."""
    mean = np.tensordot(counts / counts.sum(), products, axes=1)
    first, both, second = mean[:, place, place], mean[:, place, other], mean[:, other, other]
    apart = first - 2.0 * both + second
    return np.clip(np.divide(first - both, apart, out=np.zeros_like(apart), where=apart > 0), 0.0, 1.0)


def _mixed_errors(products: Array, place: int, other: int, shares: Array) -> Array:
    """Squared errors of the mixes, (folds, noises), over those of the first method, so that no noise outweighs the others."""
    rest = 1.0 - shares
    first = products[:, :, place, place]
    mixed = (
        rest**2 * first + 2 * rest * shares * products[:, :, place, other] + shares**2 * products[:, :, other, other]
    )
    scale = first.mean(axis=0)
    return np.asarray(mixed / np.where(scale > 0, scale, 1.0))


def candidates(kernel: Any, n_columns: int) -> tuple[list[str], list[str]]:
    """The methods that a kernel allows, for given feature points and for draws, the simplest first; costly ones are left to those who ask."""
    # "mds" solves a system per point, which in many columns costs more than it may gain
    near = ["smoother", "ridge"] + (["mds"] if kernel.isotropic and n_columns <= 50 else [])
    return near, ["smoother", "transport"]


def energy_distance(X: Array, Y: Array, weights: Array | None = None) -> float:
    """2 E|x - y| - E|x - x'| - E|y - y'|, with weights of the rows of Y that sum to one."""
    own = np.full(len(X), 1.0 / len(X))
    weights = np.full(len(Y), 1.0 / len(Y)) if weights is None else weights
    centre = Y.mean(axis=0)
    X, Y = X - centre, Y - centre
    between, within, beside = euclidean_distances(X, Y), euclidean_distances(X), euclidean_distances(Y)
    return float(2 * own @ between @ weights - own @ within @ own - weights @ beside @ weights)
