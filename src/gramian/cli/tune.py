"""gramian tune: the best settings of a model, found by Bayesian optimisation."""

from __future__ import annotations

from typing import Any

import click

from gramian.cli._options import Grouped, common_options, force_option, read_options, role_options, search_options

KINDS = ("ppca", "kernel", "mixture", "kernel-mixture", "classifier", "regressor")


@click.command(cls=Grouped, short_help="Search for the best settings of a model.")
@click.argument("table", metavar="IN")
@click.option(
    "-m", "--model-file", "model_file", required=True, metavar="MODEL", help="File to write the best model to."
)
@click.option("--model", "kind", type=click.Choice(KINDS), default="kernel", show_default=True, help="Kind of model.")
@click.option("--target", metavar="COLUMN", help="The column to predict (classifier, regressor).")
@click.option("--trials", type=click.IntRange(1), default=25, show_default=True, help="How many settings to try.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Stop after so long.")
@click.option("--scoring", help="Objective: reconstruction, log_likelihood, accuracy, ... [default: by kind]")
@search_options
@role_options
@read_options
@force_option
@common_options
def tune(
    table: str,
    model_file: str,
    kind: str,
    trials: int,
    timeout: float | None,
    scoring: str | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Search for the settings of a model that do best on held-out rows, and save the model fitted with them.

    \b
    gramian tune wine.csv -m best.model --trials 30
    """
    from gramian import BayesSearch
    from gramian.cli._held_out import held_out
    from gramian.cli._models import check_needs, detector_of, estimator_for, facts_lines, facts_of
    from gramian.cli._session import Input, Session, check_output, rows_with_target
    from gramian.io.model_file import save
    from gramian.io.table_model import TableModel, filler_of, without_holes

    check_needs(kind, options)
    check_output(model_file, force, table=False)
    session = Session(as_json=as_json, quiet=quiet)
    opened = Input(session, table, options, classes=kind == "classifier")
    whole = rows_with_target(session, opened.table(), opened.roles.target)
    prepare = opened.preprocessing([whole], min_rows=10)
    X, y = prepare.matrix(whole), prepare.targets(whole) if prepare.target is not None else None
    estimator = estimator_for(kind, options, prepare)
    filler = filler_of(estimator, X)
    full = without_holes(filler, X)
    if kind == "ppca" and options.get("components") is None:
        estimator.set_params(n_components=1)
    search = BayesSearch(
        estimator,
        scoring=scoring,
        n_trials=trials,
        timeout=timeout,
        random_state=options["seed"],
        verbose=session.verbose,
    )
    search.fit(full, y) if y is not None else search.fit(full)
    best = search.best_estimator_
    found = dict(search.best_params_)
    facts_found = facts_of(best) | held_out(kind, best, X, y, prepare)
    model = TableModel(kind, best, prepare, facts_found, detector_of(best, full, options), filler=filler)
    save(model, model_file)
    tried = len(search.trials_["score"])
    facts = {
        "model": model_file,
        "kind": kind,
        "best score": float(search.best_score_),
        "best params": found,
        "trials": tried,
    }
    lines = [f"{tried} trials, best score {search.best_score_:.4g} -> {model_file}"]
    lines += [
        f"  {name} = {value:.4g}" if isinstance(value, float) else f"  {name} = {value}"
        for name, value in found.items()
    ]
    session.say({**facts, **model.facts}, [*lines, *facts_lines(model.facts)])
