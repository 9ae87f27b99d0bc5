"""Leading pairs are those of the dense decomposition, and q chosen by them is the q chosen by all pairs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, make_moons

from gramian._content import content_folds
from gramian.evidence import dimension
from gramian.evidence.dimension import (
    MOST,
    GramFamily,
    SpectrumPath,
    choose_by_kernel,
    choose_dimension,
    in_single,
    leading_pairs,
)
from gramian.evidence.held_out import HeldOut
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
    assert_allclose(vectors.T @ vectors, np.eye(20), atol=1e-12)
    known = leading_pairs(0.5 * (matrix + matrix.T), 20, in_single(matrix))
    assert_allclose(known[0], values, rtol=1e-12)


def test_pairs_that_float32_does_not_see_are_mended():
    axes = np.linalg.qr(np.random.default_rng(0).standard_normal((120, 120)))[0]
    exact = 0.3 ** np.arange(120.0)
    matrix = (axes * exact) @ axes.T
    assert exact[14] < 1e-7  # float32 does not see it
    values, vectors = leading_pairs(0.5 * (matrix + matrix.T), 15)
    assert_allclose(values, exact[:15], rtol=1e-6, atol=1e-15)
    assert_allclose(vectors.T @ vectors, np.eye(15), atol=1e-12)


TABLES = {"digits": load_digits().data[::2], "moons": make_moons(800, noise=0.1, random_state=0)[0]}


def fold_by_eigenvectors(gram, weights, held_out, center):
    """A fold from all eigenvectors of its training rows, each score by itself: what the faster ways must equal."""
    out, into = np.flatnonzero(held_out), np.flatnonzero(~held_out)
    s = weights[into] / weights[into].sum()
    J = (np.eye(len(into)) - np.outer(s, np.ones(len(into))) * center) * np.sqrt(s)
    K = gram[np.ix_(into, into)]
    values, vectors = np.linalg.eigh(J.T @ K @ J)
    kept = np.flatnonzero(values > 1e-12 * values[-1])[::-1]
    mean = center * (K @ s)
    scores = (gram[np.ix_(out, into)] - mean) @ J @ vectors[:, kept] / np.sqrt(values[kept])
    norms = gram[out, out] - center * (2 * gram[np.ix_(out, into)] @ s - s @ K @ s)
    return SpectrumPath(values[kept], values[values > 0].sum(), scores**2, norms, weights[out], 300.0)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_folds_without_eigenvectors_are_those_with_them(kernel, center):
    X = TABLES["digits"][:300]
    gram = np.asarray(as_kernel(kernel).resolve(X)(X), dtype=np.float64)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    fold = content_folds(X, 5)[1]
    for number, found in enumerate(HeldOut.of(X).each(GramFamily(gram, weights, center, 300.0).path)):
        exact = fold_by_eigenvectors(gram, weights, fold == number, center)
        assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-9, atol=1e-14)
        wanted = exact.log_likelihoods()[:, :200]
        # a likelihood is a difference of large terms: where it happens to be near 0, its size beside theirs is what can be asked for
        assert_allclose(found.log_likelihoods()[:, :200], wanted, rtol=1e-9, atol=1e-12 * np.abs(wanted).max())
        assert_allclose(found.squared_norms, exact.squared_norms, rtol=1e-9, atol=1e-12)
        assert_allclose([found.trace, found.weight], [exact.trace, exact.weight])


@pytest.mark.parametrize("most", [MOST, 0.0])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_q_by_leading_pairs_is_q_by_all_pairs(monkeypatch, table, kernel, most):
    monkeypatch.setattr(dimension, "MOST", most)
    X = TABLES[table]
    gram = np.asarray(as_kernel(kernel).resolve(X)(X), dtype=np.float64)
    weights = np.ones(len(X))
    few, folds = choose_by_kernel(GramFamily(gram, weights), HeldOut.of(X))
    every = choose_dimension(HeldOut.of(X).each(GramFamily(gram, weights).path))
    assert few.chosen == every.chosen
    if most:
        assert max(len(part.eigenvalues) for part in folds) <= most * len(X)
    steep = (table, kernel) == ("moons", "rbf")  # down to the last eigenvalue that is not rounding
    # float32 finds the space, to about 1e-7: rows held out feel that to first order, by another digit with every machine's kernels
    assert_allclose(few.scores[: few.chosen], every.scores[: few.chosen], rtol=1e-3 if steep else 1e-8)


def test_too_few_pairs_are_doubled(monkeypatch):
    """A first look that shows nothing costs time, not the answer."""
    X = TABLES["digits"]
    gram = np.asarray(as_kernel("rbf").resolve(X)(X), dtype=np.float64)
    exact, _ = choose_by_kernel(GramFamily(gram, np.ones(len(X))), HeldOut.of(X))
    asked = []
    monkeypatch.setattr(dimension, "leading_pairs", lambda m, n, *more: asked.append(n) or leading_pairs(m, n, *more))
    monkeypatch.setattr(dimension, "BEYOND", 0.0)
    found, _ = choose_by_kernel(GramFamily(gram, np.ones(len(X))), HeldOut.of(X))
    assert found.chosen == exact.chosen > 32
    assert sorted(set(asked)) == [32, 64, 128]


def test_a_kernel_that_may_be_indefinite_is_decomposed_whole():
    X = TABLES["digits"]
    gram = np.asarray(as_kernel("rbf").resolve(X)(X), dtype=np.float64)
    _, folds = choose_by_kernel(GramFamily(gram, np.ones(len(X))), HeldOut.of(X), semidefinite=False)
    assert min(len(part.eigenvalues) for part in folds) > len(X) // 2
