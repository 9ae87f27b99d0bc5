"""Eigh: dense and exact, the reference for every other solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg

from gramian._arrays import Array
from gramian._threads import single_blas_thread, threads_for_size
from gramian.solvers.base import Operator, Solver
from gramian.solvers.spectrum import Spectrum, power_of_two, residual_norm


class Eigh(Solver):
    """LAPACK's symmetric eigensolver on the stored matrix: O(size³) time, O(size²) memory."""

    def solve(
        self, operator: Operator, n_components: int, *, dim: float | None = None, noise_variance: float | None = None
    ) -> Spectrum:
        matrix = np.array(operator.to_dense(), dtype=np.float64)
        size = matrix.shape[0]
        # the squares of what is nearly too large or too small are; a power of two costs no digit
        scale = power_of_two(matrix)
        if scale != 1.0:
            matrix /= scale
        # up to 64 BLAS starts no second thread by itself, and up to 384 one costs more than it gives
        with single_blas_thread() if 64 < size < 384 else threads_for_size(size):
            spectrum = self._solve(matrix, n_components, operator.trace())
        if scale == 1.0:
            return spectrum
        smallest = None if spectrum.smallest is None else spectrum.smallest * scale
        return replace(spectrum, eigenvalues=spectrum.eigenvalues * scale, smallest=smallest)

    def _solve(self, matrix: Array, n_components: int, trace: float) -> Spectrum:
        size = matrix.shape[0]
        q = min(n_components, size)
        # below 30 % of the spectrum LAPACK's subset driver beats the full one, and its vectors need less memory
        found = _leading(matrix, q) if 0 < q < 0.3 * size and size > 64 else None
        values, vectors = np.linalg.eigh(matrix) if found is None else found
        smallest = float(values[0]) if found is None and size else None
        values, vectors = values[::-1][:q], vectors[:, ::-1][:, :q]
        certificate = residual_norm(matrix @ vectors, values, vectors)
        return Spectrum(values.copy(), np.ascontiguousarray(vectors), trace, certificate, smallest=smallest)

    def bytes_needed(self, size: int, n_components: int) -> int:
        return 8 * (3 * size * size + size * n_components)


def _leading(matrix: Array, q: int) -> tuple[Array, Array] | None:
    """The q largest, in rising order; None where LAPACK's fast driver fails or finds fewer, as it may on near-identities."""
    size = matrix.shape[0]
    try:
        values, vectors = linalg.eigh(matrix, subset_by_index=(size - q, size - 1), driver="evr", check_finite=False)
    except linalg.LinAlgError:
        return None
    return (values, vectors) if len(values) == q else None
