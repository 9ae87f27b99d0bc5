"""RELIABILITY rows PARAM: constructor arguments, state and seeds, for every estimator."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from reliability.cases import CASES, X

every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def having(parameter):
    found = {name: case for name, case in CASES.items() if parameter in case.make().get_params()}
    return pytest.mark.parametrize("case", found.values(), ids=found)


@every
def test_scikit_learns_common_checks(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(case.make())


@having("n_components")
def test_param_02_and_03_bools_are_no_counts_and_numpy_integers_are(case):
    with pytest.raises(ValueError, match="n_components"):
        case.fit(X, n_components=True)
    for q in (np.int64(2), np.uint8(2)):
        case.fit(X, n_components=q)


@having("kernel")
def test_param_05_unknown_kernels_and_bad_callables_are_named(case):
    with pytest.raises(ValueError, match="quantum"):
        case.fit(X, kernel="quantum")
    with pytest.raises(ValueError, match=r"shape|\(3, 3\)"):
        case.fit(X, kernel=lambda A, B: np.ones((3, 3)))
    with pytest.raises(ValueError, match="finite"):
        case.fit(X, kernel=lambda A, B: np.full((len(A), len(B)), np.nan))


@having("kernel")
def test_param_06_bad_kernel_parameters_are_named_in_fit(case):
    from gramian import kernels

    for scale in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="length_scale"):
            case.fit(X, kernel=kernels.RBF(scale))
    for bad, words in (
        (kernels.Polynomial(degree=0), "degree"),
        (kernels.Polynomial(gamma=-1.0), "gamma"),
        (kernels.Polynomial(coef0=np.nan), "coef0"),
    ):
        with pytest.raises(ValueError, match=words):
            case.fit(X, kernel=bad)


@having("tol")
@pytest.mark.parametrize("tol", [-1.0, np.nan])
def test_param_07_tolerances(case, tol):
    with pytest.raises(ValueError, match="tol"):
        case.fit(X, tol=tol)


@having("max_iter")
@pytest.mark.parametrize("max_iter", [0, -3, 1.5])
def test_param_07_iterations(case, max_iter):
    with pytest.raises(ValueError, match="max_iter"):
        case.fit(X, max_iter=max_iter)


@having("random_state")
def test_param_08_random_states(case):
    for bad in (-1, "seed", 0.5):
        with pytest.raises(ValueError, match="random_state"):
            case.fit(X, random_state=bad)
    for good in (None, 0, np.random.default_rng(0), np.random.RandomState(0)):
        case.fit(X, random_state=good)


@every
def test_param_11_clone_repr_and_pickle(case):
    model = case.fit(X)
    assert clone(model).get_params().keys() == model.get_params().keys()
    assert "array" not in repr(model)
    again = pickle.loads(pickle.dumps(model))
    for name, values in case.outputs(model, X).items():
        assert_array_equal(case.outputs(again, X)[name], values)
    pickle.loads(pickle.dumps(case.make()))


@every
def test_param_12_nothing_works_before_fit(case):
    model = case.make()
    for method in (*case.methods, *(["sample"] if hasattr(model, "sample") else [])):
        with pytest.raises(NotFittedError):
            getattr(model, method)(*([] if method == "sample" else [X]))


@every
def test_param_13_a_failed_fit_leaves_the_first_one_whole(case):
    model = case.fit(X)
    before = case.outputs(model, X)
    bad = X.copy()
    bad[0, 0] = np.inf
    with pytest.raises(ValueError):
        model.fit(bad) if case.y is None else model.fit(bad, case.y)
    with pytest.raises(ValueError):
        model.fit(X[:, :0]) if case.y is None else model.fit(X[:, :0], case.y)
    for name, values in case.outputs(model, X).items():
        assert_array_equal(values, before[name])


@every
def test_num_22_the_same_seed_gives_the_same_bits(case):
    first, second = (case.outputs(case.fit(X), X) for _ in range(2))
    for name in first:
        assert_array_equal(first[name], second[name])


@every
def test_num_25_clean_data_raise_no_warning(case):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        case.outputs(case.fit(X), X)


@every
def test_num_04_small_and_odd_shapes_are_finite(case):
    shapes = [(2, 3), (3, 3), (4, 3), (5, 3), (6, 1), (4, 8)]
    for n, d in shapes:
        table = np.random.default_rng(n * d).standard_normal((n, d))
        y = None if case.y is None else (np.arange(n) % 2 if case.y.dtype.kind == "i" else np.linspace(0, 1, n))
        options = {"n_components": 1} if "n_components" in case.make().get_params() else {}
        model = case.make(**options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(table) if y is None else model.fit(table, y)
            except ValueError as error:  # too small for this model: said so, in words
                assert str(error)
                continue
            for method in case.methods:
                try:
                    values = np.asarray(getattr(model, method)(table))
                except ValueError as error:
                    assert "residual" in str(error) or "noise" in str(error)
                    continue
                assert np.isfinite(values.astype(float)).all(), (method, n, d)


@every
def test_num_01_constant_columns_are_harmless(case):
    table = np.column_stack([X, np.full(40, 0.1), np.zeros(40)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        outputs = case.outputs(case.fit(table), table)
    for name, values in outputs.items():
        assert np.isfinite(values.astype(float)).all(), name


@every
@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-310])
def test_num_05_and_06_extreme_scales_are_equivariant_or_refused(case, scale):
    reference = case.outputs(case.fit(X), X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            outputs = case.outputs(case.fit(X * scale), X * scale)
        except ValueError as error:
            assert "rescale" in str(error).lower()
            return
    for name, values in outputs.items():
        assert np.isfinite(values.astype(float)).all(), name
        if name in ("transform", "predict", "predict_proba") and case.y is None and case.name != "LatentImputer":
            assert_allclose(np.abs(values), np.abs(reference[name]), atol=1e-4, err_msg=name)


@every
def test_num_07_columns_of_wild_scales_are_finite(case):
    table = X * np.array([1e-12, 1.0, 1e12, 1.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = case.fit(table)
        for method in case.methods:
            try:
                values = np.asarray(getattr(model, method)(table))
            except ValueError as error:  # beside 1e12 the rest is no noise at all
                assert "residual" in str(error)
                continue
            assert np.isfinite(values.astype(float)).all(), method


@every
def test_num_09_float32_of_1e30_stays_finite(case):
    table = (X * 1e30).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            outputs = case.outputs(case.fit(table), table)
        except ValueError as error:
            assert "rescale" in str(error).lower()
            return
    for name, values in outputs.items():
        if name not in ("residual", "mahalanobis", "score_samples"):  # squares of 1e30 do not fit float32
            assert np.isfinite(values.astype(float)).all(), name
