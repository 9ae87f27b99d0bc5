"""Panels: every container, unequal lengths and starts, gaps, new series, newer values, files, faults."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from gramian import RKMForecaster, load, save

RNG = np.random.default_rng(0)


def sales(name, start, count):
    months = pd.date_range("2015-01-01", periods=200, freq="MS")[start : start + count]
    values = 100 + RNG.standard_normal(count).cumsum() + 10 * np.sin(2 * np.pi * months.month / 12)
    return pd.DataFrame({"store": name, "month": months, "sales": values})


FRAME = pd.concat([sales(f"s{i}", 3 * i, 12 + 7 * i) for i in range(8)])
NAMES = {"id": "store", "time": "month", "value": "sales"}


@pytest.fixture(scope="module")
def model():
    return RKMForecaster(random_state=0).fit(FRAME.sample(frac=1, random_state=0), **NAMES)


def test_every_series_goes_on_after_its_own_end(model):
    found = model.predict(3)
    assert list(found.columns) == ["store", "month", "mean"]
    assert len(found) == 24
    assert model.season_ == 12
    for name, part in FRAME.groupby("store"):
        own = found[found.store == name]
        expected = pd.date_range(part.month.max(), periods=4, freq="MS")[1:]
        assert list(own.month) == list(expected)
        assert np.abs(own["mean"] - part.sales.iloc[-1]).max() < 40
    assert "8 series" in model.explain()


def test_steps_in_their_order(model):
    two = model.predict([3, 1])
    three = model.predict(3)
    assert_allclose(two["mean"].to_numpy()[:2], three["mean"].to_numpy()[[2, 0]])


def test_intervals_hold_the_forecast_and_are_nested(model):
    middle = model.predict(4)["mean"].to_numpy()
    wide, narrow = model.predict_interval(4, level=0.95), model.predict_interval(4, level=0.8)
    assert list(wide.columns) == ["store", "month", "lower", "upper"]
    assert (wide.lower <= narrow.lower + 1e-9).all()
    assert ((narrow.lower <= middle) & (middle <= narrow.upper)).all()


def test_intervals_of_a_panel_cover():
    paths = 10 + RNG.standard_normal((60, 46)).cumsum(axis=1)
    model = RKMForecaster(random_state=0, horizon=6).fit(list(paths[:, :40]))
    ends = model.predict_interval(6, level=0.8)
    low, high = (ends[name].to_numpy().reshape(60, 6) for name in ("lower", "upper"))
    assert 0.72 < np.mean((low <= paths[:, 40:]) & (paths[:, 40:] <= high)) < 0.9


def test_containers_agree(model):
    expected = model.predict(2)["mean"].to_numpy()
    ordered = FRAME.sample(frac=1, random_state=0)
    indexed = RKMForecaster(random_state=0).fit(ordered.set_index(["store", "month"])["sales"]).predict(2)
    assert_allclose(indexed["mean"], expected)
    nixtla = ordered.rename(columns={"store": "unique_id", "month": "ds", "sales": "y"})
    assert list(RKMForecaster(random_state=0).fit(nixtla).predict(2).columns) == ["unique_id", "ds", "mean"]
    order = list(dict.fromkeys(ordered.store))
    parts = {name: FRAME[FRAME.store == name].set_index("month")["sales"] for name in order}
    from_dict = RKMForecaster(random_state=0).fit(parts).predict(2)
    assert list(from_dict.columns) == ["id", "time", "mean"]
    assert_allclose(from_dict["mean"], expected)


def test_polars_and_arrow_come_back_as_they_were(model):
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    ordered = FRAME.sample(frac=1, random_state=0)
    expected = model.predict(2)["mean"].to_numpy()
    frame = RKMForecaster(random_state=0).fit(pl.from_pandas(ordered), **NAMES).predict(2)
    assert isinstance(frame, pl.DataFrame)
    assert_allclose(frame["mean"].to_numpy(), expected)
    table = RKMForecaster(random_state=0).fit(pa.Table.from_pandas(ordered), **NAMES).predict(2)
    assert isinstance(table, pa.Table)
    assert_allclose(table["mean"].to_numpy(), expected)


def test_a_list_of_unequal_series():
    found = RKMForecaster(random_state=0).fit([list(range(20)), list(range(9))]).predict(2)
    assert list(found["id"]) == [0, 0, 1, 1]
    assert list(found["time"]) == [20, 21, 9, 10]
    assert_allclose(found["mean"], [20, 21, 9, 10], atol=0.3)


def test_new_series_need_no_new_fit(model):
    new = FRAME[FRAME.store == "s5"].assign(store="new")
    found = model.predict(2, history=new)
    known = model.predict(2)
    assert list(found.store) == ["new", "new"]
    assert_allclose(found["mean"], known[known.store == "s5"]["mean"])


def test_newer_values_are_gone_on_from():
    model = RKMForecaster(random_state=0).fit(FRAME, **NAMES)
    last = FRAME[FRAME.store == "s7"].month.max()
    newer = pd.DataFrame(
        {"store": ["s7", "t"], "month": pd.date_range(last, periods=2, freq="MS")[[1, 1]], "sales": [500.0, 7.0]}
    )
    before, after = (part[part.store == "s7"] for part in (model.predict(1), model.update(newer).predict(1)))
    assert after["mean"].iloc[0] > before["mean"].iloc[0] + 10
    assert after.month.iloc[0] == pd.date_range(last, periods=3, freq="MS")[2]
    assert "t" in set(model.predict(1).store)
    with pytest.raises(ValueError, match="do not come after"):
        model.update(newer)


def test_one_series_is_updated_too():
    y = pd.Series(np.arange(30.0), index=pd.period_range("2020-01", periods=30, freq="M"))
    model = RKMForecaster(random_state=0).fit(y[:25])
    assert_allclose(model.update(y[25:]).predict(1).to_numpy(), [30.0], atol=0.2)
    assert model.predict(1).index[0] == pd.Period("2022-07", freq="M")
    with pytest.raises(ValueError, match="go on"):
        model.update(y[:3])


def test_gaps_and_missing_rows_are_the_same():
    holed = FRAME.copy()
    where = (holed.store == "s6") & holed.month.isin(holed.month.unique()[25:27])
    assert where.sum() > 0
    as_nan = RKMForecaster(random_state=0).fit(holed.assign(sales=holed.sales.mask(where)), **NAMES).predict(2)
    dropped = RKMForecaster(random_state=0).fit(holed[~where], **NAMES).predict(2)
    pd.testing.assert_frame_equal(as_nan, dropped)


def test_a_panel_is_saved(model, tmp_path):
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    pd.testing.assert_frame_equal(again.predict(2), model.predict(2))
    pd.testing.assert_frame_equal(again.predict_interval(2), model.predict_interval(2))


def test_short_series_borrow_from_the_others():
    trends = [10 + s * np.arange(40.0) + 0.1 * RNG.standard_normal(40) for s in RNG.uniform(1, 2, 300)]
    panel = RKMForecaster(random_state=0).fit({**dict(enumerate(trends)), "short": trends[0][:6]})
    found = panel.predict(4)
    together = found[found["id"] == "short"]["mean"].to_numpy()
    alone = RKMForecaster(random_state=0).fit(trends[0][:6]).predict(4)
    assert np.abs(together - trends[0][6:10]).mean() <= np.abs(alone - trends[0][6:10]).mean() + 1e-9


def test_faults():
    twice = pd.concat([FRAME, FRAME.iloc[:1]])
    with pytest.raises(ValueError, match="two values"):
        RKMForecaster().fit(twice, **NAMES)
    with pytest.raises(ValueError, match="columns"):
        RKMForecaster().fit(FRAME, id="shop", time="month", value="sales")
    with pytest.raises(ValueError, match="no observed"):
        RKMForecaster().fit({"a": np.full(5, np.nan), "b": np.arange(5.0)})
    with pytest.raises(ValueError, match="lags"):
        RKMForecaster(lags=3).fit({"a": np.arange(9.0)})
    with pytest.raises(ValueError, match="one series"):
        RKMForecaster().fit({"a": np.arange(9.0)}).sample_paths(3)
    times = pd.to_datetime(["2020-01-01", "2020-01-08", "2020-01-11"])
    uneven = pd.DataFrame({"store": "a", "month": times, "sales": [1.0, 2, 3]})
    with pytest.raises(ValueError, match="irregular"):
        RKMForecaster().fit(uneven, **NAMES)
