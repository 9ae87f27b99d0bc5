"""gramian explore: look inside a table or a model, in the browser."""

from __future__ import annotations

import click

from gramian.cli._options import Grouped, common_options


@click.command(cls=Grouped, short_help="Look inside a table or a model, in the browser.")
@click.argument("table", required=False, metavar="[TABLE|MODEL]")
@click.argument("rows", required=False, metavar="[TABLE]")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Port of the page; 0: any that is free."
)
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
@common_options
def explore(table: str | None, rows: str | None, port: int, no_browser: bool, as_json: bool, quiet: bool) -> None:
    """Serve a page about a table, to this machine only, and open it: a map to drag on, holes filled in place, odd rows and why.
    Without a table: the digits of the demo. Ctrl-C ends it.

    \b
    gramian explore table.csv
    gramian explore model.safetensors table.csv
    """
    from pathlib import Path

    for path in (table, rows):
        if path is not None and not Path(path).exists():
            raise FileNotFoundError(f"{path}: there is no such file.")
        if path is not None and Path(path).is_dir():
            raise IsADirectoryError(f"{path}: this is a folder, not a file.")
    from gramian.explorer import session_of
    from gramian.explorer.server import serve

    if rows is not None:
        from gramian.explorer.opening import is_model_file

        if not is_model_file(str(table)):
            raise ValueError(f"{table}: this is not a model file. Give a table alone, or a model and a table.")
    from gramian.cli._session import Session

    said = Session(as_json=as_json, quiet=quiet)
    serve(
        session_of(table, rows),
        port=port,
        open_browser=not no_browser,
        say=lambda url: said.say({"address": url, "table": table}, [url]),
    )
