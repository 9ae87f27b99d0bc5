"""gramian fit: a model of a table, in a file."""

from __future__ import annotations

from typing import Any

import click

from gramian.cli._options import KINDS, common_options, force_option, model_options, read_options, role_options


@click.command(short_help="Fit a model to a table and save it.")
@click.argument("table", metavar="IN")
@click.option("-m", "--model-file", "model_file", required=True, metavar="MODEL", help="File to write the model to.")
@click.option("--model", "kind", type=click.Choice(KINDS), default="ppca", show_default=True, help="Kind of model.")
@click.option("--target", metavar="COLUMN", help="The column to predict (classifier, regressor).")
@click.option("--views", metavar="a=1-5,b=6-9", help="The columns of each view.")
@click.option("--stream/--no-stream", default=None, help="Pass over the file in pieces (ppca). [default: large files]")
@model_options
@role_options
@read_options
@force_option
@common_options
def fit(
    table: str, model_file: str, kind: str, stream: bool | None, force: bool, as_json: bool, quiet: bool, **options: Any
) -> None:
    """Fit a model to a table and save it.

    \b
    gramian fit wine.csv -m wine.model
    gramian fit wine.csv -m classes.model --model classifier --target class
    gramian fit both.csv -m views.model --model views --views left=1-5,right=6-9
    """
    from gramian.cli._models import approximated, check_needs, facts_lines, fitted, should_stream
    from gramian.cli._session import Input, Session, check_output
    from gramian.io.model_file import save

    check_needs(kind, options)
    check_output(model_file, force, table=False)
    session = Session(as_json=as_json, quiet=quiet)
    if kind == "forecast":  # a series is modelled in its own units: the forecaster scales it itself
        options = {**options, "no_standardize": True}
    opened = Input(session, table, options, classes=kind == "classifier")
    if should_stream(kind, opened.source.size, stream):
        model = _streamed(session, opened, options)
    else:
        whole = opened.table()
        prepare = opened.preprocessing([whole])
        target = prepare.targets(whole) if prepare.target is not None and kind in ("classifier", "regressor") else None
        options, note = approximated(kind, options, whole.n_rows)
        session.note(*filter(None, [note]))
        model = fitted(kind, options, prepare, prepare.matrix(whole), target, session.verbose)
    save(model, model_file)
    prepare = model.preprocessing
    facts = {"model": model_file, "kind": kind, "rows": prepare.n_rows, "columns": len(prepare.names), **model.facts}
    session.say(
        facts,
        [
            f"{kind} model of {prepare.n_rows} rows x {len(prepare.names)} columns -> {model_file}",
            *facts_lines(model.facts),
        ],
    )


def _streamed(session: Any, opened: Any, options: Any) -> Any:
    """Two passes over the file, in pieces: what the columns are, then their moments."""
    import numpy as np

    from gramian.cli._models import estimator_for, facts_of, limits_of
    from gramian.io.table_model import TableModel

    prepare = opened.preprocessing()
    first: list[Any] = []

    def pieces() -> Any:
        for part in opened.reader.batches():
            X = prepare.matrix(part)
            if np.isnan(X).any():
                row, feature = np.argwhere(np.isnan(X))[0]
                column = prepare.names[int(prepare.owner[feature])]
                raise ValueError(
                    f"{part.place(int(row), column)}: a missing value. --stream needs complete rows: drop "
                    "--stream, or the column."
                )
            first.append(X) if not first else None
            yield X

    estimator = estimator_for("ppca", options, prepare, session.verbose).fit_batches(pieces())
    return TableModel("ppca", estimator, prepare, limits_of(estimator, first[0]), facts_of(estimator))
