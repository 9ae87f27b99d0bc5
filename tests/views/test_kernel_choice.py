"""`MultiViewRKM(kernel="auto")`: curves where held-out views want them, straight lines where they do not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression

from gramian import MultiViewRKM, load, save
from gramian.features import WithInputs


def curved_views(n=150, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    noise = 0.1 * rng.standard_normal((n, 3))
    return {"x": x, "y": np.column_stack([x[:, 0] ** 2, np.sin(2 * x[:, 1]), x[:, 0]]) + noise}


def straight_views(n=150, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    return {
        name: z @ rng.standard_normal((2, d)) + 0.5 * rng.standard_normal((n, d)) for name, d in (("x", 4), ("y", 3))
    }


@pytest.fixture(scope="module")
def model():
    return MultiViewRKM(kernel="auto").fit(curved_views())


def test_curves_are_found_and_beat_the_best_straight_line(model):
    train, test = curved_views(), curved_views(seed=1)
    line = LinearRegression().fit(train["x"], train["y"]).predict(test["x"])
    error = np.square(model.predict_view({"x": test["x"]}, "y") - test["y"]).mean()
    assert error < 0.2 * np.square(line - test["y"]).mean()
    assert all(isinstance(spec, WithInputs) for spec in model.selection_.chosen["kernel"].values())
    assert "kernel" in model.explain()


def test_what_was_chosen_is_what_a_user_can_give(model):
    train, test = curved_views(), curved_views(seed=1)
    given = MultiViewRKM(kernel=model.selection_.chosen["kernel"]).fit(train)
    shown = {"x": test["x"]}
    assert_allclose(given.predict_view(shown, "y"), model.predict_view(shown, "y"), rtol=1e-10, atol=1e-12)


def test_straight_views_stay_linear():
    views = straight_views()
    model = MultiViewRKM(kernel="auto").fit(views)
    assert model.selection_.chosen == {"kernel": "linear"}
    plain = MultiViewRKM().fit(views)
    assert_allclose(model.predict_view({"x": views["x"]}, "y"), plain.predict_view({"x": views["x"]}, "y"))


def test_evidence_follows_the_losses(model):
    assert model.evidence_.losses.shape == (4, 5)
    assert model.evidence_.choose() == model.selection_.chosen


def test_intervals_of_the_chosen_model_cover(model):
    test = curved_views(400, seed=1)
    mean, std = model.predict_view({"x": test["x"]}, "y", return_std=True)
    assert 0.85 < (np.abs(mean - test["y"]) <= 1.645 * std).mean() < 0.96


@pytest.mark.parametrize("kernel", [["auto", "linear"], {"x": "auto", "y": "linear"}])
def test_one_view_may_be_left_open(kernel):
    views = curved_views()
    chosen = MultiViewRKM(kernel=kernel).fit(views).selection_.chosen["kernel"]
    assert isinstance(chosen["x"], WithInputs)
    assert chosen["y"] == "linear"


def test_batches_choose_as_rows_in_memory():
    views = curved_views(2400)
    table = np.hstack(list(views.values()))
    model = MultiViewRKM(kernel="auto", views={"x": [0, 1], "y": [2, 3, 4]})
    whole = model.fit(table).predict_view({"x": table[:50, :2]}, "y")
    parts = model.fit_batches([table[:900], table[900:]]).predict_view({"x": table[:50, :2]}, "y")
    assert_allclose(parts, whole, rtol=1e-7, atol=1e-8)


def test_rows_may_miss_views_and_cells():
    views = curved_views()
    rng = np.random.default_rng(2)
    views["y"][rng.random(150) < 0.1] = np.nan
    views["x"][rng.random(150) < 0.05, 1] = np.nan
    model = MultiViewRKM(kernel="auto", tol=1e-3).fit(views)
    assert np.isfinite(model.predict_view({"x": views["x"]}, "y")).all()


def test_a_single_view_and_few_rows_stay_linear():
    assert MultiViewRKM(kernel="auto").fit(curved_views()["y"]).selection_.chosen == {"kernel": "linear"}
    few = {name: view[:6] for name, view in curved_views().items()}
    assert MultiViewRKM(1, kernel="auto").fit(few).selection_.chosen == {"kernel": "linear"}


def test_given_noise_is_kept():
    model = MultiViewRKM(3, kernel="auto", noise_variance=0.0).fit(curved_views())
    assert_allclose(model.noise_variances_, 0.0)


def test_saved_and_loaded(model, tmp_path):
    views = curved_views()
    save(model, tmp_path / "views.gramian")
    again = load(tmp_path / "views.gramian")
    assert_allclose(again.predict_view({"x": views["x"]}, "y"), model.predict_view({"x": views["x"]}, "y"))
