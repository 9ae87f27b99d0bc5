"""Numbers as the report writes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.io.preprocessing import Preprocessing
from gramian.report.blocks import shortened


def percent(share: float) -> str:
    """A share: one decimal below a tenth."""
    return f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"


def count(number: int) -> str:
    """A count, with spaces between thousands."""
    return f"{number:,}".replace(",", " ")


def plural(number: int, word: str, many: str = "") -> str:
    """``1 row``, ``2 rows``.

    >>> plural(1, "row"), plural(2000, "category", "categories")
    ('1 row', '2 000 categories')
    """
    return f"{count(number)} {word if number == 1 else many or word + 's'}"


def responsible(contributions: Any, prepare: Preprocessing, most: int = 3) -> str:
    """The columns that make a row odd, with their shares."""
    positive = np.maximum(np.nan_to_num(contributions), 0.0)
    by_column = np.bincount(prepare.owner, weights=positive, minlength=len(prepare.names))
    total = by_column.sum()
    if not total > 0:
        return ""
    order = np.argsort(-by_column)[:most]
    return ", ".join(
        f"{shortened(prepare.names[j], 30)} {100 * by_column[j] / total:.0f} %"
        for j in order
        if by_column[j] > 0.05 * total
    )
