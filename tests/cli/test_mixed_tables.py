"""Files as people have them, through the command: mixed tables, workbooks, packed files, formulas."""

import csv

import numpy as np
import pytest

from gramian import load
from gramian.cli._scores import too_many
from gramian.io.tables import read_table, write_table


@pytest.fixture
def mixed(tmp_path, rows):
    """mixed.csv: numbers, a category of three, a date, comments, holes."""
    rng = np.random.default_rng(0)
    kind = np.array(["tiny", "usual", "vast"], dtype=object)[
        np.digitize(rows[:, 4], np.quantile(rows[:, 4], [1 / 3, 2 / 3]))
    ]
    kind[::9] = None
    X = rows.copy()
    X[rng.random(X.shape) < 0.1] = np.nan
    days = np.array([f"{1 + i % 28}/{1 + i // 28}/2024" for i in range(len(rows))], dtype=object)
    remarks = np.full(len(rows), None, dtype=object)
    remarks[:6] = ["seen twice by two people", "ok", "lost", "late", "cold", "wet"]
    write_table(tmp_path / "mixed.csv", ["day", *"abcde", "kind", "remark"], [days, *X.T, kind, remarks])
    return tmp_path / "mixed.csv"


def test_a_mixed_table_is_filled_with_probabilities_and_nothing_is_invented(gramian, mixed, tmp_path):
    ran = gramian("impute", "mixed.csv", "-o", "o.csv", "--std", "s.csv")
    assert ran.code == 0, ran
    assert "read 80 rows, 5 numbers, 1 category, 1 date, 1 text" in ran.out
    full, std = read_table(tmp_path / "o.csv"), read_table(tmp_path / "s.csv")
    assert sum(value is None for value in full["remark"]) == 74  # free text stays as it is
    assert not any(value is None for value in full["kind"])
    assert std.names == ["day", "remark", *"abcde", "p(kind=tiny)", "p(kind=usual)", "p(kind=vast)"]
    chances = np.column_stack([std[f"p(kind={value})"] for value in ("tiny", "usual", "vast")])
    assert np.allclose(chances.sum(axis=1), 1)
    assert std["day"].tolist() == full["day"].tolist()  # the two files can be joined
    likeliest = np.array(["tiny", "usual", "vast"], dtype=object)[chances.argmax(axis=1)]
    assert likeliest.tolist() == full["kind"].tolist()


@pytest.mark.filterwarnings("default")
def test_columns_that_repeat_each_other_leave_no_noise_and_rows_have_a_likelihood_all_the_same(gramian, tmp_path):
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c"], 60).astype(object)
    other = np.array([{"a": "x", "b": "y", "c": "z"}[value] for value in kind], dtype=object)
    size = np.array([{"a": 1.0, "b": 2.0, "c": 5.0}[value] for value in kind])
    write_table(tmp_path / "t.csv", ["kind", "other", "size"], [kind, other, size])
    ran = gramian("fit", "t.csv", "-m", "m")
    assert "warning:" in ran.err
    assert load(tmp_path / "m").estimator.noise_variance_ == 0
    ran = gramian("score", "m", "t.csv", "-o", "s.csv")
    assert np.isfinite(read_table(tmp_path / "s.csv")["log_likelihood"]).all()


def test_far_more_flags_than_the_level_says_are_said(gramian, table, tmp_path, rows):
    gramian("fit", "full.csv", "-m", "m")
    write_table(tmp_path / "other.csv", list("abcde"), list((rows + 40 * rows.std(axis=0)).T))
    assert (
        "80 of 80 rows are flagged, where about 0.8 are expected"
        in gramian("score", "m", "other.csv", "-o", "s.csv").err
    )
    assert "expected" not in gramian("score", "m", "full.csv", "-o", "t.csv").err
    assert too_many(3, 100, 0.99) == ""


def test_a_workbook_in_and_a_packed_table_out(gramian, mixed, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame({"about": ["nothing"]}).to_excel(book, sheet_name="cover", index=False)
        pd.read_csv(mixed).to_excel(book, sheet_name="data", index=False)
    assert gramian("impute", "t.xlsx", "--sheet", "data", "-o", "o.csv.gz").code == 0
    assert gramian("impute", "mixed.csv", "-o", "o.csv").code == 0
    for name in "abcde":
        assert np.allclose(read_table(tmp_path / "o.csv.gz")[name], read_table(tmp_path / "o.csv")[name])


def test_filled_cells_wear_what_their_column_wears(gramian, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f'{100 * i},"${1000 * i + rng.integers(99):,}",{i}.5 %' for i in range(1, 20)]
    lines[4], lines[7] = "500,,5.5 %", '800,"$8,001",'
    (tmp_path / "t.csv").write_text("Sales of May\n\nx,price,share\n" + "\n".join(lines) + "\n")
    ran = gramian("impute", "t.csv", "-o", "o.csv")
    assert "read 19 rows, 3 numbers; 1 line skipped" in ran.out
    out = list(csv.reader((tmp_path / "o.csv").read_text().splitlines()))
    assert out[5][1].startswith("$")
    assert out[8][2].endswith(" %")
    assert out[1] == ["100", lines[0].split('"')[1], "1.5 %"]


def test_a_nameless_index_stays_nameless(gramian, tmp_path):
    (tmp_path / "t.csv").write_text(",a,b\n" + "".join(f"{i},{i * i},{i + i % 3}\n" for i in range(12)) + "12,,5\n")
    assert gramian("impute", "t.csv", "-o", "o.csv", "--std", "s.csv").code == 0
    assert (tmp_path / "o.csv").read_text().splitlines()[0] == ",a,b"
    assert (tmp_path / "s.csv").read_text().splitlines()[0] == ",a,b"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_formulas_are_escaped_when_asked(gramian, tmp_path, start, rows):
    names = np.array([f"{start}cmd {i}" for i in range(len(rows))], dtype=object)
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["name", "=evil()", "b"], *zip(names, rows[:, 0], rows[:, 1])])
    assert gramian("impute", "t.csv", "-o", "o.csv", "--escape-formulas").code == 0
    with (tmp_path / "o.csv").open(newline="") as file:
        out = list(csv.reader(file))
    assert out[0][1] == "'=evil()"
    assert out[1][0].startswith("'") or not out[1][0].startswith(start)
    assert not out[1][1].startswith("'")  # a negative number is a number


def test_memory_and_skip(gramian, table, tmp_path):
    held = gramian("fit", "full.csv", "-m", "m", "--model", "classifier", "--target", "a", "--memory", "1kB")
    assert "GB are allowed (--memory)" in held.err
    assert "must be a size" in gramian("impute", "full.csv", "-o", "o.csv", "--memory", "lots").err
    (tmp_path / "t.csv").write_text("1,2,3,4,5\n1,2,3,4,5\n" + table.read_text())
    ran = gramian("impute", "t.csv", "-o", "o.csv", "--skip", "2")
    assert "read 80 rows, 5 numbers; 2 lines skipped" in ran.out


def test_a_category_that_a_cluster_shares_leaves_its_cluster_noise(gramian, tmp_path):
    rng = np.random.default_rng(0)
    group = np.repeat(np.array(["a", "b", "c"], dtype=object), 50)
    X = rng.normal(size=(150, 5)) + 3.0 * np.repeat(np.arange(3), 50)[:, None]
    write_table(tmp_path / "groups.csv", ["u", "v", "w", "x", "y", "group"], [*X.T, group])
    ran = gramian("fit", "groups.csv", "-m", "m", "--model", "mixture", "--clusters", "3")
    assert ran.code == 0, ran
    assert "explain all of the variance" not in ran.err + ran.out
    estimator = load(tmp_path / "m").estimator
    assert (estimator.noise_variances_ > 0.01).all()
    assert np.allclose(np.sort(estimator.weights_), 1 / 3, atol=0.02)


def test_cells_filled_far_from_anything_seen_are_said(gramian, tmp_path):
    """The class of a storm is given for hurricanes only: what is filled for the others follows a line far beyond."""
    rng = np.random.default_rng(0)
    wind = np.concatenate([rng.normal(100, 3, 60), rng.normal(20, 3, 60)])
    grade = 1 + (wind - 90) / 5 + 0.05 * rng.normal(size=120)
    pressure = 1010 - wind + 0.5 * rng.normal(size=120)
    grade[60:] = np.nan
    write_table(tmp_path / "t.csv", ["wind", "pressure", "grade"], [wind, pressure, grade])
    ran = gramian("impute", "t.csv", "-o", "o.csv")
    assert "filled far from anything seen (more than 5 standard deviations from the mean of the column)" in ran.err
    assert "cells of 'grade'" in ran.err
    wind[0] = np.nan
    write_table(tmp_path / "u.csv", ["wind", "pressure"], [wind, pressure])
    assert "standard deviations" not in gramian("impute", "u.csv", "-o", "u_full.csv").err


def test_a_table_of_texts_says_why_no_column_is_left(gramian, tmp_path):
    (tmp_path / "t.csv").write_text("name,height\n" + "".join(f"p{k},about {150 + k} cm\n" for k in range(40)))
    ran = gramian("fit", "t.csv", "-m", "m")
    assert ran.code == 1
    assert "no column is left to model" in ran.err
    assert "column 'height' is text with 40 different values (such as 'about 150 cm')" in ran.err


def test_a_total_below_dates_leaves_them_dates(gramian, tmp_path):
    rows = "".join(f"2024-01-{day:02d},{day * day % 17},{day}\n" for day in range(1, 29))
    (tmp_path / "t.csv").write_text(f"day,sold,left\n{rows}Total,200,406\n")
    ran = gramian("fit", "t.csv", "-m", "m", "--no-check")
    assert "column 'day' holds dates" in ran.err
    assert "line 30 looks like a total or mean of the rows and is left out (--keep-totals says otherwise)" in ran.err
    assert "28 rows, 2 numbers, 1 date" in ran.out
    ran = gramian("fit", "t.csv", "-m", "n", "--no-check", "--keep-totals")
    assert "29 rows, 2 numbers, 1 date" in ran.out
