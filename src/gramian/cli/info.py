"""gramian info: what a model file holds."""

from __future__ import annotations

from typing import Any

import click

from gramian.cli._options import Grouped, common_options


@click.command(cls=Grouped, short_help="What a model file holds.")
@click.argument("model", metavar="MODEL")
@common_options
def info(model: str, as_json: bool, quiet: bool) -> None:
    """Say what a model file holds: the model, its table, its versions. Nothing in the file is run.

    \b
    gramian info wine.model
    """
    from pathlib import Path

    from gramian.cli._models import facts_lines, facts_of
    from gramian.cli._session import Session, load_model
    from gramian.io.model_file import read_manifest

    session = Session(as_json=as_json, quiet=quiet)
    fitted = load_model(model)
    manifest = read_manifest(model)
    prepare = fitted.preprocessing
    facts: dict[str, Any] = {
        "file": model,
        "bytes": Path(model).stat().st_size,
        "format version": manifest["version"],
        "written by": f"gramian {manifest['written by']['gramian']}",
        "kind": fitted.kind,
        "rows": prepare.n_rows or None,
        "columns": list(prepare.names),
        "categories": {name: values for name, values in zip(prepare.names, prepare.categories) if values} or None,
        "row names": prepare.ids or None,
        "target": prepare.target,
        "views": {view: [prepare.features[j] for j in columns] for view, columns in prepare.views.items()} or None,
        **facts_of(fitted.estimator),
        **{name: value for name, value in fitted.facts.items() if name.startswith(("held-out", "agreement"))},
    }
    shown = {key: value for key, value in facts.items() if value is not None}
    if "categories" in shown:
        shown["categories"] = [f"{name} ({len(values)})" for name, values in shown["categories"].items()]
    if "views" in shown:
        shown["views"] = [f"{view} ({len(columns)})" for view, columns in shown["views"].items()]
    session.say(facts, facts_lines(shown))
