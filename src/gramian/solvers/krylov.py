"""Krylov: the leading eigenpairs from a few float32 products and one float64 Rayleigh-Ritz pass."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array, symmetric_part
from gramian._checks import check_finite, check_random_state, check_tolerance
from gramian._precision import EPS, HALF_DIGITS, SINGLE, TINY
from gramian._threads import own_threads
from gramian._types import DType, RandomState
from gramian.exceptions import warn
from gramian.solvers.base import Operator, Solver
from gramian.solvers.eigh import Eigh
from gramian.solvers.rayleigh import orthonormal
from gramian.solvers.spectrum import Spectrum, power_of_two, squares_are_safe


class Krylov(Solver):
    """Block Lanczos with full reorthogonalisation in float32, then Rayleigh-Ritz in float64; matrix-free.

    The basis grows by the residuals of the Ritz vectors, which spans the block Krylov space. Where the operator offers
    a ``sketch`` (a cheap low-rank approximation Û L̂ Ûᵀ, such as Nystroem's), it gives the start, and the residuals are
    first divided by the sketch: r + Û [L̂ / (θ - L̂)] Ûᵀ r, Davidson's step with (θ - Û L̂ Ûᵀ)⁻¹. Each product then
    gains as much as several without it.

    The last product is made in float64, with the basis found so far: the error of an eigenvalue is quadratic in that of
    its vector, so vectors good to float32 give eigenvalues to 1e-8 or better. It yields the certificate
    ``residual_norm``. If that is not reached, the iteration goes on in float64.

    Parameters
    ----------
    tol : float
        Relative residual |A v - l v| / l₁ to reach; the eigenvalues are held to 4 tol² of themselves by the estimate
        |A v - l v|² / gap.
    max_iter : int
        Products with the operator at most; a `ConvergenceWarning` tells when they did not suffice.
    random_state : None, int, Generator or RandomState
        Seeds the start and the sketch.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.operators.gram import CenteredGram, DenseGram
    >>> from gramian.operators.centering import Centering
    >>> rows = np.random.default_rng(0).normal(size=(400, 5)) * [5, 4, 3, 2, 1]
    >>> gram = CenteredGram(DenseGram(rows @ rows.T), Centering(np.full(400, 1 / 400)))
    >>> spectrum = Krylov().solve(gram, 2)
    >>> exact = np.linalg.eigvalsh(np.cov(rows.T, ddof=0))[::-1]
    >>> spectrum.converged, bool(np.allclose(spectrum.eigenvalues, exact[:2], rtol=1e-8))
    (True, True)
    """

    suits = ("dual",)
    rtol = 1e-8
    atol = 1e-6
    memory: int | None = None  # bytes that the basis may take

    tol: Annotated[float, "nonnegative"]

    def __init__(self, tol: float = 5e-5, max_iter: int = 1000, random_state: RandomState = 0) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _within(self, memory: int) -> Krylov:
        """The same with a basis of at most so many bytes: below what it would like, there is no sketch and it is restarted more often."""
        small = Krylov(self.tol, self.max_iter, self.random_state)
        small.memory = memory
        return small

    def solve(
        self, operator: Operator, n_components: int, *, dim: float | None = None, noise_variance: float | None = None
    ) -> Spectrum:
        tol, max_iter = check_tolerance(self.tol, self.max_iter)
        rng = check_random_state(self.random_state)
        size, q = operator.size, min(n_components, operator.size)
        if q == 0:
            return Spectrum(np.empty(0), np.empty((size, 0)), operator.trace())
        if self._is_dense(size, q):
            return Eigh().solve(operator, q)
        search = _Search(operator, q, tol, max_iter, rng, **self._options(q))
        search.run()
        if not search.converged:
            cause, cure = f"stopped after max_iter={max_iter} products", "Raise max_iter"
            if search.products < max_iter:
                cause, cure = "was stopped by rounding", "Centre or rescale the data"
            warn(
                f"{type(self).__name__} {cause} at a relative residual of {search.residual:.2g}, before tol={tol:g} and "
                f"the bound of the eigenvalues were reached. {cure}, lower n_components={q}, or use solver='eigh'.",
                ConvergenceWarning,
            )
        return Spectrum(
            search.values[:q] * search.scale,
            search.vectors[:, :q],
            operator.trace(),
            search.residual,
            n_iter=search.products,
            converged=search.converged,
        ).signed()

    def _options(self, q: int) -> dict[str, Any]:
        return {"guard": _guard(q), "memory": self.memory}

    def bytes_needed(self, size: int, n_components: int) -> int:
        if self._is_dense(size, n_components):
            return Eigh().bytes_needed(size, n_components)
        wanted = _basis_limit(n_components + _guard(n_components)) + _sketch_vectors(n_components)
        if self.memory is not None:
            wanted = min(wanted, max(self.memory // (4 * size), _least_basis(n_components)))
        return 4 * size * wanted  # float32, as a rule

    def _is_dense(self, size: int, q: int) -> bool:
        """Whether there is too little room beside the wanted vectors for a search to pay, and the matrix may be stored."""
        if q <= size / 8 and size > 2 * _basis_limit(0):
            return False
        fits = self.memory is None or Eigh().bytes_needed(size, q) <= self.memory
        return fits or size < 2 * _least_basis(q)


def _least_basis(q: int) -> int:
    """Columns of the least basis that can be restarted: half of it, and one product."""
    return 2 * (q + _guard(q) + _Search.probes)


def _guard(q: int) -> int:
    """Vectors beyond the wanted ones: with few beside many, the last of the wanted take products of their own."""
    return max(4, q // 16)


def _basis_limit(width: int) -> int:
    """Columns of the basis at which it is restarted."""
    return max(160, 4 * width)


def _sketch_vectors(q: int) -> int:
    return max(128, 3 * q)


@dataclass
class _Search:
    """One run: what is known of the leading eigenpairs, and what it took.

    ``block`` is the least number of vectors of a product: fewer cost hardly less, the tiles being recomputed whatever their number. The
    ``guard`` speeds up the last of the wanted vectors and shows the gap below it. ``probes`` random vectors ride along, so that an
    eigenvector which the sketch misses altogether is found.
    """

    operator: Operator
    q: int
    tol: float
    max_iter: int
    rng: np.random.Generator
    guard: int
    block: int = 16
    probes: int = 4
    single: bool = True  # whether to search in float32 first
    memory: int | None = None  # bytes that the basis may take
    scale: float = 1.0
    products: int = 0
    residual: float = np.inf
    converged: bool = False
    values: Array = field(init=False)
    vectors: Array = field(init=False)
    sketch: tuple[Array, Array] | None = None

    def run(self) -> None:
        with own_threads():  # blocks are thin: products and the sketch alone are worth threads, and have their own
            self._run()

    def _run(self) -> None:
        self.limit, room = _basis_limit(max(self.q + self.guard, self.block)), np.inf
        if self.memory is not None:
            room = self.memory // (4 * self.operator.size)
        scarce = room < self.limit + _sketch_vectors(self.q)
        if scarce:
            self.limit = max(min(self.limit, int(room)), _least_basis(self.q))
            self.block = max(self.q + self.guard, min(self.block, self.limit // 2 - self.probes))
        self.width = max(self.q + self.guard, self.block)
        sketch = getattr(self.operator, "sketch", None) if self.single and not scarce else None
        with np.errstate(over="ignore", invalid="ignore"):  # beyond float32's range: seen below, and done in float64
            self.sketch = sketch(_sketch_vectors(self.q), self.rng) if sketch is not None else None
        known = self.sketch[1][:, : self.width] if self.sketch else np.empty((self.operator.size, 0), dtype=np.float32)
        # without a sketch, or with one of low rank, random vectors fill the block
        fill = max(self.probes if self.sketch else 0, self.width - known.shape[1])
        start = np.hstack([known, self.rng.standard_normal((self.operator.size, fill), dtype=np.float32)])
        if self.single:
            with np.errstate(over="ignore", invalid="ignore"):
                start = self._climb(start, np.float32)
        self._climb(start, np.float64)

    def _image(self, block: Array) -> Array:
        self.products += 1
        image = self.operator @ block
        return image if self.scale == 1.0 else image / self.scale

    def _climb(self, start: Array, dtype: DType) -> Array:
        """Grow a basis from ``start`` as far as products of this dtype lead; what the next dtype starts from."""
        double = dtype == np.float64
        axes = orthonormal(start.astype(dtype, copy=False))
        image = self._image(axes)
        if double:
            check_finite(image, "products with the matrix")
            self.scale = power_of_two(image)
            image = image if self.scale == 1.0 else image / self.scale
        elif not squares_are_safe(float(np.abs(image).max())):
            return start  # zero, or its squares would leave the range of float32
        basis = _Basis.of(axes, image)
        if not double and basis.noise > 1e-4:  # of no use in float32
            self.sketch = None  # of the same make
            return self.rng.standard_normal((self.operator.size, self.width))
        floor = max(100 * EPS if double else SINGLE, 10 * basis.noise)
        probe, last = image[:, -self.probes :], None
        del axes, image  # at this width every block counts
        while True:
            values, vectors, rest = basis.ritz(self.width)
            norms = np.linalg.norm(rest, axis=0).astype(np.float64)[: self.q]
            excess = norms / self._goals(values, floor)
            worst = float(excess.max())
            if double:
                self._keep(values, vectors, norms)
                if worst <= 1.0 and self._complete(values):
                    # a matrix of nothing but rounding has no eigenvectors to converge to
                    self.converged = self.residual <= max(self.tol, HALF_DIGITS) or basis.noise > 0.1
                    return vectors
            if self.products >= (self.max_iter if double else self.max_iter - 1):
                return vectors
            steps = self._steps(rest, values[: rest.shape[1]], excess)
            if not double:
                # what a product gains: as much as the last one did, or as the quality of the sketch promises
                gain = worst / last if last else 1.5 * float((norms / (np.abs(values[: self.q]) + TINY)).max())
                wide = self.width > 32  # up to here a float64 product with twice as many costs hardly more
                if worst <= 1.0 or (worst * min(gain, 1.0) <= 1.0 and not wide):
                    return np.hstack([vectors, probe] if wide else [vectors, steps, probe])
                last = worst
            new = orthonormal(np.hstack([steps, probe]), basis.axes)
            if basis.axes.shape[1] + new.shape[1] > self.limit:
                basis = basis.restarted(max(self.limit // 2, self.q))
                new = orthonormal(new, basis.axes)
            if new.shape[1] == 0:  # an invariant subspace to the last digit
                self.converged = double
                return vectors
            image = self._image(new)
            basis, probe = basis.extended(new, image), image[:, -self.probes :]

    def _keep(self, values: Array, vectors: Array, norms: Array) -> None:
        self.values, self.vectors = values, vectors
        self.residual = float(norms.max() / max(float(np.abs(values).max()), TINY))

    def _complete(self, values: Array) -> bool:
        """Whether the sketch can have hidden no eigenvector: it would need room in the trace outside the basis."""
        if not self.sketch or self.products >= 3:  # the probes have seen it by then
            return True
        return bool(self.operator.trace() / self.scale - values.sum() <= values[self.q - 1])

    def _goals(self, values: Array, floor: float) -> Array:
        """The residuals to reach: tol l₁, and |r|² / gap within 4 tol² of the eigenvalue, if rounding lets them."""
        top = max(abs(values[0]), abs(values[-1]))
        guard = values[min(self.width, len(values)) - 1]
        own = np.maximum(np.abs(values[: self.q]), 1e-6 * top)  # the least are held to an error relative to this share
        gap = np.maximum(values[: self.q] - guard, 0.05 * own)
        goals = np.minimum(self.tol * top, 2 * self.tol * np.sqrt(own * gap))
        return np.maximum(goals, floor * top) + TINY

    def _steps(self, rest: Array, values: Array, excess: Array) -> Array:
        """New directions: the residuals of what has not converged, and of the guards while a block has room."""
        wanted = np.flatnonzero(excess > 1.0)
        others = np.setdiff1d(np.arange(len(values))[::-1], wanted)
        others = np.concatenate([others[others >= self.q], others[others < self.q]])
        chosen = np.sort(np.concatenate([wanted, others[: max(0, self.block - len(wanted))]]))
        rest, values = rest[:, chosen], values[chosen]
        if not self.sketch:
            return rest
        known, known_vectors = self.sketch
        outside = slice(self.width, None)  # those inside are in the basis
        below = known[outside, None] / self.scale
        gain = below / np.maximum(values - below, 0.05 * np.abs(values) + TINY)
        inner = known_vectors[:, outside].T @ rest.astype(np.float32)
        return rest + known_vectors[:, outside] @ (inner * gain.astype(np.float32))


@dataclass(frozen=True)
class _Basis:
    """Orthonormal Q, its images A Q, and Qᵀ A Q."""

    axes: Array
    image: Array
    projected: Array
    noise: float

    @classmethod
    def of(cls, axes: Array, image: Array) -> _Basis:
        projected = (axes.T @ image).astype(np.float64)
        # what centring has cancelled shows as asymmetry: no residual can be smaller than that noise
        noise = float(np.abs(projected - projected.T).max() / max(float(np.abs(projected).max()), TINY))
        return cls(axes, image, symmetric_part(projected), noise)

    def _rotation(self) -> tuple[Array, Array]:
        values, rotation = np.linalg.eigh(self.projected)
        return values[::-1], rotation[:, ::-1].astype(self.axes.dtype)

    def ritz(self, count: int) -> tuple[Array, Array, Array]:
        """All Ritz values, largest first; the first ``count`` vectors; A v - θ v."""
        values, rotation = self._rotation()
        vectors = self.axes @ rotation[:, :count]
        rest = self.image @ rotation[:, :count]
        rest -= vectors * values[:count].astype(rest.dtype)
        return values, vectors, rest

    def extended(self, new: Array, image: Array) -> _Basis:
        side, corner = ((block.T @ image).astype(np.float64) for block in (self.axes, new))
        projected = symmetric_part(np.block([[self.projected, side], [side.T, corner]]))
        return replace(
            self, axes=np.hstack([self.axes, new]), image=np.hstack([self.image, image]), projected=projected
        )

    def restarted(self, count: int) -> _Basis:
        """The span of the first ``count`` Ritz vectors alone."""
        values, rotation = self._rotation()
        rotation = rotation[:, :count]
        return replace(self, axes=self.axes @ rotation, image=self.image @ rotation, projected=np.diag(values[:count]))
