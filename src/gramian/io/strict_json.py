"""JSON from a stranger: no NaN, no number beyond floats, no key twice, ASCII, and a bounded number of values.

The number of values is bounded by the text's brackets, commas and colons before anything is parsed, because an empty list
takes two bytes in a file and more than twenty times as much in memory.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from gramian.exceptions import ModelFileError
from gramian.policy import FILES


def marks(text: str | bytes) -> int:
    """How many values a JSON text can have at most, counted without parsing it.

    >>> marks('{"a": [1, 2]}')
    4
    """
    if isinstance(text, bytes):
        return sum(text.count(mark) for mark in (b"[", b"{", b",", b":"))
    return sum(text.count(mark) for mark in ("[", "{", ",", ":"))


def parse(text: str | bytes, what: str) -> Any:
    """The value of a JSON text that must be strict; ``what`` names the text in the error."""
    if not text.isascii():
        raise ModelFileError(f"the model file is damaged: its {what} is not JSON in ASCII.")
    if marks(text) > FILES.values:
        raise ModelFileError(f"the model file's {what} has more than {FILES.values} values, which no saved model has.")
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_once)
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the model file is damaged: its {what} is not JSON ({type(error).__name__}).") from error


def _no_constant(name: str) -> NoReturn:
    raise ModelFileError(f"the model file is damaged: {name} is not a number in JSON.")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ModelFileError(f"the model file is damaged: the number {digits[:20]} is beyond every float.")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ModelFileError("the model file is damaged: a key stands twice in one table.")
    return made
