"""gramian demo: the whole mission in about a minute, and a page to look at."""

from __future__ import annotations

import click

from gramian.cli._options import Grouped, common_options


@click.command(cls=Grouped, short_help="Show what the library does, in about a minute.")
@click.option("-o", "--output", default="gramian-demo", show_default=True, metavar="DIR", help="Folder to write to.")
@click.option("-f", "--force", is_flag=True, help="Write into the folder even if it has files.")
@common_options
def demo(output: str, force: bool, as_json: bool, quiet: bool) -> None:
    """Show on scikit-learn's digits and made data what the library does, and write a page about it."""
    from gramian.cli._demo import run

    run(output, force=force, as_json=as_json, quiet=quiet)
