"""gramian reproduce: the figures, tables and misprints of the source papers, with verdicts."""

from __future__ import annotations

import click

from gramian.cli._options import Grouped, common_options


@click.command(cls=Grouped, short_help="Run the source papers' figures, tables and misprints.")
@click.argument("names", nargs=-1, metavar="[NAME ...|all]")
@click.option("-o", "--output", default="gramian-papers", show_default=True, metavar="DIR", help="Folder to write to.")
@click.option("--full", is_flag=True, help="More draws, more data sets, the papers' sizes; minutes to hours.")
@click.option("--list", "listed", is_flag=True, help="List the names and what each of them shows, and stop.")
@click.option("-f", "--force", is_flag=True, help="Write into the folder even if it has files.")
@common_options
@click.pass_context
def reproduce(
    context: click.Context,
    names: tuple[str, ...],
    output: str,
    full: bool,
    listed: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Check what the source papers print: figures, tables, and formulas that are misprinted.

    NAME is one of --list, or the start of several ("dp", "errata-mm"). Writes pictures, tables and one page with the paper's number,
    ours, and a verdict. The exit code is 0 only if everything was run and every verdict is as expected. Some want files in the folder
    named by GRAMIAN_DATA: where one is missing, bundled or made data stand in for it, and that is said. Trained maps need torch.
    """
    from gramian.cli._reproduce import list_claims, run

    if listed:
        list_claims(names, as_json=as_json)
    else:
        context.exit(run(names, output, full=full, force=force, as_json=as_json, quiet=quiet))
