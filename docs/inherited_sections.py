"""An override that says in one line what is special about it is shown with the sections of the method that it overrides."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

SECTION = re.compile(r"^(Parameters|Returns|Yields|Raises|References|Examples)\n-{3,}$", re.MULTILINE)


def complete(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Add, in place, the sections that the docstring of a method lacks and that of a base class has."""
    if what != "method":
        return
    module, _, rest = name.rpartition(".")
    home, _, class_name = module.rpartition(".")
    made = getattr(import_module(home), class_name, None)
    text = "\n".join(lines)
    if not isinstance(made, type) or SECTION.search(text):
        return
    for base in made.__mro__:
        written = inspect.getdoc(vars(base)[rest]) if rest in vars(base) else None
        found = SECTION.search(written or "")
        if found and written:
            lines += ["", *written[found.start() :].splitlines(), ""]
            return
