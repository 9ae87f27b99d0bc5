"""Arrays in JSON: little-endian bytes in base64, so that a million points are one short string; strict JSON in and out."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from gramian._arrays import Array

KINDS = {"f4": "<f4", "i4": "<i4", "u1": "|u1"}


def pack(values: Any, kind: str = "f4") -> dict[str, str]:
    """An array as ``{"kind": ..., "data": ...}``; what the page reads as a typed array.

    Examples
    --------
    >>> pack([1.0, 2.0])
    {'kind': 'f4', 'data': 'AACAPwAAAEA='}
    """
    array = np.ascontiguousarray(np.asarray(values), dtype=KINDS[kind])
    return {"kind": kind, "data": base64.b64encode(array.tobytes()).decode("ascii")}


def unpack(value: dict[str, str]) -> Array:
    """The array again.

    Examples
    --------
    >>> unpack(pack([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return np.frombuffer(base64.b64decode(value["data"]), dtype=KINDS[value["kind"]])


def plain(value: Any) -> Any:
    """A number for JSON: null where it is not finite, at most seven digits."""
    value = float(value)
    return float(f"{value:.7g}") if np.isfinite(value) else None


def plains(values: Any) -> list[float | None]:
    """Many numbers for JSON at once.

    Examples
    --------
    >>> plains([1 / 3, 0.0, float("nan"), 123456789.0])
    [0.3333333, 0.0, None, 123456800.0]
    """
    array = np.asarray(values, dtype=np.float64)
    size = np.abs(array)
    usual = np.isfinite(array) & (size > 1e-200) & (size < 1e200)
    unit = 10.0 ** (np.floor(np.log10(np.where(usual, size, 1.0))) - 6)
    near = np.round(array / unit)
    rounded = np.where(usual, np.where(unit < 1, near / np.round(1 / unit, 9), near * unit), array)
    return [value if value == value and abs(value) != np.inf else None for value in rounded.tolist()]


def write_json(value: Any) -> bytes:
    """Strict JSON: never a bare NaN."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def read(body: bytes) -> Any:
    """Strict JSON in; a ValueError in words for anything else."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON.")

    try:
        return json.loads(body.decode("utf-8"), parse_constant=refuse)
    except RecursionError as error:
        raise ValueError("the input is nested too deep.") from error
    except UnicodeDecodeError as error:
        raise ValueError("the input is not UTF-8.") from error
