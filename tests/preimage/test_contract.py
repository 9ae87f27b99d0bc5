"""Every pre-image of the table keeps the contract, and the contract catches those that break it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator

from gramian.kernels import RBF, Linear, Matern, Polynomial, RationalQuadratic
from gramian.preimage import PREIMAGES, FixedPoint, Gradient, KernelRidge, KernelSmoother
from gramian.testing.preimage_contract import check_preimage

CASES = {
    "smoother rbf": ("smoother", RBF("median")),
    "smoother of all": (KernelSmoother(n_neighbors=None), RBF("median")),
    "smoother polynomial": ("smoother", Polynomial(degree=3)),
    "fixed point rbf": ("fixed_point", RBF("median")),
    "fixed point scaled": ("fixed_point", 3.0 * RBF("median")),
    "fixed point two scales": ("fixed_point", RBF([1.0, 2.0, 0.7])),
    "fixed point narrow": (FixedPoint(max_iter=500), RBF(0.4)),
    "mds rbf": ("mds", RBF("median")),
    "mds matern": ("mds", 2.0 * Matern("median", nu=2.5)),
    "ridge rbf": ("ridge", RBF("median")),
    "ridge polynomial": ("ridge", Polynomial(degree=2)),
    "ridge few centres": (KernelRidge(n_centers=7), RBF("median")),
    "gradient rbf": ("gradient", RBF("median")),
    "gradient rational": ("gradient", RationalQuadratic("median")),
    "gradient polynomial": (Gradient(max_iter=500), Polynomial(degree=3)),
    "gradient sum": ("gradient", RBF("median") + 0.1 * Linear()),
    "transport rbf": ("transport", RBF("median")),
    "exact": ("exact", 2.0 * Linear() + 1.0),
}


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(3).normal(size=(40, 3)) * [1.0, 2.0, 0.5] + [3.0, -1.0, 0.0]


@pytest.mark.parametrize("preimage, kernel", CASES.values(), ids=CASES)
def test_every_method_keeps_the_contract(preimage, kernel, rows):
    check_preimage(preimage, rows, kernel=kernel)


def test_every_name_is_tried():
    tried = {name if isinstance(name, str) else None for name, _ in CASES.values()}
    assert tried >= set(PREIMAGES)


class Mean(BaseEstimator):
    """A method of somebody else: no base class, no report."""

    def fit(self, X, K0, *, kernel, scores):
        self.mean_, self.n_rows_, self.dtype_ = X.mean(axis=0), len(X), X.dtype
        assert K0.shape == (len(X), len(X))
        return self

    def transform(self, weights, kernel_values):
        return np.tile(self.mean_, (len(weights), 1)).astype(self.dtype_)


class Fragile(Mean):
    def transform(self, weights, kernel_values):
        with np.errstate(all="ignore"):
            return super().transform(weights, kernel_values) / (kernel_values.sum(axis=1) > 0)[:, None]


class Wild(Mean):
    def transform(self, weights, kernel_values):
        return (super().transform(weights, kernel_values) + np.abs(weights).sum(axis=1, keepdims=True)).astype(
            self.dtype_
        )


class Forgetful(Mean):
    reproduces_training = True


class Boastful(Mean):
    exact_on_linear = True


class Wide(Mean):
    def transform(self, weights, kernel_values):
        return super().transform(weights, kernel_values).astype(np.float64)


def test_a_method_without_the_base_class_may_pass(rows):
    check_preimage(Mean(), rows)


@pytest.mark.parametrize(
    "broken, promise",
    [
        (Fragile, "finite"),
        (Wild, "from the mean"),
        (Forgetful, "training points"),
        (Boastful, "linear"),
        (Wide, "float32"),
    ],
)
def test_a_broken_method_is_caught(broken, promise, rows):
    with pytest.raises(AssertionError, match=promise):
        check_preimage(broken(), rows)


def test_transport_has_the_same_prices_for_scores_whose_cubes_overflow():
    rng = np.random.default_rng(0)
    X, scores = rng.standard_normal((40, 3)), np.square(rng.standard_normal((40, 2))) - 1.0
    small = PREIMAGES["transport"]().fit(X, None, kernel=RBF(1.0), scores=scores)
    large = PREIMAGES["transport"]().fit(X, None, kernel=RBF(1.0), scores=1e120 * scores)
    assert_allclose(large.prices_ / 1e240, small.prices_, rtol=1e-9)
