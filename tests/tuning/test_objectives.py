"""Objectives: held-out, and not to be won by copying, smoothing or widening."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import PPCA, BayesSearch, KernelPPCA, LatentImputer, MultiViewRKM, RKMForecaster, RKMRegressor
from gramian.kernels import RBF
from gramian.tuning.objectives import OBJECTIVES, denoising, hidden_mask, kernel_error, log_likelihood, reconstruction


@pytest.fixture(scope="module")
def table():
    """Three directions in eight columns, and noise."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((200, 3)) @ rng.standard_normal((3, 8)) + 0.3 * rng.standard_normal((200, 8))


@pytest.fixture(scope="module")
def arc():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 1.5 * np.pi, 160)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.standard_normal((160, 2))


def test_the_names_of_the_contract_are_all_there():
    assert {"reconstruction", "log_likelihood", "kernel_error", "forecast", "accuracy", "interval_score"} <= set(
        OBJECTIVES
    )


@pytest.mark.parametrize("scoring", ["reconstruction", "log_likelihood"])
def test_held_out_objectives_find_the_true_dimension_of_a_linear_model(table, scoring):
    search = BayesSearch(PPCA(), {"n_components": (1, 7)}, scoring=scoring, n_trials=7, random_state=0).fit(table)
    assert search.best_params_ == {"n_components": 3}


def test_in_sample_reconstruction_and_explained_variance_reward_the_largest_model(table):
    models = [PPCA(q).fit(table) for q in range(1, 8)]
    errors = [np.mean((m.reconstruct(table, kind="projection") - table) ** 2) for m in models]
    explained = [m.explained_variance_ratio_.sum() for m in models]
    assert np.argmin(errors) == np.argmax(explained) == 6


def test_denoising_is_not_won_by_copying(table):
    copier = PPCA(7, noise_variance=0).fit(table[:100])
    right = PPCA(3).fit(table[:100])
    assert denoising(right, table[100:]) > denoising(copier, table[100:])


def test_copying_earns_a_quarter(table):
    class Copier:
        def reconstruct(self, X):
            return X

    assert denoising(Copier(), np.tile(table, (20, 1))) == pytest.approx(-0.25, rel=0.02)


def test_kernel_error_is_not_won_by_a_wide_kernel_nor_by_all_components(arc):
    def score(width, q):
        return kernel_error(KernelPPCA(q, kernel=RBF(width)).fit(arc[:100]), arc[100:])

    assert score(1.0, 4) > score(100.0, 4)
    assert score(1.0, 4) > score(0.01, 4)
    assert score(1.0, 4) > score(1.0, 40)


def test_reconstruction_of_a_kernel_model_is_the_plain_held_out_error(arc):
    model = KernelPPCA(5, kernel=RBF(0.5)).fit(arc[:100])
    expected = -np.mean((model.reconstruct(arc[100:]) - arc[100:]) ** 2)
    assert reconstruction(model, arc[100:]) == pytest.approx(expected)


def test_reconstruction_asks_linear_models_for_hidden_cells(table):
    model = PPCA(3).fit(table[:100])
    hidden = hidden_mask(table[100:])
    filled = model.impute(np.where(hidden, np.nan, table[100:]))
    expected = -np.mean((filled[hidden] - table[100:][hidden]) ** 2)
    assert reconstruction(model, table[100:]) == pytest.approx(expected)
    assert reconstruction(LatentImputer(PPCA(3), standardize=False).fit(table[:100]), table[100:]) == pytest.approx(
        expected
    )


def test_hidden_cells_are_observed_ones_and_leave_some_in_every_row():
    table = np.random.default_rng(0).standard_normal((50, 4))
    table[::3, 1:] = np.nan
    hidden = hidden_mask(table)
    seen = np.isfinite(table)
    assert not (hidden & ~seen).any()
    assert (seen & ~hidden).any(axis=1).all()
    assert hidden[1::3].any(axis=1).all()


def test_log_likelihood_is_the_mean_log_density(table):
    model = PPCA(3).fit(table[:100])
    assert log_likelihood(model, table[100:]) == pytest.approx(np.mean(model.score_samples(table[100:])))


def test_a_pipeline_is_judged_by_its_last_step(table):
    pipe = make_pipeline(StandardScaler(), KernelPPCA(3)).fit(table[:100])
    inner = pipe[:-1].transform(table[100:])
    assert reconstruction(pipe, table[100:]) == pytest.approx(reconstruction(pipe[-1], inner))


def test_likelihoods_of_different_kernels_are_not_compared(arc):
    with pytest.raises(ValueError, match="cannot compare"):
        BayesSearch(KernelPPCA(), {"kernel__length_scale": ("log", 0.1, 10.0)}, scoring="log_likelihood").fit(arc)
    search = BayesSearch(
        KernelPPCA(), {"n_components": (1, 10)}, scoring="log_likelihood", n_trials=4, cv=2, random_state=0
    ).fit(arc)
    assert np.isfinite(search.best_score_)


def test_the_default_search_finds_a_good_width(arc):
    train, test = arc[:110], arc[110:]
    search = BayesSearch(KernelPPCA(preimage="smoother"), n_trials=15, random_state=0).fit(train)
    assert search.objective_ == "reconstruction"

    def error(model):
        return np.mean((model.reconstruct(test) - test) ** 2)

    tuned = error(search.best_estimator_)
    assert tuned < error(KernelPPCA(preimage="smoother", kernel=RBF(20.0), n_components=2).fit(train))
    assert tuned < error(KernelPPCA(preimage="smoother", kernel=RBF(0.02), n_components=10).fit(train))
    assert tuned < error(KernelPPCA(preimage="smoother").fit(train))


# ---------------------------------------------------------------- series, intervals, views


@pytest.fixture(scope="module")
def series():
    return np.sin(np.arange(140) / 4.0) + 0.1 * np.random.default_rng(0).standard_normal(140)


def test_a_forecast_is_judged_on_the_stretch_after_the_training_part(series):
    model = RKMForecaster(lags=8, n_components=5).fit(series[:120])
    expected = -np.mean((model.predict(20) - series[120:]) ** 2)
    assert OBJECTIVES["forecast"](model, series[120:], None) == pytest.approx(expected)


def test_an_int_of_cv_means_rolling_origins_for_a_forecaster(series):
    search = BayesSearch(RKMForecaster(), {"lags": (2, 12)}, cv=3, n_trials=3, random_state=0)
    folds = search._plan(series, None, {}).folds
    assert all(train[-1] + 1 == test[0] for train, test in folds)
    assert [len(test) for _, test in folds] == [23, 23, 23]
    assert folds[-1][1][-1] == 139
    search.fit(series)
    assert search.objective_ == "forecast"
    assert search.predict(3).shape == (3,)
    lower, upper = search.predict_interval(3)
    assert (lower <= upper).all()


class Interval:
    """Says [low, high] whatever comes."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def predict_interval(self, steps, level):
        return np.full(steps, self.low), np.full(steps, self.high)


def test_the_interval_score_is_won_by_the_true_quantiles_only():
    truth = np.random.default_rng(0).standard_normal(20000)
    score = OBJECTIVES["interval_score"]
    right = score(Interval(-1.645, 1.645), truth, None)
    assert right == pytest.approx(-(2 * 1.645 + 20 * 2 * 0.0209), rel=0.02)
    assert right > score(Interval(-1.0, 1.0), truth, None)
    assert right > score(Interval(-3.0, 3.0), truth, None)
    assert right > score(Interval(-100.0, 100.0), truth, None)


def test_the_interval_score_of_a_regressor_uses_its_standard_deviations(table):
    model = RKMRegressor(n_components=3).fit(table[:100, :7], table[:100, 7])
    mean, std = model.predict(table[100:, :7], return_std=True)

    class Said:
        def predict_interval(self, steps, level):
            return mean - 1.6448536 * std, mean + 1.6448536 * std

    score = OBJECTIVES["interval_score"]
    assert score(model, table[100:, :7], table[100:, 7]) == pytest.approx(score(Said(), table[100:, 7], None), rel=1e-6)


def test_views_are_judged_by_predicting_each_from_the_others(table):
    views = {"left": table[:, :4], "right": table[:, 4:]}
    model = MultiViewRKM(3, noise_variance="ml").fit({name: view[:100] for name, view in views.items()})
    held_out = {name: view[100:] for name, view in views.items()}
    errors = [
        ((held_out[a] - model.predict_view({b: held_out[b]}, a)) ** 2).mean(axis=0).sum()
        / held_out[a].var(axis=0).sum()
        for a, b in (("left", "right"), ("right", "left"))
    ]
    assert reconstruction(model, held_out) == pytest.approx(-np.mean(errors))


@pytest.mark.parametrize("as_list", [False, True])
def test_views_in_a_dict_or_a_list_are_searched_as_they_are(table, as_list):
    views = {"left": table[:60, :4], "right": table[:60, 4:]}
    X = list(views.values()) if as_list else views
    search = BayesSearch(
        MultiViewRKM(noise_variance="ml"), {"n_components": (1, 7)}, cv=3, n_trials=4, random_state=0
    ).fit(X)
    assert search.trials_["status"] == ["complete"] * 4
    assert search.predict_view(X, 0).shape == (60, 4)
