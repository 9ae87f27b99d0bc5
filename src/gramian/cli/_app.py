"""The group of sub-commands: exit codes 0, 1, 2 and 130, errors in one line, tracebacks on ``--debug`` only."""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from gramian.cli._light_imports import lightly
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
