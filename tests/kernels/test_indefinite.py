"""One rule for indefinite kernels: told once by every model, and rounding is no indefiniteness."""

import warnings

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from gramian import KernelPPCA, KernelPPCAClassifier, KernelPPCAMixture, NumericalWarning
from gramian.features import Nystroem
from gramian.kernels import Sigmoid
from gramian.kernels.gram_checks import negative_limit

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(-2, 1, (40, 3)), RNG.normal(2, 1, (40, 3))])
Y = np.repeat([0, 1], 40)
SIGMOID = Sigmoid(gamma=0.5, coef0=-1.0)

FITS = {
    "KernelPPCA": lambda kernel, table: KernelPPCA(3, kernel=kernel).fit(table),
    "KernelPPCA, q open": lambda kernel, table: KernelPPCA(kernel=kernel).fit(table),
    "mixture": lambda kernel, table: KernelPPCAMixture(2, n_components=2, kernel=kernel, random_state=0).fit(table),
    "classifier": lambda kernel, table: KernelPPCAClassifier(2, kernel=kernel).fit(table, Y),
}


def indefinite(caught):
    return [str(warning.message) for warning in caught if "indefinite" in str(warning.message)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [*FITS, "Nystroem", "KernelPPCA on landmarks"])
def test_a_sigmoid_kernel_is_told_of_once(model, dtype):
    fits = FITS | {
        "Nystroem": lambda kernel, table: Nystroem(kernel, 30).fit(table),
        "KernelPPCA on landmarks": lambda kernel, table: KernelPPCA(
            3, kernel=kernel, approximation="nystroem", n_landmarks=30
        ).fit(table),
    }
    with pytest.warns(NumericalWarning) as caught:
        fits[model](SIGMOID, X.astype(dtype))
    assert len(indefinite(caught)) == 1


@pytest.mark.parametrize("width", [0.02, 0.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", FITS)
def test_rounding_of_a_precomputed_gram_matrix_is_no_indefiniteness(model, dtype, width):
    gram = rbf_kernel(X, gamma=width).astype(dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FITS[model]("precomputed", gram)
    assert indefinite(caught) == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", FITS)
def test_the_same_negative_eigenvalue_is_rounding_in_float32_and_not_in_float64(model, dtype):
    gram = rbf_kernel(X, gamma=0.02)
    own = gram[:40, :40] - gram[:40, :40].mean(axis=0)
    empty = np.zeros(80)
    empty[:40] = np.linalg.svd(own)[2][-2]  # a direction without variance, next to that of the mean
    empty[:40] -= empty[:40].mean()
    gram -= 80 * 2e-7 * np.outer(empty, empty) / (empty @ empty)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FITS[model]("precomputed", gram.astype(dtype))
    assert len(indefinite(caught)) == (dtype == np.float64)


def test_landmarks_of_a_positive_kernel_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Nystroem("rbf", 60).fit(X.astype(np.float32))


def test_the_limits_are_those_that_were_decided():
    assert negative_limit(2.0, 1.0, np.float64) == 2e-8
    assert negative_limit(1e-6, 1.0, np.float32) == pytest.approx(16 * 2.0**-23)
