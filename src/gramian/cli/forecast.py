"""gramian forecast: the next values of one or more series, with intervals."""

from __future__ import annotations

from typing import Any

import click

from gramian.cli._options import (
    Grouped,
    common_options,
    level_option,
    output_options,
    read_options,
    role_options,
    series_options,
    window_options,
)


@click.command(cls=Grouped, short_help="The next values of series, with intervals.")
@click.argument("table", metavar="IN")
@click.option(
    "--steps",
    type=click.IntRange(1, 100_000),
    metavar="H",
    help="Steps ahead. [default: a season]",
)
@output_options(required=False)
@level_option
@click.option("--target", metavar="COLUMNS", help="The series to forecast. [default: every column of numbers]")
@click.option(
    "--last",
    type=click.IntRange(0),
    default=0,
    help="Learn from the last rows only. [default: from all]",
)
@click.option(
    "--time",
    "time_column",
    metavar="COLUMN",
    help="The times of a table with many series, one below the other; --id names the column that tells them apart.",
)
@series_options
@window_options
@role_options
@read_options
@common_options
def forecast(
    table: str,
    steps: int | None,
    output: str | None,
    force: bool,
    digits: int,
    escape_formulas: bool,
    level: float | None,
    target: str | None,
    last: int,
    time_column: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Forecast the next rows of a table, or of a forecast model.

    \b
    gramian forecast sunspots.csv --steps 20 -o next.csv --level 0.9
    gramian forecast sales.csv --id store --time day
    """
    import numpy as np

    from gramian.cli._session import Session, check_output, place
    from gramian.io.tables import write_table
    from gramian.tables.clocks import Clock

    output = output or "-"
    check_output(output, force)
    level = 0.9 if level is None else level
    session = Session(as_json=as_json, quiet=quiet, outputs=[output])
    options = {**options, "steps": steps, "no_standardize": True}
    if time_column is not None:
        panel, dialect = _panel_of(session, table, target, time_column, options)
        steps = steps or _usual_steps(panel)
        names, columns, words = _panel_columns(panel, steps, level)
        write_table(output, names, columns, dialect=dialect, digits=digits, escape_formulas=escape_formulas)
        facts = {"output": output, "steps": steps, "level": level, "series": panel.n_series_}
        session.say(facts, [f"{steps} steps of {words} with {100 * level:g} % intervals -> {place(output)}"])
        return
    model, clock, dialect = _model_of(session, table, target, last, options)
    prepare, estimator = model.preprocessing, model.estimator
    steps = steps or _usual_steps(estimator)
    middle = np.reshape(estimator.predict(steps), (steps, -1))
    lower, upper = (np.reshape(bound, (steps, -1)) for bound in estimator.predict_interval(steps, level=level))
    names, columns = ["step"], [np.arange(1.0, steps + 1)]
    if isinstance(clock, Clock):
        for name, cells in clock.columns_after(steps).items():
            names.append(name)
            columns.append(cells)
    for j, (name, middle_j, low, high) in enumerate(zip(prepare.names, middle.T, lower.T, upper.T)):
        unit = prepare.scale[j]
        names += [name, f"{name}_lower", f"{name}_upper"]
        columns += [values * unit + prepare.mean[j] for values in (middle_j, low, high)]
    write_table(output, names, columns, dialect=dialect, digits=digits, escape_formulas=escape_formulas)
    facts = {"output": output, "steps": steps, "level": level, "series": list(prepare.names), **model.facts}
    lines = [f"{steps} steps of {', '.join(prepare.names[:6])} with {100 * level:g} % intervals -> {place(output)}"]
    session.say(facts, [*lines, *_skill_lines(estimator)])


def _usual_steps(model: Any) -> int:
    """How far ahead forecasts were judged where nobody said."""
    import numpy as np

    from gramian.series.stretches import usual_horizon

    lengths = [len(model._series)] if model._panel is None else model._panel.lengths
    seasons = model.season_ if isinstance(model.season_, list) else [model.season_]
    return usual_horizon(int(np.median(lengths)), [season for season in seasons if season])


def _panel_of(session: Any, path: str, target: str | None, time: str, options: Any) -> tuple[Any, Any]:
    """A forecaster fitted to a long table, and the dialect of its file."""
    from dataclasses import replace

    import numpy as np

    from gramian import RKMForecaster
    from gramian.cli._session import Input, columns_of

    opened = Input(session, path, options)
    whole = opened.table()
    (clock,) = columns_of(whole.names, (time,), "--time")
    ids = columns_of(whole.names, options.get("ids") or (), "--id")
    if len(ids) != 1:
        raise ValueError(
            "--time is for many series, one below the other: give the column that tells them apart as --id."
        )
    cells = dict(zip(whole.names, whole.columns))
    numbers = [
        name for name in whole.names if name not in (clock, *ids) and np.asarray(cells[name]).dtype.kind in "fiu"
    ]
    wanted = columns_of(whole.names, (target,), "--target") if target else tuple(numbers)
    if len(wanted) != 1 or wanted[0] not in numbers:
        raise ValueError(
            f"--target must be the one column of numbers to forecast, of {', '.join(numbers[:8]) or 'none'}."
        )
    import pandas as pd

    frame = pd.DataFrame({name: np.asarray(cells[name]) for name in (ids[0], clock, wanted[0])})
    model = RKMForecaster(horizon=options["steps"], random_state=options.get("seed"))
    model.fit(frame, id=ids[0], time=clock, value=wanted[0])
    return model, replace(opened.dialect, header=True) if opened.dialect is not None else None


def _panel_columns(model: Any, steps: int, level: float) -> tuple[list[str], list[Any], str]:
    """Names and columns of the forecasts of many series: id, time, mean, lower, upper."""
    import numpy as np

    middle, ends = model.predict(steps), model.predict_interval(steps, level=level)
    names = [str(name) for name in middle.columns]
    times = middle[names[1]]
    told = np.array([str(time)[:10] if str(time).endswith("00:00:00") else str(time) for time in times])
    ids = middle[names[0]].to_numpy()
    columns = [
        ids if ids.dtype.kind in "fiu" else ids.astype(str),
        times.to_numpy(float) if times.dtype.kind in "fiu" else told,
    ]
    columns += [middle["mean"].to_numpy(), ends["lower"].to_numpy(), ends["upper"].to_numpy()]
    return [*names, "lower", "upper"], columns, f"{model.n_series_} series"


def _skill_lines(estimator: Any) -> list[str]:
    """How far off forecasts were on held-out stretches, beside naive ones."""
    skill = getattr(estimator, "skill_", None)
    if not skill:
        return []
    naive = [f"{name} forecast {skill[name]:.4g}" for name in ("naive", "seasonal naive") if name in skill]
    return [f"  mean error on held-out stretches {skill['error']:.4g} ({', '.join(naive)})"]


def _model_of(session: Any, path: str, target: str | None, last: int, options: Any) -> tuple[Any, Any, Any]:
    """The fitted forecaster: from a model file, or fitted to a table."""
    from dataclasses import replace

    from gramian.cli._models import fit_model
    from gramian.cli._session import Input, load_model
    from gramian.io.source import is_model
    from gramian.tables.clocks import Clock
    from gramian.tables.table import TableError

    try:
        opened = Input(session, path, options)
    except TableError:
        if not is_model(path):
            raise
        model = load_model(path)
        if model.kind != "forecast":
            raise ValueError(f"{path}: a {model.kind} model cannot forecast. Fit --model forecast.") from None
        return model, Clock.of_cells(model.clock), None
    whole, prepare, clock, options = prepared_series(session, opened, target, last, options)
    model = fit_model("forecast", options, prepare, prepare.matrix(whole), None, session.verbose)
    return model, clock, replace(opened.dialect, header=True) if opened.dialect is not None else None


def _about_dates(whole: Any, skip: set[str]) -> list[str]:
    """A remark where a column of dates cannot be the clock."""
    from shlex import quote as quoted

    from gramian.tables.column_summary import summaries

    found = [summary for summary in summaries([whole])[0] if summary.name not in skip]
    words = [summary.name for summary in found if summary.kind == "category"]
    remarks = []
    for name in [summary.name for summary in found if summary.kind == "date"][:1]:
        said = f"the dates of column {name!r} do not go on at even steps: each row is taken as the step after the one before, and the forecast has no dates"
        times = [str(cell) for cell in whole[name]]
        keys = [word for word in words if len({*zip(times, map(str, whole[word]))}) == len(times)]
        if keys and len({*times}) < len(times):
            said += f"; if these are several series, one below the other: gramian forecast --id {quoted(keys[0])} --time {quoted(name)}"
        remarks.append(said)
    return remarks


def prepared_series(
    session: Any, opened: Any, target: str | None, last: int, options: Any
) -> tuple[Any, Any, Any, dict[str, Any]]:
    """The rows to learn from, which of their columns are series, the clock, and the options with the clock's seasons."""
    from dataclasses import replace

    from gramian.cli._session import columns_of
    from gramian.tables.clocks import Clock, calendar_columns
    from gramian.tables.preprocessing import Roles

    whole = opened.table()
    if last and whole.n_rows > last:
        session.note(f"learning from the last {last} of {whole.n_rows} rows (--last 0 for all)")
        whole = replace(whole, columns=[column[-last:] for column in whole.columns], lines=whole.lines[-last:])
    clock = Clock.of(whole, skip={*opened.roles.drop})
    wanted = columns_of(whole.names, (target,), "--target") if target else ()
    drop = opened.roles.drop
    if wanted:
        drop = tuple(name for name in whole.names if name not in wanted and name not in opened.roles.id)
    ids = opened.roles.id
    if clock is not None and not set(clock.names) & set(wanted):
        ids = tuple(dict.fromkeys((*ids, *clock.names)))
        drop = tuple(name for name in drop if name not in clock.names)
        session.note(clock.words)
        options = {**options, "usual_seasons": clock.seasons}
    if clock is None:
        session.note(*_about_dates(whole, {*opened.roles.drop, *wanted}))
    calendar = [name for name in calendar_columns(whole, clock) if name not in (*wanted, *drop, *ids)]
    if calendar and len(calendar) < len(whole.names) - len({*drop, *ids}):
        session.note(f"calendar columns are not forecast: {', '.join(calendar[:5])}")
        drop = (*drop, *calendar)
    opened.roles = Roles(id=ids, drop=drop)
    prepare = opened.preprocessing([whole])
    texts = [name for name, values in zip(prepare.names, prepare.categories) if values]
    if texts:
        opened.roles = replace(opened.roles, drop=(*drop, *texts))
        session.note(f"text columns are not forecast: {', '.join(texts[:5])}")
        prepare = opened.preprocessing([whole])
    return whole, prepare, clock, options
