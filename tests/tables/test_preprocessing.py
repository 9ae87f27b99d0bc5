"""From a table to features and back."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.io.tables import TableError, read_table
from gramian.tables.coding import coordinates
from gramian.tables.column_summary import Summary
from gramian.tables.preprocessing import BLOCK_ROWS, Preprocessing, Roles, resolve_columns
from gramian.tables.table import Table


def texts(*values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


@pytest.fixture
def table():
    return Table(
        ["id", "size", "colour", "label"],
        [
            np.arange(1.0, 7.0),
            np.array([1.0, 2.0, np.nan, 4.0, 5.0, 6.0]),
            texts("red", "blue", "red", None, "blue", "red"),
            texts("u", "v", "u", "v", "u", "v"),
        ],
        np.arange(2, 8),
    )


def test_numbers_are_standardised_and_texts_are_contrasts(table):
    prepare = Preprocessing.fit([table], Roles(target="label"))
    assert prepare.features == ["size", "colour=red"]
    assert prepare.ids == ["id"]  # it counts the rows
    X = prepare.matrix(table)
    assert_allclose(np.nanmean(X, axis=0), 0, atol=1e-15)
    assert_allclose(np.nanstd(X, axis=0), 1)
    assert np.isnan(X[2]).tolist() == [True, False]
    assert np.isnan(X[3]).tolist() == [False, True]
    assert any("2 categories (blue, red)" in note for note in prepare.notes)
    assert prepare.targets(table).tolist() == ["u", "v", "u", "v", "u", "v"]


def test_the_way_back_undoes_the_way_in(table):
    prepare = Preprocessing.fit([table], Roles(target="label"))
    size, colour = prepare.columns(np.nan_to_num(prepare.matrix(table)))
    seen = ~np.isnan(table["size"])
    assert_allclose(size[seen], table["size"][seen])
    assert [c for c, t in zip(colour, table["colour"]) if t is not None] == [
        t for t in table["colour"] if t is not None
    ]


def test_without_standardising_numbers_stay_as_they_are(table):
    prepare = Preprocessing.fit([table], Roles(drop=("colour", "label")), standardize=False)
    assert_allclose(prepare.matrix(table)[:, 0], table["size"])


def test_pieces_give_the_same_as_the_whole():
    rng = np.random.default_rng(0)
    values = 1e9 + rng.normal(size=(100, 3))
    whole = Preprocessing.fit([Table(list("abc"), list(values.T))])
    pieces = Preprocessing.fit([Table(list("abc"), list(part.T)) for part in np.split(values, [1, 2, 50, 99])])
    assert_allclose(pieces.mean, whole.mean, rtol=1e-15)
    assert_allclose(pieces.scale, whole.scale, rtol=1e-8)
    assert_allclose(whole.scale, values.std(axis=0), rtol=1e-8)


def test_columns_are_found_by_name_and_not_by_place(table):
    prepare = Preprocessing.fit([table], Roles(target="label"))
    order = [2, 0, 3, 1]
    shuffled = Table([table.names[j] for j in order], [table.columns[j] for j in order])
    assert_allclose(prepare.matrix(shuffled), prepare.matrix(table))
    with pytest.raises(TableError, match="needs the column\\(s\\) 'size'"):
        prepare.matrix(Table(["colour"], [table["colour"]]))


def test_an_unseen_value_and_a_text_for_a_number_are_named_by_line(table):
    prepare = Preprocessing.fit([table], Roles(target="label"))
    changed = Table(table.names, [table["id"], table["size"], texts(*["green"] * 6), table["label"]], table.lines)
    with pytest.raises(TableError, match="line 2, column 'colour': 'green' was not seen"):
        prepare.matrix(changed)
    changed = Table(
        table.names,
        [table["id"], texts(None, "x", None, None, None, None), table["colour"], table["label"]],
        table.lines,
    )
    with pytest.raises(TableError, match="line 3, column 'size': 'x' is not a number"):
        prepare.matrix(changed)


def test_names_and_dates_are_carried_along_and_constants_left_out():
    n = 60
    prepare = Preprocessing.fit(
        [
            Table(
                ["when", "site", "x", "empty", "same"],
                [
                    texts(*(f"2020-{1 + i // 28}-{1 + i % 28}" for i in range(n))),
                    texts(*["A"] * n),
                    np.arange(n) ** 2.0,
                    np.full(n, np.nan),
                    np.full(n, 0.1),
                ],
            )
        ]
    )
    assert prepare.ids == ["when"]
    assert prepare.names == ["x", "same"]
    assert prepare.left_out == ["site", "empty"]
    assert prepare.scale[1] == 1.0  # a constant is only centred


def test_the_index_that_pandas_writes_is_a_row_name(tmp_path):
    (tmp_path / "t.csv").write_text(",a,b\n0,1.5,2\n1,2.5,1\n2,0.5,4\n")
    from gramian.io.tables import open_table

    reader = open_table(tmp_path / "t.csv")
    prepare = Preprocessing.fit(reader.batches(), unnamed=reader.unnamed)
    assert prepare.names == ["a", "b"]


def test_a_missing_target_is_named_by_line(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,2\n2,\n3,4\n")
    table = read_table(tmp_path / "t.csv")
    prepare = Preprocessing.fit([table], Roles(target="y"))
    with pytest.raises(TableError, match="line 3, column 'y': the target is missing"):
        prepare.targets(table)


def test_number_classes_are_whole_words():
    table = Table(["x", "y"], [np.array([1.0, 2.0]), np.array([0.0, 1.0])])
    prepare = Preprocessing.fit([table], Roles(target="y"), classes=True)
    assert prepare.targets(table).tolist() == ["0", "1"]


def test_views_are_features_of_their_columns(table):
    prepare = Preprocessing.fit([table], Roles(views={"a": ("size",), "b": ("colour",)}))
    assert prepare.views == {"a": [0], "b": [1]}
    assert prepare.left_out == ["id", "label"]


@pytest.mark.parametrize(
    "spec, found", [("a", ["a"]), ("2", ["b"]), ("1-3", ["a", "b", "c"]), ("c,1", ["c", "a"]), ("x,y", ["x,y"])]
)
def test_columns_by_name_position_and_range(spec, found):
    assert resolve_columns(["a", "b", "c", "x,y"], spec, "--drop") == found


@pytest.mark.parametrize("spec", ["0", "5", "3-2", "1-9", "nope", ""])
def test_columns_that_are_not_there(spec):
    with pytest.raises(ValueError, match="--drop"):
        resolve_columns(["a", "b", "c", "d"], spec, "--drop")


def test_nothing_left_to_model_is_an_error():
    with pytest.raises(ValueError, match="no column is left"):
        Preprocessing.fit([Table(["a"], [np.array([1.0, 2.0])])], Roles(drop=("a",)))


def test_squares_that_overflow_are_refused():
    with pytest.raises(ValueError, match="Rescale"):
        Summary("a").update(np.array([1e200, 2e200]))


@pytest.mark.parametrize("n_rows", [1, BLOCK_ROWS - 1, BLOCK_ROWS, 2 * BLOCK_ROWS + 1])
def test_blocks_of_rows_are_the_columns_in_their_units_to_the_last_digit(n_rows):
    rng = np.random.default_rng(n_rows)
    numbers = np.where(rng.random((n_rows, 2)) < 0.1, np.nan, rng.normal(size=(n_rows, 2)))
    colours = texts(*("abc"[k] for k in np.arange(n_rows) % 3))
    table = Table(["x", "colour", "y"], [numbers[:, 0], colours, numbers[:, 1]])
    mean, scale = rng.normal(size=4), rng.uniform(0.5, 2, size=4)
    prepare = Preprocessing(["x", "colour", "y"], [[], list("abc"), []], mean, scale, coding="contrasts")
    colour = coordinates(np.arange(n_rows) % 3, 3, "contrasts")
    whole = np.column_stack([numbers[:, 0], colour, numbers[:, 1]])
    np.testing.assert_array_equal(prepare.matrix(table), (whole - mean) / scale)


rng = np.random.default_rng(0)
NUMBERS = {
    "normal": rng.normal(size=2000),
    "holes": np.where(rng.random(2000) < 0.2, np.nan, rng.normal(size=2000) - 9),
    "every other": rng.normal(size=4000)[::2],
    "a row number": np.arange(2000.0),
    "a row number with holes": np.where(np.arange(2000) % 7, np.arange(2000.0), np.nan),
    "whole, and back at the end": np.append(np.arange(1999.0), 3.0),
    "whole, and a half at the end": np.append(np.arange(1999.0), 1999.5),
    "all below zero": -np.arange(1.0, 2001.0),
}


@pytest.mark.parametrize("values", NUMBERS.values(), ids=NUMBERS)
def test_a_summary_says_of_a_column_what_its_values_say(values):
    summary = Summary("a")
    summary.update(values)
    seen = values[~np.isnan(values)]
    assert (summary.count, summary.missing) == (len(seen), len(values) - len(seen))
    assert (summary.low, summary.high) == (seen.min(), seen.max())
    assert summary.mean == seen.mean()
    assert summary.square == ((seen - seen.mean()) ** 2).sum()
    assert summary.increasing == bool((seen == np.round(seen)).all() and (np.diff(seen) > 0).all())


@pytest.mark.parametrize("start", [1e200, -1e200])
def test_the_magnitude_that_overflows_is_named_whatever_its_sign(start):
    with pytest.raises(ValueError, match=r"magnitudes around 1e\+200"):
        Summary("a").update(np.array([start, 0.0]))
