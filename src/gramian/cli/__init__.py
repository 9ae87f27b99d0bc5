"""The command `gramian`. One file a sub-command; nothing heavy is imported before a sub-command runs."""

import click

from gramian.cli._app import App
from gramian.cli.compare import compare
from gramian.cli.completion import completion
from gramian.cli.demo import demo
from gramian.cli.explore import explore
from gramian.cli.fit import fit
from gramian.cli.forecast import forecast
from gramian.cli.impute import impute
from gramian.cli.info import info
from gramian.cli.predict import predict
from gramian.cli.report import report
from gramian.cli.reproduce import reproduce
from gramian.cli.sample import sample
from gramian.cli.score import score
from gramian.cli.transform import transform
from gramian.cli.tune import tune

HELP = """Probabilistic PCA for tables: fill holes, find anomalies, clusters and classes, forecast, report.

Tables are CSV, TSV, Excel, Parquet, NPY or NPZ; '-' is standard input or output. Start with one of

\b
  gramian impute holes.csv -o full.csv
  gramian report table.csv -o report.html
  gramian explore table.csv
  gramian demo
"""

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(cls=App, invoke_without_command=True, help=HELP, context_settings=SETTINGS)
@click.version_option(package_name="gramian", prog_name="gramian", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the full traceback of an error.")
@click.pass_context
def main(context: click.Context, debug: bool) -> None:
    """The command itself, without a sub-command: its help."""
    if debug:
        context.ensure_object(dict)["debug"] = True
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (
    demo,
    fit,
    transform,
    impute,
    compare,
    score,
    predict,
    sample,
    forecast,
    tune,
    report,
    explore,
    reproduce,
    info,
    completion,
):
    main.add_command(command)

__all__ = ["main"]
