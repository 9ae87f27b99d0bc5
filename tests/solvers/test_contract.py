"""Every solver of the table keeps the contract; broken ones do not."""

import numpy as np
import pytest

from gramian.solvers import SOLVERS, Eigh, Solver, Spectrum
from gramian.testing.solver_contract import check_solver


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("sizes", [(1, 2, 3, 5), (10, 16, 50), (400,)], ids=str)
def test_solver_keeps_the_contract(name, sizes):
    check_solver(name, sizes=sizes)


class Broken(Solver):
    """Eigh with one thing spoilt."""

    def __init__(self, spoil="order"):
        self.spoil = spoil

    def solve(self, operator, n_components, *, dim=None, noise_variance=None):
        found = Eigh().solve(operator, n_components)
        values, vectors, trace = found.eigenvalues, found.eigenvectors, found.trace
        if self.spoil == "order":
            values = values[::-1]
        elif self.spoil == "values":
            values = values * (1 + 1e-8)
        elif self.spoil == "trace":
            trace = trace * 1.1
        elif self.spoil == "operator":
            operator.matrix[0, 0] += 1
        elif self.spoil == "vectors":
            vectors = np.roll(vectors, 1, axis=0)
        elif self.spoil == "length":
            vectors = 2 * vectors
        return Spectrum(values, vectors, trace, found.residual_norm)


@pytest.mark.parametrize("spoil", ["order", "values", "trace", "operator", "vectors", "length"])
def test_broken_solver_is_caught(spoil):
    with pytest.raises(AssertionError):
        check_solver(Broken(spoil), sizes=(10,))
