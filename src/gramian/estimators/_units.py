"""The units of columns: what ``standardize`` does on the way in, and undoes on the way out, with holes or without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.estimators._standardize import ROUNDING, check_standardize, speaks_of_units
from gramian.latent.masked_table import check_columns, column_sums
from gramian.rows import as_rows


@dataclass(frozen=True)
class Units:
    """The mean and the standard deviation of each column, over what was observed; 1 where a column is constant."""

    mean: Array
    scale: Array

    @classmethod
    def of(cls, X: Any, weights: Array | None = None) -> Units:
        """The units of weighted rows, wherever they live."""
        sums = as_rows(X, weights).fold(column_sums)
        check_columns(sums.counts)
        scale = np.sqrt(sums.scatter / sums.counts)
        return cls(sums.mean, np.where(scale <= ROUNDING * np.abs(sums.mean), 1.0, scale))

    def into(self, X: Any) -> Array:
        """Rows in units of the columns."""
        return np.asarray((X - self.mean) / self.scale)

    def back(self, X: Array) -> Array:
        """Rows as they were."""
        return X * self.scale + self.mean


def standardizes(standardize: Any, kernel: Any = None) -> bool:
    """Whether columns are brought to unit variance; "auto": unless the kernel was given in the units of the inputs."""
    if isinstance(check_standardize(standardize), str):
        return kernel is None or not speaks_of_units(kernel)
    return bool(standardize)
