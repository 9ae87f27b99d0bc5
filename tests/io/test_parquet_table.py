"""Parquet read at once: the same table as in pieces, the same words where it cannot be read, and no copy of the numbers."""

import datetime
import decimal
import os
import sys

import numpy as np
import pytest

from gramian.io import parquet_table
from gramian.io.parquet_table import ParquetReader
from gramian.io.table import ReadOptions
from gramian.io.tables import TableError, open_table, read_table, whole_table
from gramian.tables.table import concatenate_tables

arrow = pytest.importorskip("pyarrow", reason="needs the extra io")
parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra io")
ROWS = 1000
FIRST_DAY = datetime.datetime(2020, 1, 1)
whole_numbers = np.arange(ROWS) - 5


def some(function):
    """A value per row, and a null in each row that 7 divides."""
    return [None if i % 7 == 0 else function(i) for i in range(ROWS)]


COLUMNS = {
    "float64": arrow.array(np.sin(whole_numbers)),
    "float64 with nulls": arrow.array(some(np.sin)),
    "float64 with NaN": arrow.array(np.where(whole_numbers % 3, np.sin(whole_numbers), np.nan)),
    "float32": arrow.array(np.sin(whole_numbers).astype(np.float32)),
    "float16": arrow.array(np.sin(whole_numbers).astype(np.float16)),
    "int8": arrow.array(whole_numbers % 100, arrow.int8()),
    "int64 with nulls": arrow.array(some(lambda i: 3**33 + i), arrow.int64()),
    "uint64 beyond 2^53": arrow.array([2**63 + 3**9 * i for i in range(ROWS)], arrow.uint64()),
    "bool": arrow.array(some(lambda i: i % 2 == 0)),
    "decimal": arrow.array(some(lambda i: decimal.Decimal(i) / 8)),
    "text": arrow.array(some(lambda i: f"name {i % 9}")),
    "large text": arrow.array(some(str), arrow.large_string()),
    "dictionary of texts": arrow.array(some(lambda i: "uvw"[i % 3])).dictionary_encode(),
    "dictionary of numbers": arrow.array(some(lambda i: i % 3 / 7)).dictionary_encode(),
    "date": arrow.array(some(lambda i: (FIRST_DAY + datetime.timedelta(days=i)).date())),
    "time stamp": arrow.array(some(lambda i: FIRST_DAY + datetime.timedelta(minutes=i))),
    "nulls alone": arrow.nulls(ROWS),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.parquet"


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(parquet_table, "batch_rows", lambda _, rows: 64 if rows is None else rows)


def in_pieces(path, **options):
    return concatenate_tables(open_table(path, ReadOptions(**options)).batches())


def outcome(read, path, **options):
    """The table to the last bit, or the error in words."""
    try:
        table = read(path, **options)
    except (ValueError, MemoryError, OverflowError) as error:
        return type(error), str(error)
    columns = [column.tolist() if column.dtype == object else column.tobytes() for column in table.columns]
    return table.names, table.kinds, columns, table.lines.tolist(), table.notes, table.source.name


def whole(path, **options):
    return whole_table(open_table(path, ReadOptions(**options)))


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("group", [ROWS, 300], ids=["one chunk", "four chunks"])
def test_all_kinds_of_columns_are_those_of_the_pieces(path, group, compression, dictionary):
    parquet.write_table(
        arrow.table(COLUMNS), path, row_group_size=group, compression=compression, use_dictionary=dictionary
    )
    read = outcome(whole, path)
    assert read == outcome(in_pieces, path)
    numbers = {*list(COLUMNS)[:10], "dictionary of numbers", "nulls alone"}
    assert read[1] == ["number" if name in numbers else "text" for name in COLUMNS]


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_holds_what_python_makes_of_its_values(path, name):
    parquet.write_table(arrow.table({"a": COLUMNS[name]}), path, row_group_size=300)
    column, values = read_table(path)["a"], COLUMNS[name].to_pylist()
    if column.dtype == object:
        assert column.tolist() == [None if value is None else str(value) for value in values]
    else:
        np.testing.assert_array_equal(column, [np.nan if value is None else float(value) for value in values])


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_left_out_or_taken_as_text_is_that_of_the_pieces(path, name):
    parquet.write_table(arrow.table(COLUMNS), path, row_group_size=300)
    for options in ({"skip": frozenset([name])}, {"text": frozenset([name])}):
        assert outcome(whole, path, **options) == outcome(in_pieces, path, **options)


@pytest.mark.parametrize("name", ["float64", "float32", "int8", "bool", "dictionary of numbers", "float64 with nulls"])
def test_columns_may_be_written_to(path, name):
    parquet.write_table(arrow.table({"a": COLUMNS[name], "b": COLUMNS["float64"]}), path)
    table = read_table(path)
    table["a"][:] = 7.0
    assert (table["a"] == 7.0).all()
    assert table["b"].tobytes() == np.sin(whole_numbers).tobytes()


def test_a_table_of_numbers_is_read_once_and_not_copied(path, monkeypatch):
    parquet.write_table(arrow.table({"a": COLUMNS["float64"], "b": COLUMNS["text"]}), path)
    monkeypatch.setattr(ParquetReader, "batches", lambda *_: pytest.fail("read in pieces"))
    table = read_table(path)
    assert not table["a"].flags.owndata
    assert table["b"].dtype == object


def with_infinities():
    """The first of the second column stands above the first of the first column."""
    first, second = np.zeros(ROWS), np.zeros(ROWS)
    first[900], second[[30, 70]] = np.inf, -np.inf
    return {"a": first, "b": second}


BAD = {
    "infinities": with_infinities(),
    "lists": {"a": np.zeros(ROWS), "b": [[1]] * ROWS},
    "lists below an infinity": {"a": [[1]] * ROWS, **with_infinities()},
    "a day after the year 9999": {"a": arrow.array([10**7] * ROWS, arrow.int32()).cast(arrow.date32())},
}


@pytest.mark.parametrize("columns", BAD.values(), ids=BAD)
def test_what_cannot_be_read_is_said_in_the_words_of_the_pieces(path, columns):
    parquet.write_table(arrow.table(columns), path)
    said = outcome(whole, path)
    assert len(said) == 2
    assert said == outcome(in_pieces, path)


def test_the_first_infinity_is_the_first_row_and_not_the_first_column(path):
    parquet.write_table(arrow.table(with_infinities()), path)
    with pytest.raises(ValueError, match="column 'b': row 31 is infinite"):
        read_table(path)


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_said_in_the_words_of_the_pieces(path, seed):
    rng = np.random.default_rng(seed)
    parquet.write_table(arrow.table(COLUMNS), path, row_group_size=300, compression=["none", "snappy"][seed % 2])
    content = bytearray(path.read_bytes())
    for place in rng.integers(4, len(content), size=3):
        content[place] = rng.integers(256)
    path.write_bytes(content if seed % 5 else content[: rng.integers(10, len(content))])
    assert outcome(whole, path) == outcome(in_pieces, path)


def test_a_table_beyond_the_memory_allowed_is_refused_where_its_rows_pass_it(path):
    parquet.write_table(arrow.table({"a": COLUMNS["float64"], "b": COLUMNS["text"]}), path)
    needed = ROWS * (8 + 64)
    assert read_table(path, ReadOptions(memory=needed)).n_rows == ROWS
    with pytest.raises(MemoryError, match=r"the rows so far need 6\.7e-05 GB"):
        read_table(path, ReadOptions(memory=needed - 1))
    with pytest.raises(MemoryError, match=r"the rows so far need 4\.3e-06 GB"):
        read_table(path, ReadOptions(memory=1000))


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are texts elsewhere")
def test_a_file_whose_name_is_no_text_is_read(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.parquet")
    plain = tmp_path / "plain.parquet"
    parquet.write_table(arrow.table({"a": [1.0, 2.0]}), plain)
    os.rename(plain, path)
    assert read_table(os.fsdecode(path))["a"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "column, words",
    [
        (arrow.array([2**60, 1, 2], arrow.timestamp("us")), "column 'odd': a 'timestamp"),
        (arrow.array([2**30, 1, 2], arrow.date32()), "column 'odd': a 'date32"),
        (
            arrow.Array.from_buffers(
                arrow.string(), 3, [None, arrow.py_buffer(np.arange(4, dtype="i4")), arrow.py_buffer(b"\xff\xfeA")]
            ),
            "column 'odd': a 'string' cannot be read",
        ),
    ],
    ids=["far future", "far day", "not UTF-8"],
)
def test_dates_and_text_that_nobody_can_read_are_named(tmp_path, column, words):
    path = tmp_path / "odd.parquet"
    parquet.write_table(arrow.table({"a": [1.0, 2.0, 3.0], "odd": column}), path)
    with pytest.raises(TableError, match=words):
        read_table(path)
