"""Identities that hold for any rows, looked for with hypothesis."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from gramian.kernels import RBF, Linear, Matern, Polynomial, RationalQuadratic

sizes = st.tuples(st.integers(1, 8), st.integers(1, 4))
tables = sizes.flatmap(lambda shape: arrays(np.float64, shape, elements=st.floats(-1e3, 1e3, width=32)))
scales = st.floats(1e-3, 1e3)


@settings(deadline=None, max_examples=60)
@given(tables, scales)
def test_rbf_is_its_formula_and_bounded(X, length_scale):
    values = RBF(length_scale)(X)
    assert ((values >= 0) & (values <= 1)).all()
    expected = np.exp(-cdist(X, X, "sqeuclidean") / (2 * length_scale**2))
    assert_allclose(values, expected, rtol=0, atol=1e-11)


@settings(deadline=None, max_examples=60)
@given(tables, scales, st.sampled_from([0.5, 1.5, 2.5]))
def test_gram_matrices_are_positive_semidefinite(X, length_scale, nu):
    for kernel in (RBF(length_scale), Matern(length_scale, nu), RationalQuadratic(length_scale), Polynomial(2)):
        values = np.linalg.eigvalsh(kernel(X))
        assert values[0] >= -1e-10 * max(1.0, values[-1])


@settings(deadline=None, max_examples=60)
@given(tables, scales)
def test_algebra_is_that_of_the_values(X, factor):
    k1, k2 = RBF(10.0), Linear()
    assert_allclose((factor * (k1 + k2))(X), factor * k1(X) + factor * k2(X), rtol=1e-12)
    assert_allclose((k1 * k2)(X), k1(X) * k2(X), rtol=1e-12)
