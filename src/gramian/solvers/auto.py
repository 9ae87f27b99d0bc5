"""Auto: which solver for which shape, and why. Budgeted: any solver, with its memory checked before it allocates."""

from __future__ import annotations

from bisect import bisect_right
from typing import Annotated

from gramian._checks import check_seed, check_tolerance
from gramian._memory import memory_budget, require_memory
from gramian._precision import ROUNDING
from gramian._types import RandomState
from gramian.policy import SIZES
from gramian.solvers.base import Operator, Solver
from gramian.solvers.eigh import Eigh
from gramian.solvers.em import Em
from gramian.solvers.krylov import Krylov
from gramian.solvers.spectrum import Spectrum
from gramian.solvers.stiefel import Stiefel


class Auto(Solver):
    """Chooses by the size of the operator and the share of its spectrum; ask it with :meth:`choose` and :meth:`explain`.

    The thresholds were swept over sizes, numbers of components and decays of the spectrum (`benchmarks/sweep_solvers.py`):
    on either side of each the two solvers take about the same time. Below 2000 rows the answer is good to 1e-8 or better
    whatever the tolerance.

    Parameters
    ----------
    tol : float or None
        Relative residual for the iterative solvers from 2000 rows on; None is 5e-5.
    max_iter : int
        Products at most.
    random_state : None, int, Generator or RandomState
        Seeds the iterative solvers.

    Examples
    --------
    >>> auto = Auto()
    >>> auto.choose(500, 10), auto.choose(20_000, 10)
    (Eigh(), Krylov())
    >>> auto.explain(20_000, 10)
    'Krylov: 10 of 20000 eigenpairs are found by a few products, without the matrix'
    """

    rtol = 1e-8
    atol = 1e-6

    tol: Annotated[float | None, "nonnegative"]

    def __init__(self, tol: float | None = None, max_iter: int = 1000, random_state: RandomState = 0) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def choose(self, size: int, n_components: int) -> Solver:
        """The solver for an operator of ``size`` rows [1].

        Parameters
        ----------
        size : int
            Rows of the operator.
        n_components : int
            Eigenpairs wanted.

        Returns
        -------
        Solver

        Examples
        --------
        >>> from gramian.solvers import Auto
        >>> type(Auto().choose(100, 5)).__name__
        'Eigh'
        """
        return self._rule(size, n_components)[0]

    def explain(self, size: int, n_components: int) -> str:
        """The choice and its reason [1].

        Parameters
        ----------
        size : int
            Rows of the operator.
        n_components : int
            Eigenpairs wanted.

        Returns
        -------
        str

        Examples
        --------
        >>> from gramian.solvers import Auto
        >>> "eigh" in Auto().explain(100, 5).lower()
        True
        """
        solver, reason = self._rule(size, n_components)
        return f"{type(solver).__name__}: {reason}"

    def _rule(self, size: int, n_components: int) -> tuple[Solver, str]:
        tol, max_iter = check_tolerance(5e-5 if self.tol is None else self.tol, self.max_iter)
        check_seed(self.random_state)
        if size < SIZES.dense:
            return Eigh(), f"a matrix of size {size} is small"
        exact = size < SIZES.exact
        if n_components > size * (SIZES.share_exact if exact else SIZES.share):
            return Eigh(), f"{n_components} of {size} eigenpairs are a large share"
        tol = min(tol, ROUNDING) if exact else tol
        reason = f"{n_components} of {size} eigenpairs are found by a few products, without the matrix"
        return Krylov(tol=tol, max_iter=max_iter, random_state=self.random_state), reason

    def solve(
        self, operator: Operator, n_components: int, *, dim: float | None = None, noise_variance: float | None = None
    ) -> Spectrum:
        chosen = self.choose(operator.size, n_components)
        return chosen.solve(operator, n_components, dim=dim, noise_variance=noise_variance)

    def bytes_needed(self, size: int, n_components: int) -> int:
        return self.choose(size, n_components).bytes_needed(size, n_components)


class Budgeted(Solver):
    """Asks the solver what it would store; refuses, or where the choice is free takes the matrix-free one.

    ``budget`` is in bytes; None is what the process may use.
    After a solve, ``used`` is the solver that ran and ``reason`` why.
    """

    used: Solver
    reason: str
    budget: Annotated[int | None, "count"]

    def __init__(self, solver: Solver, budget: int | None = None) -> None:
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
        budget = memory_budget(self.budget, needed)
        if needed > budget and (isinstance(self.solver, Auto) or type(solver) is Krylov):
            reason = f"{type(solver).__name__} would store {needed} bytes, more than the {budget} allowed: matrix-free, in a small basis"
            options = {name: getattr(self.solver, name) for name in ("tol", "max_iter", "random_state")}
            solver = Krylov(**{name: value for name, value in options.items() if value is not None})._within(budget)
            needed = solver.bytes_needed(size, n_components)
        if needed > budget:
            advice = _advice(solver, size, n_components, budget)
            require_memory(needed, budget, f"solver={type(solver).__name__} on {size} points", advice)
        return solver, reason


def _advice(solver: Solver, size: int, n_components: int, budget: int) -> str:
    """What would fit, and nothing else."""
    small = Krylov()._within(budget)
    free: dict[str, Solver] = {"krylov": small, "em": Em(), "stiefel": Stiefel()}
    needed = {name: solver.bytes_needed(size, n_components) for name, solver in free.items()}
    fitting = [f"solver={name!r}" for name, stored in needed.items() if stored <= budget]
    fewer = bisect_right(range(1, n_components), budget, key=lambda q: small.bytes_needed(size, q))
    with_krylov = "" if type(solver) is Krylov else "solver='krylov' with "
    fitting += (
        [f"{with_krylov}n_components={fewer} or fewer"] if fewer else ["approximation='nystroem' with few landmarks"]
    )
    return f"Use {', '.join(fitting)}, or raise memory_limit to {min(needed.values())} bytes at least."
