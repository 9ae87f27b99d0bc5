"""Every estimator, saved and loaded: each public method gives the same bits, names and dtypes are kept (IO-11)."""

from importlib import import_module

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as gaussian_process_kernels
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian
from gramian import PPCA, BayesSearch, KernelPPCA, LatentImputer, LatentOutlierDetector, load, save
from gramian._catalogue import ESTIMATORS
from gramian.features import FEATURE_MAPS
from gramian.io.registry import CLASSES, class_of, name_of
from gramian.kernels import KERNELS, RBF, Linear, Matern
from gramian.preimage import PREIMAGES
from gramian.solvers import SOLVERS


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(60, 5))


@pytest.fixture
def again(tmp_path):
    def reload(model):
        save(model, tmp_path / "m")
        return load(tmp_path / "m")

    return reload


def same(left, right):
    left, right = np.asarray(left), np.asarray(right)
    assert left.dtype == right.dtype
    assert left.tobytes() == right.tobytes()


def with_holes(X):
    X = X.copy()
    X[::4, 1] = np.nan
    X[1::5, 3] = np.nan
    return X


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("holes", [False, True])
def test_ppca(X, again, dtype, holes):
    X = (with_holes(X) if holes else X).astype(dtype)
    model = PPCA(n_components=2, random_state=0).fit(X)
    loaded = again(model)
    assert loaded.get_params() == model.get_params()
    for method in ("transform", "scores", "score_samples", "mahalanobis", "residual", "reconstruct", "impute"):
        same(getattr(loaded, method)(X), getattr(model, method)(X))
    same(loaded.sample(5, random_state=1), model.sample(5, random_state=1))
    same(loaded.anomaly(X).contributions, model.anomaly(X).contributions)
    assert list(vars(loaded)) == list(vars(model))


def test_ppca_in_the_middle_of_a_stream_goes_on(X, again):
    model = PPCA(n_components=2).partial_fit(X[:30])
    loaded = again(model).partial_fit(X[30:])
    same(loaded.components_, model.partial_fit(X[30:]).components_)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": Linear()},
        {"kernel": 2.0 * RBF(1.0) + Matern(2.0) * Linear()},
        {"kernel": gaussian_process_kernels.RBF(2.0)},
        {"kernel": RBF(np.arange(1.0, 6.0))},
        {"approximation": "nystroem", "n_landmarks": 20},
        {"approximation": "rff", "n_landmarks": 50},
        {"solver": SOLVERS["eigh"](), "noise_dim": "rank"},
        *({"preimage": name} for name in PREIMAGES if name != "exact"),
    ],
    ids=str,
)
def test_kernel_ppca(X, again, options):
    model = KernelPPCA(n_components=3, random_state=0, **options).fit(X)
    X = X[::-1].copy()
    loaded = again(model)
    for method in ("transform", "score_samples", "mahalanobis", "residual", "reconstruct"):
        same(getattr(loaded, method)(X), getattr(model, method)(X))
    same(loaded.sample(4, random_state=0), model.sample(4, random_state=0))


@pytest.fixture(scope="module")
def labels(X):
    return np.where(X[:, 0] + X[:, 1] > 0, "up", "down")


@pytest.mark.parametrize("options", [{}, {"noise_variance": 0.01}, {"n_clusters": 2, "n_components": 2}], ids=str)
def test_classifier(X, labels, again, options):
    model = gramian.KernelPPCAClassifier(random_state=0, **options).fit(X, labels)
    X = X[::-1].copy()
    loaded = again(model)
    same(loaded.predict(X), model.predict(X))
    same(loaded.predict_proba(X), model.predict_proba(X))
    same(loaded.decision_function(X), model.decision_function(X))


VIEWS = {"a": [0, 1, 2], "b": [3, 4]}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"noise_variance": "per-view"},
        {"kernel": "rbf", "space": "dual"},
        {"kernel": {"a": RBF(2.0), "b": Linear()}, "noise_variance": "ml"},
        {"kernel": [FEATURE_MAPS["polynomial"](), Linear()], "view_weights": "balanced"},
        {"kernel": "rbf", "solver": "stiefel", "max_iter": 5000},
    ],
    ids=str,
)
def test_views(X, again, options):
    model = gramian.MultiViewRKM(2, views=VIEWS, random_state=0, **options).fit(X)
    loaded = again(model)
    rows = X[::-1].copy()
    same(loaded.transform(rows), model.transform(rows))
    views = {name: rows[:, columns] for name, columns in VIEWS.items()}
    same(loaded.predict_view({"a": views["a"]}, "b"), model.predict_view({"a": views["a"]}, "b"))


@pytest.mark.parametrize("name", ["RKMRegressor", "RKMClassifier"])
def test_targets_as_views(X, labels, again, name):
    model = getattr(gramian, name)(random_state=0).fit(X[:, 1:], X[:, 0] if name == "RKMRegressor" else labels)
    rows = X[::-1, 1:].copy()
    loaded = again(model)
    same(loaded.predict(rows), model.predict(rows))
    if name == "RKMRegressor":
        same(loaded.predict(rows, return_std=True)[1], model.predict(rows, return_std=True)[1])
    else:
        same(loaded.predict_proba(rows), model.predict_proba(rows))


@pytest.mark.parametrize("strategy", ["recursive", "direct"])
def test_forecaster(again, strategy):
    series = np.sin(np.arange(120) / 5) + 0.1 * np.random.default_rng(0).normal(size=120)
    options = {"strategy": strategy, "random_state": 0}
    model = gramian.RKMForecaster(lags=8, **options).fit(series)
    loaded = again(model)
    same(loaded.predict(5), model.predict(5))
    same(np.array(loaded.predict_interval(5)), np.array(model.predict_interval(5)))


@pytest.mark.parametrize("noise", ["separate", "shared"])
def test_mixture(X, again, noise):
    X = with_holes(X)
    model = gramian.PPCAMixture(2, 1, noise=noise, random_state=0).fit(X)
    loaded = again(model)
    for method in ("predict_proba", "score_samples", "impute", "reconstruct"):
        same(getattr(loaded, method)(X), getattr(model, method)(X))
    same(loaded.sample(5, random_state=1)[0], model.sample(5, random_state=1)[0])


@pytest.mark.parametrize("options", [{}, {"approximation": "nystroem", "n_landmarks": 20}], ids=str)
def test_kernel_mixture(X, again, options):
    model = gramian.KernelPPCAMixture(2, 2, random_state=0, **options).fit(X)
    loaded, rows = again(model), X[::-1].copy()
    for method in ("predict_proba", "score_samples", "reconstruct"):
        same(getattr(loaded, method)(rows), getattr(model, method)(rows))


def test_a_callable_kernel_cannot_be_saved(X, tmp_path):
    def my_kernel(A, B):
        return A @ B.T

    with pytest.raises(ValueError, match=r"KernelPPCA\.kernel is the callable .*my_kernel.* cannot be saved"):
        save(KernelPPCA(2, kernel=my_kernel).fit(X), tmp_path / "m")


@pytest.mark.parametrize("face", [LatentImputer(PPCA(2)), LatentOutlierDetector(PPCA(2))])
def test_faces(X, again, face):
    X = with_holes(X)
    model = face.fit(X)
    method = "transform" if hasattr(model, "transform") else "score_samples"
    same(getattr(again(model), method)(X), getattr(model, method)(X))


def test_feature_names_are_kept(X, again):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "größe", "c", "d", "e"])
    loaded = again(PPCA(2).fit(frame))
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    assert loaded.feature_names_in_.dtype == object
    loaded.transform(frame)


def test_an_unfitted_model_comes_back_unfitted(again):
    model = again(KernelPPCA(3, kernel=RBF(2.0), solver="krylov"))
    assert repr(model) == repr(KernelPPCA(3, kernel=RBF(2.0), solver="krylov"))


@pytest.mark.parametrize("seed", [np.random.default_rng(0), np.random.RandomState(0)])
def test_a_generator_as_random_state_is_refused_with_advice(X, tmp_path, seed):
    with pytest.raises(ValueError, match="set_params"):
        save(PPCA(2, random_state=seed).fit(X), tmp_path / "m")


def test_a_pipeline_is_refused_with_advice(X, tmp_path):
    with pytest.raises(ValueError, match="skops"):
        save(make_pipeline(StandardScaler(), PPCA(2)).fit(X), tmp_path / "m")


def test_a_search_is_refused_with_advice_that_works(X, tmp_path):
    search = BayesSearch(PPCA(), {"n_components": (1, 3)}, n_trials=2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="best_estimator_"):
        save(search, tmp_path / "m")
    save(search.best_estimator_, tmp_path / "m")
    np.testing.assert_allclose(load(tmp_path / "m").transform(X), search.transform(X))


def test_skops_round_trips_a_pipeline(X, tmp_path):
    sio = pytest.importorskip("skops.io", reason="needs the extra skops")
    for model in (PPCA(2), KernelPPCA(2, kernel=RBF(2.0))):
        pipeline = make_pipeline(StandardScaler(), model).fit(X)
        sio.dump(pipeline, tmp_path / "p.skops")
        unknown = sio.get_untrusted_types(file=tmp_path / "p.skops")
        assert all(name.startswith("gramian.") for name in unknown)
        loaded = sio.load(tmp_path / "p.skops", trusted=unknown)
        same(loaded.transform(X), pipeline.transform(X))
        same(loaded.score_samples(X), pipeline.score_samples(X))


# ---------------------------------------------------------------- the registry is complete


@pytest.mark.parametrize(
    "table", [KERNELS, FEATURE_MAPS, SOLVERS, PREIMAGES], ids=["kernels", "features", "solvers", "preimages"]
)
def test_every_entry_of_the_tables_can_be_saved(table):
    for name, maker in table.items():
        cls = maker if isinstance(maker, type) else type(maker())
        assert name_of(cls) is not None, name


@pytest.mark.parametrize("name", CLASSES)
def test_every_registered_class_exists(name):
    if name.startswith("deep."):
        pytest.importorskip("torch", reason="needs torch: pip install 'gramian[deep]'")
    cls = class_of(name)
    assert name_of(cls) == name


def test_every_estimator_is_registered():
    homes = {
        name: home
        for name, home in gramian._HOMES.items()
        if home.startswith("gramian.estimators") and name[0].isupper()  # the rest are functions
    }
    assert {"DynamicPPCA", "TablePreprocessor", *ESTIMATORS} <= set(homes)
    for name, home in homes.items():
        assert CLASSES[name] == f"{home}:{name}"
        import_module(home)
