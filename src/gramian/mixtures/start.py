"""Where the EM of a mixture of PPCA starts: responsibilities per block, from k-means, random rows, given means or given responsibilities [6, 13]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from gramian._arrays import Array
from gramian._content import SmallestRows
from gramian._precision import HALF_DIGITS, ROUNDING, SEEN
from gramian._threads import single_thread
from gramian.evidence.selection import votes
from gramian.latent.missing import fit_missing
from gramian.latent.model import PrimalModel
from gramian.latent.primal import latent_model
from gramian.mixtures.mixture import responsibilities_of
from gramian.mixtures.rows import MixtureTable, Responsibilities, shares_of_block
from gramian.policy import LOOK
from gramian.rows import Block


@dataclass(frozen=True)
class Given:
    """Responsibilities that go with the rows, as their target."""

    def __call__(self, block: Block) -> Array:
        assert block.target is not None
        return block.target


@dataclass(frozen=True)
class NearestCenters:
    """Each row belongs to the nearest centre; holes are filled by one PPCA of all rows first.

    Rows farther than ``reach``, squared, from all centres belong to none.
    """

    centers: Array  # (K, d), in the units of the EM
    filler: PrimalModel | None = None
    reach: float = np.inf

    def __call__(self, block: Block) -> Array:
        values = block.prepared.values
        if self.filler is not None:
            values = fill_holes(np.where(block.prepared.mask > 0, values, np.nan), self.filler)
        distances = np.einsum("kd,kd->k", self.centers, self.centers) - 2.0 * (values @ self.centers.T)
        shares = np.eye(len(self.centers))[distances.argmin(axis=1)]
        if np.isfinite(self.reach):
            shares[distances.min(axis=1) + np.einsum("nd,nd->n", values, values) > self.reach] = 0.0
        return shares

    def reaching(self, rows: Array) -> NearestCenters:
        """With none but rows that are as near as these."""
        rest = rows[:, None] - self.centers
        return replace(self, reach=float(np.einsum("nkd,nkd->nk", rest, rest).min(axis=1).max(initial=0.0)))


@dataclass(frozen=True)
class Spheres:
    """Responsibilities of spherical Gaussians of one variance about given means, over what each row shows."""

    means: Array  # (K, d), in the units of the EM
    log_mixing: Array
    variance: float

    def __call__(self, block: Block) -> Array:
        return responsibilities_of(self.log_mixing - 0.5 * self.distances(block) / self.variance)[0]

    def distances(self, block: Block) -> Array:
        """|x_o - m_o|² over the observed cells, (n, K)."""
        values, mask = block.prepared.values, getattr(block.prepared, "mask", None)
        out = np.empty((len(values), len(self.means)))
        for k, mean in enumerate(self.means):
            rest = values - mean if mask is None else values - mask * mean
            out[:, k] = np.einsum("nd,nd->n", rest, rest)
        return out


@dataclass(frozen=True)
class WithEveryone:
    """Responsibilities in which every component has a share of every row."""

    before: Responsibilities

    def __call__(self, block: Block) -> Array:
        shares = self.before(block)
        # Where a component would start empty, all get this share of every row, in equal parts.
        return (1.0 - 0.1) * shares + 0.1 / shares.shape[1]


def nonempty_start(table: MixtureTable, start: Responsibilities) -> Responsibilities:
    """The start, or if it leaves a component empty, one in which none is."""
    masses = table.rows.fold(weight_of_components, start)
    return WithEveryone(start) if (masses <= SEEN * masses.sum()).any() else start


def weight_of_components(block: Block, start: Responsibilities) -> Array:
    return block.weights @ shares_of_block(block, start)


@dataclass(frozen=True)
class Draw:
    """Distinct rows in the units of the EM, without holes, their weights, and the model that filled them.

    They stand by their distance from their mean, so that a seed picks the same rows after a shift, a rotation or another order of columns, which
    change all hashes.
    """

    rows: Array
    weights: Array
    filler: PrimalModel | None

    @classmethod
    def of(cls, table: MixtureTable, q: int) -> Draw:
        drawn: SmallestRows = table.drawn(LOOK.drawn)
        scaled = table.scaled(drawn.rows)
        if table.complete:
            return cls(scaled, drawn.weights, None).by_distance()
        fit = fit_missing(scaled, min(q, table.dim - 1), weights=drawn.weights, tol=1e-2, max_iter=20)
        model = latent_model(fit.mean, fit.loadings, max(fit.noise_variance, ROUNDING))
        return cls(fill_holes(scaled, model), drawn.weights, model).by_distance()

    def by_distance(self) -> Draw:
        """The same rows, the nearest to their mean first; rows as far as each other, but for rounding, by their values, which have an order in any unit."""
        order = np.lexsort(self.rows.T)
        rows, weights = self.rows[order], self.weights[order]
        rest = rows - weights @ rows / weights.sum()
        far = np.einsum("nd,nd->n", rest, rest)
        order = np.argsort(np.round(far / (HALF_DIGITS * (far.max(initial=0.0) or 1.0))), kind="stable")
        return replace(self, rows=rows[order], weights=weights[order])

    def usual(self) -> Draw:
        """Without the rows that have no others near them [14]."""
        kept = have_neighbours(self.rows, self.weights)
        return replace(self, rows=self.rows[kept], weights=self.weights[kept])

    def kmeans(self, n_clusters: int, attempt: int, rng: np.random.Generator) -> NearestCenters:
        """The best of several runs of k-means; later attempts end after the first step from other seeds, so that none is like another."""
        from sklearn.cluster import KMeans  # a slow import that few models need

        first = attempt == 0
        kmeans = KMeans(
            min(n_clusters, len(self.rows)),
            # The best of so many runs of k-means is the first start: they cost little beside the EM, which cannot undo a bad one.
            n_init=4 if first else 1,
            max_iter=300 if first else 1,
            random_state=int(rng.integers(2**31 - 1)),
        )
        with warnings.catch_warnings(), single_thread():
            warnings.simplefilter("ignore")  # fewer distinct rows than clusters: the mixture has its own words
            kmeans.fit(self.rows, sample_weight=self.weights)
        # with fewer distinct rows than clusters some centres come twice, and the start gives everyone a share
        centers = np.asarray(kmeans.cluster_centers_, dtype=np.float64)
        return NearestCenters(centers[np.arange(n_clusters) % len(centers)], self.filler)

    def random(self, n_clusters: int, attempt: int, rng: np.random.Generator) -> NearestCenters:
        """Different rows at random, by their weight, as centres."""
        count = min(n_clusters, len(self.rows))
        chosen = rng.choice(len(self.rows), count, replace=False, p=self.weights / self.weights.sum())
        return NearestCenters(self.rows[chosen[np.arange(n_clusters) % count]], self.filler)


def have_neighbours(rows: Array, weights: Array, neighbours: int = 6) -> Array:
    """Which rows have so many others near them; the others lie far beyond what is usual [14].

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).standard_normal((50, 2))
    >>> rows[3] = 40.0
    >>> np.flatnonzero(~have_neighbours(rows, np.ones(50))).tolist()
    [3]
    """
    from sklearn.neighbors import NearestNeighbors

    if len(rows) <= neighbours:
        return np.ones(len(rows), dtype=bool)
    near = NearestNeighbors(n_neighbors=neighbours).fit(rows).kneighbors()[0][:, -1]
    return votes(near, weights)


def fill_holes(values: Array, model: PrimalModel) -> Array:
    """The rows with their holes filled by a model: good enough to start from."""
    holes = np.isnan(values)
    latents = model.gaussian.posterior(model.subspace.project(values)).mean
    return np.where(holes, model.subspace.embed(model.gaussian.decode(latents)), values)


def about_means(table: MixtureTable, means: Array, mixing: Array | None) -> Spheres:
    """Spherical Gaussians about the means (in the units of the rows), of the mean squared distance to the nearest."""
    K = len(means)
    with np.errstate(divide="ignore"):
        log_mixing = np.zeros(K) if mixing is None else np.log(mixing)
    spheres = Spheres(table.scaled(means), log_mixing, 1.0)
    nearest = table.rows.fold(distance_to_nearest, spheres)
    return Spheres(spheres.means, log_mixing, max(nearest / max(table.cells, 1.0), 1e-12))


def distance_to_nearest(block: Block, spheres: Spheres) -> float:
    return float(block.weights @ spheres.distances(block).min(axis=1))
