"""RELIABILITY rows DATA: what users hand over, for every estimator."""

import contextlib
import warnings
from decimal import Decimal

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from reliability.cases import CASES, X

pd = pytest.importorskip("pandas")

TAKE_FRAMES = (
    *("PPCA", "PPCAMixture", "LatentImputer", "LatentOutlierDetector", "MultiViewRKM"),
    *("RKMRegressor", "RKMClassifier", "KernelPPCAClassifier"),
)
"""Estimators that take text and dates in frames; not in arrays."""
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def agree(case, first, second, table_a, table_b=None, rtol=1e-6):
    a, b = case.outputs(first, table_a), case.outputs(second, table_a if table_b is None else table_b)
    for name in a:
        assert_allclose(
            b[name], a[name], rtol=rtol, atol=rtol * max(1.0, np.nanmax(np.abs(a[name].astype(float)))), err_msg=name
        )


@every
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_data_01_infinity_is_named_in_every_method(case, value):
    bad = X.copy()
    bad[3, 2] = value
    with pytest.raises(ValueError, match=r"[Ii]nf"):
        case.fit(bad)
    model = case.fit(X)
    for method in case.methods:
        with pytest.raises(ValueError, match=r"[Ii]nf"):
            getattr(model, method)(bad)


@every
def test_data_06_complex_numbers_are_refused(case):
    with pytest.raises(ValueError, match="Complex data not supported"):
        case.fit(X + 1j)


@every
@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]"])
def test_data_07_dates_are_refused(case, dtype):
    with pytest.raises(ValueError, match="numeric column"):
        case.fit(X.astype(int).astype(dtype))
    frame = pd.DataFrame(X, columns=list("abcde")).assign(c=pd.Timestamp("2020-01-01"))
    if case.name in TAKE_FRAMES:
        case.fit(frame)
        return
    with pytest.raises(ValueError, match="'c'"):
        case.fit(frame)


@every
def test_data_08_and_09_text_is_no_number(case):
    with pytest.raises(ValueError, match="could not convert string to float"):
        case.fit(np.full(X.shape, "a", dtype=object))
    with pytest.raises(ValueError, match="could not convert string to float"):
        case.fit(X.astype(str))
    with pytest.raises(ValueError, match="could not convert string to float"):
        case.fit(X.astype(str).astype(object))
    frame = pd.DataFrame(X, columns=list("abcde")).assign(b="text")
    if case.name in TAKE_FRAMES:
        case.fit(frame)
        return
    with pytest.raises(ValueError, match="'b'"):
        case.fit(frame)


@every
def test_data_10_none_is_missing_or_an_error(case):
    table = X.astype(object)
    table[2, 1] = None
    if case.missing:
        holes = X.copy()
        holes[2, 1] = np.nan
        agree(case, case.fit(holes), case.fit(table), holes)
    else:
        with pytest.raises(ValueError, match="NaN"):
            case.fit(table)


@every
@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_data_14_sparse_is_supported_or_refused_with_a_hint(case, make):
    tag = case.make().__sklearn_tags__().input_tags.sparse
    assert tag == case.sparse
    if case.sparse:
        assert np.isfinite(case.fit(make(X)).transform(make(X))).all()
    else:
        with pytest.raises(TypeError, match=r"toarray"):
            case.fit(make(X))
        model = case.fit(X)
        with pytest.raises(TypeError, match=r"toarray"):
            getattr(model, case.methods[0])(make(X))


@every
def test_data_15_pandas_sparse_columns_are_read(case):
    frame = pd.DataFrame(X, columns=list("abcde"))
    thin = frame.astype(pd.SparseDtype(float, fill_value=np.nan))
    agree(case, case.fit(frame), case.fit(thin), frame, thin)


@every
def test_data_16_duplicate_columns_are_listed(case):
    with pytest.raises(ValueError, match=r"duplicate.*b"):
        case.fit(pd.DataFrame(X, columns=list("abbde")))


@every
def test_data_17_mixed_and_multi_index_names(case):
    with pytest.raises(TypeError):
        case.fit(pd.DataFrame(X, columns=["a", 1, "c", 2, "e"]))
    multi = pd.DataFrame(X, columns=pd.MultiIndex.from_product([["u"], list("abcde")]))
    model = case.fit(multi)
    assert not hasattr(model, "feature_names_in_")


@every
def test_data_19_names_may_go_missing_with_a_warning(case):
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = case.fit(frame)
    with pytest.warns(UserWarning, match="feature names"):
        bare = getattr(model, case.methods[0])(X)
    assert_allclose(np.asarray(bare, dtype=float), np.asarray(getattr(model, case.methods[0])(frame), dtype=float))
    with pytest.warns(UserWarning, match="feature names"):
        getattr(case.fit(X), case.methods[0])(frame)


@every
def test_data_20_the_number_of_features_is_checked(case):
    model = case.fit(X)
    for method in case.methods:
        with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 5"):
            getattr(model, method)(X[:, :3])


WHOLE = np.round(X * 3)
FORMATS = {
    "int8": lambda A: A.astype(np.int8),
    "uint8": lambda A: (A - A.min()).astype(np.uint8),
    "int64": lambda A: A.astype(np.int64),
    "bool": lambda A: np.median(A) < A,
    "float16": lambda A: A.astype(np.float16),
    "longdouble": lambda A: A.astype(np.longdouble),
    "big-endian": lambda A: A.astype(">f8"),
    "Decimal": lambda A: np.vectorize(lambda v: Decimal(int(v)), otypes=[object])(A),
    "list": lambda A: A.tolist(),
}


@every
@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_data_22_every_kind_of_number_is_a_number(case, form):
    table = form(WHOLE)
    plain = np.asarray(table, dtype=np.float64)
    agree(case, case.fit(plain), case.fit(table), plain, table)


@every
def test_data_23_float32_in_float32_out(case):
    single = X.astype(np.float32)
    model = case.fit(single)
    double = case.fit(single.astype(np.float64))
    for name, values in case.outputs(model, single).items():
        reference = np.asarray(getattr(double, name)(single.astype(np.float64)))
        if values.dtype.kind == "f" and name not in ("predict_proba", "decision_function", "predict"):
            assert values.dtype == np.float32, name
        if values.dtype.kind == "f":
            assert_allclose(values, reference, rtol=2e-3, atol=1e-3 * max(1.0, np.abs(reference).max()), err_msg=name)


@every
def test_data_24_memory_layouts_do_not_matter_and_inputs_are_untouched(case, tmp_path):
    frozen = X.copy()
    frozen.setflags(write=False)
    stored = np.memmap(tmp_path / "x.bin", dtype=float, mode="w+", shape=X.shape)
    stored[:] = X
    reference = case.fit(X.copy())
    layouts = {
        "read-only": frozen,
        "fortran": np.asfortranarray(X),
        "negative stride": X[::-1][::-1],
        "memory map": stored,
    }
    for layout in layouts.values():
        before = layout.tobytes()
        model = case.fit(layout)
        agree(case, reference, model, X, layout, rtol=1e-7)
        assert layout.tobytes() == before
    broadcast = np.broadcast_to(X[:1], X.shape)
    with contextlib.suppress(ValueError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.fit(broadcast)


@every
def test_data_25_lazy_arrays_are_never_gathered(case):
    class Lazy:
        __module__ = "dask.array.core"
        shape, ndim, dtype = X.shape, 2, X.dtype

        def __dask_graph__(self):
            return {}

        def __array__(self, dtype=None, copy=None):
            raise AssertionError("gathered")

    if hasattr(case.make(), "fit_batches"):
        pytest.skip("takes Dask rows: tests/rows checks that they never move")
    with pytest.raises(TypeError, match=r"\.compute\(\)"):
        case.fit(Lazy())


@every
def test_num_10_huge_integers_are_converted_with_a_warning(case):
    table = (X * 1000).astype(np.int64) + 2**62
    with pytest.warns(DataConversionWarning, match=r"2\*\*53"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?!.*2..53)")
        with contextlib.suppress(ValueError):  # rounding may leave nothing to model; it must not wrap around
            case.fit(table)
