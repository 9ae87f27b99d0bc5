"""gramian score: how likely each row is, and which rows are odd."""

from __future__ import annotations

from typing import Any

import click

from gramian.cli._options import Grouped, common_options, level_option, output_options, read_options


@click.command(cls=Grouped, short_help="Likelihood, T2, SPE and flags of rows.")
@click.argument("model", metavar="MODEL")
@click.argument("table", metavar="IN")
@output_options()
@level_option
@click.option("--id", "ids", multiple=True, metavar="COLUMNS", help="Row names to carry along.")
@read_options
@common_options
def score(
    model: str,
    table: str,
    output: str,
    force: bool,
    digits: int,
    escape_formulas: bool,
    level: float | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Write for each row its log-likelihood, its distance along (T2) and off (SPE) the model, and whether it is
    flagged.

    A row is flagged when it lies beyond what a share --level (0.99) of ordinary rows would reach. Classifiers and
    regressors score the target given the rest of the row, forecasts each row given those before it.

    \b
    gramian score wine.model new.csv -o scores.csv
    """
    from gramian.cli._scores import ScoreTally, scorer, too_many
    from gramian.cli._session import Session, check_output, load_model, opened_for, place, write_rows

    check_output(output, force)
    session = Session(as_json=as_json, quiet=quiet, outputs=[output])
    fitted = load_model(model)
    opened = opened_for(fitted, session, table, options)
    level = level if level is not None else 0.99
    names, function = scorer(fitted, level)
    tally = ScoreTally(names)
    count = write_rows(
        *(opened, fitted, output, names, lambda X, table: tally.add(function(X, table))),
        digits=digits,
        escape_formulas=escape_formulas,
    )
    session.note(*filter(None, [too_many(tally.flagged, count, level)]))
    lines = [f"{count} rows scored, {tally.flagged} flagged -> {place(output)}"]
    lines += [f"  mean log-likelihood  {tally.mean:.4g}"] if tally.mean is not None else []
    session.say({"output": output, "rows": count, "flagged": tally.flagged, "mean log-likelihood": tally.mean}, lines)
