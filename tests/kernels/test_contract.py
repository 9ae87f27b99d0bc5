"""Every kernel of the table, and the composed and adapted ones, keep the contract; broken ones do not."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as gp

from gramian.kernels import (
    KERNELS,
    RBF,
    CallableKernel,
    Constant,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Scaled,
)
from gramian.testing import check_kernel


def rows(n=14, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


SCALES = np.array([0.7, 1.5, 3.0])
COMPOSED = {
    "ard": RBF(SCALES),
    "ard matern": Matern(SCALES, nu=2.5),
    "ard periodic": Periodic(SCALES, period=2.5),
    "ard laplacian": Laplacian(SCALES),
    "exponential": Matern(1.3, nu=0.5),
    "small scale": RBF(0.01),
    "small scale, exponential": Matern(0.01, nu=0.5),
    "heavy tails": RationalQuadratic(1.0, alpha=0.3),
    "sum": RBF("median") + 0.5 * Linear(),
    "product": RBF(2.0) * Polynomial(2),
    "scaled": 2.0 * Matern("median", nu=2.5),
    "offset": Linear() + 1.0,
    "nested": 0.5 * (RBF("median") * Linear() + Laplacian("median")) + Constant(2.0),
    "indefinite": Polynomial(3, coef0=-1.0),
    "homogeneous": Polynomial(2, gamma=2.0, coef0=0.0),
    "function": CallableKernel(lambda X, Y: np.exp(-np.abs(X[:, None] - Y[None]).sum(axis=2))),
    "gp": gp.ConstantKernel(2.0) * gp.RBF(1.5) + gp.DotProduct(),
    "gp matern": gp.Matern(1.5, nu=1.5),
}


@pytest.mark.parametrize("name", sorted(set(KERNELS) - {"precomputed"}))
def test_kernel_of_the_table_keeps_the_contract(name):
    check_kernel(name, rows())


@pytest.mark.parametrize("kernel", COMPOSED.values(), ids=COMPOSED)
def test_composed_kernel_keeps_the_contract(kernel):
    check_kernel(kernel, rows())


@pytest.mark.parametrize("name", ["rbf", "matern", "rational_quadratic", "laplacian", "periodic"])
@pytest.mark.parametrize("shape", [(4, 1), (40, 200)], ids=str)
def test_stationary_kernels_keep_the_contract_on_narrow_and_wide_rows(name, shape):
    check_kernel(name, rows(*shape))


class Exponential(Kernel):
    """A kernel as a third party would write it."""

    def __init__(self, rate=1.0):
        self.rate = rate

    def __call__(self, X, Y=None):
        X = np.asarray(X)
        Y = X if Y is None else np.asarray(Y)
        distances = np.linalg.norm(X[:, None].astype(float) - Y[None].astype(float), axis=2)
        return np.exp(-self.rate * distances).astype(X.dtype)

    def diagonal(self, X):
        return np.ones(len(X))


class Asymmetric(Exponential):
    def __call__(self, X, Y=None):
        values = super().__call__(X, Y)
        return values * (1 + 1e-3 * np.arange(values.shape[1], dtype=values.dtype))


class WrongDiagonal(Exponential):
    def diagonal(self, X):
        return np.full(len(X), 2.0)


class Widening(Exponential):
    def __call__(self, X, Y=None):
        return super().__call__(X, Y).astype(np.float64)


class Negative(Exponential):
    def __call__(self, X, Y=None):
        return -super().__call__(X, Y)

    def diagonal(self, X):
        return np.full(len(X), -1.0)


class WrongGradient(RBF):
    def slope(self, products):
        return 1.1 * self.profile(products)


class WrongDistance(RBF):
    def squared_radius(self, values):
        return -np.log(values)


class WrongTiles(RBF):
    def tiles(self, X, Y, dtype=np.float64):
        tile = super().tiles(X, Y, dtype)
        return lambda rows, columns: tile(rows, columns) * (1.0 if rows.start == 0 else np.array(0.5, dtype=dtype))


class FalselyStationary(Linear):
    stationary = True


class BadClone(Exponential):
    def __init__(self, rate=1.0):
        self.rate = rate + 1.0


class DependsOnCompany(Exponential):
    def __call__(self, X, Y=None):
        values = super().__call__(X, Y)
        return values if Y is None else values * values.dtype.type(1 + 1e-6 * sum(values.shape))


def test_third_party_kernel_keeps_the_contract():
    check_kernel(Exponential(0.5), rows())


@pytest.mark.parametrize(
    ("kernel", "promise"),
    [
        (Asymmetric(), "symmetric"),
        (WrongDiagonal(), "diagonal"),
        (Widening(), "float32"),
        (Negative(), "eigenvalue"),
        (WrongGradient(), "gradient"),
        (WrongDistance(), "squared_distance"),
        (WrongTiles(), "tiles"),
        (FalselyStationary(), "stationary"),
        (DependsOnCompany(), "row by row"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_contract_finds_the_fault(kernel, promise):
    with pytest.raises(AssertionError, match=promise):
        check_kernel(kernel, rows())


def test_contract_finds_parameters_changed_by_the_constructor():
    with pytest.raises(RuntimeError, match="clone"):
        check_kernel(BadClone(), rows())


def test_scaled_by_a_parameter_of_a_search():
    kernel = Scaled(RBF("median"), 2.0)
    kernel.set_params(kernel__length_scale=0.5, scale=3.0)
    assert kernel.kernel.length_scale == 0.5
    assert kernel.diagonal(rows())[0] == 3.0
