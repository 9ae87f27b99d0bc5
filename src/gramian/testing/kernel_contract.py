"""The kernel contract: what the rest of gramian relies on, as one function that anyone can run."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from gramian._arrays import Array
from gramian.kernels import Kernel, as_kernel


def check_kernel(kernel: Any, X: Any) -> None:
    """Run the contract on a kernel with rows it can take; an `AssertionError` says which promise is broken.

    Checked are: parameters (`get_params`, `clone`, pickle), that `resolve` leaves the kernel alone, shape and dtype (float32 stays),
    symmetry, the diagonal, that a row's values do not depend on its company, tiles and factors against the call, positive
    semi-definiteness where it is claimed, constancy of the diagonal and dependence on x - y where ``stationary``, gradients
    against finite differences where ``differentiable``, distances where ``isotropic``, and sparse rows where accepted.

    Parameters
    ----------
    kernel : kernel object, name, function or scikit-learn GP kernel
        What is checked.
    X : array of shape (n, d)
        At least 4 distinct rows of ordinary size, in float64.

    Returns
    -------
    None
        Or an `AssertionError`.

    References
    ----------
    docs/add_a_kernel.md.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.kernels import RBF
    >>> from gramian.testing import check_kernel
    >>> check_kernel(RBF("median"), np.random.default_rng(0).normal(size=(12, 3)))
    """
    X = np.asarray(X, dtype=np.float64)
    _require(X.ndim == 2 and X.shape[0] >= 4, f"give check_kernel at least 4 rows, got an array of shape {X.shape}")
    kernel = as_kernel(kernel)
    _check_parameters(kernel)
    before = repr(kernel.get_params())
    resolved = kernel.resolve(X)
    _require(isinstance(resolved, Kernel) and resolved is not kernel, "resolve(X) must return a new Kernel")
    _require(repr(kernel.get_params()) == before, "resolve(X) must not change the kernel it is called on")
    again = resolved.resolve(X[:2])
    _require(
        repr(again.get_params()) == repr(resolved.get_params()),
        "resolve must settle every parameter: resolving the result on other rows changed it",
    )
    for check in CHECKS:
        check(resolved, X)


def _check_parameters(kernel: Kernel) -> None:
    copy = clone(kernel)
    _require(type(copy) is type(kernel), "clone must give the same class")
    _require(repr(copy.get_params()) == repr(kernel.get_params()), "clone must keep every parameter")
    if _importable(type(kernel)) and type(kernel).__name__ != "CallableKernel":  # functions may be local as well
        restored = pickle.loads(pickle.dumps(kernel))
        _require(repr(restored.get_params()) == repr(kernel.get_params()), "pickle must keep every parameter")


def _importable(kind: type) -> bool:
    """Whether pickle can find the class: those written in a function or a notebook's cell may be out of its reach."""
    return getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind


def _check_shape_and_dtype(kernel: Kernel, X: Array) -> None:
    gram, cross = kernel(X), kernel(X, X[:3])
    _require(gram.shape == (len(X), len(X)), f"k(X) has shape {gram.shape} for {len(X)} rows")
    _require(cross.shape == (len(X), 3), f"k(X, Y) has shape {cross.shape} for {len(X)} and 3 rows")
    _require(bool(np.isfinite(gram).all()), "k(X) must be finite")
    _require(gram.dtype == np.float64 and cross.dtype == np.float64, "float64 rows must give float64 values")
    single = X.astype(np.float32)
    _require(kernel(single).dtype == np.float32, f"k(X) of float32 rows must be float32, got {kernel(single).dtype}")
    _require(kernel(single, single[:2]).dtype == np.float32, "k(X, Y) of float32 rows must be float32")
    _close(kernel(single), kernel(single.astype(np.float64)), 2e-6, "k(X) in float32")


def _check_symmetry(kernel: Kernel, X: Array) -> None:
    gram = kernel(X)
    _require(bool((gram == gram.T).all()), "k(X) must be symmetric to the last bit")
    _close(kernel(X[:3], X).T, kernel(X, X[:3]), 1e-13, "k(X, Y) against the transpose of k(Y, X)")


def _check_diagonal(kernel: Kernel, X: Array) -> None:
    diagonal = kernel.diagonal(X)
    _require(diagonal.shape == (len(X),), f"diagonal(X) has shape {diagonal.shape} for {len(X)} rows")
    _close(diagonal, np.diagonal(kernel(X)), 1e-13, "diagonal(X) against k(X)")


def _check_rows_stand_alone(kernel: Kernel, X: Array) -> None:
    together = kernel(X[:4], X[1:])
    alone = np.vstack([kernel(row[None, :], X[1:]) for row in X[:4]])
    _close(alone, together, 1e-12, "k(x, Y) row by row against k(X, Y)")
    # without their positions: a row that meets a copy of itself, as at prediction
    off = ~np.eye(len(X), dtype=bool)
    _close(kernel(X, X.copy())[off], kernel(X)[off], 1e-12, "k(X, copy of X) against k(X)")


def _check_tiles(kernel: Kernel, X: Array) -> None:
    whole = slice(0, len(X))
    upper, lower = slice(0, 3), slice(2, len(X))
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 2e-6)):
        tile = kernel.tiles(X, X, dtype)
        gram = kernel(X)
        for rows, columns in ((whole, whole), (upper, lower), (lower, upper)):
            values = tile(rows, columns)
            _require(values.dtype == dtype, f"tiles(X, X, {np.dtype(dtype)}) gave {values.dtype}")
            _close(values, gram[rows, columns], tolerance, f"tiles(X, X, {np.dtype(dtype)}) against k(X)")
        values = tile(upper, lower)
        values[...] = np.nan  # tiles are scratch: the next one must not see this
        _close(tile(upper, lower), gram[upper, lower], tolerance, "a tile after its predecessor was overwritten")
        pair = kernel.factors(X, X[1:], dtype)
        if pair is not None:
            products = pair[0] @ pair[1].T
            _require(products.dtype == dtype, f"factors(X, Y, {np.dtype(dtype)}) gave {products.dtype}")
            values = kernel.profile(products)
            _require(values is products, "profile must work in place and return its argument")
            _close(values, kernel(X, X[1:]), tolerance, "profile(left @ right.T) against k(X, Y)")


def _check_positive_semidefinite(kernel: Kernel, X: Array) -> None:
    if not kernel.positive_semidefinite:
        return
    values = np.linalg.eigvalsh(kernel(X))
    _require(
        bool(values[0] >= -1e-10 * max(abs(values[-1]), np.finfo(float).tiny)),
        f"k(X) has the eigenvalue {values[0]:.3g} (largest {values[-1]:.3g}). Say positive_semidefinite = False if that is so",
    )


def _check_stationary(kernel: Kernel, X: Array) -> None:
    if not kernel.stationary:
        return
    _require(bool(np.ptp(kernel.diagonal(X)) == 0), "a stationary kernel has a constant diagonal")
    shift = np.round(8.0 * np.std(X, axis=0)) + 1.0
    _close(kernel(X + shift, X[:3] + shift), kernel(X, X[:3]), 1e-9, "k(X + a, Y + a) against k(X, Y)")


def _check_gradient(kernel: Kernel, X: Array) -> None:
    if not kernel.differentiable:
        return
    rng = np.random.default_rng(0)
    points = X[:3] + 0.1 * np.std(X, axis=0) * rng.standard_normal((3, X.shape[1]))
    others = X[1:]
    coefficients = rng.standard_normal((3, len(others)))

    def weighted(at: Array) -> Array:
        return np.einsum("ij,ij->i", coefficients, kernel(at, others))

    found = kernel.gradient(points, others, coefficients)
    _require(found.shape == points.shape, f"gradient has shape {found.shape} for rows of shape {points.shape}")
    _close(found, _central_differences(weighted, points), 1e-6, "gradient against finite differences")
    _close(
        kernel.diagonal_gradient(points),
        _central_differences(kernel.diagonal, points),
        1e-6,
        "diagonal_gradient against finite differences",
    )


def _central_differences(function: Callable[[Array], Array], X: Array) -> Array:
    """Fourth-order differences of a function of each row."""
    step = 1e-4 * max(float(np.std(X)), 1e-12)
    columns = []
    for unit in np.eye(X.shape[1]) * step:
        near = function(X + unit) - function(X - unit)
        far = function(X + 2 * unit) - function(X - 2 * unit)
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, axis=1)


def _check_distances(kernel: Kernel, X: Array) -> None:
    if not kernel.isotropic:
        return
    differences = X[:, None, :] - X[None, :3, :]
    squares = np.einsum("ijk,ijk->ij", differences, differences)
    values = kernel(X, X[:3])
    visible = values > 1e-12 * values.max()  # beyond, the value is all rounding
    found = kernel.squared_distance(values)
    _close(found[visible], squares[visible], 1e-6, "squared_distance(k(X, Y)) against |x - y|²")
    top = float(kernel.diagonal(X)[0])
    ends = kernel.squared_distance(np.array([2.0 * top, top, 0.0, -top]))
    _require(
        bool((ends == np.array([0.0, 0.0, np.inf, np.inf])).all()),
        f"squared_distance must be 0 at and above k(x, x) and inf at 0 and below, got {ends}",
    )


def _check_sparse(kernel: Kernel, X: Array) -> None:
    if not kernel.accepts_sparse or type(kernel).__name__ == "CallableKernel":
        return
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.5, 0.0, X)
    rows = sparse.csr_array(holes)
    _close(kernel(rows), kernel(holes), 1e-10, "k of sparse rows against dense rows")
    _close(kernel(rows, rows[:2]), kernel(holes, holes[:2]), 1e-10, "k(X, Y) of sparse rows against dense rows")
    _close(kernel.diagonal(rows), kernel.diagonal(holes), 1e-10, "diagonal of sparse rows against dense rows")


CHECKS: tuple[Callable[[Kernel, Array], None], ...] = (
    _check_shape_and_dtype,
    _check_symmetry,
    _check_diagonal,
    _check_rows_stand_alone,
    _check_tiles,
    _check_positive_semidefinite,
    _check_stationary,
    _check_gradient,
    _check_distances,
    _check_sparse,
)


def _require(condition: bool, promise: str) -> None:
    if not condition:
        raise AssertionError(promise + ".")


def _close(found: Any, expected: Any, tolerance: float, what: str) -> None:
    """Equal up to ``tolerance`` of the largest expected value (and of 1 where all are tiny)."""
    found, expected = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    _require(found.shape == expected.shape, f"{what}: shapes {found.shape} and {expected.shape}")
    error = float(np.abs(found - expected).max(initial=0.0))
    scale = float(np.abs(expected).max(initial=0.0)) or 1.0
    _require(error <= tolerance * scale, f"{what}: differs by {error:.3g} where values reach {scale:.3g}")
