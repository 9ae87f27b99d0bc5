"""Em: the closed form, ZH's equation, monotone likelihood."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from gramian.kernels import RBF
from gramian.operators.centering import Centering
from gramian.operators.covariance import Stored
from gramian.operators.gram import CenteredGram, LazyGram
from gramian.solvers import Eigh, Em
from gramian.solvers.em import _Model, _State, _step, em_step
from gramian.solvers.rayleigh import Frame, Scaled

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 8)) * np.linspace(3, 0.5, 8)
ROWS -= ROWS.mean(axis=0)
COVARIANCE = Stored(ROWS.T @ ROWS / 60)
GRAM = CenteredGram(LazyGram(RBF(2.0), RNG.normal(size=(50, 3))), Centering(np.full(50, 1 / 50)))


@pytest.mark.parametrize("accelerate", [True, False])
@pytest.mark.parametrize("noise", [None, 0.3, 0.0])
@pytest.mark.parametrize("operator", [COVARIANCE, GRAM], ids=["primal", "dual"])
def test_reaches_the_closed_form(operator, noise, accelerate):
    noise = noise if noise is None or operator is COVARIANCE else 0.02 * noise
    found = Em(accelerate=accelerate, max_iter=3000).solve(operator, 3, noise_variance=noise)
    exact = Eigh().solve(operator, 3)
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-6)
    np.testing.assert_allclose(found.signed().eigenvectors, exact.signed().eigenvectors, atol=1e-5)
    assert found.converged


@pytest.mark.parametrize("accelerate", [True, False])
@pytest.mark.parametrize("noise", [None, 0.3])
@pytest.mark.parametrize("dim", [None, 20.0])
def test_likelihood_never_falls_and_ends_at_that_of_the_closed_form(noise, accelerate, dim):
    found = Em(accelerate=accelerate, tol=1e-10, max_iter=3000).solve(COVARIANCE, 3, dim=dim, noise_variance=noise)
    history = found.log_likelihoods
    assert len(history) == found.n_iter
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()
    exact = Eigh().solve(COVARIANCE, 3)
    dim = 8.0 if dim is None else dim
    noise = (exact.trace - exact.eigenvalues.sum()) / (dim - 3) if noise is None else noise
    if dim == 8.0:
        V, l = exact.eigenvectors, exact.eigenvalues
        model = multivariate_normal(np.zeros(8), (V * (l - noise)) @ V.T + noise * np.eye(8))
        assert history[-1] == pytest.approx(model.logpdf(ROWS).mean(), rel=1e-9)
    rest = exact.trace - exact.eigenvalues.sum()
    closed = dim * np.log(2 * np.pi) + np.log(exact.eigenvalues).sum() + (dim - 3) * np.log(noise) + 3 + rest / noise
    assert history[-1] == pytest.approx(-0.5 * closed, rel=1e-9)


@pytest.mark.parametrize("noise", [0.004, None])
def test_dual_step_is_equation_11(noise):
    K = GRAM.to_dense()
    values, vectors = np.linalg.eigh(K)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    Q, rho = np.random.default_rng(1).normal(size=(50, 2)), 0.004
    # [ZH] eq. 11, and its noise, as THEORY 5 prints them
    M = rho * np.eye(2) + Q.T @ K @ Q
    Q_next = K @ Q @ np.linalg.inv(rho * np.eye(2) + np.linalg.inv(M) @ Q.T @ K @ K @ Q)
    rho_next = (np.trace(K) - np.trace(np.linalg.inv(M) @ Q.T @ K @ K @ Q_next)) / 50
    axes, triangle = np.linalg.qr(root @ Q)
    state = _State(Frame.of(axes, K @ axes), triangle, rho)
    after = _step(Scaled(Stored(K), 1.0), _Model(np.trace(K), 50.0, 2, noise), state)
    np.testing.assert_allclose(after.frame.axes @ after.coefficients, root @ Q_next, atol=1e-12)
    assert after.noise == pytest.approx(rho if noise else rho_next, rel=1e-10)


def test_acceleration_saves_steps():
    plain, fast = (Em(accelerate=flag, max_iter=3000).solve(COVARIANCE, 3) for flag in (False, True))
    assert fast.n_iter < plain.n_iter / 3


def test_data_within_the_subspace_leave_no_noise():
    basis = np.linalg.qr(RNG.normal(size=(10, 3)))[0]
    found = Em().solve(Stored((basis * [3.0, 2.0, 1.0]) @ basis.T), 3)
    np.testing.assert_allclose(found.eigenvalues, [3, 2, 1], rtol=1e-8)
    assert np.isfinite(found.log_likelihoods).all()


def test_noise_above_an_eigenvalue_keeps_the_direction():
    exact = Eigh().solve(COVARIANCE, 3)
    noise = 1.2 * exact.eigenvalues[2]
    found = Em(max_iter=3000).solve(COVARIANCE, 3, noise_variance=noise)
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-6)
    assert (np.diff(found.log_likelihoods) >= -1e-9 * np.abs(found.log_likelihoods[1:])).all()


def test_too_few_steps_warn():
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3.*tol=1e-06.*Raise max_iter"):
        found = Em(max_iter=3).solve(COVARIANCE, 3)
    assert not found.converged
    assert found.n_iter == 3


def test_a_step_is_the_papers_formula(rng):
    B = np.cov(rng.normal(size=(6, 30)))
    W, noise = rng.normal(size=(6, 2)), 0.3
    M = W.T @ W + noise * np.eye(2)
    wanted = B @ W @ np.linalg.inv(noise * np.eye(2) + np.linalg.inv(M) @ W.T @ B @ W)
    found, explained = em_step(B @ W, W.T @ B @ W, W.T @ W, noise)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(explained, np.trace(B @ W @ np.linalg.inv(M) @ wanted.T), rtol=1e-12)
