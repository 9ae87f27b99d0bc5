"""Moments and covariance operators against dense formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from gramian.operators.centering import Centering
from gramian.operators.covariance import FactoredCovariance, Stored
from gramian.operators.moments import Moments
from oracles import naive


@given(cut=st.integers(1, 39), offset=st.sampled_from([0.0, 1e3, 1e8]), seed=st.integers(0, 50))
def test_merging_is_exact(cut, offset, seed):
    X = np.random.default_rng(seed).standard_normal((40, 4)) + offset
    whole, merged = Moments.of(X), Moments.of(X[:cut]).merge(Moments.of(X[cut:]))
    assert_allclose(merged.mean, whole.mean, rtol=1e-12)
    assert_allclose(merged.covariance(), whole.covariance(), atol=1e-9 * max(1, offset * 1e-6))
    assert merged.weight == whole.weight == 40


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_moments_are_the_weighted_covariance(center, form, rng):
    X = rng.standard_normal((50, 5)) + 2
    weights = rng.random(50)
    moments = Moments.of(form(X), weights)
    mean, C = naive.covariance(X, weights, center)
    assert_allclose(moments.covariance(center), C, atol=1e-12)
    assert_allclose(moments.mean, naive.covariance(X, weights)[0], atol=1e-12)
    assert mean.shape == (5,)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("offset", [0.0, 50.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n, d", [(9000, 40), (2500, 300)])
def test_many_chunks_are_the_moments_of_all_rows(n, d, weighted, offset, order, rng):
    """Rows in one piece are added up by BLAS in place, others by products; chunks are shorter where they are copied."""
    X = np.array(rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + offset, order=order)
    weights = rng.random(n) if weighted else None
    found = Moments.of(X, weights)
    mean, C = naive.covariance(X, np.ones(n) if weights is None else weights)
    assert_allclose(found.mean, mean, rtol=0, atol=1e-10)
    assert_allclose(found.covariance(), C, rtol=0, atol=1e-10 * C.max())
    assert_array_equal(found.scatter, found.scatter.T)


def test_every_other_column_is_as_its_copy(rng):
    X = rng.standard_normal((500, 20))
    assert_allclose(Moments.of(X[:, ::2]).scatter, Moments.of(X[:, ::2].copy()).scatter, rtol=1e-11, atol=1e-11)


def test_float32_rows_are_summed_in_float64(rng):
    X = (rng.standard_normal((20_000, 100)) * 3 + 5).astype(np.float32)
    exact = np.cov(X.astype(np.float64).T, bias=True)
    assert_allclose(Moments.of(X).covariance(), exact, atol=1e-5 * exact.max())
    huge = Moments.of(X * np.float32(1e20))
    assert_allclose(huge.covariance() / 1e40, exact, rtol=1e-4, atol=1e-4 * exact.max())


@pytest.mark.parametrize("side", ["primal", "dual"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("center", [True, False])
def test_factored_covariance_is_its_dense_self(side, form, center, rng):
    X = rng.standard_normal((12, 7)) + 1
    weights = rng.random(12)
    s = weights / weights.sum()
    J = naive.centring_matrix(weights, center)
    expected = X.T @ J @ J.T @ X if side == "primal" else J.T @ X @ X.T @ J
    operator = FactoredCovariance(form(X), Centering(s, center), side)
    assert operator.size == len(expected)
    assert_allclose(operator.to_dense(), expected, atol=1e-12)
    assert_allclose(operator.trace(), np.trace(expected), atol=1e-12)
    assert_allclose(Stored(expected) @ np.eye(len(expected)), expected)


@pytest.mark.parametrize("center", [True, False])
def test_centering_is_j_and_its_transpose(center, rng):
    weights = rng.random(9)
    J = naive.centring_matrix(weights, center)
    centering = Centering(weights / weights.sum(), center)
    V = rng.standard_normal((9, 3))
    assert_allclose(centering.apply(V), J @ V, atol=1e-14)
    assert_allclose(centering.transpose(V), J.T @ V, atol=1e-14)
    if center:
        assert_allclose(centering.apply(V).sum(axis=0), 0, atol=1e-14)
