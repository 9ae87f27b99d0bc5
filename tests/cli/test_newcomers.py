"""What newcomers do with files of all kinds, and what they expect: the last table of USERS.md, a test per row."""

import gzip
import json
import re

import numpy as np
import pytest

from gramian import KernelPPCA, save
from gramian.cli._demo_steps import timings
from gramian.io.tables import read_table, write_table
from gramian.tables.clocks import Clock


def texts(values):
    column = np.empty(len(values), dtype=object)
    column[:] = list(values)
    return column


def said(ran):
    assert ran.code == 0, ran
    return json.loads(ran.out)


@pytest.fixture
def mixed(tmp_path, rows):
    """mixed.csv: numbers, a category that follows from them, comments."""
    kind = texts(np.array(["low", "middle", "top"])[np.digitize(rows[:, 4], np.quantile(rows[:, 4], [0.33, 0.66]))])
    remark = texts(["a first look at it, by hand" if i % 20 == 0 else None for i in range(len(rows))])
    write_table(tmp_path / "mixed.csv", [*"abcde", "kind", "remark"], [*rows.T, kind, remark])


@pytest.mark.filterwarnings("default")  # a category that follows from a number leaves hardly any noise, which is said
def test_text_columns_leave_noise_and_honest_intervals_and_comments_stay_blank(gramian, mixed, tmp_path):
    facts = said(gramian("fit", "mixed.csv", "-m", "m", "--json"))
    assert facts["noise_variance"] > 1e-4
    assert 0.75 < facts["held-out share inside 90 % intervals"] <= 1
    scores = said(gramian("score", "m", "mixed.csv", "-o", "s.csv", "--level", "0.9", "--json"))
    assert 0 < scores["flagged"] < 25  # of 80: not none, not all
    said(gramian("impute", "mixed.csv", "-o", "o.csv", "--json"))
    assert sum(value is None for value in read_table(tmp_path / "o.csv")["remark"]) == 76


MESSY = {
    "gzip": "a,b\n{}",
    "banner": "Sales of May\n\na,b\n{}",
    "comments": "# by hand\na,b\n{}",
    "sep": "sep=,\na,b\n{}",
}


@pytest.mark.parametrize("how", MESSY)
def test_files_as_people_have_them_are_read(gramian, tmp_path, how):
    text = MESSY[how].format("".join(f"{i},{i + i % 3}\n" for i in range(30)))
    name = "t.csv.gz" if how == "gzip" else "t.csv"
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if how == "gzip" else text.encode())
    assert "30 rows, 2 numbers" in said(gramian("fit", name, "-m", "m", "--json"))["read"]


CELLS = {
    "12.3 %": 12.3,
    "$5": 5.0,
    '"1,234.50"': 1234.5,
    "−7": -7.0,
    "(3)": -3.0,
}


@pytest.mark.parametrize("cell", CELLS)
def test_numbers_as_people_write_them_are_numbers(tmp_path, cell):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},{cell}\n" for i in range(5)), encoding="utf-8")
    assert read_table(tmp_path / "t.csv")["b"].tolist() == [CELLS[cell]] * 5


def test_decimal_commas_with_thousands_points(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n" + "".join(f"{i};12.345,6{i}\n" for i in range(5)))
    assert read_table(tmp_path / "t.csv")["b"][1] == 12345.61


@pytest.mark.parametrize(
    "cells, following",
    [
        (["2024-01", "2024-02", "2024-03", "2024-04"], "2024-05"),
        (["1959Q1", "1959Q2", "1959Q3", "1959Q4"], "1960Q1"),
        (["12/12/2023", "13/12/2023", "14/12/2023", "15/12/2023"], "16/12/2023"),
        (["2024-01-30", "2024-01-31", "2024-02-01", "2024-02-02"], "2024-02-03"),
    ],
)
def test_dates_are_recognised_as_the_clock_and_carried_on(tmp_path, cells, following):
    from gramian.tables.table import Table

    clock = Clock.of(Table(["when", "y"], [texts(cells), np.arange(4.0)]))
    assert clock.after(1).tolist() == [following]


def test_the_file_of_standard_deviations_can_be_joined(gramian, tmp_path, rows):
    X = rows.copy()
    X[3, 1] = X[9, 2] = np.nan
    write_table(tmp_path / "t.csv", ["who", *"abcde"], [texts([f"row {i}" for i in range(len(X))]), *X.T])
    assert gramian("impute", "t.csv", "-o", "o.csv", "--std", "s.csv").code == 0
    full, std = read_table(tmp_path / "o.csv"), read_table(tmp_path / "s.csv")
    assert full["who"].tolist() == std["who"].tolist()
    assert (std["b"] > 0).nonzero()[0].tolist() == [3]


def test_a_kernel_model_takes_holes_and_the_command_gives_its_answer(gramian, tmp_path, rows):
    X = rows.copy()
    X[0, 0] = np.nan
    assert np.isfinite(KernelPPCA(2).fit(X).transform(X)).all()
    write_table(tmp_path / "t.csv", list("abcde"), list(X.T))
    model = KernelPPCA(2).fit(rows)
    save(model, tmp_path / "m")
    assert gramian("transform", "m", "t.csv", "-o", "z.csv").code == 0
    found = np.column_stack(read_table(tmp_path / "z.csv").columns)
    np.testing.assert_allclose(found, model.transform(X), rtol=1e-8, atol=1e-9)  # ten digits are written
    assert not np.allclose(found[0], model.transform(rows)[0])


def test_a_report_has_one_coverage_and_names_on_its_marks(gramian, tmp_path, rows):
    write_table(tmp_path / "t.csv", ["who", *"abcde"], [texts([f"row {i}" for i in range(len(rows))]), *rows.T])
    facts = said(gramian("report", "t.csv", "-o", "r.html", "--json"))
    page = (tmp_path / "r.html").read_text()
    assert f"{100 * facts['coverage']:.0f} %" in page
    assert page.count("90 % intervals") == 1
    assert "<title>row 7</title>" in page  # hover
    assert page.count('aria-label="Histogram"') == 5
    ran = gramian("report", "t.csv", "-o", "r.pdf")
    assert ran.code == 1
    assert "HTML" in ran.err


def test_the_timings_of_the_demo_are_of_jobs_people_wait_for(monkeypatch):
    from gramian.cli import _demo_steps

    monkeypatch.setattr(_demo_steps, "_in_turns", lambda ours, theirs: (1.0, 2.0))
    found = timings()
    assert len(found.numbers) == 4
    assert all("q = 20" in job for job in found.numbers)
    assert re.search("holes.*missing", " ".join(found.numbers))
