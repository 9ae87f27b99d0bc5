"""The solver contract: what the rest of gramian relies on, as one function that anyone can run."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian.operators.covariance import Stored
from gramian.solvers import Eigh, as_solver
from gramian.testing.kernel_contract import _require


def matrices(size: int, seed: int = 0) -> dict[str, Array]:
    """Symmetric matrices like those that LAPACK is tested with."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(size, size)))[0]
    falling = 0.5 ** np.minimum(np.arange(size), 200.0)
    clustered = np.where(np.arange(size) < (size + 1) // 2, 1.0, 1e-3) * (1 + 1e-13 * rng.normal(size=size))
    deficient = np.where(np.arange(size) < max(1, size // 3), 1.0 + np.arange(size)[::-1], 0.0)

    def of(values: Array) -> Array:
        matrix = (basis * values) @ basis.T
        return 0.5 * (matrix + matrix.T)

    return {
        "zero": np.zeros((size, size)),
        "identity": np.eye(size),
        "clustered": of(clustered),
        "geometric": of(falling),
        "rank deficient": of(deficient),
        "near overflow": of(falling) * 1e300,
        "near underflow": of(falling) * 1e-300,
    }


def check_solver(solver: Any, *, sizes: tuple[int, ...] = (1, 2, 3, 5, 10, 16, 50, 400), n_components: int = 3) -> None:
    """Run the contract on a solver; an `AssertionError` says which promise is broken.

    Checked are: parameters (`get_params`, `clone`, pickle), shapes, order, orthonormal vectors, the trace, the
    certificate and the stated tolerances ``rtol`` and ``atol`` against `Eigh` on the :func:`matrices` of each size, zero
    components, an untouched operator, and the same answer for the same seed.

    Parameters
    ----------
    solver : Solver or its name
        What is checked; it is cloned, not changed.
    sizes : tuple of int
        Sizes of the matrices.
    n_components : int
        Eigenpairs asked for (fewer where the matrix has fewer).

    Returns
    -------
    None
        Or an `AssertionError`.

    References
    ----------
    docs/add_a_solver.md.

    Examples
    --------
    >>> from gramian.solvers import Eigh
    >>> from gramian.testing.solver_contract import check_solver
    >>> check_solver(Eigh(), sizes=(3, 10))
    """
    solver = clone(as_solver(solver))
    _require(
        repr(pickle.loads(pickle.dumps(solver)).get_params()) == repr(solver.get_params()),
        "a pickle must keep the options",
    )
    for size in sizes:
        for name, matrix in matrices(size).items():
            _check_on(solver, matrix, min(n_components, size), f"{name}, size {size}")
    empty = solver.solve(Stored(matrices(5)["geometric"]), 0)
    _require(empty.eigenvectors.shape == (5, 0) and empty.eigenvalues.shape == (0,), "no components: an empty spectrum")
    _require(bool(np.isclose(empty.trace, np.trace(matrices(5)["geometric"]))), "no components: still the trace")


def _check_on(solver: Any, matrix: Array, q: int, where: str) -> None:
    kept = matrix.copy()
    operator = Stored(matrix)
    found = clone(solver).solve(operator, q, dim=float(len(matrix)))
    exact = Eigh().solve(operator, len(matrix))
    top = max(float(np.abs(exact.eigenvalues).max()), np.finfo(float).tiny)
    values, vectors = found.eigenvalues, found.eigenvectors
    _require(np.array_equal(kept, matrix), f"{where}: the operator was changed")
    _require(values.shape == (q,) and vectors.shape == (len(matrix), q), f"{where}: {q} eigenpairs, got {values.shape}")
    _require(values.dtype == np.float64 and vectors.dtype == np.float64, f"{where}: answers are float64")
    _require(bool(np.isfinite(values).all() and np.isfinite(vectors).all()), f"{where}: not finite")
    _require(bool((np.diff(values) <= 0).all()), f"{where}: eigenvalues must not increase")
    _require(float(np.abs(vectors.T @ vectors - np.eye(q)).max()) < 1e-8, f"{where}: vectors are not orthonormal")
    _require(
        bool(np.isclose(found.trace / top, np.trace(matrix) / top, atol=1e-12)), f"{where}: the trace is {found.trace}"
    )
    worst = float(np.abs(values - exact.eigenvalues[:q]).max() / top)
    _require(worst <= solver.rtol, f"{where}: eigenvalues are off by {worst:.2g} of the largest, rtol={solver.rtol:g}")
    true = np.linalg.norm((matrix / top) @ vectors - vectors * (values / top), axis=0).max()
    _require(
        true <= 1.01 * found.residual_norm + 1e-13, f"{where}: residual {true:.2g}, certified {found.residual_norm:.2g}"
    )
    # a subspace is determined only where the eigenvalues below it are separate
    gap = (exact.eigenvalues[q - 1] - exact.eigenvalues[q]) / top if q < len(matrix) else 0.0
    if gap > 1e-2:
        cosine = np.linalg.svd(vectors.T @ exact.eigenvectors[:, :q], compute_uv=False).min()
        _require(1 - cosine <= solver.atol, f"{where}: the subspace is off by {1 - cosine:.2g}, atol={solver.atol:g}")
    again = clone(solver).solve(operator, q, dim=float(len(matrix)))
    _require(np.array_equal(again.eigenvalues, values), f"{where}: the same seed must give the same answer")
