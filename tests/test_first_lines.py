"""The first lines that a user of data frames types: fill, odd_rows, report."""

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import gramian
from gramian import LatentImputer, LatentOutlierDetector
from gramian.cli import main as command
from gramian.exceptions import DataWarning
from gramian.reporting import fill_quality

pandas = pytest.importorskip("pandas")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    size = rng.normal(50, 10, 120)
    return pandas.DataFrame(
        {
            "size": size,
            "count": pandas.array(np.round(2 * size).astype(int), dtype="Int64"),
            "kind": pandas.Categorical(np.where(size > 50, "big", "small"), categories=["small", "big", "huge"]),
            "yes": pandas.array(size > 45, dtype="boolean"),
            "noise": rng.normal(size=120),
        },
        index=[f"r{i}" for i in range(120)],
    )


def test_a_frame_is_filled_in_its_own_types(frame):
    holed = frame.copy()
    holed.loc["r3", "count"] = pandas.NA
    holed.loc["r4", "kind"] = None
    holed.loc["r5", "yes"] = pandas.NA
    holed.loc["r6", "noise"] = np.nan
    full, quality = gramian.fill(holed, return_quality=True)
    assert full.dtypes.equals(frame.dtypes)
    assert full.index.equals(frame.index)
    assert not full.isna().any().any()
    assert abs(full.loc["r3", "count"] - frame.loc["r3", "count"]) <= 6
    assert full.loc["r4", "kind"] == frame.loc["r4", "kind"]
    assert list(full["kind"].cat.categories) == ["small", "big", "huge"]
    assert list(quality.columns) == ["column", "missing", "error_over_mean", "inside_90"]
    assert quality["missing"].tolist() == [0, 1, 1, 1, 1]
    assert (quality["error_over_mean"] <= 1).all()
    kept = holed.notna().to_numpy()
    assert (full.astype(object).to_numpy()[kept] == holed.astype(object).to_numpy()[kept]).all()


def test_arrays_and_dictionaries_are_filled_by_the_imputer(frame):
    X = frame[["size", "noise"]].to_numpy(copy=True)
    X = np.column_stack([X, 3 * X[:, 0]])
    X[3, 2] = np.nan
    assert_allclose(gramian.fill(X), LatentImputer().fit(X).impute(X), rtol=1e-9)
    filled = gramian.fill({"a": X[:, 0], "b": X[:, 2]})
    assert not np.isnan(filled["b"]).any()


def test_a_column_without_a_value_stays_as_it_is(frame):
    holed = frame.assign(nothing=np.nan)
    holed.loc["r3", "count"] = pandas.NA
    full, quality = gramian.fill(holed, return_quality=True)
    assert list(full.columns) == list(holed.columns)
    assert full["nothing"].isna().all()
    assert full.drop(columns="nothing").equals(gramian.fill(holed.drop(columns="nothing")))
    assert "nothing" not in quality["column"].tolist()
    X = np.column_stack([frame["size"], np.full(120, np.nan), 3 * frame["size"]])
    X[5, 2] = np.nan
    filled = gramian.fill(X)
    assert np.isnan(filled[:, 1]).all()
    assert_allclose(filled[:, [0, 2]], gramian.fill(X[:, [0, 2]]))
    polars = pytest.importorskip("polars")
    made = polars.from_pandas(holed)
    assert gramian.fill(made).columns == made.columns


def test_polars_stays_polars(frame):
    polars = pytest.importorskip("polars")
    made = polars.DataFrame({"size": frame["size"].tolist(), "kind": [None, *frame["kind"].tolist()[1:]]})
    full, quality = gramian.fill(made, return_quality=True)
    assert isinstance(full, polars.DataFrame)
    assert isinstance(quality, polars.DataFrame)
    assert full["kind"].null_count() == 0


def test_what_the_mean_fills_better_is_filled_with_the_mean(frame, monkeypatch):
    frame["rooms"] = np.arange(120.0) // 13
    frame.loc["r5", "rooms"] = np.nan
    frame.loc["r6", "noise"] = np.nan
    frame.loc["r7", "kind"] = None
    bad = {name: fill_quality.ColumnQuality(name, 9, 2.0, 1.0, 0.9) for name in ("noise", "kind", "rooms")}
    monkeypatch.setattr(fill_quality, "fill_quality", lambda *_: bad)
    full = gramian.fill(frame)
    assert_allclose(full.loc["r6", "noise"], frame["noise"].mean())
    assert full.loc["r5", "rooms"] == round(frame["rooms"].mean())  # a possible value
    assert full.loc["r7", "kind"] == frame["kind"].mode()[0]


def test_odd_rows_are_those_of_the_detector_with_reasons(frame):
    frame.loc["r7", "size"] = 200.0
    frame.loc["r9", "kind"] = "small" if frame.loc["r9", "kind"] == "big" else "big"
    found = gramian.odd_rows(frame[["size", "count", "kind"]], level=0.95)
    assert list(found.columns) == ["row", "score", "columns", "seen", "expected"]
    assert found["row"][0] == "r7"
    assert "size" in found["columns"][0]
    assert found["seen"][0].split(", ")[found["columns"][0].split(", ").index("size")] == "200"
    assert (np.diff(found["score"]) >= 0).all()
    numbers = frame[["size", "count"]].astype(float)
    flagged = LatentOutlierDetector(contamination=0.05).fit(numbers).predict(numbers) == -1
    assert set(gramian.odd_rows(numbers, level=0.95)["row"]) == set(frame.index[flagged])


def test_what_is_expected_is_what_the_rest_of_the_row_tells():
    rng = np.random.default_rng(0)
    z = rng.normal(size=300)
    X = np.column_stack([z, 2 * z, -z]) + 0.05 * rng.normal(size=(300, 3))
    X[5, 1] = 9.0
    first = gramian.odd_rows(X).iloc[0]
    assert first["row"] == 5
    names, expected = first["columns"].split(", "), [float(value) for value in first["expected"].split(", ")]
    assert abs(expected[names.index("x2")] - 2 * X[5, 0]) < 0.5


@pytest.mark.parametrize("level", [0.5, 1.0, "high"])
def test_a_level_is_a_share(level):
    with pytest.raises(ValueError, match="level="):
        gramian.odd_rows(np.zeros((9, 2)), level=level)


def test_a_report_shows_itself_and_is_saved(frame, tmp_path):
    page = gramian.report(frame)
    assert page._repr_html_().startswith("<iframe")
    assert "rows: 120" in repr(page)
    assert page.save(tmp_path / "r.html").read_text().startswith("<!")
    with pytest.raises(ValueError, match="HTML"):
        page.save(tmp_path / "r.pdf")


def test_a_report_of_files_and_of_models(frame, tmp_path):
    frame[["size", "noise"]].to_csv(tmp_path / "t.csv", index=False)
    assert gramian.report(str(tmp_path / "t.csv")).facts["rows"] == 120
    model = gramian.PPCA(1).fit(frame[["size", "noise"]])
    assert gramian.report(model).facts == {"kind": "ppca", "columns": 2}
    gramian.save(model, tmp_path / "m")
    assert gramian.report(tmp_path / "m").facts["kind"] == "ppca"


def test_a_dictionary_has_odd_rows_too(frame):
    found = gramian.odd_rows({"a": frame["size"].tolist(), "b": frame["kind"].tolist()}, level=0.9)
    assert 0 < len(found) < 30


@pytest.fixture
def monthly():
    """A trend with a season and gaps, and a column that nothing explains, by month."""
    rng, t = np.random.default_rng(0), np.arange(96)
    sales = 100 + t + 10 * np.sin(2 * np.pi * t / 12) + rng.normal(size=96)
    frame = pandas.DataFrame(
        {"month": pandas.date_range("2015-01-31", periods=96, freq="ME"), "sales": sales, "noise": rng.normal(size=96)}
    )
    frame.loc[rng.random(96) < 0.1, "sales"] = np.nan
    frame.loc[5, "noise"] = np.nan
    return frame, sales


def test_a_clock_fills_gaps_at_every_door_alike(monthly, tmp_path):
    frame, sales = monthly
    holes = frame["sales"].isna().to_numpy()
    filled, quality = gramian.fill(frame, return_quality=True)
    assert np.abs(filled["sales"] - sales)[holes].max() < 6  # the mean is off by up to 50
    assert quality.set_index("column").loc["sales", "error_over_mean"] < 0.2
    model = gramian.LatentImputer().fit(frame)
    assert model.ways_["sales"] == "clock"
    assert_allclose(model.transform(frame)["sales"], filled["sales"])
    assert_allclose(gramian.fill(frame.set_index("month"))["sales"], filled["sales"])
    assert_allclose(gramian.fill({name: frame[name].to_numpy() for name in frame})["sales"], filled["sales"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    ran = CliRunner().invoke(
        command, ["impute", str(tmp_path / "t.csv"), "-o", str(tmp_path / "o.csv"), "--digits", "17"]
    )
    assert ran.exit_code == 0, ran.output
    assert_allclose(pandas.read_csv(tmp_path / "o.csv")["sales"], filled["sales"], rtol=1e-9)


def test_a_clock_is_kept_in_files_and_asked_of_new_rows(monthly, tmp_path):
    frame, sales = monthly
    model = gramian.LatentImputer().fit(frame)
    gramian.save(model, tmp_path / "m.gramian")
    again = gramian.load(tmp_path / "m.gramian")
    assert_allclose(again.transform(frame)["sales"], model.transform(frame)["sales"])
    late = frame.iloc[40:]
    holes = late["sales"].isna().to_numpy()
    assert np.abs(model.transform(late)["sales"] - sales[40:])[holes].max() < 6
    shuffled = frame.sample(frac=1, random_state=0)  # no clock: the columns are all there is
    assert_allclose(model.transform(shuffled)["sales"][shuffled["sales"].isna()], np.nanmean(frame["sales"]), atol=15)
    low, high = model.interval(frame)
    holes = frame["sales"].isna().to_numpy()
    assert ((low["sales"] <= sales) & (sales <= high["sales"]))[holes].mean() > 0.6
    drawn = [table["sales"].to_numpy()[holes] for table in model.draws(frame, 2, random_state=0)]
    assert np.abs(drawn[0] - sales[holes]).max() < 12
    assert (drawn[0] != drawn[1]).all()


def test_what_is_as_expected_is_no_reason(frame):
    found = gramian.odd_rows(frame)
    for columns, seen, expected in zip(found["columns"], found["seen"], found["expected"]):
        pairs = list(zip(seen.split(", "), expected.split(", ")))
        assert len(columns.split(", ")) == len(pairs)
        assert len(pairs) == 1 or all(one != other for one, other in pairs)


def test_dates_with_gaps_are_told_as_dates():
    rng = np.random.default_rng(1)
    days = np.round(200 + 100 * rng.standard_normal(100))
    dated = pandas.DataFrame(
        {"days": days, "met": pandas.Timestamp("2020-01-01") + pandas.to_timedelta(days, unit="D")}
    )
    dated["kind"] = np.where(days > 200, "late", "early")
    dated.loc[[3, 50], "met"] = pandas.NaT
    dated.loc[7, "met"] = pandas.Timestamp("2029-05-05")
    found = gramian.odd_rows(dated)
    assert found["row"][0] == 7
    seen, expected = (
        dict(zip(found["columns"][0].split(", "), found[name][0].split(", "))) for name in ("seen", "expected")
    )
    assert seen["met"] == "2029-05-05"
    assert abs(pandas.Timestamp(expected["met"]) - pandas.Timestamp("2020-01-01")).days < 800


def test_an_anomaly_names_columns(frame):
    numbers = frame.select_dtypes("number").dropna()
    assert any(name in repr(gramian.PPCA(1).fit(numbers).anomaly(numbers)) for name in numbers.columns)
    model = gramian.KernelPPCA(2, kernel="precomputed").fit(numbers.to_numpy() @ numbers.to_numpy().T)
    assert "beyond the 99 % limits" in repr(
        model.anomaly(numbers.to_numpy() @ numbers.to_numpy().T, diagonal=(numbers.to_numpy() ** 2).sum(axis=1))
    )


@pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow", "dict", "array"])
def test_odd_rows_take_codes_as_missing(container):
    """The same rows are odd, with the same scores, as where the cells of codes are empty; of whole numbers too."""
    rng = np.random.default_rng(0)
    size = rng.normal(50, 10, 200)
    frame = pandas.DataFrame({"size": size, "weight": 2 * size + rng.normal(size=200), "n": (size / 5).astype(int)})
    frame.loc[7, "weight"] = 10.0
    frame.loc[::20, "n"] = -999
    if container == "polars":
        given = pytest.importorskip("polars").from_pandas(frame)
    elif container == "pyarrow":
        given = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    else:
        given = {"pandas": frame, "dict": frame.to_dict("list"), "array": frame.to_numpy()}[container]
    with pytest.warns(DataWarning, match="-999 stands 10 times in 1 column"):
        found = gramian.odd_rows(given)
    empty = gramian.odd_rows(frame.where(frame != -999))
    assert np.asarray(found["row"]).tolist() == empty["row"].tolist()
    assert_allclose(np.asarray(found["score"]), empty["score"], rtol=1e-12)
