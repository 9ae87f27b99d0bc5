"""Stiefel: Cayley-Adam reaches the eigenvectors, rotated or not."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from gramian.operators.covariance import Stored
from gramian.solvers import Eigh, Stiefel
from gramian.solvers.stiefel import _cayley

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(80, 12)) * np.linspace(3, 0.5, 12)
COVARIANCE = Stored(ROWS.T @ ROWS / 80)


@pytest.mark.parametrize("accelerate", [True, False])
def test_reaches_the_eigenvectors(accelerate):
    found, exact = Stiefel(accelerate=accelerate, max_iter=5000).solve(COVARIANCE, 3), Eigh().solve(COVARIANCE, 3)
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-8)
    np.testing.assert_allclose(found.signed().eigenvectors, exact.signed().eigenvectors, atol=1e-4)
    assert found.gamma is None


def test_unrotated_frame_has_the_same_span_and_a_full_gamma():
    plain, exact = Stiefel(rotate=False).solve(COVARIANCE, 3), Eigh().solve(COVARIANCE, 3)
    A = plain.eigenvectors
    np.testing.assert_allclose(plain.gamma, A.T @ COVARIANCE.matrix @ A, atol=1e-12)
    assert np.abs(plain.gamma - np.diag(np.diag(plain.gamma))).max() > 1e-2
    np.testing.assert_allclose(np.linalg.eigvalsh(plain.gamma)[::-1], exact.eigenvalues, rtol=1e-8)
    np.testing.assert_allclose(plain.eigenvalues, exact.eigenvalues, rtol=1e-8)
    np.testing.assert_allclose(np.linalg.svd(A.T @ exact.eigenvectors, compute_uv=False), 1.0, atol=1e-8)


def test_cayley_curve_stays_orthonormal_and_solves_its_equation():
    frame = np.linalg.qr(RNG.normal(size=(9, 3)))[0]
    half = RNG.normal(size=(9, 3))
    W = half @ frame.T - frame @ half.T
    moved = _cayley(frame, half, 0.7)
    np.testing.assert_allclose((np.eye(9) + 0.7 * W) @ moved, (np.eye(9) - 0.7 * W) @ frame, atol=1e-12)
    np.testing.assert_allclose(moved.T @ moved, np.eye(3), atol=1e-12)


def test_too_few_steps_warn():
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2.*tol=1e-06.*Raise max_iter"):
        assert not Stiefel(max_iter=2).solve(COVARIANCE, 3).converged


@pytest.mark.parametrize("option", [{"learning_rate": 0.0}, {"rotate": 1}, {"accelerate": None}], ids=str)
def test_bad_options_are_named(option):
    with pytest.raises(ValueError, match=next(iter(option))):
        Stiefel(**option).solve(COVARIANCE, 3)


@pytest.mark.parametrize("accelerate", [True, False])
def test_the_objective_of_every_step_is_kept(accelerate):
    found = Stiefel(accelerate=accelerate, max_iter=5000).solve(COVARIANCE, 3)
    best = 0.5 * (np.trace(COVARIANCE.matrix) - Eigh().solve(COVARIANCE, 3).eigenvalues.sum())
    assert len(found.objectives) == found.n_iter + 1
    np.testing.assert_allclose(found.objectives[-1], best, rtol=1e-9)
    assert (found.objectives >= best * (1 - 1e-12)).all()
    assert found.objectives[0] > found.objectives[-1]
