"""How many clusters a kernel mixture has: as many as models of different rows agree on [6, 10].

The held-out objective cannot tell: a curved cluster is always described better by more, smaller components. So each number of clusters is fitted to
several draws of the rows, and a cluster counts if the model of other rows keeps its members together: the prediction strength
of Tibshirani and Walther (2005), the share of pairs in a cluster that stay together, of the worst cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian._content import cell_uniforms, smallest_positions
from gramian._progress import checkpoint
from gramian.evidence.held_out import HeldOut
from gramian.evidence.selection import Evidence, Selection, choose_by, without_evidence
from gramian.kernels import Precomputed
from gramian.mixtures.choice import choose_kernel_latents
from gramian.mixtures.kernel_component import DualRows
from gramian.mixtures.kernel_fit import fit_kernel_mixture
from gramian.mixtures.kernel_kmeans import graph_starts
from gramian.mixtures.mixture import log_terms
from gramian.policy import CLUSTERS, LOOK, MIXTURES


@dataclass(frozen=True)
class ClusterRows:
    """Some rows by their Gram matrix, with raw weights and hashes, and the noise of the components."""

    gram: Array
    weights: Array
    hashes: Array
    noise_variance: float

    @classmethod
    def drawn(
        cls, hashes: Array, weights: Array, gram_of: Callable[[Array], Array], noise_variance: float
    ) -> ClusterRows:
        """The distinct rows of smallest hash."""
        rows = smallest_positions(hashes, CLUSTERS.rows)
        return cls(gram_of(rows), weights[rows], hashes[rows], noise_variance)

    def choose(self, n_components: int | float | None) -> Selection:
        """The largest number of clusters, up to 10, whose prediction strength reaches the floor; 1 always does.

        ``n_components`` is the q (or fraction) given; None: chosen for each number of clusters.
        """
        n = len(self.hashes)
        most = min(MIXTURES.most, int(CLUSTERS.share * n) // MIXTURES.fewest)
        held_out = HeldOut.of(None, hashes=self.hashes, weights=self.weights)
        if most < 2 or not held_out:
            return without_evidence({"n_clusters": 1}, f"1 cluster: {n} different rows are too few to tell more")
        uniforms = cell_uniforms(self.hashes, LOOK.folds, 0)
        draws = [np.flatnonzero(uniforms[:, draw] < CLUSTERS.share) for draw in range(LOOK.folds)]
        rng = np.random.default_rng(0)
        shortfalls = [0.0]
        for K in range(2, most + 1):
            checkpoint(f"{K} clusters, rows drawn")
            q = n_components
            if q is None:
                start = graph_starts(self._rows(np.arange(n)), self.weights, K, rng, 0)[0]
                q = choose_kernel_latents(self.gram, self.weights, start, held_out, self.noise_variance).chosen
            labels = [self._labels(own, K, q, rng) for own in draws if len(own) >= K]
            pairs = list(zip(labels, [*labels[1:], labels[0]]))
            strengths = [self.strength(a, b, K) for one, other in pairs for a, b in ((one, other), (other, one))]
            shortfalls.append(max(CLUSTERS.strength - float(np.mean(strengths)), 0.0))
        # the most clusters first: of those that hold the largest number is taken
        losses = np.array(shortfalls[::-1])[:, None]
        names = [{"n_clusters": K} for K in range(most, 0, -1)]
        loss = f"prediction strength below {CLUSTERS.strength:g}"
        return choose_by(Evidence(names, losses, np.ones(1), "the mixture", loss))

    def strength(self, labels: Array, others: Array, n_clusters: int) -> float:
        """The share of pairs within a cluster that the other labels keep together, of the worst cluster; 0 where one is empty."""
        table = np.zeros((n_clusters, n_clusters))
        np.add.at(table, (labels, others), self.weights)
        masses = table.sum(axis=1)
        return float((np.square(table).sum(axis=1) / np.square(masses)).min()) if (masses > 0).all() else 0.0

    def _rows(self, own: Array) -> DualRows:
        return DualRows(Precomputed(), None, self.gram[np.ix_(own, own)])

    def _labels(self, own: Array, K: int, q: int | float, rng: np.random.Generator) -> Array:
        """Of all rows, by the model of some."""
        rows, weights = self._rows(own), self.weights[own]
        starts = graph_starts(rows, weights, K, rng, 0)
        found = fit_kernel_mixture(
            rows, starts, weights, [q] * K, self.noise_variance, tol=CLUSTERS.tol, max_iter=MIXTURES.race
        )
        values, diagonal = self.gram[:, own], np.diagonal(self.gram)
        seen = [model.subspace.project(values, diagonal) for model in found.components]
        return np.asarray(log_terms(found.components, found.mixing, seen).argmax(axis=1))
