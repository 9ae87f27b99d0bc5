"""Files made messy around the table: the same table comes out, and what was left out is said."""

import numpy as np
import pytest

from gramian.io.tables import ReadOptions, TableError, open_table, read_table, whole_table

BODY = "name,size,share\nA,1.5,10\nB,2.5,20\nC,3.5,30\nD,4.5,40\n"
MESSY = {
    "plain": (BODY, ""),
    "a banner": ("Sales of 2024\nBerlin\n\n" + BODY, "2 lines skipped"),
    "a padded banner": ("Sales of 2024,,\n" + BODY, "1 line skipped"),
    "a banner with delimiters": ("Station: Berlin, Mitte\n" + BODY, "1 line skipped"),
    "comments": ("# made by hand\n# twice\n" + BODY, "2 lines skipped"),
    "comments below": (BODY.replace("C,3.5", "# checked\nC,3.5"), "1 line skipped"),
    "sep=": ("sep=;\n" + BODY.replace(",", ";"), ""),
    "units": (BODY.replace("A,1.5", ",cm,%\nA,1.5"), "1 line skipped"),
    "units in brackets": (BODY.replace("A,1.5", "-,[cm],[kg]\nA,1.5"), "1 line skipped"),
    "percent": (BODY.replace("0\n", "0 %\n"), ""),
    "money": (BODY.replace(",1.5", ",$1.5").replace(",2.5", ",$2.5"), ""),
    "decimal commas": (BODY.replace(",", ";").replace(".", ","), ""),
    "a commented header": ("# " + BODY, ""),
}


@pytest.mark.parametrize("content, skipped", MESSY.values(), ids=MESSY)
def test_the_same_table_is_found_in_every_mess(content, skipped, tmp_path):
    (tmp_path / "t.csv").write_text(content)
    reader = open_table(tmp_path / "t.csv")
    table = whole_table(reader)
    assert table.names == ["name", "size", "share"]
    assert table["name"].tolist() == list("ABCD")
    assert table["size"].tolist() == [1.5, 2.5, 3.5, 4.5]
    assert table["share"].tolist() == [10, 20, 30, 40]
    assert reader.skipped == skipped


def test_skip_says_where_the_table_begins(tmp_path):
    (tmp_path / "t.csv").write_text("1,2\nx,y,z\n" + BODY)
    assert read_table(tmp_path / "t.csv", ReadOptions(skip_lines=2))["size"].tolist() == [1.5, 2.5, 3.5, 4.5]
    with pytest.raises(TableError, match="no rows below the lines skipped"):
        read_table(tmp_path / "t.csv", ReadOptions(skip_lines=50))


def test_totals_are_said_and_left_out(tmp_path):
    (tmp_path / "t.csv").write_text(BODY + "Total,12,100\n")
    table = read_table(tmp_path / "t.csv")
    assert table.n_rows == 4
    assert "line 6 looks like a total" in table.notes[-1]
    reader = open_table(tmp_path / "t.csv", ReadOptions(drop_totals=True))
    assert whole_table(reader).n_rows == 4
    assert reader.skipped == "1 total left out"


@pytest.mark.parametrize(
    "column, words",
    [
        (["10 %", "0.2", "30 %"], "'0.2' has no % sign"),
        (["$1", "€2", "$3"], r"mixes \$ and €"),
    ],
)
def test_units_that_do_not_go_together_are_refused(column, words, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{cell},1\n" for cell in column))
    with pytest.raises(TableError, match=f"line 3, column 'a': .*{words}"):
        read_table(tmp_path / "t.csv")


def test_an_error_cell_of_a_spreadsheet_is_no_comment(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n#N/A,1\n2,#DIV/0!\n3,4\n")
    assert np.isnan(read_table(tmp_path / "t.csv")["a"][0])


def test_a_nameless_column_is_called_by_its_place_and_written_nameless(tmp_path):
    (tmp_path / "t.csv").write_text(",a\n0,1.5\n1,2.5\n2,3.5\n")
    reader = open_table(tmp_path / "t.csv")
    assert reader.names == ["column 1", "a"]
    assert reader.unnamed == [True, False]


def test_a_word_in_the_first_row_is_an_error_and_not_a_unit(tmp_path):
    (tmp_path / "t.csv").write_text("name,x\na,oops\nb,1\nc,2\nd,3\n")
    with pytest.raises(TableError, match="line 2, column 'x': 'oops' is not a number"):
        read_table(tmp_path / "t.csv")
