"""Feature noise through the kernel: its law, and weights that reproduce its kernel values."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import kernels
from gramian.latent import noise_field as module
from gramian.operators.gram import LazyGram
from oracles.tables import TABLES

X = TABLES["tall"]


@pytest.mark.parametrize("dense_size", [3000, 10], ids=["LAPACK", "by columns"])
def test_noise_has_the_covariance_of_the_gram_matrix(monkeypatch, dense_size):
    monkeypatch.setattr(module, "SIZES", replace(module.SIZES, factored=dense_size))
    kernel = kernels.RBF(2.0)
    K = kernel(X)
    drawn = module.noise_field(LazyGram(kernel, X)).draw(60_000, np.random.default_rng(0), np.full(60, 1 / 60))
    assert_allclose(np.cov(drawn.values.T), K, atol=0.04)
    assert_allclose((drawn.weights @ K)[:50], drawn.values[:50], atol=1e-3)
    H = np.eye(60) - 1 / 60
    assert_allclose(np.cov(drawn.centred.T), H @ K @ H, atol=0.04)


def test_a_low_rank_kernel_has_noise_in_its_span_only():
    field = module.noise_field(LazyGram(kernels.Linear(), X))
    assert field.factor.shape == (60, 6)
    assert_allclose(field.factor @ field.factor.T, X @ X.T, atol=1e-9)


@pytest.mark.parametrize("dense_size", [3000, 10], ids=["LAPACK", "by columns"])
def test_what_the_factor_leaves_out_is_added_as_independent_noise(monkeypatch, dense_size):
    monkeypatch.setattr(module, "SIZES", replace(module.SIZES, factored=dense_size))
    kernel = kernels.RBF(1.0)
    share = 0.5 if dense_size == 3000 else 1e-10  # pivoting stops early, or at the rank
    field = module.noise_field(LazyGram(kernel, X), share, max_rank=8)
    assert field.factor.shape[1] < 60
    assert field.rest.max() > 0.1
    assert_allclose(np.square(field.factor).sum(axis=1) + field.rest, 1.0, atol=1e-9)
    drawn = field.draw(40_000, np.random.default_rng(0), np.full(60, 1 / 60))
    assert_allclose(drawn.values.var(axis=0), 1.0, atol=0.04)
