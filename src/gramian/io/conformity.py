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
import typing
from collections.abc import Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array
from gramian.io.declarations import (
    ANYTHING,
    ATOMS,
    class_of,
    declarations,
    defaults,
    fits,
    is_real_number,
    is_whole,
    own_attributes,
    registered_name,
)

ORDER_OF_ONE = 1e100


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
                return f"{registered_name(class_of(value)) or class_of(value).__name__}: {wrong}"
            waiting.extend(own_attributes(value).values())
    return None


# ---------------------------------------------------------------- names and kinds, from the annotations of classes


def _names(value: Any) -> str | None:
    """An object holds all its parameters and fields, and nothing that its class does not declare."""
    cls, known, state = class_of(value), defaults(class_of(value)), own_attributes(value)
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
    cls, known, declared = class_of(value), defaults(class_of(value)), declarations(class_of(value))
    for name, found in own_attributes(value).items():
        hint, parameter = declared.get(name, ANYTHING).hint, name in known and not is_dataclass(cls)
        if parameter and isinstance(found, float) and np.isnan(found):
            return f"the parameter {name!r} is NaN"
        if not (parameter and _number(found) and _takes_numbers(hint)) and not fits(found, hint):
            return f"{name!r} is a {type(found).__name__}, not of the type {_words(hint)}"
    return None


def _words(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("gramian.", "")[:80]


def _number(value: Any) -> bool:
    return is_real_number(value) or isinstance(value, bool | np.bool_)


def _takes_numbers(hint: Any) -> bool:
    """Whether a parameter of that type may be a number: 1 for True, True for 1 and 2.0 for 2 are checked in use, where they are said or taken."""
    return any(part in (int, float, bool, Any) for part in (hint, *typing.get_args(hint)))


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
        state, cls = own_attributes(value), class_of(value)
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
            return lengths.agree(rule[1:], int(value)) if is_whole(value) else "is not a whole number"
        if rule[0].isupper() or ("." in rule and "..." not in rule):
            return None if _belongs(value, rule) else f"is a {class_of(value).__name__}, not a {rule}"
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
            return f"is a {class_of(part).__name__}, not an object of gramian"
        theirs = self.of(part).known
        for word in words:
            mine, _, other = word.partition("=")
            wrong = lengths.agree(mine, theirs[other or mine]) if (other or mine) in theirs else None
            if wrong:
                return wrong
        return None


def _is_fitted(value: Any, state: dict[str, Any]) -> bool:
    sign = getattr(class_of(value), "_fitted_by", None)
    return (
        any(name.endswith("_") for name in state.keys() - defaults(class_of(value)).keys())
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
    rule = getattr(class_of(value), "_wrong_state", None)
    found: str | None = None if rule is None else rule(value)
    if (
        found is None
        and hasattr(class_of(value), "_check_params")
        and own_attributes(value).keys() - defaults(class_of(value)).keys()
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
        return f"is a {class_of(value).__name__}, not an array"
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
    name = "" if isinstance(value, ATOMS) else registered_name(class_of(value)) or ""
    if group == "Kernel":
        return name.startswith(("kernels.", "sklearn."))
    if group == "GPKernel":
        return name.startswith("sklearn.")
    if group == "Preimage":
        return name.startswith("preimage.")
    return name == group


def _belongs_to_gramian(value: Any) -> bool:
    return not isinstance(value, ATOMS) and registered_name(class_of(value)) is not None


def _scales(value: Any) -> bool:
    if isinstance(value, str):
        return True
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError):
        return False
    return numbers.ndim <= 1 and bool(np.isfinite(numbers).all() and (numbers > 0).all())


WORDS: dict[str, Any] = {
    "number": lambda value: is_real_number(value) and bool(np.isfinite(value)),
    "positive": lambda value: is_real_number(value) and bool(np.isfinite(value)) and value > 0,
    "nonnegative": lambda value: is_real_number(value) and bool(np.isfinite(value)) and value >= 0,
    "count": lambda value: is_whole(value) and value >= 0,
    "width": lambda value: is_whole(value) and 0 <= value <= 2**20,
    "order": lambda value: is_real_number(value) and bool(1 / ORDER_OF_ONE <= value <= ORDER_OF_ONE),
    "above zero": lambda value: is_real_number(value) and bool(value > 0),
    "scales": lambda value: _scales(value),
    "noises": lambda value: (is_real_number(value) and value == 0) or (not isinstance(value, str) and _scales(value)),
    "never": lambda value: False,
    "text": lambda value: isinstance(value, str),
    "filled": lambda value: isinstance(value, list | tuple) and len(value) > 0,
    "dtype": lambda value: value in ("float32", "float64"),
    "natural": lambda value: is_whole(value) and value > 0,
    "fitted": lambda value: (
        _belongs_to_gramian(value) and bool(own_attributes(value).keys() - defaults(class_of(value)).keys())
    ),
    "object": lambda value: _belongs_to_gramian(value),
    "map": lambda value: _belongs_to_gramian(value) and callable(getattr(class_of(value), "transform", None)),
    "model": lambda value: (
        value == "auto" if isinstance(value, ATOMS) else registered_name(class_of(value)) is not None
    ),
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
