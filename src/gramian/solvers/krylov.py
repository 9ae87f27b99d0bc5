"""Krylov: the leading eigenpairs from a few float32 products and one float64 Rayleigh-Ritz pass."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array, symmetrized
from gramian._checks import check_random_state, check_tolerance
from gramian.solvers.base import Operator, Solver
from gramian.solvers.eigh import Eigh
from gramian.solvers.spectrum import Spectrum

BLOCK = 16
"""Vectors of a product at least: fewer cost hardly less, the tiles being recomputed whatever their number."""
GUARD = 4
"""Vectors beyond those asked for: they speed up the last of those, and show the gap below it."""
PROBES = 4
"""Random vectors that ride along, so that an eigenvector which the start misses altogether is found."""
WIDE = 32
"""Vectors up to which a float64 product with twice as many costs hardly more."""
BASIS = 160
"""Columns of the basis at which it is restarted, at least."""
SINGLE_FLOOR = 2e-6
"""Relative residual that float32 products can reach with certainty."""
DOUBLE_FLOOR = 100 * np.finfo(np.float64).eps
SAFE = (1e-12, 1e12)
"""Magnitudes of images within which squares are safe in float32 too."""


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

    rtol = 1e-8
    atol = 1e-6

    def __init__(self, tol: float = 5e-5, max_iter: int = 1000, random_state: Any = 0) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def solve(
        self, operator: Operator, n_components: int, *, dim: float | None = None, noise_variance: float | None = None
    ) -> Spectrum:
        tol, max_iter = check_tolerance(self.tol, self.max_iter)
        rng = check_random_state(self.random_state)
        size, q = operator.size, min(n_components, operator.size)
        if q == 0:
            return Spectrum(np.empty(0), np.empty((size, 0)), operator.trace())
        if q > size / 8 or size <= 2 * BASIS:
            return Eigh().solve(operator, q)
        search = _Search(operator, q, tol, max_iter, rng)
        search.run()
        if not search.converged:
            warnings.warn(
                f"Krylov stopped after max_iter={max_iter} products at a relative residual of {search.residual:.2g}, not "
                f"yet at tol={tol:g}. Raise max_iter, lower n_components={q}, or use solver='eigh'.",
                ConvergenceWarning,
                stacklevel=2,
            )
        values, vectors = search.values[:q] * search.scale, search.vectors[:, :q]
        return Spectrum(
            values, vectors, operator.trace(), search.residual, n_iter=search.products, converged=search.converged
        ).signed()

    def bytes_needed(self, size: int, n_components: int) -> int:
        if n_components > size / 8 or size <= 2 * BASIS:
            return Eigh().bytes_needed(size, n_components)
        return 8 * size * (2 * _basis_limit(n_components) + _sketch_vectors(n_components))


def _basis_limit(q: int) -> int:
    return max(BASIS, 4 * max(q + GUARD, BLOCK))


def _sketch_vectors(q: int) -> int:
    return max(200, 3 * q)


@dataclass
class _Search:
    """One run: the basis Q, its images AQ, and what is known of the leading eigenpairs."""

    operator: Operator
    q: int
    tol: float
    max_iter: int
    rng: np.random.Generator
    scale: float = 1.0
    products: int = 0
    residual: float = np.inf
    converged: bool = False
    values: Array = field(init=False)
    vectors: Array = field(init=False)

    def run(self) -> None:
        self.width = max(self.q + GUARD, BLOCK)
        size = self.operator.size
        sketch = getattr(self.operator, "sketch", None)
        self.sketch = sketch(_sketch_vectors(self.q), self.rng) if sketch is not None else None
        probes = self.rng.standard_normal((size, PROBES if self.sketch else self.width)).astype(np.float32)
        start = np.hstack([self.sketch[1][:, : self.width], probes]) if self.sketch else probes
        start = self._climb(start, np.float32)
        self._climb(start, np.float64)

    def _image(self, block: Array) -> Array:
        self.products += 1
        image = self.operator @ block
        return image if self.scale == 1.0 else image / self.scale

    def _climb(self, start: Array, dtype: Any) -> Array:
        """Grow a basis from ``start`` as far as products of this dtype lead; what the next dtype starts from."""
        double = dtype == np.float64
        basis = orthonormal(start.astype(dtype, copy=False))
        image = self._image(basis)
        magnitude = float(np.abs(image).max())
        if not SAFE[0] <= magnitude <= SAFE[1]:
            if not double:
                return start  # the squares would leave the range of float32
            if magnitude > 0:
                self.scale *= 2.0 ** np.floor(np.log2(magnitude))
                image = image / self.scale
        projected = symmetrized((basis.T @ image).astype(np.float64))
        limit, probe, last = _basis_limit(self.q), image[:, -PROBES:], None
        while True:
            values, rotation = np.linalg.eigh(projected)
            values, rotation = values[::-1], rotation[:, ::-1].astype(dtype)
            keep = min(self.width, len(values))
            vectors, images = basis @ rotation[:, :keep], image @ rotation[:, :keep]
            residuals = images - vectors * values[:keep].astype(dtype)
            norms = np.linalg.norm(residuals, axis=0).astype(np.float64)
            goals = self._goals(values, keep, floor=DOUBLE_FLOOR if double else SINGLE_FLOOR)
            if double:
                self.values, self.vectors = values, vectors
                self.residual = float(norms[: self.q].max() / abs(values).max()) if norms[: self.q].any() else 0.0
            worst = norms[: self.q] / goals[: self.q]
            self.converged = bool(worst.max() <= 1.0)
            if self.products >= (self.max_iter if double else self.max_iter - 1) or (double and self.converged):
                return vectors
            steps = self._steps(residuals, values[:keep], worst)
            if not double:
                # the gain of a product: what the last one brought, or what the quality of the sketch promises
                gain = (
                    worst.max() / last if last is not None else float((norms[: self.q] / values[: self.q]).max() * 1.5)
                )
                if self.converged or (worst.max() * min(gain, 1.0) <= 1.0 and keep <= WIDE):
                    return np.hstack([vectors, steps, probe] if keep <= WIDE else [vectors, probe])
                last = worst.max()
            new = orthonormal(np.hstack([steps, probe]), basis)
            if new.shape[1] == 0:  # an invariant subspace
                self.converged = True
                return vectors
            if basis.shape[1] + new.shape[1] > limit:
                keep = min(limit // 2, basis.shape[1])
                basis, image = basis @ rotation[:, :keep], image @ rotation[:, :keep]
                projected = np.diag(values[:keep])
                new = orthonormal(new, basis)
            new_image = self._image(new)
            corner = (new.T @ new_image).astype(np.float64)
            side = (basis.T @ new_image).astype(np.float64)
            projected = symmetrized(np.block([[projected, side], [side.T, corner]]))
            basis, image = np.hstack([basis, new]), np.hstack([image, new_image])
            probe = new_image[:, -PROBES:]

    def _goals(self, values: Array, keep: int, floor: float) -> Array:
        """The residual to reach: tol l₁, and |r|² / gap within 4 tol² of the eigenvalue."""
        top = max(abs(values[0]), abs(values[-1]))
        own = np.maximum(values[:keep], 0.0)
        gap = np.maximum(own - own[-1], 0.05 * own)
        return (
            np.maximum(np.minimum(self.tol * top, 2 * self.tol * np.sqrt(own * gap)), floor * top)
            + np.finfo(float).tiny
        )

    def _steps(self, residuals: Array, values: Array, worst: Array) -> Array:
        """New directions: the residuals of what has not converged, and of the guards while a block has room."""
        open_ = np.flatnonzero(worst > 1.0)
        rest = np.setdiff1d(np.arange(len(values)), open_)
        rest = np.concatenate([rest[rest >= self.q], rest[rest < self.q]])
        chosen = np.sort(np.concatenate([open_, rest[: max(0, BLOCK - len(open_))]]))
        residuals, values = residuals[:, chosen], values[chosen]
        if not self.sketch:
            return residuals
        known, known_vectors = self.sketch
        outside = slice(self.width, None)  # those inside are in the basis
        below = known[outside, None] / self.scale
        gain = below / np.maximum(values - below, 0.05 * np.abs(values) + np.finfo(float).tiny)
        inner = known_vectors[:, outside].T @ residuals.astype(np.float32)
        return residuals + known_vectors[:, outside] @ (inner * gain.astype(np.float32))


def orthonormal(block: Array, basis: Array | None = None) -> Array:
    """What the block adds to the basis, orthonormal, column after column; those lost in rounding are dropped.

    Cholesky's factor of the Gram matrix costs a tenth of Householder's; the second pass removes what the rounding of
    the first left.
    """
    eps = float(np.finfo(block.dtype).eps)
    for _ in range(2):
        if basis is not None:
            block = block - basis @ (basis.T @ block)
        norms = np.linalg.norm(block, axis=0)
        block = block[:, norms > 0] / norms[norms > 0]
        gram = (block.T @ block).astype(np.float64)
        kept = _independent(gram, 20 * block.shape[1] * eps)
        factor = np.linalg.cholesky(gram[np.ix_(kept, kept)])
        block = block[:, kept] @ linalg.solve_triangular(factor, np.eye(len(kept)), lower=True).T.astype(block.dtype)
    return block


def _independent(gram: Array, floor: float) -> list[int]:
    """The columns that add more than ``floor`` of their squared length to those before them."""
    rest, kept = gram.copy(), []
    for column in range(len(rest)):
        if rest[column, column] > floor:
            kept.append(column)
            side = rest[:, column] / np.sqrt(rest[column, column])
            rest -= np.outer(side, side)
    return kept
