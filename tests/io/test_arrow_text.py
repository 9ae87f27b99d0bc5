"""Plain tables through pyarrow: the same numbers and the same words as by the own parser."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

from gramian.io import text_table
from gramian.io.arrow_text import body_offset
from gramian.io.source import Source
from gramian.io.tables import ReadOptions, TableError, open_table, whole_table
from gramian.policy import FILES

pytest.importorskip("pyarrow")
ROWS = 900


def lines_of(cell=lambda i, j: repr(float(np.sin(1.0 + 7 * i + j) * 10.0 ** (j - 3))), n=ROWS, delimiter=","):
    return "".join(delimiter.join(cell(i, j) for j in range(4)) + "\n" for i in range(n))


def with_holes(i, j):
    return ["", "NA", "nan", "-", "?"][i % 5] if (i + j) % 7 == 0 else str(i / 7 + j)


def mixed(i, j):
    return ["uvw"[i % 3], str(i / 7), "" if i % 4 else "x y ", f"{i % 90} %"][j]


HEADER = "a,b,c,d\n"
GOOD = {
    "numbers": HEADER + lines_of(),
    "no header": lines_of(),
    "CRLF": (HEADER + lines_of()).replace("\n", "\r\n"),
    "BOM": "\ufeff" + HEADER + lines_of(),
    "holes": HEADER + lines_of(with_holes),
    "mixed": HEADER + lines_of(mixed),
    "decimal commas": (HEADER + lines_of(with_holes)).replace(",", ";").replace(".", ","),
    "tabs": (HEADER + lines_of(with_holes)).replace(",", "\t"),
    "spaces": (HEADER + lines_of()).replace(",", " , "),
    "plus signs far down": HEADER + lines_of() + "+1,+2,3,4\n",
    "quotes": HEADER + lines_of() + '"1",2,3,4\n',
    "blank lines": HEADER + lines_of() + "\n1,2,3,4\n",
    "white lines": HEADER + lines_of() + "   \n1,2,3,4\n",
    "comments": HEADER + lines_of() + "# note\n1,2,3,4\n",
    "trailing commas far down": HEADER + lines_of() + "1,2,3,4,,\n",
    "totals": "n,b,c,d\n" + lines_of(mixed) + "Total,1,2,3 %\n",
    "odd spellings of missing": HEADER + lines_of() + "nA,2,3, NA \n",
    "money far down": HEADER + lines_of() + '$5,2,3,"1,234"\n',
    "a banner": "Sales\n\n" + HEADER + lines_of(),
    "units": HEADER + "kg,m,%,s\n" + lines_of(),
    "text that begins far down": HEADER + lines_of(lambda i, j: "" if j == 2 else str(i)) + "1,2,word,4\n",
    "no newline at the end": (HEADER + lines_of())[:-1],
    "lone return": HEADER + lines_of() + "1,2,x\r,4\n",
}
BAD = {
    "a word": HEADER + lines_of() + "1,oops,3,4\n" + lines_of(),
    "short row": HEADER + lines_of() + "1,2,3\n",
    "long row": HEADER + lines_of() + "1,2,3,4,5\n",
    "infinite": HEADER + lines_of() + "1,inf,3,4\n",
    "too large": HEADER + lines_of() + "1,2,3,1e400\n",
    "NUL": HEADER + lines_of() + "1,2,3,\0\n",
    "not UTF-8": (HEADER + lines_of(mixed)).encode() + b"caf\xe9,1,y,3 %\n",
    "underscore": HEADER + lines_of() + "1_000,2,3,4\n",
    "unclosed quote": HEADER + lines_of() + '1,2,3,"4\n',
}


def read(path, monkeypatch, quick, **options):
    monkeypatch.setattr(text_table, "FILES", replace(FILES, quick=0 if quick else 1 << 60))
    try:
        reader = open_table(path, ReadOptions(**options))
        table = whole_table(reader)
    except TableError as error:
        return str(error)
    return table.names, [column.tolist() for column in table.columns], table.lines.tolist(), table.notes, reader.skipped


@pytest.mark.parametrize("batch", [None, 64])
@pytest.mark.parametrize("content", [*GOOD.values(), *BAD.values()], ids=[*GOOD, *BAD])
def test_both_ways_give_the_same_table_or_the_same_message(content, batch, tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if batch is not None:
        monkeypatch.setattr("gramian.io.record_table.batch_rows", lambda *_: batch)
    quick, slow = (read(path, monkeypatch, way) for way in (True, False))
    assert repr(quick) == repr(slow)


@pytest.mark.parametrize(
    "name", ["numbers", "no header", "CRLF", "BOM", "holes", "mixed", "decimal commas", "tabs", "a banner", "units"]
)
def test_plain_files_do_take_the_quick_way(name, tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text(GOOD[name], newline="")
    monkeypatch.setattr(text_table, "FILES", replace(FILES, quick=0))
    reader = open_table(path)
    tables = list(reader._quick(10**6, False))
    assert reader._ended
    assert tables[0].n_rows == ROWS


@pytest.mark.parametrize("name", ["mixed", "CRLF", "spaces", "quotes", "units", "a banner", "plus signs far down"])
def test_cells_are_kept_as_they_stand_both_ways(name, tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text(GOOD[name], newline="")
    found = []
    for smallest in (0, 1 << 60):
        monkeypatch.setattr(text_table, "FILES", replace(FILES, quick=smallest))
        found.append([cells for piece in open_table(path).batches(100, raw=True) for cells in piece.raw])
    assert found[0] == found[1]


def test_packed_files_and_chosen_columns_too(tmp_path, monkeypatch):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(GOOD["mixed"].encode()))
    options = {"text": frozenset("b"), "skip": frozenset("a")}
    assert repr(read(path, monkeypatch, True, **options)) == repr(read(path, monkeypatch, False, **options))


def test_strange_marks_are_found_at_the_joints_of_blocks(tmp_path):
    for body, plain in (
        ("1,2\n3,4\n", True),
        ("1,2\n\n3,4\n", False),
        ("1,2\r\n3,4\r\n", True),
        ("1,2\r3,4\n", False),
        ("1,2\n#3\n", False),
    ):
        (tmp_path / "t.csv").write_text(body, newline="")
        for first in (1, 2):
            found = body_offset(Source(tmp_path / "t.csv"), first, block=4)
            assert (found is not None) == (
                plain or (first == 2 and "\n\n" not in body and "#" not in body and "\r3" in body)
            )
