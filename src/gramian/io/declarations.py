"""What classes say of the attributes of their objects: their types, what stands beside them, and whether a value is of a type."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, cached_property
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from gramian.io.registry import name_of

ATOMS = (type(None), bool, int, float, str, np.ndarray, np.generic, slice, range, np.dtype)

FOREIGN = {
    "sklearn.RBF": {"length_scale": "scales"},
    "sklearn.Matern": {"length_scale": "scales", "nu": "above zero"},
    "sklearn.RationalQuadratic": {"length_scale": "scales", "alpha": "positive"},
    "sklearn.ExpSineSquared": {"length_scale": "scales", "periodicity": "positive"},
    "sklearn.DotProduct": {"sigma_0": "nonnegative"},
    "sklearn.ConstantKernel": {"constant_value": "nonnegative"},
    "sklearn.WhiteKernel": {"noise_level": "nonnegative"},
    "sklearn.Sum": {"k1": "GPKernel", "k2": "GPKernel"},
    "sklearn.Product": {"k1": "GPKernel", "k2": "GPKernel"},
    "sklearn.Exponentiation": {"kernel": "GPKernel", "exponent": "number"},
}
"""What classes of other packages would say if they were annotated."""


def class_of(value: Any) -> Any:
    """Its class, as a key."""
    return type(value)


def own_attributes(value: Any) -> dict[str, Any]:
    """The attributes that an object holds itself, without any property."""
    found = dict(getattr(value, "__dict__", {}))
    for cls in class_of(value).__mro__:
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


@dataclass(frozen=True)
class Declared:
    """What a class says of an attribute."""

    hint: Any
    rule: str | None = None  # None: its type says all
    maybe: bool = False  # it may be absent

    @classmethod
    def of(cls, hint: Any, default: bool = False) -> Declared:
        """From an annotation."""
        if typing.get_origin(hint) is not Annotated:
            return cls(hint)
        bare, words = typing.get_args(hint)
        rule = words.removeprefix("maybe").lstrip()
        return cls(bare, rule, default or rule != words)


ANYTHING = Declared(Any)


@cache
def declarations(cls: type) -> dict[str, Declared]:
    """All that an object may hold: annotations of its class and of the classes it is made of, parameters of its constructor, and what
    is kept on first need. An index follows the letter that it is held to."""
    found = {name: Declared(Any, rule) for name, rule in FOREIGN.get(registered_name(cls) or "", {}).items()}
    if not is_dataclass(cls) and hasattr(cls, "get_params"):
        names = vars(sys.modules[cls.__module__])
        for parameter in inspect.signature(cls).parameters.values():
            if parameter.name not in found:
                hint = parameter.annotation
                found[parameter.name] = ANYTHING if hint is parameter.empty else Declared.of(_type_of(hint, names))
    for base in reversed(cls.__mro__):
        names = vars(sys.modules[base.__module__])
        for name, hint in vars(base).get("__annotations__", {}).items():
            said = Declared.of(_type_of(hint, names), hasattr(cls, name))
            if said.rule is not None or name not in found or found[name].rule is None:
                found[name] = said
        for name, there in vars(base).items():
            if isinstance(there, cached_property):
                found[name] = ANYTHING
    return dict(sorted({**INHERITED, **found}.items(), key=lambda item: _is_index(item[1].rule or "")))


def _is_index(rule: str) -> bool:
    return "#" in rule and "# " not in rule


INHERITED = {
    "n_features_in_": Declared(int),
    "feature_names_in_": Declared(np.ndarray),
    "_coding": Declared(Any, "io.Preprocessing", maybe=True),
}
"""What scikit-learn gives every estimator, and what the front door does."""


def _type_of(hint: Any, names: dict[str, Any]) -> Any:
    try:
        return eval(hint, names) if isinstance(hint, str) else hint
    except NameError:  # a name that is only imported for the type checker
        return Any


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type, as far as data can tell."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint](value)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in inner)
    if origin is np.ndarray or hint is np.ndarray:
        return isinstance(value, np.ndarray)
    if isinstance(hint, type) and hint.__module__.startswith("scipy.sparse"):
        return bool(sparse.issparse(value))
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
    if isinstance(hint, typing.TypeVar):
        return fits(
            value, hint.__bound__
        )  # more is said by whoever names the class with its part, as `LatentModel[ViewSubspace]`
    home = origin if isinstance(origin, type) else hint
    if isinstance(home, type) and home.__module__.startswith("gramian"):
        if getattr(home, "_is_protocol", False):
            return registered_name(class_of(value)) is not None and all(hasattr(value, name) for name in _verbs(home))
        return isinstance(value, home) and _parts_fit(value, dict(zip(getattr(home, "__parameters__", ()), inner)))
    return True


@cache
def _verbs(protocol: type) -> tuple[str, ...]:
    """What an object must offer to be of a protocol: its methods."""
    return tuple(
        name
        for base in protocol.__mro__
        for name, there in vars(base).items()
        if inspect.isfunction(there) and name[0] != "_"
    )


def _parts_fit(value: Any, said: dict[Any, Any]) -> bool:
    state, declared = own_attributes(value), declarations(class_of(value))
    return (
        all(fits(state.get(name), said[one.hint]) for name, one in declared.items() if one.hint in said)
        if said
        else True
    )


def is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_real_number(value: Any) -> bool:
    return is_whole(value) or isinstance(value, float | np.floating)


_PLAIN: dict[Any, Any] = {
    Any: lambda value: True,
    float: is_real_number,
    int: is_whole,
    bool: lambda value: isinstance(value, bool | np.bool_),
    str: lambda value: isinstance(value, str),
    type(None): lambda value: value is None,
}
