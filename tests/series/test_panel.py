"""Panels: every container, unequal lengths and starts, gaps, new series, newer values, files, faults."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import RKMForecaster, load, save

pd = pytest.importorskip("pandas")

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


def test_quantiles_of_a_panel_have_their_names(model):
    found = model.predict_quantiles(2, [0.1, 0.5, 0.9])
    assert list(found.columns) == ["store", "month", "0.1", "0.5", "0.9"]
    assert ((found["0.1"] < found["0.5"]) & (found["0.5"] < found["0.9"])).all()


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


def promoted(count, rng):
    """Stores whose sales jump with promotions, known ahead, and follow a price that is not."""
    parts = []
    for i in range(count):
        n = 30 + 5 * (i % 4)
        days = pd.date_range("2024-01-01", periods=n + 6, freq="D")
        promo, price = (rng.random(n + 6) < 0.3).astype(float), 5 + 0.1 * rng.standard_normal(n + 6).cumsum()
        sold = 100 + 20 * promo - 4 * price + rng.standard_normal(n + 6)
        parts.append(pd.DataFrame({"store": f"s{i}", "day": days, "sold": sold, "promo": promo, "price": price}))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def stores():
    table = promoted(12, np.random.default_rng(5))
    ahead = table.groupby("store").tail(6)
    model = RKMForecaster(random_state=0)
    model.fit(table.drop(ahead.index), ["promo", "price"], id="store", time="day", value="sold")
    return model, table, ahead


def test_inputs_of_every_series_known_ahead_or_not(stores):
    model, _, ahead = stores
    truth = ahead["sold"].to_numpy()

    def error(X):
        return np.abs(model.predict(6, X)["mean"].to_numpy() - truth).mean()

    known, promotions, nothing = error(ahead), error(ahead.drop(columns="sold").assign(price=np.nan)), error(None)
    assert known < 2.0
    assert promotions < 3.0
    assert nothing > 2 * known
    ends = model.predict_interval(6, 0.8, ahead)
    inside = (ends["lower"].to_numpy() <= truth) & (truth <= ends["upper"].to_numpy())
    assert 0.65 < inside.mean() <= 1.0


def test_short_series_borrow_what_inputs_do(stores):
    model, table, _ = stores
    errors = []
    for name in table.store.unique():
        short = table[table.store == name].head(14).assign(store="new")
        past, ahead, truth = short.head(8), short.tail(6), short.tail(6)["sold"].to_numpy()
        alone = RKMForecaster(random_state=0).fit(past, ["promo", "price"], id="store", time="day", value="sold")
        found = model.predict(6, ahead, history=past), alone.predict(6, ahead)
        errors.append([np.abs(table["mean"].to_numpy() - truth).mean() for table in found])
    borrowed, own = np.mean(errors, axis=0)
    assert borrowed < 0.95 * own


def test_inputs_as_a_dict_or_in_polars_are_the_same(stores):
    model, table, ahead = stores
    expected = model.predict(6, ahead)["mean"].to_numpy()
    past = table.drop(ahead.index)
    inputs = {name: part[["promo", "price"]].to_numpy() for name, part in past.groupby("store", sort=False)}
    series = {name: part.set_index("day")["sold"] for name, part in past.groupby("store", sort=False)}
    future = {name: part[["promo", "price"]].to_numpy() for name, part in ahead.groupby("store", sort=False)}
    from_dict = RKMForecaster(random_state=0).fit(series, inputs)
    assert_allclose(from_dict.predict(6, future)["mean"], expected)
    pl = pytest.importorskip("polars")
    from_polars = RKMForecaster(random_state=0)
    from_polars.fit(pl.from_pandas(past), ["promo", "price"], id="store", time="day", value="sold")
    assert_allclose(from_polars.predict(6, pl.from_pandas(ahead))["mean"].to_numpy(), expected)


def test_a_panel_with_inputs_is_saved_and_updated(stores, tmp_path):
    model, table, ahead = stores
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    pd.testing.assert_frame_equal(again.predict_interval(6, 0.8, ahead), model.predict_interval(6, 0.8, ahead))
    again.update(ahead.groupby("store").head(2))
    assert again.predict(1)["day"].iloc[0] == model.predict(3)["day"].iloc[2]
    with pytest.raises(ValueError, match="columns"):
        again.update(table.head(1).drop(columns="price"))


def test_the_law_of_rates_is_judged_on_the_last_values():
    rng = np.random.default_rng(3)
    slopes = rng.standard_normal((80, 44)).cumsum(axis=1)
    bent = list(100 + slopes.cumsum(axis=1))
    model = RKMForecaster(random_state=0, transform=None).fit(bent)
    chosen = model.selection_.chosen
    assert chosen in model.selection_.candidates
    assert chosen != model.selection_.candidates[0]  # slopes move here, and values say so


def test_a_dask_frame_is_forecast_by_series(model):
    dd = pytest.importorskip("dask.dataframe")
    lazy = dd.from_pandas(FRAME.reset_index(drop=True), npartitions=3)
    found = RKMForecaster(random_state=0).fit(lazy, **NAMES)
    assert found.n_series_ == 8
    answer = found.predict(2)
    assert hasattr(answer, "dask")
    expected = model.predict(2).sort_values(["store", "month"]).reset_index(drop=True)
    together = answer.compute().sort_values(["store", "month"]).reset_index(drop=True)
    assert_allclose(together["mean"], expected["mean"])
    assert list(together["month"]) == list(expected["month"])
    assert list(found.predict_interval(2, history=lazy).compute().columns) == ["store", "month", "lower", "upper"]
    with pytest.raises(ValueError, match="ids"):
        RKMForecaster().fit(lazy, id="shop", time="month", value="sales")
