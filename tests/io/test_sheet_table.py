"""Workbooks: the same table as from CSV."""

import datetime
from contextlib import suppress

import numpy as np
import pytest

from gramian.io.tables import ReadOptions, TableError, open_table, read_table, whole_table

pd = pytest.importorskip("pandas")
pytest.importorskip("python_calamine")

FRAME = pd.DataFrame(
    {
        "day": pd.date_range("2024-01-30", periods=5),
        "size": [1.5, 2.0, np.nan, 4.25, 1e-7],
        "kind": ["u", "v", "u", None, "v"],
        "good": [True, False, True, True, False],
        "count": [1, 2, 3, 4, 5],
    }
)


@pytest.fixture(params=["xlsx", "ods"])
def book(request, tmp_path):
    pytest.importorskip("openpyxl" if request.param == "xlsx" else "odf")
    path = tmp_path / f"t.{request.param}"
    with pd.ExcelWriter(path) as writer:
        FRAME.to_excel(writer, sheet_name="first", index=False)
        FRAME[["size", "count"]].iloc[::-1].to_excel(writer, sheet_name="2nd", index=False, startrow=3)
    return path


def test_a_sheet_is_read_like_a_csv(book, tmp_path):
    table = read_table(book)
    assert table.names == list(FRAME.columns)
    assert np.array_equal(table["size"], FRAME["size"], equal_nan=True)
    assert table["kind"].tolist() == ["u", "v", "u", None, "v"]
    assert table["day"].tolist() == [str(datetime.date(2024, 1, 30) + datetime.timedelta(i)) for i in range(5)]
    assert [cell.lower() for cell in table["good"]] == ["true", "false", "true", "true", "false"]
    assert "of the sheets 'first', '2nd', the first is read" in table.notes[0]


@pytest.mark.parametrize("sheet", ["2nd", "2"])
def test_a_sheet_by_name_or_number_that_begins_lower_down(book, sheet):
    table = read_table(book, ReadOptions(sheet=sheet))
    assert table["count"].tolist() == [5, 4, 3, 2, 1]
    assert table.lines.tolist() == [5, 6, 7, 8, 9]


def test_a_sheet_that_is_not_there(book):
    with pytest.raises(TableError, match="--sheet 'third': the sheets are 'first', '2nd'"):
        read_table(book, ReadOptions(sheet="third"))


def test_the_first_sheet_with_a_table_is_read(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as writer:
        pd.DataFrame({"about": ["This book holds sizes.", "See the next sheet."]}).to_excel(
            writer, sheet_name="cover", index=False
        )
        FRAME.to_excel(writer, sheet_name="sizes", index=False)
        FRAME[["size"]].to_excel(writer, sheet_name="more")
    with pd.ExcelWriter(tmp_path / "words.xlsx") as writer:
        for name in ("one", "two"):
            pd.DataFrame({"about": ["nothing", "at all"]}).to_excel(writer, sheet_name=name, index=False)
    table = read_table(tmp_path / "t.xlsx", ReadOptions(sheet="sizes"))
    cover = read_table(tmp_path / "t.xlsx", ReadOptions(sheet="1"))
    assert "about" in cover.names
    assert read_table(tmp_path / "words.xlsx").n_rows == 2  # none holds a table: the first
    found = read_table(tmp_path / "t.xlsx")
    assert found.names == table.names


def test_a_banner_and_units_in_a_sheet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    work = openpyxl.Workbook()
    for row in (
        ["Measured in May"],
        [],
        ["site", "mass", "share"],
        ["", "kg", "%"],
        ["a", 1, 0.5],
        ["b", 2, 0.25],
        ["c", 3.5, 1],
    ):
        work.active.append(row)
    work.save(tmp_path / "t.xlsx")
    reader = open_table(tmp_path / "t.xlsx")
    table = whole_table(reader)
    assert table.names == ["site", "mass", "share"]
    assert table["mass"].tolist() == [1, 2, 3.5]
    assert reader.skipped == "2 lines skipped"


def test_damaged_workbooks_are_one_kind_of_error(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    FRAME.to_excel(path)
    content = path.read_bytes()
    for cut in range(4, len(content), 701):
        path.write_bytes(content[:cut])
        with pytest.raises(TableError):
            read_table(path)
    for position in range(30, len(content), 97):
        changed = bytearray(content)
        changed[position] ^= 0xFF
        path.write_bytes(changed)
        with suppress(TableError):  # a flipped date is no matter; any other error would be
            read_table(path)


def test_without_calamine_the_extra_is_named(book, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ImportError, match=r"gramian\[io\]"):
        read_table(book)


def test_an_archive_whose_directory_points_before_the_file_is_damaged(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    FRAME.to_excel(path, index=False)
    content = bytearray(path.read_bytes())
    end = content.rindex(b"PK\x05\x06")
    content[end + 16 : end + 20] = (2**30).to_bytes(4, "little")  # where the directory is said to begin
    path.write_bytes(content)
    with pytest.raises(TableError, match="damaged"):
        read_table(path)
