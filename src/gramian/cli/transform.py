"""gramian transform: the latent coordinates of rows."""

from __future__ import annotations

from typing import Any

import click

from gramian.cli._options import Grouped, common_options, output_options, read_options


@click.command(cls=Grouped, short_help="Latent coordinates of rows.")
@click.argument("model", metavar="MODEL")
@click.argument("table", metavar="IN")
@output_options()
@click.option("--id", "ids", multiple=True, metavar="COLUMNS", help="Row names to carry along.")
@read_options
@common_options
def transform(
    model: str,
    table: str,
    output: str,
    force: bool,
    digits: int,
    escape_formulas: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Write the latent coordinates E[z|x] of each row.

    \b
    gramian transform wine.model wine.csv -o latent.csv
    """
    from gramian.cli._session import Session, check_output, load_model, opened_for, place, write_rows

    check_output(output, force)
    session = Session(as_json=as_json, quiet=quiet, outputs=[output])
    fitted = load_model(model)
    if not callable(getattr(fitted.estimator, "transform", None)):
        raise ValueError(f"{model}: a {fitted.kind} model has no latent coordinates for rows.")
    opened = opened_for(fitted, session, table, options)
    named = hasattr(fitted.estimator, "get_feature_names_out")
    width = len(fitted.estimator.get_feature_names_out()) if named else int(fitted.estimator.n_components_)
    names = [f"z{i}" for i in range(1, width + 1)]
    count = write_rows(
        opened,
        fitted,
        output,
        names,
        lambda X, _: list(fitted.estimator.transform(X).T),
        digits=digits,
        escape_formulas=escape_formulas,
    )
    session.say(
        {"output": output, "rows": count, "columns": names},
        [f"{count} rows x {width} latent coordinates -> {place(output)}"],
    )
