"""A quick start: what scikit-learn imports for others, and this command seldom uses, is imported when it is first used."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar

Callback = TypeVar("Callback", bound=Callable[..., Any])
SELDOM = ("scipy.stats", "numpy.f2py", "numpy.testing")
"""Half of a second: for a function that scikit-learn calls in few of its estimators, and for SciPy's copy of all names in NumPy."""
NEVER = "pandas"
"""scikit-learn looks for it, and does not use it unless it is given a frame: none comes from a command line."""


class ModuleOnFirstUse(ModuleType):
    """Stands for a module until one of its names is asked for.

    >>> module = ModuleOnFirstUse("colorsys")
    >>> module.rgb_to_hsv(1.0, 1.0, 1.0)
    (0.0, 0.0, 1.0)
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)  # what the import statement looks at

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]  # then the import below is a real one, and its parent gets the real module
        return getattr(import_module(self.__name__), name)


def _set(name: str, module: ModuleType) -> None:
    """As the import statement leaves a module: known by name, and an attribute of its parent."""
    parent, _, child = name.rpartition(".")
    setattr(import_module(parent), child, module)
    sys.modules[name] = module


def import_scikit_learn() -> None:
    """Import scikit-learn without the modules that cost most of its time; nothing to do where it is imported already.

    What is imported stays to the end. The garbage collector does not look through it: not while it comes, not later, and not when
    the process ends, which would take a quarter of the time of a small command.
    """
    if "sklearn" in sys.modules:
        return
    gc.disable()
    try:
        _import_without_seldom()
    finally:
        gc.enable()
    gc.freeze()
    atexit.register(gc.freeze)


def _import_without_seldom() -> None:
    """The import, with stand-ins for what is seldom used and without what is never used."""
    for name in SELDOM:
        if name not in sys.modules:
            _set(name, ModuleOnFirstUse(name))
    hidden = NEVER not in sys.modules
    if hidden:
        sys.modules[NEVER] = None  # type: ignore[assignment]  # "not installed", to the import statement
    try:
        import_module("sklearn.base")
    finally:
        if hidden:
            del sys.modules[NEVER]  # whoever needs it from here on can import it


def lightly(callback: Callback) -> Callback:
    """The same function, after scikit-learn was imported without what it seldom needs."""

    @wraps(callback)
    def started(*args: Any, **options: Any) -> Any:
        import_scikit_learn()
        return callback(*args, **options)

    return started  # type: ignore[return-value]
