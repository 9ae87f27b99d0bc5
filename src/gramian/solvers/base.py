"""Solver: from an operator to its leading eigenpairs."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

from sklearn.base import BaseEstimator

from gramian._arrays import Array
from gramian._types import RandomState
from gramian.solvers.spectrum import Spectrum


class Operator(Protocol):
    """All that a solver knows of a covariance or Gram matrix."""

    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> Any: ...
    def __matmul__(self, block: Array) -> Array: ...
    def trace(self) -> float: ...
    def to_dense(self) -> Array: ...


class Solver(BaseEstimator):
    """What every solver offers; a new one overrides :meth:`solve` and states its tolerances."""

    rtol = 1e-10
    """Relative error of the eigenvalues on well-separated spectra, held by the solver contract."""
    atol = 1e-8
    """Allowed 1 - cosine between the found and the exact subspace."""
    suits: tuple[str, ...] = ("primal", "dual", "views")
    """Where its name may be given: covariances ("primal"), Gram matrices ("dual"), several views ("views")."""

    max_iter: Annotated[int, "count"]
    random_state: Annotated[RandomState, "count"]

    def solve(
        self, operator: Operator, n_components: int, *, dim: float | None = None, noise_variance: float | None = None
    ) -> Spectrum:
        """The ``n_components`` largest eigenpairs [1].

        ``dim`` (D) and ``noise_variance`` (None: maximum likelihood) matter only to solvers that climb the likelihood.

        Parameters
        ----------
        operator : Operator
            A covariance or Gram matrix.
        n_components : int
            Eigenpairs wanted.
        dim : float, optional
            D, the dimension that the noise lives in.
        noise_variance : float, optional
            None: maximum likelihood.

        Returns
        -------
        Spectrum

        Examples
        --------
        >>> import numpy as np
        >>> from gramian.operators.covariance import Stored
        >>> from gramian.solvers import Eigh
        >>> operator = Stored(np.diag([3.0, 2.0, 1.0]))
        >>> Eigh().solve(operator, 2).eigenvalues
        array([3., 2.])
        """
        raise TypeError(f"{type(self).__name__} does not say how to solve.")

    def bytes_needed(self, size: int, n_components: int) -> int:
        """What the solver would allocate on an operator of ``size`` rows [1].

        Parameters
        ----------
        size : int
            Rows of the operator.
        n_components : int
            Eigenpairs wanted.

        Returns
        -------
        int

        Examples
        --------
        >>> from gramian.solvers import Eigh, Krylov
        >>> Eigh().bytes_needed(10_000, 5) > Krylov().bytes_needed(10_000, 5)
        True
        """
        return 8 * size * (n_components + 1)
