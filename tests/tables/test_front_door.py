"""Frames of every kind go in and come back as they were."""

import datetime
from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramian
from gramian import DataWarning, LatentImputer, TablePreprocessor
from gramian.tables.frames import as_table, orders_of, with_cells

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N = 60


def mixed(seed=0, holes=0.1):
    """Numbers, whole numbers, booleans, categories, text and a date, some of them missing."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(N)

    def holed(values):
        values = np.array(values, dtype=object)
        values[rng.random(N) < holes] = None
        return values

    near = z + 0.7 * rng.standard_normal(N)
    return pd.DataFrame(
        {
            "size": np.array(holed(z + 0.1 * rng.standard_normal(N)), dtype=float),
            "small": (2 * z).astype("float32"),
            "count": pd.array(holed(np.round(np.exp(z + 1)).astype(int)), dtype="Int64"),
            "rooms": np.round(5 + z).astype(int),
            "flag": pd.array(holed(near > 0), dtype="boolean"),
            "sure": near > 0.3,
            "level": pd.Categorical(
                holed(np.where(near > 0.5, "hi", np.where(near < -0.5, "lo", "mid"))), ["lo", "mid", "hi"], ordered=True
            ),
            "ward": pd.Categorical(list(holed(rng.integers(1, 4, N)))),
            "colour": holed(np.array(["red", "green", "blue"])[rng.integers(3, size=N)]),
            "when": pd.Series(pd.date_range("2024-01-01", periods=N)).where(rng.random(N) > holes),
            "note": [f"row {i} was seen and told" for i in range(N)],
        },
        index=pd.Index(np.arange(N) * 3 + 7, name="case"),
    )


def kinds_of(frame):
    """The same rows in every container."""
    plain = frame.assign(ward=frame.ward.astype("Int64").astype("string")).reset_index(drop=True)
    polars = pl.from_pandas(plain).with_columns(
        pl.col("level").cast(pl.Enum(["lo", "mid", "hi"])), pl.col("when").cast(pl.Date)
    )
    arrow = pa.Table.from_pandas(plain, preserve_index=False)
    return {
        "pandas": frame,
        "arrow-backed pandas": plain.drop(columns="level").convert_dtypes(dtype_backend="pyarrow"),
        "polars": polars,
        "pyarrow": arrow,
        "record batch": arrow.combine_chunks().to_batches()[0],
    }


def schema(X):
    if hasattr(X, "iloc"):
        return dict(X.dtypes)
    return dict(X.schema) if hasattr(X, "with_columns") else {field.name: field.type for field in X.schema}


def cells(X):
    if type(X).__module__.startswith("pyarrow"):
        return {name: X.column(name).to_pylist() for name in X.schema.names}
    return {name: X[name].to_list() for name in X.columns}


def missing(cell):
    return cell is None or cell is pd.NA or cell is pd.NaT or cell != cell


@cache
def fitted(kind):
    """The imputer of a container, which asks hidden cells about every category."""
    return LatentImputer().fit(kinds_of(mixed())[kind])


@pytest.mark.parametrize("kind", kinds_of(mixed()))
@pytest.mark.parametrize("method", ["transform", "impute"])
def test_a_frame_comes_back_full_in_its_container_with_its_types(kind, method):
    X, model = kinds_of(mixed())[kind], fitted(kind)
    full = getattr(model, method)(X)
    assert type(full) is type(X) or kind == "record batch"
    assert schema(full) == schema(X)
    before, after = cells(X), cells(full)
    assert list(after) == list(before) == list(model.feature_names_in_)
    for name in before:
        for old, new in zip(before[name], after[name]):
            assert not missing(new)
            assert missing(old) or old == new
    if kind == "pandas":
        assert full.index.equals(X.index)
        assert set(full.ward) <= {1, 2, 3}


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "record batch"])
def test_ordered_categories_keep_their_order(kind):
    assert orders_of(kinds_of(mixed())[kind]) == {"level": ("lo", "mid", "hi")}


def test_every_container_gives_the_numbers_of_the_table_preprocessor():
    frame = mixed().drop(columns=["when", "level"])
    expected = TablePreprocessor().fit_transform(frame)
    for kind, X in kinds_of(mixed()).items():
        names = [name for name in cells(X) if name not in ("when", "level")]
        part = X[names] if hasattr(X, "iloc") else X.select(names)
        model = LatentImputer(gramian.PPCA(2), n_folds=None).fit(part)
        assert_allclose(model._coded(part, False, True), expected, rtol=1e-12, err_msg=kind)


MODELS = {
    "PPCA": gramian.PPCA(2),
    "PPCAMixture": gramian.PPCAMixture(2, 1, random_state=0),
    "LatentOutlierDetector": gramian.LatentOutlierDetector(gramian.PPCA(2)),
    "LatentImputer": LatentImputer(gramian.PPCA(2)),
    "MultiViewRKM": gramian.MultiViewRKM(2, views={"numbers": ["size", "rooms"], "words": ["level", "flag", "ward"]}),
    "RKMRegressor": gramian.RKMRegressor(2, kernel="linear"),
    "RKMClassifier": gramian.RKMClassifier(2, kernel="linear"),
    "KernelPPCAClassifier": gramian.KernelPPCAClassifier(2),
}


def answer(model, X):
    if hasattr(model, "predict"):
        return np.asarray(model.predict(X))
    return np.asarray(
        model._coded(model.transform(X), False, True) if isinstance(model, LatentImputer) else model.transform(X)
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_every_estimator_takes_frames_and_model_files_keep_how(name, kind, tmp_path):
    frame = mixed(holes=0.0 if name.startswith(("RKM", "Kernel")) else 0.1)
    used = (
        ["size", "rooms", "level", "flag", "ward", "note"]
        if name != "MultiViewRKM"
        else ["size", "rooms", "level", "flag", "ward"]
    )
    X = kinds_of(frame)[kind]
    X = X[used] if hasattr(X, "iloc") else X.select(used)
    y = {
        "RKMRegressor": frame.small.to_numpy(),
        "RKMClassifier": frame.sure.to_numpy(),
        "KernelPPCAClassifier": frame.sure.to_numpy(),
    }
    model = MODELS[name].fit(X, y[name]) if name in y else MODELS[name].fit(X)
    assert list(model.feature_names_in_) == used
    assert model.n_features_in_ == len(used)
    # the file through the command: the preprocessing first, then the model on numbers
    coded = TablePreprocessor().fit_transform(X)
    if name in ("PPCA", "PPCAMixture", "RKMRegressor", "RKMClassifier", "KernelPPCAClassifier"):
        plain = (
            gramian.PPCA(2)
            if name == "PPCA"
            else type(model)(
                **{**model.get_params(deep=False), **({} if name == "PPCAMixture" else {"standardize": False})}
            )
        )
        plain = plain.fit(coded, y[name]) if name in y else plain.fit(coded)
        assert_allclose(answer(plain, coded).astype(float), answer(model, X).astype(float), rtol=1e-9)
    gramian.save(model, tmp_path / "model")
    assert np.array_equal(answer(gramian.load(tmp_path / "model"), X), answer(model, X))


def test_frames_of_numbers_are_fitted_as_arrays():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 5)) + 0.1 * rng.standard_normal((80, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    names = list("abcde")
    expected = LatentImputer().fit_transform(X)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names), pa.table(dict(zip(names, X.T)))):
        model = LatentImputer().fit(frame)
        assert list(model.feature_names_in_) == names
        full = model.transform(frame)
        assert type(full) is type(frame)
        # sums over columns side by side in memory differ by rounding
        assert_allclose(np.column_stack([cells(full)[name] for name in names]), expected, rtol=1e-7)
    full = LatentImputer().fit_transform(pd.DataFrame(X))
    assert_allclose(full.to_numpy(), expected, rtol=1e-7)
    assert list(full.columns) == list(range(5))


def test_a_category_that_the_fit_has_not_seen_is_left_as_it_is():
    new = kinds_of(mixed())["pandas"].copy()
    new.loc[7, "colour"] = "violet"
    assert fitted("pandas").transform(new).loc[7, "colour"] == "violet"


def test_what_cannot_be_filled_stays_missing_and_is_said():
    frame = mixed().drop(columns="when")
    frame.loc[7, "note"] = None
    model = LatentImputer(gramian.PPCA(2), n_folds=None).fit(frame)
    with pytest.warns(DataWarning, match="'note'.*1 missing cell"):
        assert model.transform(frame).note.isna().sum() == 1


def test_an_array_of_as_many_columns_has_the_names_of_the_fit():
    frame = mixed().drop(columns="when")
    model = LatentImputer(gramian.PPCA(2), n_folds=None).fit(frame)
    out = model.transform(frame.to_numpy(dtype=object))
    assert out.shape == frame.shape
    with pytest.raises(ValueError, match="expecting 10 features"):
        model.transform(frame.to_numpy(dtype=object)[:, :3])


def test_a_fit_to_numbers_forgets_the_categories_of_the_one_before():
    model = LatentImputer(gramian.PPCA(2), n_folds=None).fit(mixed())
    X = np.random.default_rng(0).standard_normal((30, 3))
    X[0, 0] = np.nan
    assert model.fit(X).transform(X).shape == (30, 3)
    assert model._coding is None


def test_cells_of_every_type_are_written():
    times = [datetime.datetime(2024, 1, 1, 6), None, datetime.datetime(2024, 1, 3)]
    frame = pl.DataFrame(
        {
            "a": [Decimal("1.25"), None, Decimal("2.50")],
            "t": times,
            "d": [datetime.timedelta(1), None, datetime.timedelta(3)],
        }
    )
    table = as_table(frame, ["t"])
    assert_allclose(table["d"], [86400, np.nan, 3 * 86400])
    row = np.array([False, True, False])
    out = with_cells(frame, {"a": (row, [1.377]), "t": (row, [table["t"][0] + 3600.2]), "d": (row, [2 * 86400.0])})
    assert out.schema == frame.schema
    assert out.row(1) == (Decimal("1.38"), datetime.datetime(2024, 1, 1, 7), datetime.timedelta(2))
    zoned = pd.DataFrame({"t": pd.date_range("2024-01-01", periods=3, tz="Europe/Berlin").where([True, False, True])})
    out = with_cells(zoned, {"t": (row, [as_table(zoned, ["t"])["t"][0]])})
    assert out.t.dtype == zoned.t.dtype
    assert out.t[1] == zoned.t[0]


def test_duplicate_names_and_views_without_columns_are_refused():
    frame = mixed()
    with pytest.raises(ValueError, match="duplicate"):
        LatentImputer().fit(pd.concat([frame, frame[["colour"]]], axis=1))
    with pytest.raises(ValueError, match="no column that a model can use"):
        gramian.MultiViewRKM(1, views={"a": ["size", "rooms"], "b": ["note"]}).fit(frame)
