"""Search spaces: a dict of dimensions, each mapped to the unit cube in which the surrogate lives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, clone

from gramian._arrays import Array
from gramian._checks import check_number, is_count, is_real

# The tables that turn a parameter's name, such as kernel="rbf", into the object it stands for.
_TABLES = {
    "kernel": ("gramian.kernels", "KERNELS"),
    "solver": ("gramian.solvers", "SOLVERS"),
    "preimage": ("gramian.preimage", "PREIMAGES"),
}

_FORMS = (
    'a list of categories, (low, high), ("log", low, high), ("log", low, high, d) '
    'or {"range": one of the ranges, "prior": (mean, std)}'
)
_CENTRE = 0.5


@dataclass(frozen=True)
class Real:
    """Numbers from ``low`` to ``high``, on a linear or a log scale; ``size`` of them where a vector is asked for.

    The unit coordinate is u = (f(x) - f(low)) / (f(high) - f(low)) with f the identity or the logarithm. ``prior`` is the
    (mean, std) of a Gaussian on f(x), cut at the bounds.
    """

    low: float
    high: float
    log: bool = False
    size: int | None = None
    prior: tuple[float, float] | None = None

    @property
    def width(self) -> int:
        """How many coordinates of the unit cube it takes."""
        return self.size or 1

    def _ends(self) -> tuple[float, float]:
        return (float(np.log(self.low)), float(np.log(self.high))) if self.log else (self.low, self.high)

    def decode(self, unit: Array) -> Any:
        """The value at unit coordinates."""
        low, high = self._ends()
        inner = low + np.clip(unit, 0.0, 1.0) * (high - low)
        values = np.clip(np.exp(inner) if self.log else inner, self.low, self.high)
        return values if self.size else float(values[0])

    def encode(self, value: Any) -> Array:
        """The unit coordinates of a value."""
        low, high = self._ends()
        values = np.broadcast_to(np.asarray(value, dtype=float), (self.width,))
        return np.clip(((np.log(values) if self.log else values) - low) / (high - low), 0.0, 1.0)

    def snap(self, units: Array) -> Array:
        """The nearest points that a value stands for."""
        return np.clip(units, 0.0, 1.0)

    def unit_prior(self) -> tuple[float, float] | None:
        """Mean and standard deviation of the prior in the unit coordinate."""
        if self.prior is None:
            return None
        low, high = self._ends()
        return (self.prior[0] - low) / (high - low), self.prior[1] / (high - low)


@dataclass(frozen=True)
class Integer(Real):
    """Whole numbers from ``low`` to ``high``, both included; the ends of the unit interval are half a step outside."""

    def _ends(self) -> tuple[float, float]:
        if self.log:
            return float(np.log(max(self.low - 0.5, 0.5))), float(np.log(self.high + 0.5))
        return self.low - 0.5, self.high + 0.5

    def _whole(self, units: Array) -> Array:
        low, high = self._ends()
        inner = low + np.clip(units, 0.0, 1.0) * (high - low)
        return np.clip(np.rint(np.exp(inner) if self.log else inner), self.low, self.high)

    def decode(self, unit: Array) -> Any:
        return int(self._whole(unit)[0])

    def snap(self, units: Array) -> Array:
        low, high = self._ends()
        whole = self._whole(units)
        return np.clip(((np.log(whole) if self.log else whole) - low) / (high - low), 0.0, 1.0)

    def values(self) -> list[int]:
        """All of them."""
        return list(range(int(self.low), int(self.high) + 1))


@dataclass(frozen=True)
class Category:
    """One of some choices, as one-hot coordinates (a single coordinate would order them)."""

    choices: tuple[Any, ...]

    @property
    def width(self) -> int:
        return len(self.choices)

    def index(self, units: Array) -> Array:
        """Which choice each row of coordinates stands for: the largest coordinate."""
        return np.argmax(units, axis=-1)

    def decode(self, unit: Array) -> Any:
        return self.choices[int(self.index(unit))]

    def encode(self, value: Any) -> Array:
        for position, choice in enumerate(self.choices):
            if choice is value or (type(choice) is type(value) and np.all(choice == value)):
                return np.eye(self.width)[position]
        raise ValueError(f"{value!r} is not one of the choices {list(self.choices)!r}.")

    def snap(self, units: Array) -> Array:
        return np.eye(self.width)[self.index(units)]

    def unit_prior(self) -> tuple[float, float] | None:
        return None


Dimension = Real | Category


@dataclass(frozen=True)
class Space:
    """Named dimensions side by side in the unit cube.

    Attributes
    ----------
    dimensions : dict
        Name -> dimension, in the order of the coordinates.
    conditions : dict
        Name -> (the categorical parameter above it, the positions of the choices that have it). A parameter whose
        condition does not hold is dropped from the trial and its coordinates rest at the centre.
    """

    dimensions: dict[str, Dimension]
    conditions: dict[str, tuple[str, tuple[int, ...]]]

    @property
    def width(self) -> int:
        """How many coordinates a point has."""
        return sum(dimension.width for dimension in self.dimensions.values())

    def columns(self) -> dict[str, slice]:
        """Where each dimension's coordinates are."""
        start, places = 0, {}
        for name, dimension in self.dimensions.items():
            places[name] = slice(start, start + dimension.width)
            start += dimension.width
        return places

    def continuous(self) -> Array:
        """Mask of the coordinates along which the surrogate may be climbed: all but the one-hot ones."""
        return np.concatenate(
            [np.full(d.width, not isinstance(d, Category)) for d in self.dimensions.values()] or [np.zeros(0, bool)]
        )

    def n_points(self) -> float:
        """How many different points there are (infinite as soon as one dimension is continuous)."""
        total = 1.0
        for dimension in self.dimensions.values():
            if isinstance(dimension, Category):
                total *= dimension.width
            elif isinstance(dimension, Integer):
                total *= dimension.high - dimension.low + 1
            else:
                return float("inf")
        return total

    def snap(self, points: Array) -> Array:
        """Each row moved to the nearest point that stands for parameters."""
        points = np.array(points, dtype=float, ndmin=2)
        places = self.columns()
        for name, dimension in self.dimensions.items():
            points[:, places[name]] = dimension.snap(points[:, places[name]])
        for name, active in self._active(points).items():
            points[np.ix_(~active, np.arange(places[name].start, places[name].stop))] = _CENTRE
        return points

    def _active(self, points: Array) -> dict[str, Array]:
        """Conditional name -> which rows have it; a parent that is itself conditional must be active too."""
        places = self.columns()
        active: dict[str, Array] = {}
        for name, (parent, allowed) in sorted(self.conditions.items(), key=lambda item: item[0].count("__")):
            above = self.dimensions[parent]
            assert isinstance(above, Category)
            holds = np.isin(above.index(points[:, places[parent]]), allowed)
            active[name] = holds & active.get(parent, np.ones(len(points), bool))
        return active

    def decode(self, point: Sequence[float] | Array) -> dict[str, Any]:
        """The parameters at one point, without those that do not apply there."""
        row = self.snap(np.asarray(point, dtype=float))
        active = self._active(row)
        places = self.columns()
        return {
            name: dimension.decode(row[0, places[name]])
            for name, dimension in self.dimensions.items()
            if name not in active or active[name][0]
        }

    def encode(self, params: Mapping[str, Any]) -> Array:
        """The point of some parameters; those left out rest at the centre."""
        parts = [
            dimension.encode(params[name]) if name in params else np.full(dimension.width, _CENTRE)
            for name, dimension in self.dimensions.items()
        ]
        return self.snap(np.concatenate(parts) if parts else np.zeros(0))[0]

    def from_uniform(self, uniform: Array) -> Array:
        """Points with the law of the priors (uniform where there is none) from uniform numbers."""
        points = np.array(uniform, dtype=float, ndmin=2)
        places = self.columns()
        for name, dimension in self.dimensions.items():
            law = dimension.unit_prior()
            if law is not None:
                mean, std = law
                left, right = ndtr(-mean / std), ndtr((1.0 - mean) / std)
                points[:, places[name]] = mean + std * ndtri(left + points[:, places[name]] * (right - left))
        return self.snap(points)

    def log_prior(self, points: Array) -> Array:
        """Log-density of the Gaussian priors up to a constant, one per row; 0 where there is none."""
        total = np.zeros(len(points))
        places = self.columns()
        for name, dimension in self.dimensions.items():
            law = dimension.unit_prior()
            if law is not None:
                mean, std = law
                total -= 0.5 * (((points[:, places[name]] - mean) / std) ** 2).sum(axis=1)
        return total

    def without(self, name: str) -> Space:
        """The space with one dimension less."""
        return Space({k: v for k, v in self.dimensions.items() if k != name}, self.conditions)

    def summary(self) -> dict[str, str]:
        """Name -> text, to recognise a space in a checkpoint."""
        return {name: repr(dimension) for name, dimension in self.dimensions.items()}


# ---------------------------------------------------------------- from what a user writes


def parse_dimension(name: str, given: Any) -> Dimension:
    """A dimension from its short form; anything else is a ``ValueError`` that names the parameter."""
    if isinstance(given, Real | Category):
        return given
    if isinstance(given, Mapping):
        return _with_prior(name, given)
    if isinstance(given, list):
        if not given:
            raise ValueError(f"space[{name!r}] is an empty list. Give at least one choice.")
        return Category(tuple(given))
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.size:
        return Category(tuple(given.tolist()))
    if not isinstance(given, tuple):
        raise ValueError(f"space[{name!r}]={given!r} is not a dimension. Use {_FORMS}.")
    if given and isinstance(given[0], str):
        if given[0] != "log" or len(given) not in (3, 4):
            raise ValueError(
                f'space[{name!r}]={given!r} is not a dimension. A tuple with a word is ("log", low, high[, d]).'
            )
        low, high = _bounds(name, given[1], given[2], given)
        if low <= 0:
            raise ValueError(f"space[{name!r}]={given!r}: a log range needs bounds above 0, got {low:g}.")
        size = given[3] if len(given) == 4 else None
        if size is not None and (not is_count(size) or size < 1):
            raise ValueError(f"space[{name!r}]={given!r}: the number of values d must be an integer of at least 1.")
        return Real(low, high, log=True, size=None if size is None else int(size))
    if len(given) != 2:
        raise ValueError(f"space[{name!r}]={given!r} is not a dimension. Use {_FORMS}.")
    low, high = _bounds(name, given[0], given[1], given)
    return Integer(low, high) if is_count(given[0]) and is_count(given[1]) else Real(low, high)


def _bounds(name: str, low: Any, high: Any, given: Any) -> tuple[float, float]:
    if not (is_real(low) and is_real(high)):
        raise ValueError(f"space[{name!r}]={given!r}: both bounds must be finite numbers.")
    if not low < high:
        raise ValueError(
            f"space[{name!r}]={given!r}: the lower bound must be below the upper one. To fix a parameter, set it on the estimator."
        )
    return float(low), float(high)


def _with_prior(name: str, given: Mapping[str, Any]) -> Dimension:
    unknown = set(given) - {"range", "prior", "integer"}
    if unknown or "range" not in given:
        raise ValueError(f'space[{name!r}]={dict(given)!r}: a dict has the keys "range", "prior" and "integer" only.')
    inner = parse_dimension(name, given["range"])
    if isinstance(inner, Category):
        raise ValueError(f"space[{name!r}]={dict(given)!r}: a prior belongs to a range, not to categories.")
    whole = bool(given.get("integer", isinstance(inner, Integer)))
    prior = given.get("prior")
    law = None
    if prior is not None:
        if not isinstance(prior, tuple | list) or len(prior) != 2:
            raise ValueError(f"space[{name!r}]: prior={prior!r} must be (mean, std).")
        mean = check_number(f"space[{name!r}] prior mean", prior[0])
        std = check_number(f"space[{name!r}] prior std", prior[1], 0.0, open_low=True)
        if inner.log and mean <= 0:
            raise ValueError(f"space[{name!r}]: the prior mean {mean:g} of a log range must be above 0.")
        # on a log range the mean is in the parameter's own unit and the std in natural-log units, a factor e^std
        law = (float(np.log(mean)) if inner.log else mean, std)
    kind = Integer if whole else Real
    return kind(inner.low, inner.high, inner.log, inner.size, law)


def build_space(given: Any, estimator: BaseEstimator) -> Space:
    """The space of an estimator's parameters: every name is checked, conditions on categorical parents are found.

    A name such as ``kernel__degree`` is asked of every choice of ``kernel``; where only some choices have it, it is
    conditional on them, and where none has, it is an error.
    """
    if not isinstance(given, Mapping):
        raise ValueError(f"space={given!r} must be a dict from parameter names to dimensions, or None.")
    dimensions = {}
    for name, dimension in given.items():
        if not isinstance(name, str):
            raise ValueError(f"space has the key {name!r}. Keys are names of the estimator's parameters.")
        dimensions[name] = parse_dimension(name, dimension)
    conditions: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name in dimensions:
        parent = _categorical_parent(name, dimensions)
        if parent is None:
            _check_name(name, estimator)
            continue
        above = dimensions[parent]
        assert isinstance(above, Category)
        rest = name[len(parent) + 2 :]
        allowed = tuple(i for i, choice in enumerate(above.choices) if rest in _parameters(parent, choice))
        if not allowed:
            raise ValueError(
                f"space has {name!r}, but none of the choices {list(above.choices)!r} of {parent!r} has a parameter {rest!r}."
            )
        if len(allowed) < len(above.choices) or parent in conditions:
            conditions[name] = (parent, allowed)
    return Space(dimensions, conditions)


def _categorical_parent(name: str, dimensions: Mapping[str, Dimension]) -> str | None:
    above = [p for p, d in dimensions.items() if isinstance(d, Category) and name.startswith(f"{p}__")]
    return max(above, key=len) if above else None


def _parameters(parent: str, choice: Any) -> dict[str, Any]:
    value = named_object(parent, choice)
    return dict(value.get_params(deep=True)) if hasattr(value, "get_params") and not isinstance(value, type) else {}


def _check_name(name: str, estimator: BaseEstimator) -> None:
    known = estimator.get_params(deep=True)
    if name in known:
        return
    parent, _, rest = name.rpartition("__")
    if parent in known and rest in _parameters(parent, known[parent]):
        return
    raise ValueError(
        f"space has {name!r}, which is not a parameter of {type(estimator).__name__}. It has {', '.join(sorted(known))}."
    )


def named_object(parameter: str, value: Any) -> Any:
    """The object that a name such as kernel="rbf" stands for; anything else as it is."""
    home = _TABLES.get(parameter.rpartition("__")[2])
    if not isinstance(value, str) or home is None:
        return value
    table = getattr(import_module(home[0]), home[1])
    if value == "auto" and "rbf" in table:  # what is searched here is an RBF's width
        value = "rbf"
    if value not in table:
        return value
    entry = table[value]
    return entry() if callable(entry) else clone(entry)


def with_params(estimator: BaseEstimator, params: Mapping[str, Any]) -> Any:
    """A clone of the estimator with the parameters set; names give way to objects where their own parameters are set."""
    model = clone(estimator)
    current = model.get_params(deep=True)
    settings = {name: clone(value, safe=False) for name, value in params.items()}
    for name in params:
        parent = name.rpartition("__")[0]
        if parent in settings:
            settings[parent] = named_object(parent, settings[parent])
        elif isinstance(current.get(parent), str):
            settings[parent] = named_object(parent, current[parent])
    for name in sorted(settings, key=lambda key: key.count("__")):  # parents first
        model.set_params(**{name: settings[name]})
    return model
