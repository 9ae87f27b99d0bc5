"""Arpack: SciPy's implicitly restarted Lanczos in float32, then Rayleigh-Ritz in float64."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from scipy.sparse import linalg as sparse_linalg
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array
from gramian._checks import check_random_state, check_tolerance
from gramian._precision import EPS, SINGLE, TINY
from gramian._types import DType, RandomState
from gramian.exceptions import warn
from gramian.solvers.base import Operator, Solver
from gramian.solvers.eigh import Eigh
from gramian.solvers.rayleigh import Scaled, orthonormal, residuals, ritz
from gramian.solvers.spectrum import Spectrum


class Arpack(Solver):
    """ARPACK on float32 products, one vector each, and one float64 Rayleigh-Ritz pass on q + 4 vectors.

    For stored matrices whose spectrum decays slowly; where a product recomputes its tiles, `Krylov` uses each better.

    Parameters
    ----------
    tol : float
        Relative residual |A v - l v| / l₁ to reach. Where float32 did not, the search is repeated in float64.
    max_iter : int
        Restarts at most; a `ConvergenceWarning` tells when they did not suffice.
    random_state : None, int, Generator or RandomState
        Seeds the start vector.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.operators.covariance import Stored
    >>> spectrum = Arpack().solve(Stored(np.diag(np.arange(500.0) ** 2)), 2)
    >>> spectrum.eigenvalues.round(3).tolist()
    [249001.0, 248004.0]
    """

    suits = ("dual",)
    rtol = 1e-8
    atol = 1e-6

    tol: Annotated[float, "nonnegative"]

    def __init__(self, tol: float = 5e-5, max_iter: int = 1000, random_state: RandomState = 0) -> None:
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
        if q > size / 8 or size <= 64:
            return Eigh().solve(operator, q)
        scaled = Scaled.of(operator, rng)
        products = 0
        for dtype in (np.float32, np.float64) if tol >= SINGLE else (np.float64,):
            start = rng.standard_normal(size)
            if scaled.scale != 1.0 and dtype == np.float32:
                continue  # scaling comes after the product, which would leave the range of float32
            found, used = self._search(scaled, min(q + 4, size - 1), tol, max_iter, start, dtype)
            basis = orthonormal(found.astype(np.float64))
            if basis.shape[1] < q:  # lost to no convergence: any directions will do, the residual tells
                basis = np.hstack([basis, orthonormal(rng.standard_normal((size, q - basis.shape[1])), basis)])
            values, vectors, images = ritz(basis, scaled @ basis)
            products += used + 1
            top = max(abs(values[0]), TINY)
            residual = float(residuals(values, vectors, images)[:q].max() / top)
            converged = residual <= max(tol, 100 * EPS)
            if converged:
                break
        if not converged:
            warn(
                f"Arpack stopped after max_iter={max_iter} restarts at a relative residual of {residual:.2g}, above "
                f"tol={tol:g}. Raise max_iter, lower n_components={q}, or use solver='eigh'.",
                ConvergenceWarning,
            )
        return Spectrum(
            values[:q] * scaled.scale,
            vectors[:, :q],
            operator.trace(),
            residual,
            n_iter=products,
            converged=converged,
        ).signed()

    def _search(
        self, scaled: Scaled, count: int, tol: float, max_iter: int, start: Array, dtype: DType
    ) -> tuple[Array, int]:
        products = 0

        def product(vector: Array) -> Array:
            nonlocal products
            products += 1
            return (scaled @ np.asarray(vector, dtype=dtype).reshape(-1, 1))[:, 0]

        linear = sparse_linalg.LinearOperator((scaled.size,) * 2, matvec=product, dtype=dtype)
        try:
            _, found = sparse_linalg.eigsh(
                linear, count, which="LA", tol=0.2 * tol, v0=start.astype(dtype), maxiter=max_iter
            )
        except sparse_linalg.ArpackNoConvergence as failure:
            found = failure.eigenvectors
        except sparse_linalg.ArpackError:  # a start in the null space, such as any for the zero matrix
            found = np.empty((scaled.size, 0), dtype=dtype)
        return found, products

    def bytes_needed(self, size: int, n_components: int) -> int:
        return 8 * size * (4 * (n_components + 4) + 20)
