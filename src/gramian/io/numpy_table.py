"""NPY and NPZ files as tables: headers are compared with the file before anything is allocated, pickles are refused."""

from __future__ import annotations

import math
import stat
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from gramian._arrays import Array
from gramian.io.packing import most_bytes, too_large
from gramian.io.source import Source, check_cells
from gramian.io.table import ReadOptions, batch_rows, checked_names
from gramian.policy import FILES
from gramian.tables.table import Table, TableError, quote

COLUMN_NAMES = ("columns", "column_names", "feature_names", "names", "num_names")
TABLE_NAMES = ("X", "x", "data", "table", "values", "x_train")


class NumpyReader:
    """An NPY file, or one array of an NPZ file, as a table."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.source, self.options, self.notes = source, options, list[str]()
        values, names = self._from_archive() if source.format == "npz" else (self._from_npy(), None)
        self.values = self._matrix(values)
        width = self.values.shape[1]
        self.names = checked_names(source, names if names is not None else [f"x{i}" for i in range(1, width + 1)])
        self.unnamed = [False] * width

    def _matrix(self, values: Array) -> Array:
        if values.dtype.kind not in "biufU":
            raise self.source.fail(f"an array of dtype {values.dtype} is not a table of numbers or texts.")
        if values.ndim not in (1, 2) or values.size == 0:
            raise self.source.fail(
                f"an array of shape {values.shape} is not a table: rows x columns is needed, neither empty."
            )
        return values[:, None] if values.ndim == 1 else values

    def _from_npy(self) -> Array:
        with self.source.open() as file:
            shape, order, dtype = npy_header(self.source, file, self.source.size)
            if self.source.is_stdin or math.prod(shape) == 0:
                return npy_values(self.source, file, shape, order, dtype)
            # a file stays on disk: only the rows of a piece are read
            return np.memmap(self.source.path, dtype, mode="r", offset=file.tell(), shape=shape, order=order)

    def _from_archive(self) -> tuple[Array, Any]:
        with self.source.open() as file:
            arrays = Archive(self.source, file)
            chosen = self._chosen(arrays)
            values = arrays.read(chosen)
            names = None
            for name in COLUMN_NAMES:
                if name in arrays.members and name != chosen:
                    found = arrays.read(name)
                    if found.dtype.kind == "U" and values.ndim == 2 and found.shape == (values.shape[1],):
                        names = found.tolist()
                        break
        return values, names

    def _chosen(self, arrays: Archive) -> str:
        listed = ", ".join(sorted(arrays.members)[:20])
        wanted = self.options.array
        if wanted is not None:
            if wanted not in arrays.members:
                raise self.source.fail(f"there is no array {quote(wanted)}. It holds {listed}.")
            return wanted
        for name in TABLE_NAMES:
            if name in arrays.members:
                if len(arrays.members) > 1:
                    self.notes.append(f"of the arrays {listed}, {name} is read (--array says otherwise)")
                return name
        if len(arrays.members) == 1:
            return next(iter(arrays.members))
        raise self.source.fail(f"several arrays ({listed}). Say which with --array.")

    def batches(self, rows: int | None = None, *, raw: bool = False) -> Iterator[Table]:
        """The table in pieces."""
        size = batch_rows(len(self.names), rows)
        for start in range(0, len(self.values), size):
            piece = self.values[start : start + size]
            lines = np.arange(start + 1, start + 1 + len(piece))
            yield Table(
                self.names,
                [self._column(piece[:, j], j, lines) for j in range(piece.shape[1])],
                lines,
                self.source,
                self.notes,
            )

    def _column(self, values: Array, j: int, lines: Array) -> Array:
        name = self.names[j]
        if values.dtype.kind == "U" or name in self.options.text:
            column = np.empty(len(values), dtype=object)
            column[:] = [str(value) for value in values.tolist()]
            return column
        return finite_or_missing(self.source, values.astype(np.float64), name, lines)


def finite_or_missing(source: Source, values: Array, name: str, lines: Array) -> Array:
    """Numbers as they are; an infinity is an error with its place."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    if np.isfinite(total):
        return values  # one pass; a sum may overflow or be missing, then each value is looked at
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise source.fail(
            f"row {lines[infinite[0]]} is infinite. Correct it, or mark it as missing (NaN).", column=name
        )
    return values


def read_npy(source: Source, file: BinaryIO, size: int, label: str = "") -> Array:
    """An array from an open NPY stream of ``size`` bytes."""
    return npy_values(source, file, *npy_header(source, file, size, label), label)


def npy_header(
    source: Source, file: BinaryIO, size: int, label: str = ""
) -> tuple[tuple[int, ...], Any, np.dtype[Any]]:
    """Shape, order and dtype: what they claim must be in the ``size`` bytes of the stream, and must not be a pickle."""
    at = f"{label}: " if label else ""
    try:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version} is not known")
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = header(file, max_header_size=10_000)
    except Exception as error:  # the header is an expression of Python: its reader raises what its parts raise
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise source.fail(f"{at}the NPY header cannot be read ({reason}).") from error
    if dtype.hasobject:
        raise source.fail(f"{at}the array holds Python objects; pickle files are not loaded.")
    if any(not isinstance(n, int) or n < 0 for n in shape):
        raise source.fail(f"{at}the NPY header claims an impossible shape.")
    needed, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if needed > there:
        raise source.fail(
            f"{at}the header claims {math.prod(shape)} values ({needed} bytes), the file holds {there} bytes."
        )
    return shape, "F" if fortran else "C", dtype


def npy_values(
    source: Source, file: BinaryIO, shape: tuple[int, ...], order: Any, dtype: np.dtype[Any], label: str = ""
) -> Array:
    """The array that follows the header."""
    needed = math.prod(shape) * dtype.itemsize
    check_cells(source, needed // 8, 1)
    content = file.read(needed)
    if len(content) < needed:
        raise source.fail(f"{label + ': ' if label else ''}the array is cut short.")
    return np.frombuffer(content, dtype=dtype).reshape(shape, order=order)


class Archive:
    """An NPZ file whose member names and sizes were looked at before anything is unpacked; nothing is ever written."""

    def __init__(self, source: Source, file: BinaryIO) -> None:
        self.source = source
        try:
            self._zip = zipfile.ZipFile(file)
            entries = self._zip.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, EOFError) as error:
            raise source.fail(f"the archive is damaged ({error}).") from error
        if len(entries) > FILES.members:
            raise source.fail(f"{len(entries)} members; an NPZ table has at most {FILES.members}.")
        self.members: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            self._add(entry)
        if not self.members:
            raise source.fail("the archive is empty.")

    def _add(self, entry: zipfile.ZipInfo) -> None:
        name = entry.filename
        if name.startswith(("/", "\\")) or ".." in name or "/" in name or "\\" in name or ":" in name:
            raise self.source.fail(
                f"the archive has a member named {quote(name)}: paths are not allowed in an NPZ file."
            )
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise self.source.fail(f"the archive's member {quote(name)} is a symbolic link, which is not allowed.")
        if entry.flag_bits & 1:
            raise self.source.fail(f"the archive's member {quote(name)} is encrypted.")
        if name.lower().endswith((".csv", ".tsv", ".txt", ".xlsx", ".ods", ".parquet")):
            raise self.source.fail(f"this is a zip archive. Unpack it first, and give {quote(name)}.")
        if not name.endswith(".npy"):
            raise self.source.fail(f"the archive has a member {quote(name)}, which is not an array: NPZ expected.")
        if name[:-4] in self.members:
            raise self.source.fail(f"the archive has two members named {quote(name)}.")
        self.members[name[:-4]] = entry

    def read(self, name: str) -> Array:
        """One array, unpacked in memory."""
        entry = self.members[name]
        if entry.file_size > most_bytes(entry.compress_size):
            raise self.source.fail(f"the array {quote(name)}: {too_large(entry.compress_size)}")
        check_cells(self.source, entry.file_size // 8, 1)
        try:
            with self._zip.open(entry) as member:
                return read_npy(self.source, member, entry.file_size, name)  # type: ignore[arg-type]
        except TableError:
            raise
        except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, RuntimeError, ValueError) as error:
            raise self.source.fail(f"the array {quote(name)} is damaged ({str(error)[:80]}).") from error
        except Exception as error:
            if type(error).__module__ in ("zlib", "lzma", "bz2", "_lzma"):
                raise self.source.fail(f"the array {quote(name)} is damaged.") from error
            raise
