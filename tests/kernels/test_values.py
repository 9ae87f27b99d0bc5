"""Kernel values against naive differences and scikit-learn, where products would lose digits too."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from gramian.kernels import (
    RBF,
    Cosine,
    GaussianProcessKernel,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)


def rows(n=40, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def naive(kernel, X, Y):
    """f(|x - y|) from differences, in float64."""
    r = cdist(np.asarray(X, float), np.asarray(Y, float)) / kernel.length_scale
    if isinstance(kernel, RBF):
        return np.exp(-(r**2) / 2)
    if isinstance(kernel, RationalQuadratic):
        return (1 + r**2 / (2 * kernel.alpha)) ** -kernel.alpha
    t = np.sqrt(2 * kernel.nu) * r
    return {0.5: 1.0, 1.5: 1 + t, 2.5: 1 + t + t**2 / 3}[kernel.nu] * np.exp(-t)


RADIAL = {
    "rbf": RBF,
    "matern 1/2": lambda scale: Matern(scale, nu=0.5),
    "matern 3/2": lambda scale: Matern(scale, nu=1.5),
    "matern 5/2": lambda scale: Matern(scale, nu=2.5),
    "rational quadratic": lambda scale: RationalQuadratic(scale, alpha=0.7),
}
radial = pytest.mark.parametrize("make", RADIAL.values(), ids=RADIAL)


SAME_AS_SKLEARN = {
    "linear": (Linear(), pairwise.linear_kernel),
    "polynomial": (Polynomial(4, gamma=0.3, coef0=0.5), lambda X, Y: pairwise.polynomial_kernel(X, Y, 4, 0.3, 0.5)),
    "polynomial, gamma None": (Polynomial(), lambda X, Y: pairwise.polynomial_kernel(X, Y)),
    "sigmoid": (Sigmoid(gamma=0.2, coef0=-0.5), lambda X, Y: pairwise.sigmoid_kernel(X, Y, 0.2, -0.5)),
    "cosine": (Cosine(), pairwise.cosine_similarity),
    "rbf": (RBF(1.7), lambda X, Y: pairwise.rbf_kernel(X, Y, 0.5 / 1.7**2)),
    "laplacian": (Laplacian(1.7), lambda X, Y: pairwise.laplacian_kernel(X, Y, 1 / 1.7)),
    "rbf, ARD": (RBF([0.5, 1, 2, 4]), gp.RBF([0.5, 1, 2, 4])),
    "matern 1/2": (Matern(1.7, nu=0.5), gp.Matern(1.7, nu=0.5)),
    "matern 3/2, ARD": (Matern([0.5, 1, 2, 4], nu=1.5), gp.Matern([0.5, 1, 2, 4], nu=1.5)),
    "matern 5/2": (Matern(1.7, nu=2.5), gp.Matern(1.7, nu=2.5)),
    "rational quadratic": (RationalQuadratic(1.7, alpha=0.4), gp.RationalQuadratic(1.7, 0.4)),
    "sum": (RBF(1.0) + 2.0 * Linear(), lambda X, Y: gp.RBF(1.0)(X, Y) + 2 * X @ Y.T),
    "product": (RBF(1.0) * Linear(), lambda X, Y: gp.RBF(1.0)(X, Y) * (X @ Y.T)),
}


@pytest.mark.parametrize(("kernel", "reference"), SAME_AS_SKLEARN.values(), ids=SAME_AS_SKLEARN)
def test_values_equal_sklearns(kernel, reference):
    X, Y = rows(), rows(25, seed=1)
    assert_allclose(kernel(X, Y), reference(X, Y), rtol=1e-11, atol=1e-14)
    assert_allclose(kernel(X), reference(X, X), rtol=1e-11, atol=1e-14)


def test_periodic_is_its_formula():
    X, Y = rows(20, 3), rows(10, 3, seed=1)
    scales = np.array([0.5, 1.0, 2.0])
    differences = X[:, None] - Y[None]
    expected = np.exp(-2 * (np.sin(np.pi * differences / 1.3) ** 2 / scales**2).sum(axis=2))
    assert_allclose(Periodic(scales, period=1.3)(X, Y), expected, rtol=1e-12)
    one = X[:, :1]
    assert_allclose(Periodic(0.8, 1.3)(one), gp.ExpSineSquared(0.8, 1.3)(one), rtol=1e-12)


def test_periodic_repeats_itself_after_a_million_periods():
    X = rows(10, 2)
    assert_allclose(Periodic(1.0, 0.5)(X + 5e5, X), Periodic(1.0, 0.5)(X), atol=1e-9)


@radial
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_offset_does_not_matter(make, offset):
    X = np.round(rows(), 3) + offset  # the offset itself rounds rows, so differences are taken after it
    kernel = make(1.5)
    assert_allclose(kernel(X), naive(kernel, X, X), rtol=0, atol=1e-13)
    assert_allclose(kernel(X, X[::-1].copy()), naive(kernel, X, X[::-1]), rtol=0, atol=1e-13)


@radial
@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 0.0])
@pytest.mark.parametrize("distance", [10.0, 1e3, 1e6])
def test_nearly_equal_points_in_clusters_far_apart(make, gap, distance):
    X = rows(60, 3)
    X[30:] = X[:30] + gap
    X[::2] += distance
    kernel = make(max(gap, 1e-2))
    assert_allclose(kernel(X), naive(kernel, X, X), rtol=0, atol=2e-11)
    assert_allclose(kernel(X, X.copy()), naive(kernel, X, X), rtol=0, atol=2e-11)


@radial
def test_length_scale_of_the_gap_between_nearly_equal_points(make):
    X = rows(30, 3)
    X[15:] = X[:15] + 1e-6
    kernel = make(1e-6)
    assert_allclose(kernel(X), naive(kernel, X, X), rtol=0, atol=1e-11)


@radial
@pytest.mark.parametrize("n_columns", [3, 784])
@pytest.mark.parametrize("scale", [1.0, 0.1])  # of the typical distance: the smaller needs products in float64
def test_float32_values_are_good_to_a_millionth(make, n_columns, scale):
    X = rows(120, n_columns).astype(np.float32) + np.float32(10)
    X[60:] = X[:60] + np.float32(1e-3)
    kernel = make(scale * np.sqrt(2 * n_columns))
    for values in (kernel(X), kernel.tiles(X, X.copy(), np.float32)(slice(0, 120), slice(0, 120))):
        assert values.dtype == np.float32
        assert_allclose(values, naive(kernel, X, X), rtol=0, atol=1.5e-6)


def test_float32_factors_are_refused_where_products_would_lose_digits():
    X = rows(50, 3).astype(np.float32)
    assert RBF(5.0).factors(X, X, np.float32) is not None
    assert RBF(0.1).factors(X, X, np.float32) is None
    assert RBF(0.01).factors(X, X, np.float64) is None
    assert RBF(0.5).factors(X, X, np.float64) is not None
    assert Matern(5.0, nu=0.5).factors(X, X, np.float64) is None


@pytest.mark.parametrize("kernel", [RBF(6.0), Matern(6.0, nu=0.5), Linear(), Laplacian(9.0)], ids=repr)
def test_large_gram_matrix_is_symmetric_and_equals_its_tiles(kernel):
    X = rows(1200, 20)
    gram = kernel(X)
    assert_array_equal(gram, gram.T)
    assert_array_equal(np.diagonal(gram), kernel.diagonal(X))
    assert_allclose(gram, kernel(X, X.copy()), rtol=0, atol=1e-12)
    assert_allclose(gram[700:703, 100:140], kernel(X[700:703], X[100:140]), rtol=0, atol=1e-12)


def test_diagonal_of_stationary_kernels_is_exactly_one_in_float32_too():
    X = (1e3 * rows(700, 30)).astype(np.float32)
    for kernel in (RBF(1.0), Matern(1.0, nu=0.5), Laplacian(1.0), Periodic(1.0, 2.0)):
        assert (np.diagonal(kernel(X)) == 1).all()


def test_cosine_of_a_zero_vector_is_zero():
    X = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert_allclose(Cosine()(X), [[0, 0], [0, 1]], atol=1e-15)
    assert_allclose(Cosine().diagonal(X), [0, 1])
    assert_array_equal(Cosine().gradient(X[:1], X, np.ones((1, 2))), 0.0)


SPARSE = [Linear(), Polynomial(), Sigmoid(), Cosine(), RBF(1.3), RBF(np.linspace(1, 2, 30)), Matern(1.3, nu=0.5)]
SPARSE += [RationalQuadratic(1.3), RBF(1.0) + Linear(), 2.0 * Cosine(), Linear() + 1.0]


@pytest.mark.parametrize("kernel", SPARSE, ids=repr)
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_rows_equal_dense_rows(kernel, make):
    X = sparse.random_array((50, 30), density=0.1, random_state=np.random.default_rng(0))
    dense = X.toarray()
    assert_allclose(kernel(make(X)), kernel(dense), rtol=1e-11, atol=1e-13)
    assert_allclose(kernel(make(X), make(X.T).T), kernel(make(X), dense), rtol=1e-11, atol=1e-13)
    assert kernel(make(X.astype(np.float32))).dtype == np.float32


def test_sparse_rows_are_not_made_dense():
    X = sparse.csr_array(sparse.random_array((40, 10**7), density=1e-6, random_state=np.random.default_rng(0)))
    # 40 x 10**7 doubles would be 3.2 GB
    assert RBF("median").resolve(X)(X).shape == (40, 40)
    assert Cosine()(X).shape == (40, 40)


@pytest.mark.parametrize("kernel", [Laplacian(), Periodic(), RBF() + Laplacian()], ids=repr)
def test_sparse_rows_are_refused_with_advice(kernel):
    with pytest.raises(TypeError, match=r"\.toarray\(\)"):
        kernel(sparse.eye_array(3, format="csr"))


def test_gp_kernel_with_white_noise_has_it_on_the_diagonal_only():
    X = rows(12)
    kernel = GaussianProcessKernel(gp.RBF(1.0) + gp.WhiteKernel(0.5))
    assert_allclose(kernel(X), gp.RBF(1.0)(X) + 0.5 * np.eye(12))
    assert_allclose(kernel(X, X.copy()), gp.RBF(1.0)(X))
    assert_allclose(kernel.diagonal(X), 1.5)
    tile = kernel.tiles(X, X)
    assert_allclose(tile(slice(2, 6), slice(4, 12)), kernel(X)[2:6, 4:12])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, bool, np.float16, ">f8", int], ids=str)
def test_other_dtypes_are_computed_in_float64(dtype):
    X = (rows(10) > 0).astype(dtype)
    values = RBF(1.0)(X)
    assert values.dtype == np.float64
    assert_array_equal(values, RBF(1.0)(X.astype(np.float64)))


@pytest.mark.parametrize(
    "kernel", [RBF(1.0), Linear(), Laplacian(1.0), Polynomial(2), Cosine(), Matern(1.0, 0.5)], ids=repr
)
def test_strange_memory_is_read_and_left_alone(kernel):
    X = rows(20)
    expected = kernel(X)
    wide = np.repeat(X, 2, axis=0)
    variants = [np.asfortranarray(X), wide[::2], X[::-1][::-1]]
    X.flags.writeable = False
    for variant in [*variants, X]:
        before = variant.copy()
        assert_allclose(kernel(variant), expected, rtol=1e-13, atol=1e-15)
        assert_array_equal(variant, before)
    assert_allclose(kernel(np.broadcast_to(X[0], (5, 4))), np.full((5, 5), expected[0, 0]), rtol=1e-13)


def test_subclass_without_values_says_so():
    class Empty(Kernel):
        pass

    with pytest.raises(TypeError, match="does not say how to evaluate itself"):
        Empty()(rows())
    with pytest.raises(TypeError, match="diagonal"):
        Empty().diagonal(rows())
