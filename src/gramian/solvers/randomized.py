"""Randomized: block Krylov iteration from a random start, in float64 throughout."""

from __future__ import annotations

from typing import Annotated, Any

from gramian._checks import check_count
from gramian._types import RandomState
from gramian.solvers.krylov import Krylov


class Randomized(Krylov):
    """Randomised block Krylov iteration with oversampling, run until its tolerance is met.

    A random block is multiplied again and again, and all products are kept for the Rayleigh-Ritz step, which gains
    digits far faster than the powers alone. Unlike solvers of a fixed number of powers it knows its residual, and stops
    by it. It asks nothing of the operator but products.

    Parameters
    ----------
    tol : float
        Relative residual |A v - l v| / l₁ to reach; the eigenvalues are held to 4 tol² of themselves by the estimate
        |A v - l v|² / gap.
    max_iter : int
        Products at most; a `ConvergenceWarning` tells when they did not suffice.
    n_oversamples : int
        Vectors beyond those asked for.
    random_state : None, int, Generator or RandomState
        Seeds the start.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.operators.covariance import Stored
    >>> spectrum = Randomized(tol=1e-9).solve(Stored(np.diag(np.arange(500.0))), 2)
    >>> spectrum.eigenvalues.round(6).tolist()
    [499.0, 498.0]
    """

    n_oversamples: Annotated[int, "count"]

    suits = ("primal",)
    rtol = 1e-10
    atol = 1e-9

    def __init__(
        self, tol: float = 1e-6, max_iter: int = 1000, n_oversamples: int = 10, random_state: RandomState = 0
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.n_oversamples = n_oversamples
        self.random_state = random_state

    def _options(self, q: int) -> dict[str, Any]:
        return {"guard": check_count("n_oversamples", self.n_oversamples, 0), "single": False}
