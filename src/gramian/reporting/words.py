"""Numbers as the report writes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.reporting.blocks import THOUSANDS, shorten
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import quote

FACTS = {"n_components": "latent dimensions", "noise_variance": "noise variance", "n_iter": "iterations"}
"""Facts about a model as people read them."""


def percent(share: float) -> str:
    """A share: one decimal below a tenth and above 99 in a hundred; 100 % are all.

    >>> percent(0.034), percent(0.5), percent(0.998), percent(0.9999), percent(1.0)
    ('3.4 %', '50 %', '99.8 %', '>\\xa099.9 %', '100 %')
    """
    if 0.9995 <= share < 1:
        return ">\u00a099.9 %"
    return f"{100 * share:.1f} %" if 0 < share < 0.1 or 0.99 < share < 1 else f"{100 * share:.0f} %"


def count(number: int) -> str:
    """A count, with blanks between thousands at which no line is broken."""
    return f"{number:,}".replace(",", THOUSANDS)


def about(number: float) -> str:
    """A number of things to expect: 0.63, 3.4, 195."""
    return count(round(number)) if number >= 10 else f"{number:.2g}"


def plural(number: int, word: str, many: str = "") -> str:
    """``1 row``, ``2 rows``.

    >>> plural(1, "row"), plural(20, "category", "categories")
    ('1 row', '20 categories')
    """
    return f"{count(number)} {word if number == 1 else many or word + 's'}"


def extrapolated_columns(prepare: Preprocessing, full: Array, holes: Array) -> dict[str, int]:
    """How many filled numbers lie far from all that their columns show, by column; ``full`` are features, ``holes`` columns.

    Rows that miss such a cell are unlike the rows that show one, so that the other columns say little about it.
    """
    if not (np.any(prepare.mean) or np.any(prepare.scale != 1)):
        return {}  # features are not in standard deviations
    first = np.searchsorted(prepare.owner, np.arange(len(prepare.names)))
    # Standard deviations: no column shows more than a few values beyond.
    far = (np.abs(full[:, first]) > 5) & holes & ~np.array([bool(values) for values in prepare.categories])
    return {prepare.names[j]: int(n) for j, n in enumerate(far.sum(axis=0)) if n}


def of_extrapolated(counts: dict[str, int]) -> str:
    """A remark about cells that were filled far from all that was seen."""
    listed = ", ".join(f"{plural(n, 'cell')} of {quote(name)}" for name, n in list(counts.items())[:5])
    return (
        f"filled far from anything seen (more than {5} standard deviations from the mean of the column): {listed}. Few rows like "
        "these show the column, so take what is filled as a guess"
    )


def responsible(contributions: Any, prepare: Preprocessing, most: int = 3) -> str:
    """The columns that make a row odd, with their shares."""
    positive = np.maximum(np.nan_to_num(contributions), 0.0)
    by_column = np.bincount(prepare.owner, weights=positive, minlength=len(prepare.names))
    total = by_column.sum()
    if not total > 0:
        return ""
    order = np.argsort(-by_column)[:most]
    return ", ".join(
        f"{shorten(prepare.names[j], 30)} {100 * by_column[j] / total:.0f} %"
        for j in order
        if by_column[j] > 0.05 * total
    )
