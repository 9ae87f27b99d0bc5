"""gramian impute: fill the holes of a table, with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import click

from gramian.cli._options import Grouped, common_options, hole_options, output_options, read_options, role_options


@click.command(cls=Grouped, short_help="Fill the holes of a table, with uncertainty.")
@click.argument("table", metavar="IN")
@output_options()
@click.option(
    "--std",
    "std_file",
    metavar="FILE",
    help="Also write standard deviations (0 where observed), and probabilities of categories.",
)
@click.option(
    "--draws",
    metavar="M",
    type=click.IntRange(min=1),
    help="Write M completed tables (OUT_1, OUT_2, ...) that differ by what is unknown, for gramian.pool.",
)
@click.option(
    "--bounds",
    metavar="COLUMN=LOW:HIGH",
    multiple=True,
    help="What may be filled in, per column; none: anything. [default: what the columns show]",
)
@click.option("-m", "--model-file", "model_file", metavar="MODEL", help="Use this model instead of fitting one.")
@click.option(
    "--model", "kind", type=click.Choice(["ppca", "mixture"]), default="ppca", show_default=True, help="Model to fit."
)
@hole_options
@role_options
@read_options
@common_options
def impute(
    table: str,
    output: str,
    std_file: str | None,
    draws: int | None,
    bounds: tuple[str, ...],
    model_file: str | None,
    kind: str,
    force: bool,
    digits: int,
    escape_formulas: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Fill the holes of a table. Observed cells are copied as they are, to the last character.

    \b
    gramian impute holes.csv -o full.csv --std uncertainty.csv
    """
    from gramian.cli._models import facts_lines
    from gramian.cli._session import Input, Session, check_distinct, check_output, load_model, opened_for, place
    from gramian.cli._streaming import should_stream, streamed_imputer
    from gramian.reporting.fill_quality import quality_lines
    from gramian.reporting.words import of_extrapolated

    allowed = _parsed_bounds(bounds)
    check_output(output, force)
    check_output(std_file, force)
    check_distinct(output, std_file)
    session = Session(as_json=as_json, quiet=quiet, outputs=[output, std_file])
    filling: Any = None
    if model_file is not None:
        model = load_model(model_file)
        if not hasattr(model.estimator, "impute"):
            raise ValueError(f"{model_file}: a {model.kind} model cannot impute. Fit --model ppca or mixture.")
        opened = opened_for(model, session, table, options)
        opened.reader.options = replace(opened.reader.options, skip=frozenset(opened.roles.drop))
    else:
        opened = Input(session, table, options)
        asked = kind != "ppca" or options["components"] is not None or options["noise"] is not None
        opened.reader.options = replace(opened.reader.options, limits=not asked)
        if should_stream(kind, opened.source.size, None, opened.source.memory):
            model = streamed_imputer(kind, not asked, session, opened, options)
            session.note("the file is large for the memory that may be used: it is read in pieces, without its clock")
        else:
            filling = _fill_in_memory(session, opened, kind, options, allowed)
    filling = TableFiller(model) if filling is None else filling
    model, along = filling.model, filling.along
    how = {"digits": digits, "escape_formulas": escape_formulas}
    if draws is not None:
        _write_draws(session, opened, filling, output, draws, force, how)
        return
    filled, far = _write(opened, filling, output, std_file, how)
    if far:
        session.note(of_extrapolated(far))
    total = sum(filled.values())
    timed = set(filling.said)
    if model.facts.get("n_components") == 0 and any(n for name, n in filled.items() if name not in timed):
        rest = " other" if timed else ""
        session.note(f"no structure was found: every{rest} missing cell was filled with the mean of its column")
    if not total:
        session.note("the table has no missing cells: it is copied")
    facts = {"output": output, "std": std_file, "imputed": total, "by column": filled, **model.facts}
    if along is not None:
        facts |= {"clock": along.clock.name, "filled along the clock": sorted(timed), "ways": along.ways}
    lines = [f"{total} missing cell{'s' * (total != 1)} filled -> {place(output)}"]
    busiest = sorted(filled.items(), key=lambda item: -item[1])[:8]
    lines += [f"  {name}: {count}" for name, count in busiest if count]
    if len([count for count in filled.values() if count]) > len(busiest):
        lines.append("  ...")
    facts["held out"] = {name: row.facts for name, row in filling.quality.items() if filled.get(name)}
    session.say(facts, [*lines, *quality_lines(filling.quality, filled), *facts_lines(model.facts)])


def _parsed_bounds(words: tuple[str, ...]) -> Any:
    """``--bounds`` as `LatentImputer` takes it."""
    from gramian.tables.bounds import check_bounds

    if not words:
        return "auto"
    if words == ("none",):
        return None
    found: dict[str, tuple[float | None, float | None]] = {}
    for word in words:
        column, equals, ends = word.rpartition("=")
        low, colon, high = ends.partition(":")
        try:
            pair = float(low) if low.strip() else None, float(high) if high.strip() else None
        except ValueError:
            colon = ""
        if not equals or not colon or not column:
            raise ValueError(
                f"--bounds {word}: give a column and its ends, as in age=0:120 or price=0: (no upper end), or none."
            )
        found[column] = pair
    return check_bounds(found)


@dataclass(frozen=True)
class TableFiller:
    """A model, what a clock says of gaps and of all rows, the columns that means fill, what hidden cells say of all, limits of cells, and what columns may hold."""

    model: Any
    along: Any = None
    said: dict[str, Any] = field(default_factory=dict)
    means: Any = None
    quality: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    bounds: Any = None

    def columns_of(self, full: Any, std: Any) -> dict[str, Any]:
        """The columns of the table that features stand for, with possible values."""
        prepare, estimator = self.model.preprocessing, self.model.estimator
        if self.is_coded:
            found: dict[str, Any] = estimator._columns_of(full, estimator._likeliest(full, std))
            return found
        if self.bounds is not None:
            possible: dict[str, Any] = self.bounds.columns(prepare, full)
            return possible
        return dict(zip(prepare.names, prepare.columns(full)))

    def chances_of(self, full: Any, std: Any) -> dict[str, Any]:
        """The probabilities of categories that features stand for."""
        if self.is_coded:
            found: dict[str, Any] = self.model.estimator._calibrated(full, std)
            return found
        plain: dict[str, Any] = self.model.preprocessing.probabilities(full)
        return plain

    @property
    def is_coded(self) -> bool:
        """Whether the model knows the columns of the table itself."""
        return getattr(self.model.estimator, "_coding", None) is self.model.preprocessing

    def filled(self, X: Any, below: Any) -> tuple[Any, Any]:
        """Features with their holes filled, and deviations."""
        if self.is_coded:
            filled: tuple[Any, Any] = self.model.estimator._fill_coded(X, below)
            return filled
        full, std = self.model.estimator.impute(X, return_std=True)
        return full, std

    def draws(self, X: Any, m: int, below: Any) -> Iterator[dict[str, Any]]:
        """Columns of m completed tables; those that the clock fills are drawn about what it says."""
        import numpy as np

        by_table = self._drawn(X, m, below)
        if self.along is None:
            yield from by_table
            return
        full, std = X, np.zeros_like(X)
        if self.model.estimator is not None and np.isnan(X).any():
            full, std = self.filled(X, below)
        full, std = self.along.put(self.model.preprocessing, self.said, slice(None), full, std)
        rng = np.random.default_rng(0)
        for columns in by_table:
            drawn = self.columns_of(full + std * rng.standard_normal(full.shape), std)
            yield {name: drawn[name] if name in self.said else columns[name] for name in drawn}

    def _drawn(self, X: Any, m: int, below: Any) -> Iterator[dict[str, Any]]:
        """Columns of m completed tables, by the model of the columns."""
        import numpy as np

        if self.model.estimator is None:
            yield from [self.columns_of(X, np.zeros_like(X))] * m
        elif self.is_coded:
            yield from self.model.estimator._draws_coded(X, m, below)
        else:
            for drawn in self.model.estimator.draws(X, m, random_state=0):
                yield self.columns_of(np.asarray(drawn), np.zeros_like(X))


def _fill_in_memory(session: Any, opened: Any, kind: str, options: Any, bounds: Any) -> TableFiller:
    """How a table in memory is filled."""
    import numpy as np

    from gramian.cli._models import fit_model, fitted_imputer
    from gramian.estimators.imputer import time_filling_of
    from gramian.io.table_model import TableModel
    from gramian.reporting.columns_apart import columns_apart
    from gramian.reporting.fill_quality import Means, fill_quality, quality_along
    from gramian.tables.bounds import Bounds
    from gramian.tables.limits import with_limits

    along: Any = None
    whole = opened.table()
    plain = kind == "ppca" and options["components"] is None and options["noise"] is None
    limits: dict[str, Any] = {}
    if plain:
        whole, limits = with_limits(whole, getattr(opened.dialect, "decimal", "."))
        for name, cells in limits.items():
            count = int((~np.isnan(cells)).sum())
            session.note(
                f"column {name!r}: {count} cell(s) below a limit, such as <{np.nanmin(cells):g}, are filled below it"
            )
    prepare = opened.preprocessing([whole])
    held = Bounds.of_table(whole, prepare, bounds)
    X = prepare.matrix(whole)
    plain = plain and bool(np.isnan(X).any())
    if plain:
        apart = columns_apart(prepare, X)
        clock = _clock_of(whole, opened.roles.drop, session)
        if clock is not None:
            along = time_filling_of(None, whole, prepare, apart.columns, clock, options.get("seed", 0))
            session.note(*along.notes())
        timed = quality_along(along)
        if along is not None and along.fills(prepare, X):
            model = TableModel("forecast", None, prepare, facts={"estimator": "RKMForecaster"})
            return TableFiller(model, along, along.said(whole), None, timed, limits, held)
        session.note(*apart.notes)
        model = fitted_imputer(prepare, whole, tuple(apart.columns), bounds, limits)
        means = Means.of(X, {name: row for name, row in apart.quality.items() if name not in {*limits, *timed}})
        said = {} if along is None else along.said(whole)
        return TableFiller(model, along, said, means, apart.quality | timed, limits, held)
    model = fit_model(kind, options, prepare, X, None, session.verbose, once=True)
    quality = fill_quality(prepare, X, model.estimator) if np.isnan(X).any() else {}
    return TableFiller(model, quality=quality, limits=limits, bounds=held)


def _clock_of(whole: Any, drop: Any, session: Any) -> Any:
    """The clock of a table; rows that run backwards have none, which is said."""
    from gramian.tables.clocks import Clock

    try:
        return Clock.of(whole, skip=drop)
    except ValueError as error:
        session.note(f"{error} Here the order of the rows is not used")
        return None


def _write(opened: Any, filling: TableFiller, output: str, std_file: str | None, how: Any) -> tuple[Any, Any]:
    """Stream rows in the file's own layout; returns how many cells were filled in each column, and how many far from all seen."""
    from collections import Counter
    from contextlib import ExitStack

    import numpy as np

    from gramian.cli._session import id_columns, written_names
    from gramian.io.tables import TableWriter, output_format
    from gramian.reporting.words import extrapolated_columns

    names = opened.reader.names
    model, means, along = filling.model, filling.means, filling.along
    prepare = model.preprocessing
    modelled = prepare.names
    raw = opened.dialect is not None and output_format(output) in ("csv", "tsv")
    filled, far = dict.fromkeys(modelled, 0), Counter[str]()
    with ExitStack() as stack:
        dialect = opened.dialect
        out = stack.enter_context(
            TableWriter(
                output,
                written_names(opened, names, output),
                dialect=dialect,
                types=getattr(opened.reader, "types", None),
                **how,
            )
        )
        keep_cells = raw and out.dialect.decimal == dialect.decimal
        ids = id_columns(model, opened)
        out_std = None
        if std_file:
            labels = written_names(opened, [*ids, *_spread_names(prepare)], std_file)
            out_std = stack.enter_context(TableWriter(std_file, labels, dialect=dialect, **how))
        start = 0
        for part in opened.reader.batches(raw=keep_cells):
            part, below = _read_limits(part, filling.limits, opened)
            part = prepare.seen(part)
            X = prepare.matrix(part)
            full, std = X, np.zeros_like(X)
            if model.estimator is not None and np.isnan(X).any():
                full, std = filling.filled(X, below)
            if means is not None:
                full, std = means.put(prepare, X, full, std)
            if along is not None:
                full, std = along.put(prepare, filling.said, slice(start, start + len(X)), full, std)
            start += len(X)
            columns = filling.columns_of(full, std)
            holes = {name: _holes(part[name]) for name in modelled}
            for name in modelled:
                filled[name] += int(holes[name].sum())
            far.update(extrapolated_columns(prepare, full, np.column_stack([holes[name] for name in modelled])))
            if keep_cells:
                out.write_rows(_rows(part, columns, holes, out, opened.reader.dresses))
            else:
                out.write([_merge(part[name], columns.get(name), holes.get(name)) for name in names])
            if out_std is not None:
                out_std.write(
                    [*(part[name] for name in ids), *_spreads(prepare, filling.chances_of(full, std), std, holes)]
                )
    return filled, far


def _read_limits(part: Any, limits: Any, opened: Any) -> tuple[Any, dict[str, Any]]:
    """Rows with the columns that hold limits as numbers, and the limits of their cells."""
    from dataclasses import replace

    import numpy as np

    from gramian.tables.limits import limited_numbers

    if not limits:
        return part, {}
    columns, found = list(part.columns), {}
    for j, name in enumerate(part.names):
        if name in limits and columns[j].dtype == object:
            plain = np.r_[
                columns[j], np.array(["0", "0", "<0"], dtype=object)
            ]  # a few rows may show no number, or no limit
            read = limited_numbers(plain, getattr(opened.dialect, "decimal", "."))
            assert read is not None
            columns[j], found[name] = read[0][:-3], read[1][:-3]
    return replace(part, columns=columns), found


def _write_draws(session: Any, opened: Any, filling: TableFiller, output: str, m: int, force: bool, how: Any) -> None:
    """m completed tables, one file each."""
    from pathlib import Path

    from gramian.cli._session import check_output, written_names
    from gramian.io.tables import TableWriter

    model = filling.model
    can_draw = hasattr(model.estimator, "draws") or (model.estimator is None and filling.along is not None)
    if not can_draw or output == "-":
        raise ValueError(
            "--draws needs a file as -o and the model that is fitted by default: leave --model, --components, --noise and -m out."
        )
    target = Path(output)
    suffix = "".join(target.suffixes)
    files = [str(target.with_name(f"{target.name.removesuffix(suffix)}_{k}{suffix}")) for k in range(1, m + 1)]
    for file in files:
        check_output(file, force)
    whole, below = _read_limits(opened.table(), filling.limits, opened)
    X = model.preprocessing.matrix(whole)
    for file, columns in zip(files, filling.draws(X, m, below)):
        with TableWriter(file, written_names(opened, whole.names, file), dialect=opened.dialect, **how) as out:
            out.write([_merge(whole[name], columns.get(name), _holes(whole[name])) for name in whole.names])
    along = filling.along
    timed = {} if along is None else {"clock": along.clock.name, "ways": along.ways}
    session.say(
        {"outputs": files, "draws": m, **timed},
        [f"{m} completed tables -> {files[0]} ... {files[-1]}" if m > 1 else f"1 completed table -> {files[0]}"],
    )


def _spread_names(prepare: Any) -> list[str]:
    """The columns of the file of uncertainties: numbers by name, categories one column per value."""
    columns = zip(prepare.names, prepare.categories)
    return [label for name, values in columns for label in ([f"p({name}={v})" for v in values] or [name])]


def _spreads(prepare: Any, chances: dict[str, Any], std: Any, holes: Any) -> list[Any]:
    """Standard deviations of numbers, 0 where observed; probabilities of categories, 0 and 1 where observed."""
    import numpy as np

    out: list[Any] = []
    for name, spread in zip(prepare.names, prepare.spread(std)):
        if name in chances:
            out.extend(np.where(holes[name], column, np.round(column)) for column in chances[name].T)
        else:
            out.append(np.where(holes[name], spread, 0.0))
    return out


def _holes(column: Any) -> Any:
    import numpy as np

    return np.array([value is None for value in column]) if column.dtype == object else np.isnan(column)


def _rows(part: Any, columns: Any, holes: Any, out: Any, dresses: Any) -> list[list[str]]:
    """The rows as they stand in the file, with the holes filled."""
    rows = [list(row) for row in part.raw]
    for j, name in enumerate(part.names):
        if name not in columns:
            continue
        values, dress = columns[name], dresses[j]
        for row in holes[name].nonzero()[0]:
            cell = str(values[row]) if values.dtype == object else out.cell(float(values[row]))
            rows[row][j] = cell if dress is None else dress.around(cell)
    return rows


def _merge(column: Any, values: Any, holes: Any) -> Any:
    import numpy as np

    return column if values is None else np.where(holes, values, column)
