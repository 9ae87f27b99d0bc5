"""Budgeted: any solver, with its memory checked before it allocates."""

from __future__ import annotations

from gramian._memory import require_memory
from gramian.solvers.auto import Auto
from gramian.solvers.base import Operator, Solver
from gramian.solvers.eigh import Eigh
from gramian.solvers.spectrum import Spectrum


class Budgeted(Solver):
    """Asks the solver what it would store; refuses, or where the choice is free takes the matrix-free one.

    After a solve, ``used`` is the solver that ran and ``reason`` why.
    """

    def __init__(self, solver: Solver, budget: int) -> None:
        self.solver = solver
        self.budget = budget
        self.used: Solver = Eigh()
        self.reason = "the kernel may be indefinite, so its whole spectrum is looked at"

    def solve(
        self, operator: Operator, n_components: int, *, dim: float | None = None, noise_variance: float | None = None
    ) -> Spectrum:
        self.used, self.reason = self._chosen(operator.size, n_components)
        return self.used.solve(operator, n_components, dim=dim, noise_variance=noise_variance)

    def _chosen(self, size: int, n_components: int) -> tuple[Solver, str]:
        solver, reason = self.solver, "as asked"
        if isinstance(solver, Auto):
            solver = self.solver.choose(size, n_components)
            reason = self.solver.explain(size, n_components).partition(": ")[2]
        needed = solver.bytes_needed(size, n_components)
        if needed > self.budget and isinstance(self.solver, Auto):
            from gramian.solvers.krylov import Krylov

            reason = f"{type(solver).__name__} would store {needed} bytes, more than the {self.budget} allowed: matrix-free instead"
            options = {name: getattr(self.solver, name) for name in ("tol", "max_iter", "random_state")}
            solver = Krylov(**{name: value for name, value in options.items() if value is not None})
            needed = solver.bytes_needed(size, n_components)
        require_memory(
            needed,
            self.budget,
            f"solver={type(solver).__name__} on {size} points",
            "Use solver='krylov' (matrix-free), approximation='nystroem', fewer components, or raise memory_limit.",
        )
        return solver, reason
