"""MultiViewRKM.calibrate: trusts by held-out error change only the questions asked, and for the better."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

import gramian
from gramian import MultiViewRKM, features, kernels
from gramian.views.answers import drawn_back


def made(n, seed):
    """A target that three factors drive, and two views that show them under much noise of their own."""
    mixing = np.random.default_rng(0)
    maps = {name: mixing.standard_normal((3, d)) for name, d in (("a", 40), ("b", 30), ("y", 4))}
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 3))
    noises = {"a": 3.0, "b": 3.0, "y": 0.3}
    return {name: z @ W + noises[name] * rng.standard_normal((n, W.shape[1])) for name, W in maps.items()}


@pytest.fixture(scope="module")
def train():
    return made(100, 1)


@pytest.fixture(scope="module")
def test():
    return made(400, 2)


def error(model, views, given, view="y"):
    return float(np.square(model.predict_view({name: views[name] for name in given}, view) - views[view]).mean())


def test_views_of_understated_noise_predict_much_better_once_calibrated(train, test):
    model = MultiViewRKM(None, noise_variance=0.05).fit(train)  # the views have 9
    plain = error(model, test, "ab")
    model.calibrate(train)
    assert next(trust for given, view, trust, _ in model.trusts_ if view == "y" and len(given) == 2) < 0.5
    assert error(model, test, "ab") < 0.7 * plain


@pytest.mark.parametrize("noise", ["ml", "per-view"])
@pytest.mark.filterwarnings("ignore::gramian.NumericalWarning")
def test_an_estimated_noise_is_optimistic_too(train, test, noise):
    model = MultiViewRKM(45, noise_variance=noise, n_folds=None).fit(train)
    plain = error(model, test, "ab")
    model.calibrate(train)
    assert next(trust for given, view, trust, _ in model.trusts_ if view == "y" and len(given) == 2) < 0.5
    assert error(model, test, "ab") < plain


def test_only_the_questions_asked_change(train, test):
    model, plain = (MultiViewRKM(45, noise_variance="ml", n_folds=None).fit(train) for _ in range(2))
    model.calibrate(train, [(("a",), "y")])
    assert [entry[:2] for entry in model.trusts_] == [(["a"], "y")]
    assert_array_equal(model.transform(test), plain.transform(test))
    assert_array_equal(model.score_samples(test), plain.score_samples(test))
    for given, view in (("ab", "y"), ("b", "y"), ("ay", "b")):
        shown = {name: test[name] for name in given}
        for found, expected in zip(
            model.predict_view(shown, view, return_std=True),
            plain.predict_view(shown, view, return_std=True),
            strict=True,
        ):
            assert_array_equal(found, expected)
    assert error(model, test, "a") < error(plain, test, "a")


def test_rows_that_show_other_views_are_answered_as_if_alone(train, test):
    model = (
        MultiViewRKM(45, noise_variance="ml", n_folds=None)
        .fit(train)
        .calibrate(train, [(["a", "b"], "y"), (["a"], "y")])
    )
    shown = {"a": test["a"][:20], "b": test["b"][:20].copy()}
    shown["b"][::2] = np.nan
    mean, std = model.predict_view(shown, "y", return_std=True)
    for rows, given in ((slice(0, 20, 2), "a"), (slice(1, 20, 2), "ab")):
        alone = model.predict_view({name: shown[name][rows] for name in given}, "y", return_std=True)
        assert_allclose(mean[rows], alone[0], rtol=1e-10, atol=1e-12)
        assert_allclose(std[rows], alone[1])


def test_with_all_components_it_is_ridge_regression(train, test):
    model = MultiViewRKM(None, noise_variance=1e-3).fit(train).calibrate(train, [(("a", "b"), "y")])
    trust = model.trusts_[0][2]
    X, X_test = (np.hstack([views["a"], views["b"]]) for views in (train, test))
    ridge = Ridge(alpha=len(X) * 1e-3 / trust).fit(X, train["y"])
    found = model.predict_view({"a": test["a"], "b": test["b"]}, "y")
    assert model.n_components_ == 74
    assert_allclose(found, ridge.predict(X_test), atol=2e-3 * np.abs(found).max())


@pytest.mark.parametrize("kernel", [kernels.RBF(20.0), features.RandomFourier(kernels.RBF(20.0), 300, random_state=0)])
def test_views_with_kernels_and_feature_maps_are_trusted_too(train, test, kernel):
    model = MultiViewRKM(60, kernel={"a": kernel, "b": kernel, "y": "linear"}, noise_variance=1e-4).fit(train)
    plain = error(model, test, "ab")
    model.calibrate(train, [(("a", "b"), "y")])
    assert error(model, test, "ab") < plain


def test_intervals_cover_what_they_say(train, test):
    model = MultiViewRKM(45, noise_variance="ml", n_folds=None).fit(train).calibrate(train)
    mean, std = model.predict_view({"a": test["a"], "b": test["b"]}, "y", return_std=True)
    assert 0.85 < (np.abs(mean - test["y"]) < 1.645 * std).mean() < 0.95


def test_rows_that_miss_a_view_are_left_out(train):
    holed = {name: X.copy() for name, X in train.items()}
    holed["b"][:30] = np.nan
    model = MultiViewRKM(5, noise_variance="per-view").fit(holed)
    some = model.calibrate(holed, [("a", "y")]).trusts_
    whole = model.calibrate({name: X[30:] for name, X in train.items()}, [("a", "y")]).trusts_
    assert some[0][2] == whole[0][2]


def test_a_model_file_keeps_the_trusts_and_a_new_fit_drops_them(train, test, tmp_path):
    model = MultiViewRKM(20, noise_variance="ml", n_folds=None).fit(train).calibrate(train)
    gramian.save(model, tmp_path / "model.gramian")
    again = gramian.load(tmp_path / "model.gramian")
    shown = {"a": test["a"], "b": test["b"]}
    for found, expected in zip(
        again.predict_view(shown, "y", return_std=True), model.predict_view(shown, "y", return_std=True), strict=True
    ):
        assert_array_equal(found, expected)
    assert model.fit(train).trusts_ == []


@pytest.mark.parametrize(
    ("options", "questions", "rows", "words"),
    [
        ({"noise_variance": 0.0}, None, 100, "noise_variance is 0"),
        ({}, [(("a", "y"), "y")], 100, "from other views"),
        ({}, [((), "y")], 100, "from other views"),
        ({}, [("a", "nobody")], 100, "not one of the views"),
        ({}, ["y"], 100, "not a pair"),
        ({}, None, 8, "at least 10 distinct rows"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(train, options, questions, rows, words):
    model = MultiViewRKM(**{"n_components": 2, "noise_variance": "ml"} | options).fit(train)
    with pytest.raises(ValueError, match=words):
        model.calibrate({name: X[:rows] for name, X in train.items()}, questions)
    with pytest.raises(ValueError, match="n_folds"):
        model.calibrate(train, n_folds=1)


def test_with_all_rows_in_the_ridge_is_smaller_by_the_share_that_was_kept(train, monkeypatch):
    import gramian.views.trusts as trusts

    monkeypatch.setattr(trusts, "choose_ridge", lambda folds, question, q, noise: 4.0)
    model = MultiViewRKM(3, n_folds=5).fit(train)
    assert_allclose([trust for _, _, trust, _ in model.trusts_], 1.0 / (0.8 * 4.0))


def test_fit_asks_every_question_of_three_views(train):
    asked = {(tuple(given), view) for given, view, *_ in MultiViewRKM(3).fit(train).trusts_}
    assert len(asked) == 9
    assert (("a",), "y") in asked
    assert (("a", "b"), "y") in asked


def test_a_noise_that_was_given_is_taken_at_its_word(train):
    assert MultiViewRKM(3, noise_variance=0.5).fit(train).trusts_ == []
    assert MultiViewRKM(3, noise_variance=0.0).fit(train).trusts_ == []


def test_sets_that_were_not_asked_take_the_trust_of_the_set_most_like_them(train):
    from gramian.views.answers import nearest_trust

    asked = [(["a"], "y", 0.1, None), (["a", "b", "c"], "y", 0.5, None), (["b"], "y", 0.2, None)]
    assert nearest_trust(asked, ["b"], "y", 4)[2] == 0.2
    assert nearest_trust(asked, ["a", "c"], "y", 4)[2] == 0.5
    assert nearest_trust(asked, ["a", "c"], "z", 4) is None
    assert nearest_trust(asked[:1], ["a", "c"], "y", 4) is None  # a list of a user's own


@pytest.mark.parametrize("n", [20, 60])
def test_default_intervals_cover_what_they_say_at_small_samples(n):
    rng = np.random.default_rng(n)
    inside = []
    for _ in range(8):
        z, mix = rng.standard_normal((n + 100, 2)), [rng.standard_normal((2, d)) for d in (5, 4)]
        left, right = (z @ W + 0.5 * rng.standard_normal((n + 100, W.shape[1])) for W in mix)
        model = MultiViewRKM().fit({"l": left[:n], "r": right[:n]})
        mean, std = model.predict_view({"l": left[n:]}, "r", return_std=True)
        inside.append((np.abs(mean - right[n:]) < 1.645 * std).mean())
    assert 0.84 < np.mean(inside) < 0.95


def test_rows_beyond_all_held_out_rows_are_drawn_back_and_told_wide(train):
    model = MultiViewRKM(random_state=0).fit(train)
    mean = {name: X.mean(axis=0) for name, X in train.items()}
    far = {name: mean[name] + 1000.0 * (train[name][:1] - mean[name]) for name in ("a", "b")}
    near, _ = model.predict_view({name: train[name] for name in ("a", "b")}, "y", return_std=True)
    found, std = model.predict_view(far, "y", return_std=True)
    assert np.abs(found - mean["y"]).max() < 3 * np.abs(near - mean["y"]).max()
    plug_in = model.predict_view(far, "y", small_sample=False)
    assert np.abs(plug_in - mean["y"]).max() > 100 * np.abs(near - mean["y"]).max()  # the law itself goes on
    assert (np.abs(found - plug_in) <= 1.01 * std).all()


def test_a_prediction_is_the_same_whether_its_deviation_is_asked_for_or_not(train):
    model = MultiViewRKM(random_state=0).fit(train)
    for name in train:
        far = {other: 50.0 * X[:5] for other, X in train.items() if other != name}
        assert_allclose(model.predict_view(far, name), model.predict_view(far, name, return_std=True)[0])


def test_latents_within_the_reach_stay_and_beyond_it_return_to_zero():
    latents = np.array([[3.0, 4.0], [0.6, 0.8], [0.0, 0.0], [300.0, 400.0]])
    assert_allclose(drawn_back(latents, 2.5), [[0.75, 1.0], [0.6, 0.8], [0.0, 0.0], [0.0075, 0.01]])
