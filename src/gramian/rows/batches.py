"""Rows from batches that can be read again: lists, functions that open an iterator, files, Arrow, Polars and DuckDB sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from sklearn.utils.validation import _get_feature_names

from gramian._checks import check_block_weights, check_table
from gramian._types import Batches
from gramian.policy import SIZES
from gramian.rows.array import ArrayRows
from gramian.rows.base import NO_ROWS, Result, Sum

FILE_FORMATS = {".parquet": "parquet", ".feather": "feather", ".arrow": "ipc", ".csv": "csv"}


@dataclass(frozen=True)
class BatchRows:
    """Rows read batch by batch in each pass; no more than one batch is in memory, and a block of rows that wait for the next.

    Blocks are cut anew, so that sums are the same to the bit however the batches were cut.

    ``open`` starts a new pass. ``with_target``: a batch is (X, y) or (X, y, weights), else X or (X, weights). ``missing``:
    whether entries may be.
    """

    open: Callable[[], Iterable[Any]]
    n_columns: int
    dtype: np.dtype[Any]
    feature_names: list[str] | None
    with_target: bool = False
    missing: bool = True
    preparation: tuple[Any, ...] = ()

    @classmethod
    def of(cls, source: Batches, *, with_target: bool = False, missing: bool = True) -> BatchRows:
        """From anything that can be read again. A source that can be read only once is a ValueError."""
        rows = cls(opener(source), 0, np.dtype(np.float64), None, with_target, missing)
        for first in rows._read():
            return replace(rows, n_columns=first.n_columns, dtype=first.dtype, feature_names=first.feature_names)
        raise ValueError(NO_ROWS)

    def batches(self) -> Iterator[ArrayRows]:
        """The rows of one pass in whole blocks, but for the last."""
        size, held = SIZES.block, 0
        waiting: list[ArrayRows] = []
        for rows in self._read():
            start = min(size - held, len(rows)) if held else 0
            if start:
                waiting.append(_join(rows.part(slice(0, start))))
                held += start
            if held == size:
                yield _join(*waiting)
                waiting, held = [], 0
            end = start + (len(rows) - start) // size * size
            if end > start:
                yield rows.part(slice(start, end))
            if end < len(rows):
                waiting, held = [_join(rows.part(slice(end, len(rows))))], len(rows) - end
        if held:
            yield _join(*waiting)

    def _read(self) -> Iterator[ArrayRows]:
        """The non-empty batches of one pass, checked: the same columns in each."""
        for number, batch in enumerate(self.open(), start=1):
            try:
                rows = read_batch(batch, self.with_target, self.missing)
            except (TypeError, ValueError) as error:
                raise type(error)(f"Batch {number}: {error}") from None
            if self.n_columns and rows.n_columns != self.n_columns:
                raise ValueError(
                    f"Batch {number} has {rows.n_columns} columns, but the first had {self.n_columns}. Give the same columns in every batch."
                )
            if self.n_columns and rows.feature_names != self.feature_names:
                raise ValueError(
                    f"Batch {number} has the columns {rows.feature_names}, but the first had {self.feature_names}."
                )
            if len(rows):
                yield replace(rows, preparation=self.preparation)

    def map(self, task: Callable[..., Result], *common: Any) -> list[Result]:
        return [result for batch in self.batches() for result in batch.map(task, *common)]

    def fold(self, task: Callable[..., Sum], *common: Any) -> Sum:
        total: Sum | None = None
        for batch in self.batches():
            total = batch.fold_onto(total, task, *common)
        if total is None:
            raise ValueError(NO_ROWS)
        return total

    def prepare(self, task: Callable[..., Any], *common: Any) -> BatchRows:
        return replace(self, preparation=(task, *common))


def _join(*parts: ArrayRows) -> ArrayRows:
    """One after the other, in an array of their own."""
    targets = [part.target for part in parts if part.target is not None]
    if len({target.shape[1:] for target in targets}) > 1:
        raise ValueError(
            f"y has rows of shape {targets[0].shape[1:]} in one batch, but others in another. Give the same targets for all rows."
        )
    return replace(
        parts[0],
        X=np.concatenate([part.X for part in parts]),
        weights=np.concatenate([part.weights for part in parts]),
        target=np.concatenate(targets) if targets else None,
    )


def read_batch(batch: Any, with_target: bool = False, missing: bool = True) -> ArrayRows:
    """One batch as rows: an array, a frame or an Arrow batch, alone or in a tuple with a target and weights."""
    parts = list(batch) if isinstance(batch, tuple) else [batch]
    allowed = (2, 3) if with_target else (1, 2)
    if len(parts) not in allowed:
        wanted = "(X, y) or (X, y, sample_weight)" if with_target else "X or (X, sample_weight)"
        raise ValueError(f"a batch of {len(parts)} parts was given. Give {wanted}.")
    table = parts[0]
    names = _names(table)
    if not hasattr(table, "__len__") or len(table) or getattr(table, "num_rows", 0):
        X = check_table(None, table, reset=True, missing=missing)
    else:
        X = np.empty((0, len(names) if names else np.shape(table)[-1] if np.ndim(table) == 2 else 0))
    target = np.asarray(parts[1]) if with_target else None
    given = parts[2] if len(parts) == 3 else parts[1] if len(parts) == 2 and not with_target else None
    if target is not None and len(target) != len(X):
        raise ValueError(f"X has {len(X)} rows, but y has {len(target)}. Give one target per row.")
    weights = np.ones(len(X)) if given is None or not len(X) else check_block_weights(given, X)
    return ArrayRows(X, weights, target, names).positive()


def _names(table: Any) -> list[str] | None:
    if type(table).__module__.startswith("pyarrow"):
        return [str(name) for name in table.schema.names]
    names = _get_feature_names(table)
    return None if names is None else [str(name) for name in names]


def is_one_shot(source: Batches) -> TypeGuard[Iterator[Any]]:
    """Whether a source can be read only once: an iterator, such as a generator."""
    return not callable(source) and hasattr(source, "__next__")


def opener(source: Batches) -> Callable[[], Iterable[Any]]:
    """A function that starts a new pass over the source."""
    if is_one_shot(source):
        raise ValueError(
            "The batches come from an iterator that can be read only once, but this fit needs several passes. Give a list, or a "
            "function that opens the iterator anew: fit_batches(lambda: read_batches())."
        )
    for offers, open_source in OPENERS:
        if offers(source):
            return lambda: open_source(source)
    if callable(source):
        return source
    if not hasattr(source, "__iter__"):
        raise TypeError(
            f"batches must be a list, another iterable that can be read again, or a function that opens one; got {type(source).__name__}."
        )
    return lambda: source


def _is_file(source: Any) -> bool:
    return isinstance(source, str | Path)


def _file_batches(source: Any) -> Iterable[Any]:
    kind = FILE_FORMATS.get(Path(source).suffix.lower())
    if kind is None:
        raise ValueError(
            f"{str(source)!r} ends in none of {', '.join(FILE_FORMATS)}. Give a function that reads its batches."
        )
    try:
        from pyarrow import dataset, parquet
    except ImportError as error:
        raise ImportError('Reading batches of a file needs pyarrow: pip install "gramian[io]".') from error
    if kind == "parquet" and Path(source).is_file():
        return _parquet_batches(parquet, source)
    return dataset.dataset(str(source), format=kind).to_batches(
        batch_size=SIZES.batch, batch_readahead=1, fragment_readahead=1
    )


def _parquet_batches(parquet: Any, source: Any) -> Iterator[Any]:
    """Batches of a Parquet file; nothing of what was read is kept, which pyarrow does unless it is told not to."""
    with parquet.ParquetFile(source, pre_buffer=False) as file:
        yield from file.iter_batches(batch_size=SIZES.batch)


# (is it this kind of source?, start a pass): a further kind of source is one more row
OPENERS: list[tuple[Callable[[Any], bool], Callable[[Any], Iterable[Any]]]] = [
    (_is_file, _file_batches),
    (
        lambda s: hasattr(s, "iter_batches"),
        lambda s: s.iter_batches(batch_size=SIZES.batch),
    ),  # a Parquet file of pyarrow
    (lambda s: hasattr(s, "to_batches"), lambda s: s.to_batches()),  # an Arrow dataset or table
    (lambda s: hasattr(s, "to_arrow_reader"), lambda s: s.to_arrow_reader(SIZES.batch)),  # a DuckDB relation
    (lambda s: hasattr(s, "fetch_arrow_reader"), lambda s: s.execute().fetch_arrow_reader(SIZES.batch)),  # DuckDB 1
    (lambda s: hasattr(s, "iter_slices"), lambda s: s.iter_slices(SIZES.batch)),  # a Polars frame
]
