"""Thirty kinds of data frames through seven estimators: the numbers of the plain frame, and of the file through the command."""

from functools import partial

import narwhals as nw
import narwhals.stable.v2 as stable
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gramian
from gramian.cli import main

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N = 48


def plain():
    """Numbers that float32 holds, whole numbers, booleans and two columns of words; holes in three of them."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal(N)
    near = z + 0.2 * rng.standard_normal(N)
    frame = pd.DataFrame(
        {
            "size": np.round(64 * (z + 0.2 * rng.standard_normal(N))) / 64,
            "weight": np.round(64 * (2 * z + 0.5 * rng.standard_normal(N))) / 64,
            "rooms": np.round(5 + z).astype(np.int64),
            "flag": near > 0,
            "level": np.where(near > 0.5, "hi", np.where(near < -0.5, "lo", "mid")).astype(object),
            "ward": np.array(["east", "west"], dtype=object)[rng.integers(2, size=N)],
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[3::9, "weight"] = np.nan
    frame.loc[5::11, "level"] = None
    return frame


def typed(frame, **dtypes):
    return frame.astype(dtypes)


def arrow(frame, **types):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for name, kind in types.items():
        j = table.schema.get_field_index(name)
        column = table.column(name)
        column = column.dictionary_encode() if kind == "dictionary" else column.cast(kind)
        table = table.set_column(j, name, column)
    return table


KINDS = {
    "pandas, text": lambda f: typed(f, level="string", ward="string"),
    "pandas, categories": lambda f: typed(f, level="category", ward="category"),
    "pandas, one category": lambda f: typed(f, ward="category"),
    "pandas, Int64": lambda f: typed(f, rooms="Int64"),
    "pandas, int8": lambda f: typed(f, rooms="int8"),
    "pandas, UInt16": lambda f: typed(f, rooms="UInt16"),
    "pandas, whole numbers as floats": lambda f: typed(f, rooms="float64"),
    "pandas, Float64": lambda f: typed(f, size="Float64", weight="Float64"),
    "pandas, float32": lambda f: typed(f, size="float32", weight="float32"),
    "pandas, boolean": lambda f: typed(f, flag="boolean"),
    "pandas, objects": lambda f: f.astype(object),
    "pandas, convert_dtypes": lambda f: f.convert_dtypes(),
    "pandas, pyarrow": lambda f: f.convert_dtypes(dtype_backend="pyarrow"),
    "pandas, dates as index": lambda f: f.set_axis(pd.date_range("2024-01-01", periods=N)),
    "pandas, two indexes": lambda f: f.set_axis(pd.MultiIndex.from_arrays([range(N), range(N)])),
    "pandas, a view": lambda f: pd.concat([f, f]).iloc[:N],
    "pandas, every other row of twice": lambda f: f.loc[f.index.repeat(2)].iloc[::2],
    "polars": lambda f: pl.from_pandas(f),
    "polars, Categorical": lambda f: pl.from_pandas(f).with_columns(pl.col("level", "ward").cast(pl.Categorical)),
    "polars, Int8": lambda f: pl.from_pandas(f).with_columns(pl.col("rooms").cast(pl.Int8)),
    "polars, UInt32": lambda f: pl.from_pandas(f).with_columns(pl.col("rooms").cast(pl.UInt32)),
    "polars, Float32": lambda f: pl.from_pandas(f).with_columns(pl.col("size", "weight").cast(pl.Float32)),
    "polars, chunks": lambda f: pl.concat([pl.from_pandas(f)[:20], pl.from_pandas(f)[20:]], rechunk=False),
    "pyarrow": arrow,
    "pyarrow, dictionaries": lambda f: arrow(f, level="dictionary", ward="dictionary"),
    "pyarrow, large text": lambda f: arrow(f, level=pa.large_string(), ward=pa.large_string()),
    "pyarrow, int16": lambda f: arrow(f, rooms=pa.int16()),
    "pyarrow, float32": lambda f: arrow(f, size=pa.float32(), weight=pa.float32()),
    "pyarrow, chunks": lambda f: pa.concat_tables([arrow(f).slice(0, 20), arrow(f).slice(20)]),
    "record batch": lambda f: arrow(f).combine_chunks().to_batches()[0],
    "narwhals, pandas": lambda f: nw.from_native(f),
    "narwhals, polars": lambda f: nw.from_native(pl.from_pandas(f)),
    "narwhals, stable, pyarrow": lambda f: stable.from_native(arrow(f)),
}

MODELS = {
    "PPCA": gramian.PPCA(2),
    "PPCAMixture": gramian.PPCAMixture(2, 1, random_state=0),
    "LatentOutlierDetector": gramian.LatentOutlierDetector(gramian.PPCA(2)),
    "MultiViewRKM": gramian.MultiViewRKM(2, views={"numbers": ["size", "rooms", "weight"], "words": ["level", "flag"]}),
    "RKMRegressor": gramian.RKMRegressor(2, kernel="linear"),
    "RKMClassifier": gramian.RKMClassifier(2, kernel="linear"),
}


def used(name, X):
    names = ["size", "weight", "rooms", "flag", "level", "ward"]
    if name == "MultiViewRKM":
        names = ["size", "rooms", "weight", "level", "flag"]
    return X[names] if hasattr(X, "iloc") else X.select(names)


def answer(name, X):
    frame, X = plain(), used(name, X)
    y = {"RKMRegressor": (frame.rooms + 0.5 * frame.flag).to_numpy(float), "RKMClassifier": frame.ward.to_numpy(str)}
    model = MODELS[name]
    model = model.fit(X, y[name]) if name in y else model.fit(X)
    for method in ("predict_proba", "score_samples", "predict", "transform"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X), dtype=float)
    raise AssertionError(name)


def columns(X):
    if type(X).__module__.startswith("pyarrow"):
        return {name: X.column(name).to_pylist() for name in X.schema.names}
    return {name: X[name].to_list() for name in X.columns}


@pytest.fixture(scope="module")
def expected():
    return {name: answer(name, plain()) for name in MODELS}


@pytest.fixture(scope="module")
def through_the_command(tmp_path_factory):
    """The file, filled by the command."""
    folder = tmp_path_factory.mktemp("files")
    plain().to_csv(folder / "table.csv", index=False)
    with pytest.raises(SystemExit) as ended:
        main(["impute", str(folder / "table.csv"), "-o", str(folder / "full.csv")])
    assert not ended.value.code
    return pd.read_csv(folder / "full.csv")


def test_there_are_thirty_and_those_of_narwhals():
    assert len(KINDS) == 33


@pytest.mark.parametrize("kind", KINDS)
def test_models_of_every_kind_give_the_numbers_of_the_plain_frame(kind, expected):
    X = KINDS[kind](plain())
    for name, numbers in expected.items():
        assert_allclose(answer(name, X), numbers, rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_filled_as_the_command_fills_the_file_and_comes_back_in_kind(kind, through_the_command):
    X = KINDS[kind](plain())
    found = gramian.fill(X)
    assert type(found) is type(X)
    if kind.startswith("narwhals"):
        assert type(found.to_native()) is type(X.to_native())
    full = columns(found)
    for name in ("size", "weight"):
        assert_allclose(np.array(full[name], dtype=float), through_the_command[name], rtol=1e-5, atol=1e-5)
    assert_array_equal(np.array(full["level"], dtype=str), through_the_command["level"].to_numpy(str))
    assert_array_equal(np.array(full["rooms"], dtype=float), through_the_command["rooms"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_imputer_of_every_kind_fills_as_that_of_the_plain_frame(kind):
    X, frame = KINDS[kind](plain()), plain()
    model = gramian.LatentImputer(gramian.PPCA(2), n_folds=None)
    full, whole = (columns(model.fit(it).transform(it)) for it in (X, frame))
    for name in whole:
        expected = np.array(whole[name], dtype=str if name in ("level", "ward") else float)
        found = np.array(full[name], dtype=expected.dtype.type)
        (assert_array_equal if expected.dtype.kind == "U" else partial(assert_allclose, rtol=1e-5, atol=1e-5))(
            found, expected
        )


def test_a_query_that_has_not_been_run_is_refused_in_words():
    with pytest.raises(TypeError, match="has not been run"):
        gramian.fill(pl.from_pandas(plain()).lazy())
