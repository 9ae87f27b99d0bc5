"""The arrays of a model file: their places checked against the file before anything is allocated, then read in one pass.

The layout is that of safetensors: each tensor has a dtype, a shape and its place in the bytes after the header; together
they fill these bytes exactly, without gaps and without overlap. So the arrays take as much memory as the file, never more.
"""

from __future__ import annotations

import math
from typing import Any, BinaryIO

import numpy as np

from gramian._arrays import Array
from gramian.exceptions import ModelFileError

DTYPES = {
    "BOOL": "|b1",
    **{
        f"{kind}{8 * size}": f"{'|' if size == 1 else '<'}{kind.lower()}{size}"
        for kind in "IU"
        for size in (1, 2, 4, 8)
    },
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}
"""The dtypes of safetensors that a model file may hold, as NumPy spells them."""

Places = list[tuple[str, np.dtype[Any], tuple[int, ...]]]


def places(layout: dict[str, Any], available: int) -> Places:
    """Name, dtype and shape of every tensor in the order of the file, all of them inside its ``available`` bytes."""
    found = []
    for name, entry in layout.items():
        if name == "__metadata__":
            continue
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise ModelFileError("the model file is damaged: a tensor without its place.")
        shape, offsets = entry["shape"], entry["data_offsets"]
        if not _sizes(shape) or not _sizes(offsets) or len(offsets) != 2 or len(shape) > 32:
            raise ModelFileError("the model file is damaged: a tensor without its place.")
        spelled = DTYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
        if spelled is None:
            raise ModelFileError(f"the model file has a tensor of unknown dtype {str(entry['dtype'])[:20]!r}.")
        found.append((offsets[0], offsets[1], name, np.dtype(spelled), tuple(shape)))
    found.sort(key=lambda place: place[:2])
    claimed = max((place[1] for place in found), default=0)
    if claimed != available:
        raise ModelFileError(
            f"the file is truncated or damaged: its tensors claim {claimed} bytes, the file has {available} for them."
        )
    at = 0
    for start, end, name, dtype, shape in found:
        if start != at or end - start != math.prod(shape) * dtype.itemsize:
            raise ModelFileError(f"the model file is damaged: the tensor {name[:20]!r} does not fill its place.")
        at = end
    return [place[2:] for place in found]


def read(file: BinaryIO, tensors: Places, digest: Any) -> dict[str, Array]:
    """The arrays, from where ``file`` stands; every byte goes through ``digest``."""
    arrays = {}
    for name, dtype, shape in tensors:
        array = np.empty(shape, dtype=dtype)
        if array.size:
            bytes_of = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
            if file.readinto(bytes_of) != len(bytes_of):  # type: ignore[attr-defined]
                raise ModelFileError("the file is truncated: it became shorter while it was read.")
            digest.update(bytes_of)
            if dtype.kind == "b" and array.view(np.uint8).max() > 1:
                raise ModelFileError(f"the model file is damaged: the tensor {name[:20]!r} is not true or false.")
        arrays[name] = array.astype(dtype.newbyteorder("="), copy=False)
    return arrays


def _sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**63 for value in values)
