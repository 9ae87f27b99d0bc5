"""Twenty files as people have them: each is read, and the answer is what a person would read in it."""

import gzip
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.io.tables import TableWriter, open_table, read_table, whole_table, write_table
from gramian.tables.preprocessing import Preprocessing

ROWS = [(f"n{i:02d}", 10 + i, 2.5 * i) for i in range(12)]
BODY = "".join(f"{name},{size},{price}\n" for name, size, price in ROWS)


def sheet(path, rows, merged=()):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for cells in merged:
        book.active.merge_cells(cells)
    book.save(path)


def as_json(rows):
    return json.dumps([{"name": name, "size": size, "price": price} for name, size, price in rows])


def as_lines(rows):
    return "".join(json.dumps({"name": name, "size": size, "price": price}) + "\n" for name, size, price in rows)


MESSY = {
    "plain": f"name,size,price\n{BODY}",
    "a banner": f"Report of May\n\nname,size,price\n{BODY}",
    "comments": f"# from the shop\n# in euro\nname,size,price\n{BODY}",
    "units": f"name,size,price\n,[cm],[EUR]\n{BODY}",
    "semicolons and commas": "name;size;price\n" + BODY.replace(",", ";").replace(".", ","),
    "tabs": "name\tsize\tprice\n" + BODY.replace(",", "\t"),
    "bars": "name|size|price\n" + BODY.replace(",", "|"),
    "sep": "sep=;\nname;size;price\n" + BODY.replace(",", ";"),
    "a mark of bytes": ("\ufeffname,size,price\n" + BODY).encode(),
    "utf-16": f"name,size,price\n{BODY}".encode("utf-16"),
    "carriage returns": f"name,size,price\n{BODY}".replace("\n", "\r"),
    "packed": gzip.compress(f"name,size,price\n{BODY}".encode()),
    "a total": f"name,size,price\n{BODY}Total,186,165\n",
    "a mean in another language": f"name,size,price\n{BODY}Mittelwert,15.5,13.75\n",
    "quotes": "name,size,price\n" + "".join(f'"{n}","{s}","{p}"\n' for n, s, p in ROWS),
    "trailing commas": "name,size,price,,\n" + BODY.replace("\n", ",,\n"),
    "JSON": as_json(ROWS),
    "JSON lines": as_lines(ROWS),
    "JSON of columns": json.dumps(
        {"name": [r[0] for r in ROWS], "size": [r[1] for r in ROWS], "price": [r[2] for r in ROWS]}
    ),
    "JSON of a frame": json.dumps({"columns": ["name", "size", "price"], "data": [list(row) for row in ROWS]}),
}


@pytest.mark.parametrize("how", list(MESSY))
def test_twenty_files_have_one_answer(tmp_path, how):
    assert len(MESSY) == 20
    path = tmp_path / "t"
    path.write_bytes(MESSY[how] if isinstance(MESSY[how], bytes) else MESSY[how].encode())
    table = read_table(path)
    assert table.names == ["name", "size", "price"]
    assert table["name"].tolist() == [row[0] for row in ROWS]
    assert table["size"].tolist() == [row[1] for row in ROWS]
    assert_allclose(table["price"], [row[2] for row in ROWS])


def test_a_merged_header_of_a_workbook_is_two_rows_joined(tmp_path):
    path = tmp_path / "t.xlsx"
    head = [["region", "2020", None, "2021", None], [None, "sales", "costs", "sales", "costs"]]
    sheet(path, [*head, *([f"r{i}", i, 2 * i, 3 * i, 4 * i] for i in range(1, 6))], ["A1:A2", "B1:C1", "D1:E1"])
    reader = open_table(path)
    table = whole_table(reader)
    assert table.names == ["region", "2020 sales", "2020 costs", "2021 sales", "2021 costs"]
    assert table["2021 costs"].tolist() == [4.0 * i for i in range(1, 6)]
    assert table["region"].tolist() == [f"r{i}" for i in range(1, 6)]
    assert "lines 1 and 2 are one header" in " ".join(reader.notes)


def test_a_header_over_a_row_of_texts_is_one_header(tmp_path):
    (tmp_path / "t.csv").write_text("kind,,size\nu,big,1\nv,small,2\nw,big,3\n")
    assert read_table(tmp_path / "t.csv").names == ["kind", "column 2", "size"]


def test_the_euro_sign_survives(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("name,price\ncafé,€5\nthé,€7\n".encode("cp1252"))
    reader = open_table(path)
    table = whole_table(reader)
    assert table["name"].tolist() == ["café", "thé"]
    assert table["price"].tolist() == [5.0, 7.0]
    assert reader.dresses[1].before == "€"
    assert "read as cp1252" in " ".join(reader.notes)
    path.write_bytes("name,b\nx\x81,1\ny,2\n".encode("latin-1"))  # a byte that cp1252 does not have
    assert read_table(path)["name"].tolist() == ["x\x81", "y"]


def test_means_that_are_rows_like_the_others_stay(tmp_path):
    (tmp_path / "t.csv").write_text("what,a\n" + "".join(f"{w},{i}\n" for i in range(6) for w in ("mean", "deviation")))
    reader = open_table(tmp_path / "t.csv")
    assert whole_table(reader).n_rows == 12
    assert "taken as a row, as it is one of many" in " ".join(reader.notes)


@pytest.mark.parametrize("said", [True, False])
def test_a_total_is_left_out_unless_told(tmp_path, said):
    from gramian.io.table import ReadOptions

    (tmp_path / "t.csv").write_text(MESSY["a total"])
    assert read_table(tmp_path / "t.csv", ReadOptions(drop_totals=said)).n_rows == 12 + (not said)


NAMES_OF_ROWS = {
    "customer_id": np.random.default_rng(0).permutation(np.arange(100, 140)),
    "CustomerID": np.random.default_rng(0).permutation(np.arange(100, 140)),
    "case no": np.arange(40) * 3,
    "register": 100_000 + np.arange(40) * 7,
    "passengerid": np.arange(1, 41),
}


@pytest.mark.parametrize("name", list(NAMES_OF_ROWS))
def test_numbers_that_name_rows_are_carried_and_said(tmp_path, name):
    size = np.random.default_rng(1).standard_normal(40)
    write_table(tmp_path / "t.csv", ["size", name, "b"], [size, NAMES_OF_ROWS[name].astype(float), -size])
    prepare = Preprocessing.fit([read_table(tmp_path / "t.csv")])
    assert prepare.names == ["size", "b"]
    assert prepare.ids == [name]
    assert "taken as row names (--id)" in " ".join(prepare.notes)


@pytest.mark.parametrize(
    "name, values",
    [
        ("acid", np.arange(40) % 7),
        ("score", np.random.default_rng(0).permutation(np.arange(40))),
        ("year", np.arange(1900, 1940)),
        ("size_id", np.repeat(np.arange(20), 2)),
        ("key", np.arange(40) + 0.5),
    ],
)
def test_other_numbers_are_modelled(tmp_path, name, values):
    size = np.random.default_rng(1).standard_normal(40)
    write_table(tmp_path / "t.csv", ["size", name], [size, np.asarray(values, float)])
    assert Preprocessing.fit([read_table(tmp_path / "t.csv")]).names == ["size", name]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_dates_categories_booleans_and_whole_numbers_keep_their_types(tmp_path, suffix):
    pandas = pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    feather, parquet = pytest.importorskip("pyarrow.feather"), pytest.importorskip("pyarrow.parquet")

    frame = arrow.table(
        {
            "day": arrow.array(pandas.date_range("2020-01-01", periods=20).date),
            "at": arrow.array(pandas.date_range("2020-01-01", periods=20, freq="h")),
            "kind": arrow.array(["u", "v"] * 10).dictionary_encode(),
            "yes": arrow.array([True, False] * 9 + [None, True]),
            "count": arrow.array([*range(19), None], type=arrow.int32()),
            "size": arrow.array(np.arange(20.0) ** 2),
        }
    )
    path = tmp_path / f"t.{suffix}"
    parquet.write_table(frame, path) if suffix == "parquet" else feather.write_feather(frame, path)
    reader = open_table(path)
    with TableWriter(tmp_path / f"o.{suffix}", reader.names, types=reader.types) as out:
        for table in reader.batches(rows=7):
            columns = [np.where(np.isnan(c), 3.4, c) if c.dtype != object else c for c in table.columns]
            out.write(columns)
    read = parquet.read_table if suffix == "parquet" else feather.read_table
    back = read(tmp_path / f"o.{suffix}")
    assert back.schema.types == frame.schema.types
    assert back["day"].to_pylist() == frame["day"].to_pylist()
    assert back["at"].to_pylist() == frame["at"].to_pylist()
    assert back["kind"].to_pylist() == frame["kind"].to_pylist()
    assert back["count"].to_pylist() == [*range(19), 3]
    assert back["yes"].to_pylist() == [True, False] * 9 + [True, True]


@pytest.mark.parametrize("suffix", ["json", "jsonl", "jsonl.gz"])
def test_json_comes_back(tmp_path, suffix):
    names = np.array(["ü", None, "x"], dtype=object)
    write_table(tmp_path / f"t.{suffix}", ["n", "a"], [names, np.array([1.0, np.nan, 2.5])])
    table = read_table(tmp_path / f"t.{suffix}")
    assert table["n"].tolist() == ["ü", None, "x"]
    assert_allclose(table["a"], [1.0, np.nan, 2.5])


@pytest.mark.parametrize(
    "text, said",
    [
        ('[{"a": [1]}]', "column 'a': a cell holds a list"),
        ('[{"a": {"b": 1}}, {"a": 2}]', "column 'a': a cell holds an object"),
        ("[]", "no rows"),
        ("[{}]", "no keys"),
        ('[{"a": 1}, 2]', "row 2 is neither"),
        ('{"a": 1}\n{"a": 2,}\n', "line 2: not a line of JSON"),
        ('{"a": [1, 2], "b": [1]}', "1 to 2 values"),
        ('[{"a": 1}', "cannot be read"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_is_no_table_says_so(tmp_path, text, said):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(ValueError, match=said):
        read_table(tmp_path / "t.json")
