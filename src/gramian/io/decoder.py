"""From JSON and tensors to values: nothing that the file names is called."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian.exceptions import ModelFileError
from gramian.io.data_limits import PLAIN_KINDS, text_memory
from gramian.io.declarations import fill
from gramian.io.registry import class_of
from gramian.policy import FILES


def decode(tree: Any, tensors: Mapping[str, Array]) -> Any:
    """The value that `encode` made ``tree`` and ``tensors`` of; anything malformed is a ``ModelFileError``."""
    try:
        return Decoder(tensors).decode(tree, 0)
    except ModelFileError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"the model file's manifest is malformed ({type(error).__name__}: {error}).") from error


class Decoder:
    """Builds values from a tree; memory beside the tensors is bounded."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        self.tensors = tensors
        self.arrays: dict[str, tuple[Any, Any]] = {}
        self.objects: dict[int, Any] = {}
        self.numbers: set[int] = set()
        self.left = FILES.spare

    def decode(self, tree: Any, depth: int) -> Any:
        if depth > FILES.depth:
            raise ModelFileError(f"the model file's manifest is nested deeper than {FILES.depth} levels.")
        if tree is None or isinstance(tree, bool | int | float | str):
            return tree
        if isinstance(tree, list):
            return [self.decode(item, depth + 1) for item in tree]
        if not isinstance(tree, dict):
            raise ModelFileError("the model file's manifest has an entry of unknown kind.")
        tag = next(iter(tree), None)
        if tag not in _DECODERS:
            raise ModelFileError(f"the model file's manifest has an entry of unknown kind {str(tag)[:40]!r}.")
        if not tree.keys() <= _KEYS[tag]:
            raise ModelFileError(
                f"the model file's manifest has an entry of kind {tag!r} with keys that it does not have."
            )
        return _DECODERS[tag](self, tree, depth + 1)

    def spend(self, n_bytes: int) -> None:
        """Memory beside the tensors, which take as much as the file: bounded for all of a file together."""
        self.left -= n_bytes
        if self.left < 0:
            raise ModelFileError(f"the model file would take more than {FILES.spare >> 20} MiB above its own size.")

    def once(self, name: Any, reading: Any, make: Callable[[], Any]) -> Any:
        """What ``make`` makes of a tensor, made once. A tensor is read in one way only, as it was written."""
        if not isinstance(name, str) or name not in self.tensors:
            raise ModelFileError(
                f"the model file's manifest names the tensor {str(name)[:20]!r}, which is not in the file."
            )
        if name not in self.arrays:
            self.arrays[name] = (reading, make())
        known, made = self.arrays[name]
        if known != reading:
            raise ModelFileError(f"the model file reads the tensor {name[:20]!r} in two ways.")
        return made

    def decode_float(self, tree: Any, depth: int) -> float:
        if tree["float"] not in ("nan", "inf", "-inf"):
            raise ModelFileError("the model file's manifest has a malformed number.")
        return float(tree["float"])

    def decode_tuple(self, tree: Any, depth: int) -> tuple[Any, ...]:
        return tuple([self.decode(item, depth) for item in tree["tuple"]])

    def decode_dict(self, tree: Any, depth: int) -> dict[Any, Any]:
        return {self.decode(key, depth): self.decode(item, depth) for key, item in tree["dict"]}

    def decode_slice(self, tree: Any, depth: int) -> slice:
        start, stop, step = (self.decode(part, depth) for part in tree["slice"])
        return slice(start, stop, step)

    def decode_range(self, tree: Any, depth: int) -> range:
        start, stop, step = tree["range"]
        return range(start, stop, step)

    def decode_dtype(self, tree: Any, depth: int) -> np.dtype[Any]:
        return _plain_dtype(tree["dtype"])

    def decode_scalar(self, tree: Any, depth: int) -> np.generic:
        if tree["scalar"] == "str":
            return np.str_(tree["value"])
        dtype = _plain_dtype(tree["scalar"])
        (value,) = np.frombuffer(bytes.fromhex(tree["value"]), dtype=dtype).astype(dtype.newbyteorder("="))
        return value

    def decode_array(self, tree: Any, depth: int) -> Array:
        order, byteorder = tree.get("order"), tree.get("byteorder")
        if order not in (None, "F") or byteorder not in (None, "big"):
            raise ModelFileError("the model file has an array of unknown order.")

        def made() -> Array:
            array = self.tensors[tree["array"]]
            if byteorder == "big":  # in place, so that there is no second copy
                array = array.byteswap(inplace=True).view(array.dtype.newbyteorder(">"))
            return array.T if order == "F" else array

        array: Array = self.once(tree["array"], ("array", order, byteorder), made)
        return array

    def decode_characters(self, tree: Any, depth: int) -> Array:
        width = tree["width"]

        def made() -> Array:
            codes = self.tensors[tree["characters"]]
            if (
                type(width) is not int
                or codes.dtype != np.uint32
                or codes.ndim < 1
                or codes.shape[-1] != max(width, 1)
                or (codes.size and codes.max() > 0x10FFFF)
            ):
                raise ModelFileError("the model file has malformed text.")
            text = codes.reshape(-1).view(f"=U{max(width, 1)}") if codes.size else np.empty(0, f"=U{max(width, 1)}")
            return text.reshape(codes.shape[:-1])

        array: Array = self.once(tree["characters"], ("characters", width), made)
        return array

    def decode_texts(self, tree: Any, depth: int) -> Array:
        shape = tree["shape"]
        ends = self.once(tree["ends"], "ends", lambda: self.tensors[tree["ends"]])

        def made() -> Array:
            raw = self.tensors[tree["texts"]]
            if not (
                isinstance(shape, list)
                and all(type(n) is int and n >= 0 for n in shape)
                and math.prod(shape) == len(ends)
                and raw.dtype == np.uint8
                and raw.ndim == ends.ndim == 1
                and ends.dtype == np.int64
                and (ends[-1] == len(raw) and ends[0] >= 0 if len(ends) else len(raw) == 0)
                and bool((ends[1:] >= ends[:-1]).all())
            ):
                raise ModelFileError("the model file has malformed text.")
            self.spend(text_memory(len(ends), len(raw)))
            array = np.empty(len(ends), dtype=object)
            start = 0
            for i in range(len(ends)):
                end = int(ends[i])
                array[i] = raw[start:end].tobytes().decode("utf-8", "surrogatepass")
                start = end
            return array.reshape(shape)

        array: Array = self.once(tree["texts"], ("texts", tree["ends"], shape), made)
        return array

    def decode_sparse(self, tree: Any, depth: int) -> Any:
        if tree["sparse"] not in _SPARSE:
            raise ModelFileError(f"the model file has a sparse matrix of unknown kind {str(tree['sparse'])[:40]!r}.")
        data, indices, indptr = (self.decode(part, depth) for part in tree["parts"])
        shape = tree["shape"]
        if (
            not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr))
            or not (isinstance(shape, list) and len(shape) == 2 and all(type(n) is int and n >= 0 for n in shape))
            or data.dtype.kind not in PLAIN_KINDS
            or data.shape != indices.shape
            or indices.dtype.kind != "i"
            or indptr.dtype.kind != "i"
            or len(indptr) != shape[0 if tree["sparse"].startswith("csr") else 1] + 1
        ):
            raise ModelFileError("the model file has a malformed sparse matrix.")
        self.spend(indices.nbytes + indptr.nbytes if indices.dtype != np.int32 or indptr.dtype != np.int32 else 0)
        matrix = _SPARSE[tree["sparse"]]((data, indices, indptr), shape=tuple(shape))
        matrix.check_format(full_check=True)  # indices out of range would be read by C code without a look
        return matrix

    def decode_object(self, tree: Any, depth: int) -> Any:
        cls = class_of(tree["object"])
        value: Any = object.__new__(cls)
        if not isinstance(tree["number"], int) or tree["number"] in self.numbers:
            raise ModelFileError("the model file numbers two objects alike.")
        self.spend(1000)  # bytes of an object
        self.numbers.add(tree["number"])
        state: dict[str, Any] = {}
        for name, item in tree["state"].items():
            if not name.isidentifier() or name.startswith("__") or name in getattr(cls, "_transient", ()):
                raise ModelFileError(f"the model file sets the attribute {name[:40]!r}, which is not allowed.")
            state[name] = self.decode(item, depth)
        fill(cls, state)
        for name, decoded in state.items():
            if hasattr(value, "__dict__"):
                value.__dict__[name] = decoded  # past any property: data only
            else:
                object.__setattr__(value, name, decoded)
        self.objects[tree["number"]] = value  # only now: nothing can hold itself
        return value

    def decode_again(self, tree: Any, depth: int) -> Any:
        if tree["again"] not in self.objects:
            raise ModelFileError("the model file has an object inside itself, or one that it does not describe.")
        return self.objects[tree["again"]]


_DECODERS: dict[Any, Callable[..., Any]] = {
    "float": Decoder.decode_float,
    "tuple": Decoder.decode_tuple,
    "dict": Decoder.decode_dict,
    "slice": Decoder.decode_slice,
    "range": Decoder.decode_range,
    "dtype": Decoder.decode_dtype,
    "scalar": Decoder.decode_scalar,
    "array": Decoder.decode_array,
    "characters": Decoder.decode_characters,
    "texts": Decoder.decode_texts,
    "sparse": Decoder.decode_sparse,
    "object": Decoder.decode_object,
    "again": Decoder.decode_again,
}
_KEYS: dict[Any, set[str]] = {
    **{tag: {tag} for tag in ("float", "tuple", "dict", "slice", "range", "dtype", "again")},
    "scalar": {"scalar", "value"},
    "array": {"array", "order", "byteorder"},
    "characters": {"characters", "width"},
    "texts": {"texts", "ends", "shape"},
    "sparse": {"sparse", "shape", "parts"},
    "object": {"object", "number", "state"},
}
_SPARSE = {
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "csc_matrix": sparse.csc_matrix,
}


def _plain_dtype(text: Any) -> np.dtype[Any]:
    dtype = np.dtype(str(text)[:4])
    if dtype.kind not in PLAIN_KINDS or dtype.itemsize > 8 or dtype.str != text:
        raise ModelFileError(f"the model file names the dtype {str(text)[:40]!r}, which is not allowed.")
    return dtype
