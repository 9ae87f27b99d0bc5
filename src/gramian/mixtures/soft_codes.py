"""Categories in a mixture: codes with a small error, so that a cluster whose rows share one has a density."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._content import cell_uniforms, row_hashes


def soft_rows(mixture: Any, coded: Array, X: Array, *, error: float = 0.3) -> Array:
    """The rows to fit a mixture to: with soft categories, if that leaves noise in every cluster, else as they are.

    A category that all rows of a cluster share has no variance there, so that the density of the cluster is without bound.
    Codes with a uniform error of the deviation ``error``, in units of a standardised column, drawn by content, have densities that mean
    something. ``coded`` says which features are codes of categories.

    >>> import numpy as np
    >>> from gramian import PPCAMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.standard_normal(40), rng.standard_normal(40), np.repeat([-1.0, 1.0], 20)])
    >>> soft = soft_rows(PPCAMixture(2, 1, random_state=0), np.array([False, False, True]), X)
    >>> bool((soft[:, :2] == X[:, :2]).all()), bool(np.abs(soft[:, 2] - X[:, 2]).max() < 0.6)
    (True, True)
    """
    if not coded.any():
        return X
    errors = np.sqrt(12) * error * (cell_uniforms(row_hashes(X), X.shape[1], 0) - 0.5)
    soft = X + np.where(coded, errors, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit says what there is to say
        tried = clone(mixture).fit(soft)
    return X if (tried.noise_variances_ <= tried.noise_floor_).any() else soft
