"""Eigh as LAPACK tests its own."""

import numpy as np
import pytest

from gramian.kernels import RBF
from gramian.operators.centering import Centering
from gramian.operators.covariance import Stored
from gramian.operators.gram import CenteredGram, LazyGram
from gramian.solvers import Eigh
from gramian.testing.solver_contract import matrices


@pytest.mark.parametrize("size", [1, 2, 3, 5, 10, 16, 50, 130])
@pytest.mark.parametrize("kind", matrices(1))
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 1.0])
def test_residual_and_orthogonality_are_at_the_level_of_rounding(kind, size, share):
    matrix = matrices(size)[kind]
    q = max(1, int(share * size))
    spectrum = Eigh().solve(Stored(matrix), q)
    scale = np.abs(matrix).max() or 1.0
    norm = max(np.linalg.norm(matrix / scale, 2), np.finfo(float).tiny)
    unit = size * np.finfo(float).eps
    vectors, values = spectrum.eigenvectors, spectrum.eigenvalues / scale
    assert np.linalg.norm((matrix / scale) @ vectors - vectors * values, 2) / (unit * norm) < 30
    assert np.linalg.norm(vectors.T @ vectors - np.eye(q), 2) / unit < 30
    assert np.isfinite(spectrum.residual_norm)


def test_nearly_the_identity_gives_all_that_was_asked_for():
    """LAPACK's subset driver returns none of its eigenvalues."""
    X = np.random.default_rng(0).normal(size=(600, 5))
    gram = CenteredGram(LazyGram(RBF(1e-3), X), Centering(np.full(600, 1 / 600)))
    spectrum = Eigh().solve(gram, 3)
    np.testing.assert_allclose(spectrum.eigenvalues, 1 / 600, rtol=1e-12)
    assert spectrum.residual_norm < 1e-12
