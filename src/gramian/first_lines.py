"""What one line does with a data frame: fill it, find its odd rows, show a report of it. Each is one estimator or one page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_flag, check_number
from gramian.exceptions import DataWarning, warn
from gramian.tables.bounds import Bounds
from gramian.tables.codes import codes_as_missing
from gramian.tables.frames import (
    as_table,
    chosen_columns,
    frame_like,
    frame_of,
    is_narwhals,
    moment_words,
    orders_of,
    other_columns,
    with_cells,
    without_cells,
)
from gramian.tables.preprocessing import Preprocessing, Roles
from gramian.tables.table import Table

LEAST_SHARE, MOST_REASONS = 0.05, 3
"""A column that makes a row odd by a smaller share of what the first does is not named, nor are more columns than these."""
PAGE_HEIGHT = 700
"""Pixels of a page in a notebook; it scrolls."""


def fill(X: Any, *, return_quality: bool = False) -> Any:
    """The table with its holes filled, in its own container: dtypes, categories and possible values stay.

    `LatentImputer` fills it, along the clock where there is one (a column of dates, or an index of pandas) and hidden cells say that it helps. Where
    hidden cells of a column are filled at least as well by its mean (its commonest value), that fills it. A column without a single value stays as it is.

    Parameters
    ----------
    X : data frame (pandas, polars, pyarrow), dict of columns or array-like
        With numbers, whole numbers, booleans, categories, text and dates.
    return_quality : bool, default=False
        Also return what hidden cells say of every column.

    Returns
    -------
    The filled table, or (table, quality)
        ``quality`` is a frame: ``column``, ``missing`` cells, ``error_over_mean`` (of hidden cells; 1 is no better than the mean),
        ``inside_90`` (the share of hidden cells inside their 90 % intervals).

    References
    ----------
    [5], [10] docs/theory.md, sections of these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import gramian
    >>> rng = np.random.default_rng(0)
    >>> size = rng.normal(50, 10, 60)
    >>> frame = pd.DataFrame({"size": size, "weight": 2 * size + rng.normal(size=60), "kind": np.where(size > 50, "big", "small")})
    >>> frame.loc[3, "weight"] = np.nan
    >>> full, quality = gramian.fill(frame, return_quality=True)
    >>> int(full.isna().sum().sum()), bool(abs(full.loc[3, "weight"] - 2 * size[3]) < 5)
    (0, True)
    >>> bool(quality.set_index("column").loc["weight", "error_over_mean"] < 0.6)
    True
    """
    from gramian.estimators.imputer import LatentImputer, time_filling_of
    from gramian.reporting.columns_apart import columns_apart
    from gramian.reporting.fill_quality import quality_along, unhelped_columns

    check_flag("return_quality", return_quality)
    table, _ = codes_as_missing(as_table(X), how="LatentImputer(keep_codes=[{}])")
    for note in table.notes if isinstance(X, dict) else ():  # of all others the imputer tells
        warn(note, DataWarning)
    prepare = Preprocessing.fit([table], Roles(orders=orders_of(X)))
    empty = [name for name in table.names if _holes(table[name]).all()]
    if (
        empty and len(empty) < len(table.names) and not isinstance(X, dict | Table)
    ):  # nothing is known of them: they stay as they are
        rest = [name for name in table.names if name not in empty]
        found = fill(_some_columns(X, table, rest), return_quality=return_quality)
        return (_put_back(X, table, rest, found[0]), found[1]) if return_quality else _put_back(X, table, rest, found)
    features = prepare.matrix(table)
    apart = columns_apart(prepare, features)
    along = time_filling_of(X, table, prepare, apart.columns) if np.isnan(features).any() else None
    found = apart.quality | quality_along(along)
    holes = {name: _holes(table[name]) for name in table.names}
    aside, away = apart.columns, []
    if not any(holes[name].any() for name in aside):  # nothing is asked of them, nor by them
        aside, away = [], aside
    if isinstance(X, dict):
        told = prepare.only([name for name in prepare.names if name not in away])
        filled = _filled_columns(table, told, holes, aside, along)
    else:
        rest = [name for name in table.names if name not in away]
        shown = _some_columns(X, table, rest) if away else X
        filled = LatentImputer()._fit_table(shown, aside=aside, along=along).impute(shown)
        filled = _put_back(X, table, rest, filled) if away else filled
    plain = {name: holes[name] for name in unhelped_columns(found) if holes[name].any()}
    if plain:
        filled = _with_means(filled, table, plain)
    if not return_quality:
        return filled
    rows = [found[name] for name in prepare.names if name in found]
    columns = [
        _texts([row.column for row in rows]),
        np.array([int(holes[row.column].sum()) for row in rows]),
        np.array([min(row.ratio, 1.0) for row in rows]),  # from 1 on, the mean fills it
        np.array([row.inside for row in rows]),
    ]
    return filled, _frame(X, ["column", "missing", "error_over_mean", "inside_90"], columns)


def odd_rows(X: Any, level: float = 0.99) -> Any:
    """The rows that lie beyond what a share ``level`` of ordinary rows would reach, oddest first, each with its reasons.

    `LatentOutlierDetector` finds them, with ``contamination = 1 - level``; codes such as -999 are taken as missing, with a warning.

    Parameters
    ----------
    X : data frame (pandas, polars, pyarrow), dict of columns or array-like
    level : float in (0.5, 1), default=0.99
        The share of ordinary rows that stays unflagged.

    Returns
    -------
    data frame
        ``row`` (the index of pandas, else the position from 0), ``score`` (the log-likelihood under models that have not seen the row),
        the ``columns`` responsible, what was ``seen`` there, and what would be ``expected`` given the rest of the row.

    References
    ----------
    [2], [10] docs/theory.md, sections of these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import gramian
    >>> rng = np.random.default_rng(0)
    >>> size = rng.normal(50, 10, 200)
    >>> frame = pd.DataFrame({"size": size, "weight": 2 * size + rng.normal(size=200)})
    >>> frame.loc[7, "weight"] = 10.0
    >>> found = gramian.odd_rows(frame)
    >>> int(found["row"][0]), "weight" in found["columns"][0]
    (7, True)
    """
    from gramian.estimators.outliers import LatentOutlierDetector

    check_number("level", level, 0.5, 1.0, open_low=True, open_high=True)
    table, codes = codes_as_missing(as_table(X), how="LatentOutlierDetector")
    for note in table.notes if codes and not isinstance(X, Table) else ():
        warn(note, DataWarning)
    given = _as_frame(table) if isinstance(X, dict) else without_cells(X, codes)
    detector = LatentOutlierDetector(contamination=1 - level).fit(given)
    scores = detector.score_samples(given)
    odd = np.flatnonzero(scores < detector.offset_)
    odd = odd[np.argsort(scores[odd], kind="stable")]
    reasons = _reasons(detector, given, table, odd)
    index: Any = getattr(X.to_native() if is_narwhals(X) else X, "index", None)
    labels = index[odd].to_numpy() if hasattr(index, "to_numpy") else odd
    columns = [np.asarray(labels), scores[odd], *(_texts(part) for part in zip(*reasons))] if len(odd) else None
    columns = columns or [np.empty(0, dtype=int), np.empty(0), *([_texts([])] * 3)]
    return _frame(X, ["row", "score", "columns", "seen", "expected"], columns)


def _reasons(detector: Any, X: Any, table: Table, rows: Array) -> list[tuple[str, str, str]]:
    """For each odd row the columns responsible, what was seen there, and what the rest of the row would lead one to expect."""
    if not len(rows):
        return []
    features = detector._check(X, reset=False)[rows]
    coding = detector._coding or _plain(table.names, features.shape[1])
    blamed: list[list[int]] = [[] for _ in rows]
    masked, first = np.array(features), np.zeros(len(rows))
    for _ in range(MOST_REASONS):  # one by one: what a column spoils in the others is not theirs
        contributions = np.nan_to_num(detector.estimator_.anomaly(detector._rows(masked)).contributions)
        for i, shares in enumerate(np.maximum(contributions, 0.0)):
            by_column = np.bincount(coding.owner, weights=shares, minlength=len(coding.names))
            j = int(by_column.argmax())
            first[i] = max(first[i], by_column[j])
            if by_column[j] > LEAST_SHARE * first[i]:
                blamed[i].append(j)
                masked[i, coding.owner == j] = np.nan
    expected = np.asarray(detector.estimator_.impute(detector._rows(masked)))
    expected = expected if detector._units is None else detector._units.back(expected)
    modelled = table if detector._coding is None else detector._table(X)
    ordinary = Bounds.of_table(modelled, coding, "auto").columns(coding, expected)
    ordinary |= {name: moment_words(ordinary[name], modelled[name]) for name in coding.moments}
    out = []
    for i, (row, columns) in enumerate(zip(rows, blamed)):
        names = [coding.names[j] for j in columns]
        told = [(name, _words(table[name][row]), _words(ordinary[name][i])) for name in names]
        told = [reason for reason in told if reason[1] != reason[2]] or told[:1]  # what is as expected is no reason
        blames, seen, usual = (", ".join(reason[k] for reason in told) for k in range(3))
        out.append((blames, seen, usual))
    return out


def _plain(names: Sequence[str], width: int) -> Preprocessing:
    """Columns that are their own features."""
    return Preprocessing(list(names), [[] for _ in names], np.zeros(width), np.ones(width))


class Page:
    """A page of HTML: it shows itself in a notebook, and is saved by :meth:`save`."""

    def __init__(self, html: str, facts: dict[str, Any]) -> None:
        self.html, self.facts = html, facts

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, which loads nothing and can be kept or sent.

        Parameters
        ----------
        path : str or path
            The file, which ends in ``.html``.

        Returns
        -------
        Path

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> import gramian
        >>> page = gramian.report(np.random.default_rng(0).normal(size=(40, 3)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page.save(os.path.join(folder, "page.html")).stat().st_size > 10_000
        True
        """
        from gramian.reporting.page import save_page
        from gramian.reporting.report import check_name

        check_name(path)
        save_page(path, self.html)
        return Path(path)

    def __repr__(self) -> str:
        told = ", ".join(f"{name}: {value}" for name, value in self.facts.items() if value is not None)
        return f"<a report ({told}); .save('report.html') writes it, a notebook shows it>"

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{PAGE_HEIGHT}px;border:1px solid #8884"
        return f'<iframe title="report" sandbox="allow-scripts" style="{style}" srcdoc="{escape(self.html)}"></iframe>'


def report(data_or_model: Any, *, title: str | None = None) -> Page:
    """A page about a table, or about a fitted model; it shows itself in a notebook, and ``.save(path)`` writes it.

    Parameters
    ----------
    data_or_model : data frame, dict of columns, array-like, path of a table or of a model file, or fitted model
    title : str, optional

    Returns
    -------
    Page

    References
    ----------
    docs/command_line.md: the same page by `gramian report`.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> page = gramian.report(np.random.default_rng(0).normal(size=(40, 3)))
    >>> page.facts["rows"], page._repr_html_()[:7]
    (40, '<iframe')
    """
    from sklearn.base import BaseEstimator

    from gramian.io.table_model import TableModel, as_table_model
    from gramian.reporting.report import model_page, table_page

    given, name = data_or_model, title or "Report"
    if isinstance(given, str | os.PathLike):
        name = title or Path(given).name
        given = _read(given)
    if isinstance(given, TableModel | BaseEstimator):
        return Page(*model_page(as_table_model(given), title=name))
    table = as_table(given)  # a Table as it is
    prepare = Preprocessing.fit([table], Roles(orders=orders_of(given)))
    return Page(*table_page(table, prepare, title=name))


# ---------------------------------------------------------------- tables


def _read(path: str | os.PathLike[str]) -> Any:
    from gramian.io.model_file import load
    from gramian.io.source import is_model
    from gramian.io.tables import read_table

    return load(path) if is_model(path) else read_table(path)


def _as_frame(table: Table) -> Any:
    """A dictionary of columns as a frame of what is there, pandas or Arrow, or as an array of numbers."""
    columns = dict(zip(table.names, table.columns))
    try:
        import pandas
    except ImportError:
        try:
            import pyarrow
        except ImportError:
            return np.column_stack(table.columns)
        return pyarrow.table(columns)
    return pandas.DataFrame(columns)


def _holes(column: Array) -> Array:
    return np.array([cell is None for cell in column.tolist()]) if column.dtype == object else np.isnan(column)


def _filled_columns(
    table: Table, prepare: Preprocessing, holes: dict[str, Array], aside: list[str], along: Any
) -> dict[str, Array]:
    """A dictionary of columns, filled."""
    from gramian.estimators.imputer import LatentImputer

    model = LatentImputer()._fit_coded(prepare, table, {}, aside)
    full, std = model._fill_coded(prepare.matrix(table), {})
    if along is not None:
        full = along.put(prepare, along.said(table), slice(None), full, std)[0]
    found = model._columns_of(full, model._likeliest(full, std))
    return {
        name: np.where(holes[name], found[name], table[name]) if name in found else table[name] for name in table.names
    }


def _some_columns(X: Any, table: Table, names: Sequence[str]) -> Any:
    if frame_of(X) is not None:
        return chosen_columns(X, names)
    return np.asarray(X)[:, [table.names.index(name) for name in names]]


def _put_back(X: Any, table: Table, names: Sequence[str], filled: Any) -> Any:
    """X with these of its columns as they were filled."""
    if frame_of(X) is not None:
        return other_columns(X, filled)
    out = np.array(X, dtype=np.asarray(filled).dtype)
    out[:, [table.names.index(name) for name in names]] = filled
    return out


def _with_means(filled: Any, table: Table, holes: dict[str, Array]) -> Any:
    """The filled table with the mean, or the commonest value, in these holes."""
    means = {name: _mean(table[name], at) for name, at in holes.items()}
    if isinstance(filled, dict):
        return {name: np.where(holes[name], means[name], c) if name in holes else c for name, c in filled.items()}
    if frame_of(filled) is not None:
        return with_cells(filled, {name: (at, [means[name]] * int(at.sum())) for name, at in holes.items()})
    out = np.array(filled)
    for name, at in holes.items():
        out[at, table.names.index(name)] = means[name]
    return out


def _mean(column: Array, holes: Array) -> Any:
    seen = column[~holes]
    if column.dtype != object:
        mean = np.array([seen[0] + (seen - seen[0]).mean()])  # of equal values exactly theirs
        return float(Bounds.of([seen], ["mean"], "auto").held(0, mean)[0])
    values, counts = np.unique(seen.astype(str), return_counts=True)
    return str(values[counts.argmax()])


def _frame(X: Any, names: Sequence[str], columns: Sequence[Any]) -> Any:
    """Columns as a frame of the library that X is of; else of pandas, or a dictionary without it."""
    if type(X).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow", "narwhals"):
        return frame_like(X, names, columns)
    try:
        import pandas
    except ImportError:
        return dict(zip(names, columns))
    return pandas.DataFrame(dict(zip(names, columns)))


def _texts(values: Sequence[str]) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out


def _words(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)
