"""Leading eigenpairs of a covariance or Gram matrix: one file per solver, one table of names."""

from __future__ import annotations

from functools import cache
from inspect import signature
from typing import Any

from gramian.solvers.arpack import Arpack
from gramian.solvers.auto import Auto
from gramian.solvers.base import Operator, Solver
from gramian.solvers.eigh import Eigh
from gramian.solvers.em import Em
from gramian.solvers.krylov import Krylov
from gramian.solvers.randomized import Randomized
from gramian.solvers.spectrum import Spectrum
from gramian.solvers.stiefel import Stiefel

SOLVERS: dict[str, type[Solver]] = {
    "auto": Auto,
    "eigh": Eigh,
    "krylov": Krylov,
    "arpack": Arpack,
    "randomized": Randomized,
    "em": Em,
    "stiefel": Stiefel,
}
"""The names that ``solver=`` accepts, one row per solver; its class says what it suits."""


def solvers_for(side: str) -> tuple[str, ...]:
    """The names of the solvers that suit "primal", "dual" or "views".

    Parameters
    ----------
    side : {"primal", "dual", "views"}

    Returns
    -------
    tuple of str

    References
    ----------
    [1] docs/theory.md, section 1: weighted moments in primal and dual.

    Examples
    --------
    >>> "krylov" in solvers_for("dual"), "krylov" in solvers_for("primal")
    (True, False)
    """
    return tuple(name for name, made in SOLVERS.items() if side in made.suits)


__all__ = [
    "SOLVERS",
    "Arpack",
    "Auto",
    "Eigh",
    "Em",
    "Krylov",
    "Operator",
    "Randomized",
    "Solver",
    "Spectrum",
    "Stiefel",
    "as_solver",
    "solvers_for",
]


@cache
def _parameters(made: Any) -> frozenset[str]:
    return frozenset(signature(made).parameters)  # cached: looking costs as much as a small fit


def as_solver(solver: Any, **options: Any) -> Solver:
    """The solver that ``solver`` names, with those of the ``options`` (tol, max_iter, random_state) that it takes.

    An object keeps its own options.

    Parameters
    ----------
    solver : str or Solver
    **options : keyword arguments
        ``tol``, ``max_iter``, ``random_state``; those that the solver does not have are left out.

    Returns
    -------
    Solver

    References
    ----------
    [1] docs/theory.md, section 1: weighted moments in primal and dual.

    Examples
    --------
    >>> as_solver("eigh", tol=1e-3)
    Eigh()
    """
    names = ", ".join(map(repr, SOLVERS))
    if isinstance(solver, str):
        if solver not in SOLVERS:
            raise ValueError(f"solver={solver!r} is not known. Use one of {names}, or a solver object.")
        made: Any = SOLVERS[solver]
        return made(**{name: value for name, value in options.items() if name in _parameters(made)})
    if isinstance(solver, type) or not callable(getattr(solver, "solve", None)):
        raise ValueError(f"solver={solver!r} is not a solver. Use one of {names}, or an object with `solve`.")
    return solver
