"""Tables: what people's files look like, what strangers' files try, and what comes out."""

import csv
import io
import math
import stat
import struct
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.io import source as source_module
from gramian.io.source import Source
from gramian.io.tables import ReadOptions, TableError, TableWriter, open_table, read_table, write_table
from gramian.io.text_table import Dialect

nan = math.nan


@pytest.fixture
def table_of(tmp_path):
    def read(content, **options):
        path = tmp_path / "t.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, ReadOptions(**options))

    return read


def values(table):
    return [column.tolist() for column in table.columns]


def equal(left, right):
    return all(np.array_equal(np.asarray(a, float), np.asarray(b, float), equal_nan=True) for a, b in zip(left, right))


# ---------------------------------------------------------------- files as people write them (CLI-06, CLI-07, CLI-08)

GOOD = {
    "plain": "a,b\n1,2\n3,4\n",
    "no final newline": "a,b\n1,2\n3,4",
    "BOM": b"\xef\xbb\xbfa,b\n1,2\n3,4\n",
    "CRLF": "a,b\r\n1,2\r\n3,4\r\n",
    "old Mac": "a,b\r1,2\r3,4\r",
    "blank lines": "\n\na,b\n\n1,2\n   \n3,4\n\n\n",
    "trailing commas": "a,b,\n1,2,\n3,4,\n",
    "trailing commas below a short header": "a,b\n1,2,\n3,4,,\n",
    "quoted numbers": 'a,b\n"1","2"\n"3","4"\n',
    "quoted header": '"a","b"\n1,2\n3,4\n',
    "spaces": "a, b\n 1 , 2\n3,  4 \n",
    "semicolons": "a;b\n1;2\n3;4\n",
    "tabs": "a\tb\n1\t2\n3\t4\n",
    "bars": "a|b\n1|2\n3|4\n",
    "blanks": "a   b\n1   2\n3 4\n",
    "decimal commas": "a;b\n1,0;2,0\n3,0;4,0\n",
    "decimal commas and tabs": "a\tb\n1,0\t2,0\n3,0\t4,0\n",
    "exponents": "a,b\n1e0,2.0E+0\n+3,4.\n",
    "UTF-16": "a,b\n1,2\n3,4\n".encode("utf-16"),
}


@pytest.mark.parametrize("content", GOOD.values(), ids=GOOD)
def test_the_same_table_is_read_from_every_dress(content, table_of):
    table = table_of(content)
    assert table.names == ["a", "b"]
    assert equal(values(table), [[1, 3], [2, 4]])


def test_a_semicolon_file_with_decimal_commas_is_never_integers(table_of):
    table = table_of("x;y\n1,5;2,25\n3,5;-4,125\n")
    assert equal(values(table), [[1.5, 3.5], [2.25, -4.125]])


def test_a_headerless_semicolon_file_with_decimal_commas(table_of):
    table = table_of("1,5;2,25\n3,5;-4,125\n")
    assert table.names == ["x1", "x2"]
    assert equal(values(table), [[1.5, 3.5], [2.25, -4.125]])


def test_commas_and_points_together_are_refused(table_of):
    with pytest.raises(TableError, match="both decimal commas"):
        table_of("a;b\n1,5;2.5\n")
    assert equal(values(table_of("a;b\n1,5;2,5\n3,5;4,5\n", decimal=",")), [[1.5, 3.5], [2.5, 4.5]])


def test_thousands_are_read_with_the_decimal_mark_of_the_file(table_of):
    assert equal(values(table_of("a;b\n1,5;2,5\n3,5;4,5\n1.234,5;2,5\n")), [[1.5, 3.5, 1234.5], [2.5, 4.5, 2.5]])
    assert equal(values(table_of('a,b\n1.5,2\n"1,234.5","12,345"\n')), [[1.5, 1234.5], [2, 12345]])
    table = table_of("a;b\n1,234;2\n3,456;4\n")
    assert equal(values(table), [[1.234, 3.456], [2, 4]])
    assert "read with a decimal comma" in table.notes[0]


@pytest.mark.parametrize(
    "token", ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "-", ".", "#N/A", "<NA>", " na "]
)
def test_missing_tokens_are_nan(token, table_of):
    assert equal(values(table_of(f"a,b\n{token},2\n3,4\n")), [[nan, 3], [2, 4]])


def test_none_is_a_word_among_words_and_missing_among_numbers(table_of):
    text = "pain,dose\nnone,1\nMild,None\n,3\nNone,4\n"
    table = table_of(text)
    assert table["pain"].tolist() == ["none", "Mild", None, "None"]
    assert np.isnan(table["dose"]).tolist() == [False, True, False, False]
    assert [note for note in table.notes if "--missing none" in note] == [
        "column 'pain': 'none' is taken as a word like the others (--missing none if it means missing)"
    ]
    assert table_of(text, missing=("none",))["pain"].tolist() == [None, "Mild", None, None]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("\n<!DOCTYPE html><table><tr><td>1</td></tr></table>", "a page of HTML"),
        ("<html><table></table></html>", "a page of HTML"),
        ('<?xml version="1.0"?><Workbook/>', "this is XML"),
    ],
)
def test_what_is_no_table_is_named(content, words, table_of):
    with pytest.raises(TableError, match=words):
        table_of(content)


def test_a_zip_of_a_table_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("sales.csv", "a,b\n1,2\n")
    with pytest.raises(TableError, match=r"zip archive. Unpack it first, and give 'sales.csv'"):
        read_table(tmp_path / "t.zip")


def test_a_sentinel_is_missing_only_when_said(table_of):
    assert equal(values(table_of("a,b\n-999,2\n3,4\n")), [[-999, 3], [2, 4]])
    assert equal(values(table_of("a,b\n-999,2\n3,4\n", missing=("-999",))), [[nan, 3], [2, 4]])


def test_a_first_row_of_numbers_is_data(table_of):
    table = table_of("1,2\n3,4\n")
    assert table.names == ["x1", "x2"]
    assert equal(values(table), [[1, 3], [2, 4]])
    assert "no header" in table.notes[0]
    assert table_of("1,2\n3,4\n", header=True).names == ["1", "2"]
    assert table_of("a,b\nc,d\n", header=False).columns[0].tolist() == ["a", "c"]


def test_one_column(table_of):
    assert values(table_of("a\n1\n2\n")) == [[1.0, 2.0]]
    assert values(table_of("1\n2.5\n")) == [[1.0, 2.5]]


def test_texts_stay_texts(table_of):
    table = table_of('name,size\n"Anna, B.",1\n"say ""hi""\nthere",2\n,3\n')
    assert table.kinds == ["text", "number"]
    assert table["name"].tolist() == ["Anna, B.", 'say "hi"\nthere', None]
    assert table.lines.tolist() == [2, 3, 5]  # a cell with a line break does not upset the count


def test_underscores_and_words_are_not_numbers(table_of):
    assert table_of("a,b\n1_000,1\n2_000,2\n").kinds == ["text", "number"]


def test_a_chosen_column_is_text(table_of):
    assert table_of("a,b\n01,1\n02,2\n", text=frozenset(["a"]))["a"].tolist() == ["01", "02"]


def test_a_skipped_column_is_not_looked_at(table_of):
    assert np.isnan(table_of("a,b\n1,inf\n2,x\n", skip=frozenset(["b"]))["b"]).all()


# ---------------------------------------------------------------- files that are wrong (CLI-03, CLI-05, CLI-08, CLI-10)

BAD = {
    "empty": (b"", "the file is empty"),
    "only blank lines": ("\n  \n\n", "only blank lines"),
    "header only": ("a,b\n", "no rows below it"),
    "short row": ("a,b,c\n1,2,3\n\n4,5\n", "line 4: 2 fields where 3 are expected"),
    "long row": ("a,b,c\n1,2,3\n4,5,6,7\n", "line 3: 4 fields where 3 are expected"),
    "unclosed quote": ('a,b\n1,2\n"3,4\n5,6\n', r"line 3: a quote opened here is never closed"),
    "text after a quote": ('a,b\n1,2\n"3"x,4\n', "line 3: text after a closing quote"),
    "NUL": (b"a,b\n1,2\n3,\x004\n", "line 3: a NUL byte"),
    "cp1252 far below": (
        b"name,b\n" + b"x,1\n" * 300_000 + "café,2\n".encode("cp1252"),
        "line 300002: the byte 0xe9 is not UTF-8.*--encoding cp1252",
    ),
    "duplicate header": ("a,b,a,b,c\n1,2,3,4,5\n", "duplicate column names: 'a', 'b'"),
    "inf": ("a,b\n1,2\ninf,3\n", "line 3, column 'a': 'inf' is infinite"),
    "-Infinity": ("a,b\n1,2\n2,-Infinity\n", "line 3, column 'b': '-Infinity' is infinite"),
    "1e400": ("a,b\n1,2\n1e400,3\n", "line 3, column 'a': '1e400' is too large"),
    "digits": ("a,b\n1,2\n" + "9" * 200_000 + ",3\n", "line 3: a cell of more than 131072 characters"),
    "many digits": ("a,b\n1,2\n" + "9" * 1000 + ",3\n", "line 3, column 'a': '99999999.* is too large"),
    "columns": (",".join(f"c{i}" for i in range(20_000)) + "\n" + ",".join("1" * 20_000) + "\n", "20000 columns"),
    "a word among numbers": ("a,b\n1,2\n3,4\n5,oops\n", "line 4, column 'b': 'oops' is not a number"),
    "gzip": (b"\x1f\x8b\x08\x00" + bytes(50), "packed file is damaged"),
    "zip of Excel": (None, "workbook cannot be read"),
    "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(50), "picture"),
    "binary": (bytes(range(256)) * 20, "binary file"),
    "pickle": (b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}.", "pickle files are not loaded"),
}


@pytest.mark.parametrize("content, words", BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_in_one_line_with_its_place(content, words, table_of, tmp_path):
    if content is None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("[Content_Types].xml", "")
            archive.writestr("xl/workbook.xml", "")
        content = buffer.getvalue()
    with pytest.raises(TableError, match=words) as caught:
        table_of(content)
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "t.csv"))
    assert "\n" not in message
    assert len(message) < 500


def test_latin_1_is_read_when_said(table_of):
    assert table_of("name,b\ncafé,1\nthé,2\n".encode("latin-1"), encoding="latin-1")["name"].tolist() == ["café", "thé"]


def test_no_such_file_and_folders_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(IsADirectoryError, match="folder"):
        read_table(tmp_path)


def test_a_word_far_below_is_named_by_its_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 500 + "1,x\n")
    reader = open_table(path)
    with pytest.raises(TableError, match="line 502, column 'b': 'x'"):
        list(reader.batches(rows=100))


# ---------------------------------------------------------------- pieces


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 100])
def test_pieces_together_are_the_whole(rows, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n" + "\n".join(f"{i},{'' if i % 3 else i / 7},{'uv'[i % 2]}" for i in range(7)) + "\n")
    pieces = list(open_table(path).batches(rows))
    assert [piece.n_rows for piece in pieces[:-1]] == [rows] * (len(pieces) - 1)
    whole = read_table(path)
    joined = [[value for piece in pieces for value in piece.columns[j].tolist()] for j in range(3)]
    assert equal(joined[:2], values(whole)[:2])
    assert joined[2] == values(whole)[2]
    assert [line for piece in pieces for line in piece.lines.tolist()] == list(range(2, 9))


def test_a_column_that_starts_with_holes_takes_its_kind_later(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n,\n,\nx,1\ny,2\n")
    kinds = [piece.kinds for piece in open_table(path).batches(rows=2)]
    assert kinds[-1] == ["text", "number"]
    assert read_table(path)["a"].tolist() == [None, None, "x", "y"]


cell = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(
    rows=st.lists(st.lists(cell, min_size=3, max_size=3), min_size=1, max_size=20),
    how=st.sampled_from([(",", "."), (";", ","), ("\t", "."), ("\t", ",")]),
)
@settings(max_examples=60, deadline=None)
def test_what_was_written_is_read_back(rows, how, tmp_path_factory):
    path = tmp_path_factory.mktemp("t") / ("t.tsv" if how[0] == "\t" else "t.csv")
    matrix = np.array(rows)
    write_table(path, ["a", "b", "c"], list(matrix.T), dialect=Dialect(*how), digits=17)
    # one number with a decimal mark shows which it is; where none has one, nothing needs to be known
    table = read_table(path)
    assert table.names == ["a", "b", "c"]
    assert equal(values(table), matrix.T)


# ---------------------------------------------------------------- NPY and NPZ (IO-04, IO-06)


def npy_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=array.dtype == object)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(3, 2),
        np.asfortranarray(np.arange(6.0).reshape(3, 2)),
        np.arange(6, dtype=np.int8).reshape(3, 2),
    ],
)
def test_npy_is_read(array, tmp_path):
    np.save(tmp_path / "t.npy", array)
    table = read_table(tmp_path / "t.npy")
    assert table.names == ["x1", "x2"]
    assert equal(values(table), array.T)


def claiming(shape, descr="<f8"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


@pytest.mark.parametrize(
    "content, words",
    [
        (claiming("(1000000000000,)") + bytes(80), "claims 1000000000000 values"),
        (claiming("(1000000, 1000000)") + bytes(80), "claims 1000000000000 values"),
        (claiming("(-1, 3)") + bytes(80), "impossible shape"),
        (claiming("(3,)", "|O") + bytes(80), "pickle files are not loaded"),
        (claiming("(1, 2)", "<c16") + bytes(80), "dtype complex128"),
        (claiming("(0, 2)"), "not a table"),
        (claiming("(1, 1, 1)") + bytes(8), "not a table"),
        (claiming("(1,)", "<M8[s]") + bytes(8), "dtype datetime64"),
        (b"\x93NUMPY\x09\x00" + bytes(80), "header cannot be read"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "header cannot be read"),
        (b"\x93NUMPY\x01\x00\x18\x00{'descr': '<f8', 'shape'(\n", "header cannot be read"),
        (b"\x93NUMPY\x01\x00\x10\x00" + b"__import__('os')", "header cannot be read"),
        (npy_bytes(np.array([{"a": 1}], dtype=object)), "pickle files are not loaded"),
        (npy_bytes(np.array([[1.0, np.inf]])), "column 'x2': row 1 is infinite"),
    ],
)
def test_wrong_npy_files_are_refused_before_allocation(content, words, tmp_path):
    path = tmp_path / "t.npy"
    path.write_bytes(content)
    with pytest.raises(TableError, match=words):
        read_table(path)


def test_npz_takes_the_table_and_its_names(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, x=np.eye(2), columns=np.array(["a", "b"]), y=np.arange(2))
    table = read_table(path)
    assert table.names == ["a", "b"]
    assert "x is read" in table.notes[0]
    assert read_table(path, ReadOptions(array="y")).columns[0].tolist() == [0.0, 1.0]
    with pytest.raises(TableError, match=r"no array 'z'\. It holds columns, x, y"):
        read_table(path, ReadOptions(array="z"))
    np.savez(path, one=np.eye(2), two=np.eye(2))
    with pytest.raises(TableError, match="Say which with --array"):
        read_table(path)


def archive(path, *members):
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members:
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name)
            file.writestr(info, content)


def link(name):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    "name, words",
    [
        ("../../x.npy", "paths are not allowed"),
        ("/etc/x.npy", "paths are not allowed"),
        ("C:x.npy", "paths are not allowed"),
        ("a\\x.npy", "paths are not allowed"),
        ("folder/x.npy", "paths are not allowed"),
        (link("x.npy"), "symbolic link"),
        ("x.pkl", "not an array"),
    ],
)
def test_archives_with_odd_members_are_refused_and_nothing_is_written(name, words, tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    archive("t.npz", (name, npy_bytes(np.eye(2))))
    with pytest.raises(TableError, match=words):
        read_table("t.npz")
    assert [path.name for path in tmp_path.rglob("*")] == ["inner", "t.npz"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archives_with_two_members_of_one_name_are_refused(tmp_path):
    archive(tmp_path / "t.npz", ("x.npy", npy_bytes(np.eye(2))), ("x.npy", npy_bytes(np.ones((2, 2)))))
    with pytest.raises(TableError, match="two members"):
        read_table(tmp_path / "t.npz")


def test_damaged_archives_are_one_kind_of_error(tmp_path):
    path = tmp_path / "t.npz"
    np.savez_compressed(path, x=np.random.default_rng(0).normal(size=(50, 3)))
    content = path.read_bytes()
    for cut in range(4, len(content), 101):
        path.write_bytes(content[:cut])
        with pytest.raises(TableError):
            read_table(path)
    for position in range(30, len(content), 37):
        changed = bytearray(content)
        changed[position] ^= 0xFF
        path.write_bytes(changed)
        with suppress(TableError):  # a flipped date is no matter; any other error would be
            read_table(path)


def test_a_table_beyond_memory_is_refused_before_allocation(tmp_path, monkeypatch):
    path = tmp_path / "t.npz"
    np.savez_compressed(path, x=np.zeros((2000, 100)))
    monkeypatch.setattr(source_module, "memory_available", lambda: 1_000_000)
    with pytest.raises(MemoryError, match="GB are available"):
        read_table(path)


# ---------------------------------------------------------------- Parquet


@pytest.fixture
def arrow():
    pytest.importorskip("pyarrow.parquet", reason="needs the extra io")
    return pytest.importorskip("pyarrow")


def test_parquet_is_read_with_holes_texts_and_kinds(arrow, tmp_path):
    import datetime
    import decimal

    path = tmp_path / "t.parquet"
    table = arrow.table(
        {
            "f": [1.5, None, 2.5],
            "i": [1, 2, None],
            "b": [True, False, None],
            "d": [decimal.Decimal("1.25"), None, decimal.Decimal("2.50")],
            "s": ["x", None, "y"],
            "c": arrow.array(["u", "v", "u"]).dictionary_encode(),
            "t": [datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 3)],
            "n": arrow.nulls(3),
        }
    )
    arrow.parquet.write_table(table, path)
    read = read_table(path)
    assert read.kinds == ["number"] * 4 + ["text"] * 3 + ["number"]
    assert equal(
        [read["f"], read["i"], read["b"], read["d"]], [[1.5, nan, 2.5], [1, 2, nan], [1, 0, nan], [1.25, nan, 2.5]]
    )
    assert read["s"].tolist() == ["x", None, "y"]
    assert read["t"].tolist() == ["2020-01-01", None, "2020-01-03"]
    assert [piece.n_rows for piece in open_table(path).batches(rows=2)] == [2, 1]


def test_odd_and_damaged_parquet_is_refused(arrow, tmp_path):
    path = tmp_path / "t.parquet"
    arrow.parquet.write_table(arrow.table({"a": [[1], [2]]}), path)
    with pytest.raises(TableError, match="column 'a': a column of type"):
        read_table(path)
    arrow.parquet.write_table(arrow.table({"a": [1.0, math.inf]}), path)
    with pytest.raises(TableError, match="column 'a': row 2 is infinite"):
        read_table(path)
    content = path.read_bytes()
    path.write_bytes(content[:-10])
    with pytest.raises(TableError, match="damaged"):
        read_table(path)


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1" + bytes(20))
    with pytest.raises(ImportError, match=r"gramian\[io\]"):
        read_table(tmp_path / "t.parquet")
    with pytest.raises(ImportError, match=r"gramian\[io\]"):
        TableWriter(tmp_path / "o.parquet", ["a"])


# ---------------------------------------------------------------- writing


@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt", "parquet", "pq", "npy", "npz"])
def test_every_format_written_is_read_back(suffix, tmp_path):
    if suffix in ("parquet", "pq"):
        pytest.importorskip("pyarrow")
    path = tmp_path / f"t.{suffix}"
    with TableWriter(path, ["a", "b"], digits=17) as out:
        out.write([np.array([0.1, nan]), np.array([1.0, 2.0])])
        out.write([np.array([1 / 3]), np.array([1e300])])
    table = read_table(path)
    assert equal(values(table), [[0.1, nan, 1 / 3], [1.0, 2.0, 1e300]])
    assert table.names == (["x1", "x2"] if suffix == "npy" else ["a", "b"])


def test_numbers_are_written_for_people(tmp_path):
    write_table(
        tmp_path / "t.csv",
        ["a", "b"],
        [np.array([1 / 3, 12345678901234.0, -0.0]), np.array(["x,y", None, 'q"'], dtype=object)],
    )
    assert (tmp_path / "t.csv").read_text() == 'a,b\n0.3333333333,"x,y"\n12345678901234,\n0,"q"""\n'


def test_an_error_while_writing_leaves_nothing(tmp_path):
    for suffix in ("csv", "npz", "npy"):
        with suppress(KeyboardInterrupt), TableWriter(tmp_path / f"t.{suffix}", ["a"]) as out:
            out.write([np.ones(3)])
            raise KeyboardInterrupt
    with pytest.raises(ValueError, match="numbers only"):
        write_table(tmp_path / "t.npy", ["a"], [np.array(["x"], dtype=object)])
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_suffix_is_an_error_that_lists_those_known(tmp_path):
    with pytest.raises(ValueError, match=r"\.csv, \.tsv"):
        TableWriter(tmp_path / "t.dat", ["a"])
    with pytest.raises(ValueError, match="workbooks are read, not written"):
        TableWriter(tmp_path / "t.xlsx", ["a"])


def test_standard_input_can_be_read_twice(monkeypatch):
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n3,4\n")))
    source = Source("-")
    reader = open_table(source)
    assert equal(values(read_table(source)), [[1, 3], [2, 4]])
    assert next(reader.batches()).n_rows == 2
    assert source.name == "standard input"


def test_rows_are_kept_as_they_were_when_asked(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n1.50,"x, y"\n,z\n')
    (piece,) = open_table(tmp_path / "t.csv").batches(raw=True)
    assert piece.raw == [["1.50", "x, y"], ["", "z"]]
    assert next(csv.reader(["1.50"])) == ["1.50"]
