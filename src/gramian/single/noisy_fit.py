"""PPCA of cells with known errors, and of cells that are known to lie in intervals [5, 15]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array, is_sparse
from gramian._types import Points
from gramian.exceptions import warn
from gramian.latent.known_errors import Known, fit_noisy
from gramian.latent.masked_table import ColumnSums, column_sums
from gramian.latent.missing import MissingFit
from gramian.latent.model import PrimalModel
from gramian.rows import as_rows
from gramian.single.hole_fit import model_of_missing
from gramian.tables.frames import frame_of
from gramian.tables.preprocessing import Preprocessing


@dataclass(frozen=True)
class NoisyFit:
    """What is asked of the fit."""

    noise_variance: float | None  # None: maximum likelihood
    center: bool
    tol: float
    max_iter: int

    def fitted(
        self, X: Array, weights: Array, known: Known, begin: MissingFit
    ) -> tuple[PrimalModel, ColumnSums] | None:
        """The model from that of the cells without what is known of them; None where that one stays: constant columns, or no noise."""
        sums = as_rows(X, weights).fold(column_sums)
        if not float(sums.scatter.sum()) > 0 or self.noise_variance == 0:
            return None
        found = fit_noisy(
            X,
            known,
            begin,
            sums,
            weights=weights,
            noise_variance=self.noise_variance,
            center=self.center,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        if not found.converged:
            warn(
                f"EM did not converge in max_iter={self.max_iter} steps. Raise max_iter, or tol={self.tol:g}.",
                ConvergenceWarning,
            )
        return model_of_missing(found, X.shape[1]), sums


def check_errors(X_std: Any, X: Points, estimator: Any) -> Array:
    """Deviations of known errors of the cells of X as the model sees it; a frame that is coded has one per column, categories have none."""
    if is_sparse(X):
        raise ValueError("X_std needs a dense table: use '.toarray()'.")
    coding: Preprocessing | None = getattr(estimator, "_coding", None)
    named, names = frame_of(X_std), getattr(estimator, "feature_names_in_", None)
    if named is not None and names is not None and named.columns != [str(name) for name in names]:
        raise ValueError(
            f"X_std has the columns {', '.join(named.columns[:10])}, but must have those of X, in their order: {', '.join(map(str, names[:10]))}."
        )
    std = np.asarray(X_std, dtype=np.float64)
    width = X.shape[1] if coding is None else len(estimator.feature_names_in_)
    if std.shape != (X.shape[0], width):
        raise ValueError(f"X_std has the shape {std.shape}, but must have that of X, {(X.shape[0], width)}.")
    std = np.where(np.isnan(std) & np.isnan(X), 0.0, std) if coding is None else np.nan_to_num(std)
    if not (np.isfinite(std).all() and (std >= 0).all()):
        raise ValueError(
            "X_std holds a value that is negative, infinite or missing. Give a standard deviation per cell, 0 where none is known."
        )
    if coding is None:
        return std
    place = {str(name): j for j, name in enumerate(estimator.feature_names_in_)}
    numbers = np.array([not coding.categories[j] for j in coding.owner])
    own = [place[coding.names[j]] for j in coding.owner]
    return np.where(numbers, std[:, own] / coding.scale, 0.0)
