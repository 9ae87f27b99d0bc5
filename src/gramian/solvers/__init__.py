"""Leading eigenpairs of a covariance or Gram matrix: one file per solver, one table of names."""

from __future__ import annotations

from functools import cache
from inspect import signature
from typing import Any

from gramian._plug_ins import Rows
from gramian.solvers.auto import Auto
from gramian.solvers.base import Operator, Solver
from gramian.solvers.eigh import Eigh
from gramian.solvers.em import Em
from gramian.solvers.krylov import Krylov
from gramian.solvers.randomized import Randomized
from gramian.solvers.spectrum import Spectrum
from gramian.solvers.stiefel import Stiefel

_OWN: dict[str, type[Solver]] = {
    "auto": Auto,
    "eigh": Eigh,
    "krylov": Krylov,
    "randomized": Randomized,
    "em": Em,
    "stiefel": Stiefel,
}
SOLVERS = Rows("solvers", _OWN)
"""The names that ``solver=`` accepts, one row per solver; its class says what it suits. Other packages add rows by entry points of the group
``gramian.solvers``."""


def solvers_for(side: str, asked: str = "auto") -> tuple[str, ...]:
    """The names of the solvers that suit "primal", "dual" or "views" [1].

    Parameters
    ----------
    side : {"primal", "dual", "views"}
    asked : str, default="auto"
        A name that is looked for in other packages too.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> "krylov" in solvers_for("dual"), "krylov" in solvers_for("primal")
    (True, False)
    """
    known = SOLVERS if asked in SOLVERS else _OWN
    return tuple(name for name, made in known.items() if side in made.suits)


__all__ = [
    "SOLVERS",
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
    """The solver that ``solver`` names, with those of the ``options`` (tol, max_iter, random_state) that it takes [1].

    An object keeps its own options.

    Parameters
    ----------
    solver : str or Solver
    **options : keyword arguments
        ``tol``, ``max_iter``, ``random_state``; those that the solver does not have are left out.

    Returns
    -------
    Solver

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
