"""Fitted state as data: objects built of arrays, numbers, text, containers and registered classes, as JSON and tensors.

The JSON has lists for lists, scalars for scalars, and one-word tags for everything else::

    {"tuple": [...]}  {"dict": [[key, value], ...]}  {"array": "t0"}  {"object": "PPCA", "number": 0, "state": {...}}

Objects and arrays that are met twice are stored once and shared again after loading. Decoding never calls anything
that the file names: an object is ``object.__new__(cls)`` of a class in the registry, and its attributes are put in
place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gramian._arrays import Array
from gramian.exceptions import ModelFileError
from gramian.io.decoder import Decoder
from gramian.io.encoder import Encoder


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
    encoder = Encoder()
    return encoder.encode(value, "model", 0), encoder.tensors


def decode(tree: Any, tensors: Mapping[str, Array]) -> Any:
    """The value that :func:`encode` made ``tree`` and ``tensors`` of; anything malformed is a ``ModelFileError``."""
    try:
        return Decoder(tensors).decode(tree, 0)
    except ModelFileError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"the model file's manifest is malformed ({type(error).__name__}: {error}).") from error
