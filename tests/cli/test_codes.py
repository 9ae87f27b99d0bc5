"""Codes of missing on the command line: named on the raw table, kept where asked, remembered by a model."""

import numpy as np
import pytest

from gramian.io.tables import read_table, write_table

NOTE = "-999 stands 5 times in 2 columns, far from all other values: taken as missing (`--keep -999` to keep it)"


@pytest.fixture
def coded(tmp_path):
    """coded.csv, and the table without its codes."""
    rng = np.random.default_rng(0)
    X = 30.0 + rng.standard_normal((120, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((120, 5))
    clean = X.copy()
    X[[3, 17, 40], 1] = -999.0
    X[[5, 9], 2] = -999.0
    write_table(tmp_path / "coded.csv", list("abcde"), list(X.T))
    return clean


def test_impute_names_a_code_and_fills_it(gramian, coded):
    ran = gramian("impute", "coded.csv", "-o", "full.csv")
    assert ran.code == 0, ran
    assert NOTE in ran.err
    assert "5 missing cells filled" in ran.out
    full = np.column_stack(read_table("full.csv").columns)
    assert np.abs(full - coded).max() < 4.0


def test_keep_keeps_it(gramian, coded):
    ran = gramian("impute", "coded.csv", "-o", "full.csv", "--keep", "-999", "--keep", "0")
    assert ran.code == 0, ran
    assert "stands" not in ran.err
    assert (np.column_stack(read_table("full.csv").columns) == -999.0).sum() == 5
    assert gramian("impute", "coded.csv", "-o", "f.csv", "--keep", "many").code == 2


def test_a_model_remembers_the_codes_of_its_table(gramian, coded, tmp_path):
    ran = gramian("fit", "coded.csv", "-m", "a.model", "--components", "2", "--json")
    assert ran.code == 0, ran
    assert NOTE in ran.err
    few = coded[:4].copy()
    few[1, 1] = -999.0
    write_table(tmp_path / "few.csv", list("abcde"), list(few.T))
    assert gramian("impute", "few.csv", "-m", "a.model", "-o", "few_full.csv").code == 0
    assert abs(read_table("few_full.csv")["b"][1] - coded[1, 1]) < 4.0


def test_the_report_names_it_too(gramian, coded):
    ran = gramian("report", "coded.csv", "-o", "page.html")
    assert ran.code == 0, ran
    assert NOTE in ran.err
    with open("page.html", encoding="utf-8") as page:
        assert "-999 stands 5 times in 2 columns" in page.read()
