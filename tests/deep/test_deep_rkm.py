"""DeepRKM: fixed maps are MultiViewRKM; trained maps as a scikit-learn estimator."""

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'gramian[deep]'")

from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import BayesSearch, LatentOutlierDetector, MultiViewRKM, load, save, stack_views
from gramian.deep import DeepRKM, TorchMap, nets
from gramian.features import RandomFourier
from gramian.kernels import RBF

SMALL = {"hidden": (8,), "n_features": 8, "batch_size": 64, "max_epochs": 2, "random_state": 0}
MODEL = {"noise_variance": "per-view", "view_weights": "balanced"}


@parametrize_with_checks([DeepRKM(2, **{**SMALL, "max_epochs": 1})])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def frozen(d, k=6):
    torch.manual_seed(d)
    return torch.nn.Sequential(torch.nn.Linear(d, k), torch.nn.Tanh()).double()


ENCODERS = {
    "identity": ("identity", "linear"),
    "random fourier": (RandomFourier(RBF(2.0), 30, random_state=0), RandomFourier(RBF(2.0), 30, random_state=0)),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_fixed_maps_are_multi_view_rkm(views, name):
    encoder, kernel = ENCODERS[name]
    decoder = "identity" if name == "identity" else "mlp"
    deep = DeepRKM(2, encoder=encoder, decoder=decoder, max_epochs=0, random_state=0).fit(views)
    plain = MultiViewRKM(2, kernel=kernel, random_state=0, **MODEL).fit(views)
    only = {"a": views["a"]}
    for method in ("transform", "residual", "score_samples", "mahalanobis"):
        for rows in (views, only):
            np.testing.assert_allclose(getattr(deep, method)(rows), getattr(plain, method)(rows), atol=1e-10)
    if name == "identity":
        np.testing.assert_allclose(deep.predict_view(only, "b"), plain.predict_view(only, "b"), atol=1e-10)
    assert deep.n_epochs_ == 0
    assert {len(column) for column in deep.history_.values()} == {0}
    np.testing.assert_allclose(deep.latents_, plain.latents_, atol=1e-10)


def test_frozen_nets_are_multi_view_rkm(views):
    modules = [frozen(5), frozen(3)]
    deep = DeepRKM(2, encoder=modules, decoder="mlp", max_epochs=0, random_state=0).fit(views)
    plain = MultiViewRKM(2, kernel=deep.maps_, random_state=0, **MODEL).fit(views)
    np.testing.assert_allclose(deep.transform(views), plain.transform(views), atol=1e-10)
    np.testing.assert_allclose(
        deep.predict_view({"a": views["a"]}, "b"), plain.predict_view({"a": views["a"]}, "b"), atol=1e-10
    )


@pytest.mark.parametrize("kind", ["table", "list", "dict"])
def test_a_table_a_list_and_a_dict_of_views_are_the_same_model(views, kind):
    table, columns = stack_views(views)
    X = {"table": table, "list": list(views.values()), "dict": views}[kind]
    model = DeepRKM(2, views=columns if kind == "table" else None, **SMALL).fit(X)
    same = DeepRKM(2, **SMALL).fit(views)
    np.testing.assert_allclose(model.transform(X), same.transform(views), atol=1e-12)
    filled = model.inverse_transform(model.transform(X))
    assert type(filled) is type(X)
    np.testing.assert_allclose(
        np.hstack(list(views.values())) * 0,
        0 * (filled if kind == "table" else np.hstack(list(filled.values()) if kind == "dict" else filled)),
    )
    assert [part.shape for part in model.traverse(5)] == [(2, 5, 5), (2, 5, 3)]


def test_rows_that_miss_views_take_part(views):
    views = {name: view.copy() for name, view in views.items()}
    views["b"][::5] = np.nan
    model = DeepRKM(2, **{**SMALL, "max_epochs": 5}).fit(views)
    assert np.isfinite(model.transform(views)).all()
    features = model.encode(views)
    assert np.isnan(features["b"][::5]).all()
    assert np.isfinite(features["a"]).all()
    filled = model.reconstruct(views)
    assert all(np.isfinite(view).all() for view in filled.values())
    other = {name: view[np.isfinite(views["b"]).all(axis=1)] for name, view in views.items()}
    assert (
        np.abs(DeepRKM(2, **{**SMALL, "max_epochs": 5}).fit(other).encode(other)["a"][:3] - features["a"][1:4]).max()
        > 1e-6
    )


def test_imputed_views_are_predicted_views_and_what_was_seen_stays(views):
    model = DeepRKM(2, **SMALL).fit(views)
    holes = {name: view[:20].copy() for name, view in views.items()}
    holes["b"][::4] = np.nan
    filled, std = model.impute(holes, return_std=True)
    mean, deviations = model.predict_view({"a": holes["a"][::4]}, "b", return_std=True)
    np.testing.assert_allclose(filled["b"][::4], mean, atol=1e-12)
    np.testing.assert_allclose(std["b"][::4], deviations, atol=1e-12)
    seen = np.isfinite(holes["b"])
    np.testing.assert_array_equal(filled["b"][seen], holes["b"][seen])
    assert not std["b"][seen].any()
    assert not std["a"].any()


def test_it_has_the_methods_of_multi_view_rkm():
    absent = {name for name in dir(MultiViewRKM) if not name.startswith("_") and not hasattr(DeepRKM, name)}
    assert absent == {"fit_batches", "set_fit_request"}  # nets see rows again and again, and rows have no weights


def test_the_cross_term_helps_a_missing_view():
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, (600, 2))
    left = np.column_stack([t, np.sin(3 * t), t[:, :1] * t[:, 1:]]) + 0.02 * rng.standard_normal((600, 5))
    right = np.column_stack([np.cos(4 * t[:, :1]), t**2, np.sin(4 * t[:, 1:])]) + 0.02 * rng.standard_normal((600, 4))
    options = {"hidden": (32,), "n_features": 16, "max_epochs": 30, "batch_size": 64, "random_state": 0}
    train, test = {"l": left[:450], "r": right[:450]}, {"l": left[450:]}
    truth = right[450:]
    errors = []
    for weight in ("auto", 0.0):
        model = DeepRKM(4, cross_weight=weight, **options).fit(train)
        mean, std = model.predict_view(test, "r", return_std=True)
        errors.append(((truth - mean) ** 2).sum() / ((truth - truth.mean(axis=0)) ** 2).sum())
        covered = (np.abs(truth - mean) <= 1.645 * std).mean()
        assert 0.8 < covered < 0.98
    assert errors[0] < 0.6 * errors[1]


def test_draws_of_a_view_spread_as_its_deviations_say(views):
    model = DeepRKM(2, **{**SMALL, "max_epochs": 30}).fit(views)
    only = {"a": views["a"][:20]}
    std = model.predict_view(only, "b", return_std=True)[1]
    draws = model.predict_view(only, "b", n_draws=400)
    assert draws.shape == (400, 20, 3)
    np.testing.assert_allclose(draws.std(axis=0).mean(axis=0), std[0], rtol=0.35)
    np.testing.assert_array_equal(model.predict_view(only, "b", n_draws=2), model.predict_view(only, "b", n_draws=2))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"encoder": nets.Conv((2,)), "decoder": "conv", "image_shape": (2, 3)},
        {"kernel": "rbf", "n_anchors": 20},
        {"encoder": "identity", "kernel": RBF(2.0)},
    ],
    ids=["mlp", "conv", "kernel", "kernel on inputs"],
)
def test_a_model_file_gives_the_same_model(X, tmp_path, options):
    model = DeepRKM(2, **SMALL, **options).fit(X)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    for method in ("transform", "reconstruct", "score_samples", "encode"):
        np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))
    np.testing.assert_array_equal(loaded.sample(5, random_state=1), model.sample(5, random_state=1))
    assert loaded.get_params().keys() == model.get_params().keys()
    assert loaded.explain() == model.explain()


def test_a_model_of_own_modules_is_told_what_to_save(X, tmp_path):
    model = DeepRKM(2, encoder=frozen(6), max_epochs=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="Use a net from a spec"):
        save(model, tmp_path / "m")


def test_modules_of_the_user_are_left_as_they_were(X):
    net = frozen(6).float()
    before = net[0].weight.detach().clone()
    model = DeepRKM(2, encoder=net, **{**SMALL, "max_epochs": 3}).fit(X)
    assert torch.equal(net[0].weight, before)
    assert not torch.equal(model.maps_[0].encoder[0].weight, before)
    assert isinstance(model.maps_[0], TorchMap)
    clone(model)


@pytest.mark.parametrize("prior", ["mixture", "normal"])
def test_samples_lie_where_the_rows_lie(X, prior):
    model = DeepRKM(2, **{**SMALL, "max_epochs": 60}).fit(X)
    drawn = model.sample(200, prior=prior, random_state=0)
    nearest = np.sqrt(((drawn[:, None] - X) ** 2).sum(axis=2)).min(axis=1)
    assert np.median(nearest) < 0.25 * np.sqrt(X.var(axis=0).sum())
    np.testing.assert_array_equal(model.sample(3, latent=np.zeros((3, 2))), model.inverse_transform(np.zeros((3, 2))))


def test_a_traverse_starts_and_ends_at_the_scale(X):
    model = DeepRKM(2, **SMALL).fit(X)
    path = model.traverse(5, scale=2.0)
    assert path.shape == (2, 5, 6)
    np.testing.assert_allclose(path[1, -1], model.inverse_transform(np.array([[0.0, 2.0]]))[0])
    np.testing.assert_allclose(path[0, 2], path[1, 2])


def test_decode_undoes_encode_for_identity_maps(X):
    model = DeepRKM(2, encoder="identity", decoder="identity", max_epochs=0).fit(X)
    np.testing.assert_array_equal(model.decode(model.encode(X)), X)


def test_explain_names_the_branch_of_trainable_maps(X):
    assert "AC algorithm 3" in DeepRKM(2, **SMALL).fit(X).explain()
    assert "AC algorithm 4" in DeepRKM(2, kernel="rbf", n_anchors=10, **SMALL).fit(X).explain()
    assert "maps are fixed" in DeepRKM(2, **{**SMALL, "max_epochs": 0}).fit(X).explain()


def test_an_outlier_detector_takes_it(X):
    detector = LatentOutlierDetector(DeepRKM(2, **{**SMALL, "max_epochs": 10}), contamination=0.05).fit(X)
    far = X[:5].copy()
    far[:, 0] += 20.0
    assert (detector.predict(far) == -1).all()


def test_a_search_takes_it_and_judges_by_reconstruction(X):
    search = BayesSearch(DeepRKM(2, **SMALL), {"n_components": [1, 2]}, n_trials=2, cv=2, random_state=0).fit(X)
    assert search.best_params_["n_components"] in (1, 2)
    assert search.best_score_ < 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_components": "auto"}, "n_components"),
        ({"n_components": 9}, "exceeds the 8 features"),
        ({"frame": "qr"}, "frame='qr'"),
        ({"encoder": "lstm"}, "encoder='lstm'"),
        ({"encoder": ["mlp", "mlp"]}, "encoder lists 2"),
        ({"encoder": {"a": "mlp"}}, "encoder is a dict"),
        ({"decoder": "identity"}, "decoder='identity' needs"),
        ({"encoder": "conv"}, "image_shape"),
        ({"cross_weight": "none"}, "cross_weight"),
        ({"rkm_weight": -1.0}, "rkm_weight"),
        ({"n_anchors": 5}, "kernel=None"),
        ({"kernel": "periodic"}, "on top of an encoder"),
        ({"validation_fraction": 0.0}, "validation_fraction"),
        ({"device": "moon"}, "device='moon'"),
        ({"batch_size": 1}, "batch_size"),
        ({"learning_rate": 0.0}, "learning_rate"),
    ],
)
def test_a_bad_parameter_is_named(X, options, says):
    with pytest.raises((ValueError, TypeError), match=says):
        DeepRKM(**{"n_components": 2, **SMALL, **options}).fit(X)


def test_the_core_imports_no_torch():
    code = (
        "import sys, gramian; from gramian import *; import gramian.estimators.multiview, gramian.io.registry, gramian.tuning.search;"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_torch_the_error_says_what_to_install():
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name.split('.')[0] == 'torch': raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import gramian, gramian.deep\n"
        "for name in ('DeepRKM', 'TorchMap', 'nets'):\n"
        "    try: getattr(gramian.deep, name)\n"
        "    except ImportError as error: assert 'pip install \"gramian[deep]\"' in str(error), error\n"
        "    else: raise SystemExit(name)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_signature_is_the_one_of_the_api_page():
    expected = {
        "n_components": 10,
        "encoder": "mlp",
        "decoder": "mlp",
        "n_features": 64,
        "hidden": (256,),
        "image_shape": None,
        "views": None,
        "rkm_weight": 0.1,
        "cross_weight": "auto",
        "frame": "auto",
        "noise_variance": "per-view",
        "view_weights": "balanced",
        "batch_size": 256,
        "max_epochs": 100,
        "learning_rate": 2e-3,
        "kernel": None,
        "n_anchors": None,
        "early_stopping": True,
        "validation_fraction": 0.1,
        "patience": 10,
        "device": "cpu",
        "checkpoint": None,
        "random_state": None,
        "verbose": 0,
    }
    assert DeepRKM().get_params() == expected


def test_pictures_take_it(X, views):
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'gramian[plot]'")
    from gramian import plotting

    model = DeepRKM(2, **SMALL).fit(X)
    plotting.samples_grid(model, image_shape=(2, 3), random_state=0)
    plotting.latent_traversal(model, image_shape=(2, 3))
    plotting.reconstruction_grid(model, X[:4], image_shape=(2, 3))
    plotting.latent_scatter(model, X)
    pair = DeepRKM(2, **SMALL).fit(views)
    plotting.view_contributions(pair)
