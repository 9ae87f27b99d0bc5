"""Default spaces and objectives: every estimator can be searched with nothing said."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

import gramian
from gramian import BayesSearch
from gramian.tuning.defaults import DEFAULTS, Shape, default_objective, default_space, usual_distance
from gramian.tuning.space import Real, build_space

IRIS, LABELS = load_iris(return_X_y=True)
IRIS = StandardScaler().fit_transform(IRIS)
SERIES = np.sin(np.arange(120) / 3.0) + 0.1 * np.random.default_rng(0).standard_normal(120)
PANEL = np.column_stack([SERIES, np.roll(SERIES, 2), -SERIES]) + 0.1 * np.random.default_rng(2).standard_normal(
    (120, 3)
)
HOLES = np.where(np.random.default_rng(1).random(IRIS.shape) < 0.05, np.nan, IRIS)

CASES = {
    "PPCA": (lambda: gramian.PPCA(), HOLES, None, "log_likelihood"),
    "KernelPPCA": (lambda: gramian.KernelPPCA(), IRIS, None, "reconstruction"),
    "PPCAMixture": (lambda: gramian.PPCAMixture(), IRIS, None, "log_likelihood"),
    "KernelPPCAMixture": (lambda: gramian.KernelPPCAMixture(), IRIS, None, "log_likelihood"),
    "KernelPPCAClassifier": (lambda: gramian.KernelPPCAClassifier(), IRIS, LABELS, "accuracy"),
    "MultiViewRKM": (
        lambda: gramian.MultiViewRKM(views={"sepal": [0, 1], "petal": [2, 3]}),
        IRIS,
        None,
        "reconstruction",
    ),
    "RKMRegressor": (lambda: gramian.RKMRegressor(), IRIS[:, :3], IRIS[:, 3], "score"),
    "RKMClassifier": (lambda: gramian.RKMClassifier(), IRIS, LABELS, "accuracy"),
    "RKMForecaster": (lambda: gramian.RKMForecaster(), SERIES, None, "forecast"),
    "DynamicPPCA": (lambda: gramian.DynamicPPCA(), PANEL, None, "forecast"),
    "LatentImputer": (lambda: gramian.LatentImputer(gramian.PPCA()), HOLES, None, "reconstruction"),
    "LatentOutlierDetector": (lambda: gramian.LatentOutlierDetector(gramian.PPCA()), IRIS, None, "log_likelihood"),
}


def test_every_estimator_has_a_default():
    assert set(CASES) | {"DeepRKM"} == set(DEFAULTS)  # that one is tried in tests/deep
    estimators = {name for name in gramian.__all__ if name[0].isupper() and not name.endswith(("Error", "Warning"))}
    others = {"BayesSearch", "TablePreprocessor"}  # which have nothing to search
    assert others < estimators
    assert estimators - others | {"DeepRKM"} == set(DEFAULTS)  # the last lives in gramian.deep


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_search_with_nothing_said_works_for_every_estimator(name):
    make, X, y, objective = CASES[name]
    search = BayesSearch(make(), cv=3, n_trials=4, random_state=0).fit(X, y)
    assert search.objective_ == objective
    assert search.trials_["status"].count("complete") >= 3, search.errors_
    assert search.best_params_
    assert np.isfinite(search.best_score_)
    assert set(search.best_params_) <= set(search.space_.dimensions)


def test_the_width_ranges_around_the_median_distance():
    space = default_space(gramian.KernelPPCA(), IRIS, Shape(100, 4, 100))
    width = space.dimensions["kernel__length_scale"]
    assert isinstance(width, Real)
    assert width.log
    middle = gramian.kernels.RBF("median").resolve(IRIS).length_scale
    assert np.sqrt(width.low * width.high) == pytest.approx(middle) == usual_distance(IRIS)


def test_a_face_without_a_model_is_offered_whole_models():
    search = BayesSearch(gramian.LatentImputer(), cv=3, n_trials=5, random_state=0).fit(HOLES)
    assert isinstance(search.best_params_["estimator"], gramian.PPCA)
    assert len(search.trials_["score"]) == 3  # q = 1, 2, 3 of four columns


def test_a_single_column_leaves_a_gaussian():
    search = BayesSearch(gramian.PPCA(), n_trials=3, cv=2, random_state=0).fit(IRIS[:, :1])
    assert search.best_params_ == {"n_components": 0}


def test_a_kernel_mixture_whose_kernel_is_searched_is_not_judged_by_its_likelihood():
    model = gramian.KernelPPCAMixture()
    space = build_space({"kernel__length_scale": ("log", 0.1, 10.0)}, model)
    assert default_objective(model, space) == "reconstruction"
    space = build_space({"n_clusters": (1, 4)}, model)
    assert default_objective(model, space) == "log_likelihood"
