"""Columns turned into eigenvectors that are not formed: the same as with them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.solvers import turned as module
from gramian.solvers.turned import Reflected, turn_block


def symmetric(n, decay):
    axes = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    return (axes * decay ** np.arange(float(n))) @ axes.T


@pytest.mark.parametrize("n", [1, 2, 5, 63, 64, 150])
@pytest.mark.parametrize("decay", [0.999, 0.9])
@pytest.mark.parametrize("quick", [True, False])
def test_products_are_those_with_the_eigenvectors(monkeypatch, n, decay, quick):
    if not quick:
        monkeypatch.delattr(module.lapack, "dstevd", raising=False)
    matrix = symmetric(n, decay)
    matrix = 0.5 * (matrix + matrix.T)
    block = np.random.default_rng(1).standard_normal((n, 4))
    values, found = turn_block(matrix.copy(), block)
    exact, vectors = np.linalg.eigh(matrix)
    assert_allclose(values, exact[::-1], atol=1e-13)
    assert_allclose(found.T @ found, block.T @ block, atol=1e-10)  # a rotation
    for power in (1, 2):
        assert_allclose(
            found.T @ (values[:, None] ** power * found),
            block.T @ np.linalg.matrix_power(matrix, power) @ block,
            atol=1e-10,
        )
    if n == 1 or np.diff(exact).min() > 1e-6:
        assert_allclose(np.abs(found), np.abs(vectors[:, ::-1].T @ block), atol=1e-8)


def test_the_block_is_left_as_it_was():
    block = np.ones((80, 2))
    turn_block(symmetric(80, 0.9), block)
    assert (block == 1.0).all()


@pytest.mark.parametrize("n", [1, 5, 63, 64, 150])
@pytest.mark.parametrize("dtype, tol", [(np.float64, 1e-12), (np.float32, 2e-5)])
def test_leading_eigenvectors_are_formed_where_they_are_asked_for(n, dtype, tol):
    matrix = symmetric(n, 0.9)
    matrix = 0.5 * (matrix + matrix.T)
    parts = Reflected.of(matrix.astype(dtype))
    count = min(n, 4)
    vectors = parts.leading(count)
    assert vectors.dtype == parts.values.dtype == dtype
    assert_allclose(parts.values, np.linalg.eigvalsh(matrix)[::-1], atol=tol)
    assert_allclose(vectors.T @ vectors, np.eye(count), atol=tol)
    assert_allclose(matrix @ vectors, vectors * parts.values[:count], atol=tol)
    block = np.random.default_rng(1).standard_normal((count, 3)).astype(dtype)
    assert_allclose(parts @ block, vectors @ block, atol=tol)
