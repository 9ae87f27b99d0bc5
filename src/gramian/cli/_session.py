"""What every sub-command does alike: reading with the options given, refusing to overwrite, saying what was done."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from gramian.io.model_file import load
from gramian.io.source import Source
from gramian.io.table import ReadOptions
from gramian.io.table_model import TableModel, as_table_model
from gramian.io.tables import TableWriter, open_table, output_format, whole_table
from gramian.tables.codes import cells_as_missing, codes_as_missing
from gramian.tables.preprocessing import Preprocessing, Roles, resolve_columns
from gramian.tables.table import Table, quote


class Session:
    """One run of a sub-command: where notes and results go."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False, outputs: Sequence[str | None] = ()) -> None:
        self.as_json, self.quiet = as_json, quiet
        self.stdout_taken = "-" in outputs
        self.verbose = int(sys.stderr.isatty() and not quiet)
        self._noted: set[str] = set()
        self.read = ""  # what was read, in one line

    def note(self, *texts: str) -> None:
        """A remark on standard error, each only once."""
        for text in texts:
            if not self.quiet and text not in self._noted:
                self._noted.add(text)
                click.echo(f"note: {text}", err=True)

    def say(self, facts: Mapping[str, Any], lines: Sequence[str]) -> None:
        """The results: ``facts`` for machines, ``lines`` for people; never mixed into a table on standard output."""
        if self.read:
            facts, lines = {**facts, "read": self.read}, [f"read {self.read}", *lines]
        if self.as_json:
            click.echo(json.dumps(jsonable(dict(facts)), allow_nan=False, ensure_ascii=False), err=self.stdout_taken)
        elif not self.quiet:
            click.echo("\n".join(lines), err=self.stdout_taken)


def jsonable(value: Any) -> Any:
    """Plain JSON: NaN and infinities as null, arrays as lists."""
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, np.ndarray):
        return jsonable(value.tolist())
    if isinstance(value, np.generic):
        return jsonable(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


# ---------------------------------------------------------------- files


def check_output(path: str | None, force: bool, *, table: bool = True) -> None:
    """Refuse at once what could only fail at the end: an existing file, a missing folder, an unknown format."""
    if path is None or path == "-":
        return
    if table:
        output_format(path)
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{path}: this is a folder. Give the name of a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {target.parent} does not exist.")
    if target.exists() and not force:
        raise FileExistsError(f"{path}: the file exists. Pass --force to overwrite it.")


def place(path: str) -> str:
    """A path for people."""
    return "standard output" if path == "-" else path


def check_distinct(*paths: str | None) -> None:
    """Refuse one file in two roles."""
    given = [str(Path(path).resolve()) for path in paths if path not in (None, "-")]
    if len(set(given)) < len(given):
        raise ValueError("two outputs have the same name.")


def read_options_of(options: Mapping[str, Any]) -> ReadOptions:
    """The reading options among the options of a sub-command."""
    delimiter = options.get("delimiter")
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t", "space": " "}.get(delimiter, delimiter)
        if len(delimiter) != 1:
            raise ValueError(f"--delimiter {quote(delimiter)} must be one character, or 'tab'.")
    encoding = options.get("encoding")
    if encoding is not None:
        try:
            "".encode(encoding)
        except LookupError as error:
            raise ValueError(f"--encoding {quote(encoding)} is not known. Try latin-1, cp1252 or utf-16.") from error
    return ReadOptions(
        delimiter=delimiter,
        decimal=options.get("decimal"),
        header=options.get("header"),
        encoding=encoding,
        missing=tuple(options.get("missing") or ()),
        array=options.get("array"),
        skip_lines=options.get("skip_lines"),
        sheet=options.get("sheet"),
        drop_totals=options.get("drop_totals"),
        memory=parsed_size(options.get("memory")),
    )


def parsed_size(text: str | None) -> int | None:
    """Bytes from ``4GB``, ``500 MB`` or a number of bytes."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    if found is None or float(found[1]) <= 0:
        raise ValueError(f"--memory {quote(text)} must be a size such as 4GB or 500MB.")
    return int(float(found[1]) * 1024 ** " kmgt".index(found[2] or " "))


def columns_of(names: Sequence[str], given: Sequence[str], option: str) -> tuple[str, ...]:
    """The columns that all uses of an option name."""
    return tuple(dict.fromkeys(name for wanted in given for name in resolve_columns(names, wanted, option)))


def parsed_views(names: Sequence[str], text: str | None) -> dict[str, tuple[str, ...]]:
    """``a=1-5,b=6-9`` as view -> columns."""
    if not text:
        return {}
    views: dict[str, list[str]] = {}
    current = None
    for piece in text.split(","):
        name, equals, columns = piece.partition("=")
        if equals:
            current = name.strip()
            if not current or current in views:
                raise ValueError(f"--views {quote(text)}: give each view a name of its own, as in a=1-5,b=6-9.")
            views[current] = []
        elif current is None:
            raise ValueError(f"--views {quote(text)} must read like a=1-5,b=6-9.")
        views[current].extend(resolve_columns(names, columns if equals else piece.strip(), "--views"))
    if len(views) < 2:
        raise ValueError(f"--views {quote(text)}: at least two views are needed, as in a=1-5,b=6-9.")
    taken: dict[str, str] = {}
    for view, members in views.items():
        for column in members:
            if column in taken:
                raise ValueError(
                    f"--views: the column {quote(column)} is in {quote(taken[column])} and in {quote(view)}."
                )
            taken[column] = view
    return {view: tuple(columns) for view, columns in views.items()}


class Input:
    """A table with the roles that the options give to its columns."""

    def __init__(self, session: Session, path: str, options: Mapping[str, Any], *, classes: bool = False) -> None:
        self.session, self.options, self.classes = session, options, classes
        self.reader = open_table(Source(path), read_options_of(options))
        names = self.reader.names
        target = options.get("target")
        found = resolve_columns(names, target, "--target") if target else []
        if len(found) > 1:
            raise ValueError(f"--target {target}: one column is needed, not {len(found)}.")
        self.roles = Roles(
            id=columns_of(names, options.get("ids") or (), "--id"),
            target=found[0] if found else None,
            drop=columns_of(names, options.get("drop") or (), "--drop"),
            views=parsed_views(names, options.get("views")),
        )
        text = {*self.roles.id, *columns_of(names, options.get("text") or (), "--text")}
        if classes and found:
            text.add(found[0])
        self.reader.options = replace(self.reader.options, text=frozenset(text), skip=frozenset(self.roles.drop))
        self.codes: dict[str, list[float]] | None = None  # numbers that stand for missing, once the table was looked at
        session.note(*self.reader.notes)

    @property
    def source(self) -> Source:
        """The file."""
        source: Source = self.reader.source
        return source

    @property
    def dialect(self) -> Any:
        """How the file writes its cells, or None where it is not text."""
        return getattr(self.reader, "dialect", None)

    def table(self) -> Table:
        """The whole table, with numbers that stand for missing as missing, which is said."""
        whole = whole_table(self.reader)
        if self.codes is not None:
            return cells_as_missing(whole, self.codes)
        found, self.codes = codes_as_missing(whole, self.options.get("keep") or ())
        self.session.note(*found.notes[len(whole.notes) :])
        return found

    def preprocessing(self, tables: Sequence[Table] | None = None, *, min_rows: int = 2) -> Preprocessing:
        """What the columns are, from all rows."""
        made = Preprocessing.fit(
            tables if tables is not None else self.reader.batches(),
            self.roles,
            standardize=not self.options.get("no_standardize", False),
            unnamed=getattr(self.reader, "unnamed", ()),
            classes=self.classes,
        )
        made.codes = self.codes or {}
        if made.n_rows < min_rows:
            raise self.source.fail(f"{made.n_rows} row(s); at least {min_rows} are needed to fit a model.")
        self.session.note(*self.reader.notes, *made.notes)
        self.session.read = "; ".join(filter(None, [made.described, getattr(self.reader, "skipped", "")]))
        return made


def rows_with_target(session: Session, table: Table, target: str | None) -> Table:
    """The rows whose target is known: nothing can be learned from the others, which is said."""
    if target is None or target not in table:
        return table
    column = table[target]
    known = np.array([cell is not None for cell in column]) if column.dtype == object else ~np.isnan(column)
    if known.all() or not known.any():
        return table
    session.note(f"{int((~known).sum())} row(s) without a value of {target!r}, the target, are left out")
    columns = [values[known] for values in table.columns]
    return Table(table.names, columns, table.lines[known], table.source, table.notes)


def load_model(path: str) -> TableModel:
    """A model file that the command line wrote, or one that `gramian.save` wrote of a bare estimator."""
    if not Path(path).exists():
        raise FileNotFoundError(f"{path}: there is no such file.")
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path}: this is a folder, not a model file.")
    try:
        loaded = load(path)
    except ValueError as error:
        raise type(error)(f"{path}: {error}") from error
    try:
        return as_table_model(loaded)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def opened_for(model: TableModel, session: Session, path: str, options: Mapping[str, Any]) -> Input:
    """A table for a fitted model: its columns are read as they were when the model was fitted."""
    opened = Input(session, path, options)
    prepare = model.preprocessing
    opened.codes = prepare.codes
    texts = {name for name, values in zip(prepare.names, prepare.categories) if values} | set(prepare.ids)
    if prepare.target is not None and prepare.target_is_class:
        texts.add(prepare.target)
    names = opened.reader.names
    if model.facts.get("columns by position") and not set(prepare.names) <= set(names):
        if len(names) != len(prepare.names):
            raise opened.source.fail(f"{len(names)} columns, but the model was fitted on {len(prepare.names)}.")
        prepare.names = list(names)
    wanted = {*prepare.names, *prepare.ids, prepare.target}
    reading = opened.reader.options
    skip = reading.skip | {name for name in names if name not in wanted and name not in opened.roles.id}
    opened.reader.options = replace(reading, text=reading.text | texts, skip=frozenset(skip))
    return opened


def id_columns(model: TableModel, opened: Input) -> list[str]:
    """The row names that go into the output: those of the model, and those asked for."""
    names = [*opened.roles.id, *model.preprocessing.ids]
    return [name for name in dict.fromkeys(names) if name in opened.reader.names]


def write_rows(
    opened: Input,
    model: TableModel,
    output: str,
    names: Sequence[str],
    function: Any,
    *,
    digits: int,
    escape_formulas: bool = False,
) -> int:
    """Stream rows: ``function(X, table)`` gives the output's columns ``names``, the row names go first. Returns the number of rows."""
    ids = id_columns(model, opened)
    optional = _columns_of_views(model, opened)
    count = 0
    written = written_names(opened, [*ids, *names], output)
    dialect = _for_output(opened)
    types = {name: kind for name, kind in getattr(opened.reader, "types", {}).items() if name in ids}
    how: dict[str, Any] = {"digits": digits, "escape_formulas": escape_formulas, "types": types}
    with TableWriter(output, written, dialect=dialect, **how) as out:
        for table in opened.reader.batches():
            columns = function(model.matrix(table, may_lack=optional), table)
            out.write([table[name] for name in ids] + list(columns))
            count += table.n_rows
    return count


def written_names(opened: Input, names: Sequence[str], output: str) -> list[str]:
    """Column names for an output: a column that is nameless in the input stays so in a text."""
    if output_format(output) not in ("csv", "tsv"):
        return list(names)
    nameless = {name for name, unnamed in zip(opened.reader.names, getattr(opened.reader, "unnamed", ())) if unnamed}
    return ["" if name in nameless else name for name in names]


def _columns_of_views(model: TableModel, opened: Input) -> list[str]:
    """Columns that may be absent: those of whole views, as long as one view is there."""
    prepare = model.preprocessing
    missing: list[str] = []
    for features in prepare.views.values():
        names = list(dict.fromkeys(prepare.names[int(prepare.owner[j])] for j in features))
        if not any(name in opened.reader.names for name in names):
            missing += names
    return missing if len(missing) < len(prepare.names) else []


def _for_output(opened: Input) -> Any:
    """Cells are written as the input writes them, but results always have a header."""
    return replace(opened.dialect, header=True) if opened.dialect is not None else None
