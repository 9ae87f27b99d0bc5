"""Packed tables, and files that unpack to far more than a table."""

import gzip
import io
import zipfile
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from gramian.io import packing
from gramian.io.parquet_table import batch_sizes
from gramian.io.tables import TableError, TableWriter, read_table, write_table
from gramian.policy import FILES

X = np.random.default_rng(0).normal(size=(50, 3))


@pytest.mark.parametrize("suffix", ["csv.gz", "tsv.gz", "csv.zst"])
def test_packed_tables_are_read_and_written(suffix, tmp_path):
    if suffix.endswith("zst"):
        pytest.importorskip("pyarrow")
    path = tmp_path / f"t.{suffix}"
    write_table(path, list("abc"), list(X.T), digits=17)
    assert path.read_bytes()[:2] in (b"\x1f\x8b", b"\x28\xb5")
    assert np.array_equal(np.column_stack(read_table(path).columns), X)
    first = path.read_bytes()
    write_table(path, list("abc"), list(X.T), digits=17)
    assert path.read_bytes() == first  # no time of writing inside


def test_a_packed_file_that_is_cut_is_an_error_with_its_name(tmp_path):
    path = tmp_path / "t.csv.gz"
    write_table(path, list("abc"), list(X.T))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TableError, match=r"t\.csv\.gz: the packed file is damaged or cut"):
        read_table(path)


def test_an_error_while_writing_leaves_no_packed_file(tmp_path):
    with suppress(KeyboardInterrupt), TableWriter(tmp_path / "t.csv.gz", ["a"]) as out:
        out.write([np.ones(3)])
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("end", [b"", gzip.compress(b"3,4\n")], ids=["honest", "the last bytes claim little"])
def test_a_gzip_bomb_is_refused(end, tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "FILES", replace(FILES, spare=1 << 16))
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000) + end)
    with pytest.raises(TableError, match=r"unpacks to more than .* over 200 times"):
        read_table(path)


def test_an_honest_gzip_bomb_is_refused_before_a_line_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "FILES", replace(FILES, spare=1 << 16))
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000))
    with pytest.raises(ValueError, match="unpacks to more than"):
        packing.open_unpacked("gzip", path.open("rb"), path.stat().st_size, ValueError)


def test_what_the_last_bytes_of_a_gzip_file_claim_is_counted_before_it_is_believed(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n") + b"\0" * 4 + b"\xff" * 4)
    with pytest.raises(TableError, match="damaged or cut"):
        read_table(path)


def test_an_npz_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "FILES", replace(FILES, spare=1 << 16))
    np.savez_compressed(tmp_path / "t.npz", x=np.zeros((10_000, 100)))
    with pytest.raises(TableError, match="the array 'x': it unpacks to more than"):
        read_table(tmp_path / "t.npz")


def test_a_parquet_bomb_is_refused(tmp_path, monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(packing, "FILES", replace(FILES, spare=1 << 12))
    parquet.write_table(arrow.table({"a": np.zeros(3_000_000)}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match="unpacks to more than"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("kind", ["numbers", "one long text", "packed batch", "lists"])
def test_a_small_file_of_one_value_is_refused_before_it_is_repeated(kind, tmp_path):
    """A value can stand for all rows: run lengths, a list of texts, a packed batch. Nothing is unpacked to find out."""
    arrow = pytest.importorskip("pyarrow")
    parquet, feather = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.feather")
    path = tmp_path / "t"
    if kind == "numbers":
        parquet.write_table(arrow.table({"a": np.ones(9_000_000)}), path, row_group_size=1 << 20)
    elif kind == "one long text":
        texts = arrow.array(["x" * 100_000] * 3000)
        parquet.write_table(arrow.table({"a": np.arange(3000.0), "b": texts}), path)
    elif kind == "lists":
        lists = arrow.ListArray.from_arrays([0, 9_000_000], np.zeros(9_000_000))
        parquet.write_table(arrow.table({"a": [1.0], "b": lists}), path, compression="zstd")
    else:
        feather.write_feather(
            arrow.table({"a": np.ones(9_000_000)}), str(path), compression="zstd", chunksize=9_000_000
        )
    assert path.stat().st_size < 100_000
    arrow.default_memory_pool().release_unused()
    before = arrow.default_memory_pool().bytes_allocated()
    with pytest.raises(TableError, match="unpacks to more than"):
        read_table(path)
    assert arrow.default_memory_pool().bytes_allocated() - before < 1 << 20


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_what_a_batch_of_an_arrow_file_claims_is_what_it_holds(compression, tmp_path):
    arrow, feather = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    listed = arrow.array(["p", "q"] * 3000).dictionary_encode()
    table = arrow.table({"a": np.arange(6000.0), "b": ["x", "yy"] * 3000, "c": listed})
    feather.write_feather(table, str(tmp_path / "t"), compression=compression, chunksize=2500)
    with arrow.OSFile(str(tmp_path / "t")) as stream:
        stream.seek(8)
        sizes = [batch_sizes(bytes(m.metadata), m.body) for m in arrow.ipc.MessageReader.open_stream(stream)]
    assert [rows for rows, _ in sizes if rows] == [2500, 2500, 1000]
    assert 0 <= sum(size for _, size in sizes) - table.nbytes < 2000
    assert read_table(tmp_path / "t")["c"].tolist() == listed.to_pylist()


def archive(content, claimed=None):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", "")
        file.writestr("xl/worksheets/sheet1.xml", content)
    data = buffer.getvalue()
    if claimed is not None:  # the directory lies about the size
        data = data.replace(len(content).to_bytes(4, "little"), claimed.to_bytes(4, "little"))
    return data


@pytest.mark.parametrize("claimed", [None, 1000])
def test_a_workbook_bomb_is_refused_whatever_its_directory_claims(claimed, tmp_path, monkeypatch):
    pytest.importorskip("python_calamine")
    monkeypatch.setattr(packing, "FILES", replace(FILES, spare=1 << 16))
    path = tmp_path / "t.xlsx"
    path.write_bytes(archive(b"0" * 5_000_000, claimed))
    with pytest.raises(TableError, match="unpacks to more than"):
        read_table(path)


def test_a_sheet_that_spans_the_whole_grid_is_refused(tmp_path):
    pytest.importorskip("python_calamine")
    path = tmp_path / "t.xlsx"
    path.write_bytes(archive(b'<c r="A1"><v>1</v></c><c r="XFD1048576"><v>1</v></c>'))
    with pytest.raises(TableError, match="a sheet of 17179869184 cells"):
        read_table(path)


def test_the_bounds_are_pinned():
    assert (FILES.unpacked, FILES.spare) == (200, 2**26)
