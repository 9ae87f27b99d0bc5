"""Eigenpairs continued from a nearby operator are those of the whole decomposition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.operators.covariance import Stored
from gramian.solvers.continued import continued_pairs


def matrix(spectrum, seed=0):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(spectrum), len(spectrum))))
    return (Q * spectrum) @ Q.T, Q


SPECTRA = {
    "geometric": 0.7 ** np.arange(60),
    "flat": np.concatenate([[5.0, 4.0, 3.0], np.ones(57)]),
    "clustered": np.concatenate([np.full(5, 2.0), np.linspace(1.0, 0.1, 55)]),
    "low rank": np.concatenate([[3.0, 2.0], np.zeros(58)]),
}


@pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA)
@pytest.mark.parametrize("known", [0, 2, 8], ids=["cold", "some known", "more known than asked"])
def test_leading_pairs_are_those_of_the_whole_decomposition(spectrum, known):
    A, Q = matrix(spectrum)
    start = Q[:, np.argsort(-spectrum)[:known]] + 1e-3 * np.random.default_rng(1).standard_normal((60, known))
    found = continued_pairs(Stored(A), 3, start)
    assert found.converged
    assert_allclose(found.eigenvalues, np.sort(spectrum)[::-1][:3], atol=1e-9)
    assert_allclose(A @ found.eigenvectors, found.eigenvectors * found.eigenvalues, atol=1e-7)
    assert found.trace == pytest.approx(spectrum.sum())


def test_a_direction_that_the_start_does_not_contain_is_found():
    A, Q = matrix(SPECTRA["geometric"])
    found = continued_pairs(Stored(A), 2, Q[:, [1, 2]])  # invariant, and without the leading one
    assert_allclose(found.eigenvalues, [1.0, 0.7], rtol=1e-8)


def test_a_small_matrix_is_exhausted_and_an_early_end_is_told():
    A, _ = matrix(np.array([3.0, 2.0, 1.0]))
    assert_allclose(continued_pairs(Stored(A), 2, np.empty((3, 0))).eigenvalues, [3.0, 2.0])
    flat, _ = matrix(np.linspace(1.0, 0.99, 60))
    assert not continued_pairs(Stored(flat), 2, np.empty((60, 0)), max_products=2).converged
