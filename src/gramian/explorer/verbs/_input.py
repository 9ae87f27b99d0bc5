"""What verbs take: each input has a check that says in words what is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gramian.explorer.session import Session

Check = Callable[[str, Any], Any]
NEEDED = object()


class InputError(ValueError):
    """An input that a verb does not take."""


@dataclass(frozen=True)
class Verb:
    """What is done with a session, and what it takes: name -> (check, default); ``NEEDED`` has no default."""

    run: Callable[..., dict[str, Any]]
    takes: Mapping[str, tuple[Check, Any]]

    def __call__(self, session: Session, given: Any) -> dict[str, Any]:
        """Check the input, then do it."""
        if not isinstance(given, dict):
            raise InputError("the input is a JSON object.")
        strange = sorted(set(given) - set(self.takes))
        if strange:
            takes = ", ".join(self.takes) or "nothing"
            raise InputError(f"{strange[0][:60]!r} is not an input; this takes {takes}.")
        values = {}
        for name, (check, default) in self.takes.items():
            if given.get(name) is None and default is not NEEDED:
                values[name] = default
            elif name not in given:
                raise InputError(f"{name} is needed.")
            else:
                values[name] = check(name, given[name])
        return self.run(session, **values)


def integer(low: int = 0, high: int = 2**31 - 1) -> Check:
    """A whole number."""

    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InputError(f"{name} is a whole number from {low} to {high}.")
        return value

    return check


def number(low: float = -1e12, high: float = 1e12) -> Check:
    """A finite number."""

    def check(name: str, value: Any) -> float:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        if not plain or not math.isfinite(value) or not low <= value <= high:
            raise InputError(f"{name} is a number from {low:g} to {high:g}.")
        return float(value)

    return check


def text(most: int = 1000) -> Check:
    """A text that is not too long."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or len(value) > most:
            raise InputError(f"{name} is a text of at most {most} characters.")
        return value

    return check


def flag(name: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise InputError(f"{name} is true or false.")
    return value


def choice(*words: str) -> Check:
    """One of some words."""

    def check(name: str, value: Any) -> str:
        if value not in words:
            raise InputError(f"{name} is one of {', '.join(words)}.")
        return str(value)

    return check


def list_of(check: Check, most: int) -> Check:
    """A list of such values."""

    def checked(name: str, value: Any) -> list[Any]:
        if not isinstance(value, list) or len(value) > most:
            raise InputError(f"{name} is a list of at most {most} values.")
        return [check(f"{name}[{i}]", item) for i, item in enumerate(value)]

    return checked


def cell(name: str, value: Any) -> str | float | None:
    """A cell: a number, a text, or null for none."""
    if value is None:
        return None
    return text(10_000)(name, value) if isinstance(value, str) else number(-1e300, 1e300)(name, value)


ROW = integer()
LATENT = list_of(number(-1e6, 1e6), 10_000)


def check_row(n_rows: int, row: int) -> int:
    """A row that the table has."""
    if row >= n_rows:
        raise InputError(f"row {row} is not there: the table has {n_rows} rows.")
    return row
