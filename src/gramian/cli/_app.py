"""The group of sub-commands: exit codes 0, 1, 2 and 130, errors in one line, tracebacks on ``--debug`` only."""

from __future__ import annotations

import atexit
import gc
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn, TypeVar

import click

from gramian.cli._words import in_own_words


class App(click.Group):
    """Sub-commands in the order in which they were added, and one place for every error."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """One more sub-command; what it imports is imported lightly."""
        if cmd.callback is not None:
            cmd.callback = lightly(cmd.callback)
        super().add_command(cmd, name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def main(self, args: Sequence[str] | None = None, **options: Any) -> NoReturn:  # type: ignore[override]
        """Run, and exit with a code: 0 well, 1 an error in data or files, 2 wrong usage, 130 interrupted."""
        options.update(standalone_mode=False, prog_name="gramian")
        state: dict[str, bool] = {}
        try:
            with _short_warnings():
                code = super().main(args, obj=state, **options)
            sys.exit(code if isinstance(code, int) else 0)
        except click.exceptions.Exit as error:
            sys.exit(error.exit_code)
        except (click.Abort, KeyboardInterrupt):
            click.echo("interrupted", err=True)
            sys.exit(130)
        except click.ClickException as error:
            error.show()
            sys.exit(error.exit_code)
        except BrokenPipeError:
            # the reader of a pipe went away, as `head` does: nothing more can be said
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except Exception as error:
            if state.get("debug"):
                traceback.print_exc()
            else:
                line = one_line(error)
                click.echo(json.dumps({"error": line}) if state.get("json") else f"gramian: error: {line}", err=True)
            sys.exit(1)


def one_line(error: BaseException) -> str:
    """What went wrong, in one line. Errors that are ours to fix are called so."""
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror or text}"
    if isinstance(error, ValueError | OSError | ImportError | MemoryError | TypeError) and text:
        return in_own_words(text)
    return (
        f"{type(error).__name__}: {text or 'no message'}. Run again with --debug for the traceback, and please "
        "report it."
    )


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Warnings as one line on standard error, each only once."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = in_own_words(str(message))
        if text not in said:
            said.add(text)
            click.echo(f"warning: {text}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


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
