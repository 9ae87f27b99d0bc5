"""One file and one row: a kernel, a feature map, a solver and a pre-image of one's own, by name, in models, searches and files."""

import numpy as np
import pytest
from sklearn.base import clone

from gramian import (
    PPCA,
    BayesSearch,
    KernelPPCA,
    KernelPPCAClassifier,
    KernelPPCAMixture,
    MultiViewRKM,
    RKMClassifier,
    RKMForecaster,
    RKMRegressor,
    load,
    save,
)
from gramian.features import FEATURE_MAPS, FeatureMap
from gramian.kernels import KERNELS, as_kernel
from gramian.kernels._radial import Radial, clip_products
from gramian.preimage import PREIMAGES, PreImage
from gramian.preimage.base import PreImageInfo, combine
from gramian.solvers import SOLVERS, Eigh

X = np.random.default_rng(0).standard_normal((60, 3)) @ np.random.default_rng(1).standard_normal((3, 4))


class Cauchy(Radial):
    """k = 1 / (1 - power · p)."""

    search = {"power": ("log", 0.5, 4.0)}

    def __init__(self, length_scale=1.0, power=2.0):
        self.length_scale = length_scale
        self.power = power

    def profile(self, products):
        clip_products(products)
        products *= -self.power
        products += 1.0
        return np.divide(1.0, products, out=products)


class FirstRows(FeatureMap):
    """Kernel values at a few rows."""

    size_parameter = "n_rows"

    def __init__(self, kernel="rbf", n_rows=10):
        self.kernel = kernel
        self.n_rows = n_rows

    @property
    def dim(self):
        return len(self.rows_)

    def _fit(self, X, weights):
        self.kernel_ = as_kernel(self.kernel).resolve(X)
        self.rows_ = X[: self.n_rows]

    def _features(self, X):
        return self.kernel_(X, self.rows_)


class Slow(Eigh):
    """LAPACK under another name."""


class Weighted(PreImage):
    """Σ γᵢxᵢ whatever the kernel."""

    def invert(self, weights, values):
        return combine(weights, self.X_), PreImageInfo.closed_form(len(weights))


@pytest.fixture(autouse=True)
def rows(monkeypatch):
    monkeypatch.setitem(KERNELS, "cauchy", Cauchy)
    monkeypatch.setitem(FEATURE_MAPS, "first_rows", FirstRows)
    monkeypatch.setitem(SOLVERS, "slow", Slow)
    monkeypatch.setitem(PREIMAGES, "weighted", Weighted)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "cauchy"},
        {"approximation": "first_rows", "n_landmarks": 12},
        {"solver": "slow"},
        {"preimage": "weighted"},
        {"kernel": "cauchy", "solver": "slow", "preimage": "weighted"},
    ],
)
def test_a_row_gives_a_name_in_a_model_and_in_its_file(tmp_path, options):
    model = KernelPPCA(2, random_state=0, **{"preimage": "smoother", **options}).fit(X)
    save(model, tmp_path / "model.gramian")
    again = load(tmp_path / "model.gramian")
    np.testing.assert_array_equal(again.reconstruct(X), model.reconstruct(X))
    for name, value in options.items():
        assert again.get_params()[name] == value


def test_a_solver_is_taken_where_it_suits(monkeypatch):
    assert isinstance(PPCA(2, solver="slow").fit(X).solver_, Slow)
    assert MultiViewRKM(2, solver="slow", noise_variance=0.0).fit([X[:, :2], X[:, 2:]]).n_components_ == 2
    monkeypatch.setattr(Slow, "suits", ("dual",))
    with pytest.raises(ValueError, match="'eigh'"):
        PPCA(2, solver="slow").fit(X)


def test_a_kernels_row_brings_its_search_space():
    search = BayesSearch(KernelPPCA(2, kernel="cauchy", preimage="smoother"), n_trials=3, cv=2, random_state=0).fit(X)
    assert {"kernel__length_scale", "kernel__power"} <= set(search.best_params_)


def test_a_class_outside_the_tables_is_refused(tmp_path, monkeypatch):
    model = KernelPPCA(2, kernel="cauchy").fit(X)
    save(model, tmp_path / "model.gramian")
    monkeypatch.delitem(KERNELS, "cauchy")
    with pytest.raises(ValueError, match="registered"):
        load(tmp_path / "model.gramian")
    with pytest.raises(ValueError, match="save"):
        save(model, tmp_path / "other.gramian")


MODELS_WITH_APPROXIMATIONS = {
    "single": (KernelPPCA(2), lambda model: model.fit(X).transform(X)),
    "mixture": (KernelPPCAMixture(2, 2), lambda model: model.fit(X).predict_proba(X)),
    "classes": (KernelPPCAClassifier(2, kernel="rbf"), lambda model: model.fit(X, X[:, 0] > 0).predict_proba(X)),
    "regressor": (RKMRegressor(kernel="rbf"), lambda model: model.fit(X, X[:, 0] ** 2).predict(X)),
    "labels": (RKMClassifier(kernel="rbf"), lambda model: model.fit(X, X[:, 0] > 0).predict_proba(X)),
    "series": (RKMForecaster(4, kernel="rbf"), lambda model: model.fit(X[:, 0]).predict(5)),
}


@pytest.mark.parametrize("name", ["nystroem", "rff", "first_rows"])
@pytest.mark.parametrize("kind", MODELS_WITH_APPROXIMATIONS)
def test_a_feature_map_is_an_approximation_by_name_in_every_model_that_takes_one(monkeypatch, kind, name):
    monkeypatch.setitem(FEATURE_MAPS, "first_rows", FirstRows)
    model, answers = MODELS_WITH_APPROXIMATIONS[kind]
    made = answers(clone(model).set_params(approximation=name, n_landmarks=25, random_state=0))
    assert np.isfinite(made).all()
    with pytest.raises(ValueError, match="approximation='no_such_map'"):
        answers(clone(model).set_params(approximation="no_such_map"))
