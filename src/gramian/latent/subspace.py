"""Subspaces: the mean and the principal axes, in primal or dual coordinates. They turn points into projections and back.

`Subspace` is what every latent model can ask of its coordinates. `KernelSubspace` adds what a model of feature points that are
known over some rows (training rows, landmarks, anchors) can say of them: kernel values, noise, the centred kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Protocol, Self, TypeVar

import numpy as np

from gramian._arrays import Array, Kept, is_sparse, row_chunks
from gramian._checks import check_finite
from gramian._threads import single_blas_thread, thread_count, thread_map
from gramian._types import Points
from gramian.kernels.base import Kernel
from gramian.kernels.precomputed import Precomputed
from gramian.latent.gaussian import Projection
from gramian.latent.noise_field import NoiseField, UnitNoise, noise_field
from gramian.operators.gram import DenseGram, LazyGram, RawGram
from gramian.policy import SIZES


class Projecting(Protocol):
    """The least that a latent model asks of its coordinates: what it sees of rows."""

    def project(self, X: Any, /) -> Projection:
        """Scores and squared norms of rows (a table; a list of tables where there are several views)."""
        ...


Space = TypeVar("Space", bound=Projecting, covariant=True)
"""Where a model lives: the type of its subspace."""


class Subspace(Projecting, Protocol):
    """A mean and principal axes in one space: coordinates, explicit features, or features that only a kernel knows."""

    @property
    def feature_map(self) -> Any:
        """The explicit map that rows go through; None where there is none."""
        ...

    @property
    def kernel(self) -> Kernel | None:
        """The kernel that alone knows the features; None where they are explicit."""
        ...

    @property
    def sees_entries(self) -> bool:
        """Whether rows are their own coordinates: an entry that is NaN is then one that was not seen."""
        ...

    @property
    def takes_kernel_values(self) -> bool:
        """Whether rows are kernel values with the training rows: there are no inputs, and no row shows its own k(y, y)."""
        ...

    def project(self, X: Points, /, diagonal: Array | None = None) -> Projection:
        """Scores and squared norms of rows; ``diagonal`` is k(y, y) where rows cannot show it."""
        ...

    def embed(self, scores: Array) -> Array:
        """μ + U t: coordinates in primal, weights over the points in dual."""
        ...

    def coordinates(self, scores: Array) -> Array:
        """μ + U t in the coordinates of `loadings`; weights over the points where there are no loadings."""
        ...

    def inputs(self, scores: Array) -> Array | None:
        """The inputs of μ + U t, where coordinates or their map lead back to them; None where a pre-image must."""
        ...

    def overlap(self) -> Array:
        """UᵀU, (q, q): the identity, but for parts of a larger subspace."""
        ...

    def loadings(self, gains: Array) -> Array | None:
        """W = U diag(gains) in coordinates, (d, q); None where features are known through a kernel alone."""
        ...

    def take(self, n_components: int) -> Self:
        """The same with the first axes only."""
        ...

    def without_map(self) -> Subspace:
        """The same behind its map or kernel: it projects features, or kernel values over its points, in place of inputs."""
        ...

    def without_rows(self) -> Subspace:
        """The same without training rows that projections do not need."""
        ...


class KernelSubspace(Subspace, Protocol):
    """A subspace of feature points that are combinations Φγ of ``size`` known points."""

    @property
    def size(self) -> int: ...
    @property
    def points(self) -> Any: ...
    @property
    def gram(self) -> Array | None:
        """K₀ of the points, where it was given in place of inputs and kept; else None."""
        ...

    @property
    def spans_kernel_space(self) -> bool:
        """Whether the points stand for the kernel's own feature space, so that kernel vectors over them have a meaning."""
        ...

    def project_with(self, others: Sequence[Self], X: Points, diagonal: Array | None = None) -> list[Projection]:
        """What this subspace and ``others`` over the same points see of rows; kernel values or features are computed once."""
        ...

    def kernel_values(self, scores: Array) -> Array:
        """Φᵀ(μ + U t), (n, size), uncentred [3]."""
        ...

    def point_scores(self) -> Array:
        """The scores of the points themselves, (size, q)."""
        ...

    def center_rows(self, X: Points) -> Array:
        """<φ(xᵢ) - μ, φ(y) - μ>, (n, size) [3]."""
        ...

    def center_scores(self, scores: Array) -> Array:
        """<φ(xᵢ) - μ, U t>, (n, size) [3]."""
        ...

    def unit_noise(self, n_draws: int, rng: np.random.Generator) -> UnitNoise:
        """Draws of isotropic unit noise of feature space, over the points [3]."""
        ...


@dataclass(frozen=True)
class PrimalSubspace:
    """μ and orthonormal axes U as rows of ``components``; NaN entries of a point are what was not seen.

    With ``scale`` (d,) the axes are those of (x - μ) / scale: a noise per column is one noise in such units.
    """

    mean: Annotated[Array, "d"]
    components: Annotated[Array, "% q d"]
    scale: Annotated[Array | None, "++ d"] = None

    @property
    def feature_map(self) -> None:
        return None

    @property
    def kernel(self) -> None:
        return None

    @property
    def sees_entries(self) -> bool:
        return True

    @property
    def takes_kernel_values(self) -> bool:
        return False

    def project(self, X: Points, diagonal: Array | None = None) -> Projection:
        """t = Uₒᵀ(x - μ)ₒ, g = |(x - μ)ₒ|², and G = UₒᵀUₒ where entries are missing [2]."""
        d = len(self.mean)
        if is_sparse(X):
            scores = np.asarray(X @ self.components.T) - self.components @ self.mean
            squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
            norms = squares - 2 * np.asarray(X @ self.mean) + self.mean @ self.mean
            return Projection(scores, np.maximum(norms, 0.0), d)
        centred = self.centred(X)
        volume: Any = 0.0 if self.scale is None else ~np.isnan(centred) @ np.log(self.scale)
        sources = ((self.gaps, X, 1.0),)
        if not np.isnan(centred.sum()):
            norms = np.einsum("nj,nj->n", centred, centred)
            return Projection(centred @ self.components.T, norms, d, log_volume=volume, sources=sources)
        seen = ~np.isnan(centred)
        centred = np.where(seen, centred, 0.0)
        first, codes = equal_rows(seen)
        patterns = (overlaps(seen[first], self.components.T), codes) if 2 * len(first) <= len(seen) else None
        overlap = overlaps(seen, self.components.T) if patterns is None else patterns[0][codes]
        norms = np.einsum("nj,nj->n", centred, centred)
        return Projection(centred @ self.components.T, norms, seen.sum(axis=1), overlap, volume, patterns, sources)

    def centred(self, X: Points) -> Array:
        """x - μ, in units of ``scale``."""
        centred: Array = np.asarray(X, dtype=np.float64) - self.mean
        if self.scale is not None:
            centred /= self.scale
        return centred

    def gaps(self, X: Points, scores: Array) -> Array:
        """(x - μ - U t)ₒ, 0 where an entry was not seen; of fewer scores than axes, by the first axes."""
        gaps = self.centred(X) - scores @ self.components[: scores.shape[1]]
        return np.where(np.isnan(gaps), 0.0, gaps)

    def embed(self, scores: Array) -> Array:
        """μ + U t, in the units of the data."""
        rows = scores @ self.components
        return (rows if self.scale is None else rows * self.scale) + self.mean

    def column_noise(self, noise_variance: float) -> Any:
        """σ² in the units of the data: one number, or one per column."""
        return noise_variance if self.scale is None else noise_variance * self.scale**2

    coordinates = embed
    inputs = embed

    def overlap(self) -> Array:
        """UᵀU."""
        return self.components @ self.components.T

    def loadings(self, gains: Array) -> Array:
        """W = U diag(gains), (d, q), in the units of the data."""
        loadings = self.components.T * gains
        return loadings if self.scale is None else loadings * self.scale[:, None]

    def take(self, n_components: int) -> PrimalSubspace:
        """The same with the first axes only."""
        return replace(self, components=self.components[:n_components])

    def without_map(self) -> PrimalSubspace:
        """There is none."""
        return self

    def without_rows(self) -> PrimalSubspace:
        """It keeps none."""
        return self


def equal_rows(seen: Array) -> tuple[Array, Array]:
    """The first row of each pattern of a mask, and which pattern each row has.

    >>> import numpy as np
    >>> equal_rows(np.array([[True, False], [True, True], [True, False]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    bits = np.packbits(seen, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : bits.shape[1]] = bits
    keys = words.view(np.uint64)
    keys = keys[:, 0] if keys.shape[1] == 1 else keys.view([("", np.uint64)] * keys.shape[1])[:, 0]
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    return first, codes.ravel()


def overlaps(seen: Array, axes: Array) -> Array:
    """G = UₒᵀUₒ for every row of the mask ``seen``: of few rows one by one, of many one product for all, mask @ (U ⊗ U), upper half only."""
    q = axes.shape[1]
    if 2 * len(seen) <= q:  # U ⊗ U alone would be larger than the masked axes of all rows
        return np.asarray((axes.T * seen[:, None, :]) @ axes)
    upper = np.triu_indices(q)
    packed = seen.astype(np.float64) @ (axes[:, upper[0]] * axes[:, upper[1]])
    full = np.empty((seen.shape[0], q, q))
    full[:, upper[0], upper[1]] = packed
    full[:, upper[1], upper[0]] = packed
    return full


@dataclass(frozen=True)
class DualSubspace:
    """μ = Φ ``affine`` and U = Φ ``axes`` over training points, known only through the kernel [1].

    ``axes`` = J V L^-½; ``raw_mean`` = K₀ ``affine``. With the precomputed kernel, rows handed to `project` are kernel values.
    """

    kernel: Kernel
    points: Annotated[Any, "maybe ~ n *"]  # training inputs; None with a precomputed kernel
    affine: Annotated[Array, "% n"]  # s, or zeros when uncentred
    axes: Annotated[Array, "n q"]
    raw_mean: Annotated[Array, "% n"]  # K₀ s
    images: Annotated[Array, "n q"]  # K₀ U-coefficients: K₀ axes
    dim: float
    gram: Annotated[Array | None, "% n n"] = None  # K₀ itself where points are None and noise may be asked for

    kept: Kept = field(default_factory=Kept, compare=False, repr=False)  # the noise field, once it was needed

    def _wrong_state(self) -> str | None:
        """What a model file may not leave out: rows that a kernel can be asked about."""
        told = self.points is not None or self.gram is not None or isinstance(self.kernel, Precomputed)
        return None if told else "points are missing"

    @property
    def feature_map(self) -> None:
        return None

    @property
    def sees_entries(self) -> bool:
        return False

    @property
    def takes_kernel_values(self) -> bool:
        return self.points is None

    @property
    def spans_kernel_space(self) -> bool:
        return True

    @property
    def size(self) -> int:
        return len(self.affine)

    @property
    def mean_norm(self) -> float:
        """|μ|² = sᵀK₀s."""
        return float(self.affine @ self.raw_mean)

    def kernel_rows(self, X: Points) -> Array:
        """k(y, xᵢ), (n, N): the whole block, for callers that need it."""
        return (
            np.asarray(X, dtype=np.float64)
            if self.points is None
            else np.asarray(self.kernel(X, self.points), dtype=np.float64)
        )

    def project(self, X: Points, diagonal: Array | None = None) -> Projection:
        """t = Uᵀ(φ - μ) = axesᵀk_y - c and g = k(y,y) - 2sᵀk_y + sᵀK₀s, tile by tile [1]."""
        return self.project_with([], X, diagonal)[0]

    def project_with(
        self, others: Sequence[DualSubspace], X: Points, diagonal: Array | None = None
    ) -> list[Projection]:
        """The same by several subspaces over the same points."""
        parts = self.scores_and_gaps(others, X)
        at_home = np.asarray(self.kernel.diagonal(X) if diagonal is None else diagonal, dtype=np.float64)
        return [
            Projection(scores, np.maximum(at_home + gap, 0.0), subspace.dim)
            for subspace, (scores, gap) in zip([self, *others], parts)
        ]

    def scores_and_gaps(self, others: Sequence[DualSubspace], X: Points) -> list[tuple[Array, Array]]:
        """Scores t and |φ - μ|² - k(y, y), one pair per subspace, by one product with the kernel values."""
        all_of_them = [self, *others]
        blocks = [np.column_stack([subspace.axes, subspace.affine]) for subspace in all_of_them]
        products = self.kernel_products(X, np.column_stack(blocks))
        ends = np.cumsum([block.shape[1] for block in blocks])
        return [
            (part[:, :-1] - subspace.raw_mean @ subspace.axes, subspace.mean_norm - 2 * part[:, -1])
            for part, subspace in zip(np.split(products, ends[:-1], axis=1), all_of_them)
        ]

    def kernel_products(self, X: Points, coefficients: Array) -> Array:
        """k(X, points) @ coefficients, with no more than a tile of kernel values in memory per thread."""
        if self.points is None:
            return np.asarray(X, dtype=np.float64) @ coefficients
        n = X.shape[0]
        tile = self.kernel.tiles(X, self.points, np.float64)
        out = np.empty((n, coefficients.shape[1]))

        def fill(rows: slice) -> None:
            block = np.zeros((rows.stop - rows.start, coefficients.shape[1]))
            for columns in row_chunks(self.size, 2 * SIZES.tile):
                block += tile(rows, columns) @ coefficients[columns]
            out[rows] = block

        threads = thread_count() if n > SIZES.tile else 1
        with single_blas_thread():
            thread_map(fill, row_chunks(n, SIZES.tile), threads)
        return check_finite(out, "kernel values")

    def embed(self, scores: Array) -> Array:
        """The affine weights γ of μ + U t over the training points, (n, N): rows sum to one unless uncentred."""
        return scores @ self.axes.T + self.affine

    coordinates = embed

    def inputs(self, scores: Array) -> None:
        """Only a pre-image leads back."""
        return

    def kernel_values(self, scores: Array) -> Array:
        """K₀ γ for the same points: the exact uncentred kernel vector, without another product with K₀ [3]."""
        return scores @ self.images.T + self.raw_mean

    def point_scores(self) -> Array:
        """t of the training points: K₀ axes - c, without a kernel evaluation."""
        return self.images - self.raw_mean @ self.axes

    def center_rows(self, X: Points) -> Array:
        """k_c(y) = <φ(xᵢ) - μ, φ(y) - μ>, doubly centred with the training means only [3]."""
        centred = self.kernel_rows(X) - self.raw_mean
        return centred - (centred @ self.affine)[:, None]

    def center_scores(self, scores: Array) -> Array:
        """<φ(xᵢ) - μ, U t>."""
        return scores @ (self.images - self.affine @ self.images).T

    def overlap(self) -> Array:
        """UᵀU = axesᵀ K₀ axes."""
        return self.axes.T @ self.images

    def loadings(self, gains: Array) -> None:
        """Features are known through the kernel alone."""
        return

    def take(self, n_components: int) -> DualSubspace:
        """The same with the first axes only."""
        return replace(self, axes=self.axes[:, :n_components], images=self.images[:, :n_components])

    def without_map(self) -> DualSubspace:
        """The same for rows that are kernel values over the points."""
        return replace(self, points=None)

    def without_rows(self) -> DualSubspace:
        """The kernel needs its points."""
        return self

    def raw_gram(self) -> RawGram:
        """K₀ of the training points as an operator."""
        if self.points is not None:
            return LazyGram(self.kernel, self.points)
        if self.gram is None:
            raise ValueError(
                "Noise of feature space needs the Gram matrix, and this model does not keep it. Fit it again."
            )
        return DenseGram(self.gram)

    @property
    def noise_field(self) -> NoiseField:
        """The factor behind draws of feature noise, made on first need and kept: it costs more than all the rest of a draw."""
        return self.kept.get("noise_field", lambda: noise_field(self.raw_gram()))

    def unit_noise(self, n_draws: int, rng: np.random.Generator) -> UnitNoise:
        """Draws of isotropic unit noise of feature space [3]."""
        drawn = self.noise_field.draw(n_draws, rng, self.affine)
        return replace(drawn, scores=drawn.values @ self.axes)
