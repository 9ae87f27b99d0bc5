"""gramian predict: classes, clusters, values or a missing view."""

from __future__ import annotations

from typing import Any

import click

from gramian.cli._options import Grouped, common_options, level_option, output_options, read_options


@click.command(cls=Grouped, short_help="Classes, clusters, values or a missing view.")
@click.argument("model", metavar="MODEL")
@click.argument("table", metavar="IN")
@output_options()
@click.option("--view", metavar="NAME", help="The view to predict from the others (models of views).")
@level_option
@click.option("--id", "ids", multiple=True, metavar="COLUMNS", help="Row names to carry along.")
@read_options
@common_options
def predict(
    model: str,
    table: str,
    output: str,
    view: str | None,
    level: float | None,
    force: bool,
    digits: int,
    escape_formulas: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Write the class (classifier), the cluster (mixtures), the value (regressor) or a missing view (views) of each
    row.

    Values have intervals of probability --level (0.9). With --level, views have them too, and classes the smallest set
    of that probability. Where the truth is in the table, the prediction is compared with it.

    \b
    gramian predict classes.model new.csv -o classes.csv
    gramian predict prices.model new.csv -o prices.csv --level 0.8
    gramian predict views.model left.csv -o right.csv --view right
    """
    from gramian.cli._predictions import predictor
    from gramian.cli._session import Session, check_output, load_model, opened_for, place, write_rows

    check_output(output, force)
    session = Session(as_json=as_json, quiet=quiet, outputs=[output])
    fitted = load_model(model)
    answers = predictor(fitted, view, level)
    opened = opened_for(fitted, session, table, options)
    count = write_rows(
        opened, fitted, output, answers.names, answers.columns, digits=digits, escape_formulas=escape_formulas
    )
    facts, lines = answers.summary
    session.say({"output": output, "rows": count, **facts}, [f"{count} rows predicted -> {place(output)}", *lines])
