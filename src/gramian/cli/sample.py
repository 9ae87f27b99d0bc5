"""gramian sample: new rows drawn from a model."""

from __future__ import annotations

from typing import Any

import click

from gramian.cli._options import Grouped, common_options, output_options


@click.command(cls=Grouped, short_help="Draw new rows from a model.")
@click.argument("model", metavar="MODEL")
@click.option(
    "-n", "--rows", "count", type=click.IntRange(1), default=100, show_default=True, metavar="N", help="How many rows."
)
@output_options()
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the draws.")
@common_options
def sample(
    model: str,
    count: int,
    output: str,
    force: bool,
    digits: int,
    escape_formulas: bool,
    seed: int,
    as_json: bool,
    quiet: bool,
    **_: Any,
) -> None:
    """Draw new rows from a model, in the units of its table.

    \b
    gramian sample wine.model -n 1000 -o new.csv
    """
    import numpy as np

    from gramian.cli._session import Session, check_output, load_model, place
    from gramian.io.source import memory_available
    from gramian.io.tables import write_table

    check_output(output, force)
    session = Session(as_json=as_json, quiet=quiet, outputs=[output])
    fitted = load_model(model)
    if not hasattr(fitted.estimator, "sample"):
        raise ValueError(f"{model}: rows cannot be drawn from a {fitted.kind} model.")
    prepare = fitted.preprocessing
    if 32 * count * len(prepare.features) > memory_available():
        raise MemoryError(f"-n {count}: so many rows of {len(prepare.features)} features do not fit into memory.")
    drawn = fitted.estimator.sample(count, random_state=seed)
    names, columns = list(prepare.names), list[Any]()
    if isinstance(drawn, tuple):
        drawn, labels = drawn
        names.append("cluster")
        columns = [np.asarray(labels, dtype=float) + 1]
    if isinstance(drawn, list | dict):
        joined = np.full((count, len(prepare.features)), np.nan)
        blocks = drawn.values() if isinstance(drawn, dict) else drawn
        for features, block in zip(prepare.views.values(), blocks):
            joined[:, features] = block
        drawn = joined
    write_table(output, names, [*prepare.columns(drawn), *columns], digits=digits, escape_formulas=escape_formulas)
    session.say(
        {"output": output, "rows": count, "columns": names},
        [f"{count} rows x {len(prepare.names)} columns drawn -> {place(output)}"],
    )
