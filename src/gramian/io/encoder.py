"""Fitted state as data: objects built of arrays, numbers, text, containers and registered classes, as JSON and tensors.

The JSON has lists for lists, scalars for scalars, and one-word tags for everything else::

    {"tuple": [...]}  {"dict": [[key, value], ...]}  {"array": "t0"}  {"object": "PPCA", "number": 0, "state": {...}}

Objects and arrays that are met twice are stored once and shared again after loading. Decoding never calls anything
that the file names: an object is ``object.__new__(cls)`` of a class in the registry, and its attributes are put in
place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian.io.data_limits import PLAIN_KINDS, text_memory
from gramian.io.registry import name_of
from gramian.policy import FILES


def encode(value: Any) -> tuple[Any, dict[str, Array]]:
    """``value`` as a JSON-able tree and the tensors that it refers to.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.io.decoder import decode
    >>> tree, tensors = encode({"a": np.arange(3), "b": (1, None)})
    >>> tree
    {'dict': [['a', {'array': 't0'}], ['b', {'tuple': [1, None]}]]}
    >>> decode(tree, tensors)["b"]
    (1, None)
    """
    encoder = Encoder()
    return encoder.encode(value, "model", 0), encoder.tensors


class Encoder:
    """Gathers tensors while a value is turned into a tree; what is met twice is stored once."""

    def __init__(self) -> None:
        self.tensors: dict[str, Array] = {}
        self.arrays: dict[int, Any] = {}
        self.objects: dict[int, int] = {}
        self.alive: list[Any] = []  # an id is only unique while its object lives

    def encode(self, value: Any, path: str, depth: int) -> Any:
        if depth > FILES.depth:
            raise ValueError(f"{path} is nested deeper than {FILES.depth} levels and cannot be saved.")
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
        if text_memory(len(ends), sum(map(len, pieces))) > FILES.spare:
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
            raise ValueError(refusal(value, path))
        number = self.objects[id(value)] = len(self.objects)
        self.alive.append(value)
        label = type(value).__name__ if path == "model" else path
        state = {key: self.encode(item, f"{label}.{key}", depth) for key, item in _state(value).items()}
        return {"object": name, "number": number, "state": state}


_ENCODERS: list[tuple[Any, Callable[..., Any]]] = [
    (list, Encoder.encode_list),
    (tuple, Encoder.encode_tuple),
    (dict, Encoder.encode_dict),
    (np.ndarray, Encoder.encode_array),
    (np.generic, Encoder.encode_scalar),
    (slice, Encoder.encode_slice),
    (range, Encoder.encode_range),
    (np.dtype, Encoder.encode_dtype),
    ((sparse.spmatrix, sparse.sparray), Encoder.encode_sparse),
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


def refusal(value: Any, path: str) -> str:
    """The message about a value of no class that model files hold; ``path`` says where it was met."""
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
