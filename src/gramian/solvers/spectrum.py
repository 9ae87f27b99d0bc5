"""Spectrum: what every solver returns, with canonical order and signs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from gramian._arrays import Array


def positive_signs(vectors: Array) -> Array:
    """Signs that make the largest |entry| of each column positive."""
    if vectors.size == 0:
        return np.ones(vectors.shape[1])
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return np.where(largest < 0, -1.0, 1.0)


@dataclass(frozen=True)
class Spectrum:
    """Leading eigenpairs of a weighted covariance or Gram matrix, largest first, and its trace.

    ``residual_norm`` is the certificate max_p |A v_p - l_p v_p| / l_1. ``smallest`` is the least eigenvalue where the
    solver saw it (dense solvers do): negative ones betray an indefinite kernel. A frame A that was not rotated to the
    eigenvectors comes with ``gamma`` = AᵀBA, whose eigenvalues are the ``eigenvalues``; ``objectives`` are ½ tr B - ½ tr(AᵀBA) of the
    start and after every step ([AC] eqs. 8, 12) [8].
    """

    eigenvalues: Annotated[Array, "q"]
    eigenvectors: Annotated[Array, "% * q"]
    trace: Annotated[float, "number"]
    residual_norm: float = 0.0
    n_iter: int = 1
    converged: bool = True
    smallest: float | None = None
    log_likelihoods: Array = field(default_factory=lambda: np.empty(0))
    objectives: Array = field(default_factory=lambda: np.empty(0))
    gamma: Annotated[Array | None, "* *"] = None

    def leading(self, n_components: int) -> Spectrum:
        """The same with fewer components [1].

        Parameters
        ----------
        n_components : int
            Eigenpairs wanted.

        Returns
        -------
        Spectrum

        Examples
        --------
        >>> import numpy as np
        >>> from gramian.operators.covariance import Stored
        >>> from gramian.solvers import Eigh
        >>> operator = Stored(np.diag([3.0, 2.0, 1.0]))
        >>> Eigh().solve(operator, 3).leading(1).eigenvalues
        array([3.])
        """
        if n_components >= len(self.eigenvalues):
            return self
        kept = slice(0, n_components)
        gamma = None if self.gamma is None else self.gamma[kept, kept]
        return replace(self, eigenvalues=self.eigenvalues[kept], eigenvectors=self.eigenvectors[:, kept], gamma=gamma)

    def signed(self) -> Spectrum:
        """The same with the largest |entry| of every eigenvector positive."""
        signs = positive_signs(self.eigenvectors)
        gamma = None if self.gamma is None else signs[:, None] * self.gamma * signs
        return replace(self, eigenvectors=self.eigenvectors * signs, gamma=gamma)

    def unrotated(self, frame: Array, gamma: Array) -> Spectrum:
        """The same with a frame A in place of the eigenvectors, and its AᵀBA [8].

        Parameters
        ----------
        frame : ndarray of shape (size, q)
            Orthonormal columns A.
        gamma : ndarray of shape (q, q)
            AᵀBA, B being the operator.

        Returns
        -------
        Spectrum

        Examples
        --------
        >>> import numpy as np
        >>> from gramian.operators.covariance import Stored
        >>> from gramian.solvers import Eigh
        >>> operator = Stored(np.diag([3.0, 2.0, 1.0]))
        >>> found = Eigh().solve(operator, 2)
        >>> found.unrotated(found.eigenvectors[:, ::-1], np.diag([2.0, 3.0])).gamma[0, 0].item()
        2.0
        """
        return replace(self, eigenvectors=frame, gamma=gamma)


def residual_norm(images: Array, eigenvalues: Array, eigenvectors: Array) -> float:
    """max_p |A v_p - l_p v_p| / l_1, given the images A V."""
    if eigenvalues.size == 0 or eigenvalues[0] <= 0:
        return 0.0
    # divided first: squares of very large or small entries would leave the range of float64
    return float(np.linalg.norm((images - eigenvectors * eigenvalues) / eigenvalues[0], axis=0).max())


def squares_are_safe(magnitude: float) -> bool:
    """Whether images of this magnitude may be squared, in float32 too."""
    return 1e-12 <= magnitude <= 1e12


def power_of_two(image: Array) -> float:
    """The power of two by which to divide an operator whose images would over- or underflow when squared; else 1."""
    magnitude = float(np.abs(image).max(initial=0.0))
    return 1.0 if magnitude == 0 or squares_are_safe(magnitude) else 2.0 ** np.floor(np.log2(magnitude))
