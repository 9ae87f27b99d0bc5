"""An offset that costs half of the digits is told of, whatever the model; an honest table is not."""

import warnings

import numpy as np
import pytest

from gramian import KernelPPCA, KernelPPCAMixture, NumericalWarning
from gramian.kernels import RBF, Linear, Polynomial, Sigmoid
from gramian.kernels.gram_checks import warn_of_offset

X = np.random.default_rng(0).normal(size=(60, 3))
FITS = {
    "dual": lambda kernel, table: KernelPPCA(2, kernel=kernel).fit(table),
    "landmarks": lambda kernel, table: KernelPPCA(1, kernel=kernel, approximation="nystroem", n_landmarks=20).fit(
        table
    ),
    "mixture": lambda kernel, table: KernelPPCAMixture(2, n_components=1, kernel=kernel, random_state=0).fit(table),
}


def messages(fit, kernel, table):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(kernel, table)
    return [str(found.message) for found in caught if issubclass(found.category, NumericalWarning)]


@pytest.mark.parametrize("offset", [1e5, 1e7])
@pytest.mark.parametrize("model", FITS)
def test_a_polynomial_kernel_on_rows_far_from_the_origin_is_told_of_once(model, offset):
    assert sum("offset" in text for text in messages(FITS[model], Polynomial(2), X + offset)) == 1


@pytest.mark.parametrize("gamma", [0.005, 1.0])
def test_a_sigmoid_kernel_that_an_offset_flattens_is_not_silent(gamma):
    said = messages(FITS["dual"], Sigmoid(gamma), X + 30.0)
    assert any("offset" in text or "no structure" in text for text in said)


@pytest.mark.parametrize("kernel", [Polynomial(2), Polynomial(3), Linear(), RBF(2.0)], ids=str)
@pytest.mark.parametrize("model", FITS)
def test_rows_near_the_origin_are_told_nothing(model, kernel):
    assert not [text for text in messages(FITS[model], kernel, X + 10.0) if "offset" in text]


def test_a_linear_kernel_is_mended_and_needs_no_warning():
    assert messages(FITS["dual"], Linear(), X + 1e7) == []


def test_half_of_the_digits_is_the_limit():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert warn_of_offset(Polynomial(2), 1.0, 1.4e-8)
        assert not warn_of_offset(Polynomial(2), 1.0, 1.6e-8)
        assert not warn_of_offset(RBF(1.0), 1.0, 0.0)
