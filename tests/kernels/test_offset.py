"""An offset that costs half of the digits is told of, whatever the model; an honest table is not."""

import warnings

import numpy as np
import pytest

from gramian import KernelPPCA, KernelPPCAClassifier, KernelPPCAMixture, NumericalWarning
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


@pytest.mark.parametrize("rows", [40, 1500])
@pytest.mark.parametrize("rule", ["median", "local"])
def test_a_width_is_that_of_the_rows_wherever_they_stand_and_in_any_unit(rule, rows):
    """Far from zero hashes do not tell rows apart, and other units have other ones."""
    table = np.round(np.random.default_rng(1).normal(size=(rows, 3)), 4)
    width = RBF(rule).resolve(table).length_scale
    assert RBF(rule).resolve(table + 2.0**27).length_scale == pytest.approx(width, rel=2e-2 if rows > 1000 else 1e-6)
    if rows < 1000:  # above, other rows are drawn
        assert RBF(rule).resolve(table * 2.0**20).length_scale == width * 2.0**20


def test_classes_far_from_zero_do_not_seem_to_share_rows():
    def fit(kernel, table):
        KernelPPCAClassifier(1, noise_variance=0.01, kernel=kernel, n_folds=None).fit(table, np.arange(60) % 2)

    assert messages(fit, RBF(2.0), X + 1e8) == []
    assert "rows of another class" in messages(fit, RBF(2.0), np.repeat(X[:30], 2, axis=0) + 1e8)[0]
