"""Whether the objects of a model are what their classes say: names, types, shapes that agree.

All of it stands where an attribute is declared, and nowhere else: what is not declared is not data. A type is an annotation; what it may hold
is said beside it, ``scores: Annotated[Array, "n q"]``. It holds for what `save` writes and for what `load` has read, so that a file
with the wrong state is refused at once and not by a method later.

================  =====================================================================================================================
``"q d"``         an array of finite numbers of that shape: a letter is the same number within one object, ``*`` any, ``1*`` any but 0
``"~ n d"``       the same where NaN may stand (rows with holes)
``"+ q"``         without negative numbers; ``"++ q"`` all above zero; ``"% q q"`` below 1e100: of the order of one
``"# n"``         whole numbers, not negative; ``"#m n"`` and below m, ``"#=m n"`` and at most m
``"? n"``         truths; ``"labels n"`` anything; ``"..."`` finite numbers of any shape
``"=d"``          a whole number, equal to that letter
``"k: + *"``      a list of k items, and what holds for each that is not None
``"its q d"``     of an object of gramian: these letters are its own (``"its r=d"``: r is its d)
``"Kernel"``      an object of that group (GPKernel, Preimage), or of the registered class of that name
``"number"``      a finite number, and the other words of `WORDS`
``""``            nothing more than its type
================  =====================================================================================================================

What is annotated so must be there in a dataclass and in a fitted object (one with an attribute that ends in an underscore, or that its class names as
``_fitted_by``), unless the class has a default for it or the words begin with ``maybe``. There, and where the type says so, None may stand.
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache, cached_property
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian.io.registry import name_of

ATOMS = (type(None), bool, int, float, str, np.ndarray, np.generic, slice, range, np.dtype)

ORDER_OF_ONE = 1e100

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


def problem_of(model: Any) -> str | None:
    """The first thing that is wrong in the objects that ``model`` is built of, in words; None where all is well."""
    seen: set[int] = set()
    shapes = _Shapes()
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
            wrong = _names(value) or shapes.of(value).wrong or _kinds(value) or _own(value)
            if wrong:
                return f"{registered_name(_class(value)) or _class(value).__name__}: {wrong}"
            waiting.extend(own_attributes(value).values())
    return None


def _class(value: Any) -> Any:
    return type(value)


def own_attributes(value: Any) -> dict[str, Any]:
    """The attributes that an object holds itself, without any property."""
    found = dict(getattr(value, "__dict__", {}))
    for cls in _class(value).__mro__:
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
    cls, known, declared = _class(value), defaults(_class(value)), declarations(_class(value))
    for name, found in own_attributes(value).items():
        hint, parameter = declared.get(name, ANYTHING).hint, name in known and not is_dataclass(cls)
        if parameter and isinstance(found, float) and np.isnan(found):
            return f"the parameter {name!r} is NaN"
        if not (parameter and _number(found) and _takes_numbers(hint)) and not fits(found, hint):
            return f"{name!r} is a {type(found).__name__}, not of the type {_words(hint)}"
    return None


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
            return registered_name(_class(value)) is not None and all(hasattr(value, name) for name in _verbs(home))
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
    state, declared = own_attributes(value), declarations(_class(value))
    return (
        all(fits(state.get(name), said[one.hint]) for name, one in declared.items() if one.hint in said)
        if said
        else True
    )


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


# ---------------------------------------------------------------- what stands beside the types


@dataclass
class _Lengths:
    """The letters of an object, and the first thing that is wrong with it."""

    known: dict[str, int] = field(default_factory=dict)
    wrong: str | None = None

    def agree(self, letter: str, length: int) -> str | None:
        """A length is what its letter was before, or what it is from now on."""
        expected = int(letter) if letter.isdigit() else self.known.setdefault(letter, length)
        return None if expected == length else f"has the length {length} where {expected} is expected"


class _Shapes:
    """The letters of the objects of a model, each looked at once."""

    def __init__(self) -> None:
        self.seen: dict[int, _Lengths] = {}

    def of(self, value: Any) -> _Lengths:
        """Those of one object."""
        if id(value) in self.seen:
            return self.seen[id(value)]
        lengths = self.seen[id(value)] = _Lengths()
        state, cls = own_attributes(value), _class(value)
        needed = is_dataclass(cls) or _is_fitted(value, state)
        for name, said in declarations(cls).items():
            if said.rule is None:
                continue
            if name in state:
                found = _columns_seen(state) if name == "n_features_in_" else state[name]
                may_miss = found is None and (said.maybe or (said.hint is not Any and fits(None, said.hint)))
                lengths.wrong = None if may_miss else self.wrong(found, said.rule, lengths)
            elif needed and not said.maybe and not hasattr(value, name):  # a part may answer for it
                lengths.wrong = "is missing"
            if lengths.wrong:
                lengths.wrong = f"{name} {lengths.wrong}"
                break
        return lengths

    def wrong(self, value: Any, rule: str, lengths: _Lengths) -> str | None:
        """What is wrong with a value, in words."""
        if not rule:
            return None
        if value is None:
            return "is None"
        if rule in WORDS:
            return None if WORDS[rule](value) else f"is not {_SAID.get(rule, 'a ' + rule)}"
        if rule.startswith("="):
            return lengths.agree(rule[1:], int(value)) if _whole(value) else "is not a whole number"
        if rule[0].isupper() or ("." in rule and "..." not in rule):
            return None if _belongs(value, rule) else f"is a {_class(value).__name__}, not a {rule}"
        if isinstance(value, list | tuple):
            return self._wrong_items(value, rule, lengths)
        if rule.startswith("its "):
            return self._wrong_part(value, rule.split()[1:], lengths)
        return _wrong_array(value, rule.split(), lengths)

    def _wrong_items(self, items: Sequence[Any], rule: str, lengths: _Lengths) -> str | None:
        length, _, each = rule.partition(": ")
        if " " in length:
            return f"is a {type(items).__name__}, not an array"
        wrong = None if length == "*" else lengths.agree(length, len(items))
        found = (self.wrong(item, each, lengths) for item in items if item is not None)
        return wrong or next((one for one in found if one), None)

    def _wrong_part(self, part: Any, words: list[str], lengths: _Lengths) -> str | None:
        if not _belongs_to_gramian(part):
            return f"is a {_class(part).__name__}, not an object of gramian"
        theirs = self.of(part).known
        for word in words:
            mine, _, other = word.partition("=")
            wrong = lengths.agree(mine, theirs[other or mine]) if (other or mine) in theirs else None
            if wrong:
                return wrong
        return None


def _is_fitted(value: Any, state: dict[str, Any]) -> bool:
    sign = getattr(_class(value), "_fitted_by", None)
    return (
        any(name.endswith("_") for name in state.keys() - defaults(_class(value)).keys())
        if sign is None
        else sign in state
    )


def _columns_seen(state: dict[str, Any]) -> Any:
    """Columns may be coded by features, or show nothing: what the model sees counts."""
    if state.get("_shown_columns") is not None:
        return len(state["_shown_columns"])
    coding = state.get("_coding")
    return state["n_features_in_"] if coding is None else len(own_attributes(coding)["mean"])


def _own(value: Any) -> str | None:
    """What the class itself finds wrong: the parameters of a fitted model are those that its `fit` takes, and for rules that a table cannot say
    a class has the method ``_wrong_state``."""
    rule = getattr(_class(value), "_wrong_state", None)
    found: str | None = None if rule is None else rule(value)
    if (
        found is None
        and hasattr(_class(value), "_check_params")
        and own_attributes(value).keys() - defaults(_class(value)).keys()
    ):
        try:
            value._check_params()
        except (ValueError, TypeError) as error:
            return str(error)
    return found


def _wrong_array(value: Any, words: list[str], lengths: _Lengths) -> str | None:
    rule = words[0] if words[0] in ("~", "?", "+", "++", "%", "labels") or words[0].startswith("#") else ""
    shape = words[1:] if rule else words
    if not isinstance(value, np.ndarray) and not sparse.issparse(value):
        return f"is a {_class(value).__name__}, not an array"
    if shape == ["..."]:
        return None if value.dtype.kind in "biuf" and _finite(value) else "is not an array of finite numbers"
    if value.ndim != len(shape):
        return f"has {value.ndim} dimensions, not {len(shape)}"
    for letter, length in zip(shape, value.shape):
        if letter == "1*" and not length:
            return "is empty"
        wrong = None if letter in ("*", "1*") else lengths.agree(letter, int(length))
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


def _wrong_indices(numbers: Array, bound: str, lengths: _Lengths) -> str | None:
    if numbers.dtype.kind not in "iu":
        return "does not hold whole numbers"
    if numbers.size == 0:
        return None
    limit = lengths.known.get(bound.removeprefix("="), int(np.iinfo(np.int64).max)) - (not bound.startswith("="))
    return None if numbers.min() >= 0 and numbers.max() <= limit else f"has an index outside 0 to {limit}"


def _finite(numbers: Array) -> bool:
    """Without a table of truths as large as the array, unless the largest numbers call for it."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = numbers.sum(dtype=np.float64)
    return bool(np.isfinite(total) or np.isfinite(numbers).all())


def _belongs(value: Any, group: str) -> bool:
    name = "" if isinstance(value, ATOMS) else registered_name(_class(value)) or ""
    if group == "Kernel":
        return name.startswith(("kernels.", "sklearn."))
    if group == "GPKernel":
        return name.startswith("sklearn.")
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


WORDS: dict[str, Any] = {
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
