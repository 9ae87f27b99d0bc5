"""Densities of kernel vectors: DP's eqs. 51 and 53, corrected, against multivariate normals; and the density on the span."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from gramian import KernelPPCA, load, save
from gramian.kernels import RBF


@pytest.fixture
def fitted(rng):
    X = rng.normal(size=(9, 3))
    return X, rng.normal(size=(4, 3)), KernelPPCA(2, kernel=RBF(1.5), solver="eigh").fit(X)


def laws(model, X):
    K = model.center_kernel(X)
    A = model.dual_coef_
    return K, K @ A @ A.T @ K + model.noise_variance_ * K


def test_the_marginal_density_is_that_of_the_singular_gaussian(fitted):
    X, new, model = fitted
    k = model.center_kernel(new)
    exact = multivariate_normal(np.zeros(9), laws(model, X)[1], allow_singular=True).logpdf(k)
    assert_allclose(model.log_kernel_density(k), exact, rtol=1e-9)


def test_the_density_given_latents(fitted, rng):
    X, new, model = fitted
    k, Z = model.center_kernel(new), rng.normal(size=(4, 2))
    law = model.noise_variance_ * laws(model, X)[0]
    exact = [
        multivariate_normal(mean, law, allow_singular=True).logpdf(row) for mean, row in zip(model.kernel_mean(Z), k)
    ]
    assert_allclose(model.log_kernel_density(k, latent=Z), exact, rtol=1e-9)
    assert_allclose(model.log_kernel_density(k, latent=Z[:1])[0], exact[0], rtol=1e-9)


def test_the_marginal_is_the_mean_over_the_prior(fitted):
    _, new, model = fitted
    k = model.center_kernel(new[:1])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    Z = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    shares = np.outer(weights, weights).ravel() / weights.sum() ** 2
    given = model.log_kernel_density(np.repeat(k, len(Z), axis=0), latent=Z)
    assert_allclose(
        np.log(shares @ np.exp(given - given.max())) + given.max(), model.log_kernel_density(k)[0], rtol=1e-3
    )


def test_weights_precomputed_landmarks_and_files(fitted, tmp_path):
    X, new, model = fitted
    known = KernelPPCA(2, kernel="precomputed", solver="eigh").fit(RBF(1.5)(X))
    k = model.center_kernel(new)
    assert_allclose(known.log_kernel_density(k), model.log_kernel_density(k), rtol=1e-9)
    twice = KernelPPCA(2, kernel=RBF(1.5), solver="eigh").fit(np.repeat(X, 2, axis=0))
    weighted = KernelPPCA(2, kernel=RBF(1.5), solver="eigh").fit(X, sample_weight=np.full(9, 2.0))
    assert_allclose(weighted.log_projected_density(new), twice.log_projected_density(new), rtol=1e-8)
    few = KernelPPCA(2, kernel=RBF(1.5), approximation="nystroem", n_landmarks=9, solver="eigh").fit(X)
    assert np.isfinite(few.log_kernel_density(few.center_kernel(new))).all()
    save(model, tmp_path / "model")
    assert_allclose(load(tmp_path / "model").log_kernel_density(k), model.log_kernel_density(k), rtol=1e-12)


def test_training_rows_leave_nothing_outside_of_the_span_and_new_rows_do(fitted):
    X, new, model = fitted
    shift = model.log_projected_density(X) - model.score_samples(X)
    assert_allclose(shift, shift[0], rtol=1e-9)
    assert (model.log_projected_density(new) - model.score_samples(new) > shift[0] + 1e-6).all()


def test_what_is_no_kernel_vector_is_refused(fitted):
    X, new, model = fitted
    k = model.center_kernel(new)
    with pytest.raises(ValueError, match="not centred"):
        model.log_kernel_density(k + 1.0)
    with pytest.raises(ValueError, match="9 training points"):
        model.log_kernel_density(k[:, :5])
    with pytest.raises(ValueError, match="one for each"):
        model.log_kernel_density(k, latent=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="noise"):
        KernelPPCA(2, kernel=RBF(1.5), noise_variance=0.0, solver="eigh").fit(X).log_kernel_density(k)
