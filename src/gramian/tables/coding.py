"""Categories as numbers and back: contrasts of a simplex, ranks of an order, or one indicator per value.

K categories are the corners of a simplex, all equally far apart, in K - 1 dimensions. The contrasts are coordinates in
an orthonormal basis of that space, so no category plays a special part and no column is a function of the others:
indicators add up to 1, which a model of columns would take for a direction without noise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gramian._arrays import Array

ORDERS: tuple[tuple[str, ...], ...] = (
    ("very low", "low", "medium", "high", "very high"),
    ("none", "low", "moderate", "high"),
    ("none", "mild", "moderate", "severe", "very severe"),
    ("tiny", "small", "medium", "large", "huge"),
    ("xs", "s", "m", "l", "xl", "xxl"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("never", "seldom", "sometimes", "usually", "always"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "undecided", "agree", "strongly agree"),
    ("very bad", "bad", "fair", "good", "very good", "excellent"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("very poor", "poor", "average", "good", "excellent"),
    ("none", "some", "marked"),
    ("slow", "medium", "fast"),
    ("young", "middle", "old"),
    ("first", "second", "third", "fourth", "fifth"),
    ("1st", "2nd", "3rd", "4th", "5th"),
)
_RANGE = re.compile(
    r"\s*(?:(?P<low><=?|under|below|up to)|>=?|over|above)?\s*(?P<first>\d+(?:\.\d+)?)\s*(?:(?:-|to|–)\s*\d+(?:\.\d+)?|\+)?\D*"
)


def order_of(values: Sequence[str]) -> list[str] | None:
    """The values from low to high where their words or numbers say so; None where they do not.

    Examples
    --------
    >>> order_of(["high", "low", "medium"]), order_of(["25-34", "<18", "18-24"]), order_of(["red", "blue", "green"])
    (['low', 'medium', 'high'], ['<18', '18-24', '25-34'], None)
    """
    if len(values) < 3:
        return None
    words = {value.strip().lower(): value for value in values}
    if len(words) == len(values):
        for order in ORDERS:
            if set(words) <= set(order):
                return [words[word] for word in order if word in words]
    ranges = [_RANGE.fullmatch(value) for value in values]
    if any(match is None for match in ranges) or not any(re.search(r"\d\s*(-|–|to)\s*\d", value) for value in values):
        return None
    keys = [(float(match["first"]), not match["low"]) for match in ranges if match is not None]
    if len(set(keys)) < len(keys):
        return None
    return [value for _, value in sorted(zip(keys, values))]


@lru_cache(maxsize=256)
def contrasts(count: int) -> Array:
    """An orthonormal basis of the vectors that add up to 0, count x (count - 1) (Helmert).

    Examples
    --------
    >>> contrasts(2).round(3).tolist()
    [[-0.707], [0.707]]
    """
    basis = np.zeros((count, count - 1))
    for j in range(1, count):
        basis[:j, j - 1] = -1.0
        basis[j, j - 1] = j
        basis[:, j - 1] /= np.sqrt(j * (j + 1))
    basis.flags.writeable = False
    return basis


def code_of(count: int, coding: str) -> Array:
    """One row per category: its coordinates."""
    if coding == "contrasts":
        return contrasts(count)
    if coding == "ranks":
        return np.arange(count, dtype=np.float64)[:, None]
    return np.eye(count)


def probabilities(block: Array, count: int, coding: str) -> Array:
    """The probability of each category from coordinates in the space of the code: never negative, of sum 1.

    Coordinates are expectations, so they are mixtures of corners; those outside the simplex are cut.
    """
    if coding == "ranks":
        place = np.clip(block, 0, count - 1)
        shares = 1 - np.abs(place - np.arange(count))
    else:
        shares = block @ code_of(count, coding).T + (1 / count if coding == "contrasts" else 0.0)
    shares = np.clip(shares, 0.0, None)
    total = shares.sum(axis=1, keepdims=True)
    return np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1 / count)


def coordinates(codes: Array, count: int, coding: str) -> Array:
    """The coordinates of categories given by position; NaN for position -1, which means missing."""
    table = code_of(count, coding)
    return np.where((codes >= 0)[:, None], table[codes], np.nan)


def labels(name: str, values: Sequence[str], coding: str) -> list[str]:
    """Names of the coordinates of a column."""
    if not values or coding == "ranks":
        return [name]
    if coding == "indicators":
        return [f"{name}={value}" for value in values]
    return [f"{name}={values[1]}"] if len(values) == 2 else [f"{name}[{j}]" for j in range(1, len(values))]
