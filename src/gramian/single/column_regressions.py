"""What the law of a row does not know of a column: kernel regressions of its residuals on the other cells [18]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from gramian._arrays import Array, symmetric_part
from gramian._threads import single_blas_thread
from gramian.kernels import RBF
from gramian.kernels.expected import Expected
from gramian.policy import FILLING, LOOK


def most_rows(n_columns: int) -> int:
    """How many rows the regressions of so many columns may look at: all pairs of them, for each column over all the others; 0 where too few are left."""
    found = min(LOOK.few, int(np.sqrt(FILLING.work) / max(n_columns, 1)))
    return found if found >= LOOK.fewest else 0


@dataclass(frozen=True)
class ColumnRegression:
    """c + Σᵢ aᵢ E k(x, xᵢ), with k the RBF kernel of all cells but those of one column, of rows that are laws."""

    column: int
    constant: float
    laws: Array  # (m, 2d - 2)
    length_scale: float
    coefficients: Array  # (m,)

    @classmethod
    def of(cls, column: int, laws: Array, residuals: Array, weights: Array) -> ColumnRegression | None:
        """The width and the penalty of the smallest squared error where each row is left out in turn; None where no regression beats the constant."""
        constant = float(np.average(residuals, weights=weights))
        target = residuals - constant
        least, found = float(np.average(target**2, weights=weights)), None
        d = laws.shape[1] // 2
        if not (least > 0 and np.ptp(laws[:, :d], axis=0).any()):
            return None
        roots = np.sqrt(weights / weights.mean())
        median = float(RBF("median").resolve(laws[:, :d]).length_scale)
        for width in FILLING.widths:
            gram = Expected(RBF(width * median))(laws) * np.outer(roots, roots)
            values, vectors = linalg.eigh(symmetric_part(gram))
            inner = vectors.T @ (roots * target)
            for penalty in FILLING.penalties:
                inverse = 1.0 / (np.maximum(values, 0.0) + penalty)
                dual = vectors @ (inverse * inner)
                left_out = dual / (np.square(vectors) @ inverse) / roots
                error = float(np.average(left_out**2, weights=weights))
                if error < least:
                    least, found = error, cls(column, constant, laws, width * median, roots * dual)
        return found

    def __call__(self, laws: Array) -> Array:
        """What is added to E[xⱼ | others] of rows whose column j is missing."""
        return np.asarray(
            self.constant + Expected(RBF(self.length_scale))(without(laws, self.column), self.laws) @ self.coefficients
        )


def without(laws: Array, column: int) -> Array:
    """Laws of all cells but one."""
    d = laws.shape[1] // 2
    return np.delete(laws, (column, d + column), axis=1)


@dataclass(frozen=True)
class ColumnRegressions:
    """xⱼ = E[xⱼ | others] + a regression of what that leaves on the others, where one is better than none; in units of the columns."""

    found: tuple[ColumnRegression, ...]

    @classmethod
    def of(cls, law: Any, X: Array, weights: Array) -> ColumnRegressions:
        """From training rows with their holes, and the law that fills these. What a row shows of column j takes no part in how its other cells are filled:
        where j is missing it cannot."""
        part = slice(0, most_rows(X.shape[1]))
        X, weights = X[part], weights[part]
        found = []
        with single_blas_thread():
            for j in range(X.shape[1]):
                shown = np.flatnonzero(~np.isnan(X[:, j]))
                if shown.size < LOOK.fewest:
                    continue
                told = X[shown].copy()
                told[:, j] = np.nan
                laws = law.in_units(told)
                residuals = law.units.into(X[shown])[:, j] - laws[:, j]
                found.append(ColumnRegression.of(j, without(laws, j), residuals, weights[shown]))
        return cls(tuple(one for one in found if one is not None))

    def __call__(self, laws: Array, wanted: Array) -> Array:
        """What is added to the means of rows (laws in units of the columns) in the missing cells that are wanted; 0 elsewhere."""
        added = np.zeros(wanted.shape)
        for one in self.found:
            rows = np.flatnonzero(wanted[:, one.column])
            if rows.size:
                added[rows, one.column] = one(laws[rows])
        return added
