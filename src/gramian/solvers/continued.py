"""Leading eigenpairs that continue from those of a nearby operator: block Krylov steps from a warm start."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian._precision import HALF_DIGITS, TINY
from gramian.solvers.base import Operator
from gramian.solvers.rayleigh import orthonormal, residuals, ritz
from gramian.solvers.spectrum import Spectrum


def continued_pairs(
    operator: Operator,
    n_components: int,
    start: Array,
    *,
    tol: float = HALF_DIGITS,
    max_products: int = 60,
    guard: int = 4,
    min_products: int = 3,
    blocks: int = 6,
) -> Spectrum:
    """The leading ``n_components`` eigenpairs from products with blocks, beginning with the columns of ``start``.

    The basis grows by the residuals of its Ritz vectors until |A v - l v| <= ``tol`` l₁ for each of them.

    Parameters
    ----------
    operator : self-adjoint, with ``size``, ``@`` and ``trace()``
    n_components : int
    start : array (size, m)
        Eigenvectors of an operator near this one; any number of columns.
    tol : float
        Relative residual to reach.
    max_products : int
        With blocks of about n_components columns, at most.
    guard, min_products : int
        Random vectors that ride along: an eigenvector that the start does not contain is found by them, after so many products at least.
    blocks : int
        Of a basis; then it is restarted from its Ritz vectors.

    Returns
    -------
    Spectrum
        Its ``converged`` says whether the tolerance was met.
    """
    size = operator.size
    width = min(size, n_components + guard)
    extra = np.random.default_rng(0).standard_normal((size, max(guard, width - start.shape[1])))
    # the start far above the random vectors, so that what it knows is kept to the last digit
    basis = orthonormal(np.hstack([orthonormal(np.asarray(start, dtype=np.float64)), extra]))
    image = operator @ basis
    for product in range(1, max_products + 1):
        values, vectors, images = ritz(basis, image)
        count = min(n_components, len(values))
        rest = residuals(values[:width], vectors[:, :width], images[:, :width])
        goal = tol * max(abs(float(values[0])), TINY)
        open_ = np.flatnonzero(rest > goal)
        converged = not (open_ < count).any()
        if (converged and product >= min_products) or len(values) == size:
            break
        steps = images[:, open_] - vectors[:, open_] * values[open_]
        if basis.shape[1] + len(open_) > blocks * width:
            basis, image = vectors[:, : 2 * width], images[:, : 2 * width]
        new = orthonormal(steps, basis) if len(open_) else steps
        if new.shape[1] == 0:  # an invariant subspace to the last digit
            converged = True
            break
        basis, image = np.hstack([basis, new]), np.hstack([image, operator @ new])
    scale = max(abs(float(values[0])), TINY)
    return Spectrum(
        values[:count],
        vectors[:, :count],
        operator.trace(),
        residual_norm=float(rest[:count].max(initial=0.0)) / scale,
        n_iter=product,
        converged=converged,
    )
