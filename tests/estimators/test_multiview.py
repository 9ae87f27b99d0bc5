"""MultiViewRKM: containers, missing views, weights, kernels, parameters, errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_selector
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian
from gramian import PPCA, MultiViewRKM, NumericalWarning, features, kernels, stack_views

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((60, 2))
    made = {name: z @ rng.standard_normal((2, d)) for name, d in (("x", 5), ("y", 3), ("w", 4))}
    return {name: X + 0.1 * rng.standard_normal(X.shape) for name, X in made.items()}


CHECKED = [
    MultiViewRKM(),
    MultiViewRKM(n_components=1, noise_variance=0.0),
    MultiViewRKM(n_components=0.9, kernel="rbf"),
    MultiViewRKM(n_components=1, noise_variance="ml", space="dual"),
]

AC = {"noise_variance": 0.0}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(CHECKED)
def test_scikit_learn_common_checks(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- containers


def test_table_list_and_dict_are_the_same_model(views):
    table, columns = stack_views(views)
    by_table = MultiViewRKM(2, views=columns).fit(table)
    by_list = MultiViewRKM(2).fit(list(views.values()))
    by_dict = MultiViewRKM(2).fit(views)
    for model, data in ((by_table, table), (by_list, list(views.values())), (by_dict, views)):
        assert_allclose(model.transform(data), by_dict.transform(views))
    shown = [views["x"], None, views["w"]]
    assert_allclose(by_list.predict_view(shown, 1), by_dict.predict_view({"x": views["x"], "w": views["w"]}, "y"))
    holed = table.copy()
    holed[:, columns["y"]] = np.nan
    assert_allclose(by_table.predict_view(holed, "y"), by_list.predict_view(shown, 1))


def test_order_of_a_dict_does_not_matter(views):
    turned = dict(reversed(list(views.items())))
    a, b = MultiViewRKM(2).fit(views), MultiViewRKM(2).fit(turned)
    assert_allclose(a.transform(views), b.transform(turned), atol=1e-10)
    assert_allclose(a.transform(turned), a.transform(views))


def test_columns_by_name_position_slice_mask_and_callable(views):
    table, _ = stack_views(views)
    frame = pd.DataFrame(table, columns=[f"c{i}" for i in range(12)])
    ways = [
        (
            frame,
            {"x": [f"c{i}" for i in range(5)], "y": slice("c5", "c7"), "w": make_column_selector("c(?:8|9|10|11)")},
        ),
        (frame, {"x": list(range(5)), "y": slice(5, 8), "w": [8, 9, 10, -1]}),
        (table, {"x": range(5), "y": (5, 6, 7), "w": np.arange(12) > 7}),
    ]
    for X, columns in ways:
        assert_allclose(MultiViewRKM(2, views=columns).fit(X).transform(X), MultiViewRKM(2).fit(views).transform(views))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [0, 1], "y": [1, 2]}, "Keep it in one"),
        ({"x": []}, "no column"),
        ({"x": [99]}, "does not"),
        ([0, 1], "dict"),
        ({"x": "nobody"}, "does not name"),
    ],
)
def test_bad_columns_are_refused(views, columns, message):
    with pytest.raises(ValueError, match=message):
        MultiViewRKM(1, views=columns).fit(stack_views(views)[0])


def test_a_list_of_number_lists_is_a_table():
    rows = np.random.default_rng(0).standard_normal((10, 3)).tolist()
    assert MultiViewRKM(1).fit(rows).view_names_ == ["view0"]


def test_columns_in_no_view_are_left_out_with_a_warning(views):
    table, _ = stack_views(views)
    with pytest.warns(NumericalWarning, match=r"3 of the 12 columns of X are in no view \(5, 6, 7\)"):
        model = MultiViewRKM(2, views={"x": slice(0, 5), "w": slice(8, 12)}).fit(table)
    assert model.inverse_transform(model.transform(table)).shape == (60, 9)


def test_inverse_transform_comes_in_the_container_of_fit(views):
    table, columns = stack_views(views)
    shuffled = {"w": columns["w"], "x": columns["x"], "y": columns["y"]}
    by_table = MultiViewRKM(11, views=shuffled, **AC).fit(table)
    assert_allclose(by_table.inverse_transform(by_table.transform(table)), table, atol=0.2)
    by_list = MultiViewRKM(2).fit(list(views.values()))
    assert [v.shape for v in by_list.inverse_transform(np.zeros((2, 2)))] == [(2, 5), (2, 3), (2, 4)]
    assert set(MultiViewRKM(2).fit(views).sample(3, random_state=0)) == set(views)


# ---------------------------------------------------------------- missing views


def test_rows_that_show_nothing_get_the_prior(views):  # MV-04
    model = MultiViewRKM(2, noise_variance="per-view").fit(views)
    nothing = {"x": np.full((2, 5), np.nan)}
    posterior = model.posterior(nothing)
    assert_array_equal(posterior.mean, 0)
    assert_allclose(np.broadcast_to(posterior.covariance, (2, 2, 2)), [np.eye(2)] * 2)
    assert_allclose(model.predict_view(nothing, "y"), [views["y"].mean(axis=0)] * 2)


def test_each_row_may_show_other_views(views):
    model = MultiViewRKM(2, noise_variance="ml").fit(views)
    x, w = views["x"].copy(), views["w"].copy()
    x[::2], w[1::3] = np.nan, np.nan
    together = model.predict_view({"x": x, "w": w}, "y")
    for i in (0, 1, 3, 4, 7):
        shown = {name: X[[i]] for name, X in (("x", x), ("w", w)) if not np.isnan(X[i]).any()}
        if shown:
            assert_allclose(together[[i]], model.predict_view(shown, "y"), atol=1e-10)


def test_the_predicted_view_is_not_looked_at(views):
    model = MultiViewRKM(2).fit(views)
    changed = {**views, "y": views["y"] + 100.0}
    assert_allclose(model.predict_view(changed, "y"), model.predict_view(views, "y"))


def test_a_view_missing_for_all_rows_is_named(views):  # MV-03
    holed = {**views, "y": np.full((60, 3), np.nan)}
    with pytest.raises(ValueError, match="'y'"):
        MultiViewRKM(2, noise_variance="ml").fit(holed)
    with pytest.raises(ValueError, match="'y'"):
        MultiViewRKM(2, noise_variance="ml").fit({**views, "y": None})


def test_number_of_views_is_checked(views):  # MV-06
    model = MultiViewRKM(2).fit(list(views.values()))
    with pytest.raises(ValueError, match="Expected 3 views, got 2"):
        model.transform([views["x"], views["y"]])
    with pytest.raises(ValueError, match="Expected 3 views, got 4"):
        model.transform([*views.values(), None])
    with pytest.raises(ValueError, match="Unknown views"):
        MultiViewRKM(2).fit(views).transform({"x": views["x"], "z": views["y"]})
    with pytest.raises(ValueError, match=r"has 3 features, but MultiViewRKM is expecting 5"):
        model.transform([views["y"], None, None])
    with pytest.raises(ValueError, match="different numbers of rows"):
        model.transform([views["x"], views["y"][:3], None])
    with pytest.raises(ValueError, match="All views are None"):
        model.transform([None, None, None])


def test_missing_views_at_fit_need_an_estimated_noise(views):
    holed = {**views, "y": views["y"].copy()}
    holed["y"][:5] = np.nan
    for noise in (0.0, 0.01):
        with pytest.raises(ValueError, match="'ml' or 'per-view'"):
            MultiViewRKM(2, noise_variance=noise).fit(holed)


def test_a_view_with_a_kernel_is_seen_at_the_means_of_the_cells_it_misses(views):
    holed = {**views, "y": views["y"].copy()}
    holed["y"][4, 1] = np.nan
    kernel = {"x": "linear", "y": "rbf", "w": "linear"}
    model = MultiViewRKM(2, kernel=kernel).fit(holed)
    filled = model._rows(holed).views[1]
    kept = ~np.isnan(holed["y"])
    assert_array_equal(filled[kept], views["y"][kept])
    assert np.isfinite(filled).all()
    assert np.isfinite(model.transform(holed)).all()


@pytest.mark.parametrize("noise", ["ml", "per-view"])
def test_entries_of_a_linear_view_are_missing_one_by_one_as_if_each_were_a_view(views, noise):
    rng = np.random.default_rng(3)
    holed = {name: np.where(rng.random(X.shape) < 0.1, np.nan, X) for name, X in views.items()}
    model = MultiViewRKM(2, noise_variance=noise, tol=1e-9, n_folds=None).fit(holed)
    W, mean = np.vstack(model.loadings_), np.concatenate([part.subspace.mean for part in model._subspace.parts])
    noises = np.repeat(model.noise_variances_, [5, 3, 4])
    table = np.hstack(list(holed.values()))
    posterior, levels = model.posterior(holed), model.score_samples(holed)
    for i in (0, 7, 31):
        seen = ~np.isnan(table[i])
        C = W @ W.T + np.diag(noises)
        r = (table[i] - mean)[seen]
        part = C[np.ix_(seen, seen)]
        assert_allclose(posterior.mean[i], W[seen].T @ np.linalg.solve(part, r), atol=1e-8)
        expected = -0.5 * (seen.sum() * np.log(2 * np.pi) + np.linalg.slogdet(part)[1] + r @ np.linalg.solve(part, r))
        assert_allclose(levels[i], expected, rtol=1e-8)
    assert_allclose(model.log_likelihoods_[-1], levels.mean(), rtol=1e-6)
    assert (np.diff(model.log_likelihoods_) > -1e-9).all()


def test_missing_views_with_one_noise_are_missing_cells_of_ppca(views):
    holed = {**views, "y": views["y"].copy(), "w": views["w"].copy()}
    holed["y"][30:], holed["w"][:20] = np.nan, np.nan
    table, _ = stack_views(holed)
    ppca = PPCA(2, tol=1e-10, max_iter=5000).fit(table)
    model = MultiViewRKM(2, noise_variance="ml", tol=1e-12, max_iter=5000, n_folds=None).fit(holed)
    assert_allclose(model.score(holed), ppca.score(table), rtol=1e-8)
    assert_allclose(model.noise_variances_, ppca.noise_variance_, rtol=1e-4)
    shown = {"x": views["x"], "w": holed["w"]}
    assert_allclose(model.predict_view(shown, "y")[30:], ppca.impute(table)[30:, 5:8], atol=1e-4)


def test_missing_entries_after_a_fit_with_a_given_noise_are_seen_as_the_limit_of_little_noise(views):
    shown = {"x": views["x"].copy(), "w": views["w"]}
    shown["x"][::3, 1] = np.nan
    none, little = (MultiViewRKM(2, noise_variance=noise).fit(views) for noise in (0.0, 1e-9))
    assert_allclose(none.predict_view(shown, "y"), little.predict_view(shown, "y"), atol=1e-5)


def test_without_noise_undetermined_components_are_announced(views):
    model = MultiViewRKM(5, **AC).fit(views)
    with pytest.warns(NumericalWarning, match="determine 3 of the 5 components"):
        found = model.predict_view({"y": views["y"]}, "x")
    assert np.isfinite(found).all()


# ---------------------------------------------------------------- choices


def test_the_flow_chart(views):
    tall = MultiViewRKM(2).fit(views)
    assert tall.algorithm_ == "primal eigendecomposition (AC algorithm 1)"
    assert "12 features for 60 rows" in tall.explain()
    wide = MultiViewRKM(2).fit({name: X[:8] for name, X in views.items()})
    assert wide.algorithm_ == "dual eigendecomposition (AC algorithm 2)"
    kernel = MultiViewRKM(2, kernel="rbf").fit(views)
    assert "dual" in kernel.algorithm_
    assert "kernel only" in kernel.explain()
    assert "Stiefel" in MultiViewRKM(2, solver="stiefel", random_state=0).fit(views).algorithm_
    with pytest.raises(ValueError, match="space='primal' needs explicit features"):
        MultiViewRKM(2, kernel="rbf", space="primal").fit(views)


def test_view_weights(views):  # MV-07
    scaled = {**views, "x": 1e6 * views["x"]}
    plain, balanced = (MultiViewRKM(2, view_weights=w, **AC).fit(scaled) for w in (None, "balanced"))
    assert np.abs(plain.loadings_[1]).max() < 2.0
    balance = [np.square(W).sum() / X.var(axis=0).sum() for W, X in zip(balanced.loadings_, scaled.values())]
    assert min(balance) > 0.9
    numbers = MultiViewRKM(2, view_weights={"x": 1e-12, "y": 1.0, "w": 1.0}, **AC).fit(scaled)
    same = MultiViewRKM(2, **AC).fit(views)
    assert_allclose(numbers.transform(scaled), same.transform(views), atol=1e-8)
    assert_allclose(
        numbers.predict_view({"y": scaled["y"]}, "x"), 1e6 * same.predict_view({"y": views["y"]}, "x"), rtol=1e-6
    )
    for bad in ("heavy", [1.0], [1.0, -1.0, 2.0]):
        with pytest.raises(ValueError, match="view_weights"):
            MultiViewRKM(2, view_weights=bad).fit(views)


def test_per_view_noise_does_not_depend_on_scales(views):
    scaled = {**views, "x": 1e3 * views["x"]}
    a, b = (MultiViewRKM(2, noise_variance="per-view").fit(v) for v in (views, scaled))
    assert_allclose(b.noise_variances_ / a.noise_variances_, [1e6, 1, 1], rtol=1e-6)
    assert_allclose(a.transform(views), b.transform(scaled), atol=1e-6)


def test_integer_weights_equal_repeated_rows(views):
    counts = np.random.default_rng(0).integers(0, 4, 60)
    repeated = {name: np.repeat(X, counts, axis=0) for name, X in views.items()}
    for noise in (0.0, "ml", "per-view"):
        for kernel in ("linear", {"x": "rbf", "y": "linear", "w": "linear"}):
            a = MultiViewRKM(2, kernel=kernel, noise_variance=noise).fit(views, sample_weight=counts)
            b = MultiViewRKM(2, kernel=kernel, noise_variance=noise).fit(repeated)
            shown = {"x": views["x"]}
            assert_allclose(a.predict_view(shown, "y"), b.predict_view(shown, "y"), atol=1e-7)
            assert_allclose(a.eigenvalues_, b.eigenvalues_, rtol=1e-8)


def test_fractions_and_counts_of_components(views):
    model = MultiViewRKM(0.9).fit(views)
    assert model.explained_variance_ratio_.sum() >= 0.9
    assert model.explained_variance_ratio_[:-1].sum() < 0.9
    with pytest.raises(ValueError, match="n_components=13"):
        MultiViewRKM(13).fit(views)
    for bad in (True, -1, 1.5, "many"):
        with pytest.raises(ValueError, match="n_components"):
            MultiViewRKM(bad).fit(views)


def test_a_collapsing_noise_is_bounded_with_a_warning():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = np.sin(X[:, :1]) + 0.3 * rng.standard_normal((80, 1))
    views = {"x": X, "y": y}
    with pytest.warns(NumericalWarning, match="'y'"):
        model = MultiViewRKM(40, kernel={"x": kernels.RBF(0.2), "y": "linear"}, noise_variance="per-view").fit(views)
    assert 0.05 < model.noise_variances_[1] < 1.5


def test_kernels_a_view_and_nested_parameters(views):
    kernel = {"x": kernels.RBF(2.0), "y": kernels.Linear(), "w": kernels.RBF("median")}
    model = MultiViewRKM(2, kernel=kernel, noise_variance="per-view")
    assert model.get_params()["kernel__x__length_scale"] == 2.0
    other = clone(model).set_params(kernel__x__length_scale=3.0)
    assert model.kernel["x"].length_scale == 2.0
    assert other.kernel["x"].length_scale == 3.0
    assert clone(model).set_params(kernel__w=kernels.Linear()).kernel["w"].get_params() == {}
    listed = MultiViewRKM(2, kernel=[kernels.RBF(2.0), "linear", "rbf"]).set_params(kernel__0__length_scale=5.0)
    assert listed.kernel[0].length_scale == 5.0
    with pytest.raises(ValueError, match="has no parameters to set"):
        listed.set_params(kernel__2__length_scale=1.0)
    with pytest.raises(ValueError, match="one per view"):
        MultiViewRKM(2, kernel=["rbf"]).fit(views)
    with pytest.raises(ValueError, match="one kernel per view"):
        MultiViewRKM(2, kernel={"x": "rbf"}).fit(views)


def test_pipeline_and_grid_search(views):
    table, columns = stack_views(views)
    kernel = {"x": kernels.RBF(2.0), "y": "linear", "w": "linear"}
    search = GridSearchCV(
        MultiViewRKM(2, kernel=kernel, views=columns, noise_variance="per-view"),
        {"kernel__x__length_scale": [1.0, 4.0]},
        cv=3,
    )
    assert search.fit(table).best_params_["kernel__x__length_scale"] in (1.0, 4.0)
    piped = make_pipeline(StandardScaler(), MultiViewRKM(2, views=columns)).fit_transform(table)
    assert piped.shape == (60, 2)


def test_feature_maps_and_preimages(views):
    maps = {"x": features.Nystroem(kernels.RBF(3.0), 30, random_state=0), "y": "linear", "w": "rbf"}
    model = MultiViewRKM(8, kernel=maps, noise_variance="per-view").fit(views)
    assert model.loadings_[0].shape == (30, 8)
    assert model.loadings_[2] is None
    back = model.inverse_transform(model.transform(views))
    for name, X in views.items():
        assert np.mean((back[name] - X) ** 2) < 0.4 * X.var()
    for name in ("x", "w"):
        mean, std = model.predict_view(views, name, return_std=True)
        assert mean.shape == std.shape == views[name].shape
        assert 0.8 < np.mean(np.abs(mean - views[name]) < 1.645 * std) < 1.0


def test_linear_views_are_mapped_back_exactly(views):
    Z = np.random.default_rng(0).standard_normal((4, 2))
    model = MultiViewRKM(2, noise_variance="ml").fit(views)
    for found, W, X in zip(model.inverse_transform(Z).values(), model.loadings_, views.values()):
        assert_allclose(found, Z @ W.T + X.mean(axis=0), atol=1e-12)


def test_samples_have_the_moments_of_the_model(views):
    model = MultiViewRKM(2, noise_variance="per-view").fit(views)
    drawn = model.sample(20000, random_state=0)
    W, s2 = model.loadings_[0], model.noise_variances_[0]
    assert_allclose(np.cov(drawn["x"].T), W @ W.T + s2 * np.eye(5), atol=0.1)
    assert_array_equal(model.sample(2, random_state=1)["y"], model.sample(2, random_state=1)["y"])


def test_a_precomputed_view(views):
    K = kernels.RBF(2.0)(views["x"])
    kernel = {"x": "precomputed", "y": "linear"}
    a = MultiViewRKM(3, kernel=kernel, n_folds=None).fit({"x": K, "y": views["y"]})
    b = MultiViewRKM(3, kernel={"x": kernels.RBF(2.0), "y": "linear"}, n_folds=None).fit(
        {"x": views["x"], "y": views["y"]}
    )
    assert_allclose(a.predict_view({"x": K[:5]}, "y"), b.predict_view({"x": views["x"][:5]}, "y"), atol=1e-10)


# ---------------------------------------------------------------- faults


@pytest.mark.parametrize(
    "params",
    [
        {"space": "both"},
        {"solver": "magic"},
        {"rotate": "yes"},
        {"noise_variance": "shared"},
        {"noise_variance": -1.0},
        {"n_folds": 1},
        {"tol": -1.0},
        {"max_iter": 0},
        {"random_state": -1},
        {"kernel": "no such"},
        {"preimage": "no such"},
    ],
)
def test_bad_parameters_are_refused(views, params):
    with pytest.raises(ValueError, match=next(iter(params))):
        MultiViewRKM(2, **params).fit(views)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_refused_everywhere(views, value):
    bad = {**views, "y": views["y"].copy()}
    bad["y"][1, 1] = value
    model = MultiViewRKM(2, noise_variance="ml").fit(views)
    for act in (MultiViewRKM(2).fit, model.transform, lambda X: model.predict_view(X, "x")):
        with pytest.raises(ValueError, match="infinity"):
            act(bad)


def test_a_failed_fit_leaves_the_first_one(views):
    model = MultiViewRKM(2).fit(views)
    before = model.transform(views)
    with pytest.raises(ValueError, match="different numbers of rows"):
        model.fit({"x": views["x"], "y": views["y"][:3]})
    assert_array_equal(model.transform(views), before)
    with pytest.raises(NotFittedError):
        MultiViewRKM().transform(views)


def test_zero_noise_has_no_density(views):
    model = MultiViewRKM(2, **AC).fit(views)
    with pytest.raises(ValueError, match="residual"):
        model.score_samples(views)
    with pytest.raises(ValueError, match="residual"):
        model.mahalanobis(views)
    assert (model.residual(views) >= 0).all()


def test_constant_views_and_tiny_data():
    rng = np.random.default_rng(0)
    views = {"x": rng.standard_normal((10, 3)), "flat": np.full((10, 2), 5.0)}
    for options in ({}, {"noise_variance": "ml"}, {"noise_variance": "per-view"}, {"view_weights": "balanced"}):
        model = MultiViewRKM(1, **options).fit(views)
        assert_allclose(model.predict_view({"x": views["x"]}, "flat"), 5.0)
        assert np.isfinite(model.transform(views)).all()
    for n in (2, 3):
        small = {name: X[:n] for name, X in views.items()}
        assert np.isfinite(MultiViewRKM(1).fit(small).transform(small)).all()


def test_float32_in_float32_out(views):
    single = {name: X.astype(np.float32) for name, X in views.items()}
    model = MultiViewRKM(2, noise_variance="per-view").fit(single)
    assert model.transform(single).dtype == np.float32
    exact = MultiViewRKM(2, noise_variance="per-view").fit(views)
    assert_allclose(model.transform(single), exact.transform(views), atol=1e-4)


def test_clean_data_raise_no_warning_and_models_can_be_saved(views, tmp_path):
    model = MultiViewRKM(2, kernel={"x": "rbf", "y": "linear", "w": "linear"}, noise_variance="per-view").fit(views)
    gramian.save(model, tmp_path / "model.gramian")
    again = gramian.load(tmp_path / "model.gramian")
    assert_array_equal(again.transform(views), model.transform(views))
    assert_array_equal(again.predict_view({"x": views["x"]}, "y"), model.predict_view({"x": views["x"]}, "y"))


def test_the_model_keeps_its_own_copy_of_the_data(views):
    X = views["x"].copy()
    model = MultiViewRKM(2, kernel="rbf", noise_variance="per-view").fit({"x": X, "y": views["y"]})
    before = model.predict_view({"x": views["x"]}, "y")
    X[:] = 0.0
    assert_array_equal(model.predict_view({"x": views["x"]}, "y"), before)


# ---------------------------------------------------------------- defaults


@pytest.mark.parametrize("noise", [0.0, "ml", "per-view"])
def test_auto_finds_the_factors_and_keeps_its_evidence(views, noise):
    model = MultiViewRKM(noise_variance=noise).fit(views)
    assert model.n_components_ == model.selection_.chosen == 2
    assert model.selection_.chosen in model.selection_.candidates
    assert model.selection_.reason in model.explain()
    assert not hasattr(MultiViewRKM(2, noise_variance=noise).fit(views), "selection_")


def test_auto_of_a_single_view(views):
    assert MultiViewRKM(noise_variance="ml").fit(views["x"]).n_components_ == PPCA().fit(views["x"]).n_components_
    exact = MultiViewRKM(noise_variance=0.0).fit(views["x"])
    assert exact.explained_variance_ratio_.sum() >= 0.95
    assert "95 %" in exact.selection_.reason
    given = MultiViewRKM(noise_variance=0.05).fit(views["x"])
    assert given.n_components_ == MultiViewRKM(None, noise_variance=0.05).fit(views["x"]).n_components_


def test_auto_is_never_zero_and_noise_is_never_believed():
    rng = np.random.default_rng(0)
    noise = {"a": rng.standard_normal((50, 4)), "b": rng.standard_normal((50, 3))}
    model = MultiViewRKM().fit(noise)
    assert model.n_components_ == 1
    assert_allclose(model.predict_view({"a": noise["a"]}, "b"), [noise["b"].mean(axis=0)] * 50, atol=0.2)


def test_order_and_repetition_of_rows_change_no_choice(views):
    order = np.random.default_rng(0).permutation(60)
    a = MultiViewRKM().fit(views)
    b = MultiViewRKM().fit({name: X[order] for name, X in views.items()})
    assert_allclose(a.selection_.scores, b.selection_.scores, rtol=1e-9)
    for one, two in zip(a.trusts_, b.trusts_):
        assert_allclose(one[2], two[2], rtol=1e-9)
        assert_allclose(one[3], two[3], rtol=1e-7)


def test_max_iter_of_the_noises_is_honoured(views):
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = MultiViewRKM(3, max_iter=2, tol=1e-12).fit(views)
    assert model.n_iter_ == 2
    assert not model.converged_


@pytest.mark.filterwarnings("error")
def test_a_constant_view_warns_of_nothing(views):
    model = MultiViewRKM(2).fit({**views, "flat": np.full((60, 2), 3.0)})
    assert model.noise_variances_[-1] == 0.0
    assert_allclose(model.predict_view({"x": views["x"]}, "flat"), 3.0)


# ---------------------------------------------------------------- every view has deviations and draws


class Doubling(BaseEstimator):
    """A feature map with its own way back."""

    def fit(self, X):
        self.shift_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return 2.0 * (np.asarray(X) - self.shift_)

    def inverse_transform(self, F):
        return np.asarray(F) / 2.0 + self.shift_


def test_a_map_with_an_inverse_is_decoded_by_it_and_keeps_no_inputs(views):
    plain = MultiViewRKM(2).fit(views)
    mapped = MultiViewRKM(2, kernel={"x": Doubling(), "y": Doubling(), "w": "linear"}).fit(views)
    shown = {"x": views["x"]}
    for found, expected in zip(
        mapped.predict_view(shown, "y", return_std=True), plain.predict_view(shown, "y", return_std=True)
    ):
        assert_allclose(found, expected, atol=1e-6)
    assert mapped.preimages_ == [None] * 3
    kept = [array for part in mapped._subspace.parts[:2] for array in vars(part.subspace.primal).values()]
    largest = max(array.size for array in kept if array is not None)
    assert largest <= 2 * 5  # axes and means alone: nothing has a row per training row


@pytest.mark.parametrize("kernel", ["linear", "rbf", Doubling()], ids=["linear", "kernel", "map"])
@pytest.mark.parametrize("n_folds", [None, 5])
def test_draws_follow_the_law_of_the_deviations(views, kernel, n_folds):
    model = MultiViewRKM(2, kernel={"x": "linear", "y": kernel, "w": "linear"}, n_folds=n_folds).fit(views)
    shown = {"x": views["x"][:10]}
    mean, std = model.predict_view(shown, "y", return_std=True)
    draws = model.predict_view(shown, "y", n_draws=2000, random_state=0)
    assert draws.shape == (2000, 10, 3)
    inside = (np.abs(draws - mean) < 1.645 * std).mean()
    assert 0.85 < inside < 0.95
    assert (np.abs(mean - views["y"][:10]) < 1.645 * std).mean() > 0.6


def test_impute_fills_entries_and_whole_views_and_leaves_the_rest(views):
    table, columns = stack_views(views)
    holed = table.copy()
    holed[3, 1], holed[7, 5:8], holed[9, :] = np.nan, np.nan, np.nan
    model = MultiViewRKM(2, views=columns).fit(table)
    filled, std = model.impute(holed, return_std=True)
    seen = ~np.isnan(holed)
    assert_array_equal(filled[seen], holed[seen])
    assert_array_equal(std == 0, seen)
    assert np.abs(filled - table)[[3, 7]].max() < 0.5
    assert_allclose(filled[9], table.mean(axis=0), atol=1e-6)
    whole = model.predict_view(holed, "y", return_std=True)
    assert_allclose([filled[7, 5:8], std[7, 5:8]], [part[7] for part in whole])
    frame = pd.DataFrame(holed, columns=[f"c{i}" for i in range(12)], index=np.arange(60) + 5)
    with pytest.warns(UserWarning, match="feature names"):
        assert list(model.impute(frame).index) == list(frame.index)


@pytest.mark.filterwarnings("error")
def test_auto_with_holes_finds_the_factors_and_calibrates_on_the_rows_that_show_everything(views):
    holed = {name: X.copy() for name, X in views.items()}
    holed["y"][40:], holed["x"][3, 1] = np.nan, np.nan
    model = MultiViewRKM().fit(holed)
    assert model.n_components_ == model.selection_.chosen == 2
    assert len(model.trusts_) == 9
    mean, std = model.predict_view({"x": views["x"][40:]}, "y", return_std=True)
    assert 0.75 < (np.abs(mean - views["y"][40:]) < 1.645 * std).mean() <= 1.0


def test_the_only_view_is_predicted_from_nothing_by_its_mean():
    X = np.random.default_rng(0).normal([1.0, 2.0, 3.0], size=(40, 3))
    model = MultiViewRKM(2, noise_variance="ml").fit([X])
    np.testing.assert_allclose(model.predict_view([X[:5]], 0), np.tile(X.mean(axis=0), (5, 1)), atol=1e-10)
    assert model.predict_view([X[:5].astype(np.float32)], 0).dtype == np.float32


@pytest.mark.parametrize("unit", [1e-140, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("views", [None, {"a": [0, 1, 2], "b": [3, 4, 5]}], ids=["one view", "two views"])
def test_views_with_holes_that_share_a_noise_of_zero_are_rebuilt_exactly_in_any_unit(views, unit):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 6))
    table = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    with pytest.warns(NumericalWarning, match="exactly 0.0"):
        whole = MultiViewRKM(2, views=views, kernel="linear", noise_variance="ml").fit(unit * X)
    with pytest.warns(NumericalWarning, match="exactly 0.0"):
        model = MultiViewRKM(2, views=views, kernel="linear", noise_variance="ml").fit(unit * table)
    rebuilt = np.hstack([np.asarray(part) for part in _parts(model.reconstruct(unit * table))])
    assert_allclose(rebuilt / unit, X, atol=1e-9)
    assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=1e-6)
    assert_allclose(model.transform(unit * X), whole.transform(unit * X), atol=1e-6)
    with pytest.raises(ValueError, match="needs a positive noise variance"):
        model.score_samples(unit * table)


def _parts(rebuilt):
    return rebuilt.values() if isinstance(rebuilt, dict) else rebuilt if isinstance(rebuilt, list) else [rebuilt]


@pytest.mark.parametrize("as_table", [False, True], ids=["frames", "one frame"])
def test_a_predicted_view_keeps_names_and_index(as_table, tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    z = rng.standard_normal((60, 2))
    left = pd.DataFrame(z @ rng.standard_normal((2, 3)), columns=["a", "b", "c"], index=[f"r{i}" for i in range(60)])
    right = pd.DataFrame(z @ rng.standard_normal((2, 2)) + 0.1, columns=["x", "y"], index=left.index)
    whole = pd.concat([left, right], axis=1)
    noisy = whole + 0.1 * rng.standard_normal(whole.shape)
    views = {"left": ["a", "b", "c"], "right": ["x", "y"]}
    if as_table:
        X, model = noisy, MultiViewRKM(2, views=views).fit(noisy)
    else:
        X = {name: noisy[columns] for name, columns in views.items()}
        model = MultiViewRKM(2).fit({"left": X["left"], "right": X["right"].sample(frac=1, random_state=0)})
    plain = MultiViewRKM(2).fit({name: noisy[columns].to_numpy() for name, columns in views.items()})
    expected = plain.predict_view({"left": noisy[views["left"]].to_numpy()}, "right")
    gramian.save(model, tmp_path / "views.model")
    for fitted in (model, gramian.load(tmp_path / "views.model")):
        mean, std = fitted.predict_view(X, "right", return_std=True)
        for frame in (mean, std, fitted.predict_view(X, "right")):
            assert list(frame.columns) == ["x", "y"]
            assert frame.index.equals(noisy.index)
        assert_allclose(mean, expected, rtol=1e-6, atol=1e-9)
    if not as_table:
        holed = {"left": X["left"], "right": X["right"].mask(rng.random(X["right"].shape) < 0.1)}
        full, std = model.impute(holed, return_std=True)
        assert list(full["right"].columns) == list(std["right"].columns) == ["x", "y"]
        assert full["right"].index.equals(noisy.index)
        assert_allclose(full["right"].where(holed["right"].notna()), holed["right"])
