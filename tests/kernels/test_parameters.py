"""Names, parameters, resolving and refusing."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp

from gramian._content import row_hashes
from gramian.kernels import (
    KERNELS,
    RBF,
    CallableKernel,
    Constant,
    Cosine,
    GaussianProcessKernel,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Precomputed,
    Product,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    Sum,
    as_kernel,
    finite_gram,
)
from gramian.kernels._scales import local_distance, median_distance
from gramian.policy import LOOK

STATIONARY = [RBF, Laplacian, Matern, RationalQuadratic, Periodic]
stationary = pytest.mark.parametrize("kind", STATIONARY)


def rows(n=30, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


# ---------------------------------------------------------------- names


def test_names_stand_for_kernels():
    assert isinstance(as_kernel("poly"), Polynomial)
    for name in KERNELS:
        assert isinstance(as_kernel(name), Kernel)
    for name in ("rbf", "laplacian", "matern", "rational_quadratic", "periodic"):
        assert as_kernel(name).length_scale == "median"


def test_unknown_name_lists_the_names():
    with pytest.raises(ValueError, match=r"kernel='gauss' .*'rbf', 'linear', 'polynomial'"):
        as_kernel("gauss")


def test_objects_functions_and_gp_kernels_are_kernels():
    kernel = RBF(2.0)
    assert as_kernel(kernel) is kernel
    assert isinstance(as_kernel(lambda X, Y: X @ Y.T), CallableKernel)
    assert isinstance(as_kernel(gp.RBF(1.0) + gp.WhiteKernel()), GaussianProcessKernel)


@pytest.mark.parametrize("kernel", [3, None, RBF, np.eye(2)])
def test_what_is_no_kernel_is_refused(kernel):
    with pytest.raises(TypeError, match="kernel="):
        as_kernel(kernel)


# ---------------------------------------------------------------- length scales


@stationary
@pytest.mark.parametrize(
    "length_scale", [0, -1.0, np.nan, np.inf, True, None, "mean", [1.0, -1.0, 1.0], [1.0, np.nan, 1.0], [[1.0]]]
)
def test_bad_length_scale_is_refused_by_resolve_and_call(kind, length_scale):
    with pytest.raises(ValueError, match="length_scale"):
        kind(length_scale).resolve(rows())
    with pytest.raises(ValueError, match="length_scale"):
        kind(length_scale)(rows())


@stationary
def test_array_length_scale_must_have_one_entry_a_column(kind):
    with pytest.raises(ValueError, match="2 entries, but X has 3 columns"):
        kind([1.0, 2.0]).resolve(rows())
    resolved = kind([1, 2, 3]).resolve(rows())
    assert_array_equal(resolved.length_scale, [1.0, 2.0, 3.0])


@stationary
def test_unresolved_median_is_refused(kind):
    kernel = kind("median")
    for act in (kernel, kernel.diagonal, lambda X: kernel.tiles(X, X)):
        with pytest.raises(ValueError, match="median"):
            act(rows())


@stationary
def test_median_is_resolved_into_a_clone(kind):
    X = rows()
    kernel = kind("median")
    resolved = kernel.resolve(X)
    assert kernel.length_scale == "median"
    assert type(resolved) is kind
    assert_allclose(resolved.length_scale, np.median(pdist(X)), rtol=1e-12)


def test_numpy_numbers_and_ints_are_length_scales():
    for value in (np.float32(2.0), np.int64(2), 2, np.array(2.0)):
        resolved = RBF(value).resolve(rows())
        assert type(resolved.length_scale) is float
        assert resolved.length_scale == 2.0


def test_median_ignores_order_and_repetition_of_rows():
    X = rows(1500, 5)
    shuffled = np.random.default_rng(1).permutation(np.repeat(X, 3, axis=0))
    assert median_distance(shuffled) == pytest.approx(median_distance(X), rel=1e-13)
    assert median_distance(X) == pytest.approx(np.median(pdist(X)), rel=0.05)


def test_above_1000_distinct_rows_the_1000_of_smallest_hash_decide():
    X = rows(1500, 5)
    kept = X[np.argsort(row_hashes(X))[:1000]]
    assert LOOK.gram == 1000
    assert median_distance(X) == pytest.approx(np.median(pdist(kept)), rel=1e-12)


@pytest.mark.parametrize("kind", STATIONARY)
def test_local_is_twice_the_median_distance_to_the_tenth_neighbour(kind):
    X = rows(200, 3)
    tenth = np.sort(cdist(X, X), axis=1)[:, 10]
    shuffled = np.random.default_rng(1).permutation(np.repeat(X, 2, axis=0))
    assert kind("local").resolve(shuffled).length_scale == pytest.approx(2 * np.median(tenth), rel=1e-12)
    assert local_distance(X[:1]) == local_distance(np.ones((4, 2))) == 1.0
    with pytest.raises(ValueError, match="resolve"):
        kind("local")(X)


def test_median_of_shifted_and_scaled_rows():
    X = rows(900, 5)  # above 1000 rows the draw goes by hashes, which scaling changes
    for scale in (1.0, 1e200, 1e-200):
        assert median_distance(scale * X) == pytest.approx(scale * median_distance(X), rel=1e-9)
    assert median_distance(X + 1e4) == pytest.approx(median_distance(X), rel=1e-9)


def test_median_in_the_company_of_far_outliers():
    X = rows(100, 3)
    X[:3] += 1e6  # hashes see 24 bits: farther off, such rows would be one
    assert median_distance(X) == pytest.approx(np.median(pdist(X)), rel=1e-7)


@pytest.mark.parametrize("X", [np.ones((5, 2)), np.ones((1, 2))])
def test_median_of_equal_rows_is_one(X):
    assert median_distance(X) == 1.0
    assert median_distance(sparse.csr_array(X)) == 1.0


def test_median_of_sparse_rows_is_that_of_dense_rows():
    X = sparse.csr_array(sparse.random_array((60, 20), density=0.2, random_state=np.random.default_rng(0)))
    assert median_distance(X) == pytest.approx(median_distance(X.toarray()), rel=1e-12)


# ---------------------------------------------------------------- other parameters


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (Polynomial(degree=0), "degree"),
        (Polynomial(degree=-2), "degree"),
        (Polynomial(degree=2.5), "degree"),
        (Polynomial(degree=True), "degree"),
        (Polynomial(gamma=0), "gamma"),
        (Polynomial(gamma=-1.0), "gamma"),
        (Polynomial(gamma=np.nan), "gamma"),
        (Polynomial(coef0=np.nan), "coef0"),
        (Polynomial(coef0=np.inf), "coef0"),
        (Polynomial(coef0="1"), "coef0"),
        (Sigmoid(gamma=-1), "gamma"),
        (Sigmoid(coef0=np.nan), "coef0"),
        (Matern(nu=1.0), "nu"),
        (Matern(nu=np.nan), "nu"),
        (RationalQuadratic(alpha=0.0), "alpha"),
        (Periodic(period=0.0), "period"),
        (Periodic(period=np.inf), "period"),
        (Scaled(RBF(), -1.0), "scale"),
        (Scaled(RBF(), 0.0), "scale"),
        (Constant(-1.0), "value"),
        (RBF(1.0) + Polynomial(degree=0), "degree"),
        (RBF(-1.0) * Linear(), "length_scale"),
        (2.0 * RBF(np.nan), "length_scale"),
    ],
    ids=repr,
)
def test_bad_parameter_is_refused_by_resolve_and_call(kernel, name):
    with pytest.raises(ValueError, match=name):
        kernel.resolve(rows())
    with pytest.raises(ValueError, match=name):
        kernel(rows())


@pytest.mark.parametrize("kind", [Polynomial, Sigmoid])
def test_gamma_none_is_frozen_by_resolve(kind):
    resolved = kind().resolve(rows(d=4))
    assert resolved.gamma == 0.25
    assert_allclose(kind()(rows(d=4)), resolved(rows(d=4)))


# ---------------------------------------------------------------- algebra


def test_operators_make_sums_products_and_multiples():
    k1, k2 = RBF(1.0), Linear()
    X = rows()
    assert isinstance(k1 + k2, Sum)
    assert isinstance(k1 * k2, Product)
    assert_allclose((k1 + k2)(X), k1(X) + k2(X))
    assert_allclose((k1 * k2)(X), k1(X) * k2(X))
    for scaled in (2.0 * k1, k1 * 2.0, np.float64(2.0) * k1, 2 * k1):
        assert isinstance(scaled, Scaled)
        assert_allclose(scaled(X), 2 * k1(X))
    for shifted in (k1 + 1.5, 1.5 + k1, np.float64(1.5) + k1):
        assert_allclose(shifted(X), k1(X) + 1.5)
    assert_allclose(sum([k1, k2, k1])(X), 2 * k1(X) + k2(X))


@pytest.mark.parametrize("other", ["rbf", None, np.eye(2), lambda X, Y: X @ Y.T])
def test_operators_refuse_what_is_no_kernel(other):
    with pytest.raises(TypeError):
        RBF() + other
    with pytest.raises(TypeError):
        other * RBF()


def test_parts_are_resolved_and_reached_by_nested_names():
    X = rows()
    kernel = RBF("median") + 2.0 * Polynomial()
    resolved = kernel.resolve(X)
    assert_allclose(resolved.k1.length_scale, np.median(pdist(X)))
    assert resolved.k2.kernel.gamma == pytest.approx(1 / 3)
    assert kernel.k1.length_scale == "median"
    kernel.set_params(k1__length_scale=0.3, k2__kernel__degree=5)
    assert (kernel.k1.length_scale, kernel.k2.kernel.degree) == (0.3, 5)
    assert "k2__kernel__coef0" in kernel.get_params()
    assert_allclose(clone(kernel)(X), kernel(X))


def test_properties_of_parts_carry_over():
    assert (RBF() * Matern()).stationary
    assert not (RBF() + Linear()).stationary
    assert not (RBF() + Sigmoid()).positive_semidefinite
    assert not (RBF() + Laplacian()).differentiable
    assert (2.0 * RBF()).isotropic
    assert not RBF([1.0, 2.0]).isotropic
    assert not Polynomial(coef0=-1).positive_semidefinite


def test_distance_of_a_kernel_that_tells_none_is_refused():
    for kernel in (Linear(), RBF([1.0, 2.0]), Laplacian(), RBF() + RBF()):
        with pytest.raises(TypeError, match="distance"):
            kernel.squared_distance(np.array([0.5]))


def test_gradient_of_a_kernel_without_one_is_refused():
    for kernel in (Laplacian(), Matern(nu=0.5)):
        assert not kernel.differentiable
        with pytest.raises(TypeError, match="gradient"):
            kernel.gradient(rows(), rows(), np.ones((30, 30)))


@pytest.mark.parametrize(
    "kernel",
    [RBF(2.0), Matern(2.0, 0.5), Matern(2.0, 1.5), Matern(2.0, 2.5), RationalQuadratic(2.0, 3.0), 3.0 * RBF(2.0)],
    ids=repr,
)
def test_squared_distance_inverts_the_kernel_over_its_whole_range(kernel):
    distances = np.array([1e-3, 1e-2, 0.1, 1.0, 5.0, 20.0, 60.0])
    values = kernel(distances[:, None], np.zeros((1, 1)))[:, 0]
    # next to k(x, x) a value is rounded to eps of it, and so d² to a few eps ℓ²
    assert_allclose(kernel.squared_distance(values), distances**2, rtol=1e-9, atol=4e-15)


# ---------------------------------------------------------------- callables, precomputed, finite


def wrong_shape(X, Y):
    return np.ones((len(X), len(Y) + 1))


def not_finite(X, Y):
    return np.full((len(X), len(Y)), np.nan)


def not_symmetric(X, Y):
    return X[:, :1] + 2 * Y[:, 0]


def text(X, Y):
    return np.full((len(X), len(Y)), "a")


@pytest.mark.parametrize("function", [wrong_shape, not_finite, not_symmetric, text])
@pytest.mark.parametrize("act", ["call", "resolve", "tiles"])
def test_faulty_callable_is_named_with_its_shape(function, act):
    kernel, X = as_kernel(function), rows(10)
    acts = {
        "call": lambda: kernel(X),
        "resolve": lambda: kernel.resolve(X),
        "tiles": lambda: kernel.tiles(X, X)(slice(0, 10), slice(0, 10)),
    }
    with pytest.raises(ValueError, match=rf"{function.__name__}.*shape \(10, 1[01]\)"):
        acts[act]()


def test_callable_diagonal_is_that_of_the_matrix():
    X = rows(300)
    kernel = CallableKernel(lambda X, Y: (X @ Y.T) ** 2)
    assert_allclose(kernel.diagonal(X), np.diagonal(kernel(X)))
    assert not kernel.positive_semidefinite


def test_precomputed_hands_on_what_it_is_given():
    K = Linear()(rows(6))
    kernel = Precomputed().resolve(K)
    assert_array_equal(kernel(K), K)
    assert_array_equal(kernel(K[:2], K), K[:2])
    assert_array_equal(kernel.diagonal(K), np.diagonal(K))
    assert_array_equal(kernel.tiles(K, K)(slice(1, 3), slice(0, 2)), K[1:3, :2])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda K: K[:3], r"square.*\(3, 6\)"),
        (lambda K: K + np.triu(np.full((6, 6), 0.25), 1), r"not symmetric.*0\.25"),
        (lambda K: np.where(np.eye(6) > 0, -1.0, K), r"negative diagonal.*-1"),
        (lambda K: np.where(np.eye(6) > 0, np.nan, K), "NaN"),
    ],
)
def test_faulty_gram_matrix_is_refused(fault, message):
    with pytest.raises(ValueError, match=message):
        Precomputed().resolve(fault(Linear()(rows(6))))


def test_precomputed_rows_need_a_column_for_each_training_point():
    K = Linear()(rows(6))
    with pytest.raises(ValueError, match="4 columns, but there are 6"):
        Precomputed()(K[:2, :4], K)
    with pytest.raises(ValueError, match="diagonal="):
        Precomputed().diagonal(K[:2])


def test_overflow_of_the_polynomial_kernel_is_found():
    X = 1e4 * rows()
    with pytest.raises(ValueError, match="kernel values not finite: Polynomial"):
        finite_gram(Polynomial(10)(X), Polynomial(10))
    with pytest.raises(ValueError, match="kernel values not finite"):
        finite_gram(Polynomial(100)(X), Polynomial(100))
    with pytest.raises(ValueError, match="kernel values not finite"):
        finite_gram(np.array([[np.nan]]), Linear())
    K = Polynomial(3)(X)
    assert finite_gram(K, Polynomial(3)) is K


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(), Linear() + 1.0, Linear() * Linear(), 2.0 * Linear()], ids=repr
)
@pytest.mark.parametrize("n_rows", [30, 1100])
def test_overflow_of_products_is_left_to_finite_gram(kernel, n_rows):
    X = 1e200 * rows(n_rows)
    with pytest.raises(ValueError, match="kernel values not finite"):
        finite_gram(kernel(X), kernel)
    with pytest.raises(ValueError, match="kernel values not finite"):
        finite_gram(kernel.diagonal(X), kernel)
    with pytest.raises(ValueError, match="kernel values not finite"):
        finite_gram(kernel(sparse.csr_array(X)), kernel)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_cosine_does_not_depend_on_the_scale(scale):
    X = rows()
    assert_allclose(Cosine()(scale * X), Cosine()(X), rtol=0, atol=1e-14)
    assert_allclose(Cosine()(sparse.csr_array(scale * X)), Cosine()(X), rtol=0, atol=1e-14)
    assert_array_equal(Cosine().diagonal(scale * X), 1.0)


def test_data_too_large_for_the_length_scale_is_refused():
    with pytest.raises(ValueError, match="rescale"):
        RBF(1.0)(1e200 * rows())
    assert np.isfinite(RBF("median").resolve(1e200 * rows())(1e200 * rows())).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kernel", [RBF(), Linear(), Laplacian(), Cosine(), RBF() + Linear()], ids=repr)
def test_rows_that_are_not_finite_are_refused(kernel, bad):
    X = rows()
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        kernel(X)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        kernel(rows(), X)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        kernel.diagonal(X)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        kernel(sparse.csr_array(X) if kernel.accepts_sparse else X)


def test_rows_of_different_width_are_refused():
    with pytest.raises(ValueError, match="3 columns and Y with 2"):
        RBF()(rows(), rows(d=2))
    with pytest.raises(ValueError, match=r"2D|1D"):
        RBF()(rows()[0])


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_survive_pickle_and_repr(name):
    kernel = as_kernel(name)
    assert repr(pickle.loads(pickle.dumps(kernel))) == repr(kernel)
