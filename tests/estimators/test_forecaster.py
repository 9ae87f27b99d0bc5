"""RKMForecaster: exact series, gaps, containers, intervals, exogenous inputs, faults; the sktime adapter."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge

import gramian
from gramian import NumericalWarning, RKMForecaster, RKMRegressor, features, kernels
from gramian.datasets import make_mackey_glass, make_sum_of_sines
from gramian.series.series import check_steps, fill_gaps, lag_windows

pd = pytest.importorskip("pandas")

SINES = make_sum_of_sines(500)


def plain(lags=10, n_components=0.95, **options):
    """AC's model of the series as it is; lags and kernel are the first version's defaults."""
    given = {"season": None, "difference": 0, "transform": None, "kernel": "rbf"}
    return RKMForecaster(lags, n_components, **(given | options))


def test_windows_are_oldest_first():
    windows, targets = lag_windows(np.arange(10.0)[:, None], 3, 2)
    assert_array_equal(windows[0], [0, 1, 2])
    assert_array_equal(targets[0], [3, 4])
    assert len(windows) == 6


def test_two_series_are_laid_out_time_by_time():
    windows, targets = lag_windows(np.column_stack([np.arange(5.0), 10 + np.arange(5.0)]), 2, 1)
    assert_array_equal(windows[0], [0, 10, 1, 11])
    assert_array_equal(targets[0], [2, 12])


def test_a_sum_of_sines_is_forecast_exactly():
    model = plain(40, 4, kernel="linear", noise_variance=0.0).fit(SINES[:400])
    assert np.abs(model.predict(100) - SINES[400:]).max() < 1e-10


def test_the_default_learns_a_chaotic_series():
    y = make_mackey_glass(700)
    found = plain().fit(y[:600]).predict(30)
    assert np.mean((found - y[600:630]) ** 2) < 0.05 * y.var()


def test_one_step_is_the_regressor_on_windows():
    windows, targets = lag_windows(SINES[:200, None], 5, 1)
    options = {"kernel": kernels.RBF(2.0), "noise_variance": "ml", "n_components": 6}
    model = plain(5, standardize=False, **options).fit(SINES[:200])
    regressor = RKMRegressor(standardize=False, **options).fit(windows, targets[:, 0])
    assert_allclose(model.predict(1), regressor.predict(SINES[195:200][None]), atol=1e-8)


def test_steps_as_a_list_are_answered_in_its_order():
    model = plain(10, 4, kernel="linear", noise_variance=0.0).fit(SINES[:300])
    assert_array_equal(model.predict([3, 1, 3]), model.predict(3)[[2, 0, 2]])
    assert model.sample_paths([5, 2], 4).shape == (4, 2)


@pytest.mark.parametrize("steps", [0, -1, 2.5, True, [], [1, 0], "3", None, [1.5]])
def test_bad_steps_are_refused(steps):
    with pytest.raises(ValueError, match="steps"):
        check_steps(steps)


# ---------------------------------------------------------------- gaps


def test_a_linear_window_with_gaps_is_seen_entry_by_entry():
    y = SINES[:300].copy()
    y[-3] = y[-7] = np.nan
    model = plain(40, 4, kernel="linear", noise_variance=0.0).fit(y)
    assert np.abs(model.predict(20) - SINES[300:320]).max() < 1e-9


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_gaps_everywhere(kernel):
    y = SINES[:300].copy()
    y[::7] = np.nan
    found = plain(20, kernel=kernel).fit(y).predict(20)
    assert np.abs(found - SINES[300:320]).max() < 1e-3


def test_gaps_are_filled_from_both_sides():
    y = SINES[:300, None].copy()
    rng = np.random.default_rng(0)
    y[rng.choice(300, 40, replace=False)] = np.nan
    holes = np.isnan(y[:, 0])
    assert np.abs(fill_gaps(y, 20)[holes, 0] - SINES[:300][holes]).max() < 0.05
    assert_array_equal(fill_gaps(y, 20)[~holes], y[~holes])


def test_gaps_of_an_exact_series_in_a_huge_unit_are_filled():
    rng = np.random.default_rng(0)
    series = 1e149 * np.outer(rng.standard_normal(17), [1.0, -2.0])
    series[rng.random(series.shape) < 0.6] = np.nan
    found = fill_gaps(series, 3)
    assert np.isfinite(found).all()
    assert_array_equal(found[~np.isnan(series)], series[~np.isnan(series)])


def test_a_history_with_gaps_can_be_gone_on_from():
    model = plain(20).fit(SINES[:300])
    past = SINES[:400].copy()
    past[-2] = np.nan
    assert_allclose(model.predict(10, history=past), SINES[400:410], atol=0.01)
    with pytest.raises(ValueError, match="lags=20"):
        model.predict(3, history=past[:5])


# ---------------------------------------------------------------- several series, exogenous inputs


def test_several_series():
    Y = np.column_stack([SINES, 100 + 50 * np.cos(np.arange(500) / 9)])
    model = plain(20, 6, kernel="linear", noise_variance=0.0).fit(Y[:400])
    assert_allclose(model.predict(50), Y[400:450], atol=1e-6)
    assert model.sample_paths(5, 3).shape == (3, 5, 2)
    assert model.predict_quantiles(5, [0.1, 0.5, 0.9]).shape == (3, 5, 2)
    assert model.predict_interval(5)[0].shape == (5, 2)


def test_direct_forecasts():
    y = make_mackey_glass(700)
    model = plain(12, strategy="direct", horizon=8).fit(y[:600])
    assert np.mean((model.predict(8) - y[600:608]) ** 2) < 0.02 * y.var()
    assert model.predict(20).shape == (20,)
    assert_allclose(model.predict(20)[:8], model.predict(8))


def test_exogenous_inputs_matter_and_may_be_unknown():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = 2 * X[:, 0] + 0.1 * rng.standard_normal(300)
    model = plain(2, kernel="linear").fit(y[:290], X[:290])
    assert np.abs(model.predict(10, X[290:]) - y[290:]).max() < 0.5
    unknown = X[290:].copy()
    unknown[4] = np.nan
    assert abs(model.predict(10, unknown)[4]) < 1.0
    low, high = model.predict_interval(10, X=unknown)
    assert (high - low)[4] > 3 * (high - low)[3]
    with pytest.raises(ValueError, match="exogenous"):
        model.predict(3)
    with pytest.raises(ValueError, match="needed"):
        model.predict(10, X[290:293])
    with pytest.raises(ValueError, match="without exogenous"):
        plain(2).fit(y).predict(2, X[:2])
    with pytest.raises(ValueError, match="300"):
        plain(2).fit(y[:290], X)


# ---------------------------------------------------------------- intervals


def test_intervals_hold_the_forecast_and_are_nested():
    y = SINES[:300] + 0.2 * np.random.default_rng(0).standard_normal(300)
    model = plain(15, random_state=0).fit(y)
    middle, widest = model.predict(25), None
    for level in (0.99, 0.9, 0.5, 0.05):
        low, high = model.predict_interval(25, level=level)
        assert (low <= middle).all()
        assert (middle <= high).all()
        if widest is not None:
            assert (widest[0] <= low).all()
            assert (high <= widest[1]).all()
        widest = low, high
    for bad in (0, 1, 1.5, -0.2, "x", np.nan):
        with pytest.raises(ValueError, match="level"):
            model.predict_interval(5, level=bad)
    with pytest.raises(ValueError, match="quantiles"):
        model.predict_quantiles(5, [0.0, 0.5])


def test_intervals_cover_a_noisy_autoregression():
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(12):
        y = np.zeros(260)
        for t in range(1, 260):
            y[t] = 0.8 * y[t - 1] + rng.standard_normal()
        low, high = plain(3, kernel="linear", random_state=0).fit(y[:220]).predict_interval(40)
        inside.append((y[220:] >= low) & (y[220:] <= high))
    assert 0.84 < np.mean(inside) < 0.95


def test_paths_spread_with_the_horizon_and_repeat_with_the_seed():
    y = np.cumsum(np.random.default_rng(0).standard_normal(200))
    model = plain(3, kernel="linear", random_state=1).fit(y)
    paths = model.sample_paths(20, 500)
    assert paths[:, 19].std() > 1.5 * paths[:, 0].std()
    assert_array_equal(model.sample_paths(5, 7), model.sample_paths(5, 7))
    again = plain(3, kernel="linear", random_state=1).fit(y)
    assert_array_equal(again.sample_paths(5, 7), model.sample_paths(5, 7))
    assert (model.sample_paths(5, 7, random_state=2) != model.sample_paths(5, 7)).any()


# ---------------------------------------------------------------- containers


def test_a_pandas_index_is_continued():
    dates = pd.date_range("2020-01-31", periods=200, freq="ME")
    y = pd.Series(SINES[:200], index=dates, name="flow")
    model = plain(10, 4, kernel="linear", noise_variance=0.0).fit(y)
    found = model.predict(3)
    assert list(found.index) == list(pd.date_range("2020-01-31", periods=203, freq="ME")[200:])
    assert found.name == "flow"
    assert list(model.predict([2, 1]).index) == [found.index[1], found.index[0]]
    low, _ = model.predict_interval(2)
    assert list(low.index) == list(found.index[:2])
    periods = model.fit(pd.Series(SINES[:200], index=pd.period_range("2020-01", periods=200, freq="M"))).predict(1)
    assert periods.index[0] == pd.Period("2036-09", freq="M")
    numbered = model.fit(pd.Series(SINES[:200], index=np.arange(1000, 1400, 2))).predict(2)
    assert list(numbered.index) == [1400, 1402]
    frame = pd.DataFrame({"a": SINES[:200], "b": SINES[100:300]}, index=dates)
    assert list(model.fit(frame).predict(2).columns) == ["a", "b"]
    zoned = y.tz_localize("Europe/Brussels")
    assert str(model.fit(zoned).predict(1).index.tz) == "Europe/Brussels"


def test_models_can_be_saved_with_their_index(tmp_path):
    y = pd.Series(SINES[:200], index=pd.date_range("2020-01-01", periods=200, freq="D"))
    model = plain(10, 6).fit(y)
    gramian.save(model, tmp_path / "model.gramian")
    again = gramian.load(tmp_path / "model.gramian")
    pd.testing.assert_series_equal(again.predict(5), model.predict(5))
    assert_array_equal(again.sample_paths(3, 4), model.sample_paths(3, 4))


# ---------------------------------------------------------------- faults


def test_short_series_are_refused_with_both_lengths():  # FORE-01
    with pytest.raises(ValueError, match=r"8 values.*lags=10"):
        plain(10).fit(SINES[:8])
    with pytest.raises(ValueError, match="horizon=5"):
        plain(3, strategy="direct", horizon=5).fit(SINES[:8])


@pytest.mark.parametrize(
    "y",
    [np.full(60, 4.0), np.arange(60.0), 1e9 + np.random.default_rng(0).standard_normal(60)],
    ids=["constant", "trend", "level"],
)
def test_constant_trending_and_high_series(y):  # FORE-05
    model = plain(5, random_state=0).fit(y)
    low, high = model.predict_interval(10)
    assert np.isfinite(model.predict(10)).all()
    assert (high - low >= 0).all()
    assert np.abs(model.predict(1)[0] - y[-1]) <= 4 + 4 * np.std(np.diff(y))


def test_an_explosive_recursion_stays_finite():  # FORE-07
    y = 1.3 ** np.arange(40)
    model = plain(2, 1, kernel="linear", noise_variance=0.0, random_state=0).fit(y)
    with pytest.warns(NumericalWarning, match="unstable"):
        assert np.isfinite(model.predict(10_000)).all()


@pytest.mark.parametrize(
    "params",
    [
        {"lags": 0},
        {"lags": 2.5},
        {"lags": "many"},
        {"season": 1},
        {"season": "yearly"},
        {"difference": 2},
        {"difference": True},
        {"transform": "sqrt"},
        {"approximation": "no_such_map"},
        {"n_members": 0},
        {"strategy": "both"},
        {"horizon": 0},
        {"noise_variance": "none"},
        {"standardize": None},
        {"n_folds": 1},
        {"n_components": -1},
        {"random_state": "seed"},
    ],
)
def test_bad_parameters_are_refused(params):
    with pytest.raises(ValueError, match=next(iter(params))):
        plain(**params).fit(SINES)


def test_bad_series_are_refused():
    with pytest.raises(ValueError, match="infinity"):
        plain().fit(np.r_[SINES[:50], np.inf])
    with pytest.raises(ValueError, match="no observed value"):
        plain().fit(np.full(50, np.nan))
    with pytest.raises(ValueError, match="convert"):
        plain().fit(np.array(["a"] * 50))
    with pytest.raises(ValueError, match="shape"):
        plain().fit(np.zeros((3, 4, 5)))
    with pytest.raises(NotFittedError):
        plain().predict(3)
    model = plain(5, 3).fit(SINES)
    with pytest.raises(ValueError, match="too few"):
        model.fit(SINES[:3])
    assert np.isfinite(model.predict(3)).all()


def test_clone_and_feature_maps():
    model = plain(8, 20, kernel=features.RandomFourier(kernels.RBF(3.0), 60, random_state=0))
    assert np.isfinite(clone(model).fit(SINES[:200]).predict(5)).all()
    assert "primal" in model.fit(SINES[:200]).algorithm_


def test_a_forecast_from_a_history_is_that_of_its_series():
    model = plain(10, 4, kernel="linear", noise_variance=0.0).fit(SINES[:150])
    for origin in (170, 180, 190):
        assert_allclose(model.predict(10, history=SINES[:origin]), SINES[origin : origin + 10], atol=1e-6)


def test_the_sktime_adapter_gives_the_same_forecasts():
    adapter = pytest.importorskip("gramian.adapters.sktime", reason="sktime is not installed")
    y = pd.Series(SINES[:120])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = adapter.SktimeRKMForecaster(
            lags=10, n_components=4, season=None, difference=0, transform=None, kernel="rbf", random_state=0
        ).fit(y, fh=[1, 4])
        own = plain(10, 4, random_state=0, horizon=4).fit(y.to_numpy())
        assert_allclose(model.predict(), own.predict([1, 4]))
        assert list(model.predict().index) == [120, 123]
        assert model.predict_interval(coverage=0.9).shape == (2, 2)


def test_sktime_fits_panels_and_hierarchies_by_one_call():
    adapter = pytest.importorskip("gramian.adapters.sktime", reason="sktime is not installed")
    times = pd.period_range("2020-01", periods=30, freq="M")
    keys = [(region, store, time) for region in "ab" for store in ("x", "y") for time in times]
    index = pd.MultiIndex.from_tuples(keys, names=["region", "store", "month"])
    rng = np.random.default_rng(0)
    promo = pd.DataFrame({"promo": (rng.random(120) < 0.3).astype(float)}, index=index)
    y = pd.DataFrame({"sold": 50 + 8 * promo["promo"] + rng.standard_normal(120)}, index=index)
    known = index.get_level_values("month") < times[-2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = adapter.SktimeRKMForecaster(random_state=0).fit(y[known], X=promo[known], fh=[1, 2])
        found = model.predict(X=promo[~known])
        ends = model.predict_interval(X=promo[~known], coverage=0.9)
    assert found.index.equals(y[~known].index)
    assert_allclose(found["sold"], y[~known]["sold"], atol=4.0)
    assert ((ends.iloc[:, 0] <= found["sold"]) & (found["sold"] <= ends.iloc[:, 1])).all()
    assert len(model.forecasters_["sold"].predict(1)) == 4


@pytest.mark.slow
def test_sktime_common_checks():
    adapter = pytest.importorskip("gramian.adapters.sktime", reason="sktime is not installed")
    from sktime.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(adapter.SktimeRKMForecaster, raise_exceptions=False, verbose=0)
    assert {name: result for name, result in results.items() if result != "PASSED"} == {}


def test_one_inverse_for_all_steps_changes_nothing():
    y = make_mackey_glass(300)
    model = plain(8, 20, random_state=0).fit(y)
    window, values = (y[-8:] - model._members[0].model.shift[0]) / model._members[0].model.scale[0], []
    for _ in range(30):
        values.append(model._members[0].model.next_values(window[None, -8:, None])[0][0, 0])
        window = np.append(window, values[-1])
    held = model._members[0].model
    assert_allclose(model.predict(30), np.array(values) * held.scale + held.shift, rtol=1e-10)


def test_none_takes_the_components_above_a_given_noise():
    y = make_mackey_glass(300)
    options = {"kernel": kernels.RBF(2.0), "view_weights": (1.0, 1e-5), "n_folds": None}
    model = plain(8, None, noise_variance=1e-5, **options).fit(y)
    assert model._members[0].model.target.gaussian.eigenvalues.min() > 1e-5
    with pytest.raises(ValueError, match="exceeds the smallest kept eigenvalue"):
        plain(8, model.n_components_ + 1, noise_variance=1e-5, **options).fit(y)
    assert plain(8, None).fit(y).n_components_ == plain(8).fit(y).n_components_


def test_a_small_noise_and_all_components_come_close_to_kernel_ridge():
    y = make_mackey_glass(400)
    model = plain(8, None, kernel=kernels.RBF(2.0), noise_variance=1e-7, view_weights=(1.0, 1e-5), n_folds=None).fit(y)
    windows, targets = lag_windows(((y - y.mean()) / y.std())[:, None], 8, 1)
    ridge = KernelRidge(alpha=1e-7 * len(windows), kernel="rbf", gamma=1 / 8).fit(windows, targets)
    own = model._members[0].model.next_values(windows[::7].reshape(-1, 8, 1) + 0.01)[0]
    assert_allclose(own, ridge.predict(windows[::7] + 0.01), atol=0.02)
