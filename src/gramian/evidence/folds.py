"""Folds that a user hands in: a scikit-learn splitter, or (kept, held) pairs, in place of a number of folds by content [10, 13]."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_count
from gramian._content import Folds, row_hashes

ADVICE = "Every row must be held out exactly once, and its model fitted to all others, as KFold, StratifiedKFold and GroupKFold do."


def check_folds(n_folds: Any) -> None:
    """``n_folds`` is None, a whole number from 2 on, a splitter, or (kept, held) pairs."""
    if n_folds is None or (
        (isinstance(n_folds, Iterable) or hasattr(n_folds, "split")) and not isinstance(n_folds, str)
    ):
        return
    check_count("n_folds", n_folds, 2)


def as_folds(n_folds: Any, X: Any, y: Any = None) -> Any:
    """A number or None as it is; else the folds that were given, by the content of the rows of X.

    Equal rows stay in one fold, that of the first of them: a model that has seen a copy of a row has seen the row.

    >>> import numpy as np
    >>> from sklearn.model_selection import KFold
    >>> X = np.arange(8.0).reshape(4, 2)
    >>> as_folds(KFold(2), X).assign(row_hashes(X)).tolist()
    [0, 0, 1, 1]
    >>> as_folds(5, X)
    5
    """
    if n_folds is None or isinstance(n_folds, int | np.integer):
        return n_folds
    n_rows = X.shape[0]
    splits = list(n_folds.split(X, y) if hasattr(n_folds, "split") else n_folds)
    number = np.full(n_rows, -1)
    for fold, split in enumerate(splits):
        kept, held = (_positions(part, n_rows, fold) for part in split)
        if (number[held] >= 0).any() or kept.sum() + held.sum() != n_rows or (kept & held).any():
            raise ValueError(f"n_folds={n_folds!r}: fold {fold} does not part the rows. {ADVICE}")
        number[held] = fold
    if len(splits) < 2 or (number < 0).any():
        raise ValueError(f"n_folds={n_folds!r} holds out {int((number >= 0).sum())} of {n_rows} rows. {ADVICE}")
    return Folds.given(row_hashes(X), number)


def _positions(part: Any, n_rows: int, fold: int) -> Array:
    """Which rows a part of a split names, by positions or by a mask."""
    part = np.asarray(part)
    chosen = np.zeros(n_rows, dtype=bool)
    try:
        chosen[part] = True
    except IndexError:
        raise ValueError(f"n_folds: fold {fold} names rows that X, which has {n_rows}, does not have.") from None
    return chosen
