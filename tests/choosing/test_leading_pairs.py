"""Leading pairs are those of the dense decomposition, and q chosen by them is the q chosen by all pairs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, make_moons

from gramian._content import content_folds
from gramian.choosing.dimension import choose_by_kernel, choose_dimension, gram_folds
from gramian.choosing.leading_pairs import leading_pairs, rough_pairs
from gramian.kernels import as_kernel


@pytest.mark.parametrize("decay", [0.6, 0.97])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_leading_pairs_are_those_of_the_dense_decomposition(decay, scale):
    axes = np.linalg.qr(np.random.default_rng(0).standard_normal((120, 120)))[0]
    exact = scale * decay ** np.arange(120.0)
    matrix = (axes * exact) @ axes.T
    values, vectors = leading_pairs(0.5 * (matrix + matrix.T), 20)
    assert_allclose(values / scale, exact[:20] / scale, rtol=1e-9, atol=1e-14)
    assert_allclose(np.abs(np.einsum("np,np->p", vectors, axes[:, :20])), 1.0, atol=1e-6)
    rough = rough_pairs(0.5 * (matrix + matrix.T), 20)[0]
    assert_allclose(rough[:10] / scale, exact[:10] / scale, rtol=0.1)


TABLES = {"digits": load_digits().data[::2], "moons": make_moons(800, noise=0.1, random_state=0)[0]}


@pytest.mark.parametrize(
    ("table", "kernel", "cheaper"),
    [("digits", "rbf", False), ("digits", "laplacian", True), ("moons", "rbf", True), ("moons", "laplacian", False)],
)
def test_q_by_leading_pairs_is_q_by_all_pairs(table, kernel, cheaper):
    X = TABLES[table]
    gram = np.asarray(as_kernel(kernel).resolve(X)(X), dtype=np.float64)
    fold = content_folds(X, 5)[1]
    dims = [float((fold != f).sum()) for f in np.unique(fold)]
    weights = np.ones(len(X))
    few, folds = choose_by_kernel(gram, weights, fold, dims)
    every = choose_dimension(gram_folds(gram, weights, fold), dims)
    assert few.chosen == every.chosen
    assert (max(len(part.eigenvalues) for part in folds) <= len(X) // 8) == cheaper
    assert_allclose(few.scores[: few.chosen], every.scores[: few.chosen], rtol=1e-3)


def test_a_kernel_that_may_be_indefinite_is_decomposed_whole():
    X = TABLES["digits"]
    gram = np.asarray(as_kernel("rbf").resolve(X)(X), dtype=np.float64)
    fold = content_folds(X, 5)[1]
    dims = [float((fold != f).sum()) for f in np.unique(fold)]
    _, folds = choose_by_kernel(gram, np.ones(len(X)), fold, dims, semidefinite=False)
    assert min(len(part.eigenvalues) for part in folds) > len(X) // 2
