"""The EM of a kernel mixture from the best of several starts, with q chosen on held-out rows where it was not given [6, 10]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import row_hashes, smallest_positions
from gramian._progress import Progress
from gramian.evidence.held_out import HeldOut
from gramian.evidence.selection import Selection, without_evidence
from gramian.mixtures.choice import choose_kernel_latents
from gramian.mixtures.feature_fit import OfNearestPoint, SummedFeatures
from gramian.mixtures.kernel_component import DualRows, FeatureRows, KernelRows
from gramian.mixtures.kernel_fit import fit_kernel_mixture, race
from gramian.mixtures.kernel_kmeans import graph_starts, kmeans, landmark_members
from gramian.mixtures.mixture import MixtureFit
from gramian.policy import LOOK, MIXTURES
from gramian.rows import Block, Rows
from gramian.solvers.base import Solver

Found = tuple[MixtureFit[Any], Selection | None]
"""The best fit, and how q was chosen where it was."""


@dataclass(frozen=True)
class Restarts:
    """How often and from where the EM is started, and when it stops. ``asked`` None: q is chosen."""

    n_clusters: int
    asked: list[int | float] | None
    noise_variance: float
    solver: Solver | None
    init: str | None  # None: the start is given
    n_init: int
    tol: float
    max_iter: int
    verbose: int

    def best(
        self, rows: KernelRows[Any], inputs: Array | None, weights: Array, given: Array | None, rng: np.random.Generator
    ) -> Found:
        """Of rows in memory; ``inputs`` are behind them, and ``given`` is a start."""
        best: MixtureFit[Any] | None = None
        asked, selection = self.asked, None
        n_init = self.n_init if given is None else 1
        with Progress("EM", total=n_init * self.max_iter, verbose=self.verbose) as bar:
            for attempt in range(n_init):
                starts = [given] if given is not None else self._starts(rows, inputs, weights, attempt, rng)
                if asked is None:
                    hashes = row_hashes(rows.gram if isinstance(rows, DualRows) and rows.points is None else inputs)
                    selection = self._chosen_latents(rows, hashes, weights, starts[0])
                    asked = [selection.chosen] * self.n_clusters
                found = fit_kernel_mixture(
                    rows,
                    starts,
                    weights,
                    asked,
                    self.noise_variance,
                    solver=self.solver,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    progress=bar,
                )
                if best is None or found.objective > best.objective:
                    best = found
        assert best is not None
        return best, selection

    def best_of_sums(self, rows: Rows, features: FeatureRows, drawn: Block, rng: np.random.Generator) -> Found:
        """Of rows that are only summed over, whose blocks carry features; ``features`` are those of the ``drawn`` rows."""
        total = float(rows.fold(weight_of_block))
        best: MixtureFit[Any] | None = None
        asked, selection = self.asked, None
        with Progress("EM", total=self.n_init * self.max_iter, verbose=self.verbose) as bar:
            for attempt in range(self.n_init):
                members = [np.ones((len(features.points), 1))]
                if self.n_clusters > 1:
                    members = landmark_members(features.point_features, self.n_clusters, rng, attempt)
                starts = [OfNearestPoint(features.point_features, shares) for shares in members]
                if asked is None:
                    selection = self._chosen_latents(features, row_hashes(drawn.X), drawn.weights, starts[0](drawn))
                    asked = [selection.chosen] * self.n_clusters
                summed = SummedFeatures(tuple(asked), self.noise_variance, self.solver, rows, total)
                found = race(summed, starts, tol=self.tol, max_iter=self.max_iter, progress=bar)
                level = found.levels[-1] / total
                if best is None or level > best.objective:
                    components = [features.behind(model) for model in found.components]
                    history = np.array(found.levels) / total
                    nobody = np.empty((0, self.n_clusters))
                    best = MixtureFit(components, found.mixing, nobody, history, found.converged, found.n_rescued)
        assert best is not None
        return best, selection

    def _chosen_latents(self, rows: KernelRows[Any], hashes: Array, weights: Array, start: Array) -> Selection:
        """One q for all components by held-out rows, on at most `LOOK.gram` of them."""
        drawn = smallest_positions(hashes, LOOK.gram)
        held_out = HeldOut.of(None, hashes=hashes[drawn], weights=weights[drawn])
        if not held_out or len(drawn) < MIXTURES.fewest * start.shape[1]:
            # q where there are too few rows to hold any out.
            reason = f"q = {2}: {len(drawn)} different rows are too few to hold any out"
            return without_evidence(2, reason)
        return choose_kernel_latents(rows.gram_of(drawn), weights[drawn], start[drawn], held_out, self.noise_variance)

    def _starts(
        self, rows: KernelRows[Any], inputs: Array | None, weights: Array, attempt: int, rng: np.random.Generator
    ) -> list[Array]:
        if self.n_clusters == 1:
            return [np.ones((rows.size, 1))]
        if self.init == "random":
            return [rng.dirichlet(np.ones(self.n_clusters), rows.size)]
        if self.init == "kernel_kmeans":
            return graph_starts(rows, weights, self.n_clusters, rng, attempt)
        assert inputs is not None  # a precomputed kernel was refused
        labels = kmeans(inputs, weights, self.n_clusters, rng, 1 if self.n_init > 1 else 10)
        return [np.eye(self.n_clusters)[labels]]


def weight_of_block(block: Block) -> float:
    return float(block.weights.sum())
