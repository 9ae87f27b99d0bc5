"""Krylov and Randomized: accuracy, robustness, honesty."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from gramian.kernels import RBF, Linear
from gramian.operators.centering import Centering
from gramian.operators.covariance import Stored
from gramian.operators.gram import CenteredGram, DenseGram, LazyGram
from gramian.solvers import Eigh, Krylov, Randomized
from gramian.solvers.rayleigh import orthonormal

RNG = np.random.default_rng(0)
JITTER = 0.01 * RNG.normal(size=(600, 1))
ITERATIVE = [Krylov(), Randomized()]


def of(values, seed=0):
    size = len(values)
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]
    matrix = (basis * values) @ basis.T
    return Stored(0.5 * (matrix + matrix.T)), basis


SPECTRA = {
    "fast": 0.7 ** np.arange(600.0),
    "slow": np.linspace(1.0, 0.5, 600),
    "cluster across the cut": np.r_[2.0, 1.9, np.full(6, 1.0), np.linspace(0.5, 0.1, 592)],
    "tight pair at the cut": np.r_[2.0, 1.5, 1.2, 1.0, 1.0 - 1e-6, np.linspace(0.5, 0.1, 595)],
    "one dominant": np.r_[1e6, np.linspace(1.0, 0.1, 599)],
    "low rank": np.r_[5.0, 4.0, 3.0, np.zeros(597)],
    "negative part": np.r_[3.0, 2.0, 1.5, np.linspace(0.5, -4.0, 597)],
    "all negative": -np.linspace(0.1, 1.0, 600),
    "huge": 1e200 * 0.9 ** np.arange(600.0),
    "tiny": 1e-200 * 0.9 ** np.arange(600.0),
}


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("solver", ITERATIVE, ids=lambda solver: type(solver).__name__)
def test_eigenvalues_are_exact_whatever_the_spectrum(solver, spectrum):
    values = np.sort(SPECTRA[spectrum])[::-1]
    operator, _ = of(values)
    found = solver.solve(operator, 4)
    top = np.abs(values).max()
    assert found.converged
    np.testing.assert_allclose(found.eigenvalues / top, values[:4] / top, atol=1e-8)
    images = (operator.matrix / top) @ found.eigenvectors
    true = np.linalg.norm(images - found.eigenvectors * (found.eigenvalues / top), axis=0).max()
    assert true <= solver.tol


def test_small_eigenvalues_are_exact_relative_to_themselves():
    values = np.r_[1.0, 1e-2, 1e-4, 1e-5, np.full(596, 1e-7)]
    found = Krylov().solve(of(values)[0], 4)
    np.testing.assert_allclose(found.eigenvalues, values[:4], rtol=1e-8)


def test_tolerance_is_reached_down_to_rounding():
    operator, basis = of(0.9 ** np.arange(600.0))
    loose, tight = Krylov().solve(operator, 5), Krylov(tol=0).solve(operator, 5)
    assert loose.residual_norm <= 5e-5
    assert tight.residual_norm < 1e-13
    assert loose.n_iter < tight.n_iter
    cosines = np.abs(np.sum(tight.eigenvectors * basis[:, :5], axis=0))
    np.testing.assert_allclose(cosines, 1.0, atol=1e-12)


@pytest.mark.parametrize("solver", [Krylov(max_iter=2), Randomized(max_iter=2)], ids=str)
def test_too_few_products_warn_and_certify_what_was_reached(solver):
    operator, _ = of(np.linspace(1.0, 0.9, 600))
    with pytest.warns(ConvergenceWarning, match=r"max_iter=\d.*tol=.*Raise max_iter"):
        found = solver.solve(operator, 4)
    assert not found.converged
    true = np.linalg.norm(operator.matrix @ found.eigenvectors - found.eigenvectors * found.eigenvalues, axis=0).max()
    assert found.residual_norm == pytest.approx(true / found.eigenvalues[0], rel=1e-6)


@dataclass(frozen=True)
class Misled(Stored):
    """An operator whose sketch knows nothing of its first eigenvector."""

    matrix: np.ndarray
    basis: np.ndarray

    def sketch(self, n_vectors, rng):
        return np.linspace(0.9, 0.5, 50), self.basis[:, 1:51].astype(np.float32)


def test_eigenvector_that_the_sketch_misses_is_found():
    values = np.r_[2.0, np.linspace(0.9, 0.5, 50), np.linspace(0.4, 0.0, 549)]
    operator, basis = of(values)
    found = Krylov().solve(Misled(operator.matrix, basis), 3)
    np.testing.assert_allclose(found.eigenvalues, values[:3], rtol=1e-8)


def test_useless_sketch_costs_products_not_digits():
    values = 0.95 ** np.arange(600.0)
    operator, basis = of(values)
    found = Krylov().solve(Misled(operator.matrix, basis[:, ::-1]), 3)
    np.testing.assert_allclose(found.eigenvalues, values[:3], rtol=1e-8)


@pytest.mark.parametrize("width", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("center", [True, False])
def test_kernel_spectrum_is_that_of_eigh(width, center):
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(700, 4)), rng.random(700) + 0.1
    gram = CenteredGram(LazyGram(RBF(width), X), Centering(weights / weights.sum(), center))
    found, exact = Krylov().solve(gram, 6), Eigh().solve(gram, 6)
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-8)
    assert found.trace == pytest.approx(exact.trace, rel=1e-12)
    assert found.residual_norm <= 5e-5


def test_sketch_saves_products():
    X = np.random.default_rng(1).normal(size=(1500, 6))
    gram = CenteredGram(LazyGram(RBF(2.0), X), Centering(np.full(1500, 1 / 1500)))
    plain = Stored(gram.to_dense())
    assert Krylov().solve(gram, 10).n_iter < 0.7 * Krylov().solve(plain, 10).n_iter


def test_indefinite_gram_is_solved_without_a_sketch():
    matrix = of(np.r_[3.0, 2.0, np.linspace(0.5, -4.0, 598)])[0].matrix
    gram = CenteredGram(DenseGram(matrix), Centering(np.full(600, 1 / 600)))
    assert gram.sketch(50, np.random.default_rng(0)) is None
    np.testing.assert_allclose(Krylov().solve(gram, 3).eigenvalues, Eigh().solve(gram, 3).eigenvalues, rtol=1e-8)


def test_same_seed_gives_the_same_bits():
    X = np.random.default_rng(1).normal(size=(1200, 3))
    runs = []
    for _ in range(2):
        gram = CenteredGram(LazyGram(RBF(1.0), X), Centering(np.full(1200, 1 / 1200)))
        runs.append(Krylov(random_state=3).solve(gram, 5))
    np.testing.assert_array_equal(runs[0].eigenvectors, runs[1].eigenvectors)


HARD = {
    "far from the origin": (Linear(), RNG.normal(size=(600, 5)) + 1e4, 3, 1e-6),
    "rank below q": (Linear(), RNG.normal(size=(600, 3)), 6, 1e-10),
    "nearly the identity": (RBF(1e-3), RNG.normal(size=(600, 5)), 3, 1e-8),
    "nearly constant": (RBF(1e3), RNG.normal(size=(600, 5)), 3, 1e-6),
    "every row many times": (RBF(1.0), np.repeat(RNG.normal(size=(15, 3)), 40, axis=0), 10, 1e-8),
    "far apart, alike": (RBF(1.0), np.repeat([[0.0], [50.0], [100.0], [150.0]], 150, axis=0) + JITTER, 3, 1e-8),
    "1e30": (Linear(), 1e30 * RNG.normal(size=(600, 5)), 3, 1e-10),
    "1e-30": (Linear(), 1e-30 * RNG.normal(size=(600, 5)), 3, 1e-10),
    "weights of many sizes": (RBF(1.0), RNG.normal(size=(600, 3)), 5, 1e-8),
}


@pytest.mark.parametrize("memory", [None, 0], ids=["kept", "recomputed"])
@pytest.mark.parametrize("case", HARD)
def test_hard_kernels(case, memory):
    kernel, X, q, tolerance = HARD[case]
    weights = RNG.random(len(X)) ** 8 if case.startswith("weights") else np.ones(len(X))
    gram = CenteredGram(LazyGram(kernel, X, memory), Centering(weights / weights.sum()))
    found, exact = Krylov().solve(gram, q), Eigh().solve(gram, q)
    assert found.converged
    np.testing.assert_allclose(
        found.eigenvalues / exact.eigenvalues[0], exact.eigenvalues / exact.eigenvalues[0], atol=tolerance
    )


def test_constant_kernel_has_no_variance():
    gram = CenteredGram(LazyGram(RBF(1.0), np.ones((600, 2))), Centering(np.full(600, 1 / 600)))
    assert np.abs(Krylov().solve(gram, 3).eigenvalues).max() < 1e-14


def test_rounding_that_hides_the_answer_is_told():
    X = np.random.default_rng(0).normal(size=(600, 5)) + 3e6
    gram = CenteredGram(LazyGram(Linear(), X), Centering(np.full(600, 1 / 600)))
    with pytest.warns(ConvergenceWarning, match=r"stopped by rounding.*Centre or rescale"):
        assert not Krylov().solve(gram, 3).converged


def test_infinite_values_are_an_error():
    X = np.full((600, 2), 1e200)
    gram = CenteredGram(LazyGram(Linear(), X), Centering(np.full(600, 1 / 600)))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="not finite"):
        Krylov().solve(gram, 3)


def test_orthonormal_drops_what_the_basis_holds():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(50, 4)))[0]
    fresh = rng.normal(size=(50, 2))
    block = np.column_stack([basis[:, 0], fresh[:, 0], np.zeros(50), fresh[:, 0], fresh[:, 1]])
    added = orthonormal(block, basis)
    assert added.shape[1] <= 3  # a direction lost in rounding may stay as noise, orthonormal all the same
    np.testing.assert_allclose(added.T @ added, np.eye(added.shape[1]), atol=1e-13)
    np.testing.assert_allclose(basis.T @ added, 0, atol=1e-13)
    inside = np.column_stack([basis, added])
    np.testing.assert_allclose(inside @ (inside.T @ fresh), fresh, atol=1e-12)
