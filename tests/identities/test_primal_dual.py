"""Primal = dual: the same model, seen from two sides (THEORY 1, 2, 3)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import KernelPCA

from gramian import PPCA, KernelPPCA, features, kernels
from oracles import naive
from oracles.tables import TABLES

SHAPES = ("tall", "square", "one more row", "wide", "constant column")
WEIGHTS = {"uniform": lambda n: None, "weighted": lambda n: 0.5 + np.arange(n) % 3}


def aligned(a, b):
    """b with the signs of its columns turned to a's."""
    return b * np.sign(np.sum(a * b, axis=0))


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("name", SHAPES)
def test_linear_kernel_is_ppca(name, center, weights):
    X = TABLES[name]
    w = weights(len(X))
    new = X[:5] + 0.3
    primal = PPCA(2, center=center, solver="eigh").fit(X, sample_weight=w)
    dual = KernelPPCA(2, kernel="linear", noise_dim=X.shape[1], center=center, solver="eigh").fit(X, sample_weight=w)
    assert_allclose(dual.noise_variance_, primal.noise_variance_, rtol=1e-8)
    assert_allclose(dual.explained_variance_, primal.explained_variance_, rtol=1e-8)
    assert_allclose(dual.explained_variance_ratio_, primal.explained_variance_ratio_, rtol=1e-8)
    assert_allclose(dual.posterior(new).covariance, primal.posterior(new).covariance, atol=1e-8)
    for method in ("transform", "scores"):
        a, b = getattr(primal, method)(new), getattr(dual, method)(new)
        assert_allclose(aligned(a, b), a, atol=1e-8)
    for method in ("score_samples", "mahalanobis", "residual"):
        assert_allclose(getattr(dual, method)(new), getattr(primal, method)(new), rtol=1e-8, atol=1e-8)
    assert_allclose(dual.reconstruct(new), primal.reconstruct(new), atol=1e-8)
    assert_allclose(dual.reconstruct(new, kind="projection"), primal.reconstruct(new, kind="projection"), atol=1e-8)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_polynomial_kernel_is_ppca_on_its_features(weights):
    X = TABLES["tall"][:, :3]
    w = weights(len(X))
    kernel = kernels.Polynomial(degree=2, gamma=0.5, coef0=1.0)
    phi = features.Polynomial(degree=2, gamma=0.5, coef0=1.0).fit(X)
    F, new = phi.transform(X), X[:7] * 1.1
    primal = PPCA(3, solver="eigh").fit(F, sample_weight=w)
    dual = KernelPPCA(3, kernel=kernel, noise_dim=F.shape[1], solver="eigh").fit(X, sample_weight=w)
    assert_allclose(dual.noise_variance_, primal.noise_variance_, rtol=1e-8)
    assert_allclose(
        aligned(primal.transform(phi.transform(new)), dual.transform(new)),
        primal.transform(phi.transform(new)),
        atol=1e-8,
    )
    assert_allclose(dual.score_samples(new), primal.score_samples(phi.transform(new)), rtol=1e-8)
    assert_allclose(dual.mahalanobis(new), primal.mahalanobis(phi.transform(new)), rtol=1e-8)
    # the law of the samples: the kernel vectors of primal feature samples have the covariance of the dual's
    s = np.full(len(X), 1 / len(X)) if w is None else w / w.sum()
    centred = F - s @ F
    expected = centred @ primal.get_covariance() @ centred.T
    B = dual.sample_kernel(60_000, random_state=0)
    assert_allclose(np.cov(B.T), expected, atol=0.04 * abs(expected).max())


@pytest.mark.parametrize("name", ["tall", "wide"])
def test_zero_noise_is_scikit_learns_kernel_pca(name):
    X = TABLES[name]
    ours = KernelPPCA(3, kernel=kernels.RBF(3.0), noise_variance=0, solver="eigh").fit(X)
    theirs = KernelPCA(3, kernel="rbf", gamma=1 / 18, eigen_solver="dense").fit(X)
    new = X[:4] + 0.5
    assert_allclose(aligned(theirs.transform(new), ours.scores(new)), theirs.transform(new), atol=1e-8)
    assert_allclose(ours.explained_variance_ * len(X), theirs.eigenvalues_, rtol=1e-8)
    assert_allclose(ours.transform(X) * np.sqrt(ours.explained_variance_), ours.scores(X), atol=1e-8)


@pytest.mark.parametrize("solver", ["eigh", "krylov", "em", "stiefel"])
def test_small_noise_tends_to_kernel_pca(solver):
    X = TABLES["tall"]
    model = KernelPPCA(2, kernel=kernels.RBF(3.0), noise_variance=1e-9, solver=solver, random_state=0, tol=1e-9).fit(X)
    theirs = KernelPCA(2, kernel="rbf", gamma=1 / 18, eigen_solver="dense").fit(X)
    assert_allclose(aligned(theirs.transform(X), model.scores(X)), theirs.transform(X), atol=1e-4)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_theory_of_the_dual(weights):
    """C and K share their spectrum; W = Phi J Q; M = L; DP's A; the affine weights decode."""
    X = TABLES["tall"]
    n = len(X)
    w = np.ones(n) if weights(n) is None else weights(n)
    J = naive.centring_matrix(w)
    K = J.T @ X @ X.T @ J
    _, C = naive.covariance(X, w)
    assert_allclose(np.linalg.eigvalsh(K)[::-1][:6], np.linalg.eigvalsh(C)[::-1], atol=1e-10)
    model = KernelPPCA(3, kernel="linear", noise_dim=6, solver="eigh").fit(X, sample_weight=weights(n))
    s = w / w.sum()
    Q = model.eigenvectors_ * np.sqrt(1 - model.noise_variance_ / model.explained_variance_)
    assert_allclose(model.dual_coef_, np.sqrt(s)[:, None] * Q, atol=1e-12)
    assert_allclose(Q.T @ K @ Q + model.noise_variance_ * np.eye(3), np.diag(model.explained_variance_), atol=1e-10)
    Z = np.array([[0.5, -1.0, 2.0], [0.0, 0.0, 0.0]])
    gamma = model.decode_weights(Z)
    assert_allclose(gamma.sum(axis=1), 1)
    assert_allclose(gamma, s + Z @ (J @ Q).T, atol=1e-10)
    assert_allclose(gamma @ X, model.inverse_transform(Z), atol=1e-9)
    uncentred = KernelPPCA(3, kernel="linear", noise_dim=6, center=False).fit(X, sample_weight=weights(n))
    assert_allclose(uncentred.decode_weights(np.zeros((1, 3))), 0)


def test_kernel_draws_have_the_covariance_of_dps_b():
    X = TABLES["tall"][:50]
    n = len(X)
    model = KernelPPCA(3, kernel=kernels.RBF(3.0), solver="eigh").fit(X)
    H = np.eye(n) - 1 / n
    K = H @ model.kernel_(X) @ H
    A, sigma2 = model.dual_coef_, model.noise_variance_
    values, vectors = np.linalg.eigh(K)
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    B = (vectors[:, :3] * values[:3]) @ vectors[:, :3].T / np.sqrt(n)
    B += np.sqrt(sigma2) * (vectors[:, 3:] * np.sqrt(values[3:])) @ vectors[:, 3:].T
    expected = K @ A @ A.T @ K + sigma2 * K
    assert_allclose(B @ B.T, expected, atol=1e-10)
    draws = model.sample_kernel(100_000, random_state=0)
    assert_allclose(np.cov(draws.T), expected, atol=0.03 * abs(expected).max())
    assert_allclose(draws.mean(axis=0), 0, atol=0.02 * np.sqrt(expected.max()))
    # given the latents: mean (k_c)_MAP, covariance sigma2 K_c
    Z = np.array([[1.0, -0.5, 0.2]])
    given = model.sample_kernel(latent=np.repeat(Z, 50_000, axis=0), random_state=1)
    assert_allclose(given.mean(axis=0), model.kernel_mean(Z)[0], atol=0.02 * abs(model.kernel_mean(Z)).max())
    assert_allclose(np.cov(given.T), sigma2 * K, atol=0.05 * sigma2 * K.max())
    assert_allclose(model.kernel_mean(Z), Z @ (K @ A).T, atol=1e-10)


def test_a_training_point_out_of_sample_is_its_row():
    X = TABLES["tall"]
    model = KernelPPCA(3, kernel=kernels.RBF(3.0), solver="eigh").fit(X)
    H = np.eye(len(X)) - 1 / len(X)
    K = H @ model.kernel_(X) @ H
    assert_allclose(model.center_kernel(X), K, atol=1e-12)
    assert_allclose(model.center_kernel(X[7:8]), K[7:8], atol=1e-12)
    assert_allclose(model.scores(X), model.eigenvectors_ * np.sqrt(model.explained_variance_ * len(X)), atol=1e-10)
    assert_allclose(model.fit_transform(X), model.transform(X), atol=1e-12)


def test_precomputed_is_the_kernel_itself():
    X, new = TABLES["tall"], TABLES["tall"][:5] + 0.2
    k = kernels.RBF(3.0)
    direct = KernelPPCA(3, kernel=k, solver="eigh").fit(X)
    given = KernelPPCA(3, kernel="precomputed", solver="eigh").fit(k(X), inputs=X)
    assert_allclose(given.transform(k(new, X)), direct.transform(new), atol=1e-10)
    for method in ("score_samples", "mahalanobis", "residual"):
        assert_allclose(
            getattr(given, method)(k(new, X), diagonal=k.diagonal(new)), getattr(direct, method)(new), rtol=1e-9
        )
        with pytest.raises(ValueError, match="diagonal"):
            getattr(given, method)(k(new, X))
    Z = direct.transform(new)
    assert_allclose(given.inverse_transform(Z), direct.inverse_transform(Z), atol=1e-9)
    without = KernelPPCA(3, kernel="precomputed").fit(k(X))
    assert_allclose(without.decode_weights(Z).sum(axis=1), 1)
    with pytest.raises(ValueError, match="inputs"):
        without.sample(2)


def test_nystroem_with_all_rows_is_exact():
    X, new = TABLES["tall"], TABLES["tall"][:5] + 0.2
    k = kernels.RBF(3.0)
    exact = KernelPPCA(3, kernel=k, solver="eigh").fit(X)
    approximate = KernelPPCA(
        3, kernel=k, approximation="nystroem", n_landmarks=len(X), noise_dim=len(X), random_state=0
    ).fit(X)
    assert_allclose(approximate.explained_variance_, exact.explained_variance_, rtol=1e-6)
    assert_allclose(approximate.noise_variance_, exact.noise_variance_, rtol=1e-6)
    a, b = exact.transform(new), approximate.transform(new)
    assert_allclose(aligned(a, b), a, atol=1e-6)
    Z = approximate.transform(new)
    values = approximate.decode_weights(Z) @ k(approximate.X_fit_, X)
    assert_allclose(
        values, exact._model.subspace.kernel_values(exact._gaussian.decode(aligned(a, b) * 0 + a)), atol=1e-5
    )
    assert approximate.sample(4, random_state=0).shape == (4, X.shape[1])


def test_integer_weights_equal_repeated_rows_in_the_dual():
    X = TABLES["tall"][:30]
    counts = np.arange(30) % 3
    k = kernels.RBF(3.0)
    weighted = KernelPPCA(2, kernel=k).fit(X, sample_weight=counts)
    repeated = KernelPPCA(2, kernel=k).fit(np.repeat(X, counts, axis=0))
    assert_allclose(weighted.noise_variance_, repeated.noise_variance_, rtol=1e-9)
    assert_allclose(weighted.score_samples(X), repeated.score_samples(X), rtol=1e-9)
