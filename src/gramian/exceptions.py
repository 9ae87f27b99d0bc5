"""The warnings and errors that only gramian raises, and the one way in which it warns."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

INSIDE = ("gramian", "sklearn")
"""Packages whose lines mean nothing to whoever is warned."""


class NumericalWarning(UserWarning):
    """The answer is finite and usable, but the numbers behind it deserve a look."""


class DataWarning(UserWarning):
    """Something in the data was taken for what it seems to be: a code of missing, a total, a row name. It says how to keep it as it is."""


class ModelFileError(ValueError):
    """A model file is damaged, foreign, too new, or not a model file at all."""


def warn(message: str, category: type[Warning] = NumericalWarning) -> None:
    """Warn at the line outside of gramian that led here."""
    frame: FrameType | None = sys._getframe()
    level = 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
