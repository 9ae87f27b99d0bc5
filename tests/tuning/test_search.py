"""BayesSearch as a scikit-learn meta-estimator, and its faults (TUNE rows)."""

import json
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import PPCA, BayesSearch, KernelPPCA

ALPHA = {"alpha": ("log", 1e-3, 1e3)}


@pytest.fixture(scope="module")
def data():
    return make_regression(60, 4, noise=10.0, random_state=0)


@parametrize_with_checks(
    [
        BayesSearch(Ridge(), {"alpha": ("log", 0.1, 1.0)}, cv=2, n_trials=2, random_state=0),
        BayesSearch(LogisticRegression(), {"C": ("log", 0.1, 1.0)}, cv=2, n_trials=2, random_state=0),
        BayesSearch(PPCA(), cv=2, n_trials=2, random_state=0),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


class Fragile(BaseEstimator):
    """Scores -(x - 0.3)²; raises or returns NaN on parts of the space."""

    def __init__(self, x=0.0, raises=2.0, nan=2.0):
        self.x, self.raises, self.nan = x, raises, nan

    def fit(self, X, y=None):
        if self.x > self.raises:
            raise RuntimeError(f"x={self.x} is too much")
        self.fitted_ = True
        return self

    def score(self, X, y=None):
        return float("nan") if self.x > self.nan else -((self.x - 0.3) ** 2)


@pytest.mark.parametrize("fault", [{"raises": 0.6}, {"nan": 0.6}])
def test_failed_trials_are_recorded_and_survived(fault):
    search = BayesSearch(Fragile(**fault), {"x": (0.0, 1.0)}, n_trials=15, cv=2, random_state=0).fit(np.zeros((8, 1)))
    status, scores = np.array(search.trials_["status"]), np.array(search.trials_["score"])
    assert "failed" in status
    assert "complete" in status
    assert np.isnan(scores[status == "failed"]).all()
    assert np.isfinite(scores[status == "complete"]).all()
    assert abs(search.best_params_["x"] - 0.3) < 0.1
    assert set(search.errors_) == set(np.flatnonzero(status == "failed"))
    assert all(x > 0.6 for x in [search.trials_["params"][i]["x"] for i in search.errors_])


@pytest.mark.parametrize("backend", ["gp", "optuna"])
def test_all_failed_is_an_error_that_says_why(backend):
    search = BayesSearch(Fragile(raises=-1.0), {"x": (0.0, 1.0)}, n_trials=8, cv=2, backend=backend, random_state=0)
    with pytest.raises(ValueError, match=r"All 8 trials failed.*is too much"):
        search.fit(np.zeros((8, 1)))
    assert not hasattr(search, "best_estimator_")


@pytest.mark.parametrize(
    "bounds", [(1.0, 0.0), (1.0, 1.0), (0.0, np.inf), ("log", 0.0, 1.0), ("log", -1.0, 1.0), (np.nan, 1.0)], ids=repr
)
def test_bad_bounds_are_refused(bounds, data):
    with pytest.raises(ValueError, match="alpha"):
        BayesSearch(Ridge(), {"alpha": bounds}).fit(*data)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("n_trials", 0),
        ("n_trials", -1),
        ("n_trials", True),
        ("n_trials", 2.5),
        ("timeout", 0),
        ("timeout", np.nan),
        ("backend", "grid"),
        ("scoring", "best"),
        ("cv", 1),
        ("cv", "five"),
        ("random_state", -1),
        ("random_state", "seed"),
        ("random_state", 0.5),
        ("n_jobs", 0),
        ("warm_start", "yes"),
        ("space", {}),
        ("space", [("alpha", 1)]),
        ("verbose", -1),
    ],
)
def test_bad_parameters_are_refused(option, value, data):
    options = {"n_trials": 3, option: value}
    with pytest.raises(ValueError, match=option):
        BayesSearch(Ridge(), options.pop("space", ALPHA), **options).fit(*data)


def test_fewer_trials_than_the_first_design_are_that_many_trials(data):
    search = BayesSearch(Ridge(), ALPHA, n_trials=2, cv=2, random_state=0).fit(*data)
    assert search.trials_["number"] == [0, 1]


@pytest.mark.parametrize("backend", ["gp", "optuna"])
def test_the_same_seed_gives_the_same_trials(backend, data):
    runs = [
        BayesSearch(Ridge(), ALPHA, n_trials=9, cv=2, backend=backend, random_state=s).fit(*data) for s in (7, 7, 8)
    ]
    assert runs[0].trials_["params"] == runs[1].trials_["params"]
    assert runs[0].trials_["score"] == runs[1].trials_["score"]
    assert runs[0].trials_["params"] != runs[2].trials_["params"]


@pytest.mark.parametrize(
    "state", [np.random.default_rng(0), np.random.RandomState(0), None, np.int64(3)], ids=lambda s: type(s).__name__
)
def test_every_kind_of_random_state_is_taken(state, data):
    assert len(BayesSearch(Ridge(), ALPHA, n_trials=2, cv=2, random_state=state).fit(*data).trials_["score"]) == 2


@pytest.mark.parametrize("backend", ["gp", "optuna"])
def test_the_trials_do_not_depend_on_n_jobs(data, backend):
    options = {"n_trials": 9, "cv": 2, "backend": backend, "random_state": 0}
    one, two = (BayesSearch(Ridge(), ALPHA, n_jobs=n_jobs, **options).fit(*data) for n_jobs in (1, 2))
    assert one.trials_["params"] == two.trials_["params"]
    assert one.trials_["score"] == two.trials_["score"]
    assert two.trials_["number"] == list(range(9))


def test_a_trial_that_fails_in_a_worker_is_recorded_and_survived(data):
    options = {"n_trials": 8, "cv": 2, "random_state": 0}
    one, two = (BayesSearch(Ridge(), {"alpha": (-1.0, 1.0)}, n_jobs=n_jobs, **options).fit(*data) for n_jobs in (1, 2))
    assert "failed" in two.trials_["status"]
    assert one.errors_ == two.errors_


def test_the_columns_of_trials_are_those_of_the_contract(data):
    search = BayesSearch(Ridge(), ALPHA, n_trials=6, cv=3, random_state=0).fit(*data)
    assert list(search.trials_) == ["number", "params", "score", "std", "status", "seconds"]
    assert all(len(column) == 6 for column in search.trials_.values())
    assert search.best_score_ == max(search.trials_["score"]) == search.trials_["score"][search.best_index_]
    assert search.best_params_ == search.trials_["params"][search.best_index_]
    assert search.best_estimator_.alpha == search.best_params_["alpha"]
    assert search.n_splits_ == 3


def test_the_score_is_the_mean_over_held_out_folds(data):
    X, y = data
    folds = list(KFold(3).split(X))
    search = BayesSearch(Ridge(), ALPHA, scoring="neg_mean_squared_error", cv=folds, n_trials=3, random_state=0).fit(
        X, y
    )
    params = search.trials_["params"][1]
    by_hand = [-np.mean((Ridge(**params).fit(X[a], y[a]).predict(X[b]) - y[b]) ** 2) for a, b in folds]
    np.testing.assert_allclose(search.trials_["score"][1], np.mean(by_hand))
    np.testing.assert_allclose(search.trials_["std"][1], np.std(by_hand))


def test_a_callable_scorer_is_maximised(data):
    search = BayesSearch(
        Ridge(), ALPHA, scoring=lambda m, X, y: -abs(np.log10(m.alpha) - 1.0), n_trials=15, cv=2, random_state=0
    ).fit(*data)
    assert abs(np.log10(search.best_params_["alpha"]) - 1.0) < 0.2
    assert search.score(*data) == pytest.approx(search.best_score_)


def test_methods_are_those_of_the_estimator():
    X, y = load_iris(return_X_y=True)
    search = BayesSearch(SVC(), {"C": ("log", 0.1, 10.0)}, n_trials=2, cv=2, random_state=0)
    assert hasattr(search, "decision_function")
    assert not hasattr(search, "transform")
    assert not hasattr(search, "impute")
    with pytest.raises(NotFittedError):
        search.predict(X)
    search.fit(X, y)
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert search.classes_.tolist() == [0, 1, 2]
    assert search.n_features_in_ == 4
    kernel = BayesSearch(KernelPPCA(), {"n_components": (1, 4)}, n_trials=2, cv=2, random_state=0).fit(X)
    assert kernel.sample(3, random_state=0).shape == (3, 4)
    assert kernel.transform(X).shape == (150, kernel.best_params_["n_components"])
    assert kernel.reconstruct(X).shape == X.shape
    assert np.isfinite(kernel.residual(X)).all()


def test_pickle_clone_and_repr_round_trip(data):
    search = BayesSearch(Ridge(), ALPHA, n_trials=3, cv=2, random_state=0).fit(*data)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(data[0]), search.predict(data[0]))
    assert "BayesSearch" in repr(search)
    assert not hasattr(clone(search), "trials_")


def test_a_failed_second_fit_leaves_the_first(data):
    search = BayesSearch(Ridge(), ALPHA, n_trials=3, cv=2, random_state=0).fit(*data)
    before = search.predict(data[0])
    bad = data[0].copy()
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        search.fit(bad, data[1])
    np.testing.assert_array_equal(search.predict(data[0]), before)
    assert len(search.trials_["score"]) == 3


def test_sample_weights_and_groups_follow_their_rows(data):
    X, y = data
    weights = np.r_[np.ones(30), np.full(30, 1e-9)]
    search = BayesSearch(Ridge(), ALPHA, n_trials=3, cv=2, random_state=0).fit(X, y, sample_weight=weights)
    expected = Ridge(**search.best_params_).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(search.best_estimator_.coef_, expected.coef_)
    groups = np.repeat(np.arange(6), 10)
    grouped = BayesSearch(Ridge(), ALPHA, n_trials=2, cv=GroupKFold(3), random_state=0).fit(X, y, groups=groups)
    assert grouped.n_splits_ == 3


def test_the_estimator_given_is_not_changed(data):
    ridge = Ridge(alpha=5.0)
    BayesSearch(ridge, ALPHA, n_trials=2, cv=2, random_state=0).fit(*data)
    assert ridge.alpha == 5.0
    assert not hasattr(ridge, "coef_")


def test_time_budget_stops_the_search_after_one_trial_at_least(data):
    search = BayesSearch(Ridge(), ALPHA, n_trials=500, cv=2, timeout=1e-9, random_state=0).fit(*data)
    assert len(search.trials_["score"]) == 1


def test_a_finite_space_ends_the_search(data):
    search = BayesSearch(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, n_trials=20, cv=2, random_state=0).fit(*data)
    assert sorted(p["alpha"] for p in search.trials_["params"]) == [0.1, 1.0, 10.0]


def test_no_default_space_for_a_stranger(data):
    with pytest.raises(ValueError, match="no default space for Ridge"):
        BayesSearch(Ridge()).fit(*data)


def test_parameters_inside_a_pipeline(data):
    X, _ = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), KernelPPCA(preimage="smoother"))
    search = BayesSearch(model, n_trials=5, cv=2, random_state=0).fit(X)
    assert set(search.best_params_) == {"kernelppca__kernel__length_scale", "kernelppca__n_components"}
    assert search.objective_ == "reconstruction"


def test_progress_is_silent_unless_asked(data, capsys):
    BayesSearch(Ridge(), ALPHA, n_trials=3, cv=2, random_state=0).fit(*data)
    assert capsys.readouterr() == ("", "")
    BayesSearch(Ridge(), ALPHA, n_trials=3, cv=2, random_state=0, verbose=2).fit(*data)
    assert "best=" in capsys.readouterr().err


# ---------------------------------------------------------------- going on


class Interrupted(Fragile):
    """Ctrl-C at the n-th score."""

    countdown = [0]

    def score(self, X, y=None):
        Interrupted.countdown[0] -= 1
        if Interrupted.countdown[0] == 0:
            raise KeyboardInterrupt
        return super().score(X, y)


@pytest.mark.parametrize("backend", ["gp", "optuna"])
def test_an_interrupted_search_goes_on_from_its_checkpoint_as_if_nothing_had_happened(tmp_path, backend):
    X, options = np.zeros((8, 1)), {"n_trials": 12, "cv": 2, "backend": backend, "random_state": 5}
    whole = BayesSearch(Interrupted(), {"x": (0.0, 1.0)}, **options).fit(X)
    search = BayesSearch(Interrupted(), {"x": (0.0, 1.0)}, checkpoint=tmp_path / "search.json", **options)
    Interrupted.countdown[0] = 2 * 8 + 1
    with pytest.raises(KeyboardInterrupt):
        search.fit(X)
    assert len(search.trials_["score"]) == 8
    assert search.best_score_ == max(search.trials_["score"]) == search.trials_["score"][search.best_index_]
    assert search.best_params_ == search.trials_["params"][search.best_index_]
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(NotFittedError):
        search.score(X)
    search.fit(X)
    assert search.trials_["params"] == whole.trials_["params"]
    assert search.trials_["score"] == whole.trials_["score"]
    assert [p.name for p in tmp_path.iterdir()] == ["search.json"]


def test_a_checkpoint_keeps_kernels_and_failures(tmp_path):
    X, _ = load_iris(return_X_y=True)
    space = {"kernel": ["rbf", "linear"], "kernel__length_scale": ("log", 0.1, 10.0), "n_components": (1, 3)}
    options = {"n_trials": 6, "cv": 2, "random_state": 0, "checkpoint": str(tmp_path / "c.json")}
    first = BayesSearch(KernelPPCA(), space, **options).fit(X)
    text = (tmp_path / "c.json").read_text()
    again = BayesSearch(KernelPPCA(), space, **options).fit(X)
    assert again.trials_["params"] == first.trials_["params"]
    assert (tmp_path / "c.json").read_text() == text
    assert json.loads(text)["format"] == "gramian-search"


@pytest.mark.parametrize("change", ["data", "space", "scoring", "estimator", "n_splits"])
def test_a_checkpoint_of_another_search_is_refused(tmp_path, data, change):
    X, y = data
    options = {"n_trials": 2, "cv": 2, "random_state": 0, "checkpoint": tmp_path / "c.json"}
    BayesSearch(Ridge(), ALPHA, **options).fit(X, y)
    X2 = X + 1e-9 if change == "data" else X
    space = {"alpha": ("log", 1e-2, 1e3)} if change == "space" else ALPHA
    options |= {"scoring": "r2"} if change == "scoring" else {}
    options |= {"cv": 3} if change == "n_splits" else {}
    model = Ridge(fit_intercept=False) if change == "estimator" else Ridge()
    with pytest.raises(ValueError, match=f"another search: {change} differ"):
        BayesSearch(model, space, **options).fit(X2, y)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"format": "other"}', '{"format": "gramian-search", "version": 1}', "\x00"]
)
def test_a_broken_checkpoint_is_refused_and_left_alone(tmp_path, data, content):
    path = tmp_path / "c.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="not a checkpoint"):
        BayesSearch(Ridge(), ALPHA, n_trials=2, cv=2, checkpoint=path).fit(*data)
    assert path.read_text() == content


def test_warm_start_goes_on_to_the_same_trials(data):
    whole = BayesSearch(Ridge(), ALPHA, n_trials=10, cv=2, random_state=3).fit(*data)
    search = BayesSearch(Ridge(), ALPHA, n_trials=10, cv=2, random_state=3, warm_start=True)
    search.set_params(n_trials=6).fit(*data)
    assert len(search.trials_["score"]) == 6
    search.set_params(n_trials=10).fit(*data)
    assert len(search.trials_["score"]) == 10
    assert search.trials_["params"] == whole.trials_["params"]
    with pytest.raises(ValueError, match="data differ"):
        search.fit(data[0] + 1.0, data[1])


def test_without_warm_start_a_fit_starts_anew(data):
    search = BayesSearch(Ridge(), ALPHA, n_trials=3, cv=2, random_state=3).fit(*data).fit(*data)
    assert len(search.trials_["score"]) == 3


# ---------------------------------------------------------------- Optuna


@pytest.mark.filterwarnings("ignore:The kept components")  # what is best depends on the version of Optuna
def test_optuna_takes_every_kind_of_dimension():
    X, _ = load_iris(return_X_y=True)
    space = {
        "kernel": ["rbf", "polynomial"],
        "kernel__length_scale": ("log", 0.1, 10.0, 4),
        "kernel__degree": (1, 3),
        "n_components": {"range": ("log", 1, 4), "integer": True},
    }
    model = KernelPPCA(solver="krylov", preimage="smoother")  # whose trials do not settle q themselves
    search = BayesSearch(model, space, n_trials=12, cv=2, backend="optuna", random_state=0).fit(X)
    assert search.trials_["status"].count("complete") == 12
    lengths = {
        len(np.atleast_1d(p["kernel__length_scale"])) for p in search.trials_["params"] if "kernel__length_scale" in p
    }
    assert lengths == {4}


def test_without_optuna_the_error_names_the_extra(monkeypatch, data):
    import sys

    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"gramian\[optuna\]"):
        BayesSearch(Ridge(), ALPHA, backend="optuna", n_trials=2).fit(*data)
