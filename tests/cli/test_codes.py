"""Codes of missing on the command line: named on the raw table, kept where asked, remembered by a model."""

import json

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


def test_predict_holds_no_code_against_a_model(gramian, coded):
    """Codes of the target are no true values: the rows that have a value are compared."""
    assert gramian("fit", "coded.csv", "-m", "b.model", "--model", "regressor", "--target", "b").code == 0
    columns = list(coded.T)
    columns[1] = np.where(np.isin(np.arange(len(coded)), [3, 17, 40]), np.nan, columns[1])
    columns[2] = np.where(np.isin(np.arange(len(coded)), [5, 9]), np.nan, columns[2])
    write_table("empty.csv", list("abcde"), columns)
    both = [
        json.loads(gramian("predict", "b.model", f"{n}.csv", "-o", f"b_{n}.csv", "--json").out)
        for n in ("coded", "empty")
    ]
    assert both[0]["compared"] == pytest.approx(both[1]["compared"])


def test_compare_takes_codes_as_missing(gramian, coded):
    ran = gramian("compare", "coded.csv", "--json")
    assert "-999 stands 5 times in 2 columns" in ran.err
    told = {row["imputer"]: row["error"] for row in json.loads(ran.out)["imputers"]}
    assert 0.7 < told["mean"] < 1.3  # deviations of the values, not of the codes


def test_a_regressor_of_classes_is_refused_in_words(gramian, coded, tmp_path):
    (tmp_path / "classes.csv").write_text("a,k\n" + "".join(f"{i},{'no' if i % 3 else 'yes'}\n" for i in range(30)))
    ran = gramian("fit", "classes.csv", "-m", "k.model", "--model", "regressor", "--target", "k")
    assert ran.code == 1
    assert "--target k: the column holds classes" in ran.err
    assert "--model classifier" in ran.err
