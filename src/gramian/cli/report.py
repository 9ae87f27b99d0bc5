"""gramian report: one HTML page about a table."""

from __future__ import annotations

import os
from typing import Any

import click

from gramian.cli._options import Grouped, common_options, force_option, read_options, role_options


@click.command(cls=Grouped, short_help="One HTML page about a table.")
@click.argument("table", metavar="IN")
@click.option("-o", "--output", required=True, metavar="OUT.html", help="Page to write.")
@click.option(
    "-m", "--model-file", "model_file", metavar="MODEL", help="Also show what this fitted model says of the table."
)
@click.option("--target", metavar="COLUMN", help="A column that colours the pictures; it is not modelled.")
@click.option("--components", metavar="Q", help="Latent dimension: a number, a fraction, mle or bic.")
@click.option("--title", help="Title of the page. [default: the file's name]")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything random.")
@role_options
@read_options
@force_option
@common_options
def report(
    table: str,
    output: str,
    model_file: str | None,
    title: str | None,
    seed: int,
    force: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Write a self-contained page: what the table is, what is missing, its structure, its odd rows, its clusters, and how
    far to trust it. IN may also be a fitted model.

    \b
    gramian report wine.csv -o wine.html --target class
    gramian report wine.csv -o wine.html -m classes.model
    gramian report classes.model -o model.html
    """
    from gramian.cli._models import parsed_components
    from gramian.cli._session import Input, Session, check_output, load_model, opened_for, place
    from gramian.io.source import is_model
    from gramian.reporting import write_model_report, write_report
    from gramian.reporting.report import check_name

    check_name(output)
    check_output(output, force, table=False)
    session = Session(as_json=as_json, quiet=quiet, outputs=[output])
    if is_model(table):
        facts = write_model_report(output, load_model(table), title=title or os.path.basename(table))
        session.say({"output": output, **facts}, [f"report of a {facts['kind']} model -> {place(output)}"])
        return
    model = load_model(model_file) if model_file is not None else None
    opened = Input(session, table, options) if model is None else opened_for(model, session, table, options)
    whole = opened.table()
    prepare = opened.preprocessing([whole]) if model is None else model.preprocessing
    name = title or ("Report" if table == "-" else os.path.basename(table))
    facts = write_report(
        output,
        whole,
        prepare,
        title=name,
        n_components=parsed_components(options["components"]),
        random_state=seed,
        options=opened.reader.options,
        model=model,
        verbose=session.verbose,
    )
    session.say(
        {"output": output, **facts},
        [f"report of {whole.n_rows} rows x {len(prepare.names)} columns -> {place(output)}"],
    )
