"""`gramian impute` of a table with a clock: gaps are filled along time, unless other columns say more."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import RKMForecaster
from gramian.estimators.time_filling import FEWEST, HIDDEN_GAPS, hidden_gaps
from gramian.io.tables import read_table, write_table
from gramian.series.gap_filling import gaps_of

N = 96
TIMES = np.arange(N)
SALES = (50 + TIMES) * (1 + 0.3 * np.sin(2 * np.pi * TIMES / 12))
MONTHS = np.array([f"{2010 + t // 12}-{t % 12 + 1:02d}" for t in TIMES], dtype=object)
GAPS = [20, 21, 22, 50, 70, 71]


def with_gaps(values, gaps=GAPS):
    out = values.copy()
    out[gaps] = np.nan
    return out


@pytest.fixture
def sales(tmp_path):
    write_table(tmp_path / "t.csv", ["month", "sales"], [MONTHS, with_gaps(SALES)], digits=17)


def test_a_series_with_a_clock_is_filled_by_the_forecaster(gramian, sales, tmp_path):
    ran = gramian("impute", "t.csv", "-o", "o.csv", "--std", "s.csv", "--digits", "17")
    assert ran.code == 0, ran
    assert "column 'month' is the clock: gaps of 'sales' are filled from the values before and after them" in ran.err
    assert "mean of its column" not in ran.err
    assert "warning" not in ran.err
    model = RKMForecaster(random_state=0)
    model._usual_seasons = (12,)
    seen = with_gaps(SALES)
    filled, std = model.fit(seen).impute(seen, return_std=True)
    assert_allclose(read_table(tmp_path / "o.csv")["sales"], filled, rtol=1e-9)
    assert_allclose(read_table(tmp_path / "s.csv")["sales"], std, rtol=1e-9)
    assert np.abs(filled - SALES)[GAPS].mean() < 0.1 * np.abs(SALES - np.nanmean(seen))[GAPS].mean()


def test_the_clock_is_told_to_machines(gramian, sales):
    facts = json.loads(gramian("impute", "t.csv", "-o", "o.csv", "--json").out)
    assert facts["clock"] == "month"
    assert facts["filled along the clock"] == ["sales"]
    assert facts["estimator"] == "RKMForecaster"


def test_a_column_that_others_explain_is_filled_from_them(gramian, tmp_path):
    rng = np.random.default_rng(0)
    cause = rng.standard_normal(N)
    effect = 2 * cause + 0.01 * rng.standard_normal(N)
    write_table(tmp_path / "t.csv", ["month", "sales", "a", "b"], [MONTHS, with_gaps(SALES), cause, with_gaps(effect)])
    ran = gramian("impute", "t.csv", "-o", "o.csv")
    assert "gaps of 'sales' are filled from the values before and after them" in ran.err
    assert "gaps of 'b' are filled from the other columns" in ran.err
    found = read_table(tmp_path / "o.csv")
    assert np.abs(found["b"] - effect)[GAPS].max() < 0.1
    assert np.abs(found["sales"] - SALES)[GAPS].mean() < 10


@pytest.mark.parametrize("others", [False, True], ids=["a series alone", "beside other columns"])
def test_draws_of_gaps_lie_about_what_the_clock_says(gramian, tmp_path, others):
    rng = np.random.default_rng(0)
    series = with_gaps(SALES + 2 * rng.standard_normal(N))
    cause = rng.standard_normal(N)
    names, columns = ["month", "sales"], [MONTHS, series]
    if others:
        effect = with_gaps(2 * cause + 0.01 * rng.standard_normal(N), [3, 40])
        names, columns = [*names, "a", "b"], [*columns, cause, effect]
    write_table(tmp_path / "t.csv", names, columns, digits=17)
    assert gramian("impute", "t.csv", "-o", "o.csv", "--std", "s.csv", "--digits", "17").code == 0
    m = 30
    ran = gramian("impute", "t.csv", "-o", "d.csv", "--draws", str(m), "--digits", "17", "--json")
    assert ran.code == 0, ran
    assert json.loads(ran.out)["ways"]["sales"] == "clock"
    mean, std = (read_table(tmp_path / name)["sales"] for name in ("o.csv", "s.csv"))
    tables = [read_table(tmp_path / f"d_{k}.csv") for k in range(1, m + 1)]
    drawn = np.array([table["sales"] for table in tables])
    seen = np.isfinite(series)
    assert (drawn[:, seen] == series[seen]).all()
    far = (drawn.mean(axis=0) - mean)[GAPS] / std[GAPS]
    assert (np.abs(far) < 4.5 / np.sqrt(m)).all()
    wide = drawn.std(axis=0, ddof=1)[GAPS] / std[GAPS]
    assert_allclose(np.sqrt(np.mean(wide**2)), 1.0, atol=0.25)  # six gaps of thirty draws: a standard error of .05
    if others:
        assert_allclose([table["b"][3] for table in tables], 2 * cause[3], atol=0.5)
        assert len({table["b"][3] for table in tables}) == m


def test_text_along_a_clock_is_filled_from_the_columns(gramian, tmp_path):
    word = np.where(np.median(SALES) < SALES, "many", "few").astype(object)
    truth = word.copy()
    word[[5, 40, 90]] = None
    write_table(tmp_path / "t.csv", ["month", "sales", "word"], [MONTHS, with_gaps(SALES), word])
    assert gramian("impute", "t.csv", "-o", "o.csv").code == 0
    found = read_table(tmp_path / "o.csv")
    assert found["word"].tolist() == truth.tolist()
    assert not np.isnan(found["sales"]).any()


def write_noise_beside(path, months):
    noise = np.random.default_rng(1).standard_normal(N)
    write_table(path, ["month", "sales", "noise"], [months, with_gaps(SALES), noise])


@pytest.mark.parametrize("asked", [["--components", "1"], ["--noise", "0.1"]])
def test_a_model_of_rows_that_was_asked_for_is_taken(gramian, tmp_path, asked):
    write_noise_beside(tmp_path / "t.csv", MONTHS)
    ran = gramian("impute", "t.csv", "-o", "o.csv", *asked)
    assert ran.code == 0, ran
    assert "clock" not in ran.err


def test_rows_that_run_backwards_are_filled_without_their_order(gramian, tmp_path):
    write_noise_beside(tmp_path / "t.csv", MONTHS[::-1].copy())
    ran = gramian("impute", "t.csv", "-o", "o.csv")
    assert ran.code == 0
    assert "runs backwards" in ran.err
    assert "every missing cell was filled with the mean of its column" in ran.err


def test_a_column_of_few_values_is_no_series(gramian, tmp_path):
    short = np.full(N, np.nan)
    short[: FEWEST - 1] = np.arange(FEWEST - 1)
    noise = np.random.default_rng(1).standard_normal(N)
    write_table(tmp_path / "t.csv", ["month", "sales", "short", "noise"], [MONTHS, with_gaps(SALES), short, noise])
    ran = gramian("impute", "t.csv", "-o", "o.csv")
    assert ran.code == 0
    assert "gaps of 'sales' are filled from the values" in ran.err


@pytest.mark.parametrize("seed", range(4))
def test_hidden_gaps_are_as_long_as_those_of_the_column_and_touch_none(seed):
    rng = np.random.default_rng(seed)
    column = rng.standard_normal(200)
    column[rng.random(200) < 0.1] = np.nan
    column[60:70] = np.nan
    found = hidden_gaps(column)
    assert 1 < len(found) <= HIDDEN_GAPS
    lengths = {length for _, length in gaps_of(column)}
    after = column.copy()
    for rows in found:
        assert rows.stop - rows.start in lengths
        assert not np.isnan(after[rows.start - 1 : rows.stop + 1]).any()
        after[rows] = np.nan
    assert (~np.isnan(after)).sum() >= 0.75 * (~np.isnan(column)).sum()
