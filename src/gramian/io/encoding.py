"""Fitted state as data: objects built of arrays, numbers, text, containers and registered classes, as JSON and tensors.

The JSON has lists for lists, scalars for scalars, and one-word tags for everything else::

    {"tuple": [...]}  {"dict": [[key, value], ...]}  {"array": "t0"}  {"object": "PPCA", "number": 0, "state": {...}}

Objects and arrays that are met twice are stored once and shared again after loading. Decoding never calls anything
that the file names: an object is ``object.__new__(cls)`` of a class in the registry, and its attributes are put in
place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian.exceptions import ModelFileError
from gramian.io.conformity import fill
from gramian.io.older import complete
from gramian.io.registry import class_of, name_of

MAX_DEPTH = 64
PLAIN_KINDS = "biuf"
MAX_COPIED = 64 << 20
"""Bytes that the values of a model may take beside its tensors: texts, copied indices, objects."""
OBJECT_MEMORY = 1_000


def text_memory(n: int, n_bytes: int) -> int:
    """What n texts of n_bytes in UTF-8 can take in memory: an object each, four bytes per character."""
    return 72 * n + 4 * n_bytes


def encode(value: Any) -> tuple[Any, dict[str, Array]]:
    """``value`` as a JSON-able tree and the tensors that it refers to.

    Examples
    --------
    >>> import numpy as np
    >>> tree, tensors = encode({"a": np.arange(3), "b": (1, None)})
    >>> tree
    {'dict': [['a', {'array': 't0'}], ['b', {'tuple': [1, None]}]]}
    >>> decode(tree, tensors)["b"]
    (1, None)
    """
    encoder = _Encoder()
    return encoder.encode(value, "model", 0), encoder.tensors


def decode(tree: Any, tensors: Mapping[str, Array]) -> Any:
    """The value that :func:`encode` made ``tree`` and ``tensors`` of; anything malformed is a ``ModelFileError``."""
    try:
        return _Decoder(tensors).decode(tree, 0)
    except ModelFileError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"the model file's manifest is malformed ({type(error).__name__}: {error}).") from error


# ---------------------------------------------------------------- to data


class _Encoder:
    def __init__(self) -> None:
        self.tensors: dict[str, Array] = {}
        self.arrays: dict[int, Any] = {}
        self.objects: dict[int, int] = {}
        self.alive: list[Any] = []  # an id is only unique while its object lives

    def encode(self, value: Any, path: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError(f"{path} is nested deeper than {MAX_DEPTH} levels and cannot be saved.")
        if value is None or type(value) in (bool, str, int):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        for kind, method in _ENCODERS:
            if isinstance(value, kind):
                return method(self, value, path, depth + 1)
        return self.encode_object(value, path, depth + 1)

    def encode_list(self, value: list[Any], path: str, depth: int) -> Any:
        return [self.encode(item, f"{path}[{i}]", depth) for i, item in enumerate(value)]

    def encode_tuple(self, value: tuple[Any, ...], path: str, depth: int) -> Any:
        if type(value) is not tuple:
            raise ValueError(f"{path} is a {type(value).__name__}, which cannot be saved: only plain tuples are data.")
        return {"tuple": self.encode_list(list(value), path, depth)}

    def encode_dict(self, value: dict[Any, Any], path: str, depth: int) -> Any:
        pairs = [
            [self.encode(key, f"{path} key {key!r}", depth), self.encode(item, f"{path}[{key!r}]", depth)]
            for key, item in value.items()
        ]
        return {"dict": pairs}

    def encode_slice(self, value: slice, path: str, depth: int) -> Any:
        return {"slice": [self.encode(part, path, depth) for part in (value.start, value.stop, value.step)]}

    def encode_range(self, value: range, path: str, depth: int) -> Any:
        return {"range": [value.start, value.stop, value.step]}

    def encode_dtype(self, value: np.dtype[Any], path: str, depth: int) -> Any:
        if value.kind not in PLAIN_KINDS:
            raise ValueError(f"{path} is the dtype {value}, which cannot be saved.")
        return {"dtype": value.str}

    def encode_scalar(self, value: np.generic, path: str, depth: int) -> Any:
        if isinstance(value, np.str_):
            return {"scalar": "str", "value": str(value)}
        if value.dtype.kind not in PLAIN_KINDS or value.dtype.itemsize > 8:
            raise ValueError(f"{path}={value!r} ({value.dtype}) cannot be saved: numbers of at most 8 bytes can.")
        little = value.dtype.newbyteorder("<")
        return {"scalar": little.str, "value": np.asarray(value, dtype=little).tobytes().hex()}

    def encode_array(self, value: Array, path: str, depth: int) -> Any:
        if type(value) is not np.ndarray:
            raise ValueError(
                f"{path} is a {type(value).__name__}, which cannot be saved: turn it into a plain numpy array."
            )
        known = self.arrays.get(id(value))
        if known is None:
            known = self.arrays[id(value)] = self._new_array(value, path)
            self.alive.append(value)
        return known

    def _new_array(self, value: Array, path: str) -> Any:
        kind = value.dtype.kind
        if kind == "O":
            return self._text_objects(value, path)
        if kind == "U":
            # four bytes a character, so that the dtype <Un comes back as it was
            width = value.dtype.itemsize // 4
            flat = (
                np.ascontiguousarray(value.astype(f"<U{max(width, 1)}"))
                .view("<u4")
                .reshape(*value.shape, max(width, 1))
            )
            return {"characters": self._tensor(flat), "width": width}
        if kind not in PLAIN_KINDS or value.dtype.itemsize > 8:
            raise ValueError(
                f"{path} is an array of dtype {value.dtype}, which cannot be saved: numbers, bools and text can."
            )
        # The memory order is kept: BLAS sums in another order on a transposed copy, and loading must be bit-identical.
        fortran = value.ndim > 1 and not value.flags.c_contiguous and abs(value.strides[0]) < abs(value.strides[-1])
        stored = value.T if fortran else value
        encoded: dict[str, Any] = {"array": self._tensor(np.ascontiguousarray(stored).reshape(stored.shape))}
        if fortran:
            encoded["order"] = "F"
        if not value.dtype.isnative:
            encoded["byteorder"] = "big"
        return encoded

    def _text_objects(self, value: Array, path: str) -> Any:
        items = value.ravel().tolist()
        for item in items:
            if not isinstance(item, str):
                raise ValueError(
                    f"{path} is an object array that holds {type(item).__name__}, which cannot be saved: only text can."
                )
        pieces = [str(item).encode("utf-8", "surrogatepass") for item in items]
        ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
        if text_memory(len(ends), sum(map(len, pieces))) > MAX_COPIED:
            raise ValueError(f"{path} is an object array of too much text to be saved: turn it into one of dtype str.")
        text = np.frombuffer(b"".join(pieces), dtype=np.uint8)
        return {"texts": self._tensor(text), "ends": self._tensor(ends), "shape": list(value.shape)}

    def _tensor(self, array: Array) -> str:
        name = f"t{len(self.tensors)}"
        self.tensors[name] = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        return name

    def encode_sparse(self, value: Any, path: str, depth: int) -> Any:
        if value.format not in ("csr", "csc"):
            raise ValueError(
                f"{path} is a sparse {value.format} matrix, which cannot be saved: convert it with .tocsr()."
            )
        parts = [self.encode_array(np.asarray(part), path, depth) for part in (value.data, value.indices, value.indptr)]
        family = "array" if isinstance(value, sparse.sparray) else "matrix"
        return {"sparse": f"{value.format}_{family}", "shape": [int(n) for n in value.shape], "parts": parts}

    def encode_object(self, value: Any, path: str, depth: int) -> Any:
        number = self.objects.get(id(value))
        if number is not None:
            return {"again": number}
        name = name_of(type(value))
        if name is None:
            raise ValueError(_refusal(value, path))
        number = self.objects[id(value)] = len(self.objects)
        self.alive.append(value)
        label = type(value).__name__ if path == "model" else path
        state = {key: self.encode(item, f"{label}.{key}", depth) for key, item in _state(value).items()}
        return {"object": name, "number": number, "state": state}


_ENCODERS: list[tuple[Any, Callable[..., Any]]] = [
    (list, _Encoder.encode_list),
    (tuple, _Encoder.encode_tuple),
    (dict, _Encoder.encode_dict),
    (np.ndarray, _Encoder.encode_array),
    (np.generic, _Encoder.encode_scalar),
    (slice, _Encoder.encode_slice),
    (range, _Encoder.encode_range),
    (np.dtype, _Encoder.encode_dtype),
    ((sparse.spmatrix, sparse.sparray), _Encoder.encode_sparse),
]


def _state(value: Any) -> dict[str, Any]:
    """``vars(value)``, slots included; what a class calls transient is made anew on first need."""
    left_out = getattr(type(value), "_transient", ())
    state = {name: item for name, item in getattr(value, "__dict__", {}).items() if name not in left_out}
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                state[slot] = getattr(value, slot)
    return state


def _refusal(value: Any, path: str) -> str:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
        return (
            f"{path} is a random generator, which cannot be saved: call set_params(random_state=None), or an "
            "integer seed, first."
        )
    if any(base.__module__.startswith("torch.nn") for base in type(value).__mro__):
        return (
            f"{path} is the torch module {type(value).__name__}, which cannot be saved: a model file holds data, never code. "
            "Use a net from a spec (gramian.deep.nets.MLP, nets.Conv), or keep the module's state_dict() yourself and fit again "
            "with max_epochs=0."
        )
    if callable(value) and not hasattr(value, "get_params"):
        name = getattr(value, "__qualname__", kind)
        return (
            f"{path} is the callable {name!r}, which cannot be saved: a model file holds data, never code. "
            "Use a kernel of gramian.kernels (sums and products included), or fit on the Gram matrix with "
            "kernel='precomputed'."
        )
    if hasattr(value, "best_estimator_"):
        return (
            f"{path} is a {type(value).__name__}, which cannot be saved in a model file. Save its best_estimator_, which is "
            "all that predicting needs."
        )
    if kind.startswith("sklearn.pipeline"):
        return (
            f"{path} is a {type(value).__name__}, which cannot be saved in a model file. Save its gramian step, "
            "or the whole with skops.io.dump."
        )
    return (
        f"{path} is a {kind}, which cannot be saved: model files hold gramian's own estimators, kernels, feature maps, "
        "solvers and pre-images only. For other scikit-learn objects use skops.io.dump."
    )


# ---------------------------------------------------------------- and back


class _Decoder:
    def __init__(self, tensors: Mapping[str, Array]) -> None:
        self.tensors = tensors
        self.arrays: dict[str, tuple[Any, Any]] = {}
        self.objects: dict[int, Any] = {}
        self.left = MAX_COPIED

    def decode(self, tree: Any, depth: int) -> Any:
        if depth > 2 * MAX_DEPTH:
            raise ModelFileError(f"the model file's manifest is nested deeper than {2 * MAX_DEPTH} levels.")
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
            raise ModelFileError(f"the model file would take more than {MAX_COPIED >> 20} MiB above its own size.")

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
        return tuple(self.decode(list(tree["tuple"]), depth))

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
        if not isinstance(tree["number"], int) or tree["number"] in self.objects:
            raise ModelFileError("the model file numbers two objects alike.")
        self.spend(OBJECT_MEMORY)
        self.objects[tree["number"]] = value
        state: dict[str, Any] = {}
        for name, item in tree["state"].items():
            if not name.isidentifier() or name.startswith("__") or name in getattr(cls, "_transient", ()):
                raise ModelFileError(f"the model file sets the attribute {name[:40]!r}, which is not allowed.")
            state[name] = self.decode(item, depth)
        complete(tree["object"], state)
        fill(cls, state)
        for name, decoded in state.items():
            if hasattr(value, "__dict__"):
                value.__dict__[name] = decoded  # past any property: data only
            else:
                object.__setattr__(value, name, decoded)
        return value

    def decode_again(self, tree: Any, depth: int) -> Any:
        return self.objects[tree["again"]]


_DECODERS: dict[Any, Callable[..., Any]] = {
    "float": _Decoder.decode_float,
    "tuple": _Decoder.decode_tuple,
    "dict": _Decoder.decode_dict,
    "slice": _Decoder.decode_slice,
    "range": _Decoder.decode_range,
    "dtype": _Decoder.decode_dtype,
    "scalar": _Decoder.decode_scalar,
    "array": _Decoder.decode_array,
    "characters": _Decoder.decode_characters,
    "texts": _Decoder.decode_texts,
    "sparse": _Decoder.decode_sparse,
    "object": _Decoder.decode_object,
    "again": _Decoder.decode_again,
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
