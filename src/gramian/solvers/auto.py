"""Auto: which solver for which shape, and why."""

from __future__ import annotations

from gramian.solvers.base import Operator, Solver
from gramian.solvers.eigh import Eigh
from gramian.solvers.spectrum import Spectrum


class Auto(Solver):
    """Chooses a solver by the operator's size and the number of components; ask it with :meth:`choose`."""

    def __init__(self, tol: float | None = None, max_iter: int = 1000, random_state: object = 0) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def choose(self, size: int, n_components: int) -> Solver:
        """The solver for an operator of ``size`` rows."""
        return Eigh()

    def solve(
        self, operator: Operator, n_components: int, *, dim: float | None = None, noise_variance: float | None = None
    ) -> Spectrum:
        chosen = self.choose(operator.size, n_components)
        return chosen.solve(operator, n_components, dim=dim, noise_variance=noise_variance)

    def bytes_needed(self, size: int, n_components: int) -> int:
        return self.choose(size, n_components).bytes_needed(size, n_components)
