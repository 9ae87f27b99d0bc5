"""Options that several sub-commands share, as decorators, each under the heading that ``--help`` puts it.

A sub-command takes those that mean something to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from gramian._catalogue import words

Command = Callable[..., Any]

KINDS = words()


class Grouped(click.Command):
    """A sub-command whose ``--help`` shows its options under headings, its own first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Its own options, then those of each heading."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                name = "help" if "--help" in parameter.opts else str(parameter.name)
                groups.setdefault(HEADING.get(name, "Options"), []).append(record)
        for heading in ("Options", *GROUPS):
            if heading in groups:
                with formatter.section(heading):
                    formatter.write_dl(groups[heading])


GROUPS = {
    "Model": "components noise kernel length_scale clusters landmarks lags season difference transform seed",
    "Columns": "ids drop text no_standardize",
    "Reading": "skip_lines sheet drop_totals memory delimiter decimal header encoding missing keep array stream",
    "Output": "force digits escape_formulas as_json quiet debug help",
}
"""Headings of ``--help`` and the options under them."""
HEADING = {name: heading for heading, names in GROUPS.items() for name in names.split()}


def _debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(dict)["debug"] = True


def _json(context: click.Context, _: click.Parameter, value: bool) -> bool:
    if value:
        context.ensure_object(dict)["json"] = True
    return value


def _stack(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


common_options = _stack(
    click.option(
        "--json",
        "as_json",
        is_flag=True,
        callback=_json,
        help="Say results and errors as one JSON object.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
    click.option("--debug", is_flag=True, expose_value=False, callback=_debug, help="Full traceback of an error."),
)

read_options = _stack(
    click.option("--skip", "skip_lines", type=click.IntRange(0), metavar="N", help="Lines above the table to skip."),
    click.option(
        "--sheet", metavar="NAME", help="Sheet of a workbook, by name or number. [default: the first with a table]"
    ),
    click.option(
        "--drop-totals/--keep-totals",
        default=None,
        help="Whether rows called total, sum or mean are left out. [default: where they are few]",
    ),
    click.option("--memory", metavar="SIZE", help="Memory the table may take, as in 4GB. [default: what is free]"),
    click.option("--delimiter", help="Between cells (found out otherwise); 'tab' for a tab."),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark (found out otherwise)."),
    click.option("--header/--no-header", default=None, help="Whether the first row has names (found out otherwise)."),
    click.option("--encoding", help="Such as latin-1. [default: UTF-8]"),
    click.option("--missing", multiple=True, metavar="TOKEN", help="A further cell that means missing, as NA does."),
    click.option(
        "--keep",
        multiple=True,
        type=float,
        metavar="VALUE",
        help="A number such as -999 that is no code.",
    ),
    click.option("--array", metavar="NAME", help="Which array of an NPZ file."),
    click.option("--text", multiple=True, metavar="COLUMNS", help="Columns to take as text."),
)

role_options = _stack(
    click.option("--id", "ids", multiple=True, metavar="COLUMNS", help="Row names: carried along, not modelled."),
    click.option("--drop", multiple=True, metavar="COLUMNS", help="Columns to leave out: names, 3, 5-9."),
    click.option("--no-standardize", is_flag=True, help="Model the columns in their own units."),
)

_components = click.option("--components", metavar="Q", help="Latent dimension: a number, a fraction, mle or bic.")
_noise = click.option("--noise", type=float, help="Noise variance, in standardised units. [default: fitted]")
_kernel = click.option("--kernel", help="rbf, linear, polynomial, laplacian, matern, ... [default: by kind]")
_length_scale = click.option("--length-scale", type=float, help="Width of the kernel. [default: found out]")
_clusters = click.option("--clusters", type=int, help="Number of mixture components. [default: on held-out rows]")
_landmarks = click.option(
    "--landmarks", type=int, help="Nystroem with so many. [default: of many rows, as the library does]"
)
_lags = click.option("--lags", type=int, help="Past values that a forecast looks at. [default: by held-out stretches]")
_seed = click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything random.")

model_options = _stack(_components, _noise, _kernel, _length_scale, _clusters, _landmarks, _lags, _seed)
search_options = _stack(_components, _noise, _kernel, _length_scale, _clusters, _landmarks, _seed)
hole_options = _stack(_components, _noise, _clusters, _seed)
window_options = _stack(_components, _noise, _kernel, _length_scale, _lags, _seed)

series_options = _stack(
    click.option("--season", metavar="S", help="Values per season, or none. [default: by held-out stretches]"),
    click.option("--difference", type=click.IntRange(0, 1), help="1: the level is taken off. [default: likewise]"),
    click.option("--transform", type=click.Choice(["none", "log"]), help="Of the series. [default: likewise]"),
)

force_option = click.option("-f", "--force", is_flag=True, help="Overwrite the output if it exists.")
escape_option = click.option(
    "--escape-formulas", is_flag=True, help="Write cells that begin with = + - @ so that no spreadsheet runs them."
)
digits_option = click.option(
    "--digits", type=click.IntRange(3, 17), default=10, show_default=True, help="Significant digits written."
)


def output_options(required: bool = True) -> Callable[[Command], Command]:
    """``-o OUT``, ``--force`` and ``--digits``."""
    return _stack(
        click.option(
            "-o", "--output", required=required, metavar="OUT", help="File to write, '-' for standard output."
        ),
        force_option,
        digits_option,
        escape_option,
    )


level_option = click.option(
    "--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=None, help="Probability, as in 0.9."
)
