"""Whether the objects of a model are what their classes say: names, fields and kinds of attributes, shapes that agree.

Names and kinds come from the annotations of the class, of the classes it is made of and of its constructor: what is not declared is not data. Shapes
come from the table of :mod:`gramian.io.schemas`. It holds for what `save` writes
and for what `load` has read, so that a file with the wrong state is refused at once and not by a method later.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian.io.registry import name_of
from gramian.io.schemas import ROWS

ATOMS = (type(None), bool, int, float, str, np.ndarray, np.generic, slice, range, np.dtype)

ORDER_OF_ONE = 1e100


def problem_of(model: Any) -> str | None:
    """The first thing that is wrong in the objects that ``model`` is built of, in words; None where all is well."""
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        value = waiting.pop()
        if isinstance(value, ATOMS) or sparse.issparse(value) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, list | tuple):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
        else:
            name = registered_name(_class(value)) or type(value).__name__
            wrong = _names(value) or _row(value, name) or _kinds(value) or _own(value)
            if wrong:
                return f"{name}: {wrong}"
            waiting.extend(own_attributes(value).values())
    return None


def _class(value: Any) -> Any:
    return type(value)


def own_attributes(value: Any) -> dict[str, Any]:
    """The attributes that an object holds itself, without any property."""
    found = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                found[slot] = getattr(value, slot)
    return found


@cache
def registered_name(cls: type) -> str | None:
    """The name of a class in files, found once."""
    return name_of(cls)


@cache
def defaults(cls: type) -> dict[str, Any]:
    """What the constructor of a class takes: name -> default, or ``MISSING`` where there is none."""
    if is_dataclass(cls):
        return {
            field.name: field.default_factory if field.default is MISSING else field.default  # a factory is callable
            for field in fields(cls)
        }
    if not hasattr(cls, "get_params"):
        return {}
    parameters = inspect.signature(cls).parameters.values()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {p.name: MISSING if p.default is p.empty else p.default for p in parameters if p.kind not in kinds}


def fill(cls: type, state: dict[str, Any]) -> None:
    """Parameters and fields that a file of an earlier release does not know get their defaults."""
    for name, default in defaults(cls).items():
        if name not in state and default is not MISSING:
            state[name] = default() if is_dataclass(cls) and callable(default) else default


# ---------------------------------------------------------------- names and kinds, from the annotations of classes


def _names(value: Any) -> str | None:
    """An object holds all its parameters and fields, and nothing that its class does not declare."""
    cls, known, state = _class(value), defaults(_class(value)), own_attributes(value)
    for name in known:
        if name not in state:
            return f"the attribute {name!r} is missing"
    for name in state.keys() - known.keys():
        there = inspect.getattr_static(cls, name, None)
        if callable(there) or isinstance(there, staticmethod | classmethod):  # a property cannot be hidden
            return f"the attribute {name!r} would hide a method"
        if name not in declarations(cls) and name not in getattr(cls, "_transient", ()) and not _of_others(cls, name):
            return f"there is no attribute {name!r}"
    return None


def _of_others(cls: type, name: str) -> bool:
    """Whether a class of another package, added by a plug-in, has learned this: it need not declare what ends in an underscore."""
    return name.endswith("_") and cls.__module__.partition(".")[0] != "gramian"


def _kinds(value: Any) -> str | None:
    """Each attribute is of the type that its class declares."""
    cls, known, types_of = _class(value), defaults(_class(value)), declarations(_class(value))
    for name, found in own_attributes(value).items():
        hint, parameter = types_of.get(name, Any), name in known and not is_dataclass(cls)
        if parameter and isinstance(found, float) and np.isnan(found):
            return f"the parameter {name!r} is NaN"
        if not (parameter and _number(found) and _takes_numbers(hint)) and not fits(found, hint):
            return f"{name!r} is a {type(found).__name__}, not of the type {_words(hint)}"
    return None


@cache
def declarations(cls: type) -> dict[str, Any]:
    """Name -> type of all that an object may hold: annotations of its class and of the classes it is made of, parameters of its constructor,
    what is kept on first need, and the attributes that :mod:`gramian.io.schemas` describes."""
    found: dict[str, Any] = {}
    for row in ROWS.get(registered_name(cls) or "", {}).values():
        found |= {_STEP.match(path)[1]: Any for path in row if "|" not in path}  # type: ignore[index]
    for base in reversed(cls.__mro__):
        names = vars(sys.modules[base.__module__])
        for name, hint in vars(base).get("__annotations__", {}).items():
            found[name] = _type_of(hint, names)
        for name, there in vars(base).items():
            if isinstance(there, cached_property):
                found[name] = Any
    if not is_dataclass(cls) and hasattr(cls, "get_params"):
        names = vars(sys.modules[cls.__module__])
        for parameter in inspect.signature(cls).parameters.values():
            hint = parameter.annotation
            found[parameter.name] = Any if hint is parameter.empty else _type_of(hint, names)
    return {**INHERITED, **found}


INHERITED = {"n_features_in_": int, "feature_names_in_": np.ndarray, "_coding": Any}
"""What scikit-learn gives every estimator, and what the front door does."""


def _type_of(hint: Any, names: dict[str, Any]) -> Any:
    try:
        return eval(hint, names) if isinstance(hint, str) else hint
    except NameError:  # a name that is only imported for the type checker
        return Any


def _words(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("gramian.", "")[:80]


def _number(value: Any) -> bool:
    return _real(value) or isinstance(value, bool | np.bool_)


def _takes_numbers(hint: Any) -> bool:
    """Whether a parameter of that type may be a number: 1 for True, True for 1 and 2.0 for 2 are checked in use, where they are said or taken."""
    return any(part in (int, float, bool, Any) for part in (hint, *typing.get_args(hint)))


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type, as far as data can tell."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint](value)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in inner)
    if origin is np.ndarray or hint is np.ndarray:
        return isinstance(value, np.ndarray) or sparse.issparse(value)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(inner) == 2 and inner[1] is Ellipsis:
            return all(fits(item, inner[0]) for item in value)
        return len(value) == len(inner) and all(fits(item, part) for item, part in zip(value, inner))
    if origin in (list, Sequence):
        kinds = list if origin is list else (list, tuple)
        return isinstance(value, kinds) and all(fits(item, inner[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items())
    home = origin if isinstance(origin, type) else hint
    if isinstance(home, type) and home.__module__.startswith("gramian"):
        return (
            registered_name(_class(value)) is not None
            if getattr(home, "_is_protocol", False)
            else isinstance(value, home)
        )
    return True


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _real(value: Any) -> bool:
    return _whole(value) or isinstance(value, float | np.floating)


_PLAIN: dict[Any, Any] = {
    Any: lambda value: True,
    float: _real,
    int: _whole,
    bool: lambda value: isinstance(value, bool | np.bool_),
    str: lambda value: isinstance(value, str),
    type(None): lambda value: value is None,
}


# ---------------------------------------------------------------- rows of the table


def _row(value: Any, name: str) -> str | None:
    state = own_attributes(value)
    coding = state.get("_coding")
    if coding is not None and not _belongs(coding, "io.Preprocessing"):
        return f"_coding is a {type(coding).__name__}, not a io.Preprocessing"
    for sign, row in ROWS.get(name, {}).items():
        if sign and sign not in state and not (sign == "*" and any(key.endswith("_") for key in state)):
            continue
        lengths: dict[str, int] = {}
        for path, expected in row.items():
            for found in _at(value, path.split(".")):
                if path.rstrip("?") == "n_features_in_" and _whole(found):
                    # columns may be coded by features, or show nothing: what the model sees counts
                    found = len(own_attributes(coding)["mean"]) if coding is not None else found
                    found = found if state.get("_shown_columns") is None else len(state["_shown_columns"])
                wrong = _wrong(found, expected, lengths)
                if wrong:
                    return f"{path.translate(_MARKS)} {wrong}"
    return None


def _own(value: Any) -> str | None:
    """What the class itself finds wrong: the parameters of a fitted model are those that its `fit` takes, and for rules that a table cannot say
    a class has the method ``_wrong_state``."""
    rule = getattr(type(value), "_wrong_state", None)
    found: str | None = None if rule is None else rule(value)
    if (
        found is None
        and hasattr(type(value), "_check_params")
        and own_attributes(value).keys() - defaults(_class(value)).keys()
    ):
        try:
            value._check_params()
        except (ValueError, TypeError) as error:
            return str(error)
    return found


def _first(state: dict[str, Any], names: list[str]) -> Any:
    there = [state[name] for name in names if name in state]
    return next((value for value in there if value is not None), there[0] if there else _Absent)


_MARKS = str.maketrans({"?": "", "!": "", "*": "[]"})
_STEP = re.compile(r"([\w|]+)([?!]?)(\**)(\??)")


class _Absent:
    """What stands where an attribute should."""


def _at(value: Any, path: list[str]) -> Iterator[Any]:
    """Everything that stands at the end of a path."""
    if not path:
        yield value
        return
    name, optional, loops, holes = _STEP.fullmatch(path[0]).groups()  # type: ignore[union-attr]
    found: Any = _Absent if isinstance(value, ATOMS) else _first(own_attributes(value), name.split("|"))
    if found is _Absent or found is None:
        if not optional or (optional == "!" and found is _Absent):
            yield _Absent
        return
    items: list[Any] = [found]
    for _ in loops:
        if not all(isinstance(item, list | tuple) for item in items):
            yield _Absent
            return
        items = [inner for item in items for inner in item]
    for item in items:
        if item is not None or not holes:
            yield from _at(item, path[1:])


def _wrong(value: Any, expected: str, lengths: dict[str, int]) -> str | None:
    """What is wrong with a value at the end of a path, in words."""
    if value is _Absent:
        return "is missing"
    if expected in _SCALARS:
        return None if _SCALARS[expected](value) else f"is not {_SAID.get(expected, 'a ' + expected)}"
    if expected.startswith("="):
        if not _whole(value):
            return "is not a whole number"
        return _same(lengths, expected[1:], int(value))
    if expected.startswith("list"):
        if not isinstance(value, list | tuple):
            return "is not a list"
        return _same(lengths, expected[5:], len(value)) if expected != "list" else None
    if expected[0].isupper() or "." in expected:
        return None if _belongs(value, expected) else f"is a {type(value).__name__}, not a {expected}"
    return _wrong_array(value, expected.split(), lengths)


def _wrong_array(value: Any, words: list[str], lengths: dict[str, int]) -> str | None:
    rule = words[0] if words[0] in ("~", "?", "+", "++", "%", "labels") or words[0].startswith("#") else ""
    shape = words[1:] if rule else words
    if not isinstance(value, np.ndarray) and not sparse.issparse(value):
        return f"is a {type(value).__name__}, not an array"
    if shape == ["..."]:
        return None if value.dtype.kind in "biuf" and _finite(value) else "is not an array of finite numbers"
    if value.ndim != len(shape):
        return f"has {value.ndim} dimensions, not {len(shape)}"
    for letter, length in zip(shape, value.shape):
        if letter == "1*" and not length:
            return "is empty"
        wrong = None if letter in ("*", "1*") else _same(lengths, letter, int(length))
        if wrong:
            return wrong
    if rule == "labels":
        return None
    numbers = value.data if sparse.issparse(value) else value
    if rule == "?":
        return None if numbers.dtype.kind == "b" else "does not hold truths"
    if numbers.dtype.kind not in ("iuf" if rule in ("", "+", "++", "%") else "biuf"):
        return "does not hold numbers"
    if rule != "~" and numbers.dtype.kind == "f" and not _finite(numbers):
        return "is not finite"
    if rule == "%" and numbers.size and max(numbers.max(), -numbers.min()) > ORDER_OF_ONE:
        return "has a number that is far too large"
    if rule.startswith("#"):
        return _wrong_indices(numbers, rule[1:], lengths)
    if rule == "+" and numbers.size and numbers.min() < 0:
        return "has a negative number"
    if rule == "++" and numbers.size and numbers.min() <= 0:
        return "has a number that is not above zero"
    return None


def _wrong_indices(numbers: Array, bound: str, lengths: dict[str, int]) -> str | None:
    if numbers.dtype.kind not in "iu":
        return "does not hold whole numbers"
    if numbers.size == 0:
        return None
    limit = lengths.get(bound.removeprefix("="), int(np.iinfo(np.int64).max)) - (not bound.startswith("="))
    return None if numbers.min() >= 0 and numbers.max() <= limit else f"has an index outside 0 to {limit}"


def _finite(numbers: Array) -> bool:
    """Without a table of truths as large as the array, unless the largest numbers call for it."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = numbers.sum(dtype=np.float64)
    return bool(np.isfinite(total) or np.isfinite(numbers).all())


def _same(lengths: dict[str, int], letter: str, length: int) -> str | None:
    expected = int(letter) if letter.isdigit() else lengths.setdefault(letter, length)
    return None if expected == length else f"has the length {length} where {expected} is expected"


def _belongs(value: Any, group: str) -> bool:
    name = "" if isinstance(value, ATOMS) else registered_name(_class(value)) or ""
    if group == "Kernel":
        return name.startswith(("kernels.", "sklearn."))
    if group == "GPKernel":
        return name.startswith("sklearn.")
    if group == "Solver":
        return name.startswith("solvers.") and name != "solvers.Spectrum"
    if group == "Subspace":
        return name.startswith("latent.") and name.endswith("Subspace")
    if group == "Preimage":
        return name.startswith("preimage.")
    return name == group


def _belongs_to_gramian(value: Any) -> bool:
    return not isinstance(value, ATOMS) and registered_name(_class(value)) is not None


def _scales(value: Any) -> bool:
    if isinstance(value, str):
        return True
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError):
        return False
    return numbers.ndim <= 1 and bool(np.isfinite(numbers).all() and (numbers > 0).all())


_SCALARS: dict[str, Any] = {
    "number": lambda value: _real(value) and bool(np.isfinite(value)),
    "positive": lambda value: _real(value) and bool(np.isfinite(value)) and value > 0,
    "nonnegative": lambda value: _real(value) and bool(np.isfinite(value)) and value >= 0,
    "count": lambda value: _whole(value) and value >= 0,
    "width": lambda value: _whole(value) and 0 <= value <= 2**20,
    "order": lambda value: _real(value) and bool(1 / ORDER_OF_ONE <= value <= ORDER_OF_ONE),
    "above zero": lambda value: _real(value) and bool(value > 0),
    "scales": lambda value: _scales(value),
    "noises": lambda value: (_real(value) and value == 0) or (not isinstance(value, str) and _scales(value)),
    "never": lambda value: False,
    "any": lambda value: True,
    "flag": lambda value: isinstance(value, bool | np.bool_),
    "text": lambda value: isinstance(value, str),
    "filled": lambda value: isinstance(value, list | tuple) and len(value) > 0,
    "dtype": lambda value: value in ("float32", "float64"),
    "natural": lambda value: _whole(value) and value > 0,
    "fitted": lambda value: (
        _belongs_to_gramian(value) and bool(own_attributes(value).keys() - defaults(_class(value)).keys())
    ),
    "object": lambda value: _belongs_to_gramian(value),
    "map": lambda value: _belongs_to_gramian(value) and callable(getattr(_class(value), "transform", None)),
    "model": lambda value: value == "auto" if isinstance(value, ATOMS) else registered_name(_class(value)) is not None,
}
_SAID = {
    "nonnegative": "a number of at least zero",
    "positive": "a number above zero",
    "above zero": "a number above zero",
    "scales": "a number above zero, nor an array of them",
    "noises": "a number of at least zero, nor an array of numbers above zero",
    "never": "data",
    "filled": "a list of one or more",
    "object": "an object of gramian",
    "map": "a feature map",
    "fitted": "a fitted model of gramian",
    "natural": "a whole number above zero",
    "dtype": "the name of a dtype of numbers",
    "model": "an object of gramian",
}
