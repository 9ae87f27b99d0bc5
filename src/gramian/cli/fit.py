"""gramian fit: a model of a table, in a file."""

from __future__ import annotations

from typing import Any

import click

from gramian.cli._options import KINDS, Grouped, common_options, force_option, model_options, read_options, role_options


@click.command(cls=Grouped, short_help="Fit a model to a table and save it.")
@click.argument("table", metavar="IN")
@click.option("-m", "--model-file", "model_file", required=True, metavar="MODEL", help="File to write the model to.")
@click.option("--model", "kind", type=click.Choice(KINDS), default="ppca", show_default=True, help="Kind of model.")
@click.option(
    "--target",
    metavar="COLUMN",
    help="The column to predict, the series to forecast, or the groups to compare clusters with.",
)
@click.option("--views", metavar="a=1-5,b=6-9", help="The columns of each view.")
@click.option(
    "--check/--no-check", default=True, help="Whether to say how good the model is on held-out rows. [default: yes]"
)
@click.option("--stream/--no-stream", default=None, help="Pass over the file in pieces. [default: large files]")
@model_options
@role_options
@read_options
@force_option
@common_options
def fit(
    table: str,
    model_file: str,
    kind: str,
    check: bool,
    stream: bool | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Fit a model to a table and save it. How good it is, is said of rows that models like it have not seen.

    \b
    gramian fit wine.csv -m wine.model
    gramian fit wine.csv -m classes.model --model classifier --target class
    gramian fit both.csv -m views.model --model views --views left=1-5,right=6-9
    """
    from gramian._catalogue import entry_of_word
    from gramian.cli._models import approximate_options, check_needs, facts_lines, fit_model
    from gramian.cli._session import Input, Session, check_output, rows_with_target
    from gramian.cli._streaming import fit_stream, should_stream
    from gramian.cli.forecast import prepared_series
    from gramian.io.model_file import save

    check_needs(kind, options)
    check_output(model_file, force, table=False)
    session = Session(as_json=as_json, quiet=quiet)
    series = options["target"] if kind == "forecast" else None
    if kind == "forecast":  # a series is modelled in its own units: the forecaster scales it itself
        options = {**options, "no_standardize": True, "target": None}
    opened = Input(session, table, options, classes=kind == "classifier")
    if kind == "forecast":
        whole, prepare, clock, options = prepared_series(session, opened, series, 0, options)
        model = fit_model(kind, options, prepare, prepare.matrix(whole), None, session.verbose, check=check)
        model.clock = {} if clock is None else clock.cells(whole)
    elif should_stream(kind, opened.source.size, stream, opened.source.memory):
        model = fit_stream(kind, session, opened, options)
    else:
        whole = opened.table()
        predicts = entry_of_word(kind).target
        whole = rows_with_target(session, whole, opened.roles.target) if predicts else whole
        prepare = opened.preprocessing([whole])
        target = prepare.targets(whole) if predicts else None
        options, note = approximate_options(kind, options, whole.n_rows)
        session.note(*filter(None, [note]))
        X = prepare.matrix(whole)
        model = fit_model(kind, options, prepare, X, target, session.verbose, check=check)
        session.note(*_about_target(model, whole, X))
    save(model, model_file)
    prepare = model.preprocessing
    facts = {"model": model_file, "kind": kind, "rows": prepare.n_rows, "columns": len(prepare.names), **model.facts}
    session.say(
        facts,
        [
            f"{kind} model of {prepare.n_rows} rows x {len(prepare.names)} column{'s' * (len(prepare.names) != 1)} -> {model_file}",
            *facts_lines(model.facts),
        ],
    )


def _about_target(model: Any, whole: Any, X: Any) -> list[str]:
    """What became of ``--target`` where the model does not predict it: clusters are compared with it."""
    from gramian.cli._goodness import agreement

    target = model.preprocessing.target
    if target is None or model.kind in ("classifier", "regressor"):
        return []
    if model.kind in ("mixture", "kernel-mixture"):
        found = agreement(model.estimator.predict(X), whole[target])
        model.facts |= {} if found is None else {f"agreement with {target} (adjusted Rand index)": found}
        return [f"--model {model.kind} does not use --target: the clusters are compared with {target!r}"]
    return [f"--model {model.kind} does not use --target: column {target!r} is left out of the model"]
