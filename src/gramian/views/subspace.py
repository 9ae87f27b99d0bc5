"""The fitted model of views: what each view adds to the subspace, and rows that show whatever they show [8].

Seeing only the views o is the overlap G = Σ_{v ∈ o} UᵥᵀUᵥ: `LatentGaussian` does the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array, symmetric_part
from gramian._precision import SEEN
from gramian._types import Points
from gramian.latent.gaussian import LatentGaussian, Posterior, Projection
from gramian.latent.model import LatentModel
from gramian.latent.subspace import Subspace

N_RIDGES = 49
"""Steps of the grid of ridges κσ²: less than a factor of 2 each."""


@dataclass(frozen=True)
class ViewPart:
    """What one view adds to the subspace: μ_v, U_v, the scale c_v, D_v and U_vᵀU_v.

    ``trust`` divides the view's noise: 1 as fitted, smaller where held-out rows showed that the view says less.
    """

    subspace: Annotated[Subspace, "its q"]
    scale: Annotated[float, "number"]
    dim: float
    overlap: Annotated[Array, "% q q"]
    trust: Annotated[float, "number"] = 1.0

    @classmethod
    def of(cls, subspace: Subspace, scale: float, dim: float) -> ViewPart:
        return cls(subspace, scale, dim, symmetric_part(subspace.overlap()))

    @property
    def invertible(self) -> bool:
        """Whether feature coordinates are the inputs."""
        return self.subspace.sees_entries

    @property
    def precomputed(self) -> bool:
        """Whether rows are kernel values: there are no inputs, and no row shows its own k(y, y)."""
        return self.subspace.takes_kernel_values

    def project(self, X: Points) -> Projection:
        """c U_vᵀ(φ - μ)_v and c²|(φ - μ)_v|²; entries of a linear view that are NaN are not seen."""
        if self.precomputed:
            seen = self.subspace.project(X, diagonal=np.zeros(len(X)))  # distances need k(y, y), which no row shows
        else:
            seen = self.subspace.project(X)
        dim = self.dim if seen.overlap is None else seen.dim
        overlap = self.overlap if seen.overlap is None else seen.overlap
        norms = self.scale * (self.scale * seen.squared_norm)
        sources = ((self.gaps, X, 1.0),) if seen.sources and self.invertible else ()
        return Projection(self.scale * seen.scores, norms, dim, overlap, sources=sources)

    def gaps(self, X: Points, scores: Array) -> Array:
        """c (φ - μ)_v - U_v t over what was seen of a linear view."""
        return self.scale * self.subspace.gaps(X, self.unscaled(scores))  # type: ignore[attr-defined]

    def unscaled(self, scores: Array) -> Array:
        """t / c: scores in the units of the view's own subspace; 0 where the view has no weight."""
        return scores / self.scale if self.scale else np.zeros_like(scores)

    def decoded(self, scores: Array) -> Array:
        """μ_v + U_v t / c in feature coordinates (explicit views), or affine weights over the training rows."""
        return self.subspace.coordinates(self.unscaled(scores))

    def loadings(self, gains: Array) -> Array | None:
        """W_v = U_v Δ / c, (D_v, q); None where the map is not explicit."""
        return self.subspace.loadings(self.unscaled(gains))


@dataclass(frozen=True)
class ViewSubspace:
    """All parts of a multi-view model: it projects whatever views a row shows."""

    parts: Annotated[tuple[ViewPart, ...], "v: its q"]

    def project(self, views: Sequence[Any]) -> Projection:
        """The projection of rows that all show the same views (None: not shown)."""
        shown = [(part, X) for part, X in zip(self.parts, views) if X is not None]
        if not shown:
            raise ValueError("No view was given. Give at least one, with NaN in the rows where it is missing.")
        parts = [(part.trust, part.project(X)) for part, X in shown]
        scores = sum(trust * seen.scores for trust, seen in parts)
        norms = sum(trust * seen.squared_norm for trust, seen in parts)
        whole = len(shown) == len(self.parts) and all(
            part.trust == 1.0 and seen.overlap is part.overlap for (part, _), (_, seen) in zip(shown, parts)
        )
        overlap: Any = None if whole else sum(trust * np.asarray(seen.overlap) for trust, seen in parts)
        sources = tuple((gaps, X, trust * share) for trust, seen in parts for gaps, X, share in seen.sources)
        if not all(seen.sources for _, seen in parts):
            sources = ()
        dim = sum(seen.dim for _, seen in parts)
        return Projection(np.asarray(scores), np.asarray(norms), dim, overlap, sources=sources)

    def patterns(self, views: Sequence[Any], seen: Array) -> Iterator[tuple[Array, Projection]]:
        """The rows that show the same views, with their projection; rows that show none see nothing at all."""
        q = len(self.parts[0].overlap)
        codes, inverse = np.unique(seen, axis=0, return_inverse=True)
        for k, pattern in enumerate(codes):
            rows = np.flatnonzero(inverse.ravel() == k)
            if not pattern.any():
                yield rows, Projection(np.zeros((len(rows), q)), np.zeros(len(rows)), 0.0, np.zeros((q, q)))
                continue
            everything = len(rows) == len(seen)
            shown = [None if not here or X is None else X if everything else X[rows] for here, X in zip(pattern, views)]
            yield rows, self.project(shown)

    def posterior(
        self,
        gaussian: LatentGaussian,
        views: Sequence[Any],
        seen: Array,
        solved: dict[bytes, Any] | None = None,
        trusts: Mapping[tuple[int, ...], float] | None = None,
    ) -> Posterior:
        """z given whatever each row shows; the covariance is shared where all rows show the same.

        ``solved`` keeps the (q, q) inverses of the patterns met, for calls that repeat them. ``trusts`` divides the noise of
        all views shown, for the patterns (positions of the views shown) that it names.
        """
        parts = []
        for rows, projection in self.patterns(views, seen):
            if trusts:
                shown = tuple(int(v) for v in np.flatnonzero(seen[rows[0]]))
                projection = with_trust(projection, trusts.get(shown, 1.0))
            known = None
            # entries of a linear view may be unseen too: then the pattern of views does not say what the overlap is
            if solved is not None and projection.overlap is not None and self._whole_views(views, rows, seen[rows[0]]):
                pattern = seen[rows[0]].tobytes()
                if pattern not in solved:
                    solved[pattern] = gaussian._inverse(projection.overlap)
                known = solved[pattern]
            parts.append((rows, gaussian.posterior(projection, known)))
        if len(parts) == 1:
            return parts[0][1]
        q = gaussian.n_components
        means, covariances = np.empty((len(seen), q)), np.empty((len(seen), q, q))
        for rows, posterior in parts:
            means[rows], covariances[rows] = posterior.mean, posterior.covariance
        return Posterior(means, covariances)

    def _whole_views(self, views: Sequence[Any], rows: Array, pattern: Array) -> bool:
        """Whether no entry of the views shown is missing."""
        shown = (X for part, X, here in zip(self.parts, views, pattern) if here and part.invertible)
        return not any(np.isnan(X[rows]).any() for X in shown)

    def overlap_of(self, shown: Sequence[int]) -> Array:
        """Σ U_vᵀU_v over the views shown, (q, q)."""
        return np.sum([self.parts[v].overlap for v in shown], axis=0)

    def seen_rank(self, shown: Sequence[int]) -> int:
        """How many components the views shown determine without noise."""
        return int((np.linalg.eigvalsh(self.overlap_of(shown)) > SEEN).sum())

    def loadings_of(self, view: int, gains: Array) -> Array:
        """W_v of a view with explicit features, (D_v, q)."""
        loadings = self.parts[view].loadings(gains)
        assert loadings is not None
        return loadings

    def without_maps(self) -> ViewSubspace:
        """The same behind feature maps and kernels: it projects features, and kernel values over the training rows."""
        return ViewSubspace(tuple(replace(part, subspace=part.subspace.without_map()) for part in self.parts))

    def trusting(self, view: int, trust: float) -> ViewSubspace:
        """The same with another trust in one view."""
        parts = list(self.parts)
        parts[view] = replace(parts[view], trust=trust)
        return ViewSubspace(tuple(parts))


ViewModel = LatentModel[ViewSubspace]
"""A model of several views."""


def with_trust(seen: Projection, trust: float) -> Projection:
    """The same with the noise of all that was seen divided by ``trust``; nothing changes at 1."""
    if trust == 1.0:
        return seen
    overlap = np.eye(seen.scores.shape[1]) if seen.overlap is None else seen.overlap
    return replace(
        seen, scores=trust * seen.scores, squared_norm=trust * seen.squared_norm, overlap=trust * overlap, sources=()
    )


def ridges_up_to(largest: float) -> Array:
    """Ridges κσ² from where inputs are believed to the last digit to where they are not believed at all.

    ``largest`` is the largest variance along a component that is modelled.
    """
    largest = largest or 1.0
    return np.geomspace(SEEN * largest, 3.0 * largest, N_RIDGES)
