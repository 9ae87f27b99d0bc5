"""Laws of columns in LatentImputer: margins, limits of detection, known errors."""

import numpy as np
import pytest

import gramian
from gramian import PPCA, LatentImputer
from gramian.evidence.margins import MarginTrial
from gramian.policy import LOOK

pd = pytest.importorskip("pandas")


def skewed(seed=0, n=250):
    """Six columns of two factors; the first is log-normal, the second a count with many zeros."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, 6)) + 0.4 * rng.standard_normal((n, 6))
    X[:, 0] = np.exp(1.2 * X[:, 0] / X[:, 0].std())
    X[:, 1] = np.maximum(0, np.round(np.exp(X[:, 1] / X[:, 1].std()) - 1))
    return X, np.where(rng.random(X.shape) < 0.15, np.nan, X)


def interval_score(model, X, holed, j, level=0.9):
    lower, upper = (np.asarray(end)[:, j] for end in model.interval(holed, level))
    at = np.isnan(holed[:, j])
    missed = np.maximum(lower - X[:, j], 0) + np.maximum(X[:, j] - upper, 0)
    return float((upper - lower + 2 / (1 - level) * missed)[at].mean())


def test_a_log_normal_column_gets_a_law_of_its_own_and_better_intervals():
    X, holed = skewed()
    own, plain = (LatentImputer(margins=margins).fit(holed) for margins in ("auto", None))
    assert own._margins.columns[0].kind in ("log", "scores")
    assert interval_score(own, X, holed, 0) < 0.8 * interval_score(plain, X, holed, 0)
    filled = own.transform(holed)
    np.testing.assert_array_equal(filled[~np.isnan(holed)], holed[~np.isnan(holed)])


def test_normal_columns_keep_the_line():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 5)) + 0.5 * rng.standard_normal((200, 5))
    holed = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    own, plain = (LatentImputer(margins=margins).fit(holed) for margins in ("auto", None))
    np.testing.assert_array_equal(own.transform(holed), plain.transform(holed))


def test_laws_that_could_not_be_taken_are_not_tried(monkeypatch):
    """Too few hidden cells to judge a column by: nothing is fitted for it."""
    _, holed = skewed(n=LOOK.fewest + 5)
    monkeypatch.setattr(MarginTrial, "_losses", lambda *_: pytest.fail("a law was tried"))
    assert LatentImputer(margins="auto").fit(holed)._margins is None


def test_the_mean_of_a_filled_cell_is_the_mean_of_its_draws_and_draws_are_possible():
    _, holed = skewed()
    model = LatentImputer(margins="auto").fit(holed)
    told = model._told(holed)
    mean, std = model._law(told)
    rng = np.random.default_rng(0)
    at = np.isnan(holed[:, 0])
    drawn = model._margins.columns[0].back(mean[at, :1] + std[at, :1] * rng.standard_normal((at.sum(), 20_000)))
    np.testing.assert_allclose(model.impute(holed)[at, 0], np.maximum(drawn, 0).mean(axis=1), rtol=0.1)
    for table in model.draws(holed, 3, random_state=0):
        assert (table[:, :2] >= 0).all()
        assert (table[:, 1] % 1 == 0).all()


def test_frames_have_margins_too_and_model_files_keep_them(tmp_path):
    _, holed = skewed()
    frame = pd.DataFrame(holed, columns=list("abcdef")).assign(kind=np.where(np.arange(len(holed)) % 3, "x", "y"))
    model = LatentImputer(margins="auto").fit(frame)
    assert any(margin.kind != "identity" for margin in model._margins.columns)
    gramian.save(model, tmp_path / "imputer.gramian")
    pd.testing.assert_frame_equal(gramian.load(tmp_path / "imputer.gramian").transform(frame), model.transform(frame))
    assert (model.transform(frame)["a"] > 0).all()


# ---------------------------------------------------------------- limits of detection


def assay(limit=-0.5, n=300, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 1)) @ np.array([[1.0, 0.9, -1.1, 0.8]]) + 0.4 * rng.standard_normal((n, 4))
    return X, X[:, 0] < limit, limit


@pytest.mark.parametrize("told", ["limit", "blank", "half"])
def test_cells_below_a_limit_are_filled_below_it_and_better_than_by_the_limit(told):
    X, below, limit = assay()
    shown = X.copy()
    shown[below, 0] = {"limit": limit, "blank": np.nan, "half": limit - 1.0}[told]
    model = LatentImputer(censored={0: limit}).fit(shown)
    filled = model.transform(shown)
    assert (filled[below, 0] <= limit).all()
    np.testing.assert_array_equal(filled[~below], X[~below])
    error = np.mean((filled - X)[below, 0] ** 2)
    assert error < 0.5 * np.mean((limit - X)[below, 0] ** 2)
    assert (model.interval(shown)[1][below, 0] <= limit).all()
    assert all((table[below, 0] <= limit).all() for table in model.draws(shown, 2, random_state=0))
    spread = model.impute(shown, return_std=True)[1]
    assert (spread[below, 0] > 0).all()
    assert (spread[~below] == 0).all()


def test_concentrations_below_a_limit_are_not_filled_with_nothing():
    rng = np.random.default_rng(0)
    truth = np.exp(rng.standard_normal((200, 1)) + 0.3 * rng.standard_normal((200, 3)))
    table = truth.copy()
    below = truth[:, 0] < 0.5
    table[below, 0] = 0.5
    model = LatentImputer(censored={0: 0.5}).fit(table)
    filled = model.transform(table)[below, 0]
    assert (filled > 0).all()
    assert (filled <= 0.5).all()
    error = np.sqrt(np.square(filled - truth[below, 0]).mean())
    assert error < 1.05 * np.sqrt(np.square(0.25 - truth[below, 0]).mean())
    drawn = np.array([each[below, 0] for each in model.draws(table, 5, random_state=0)])
    assert ((drawn > 0) & (drawn <= 0.5)).all()


def test_an_infinite_limit_says_nothing():
    X, below, _ = assay()
    X[below, 0] = np.nan
    one, other = (LatentImputer(censored=censored).fit(X) for censored in (None, {0: np.inf}))
    np.testing.assert_array_equal(one.transform(X), other.transform(X))


def test_limits_by_name_in_a_frame_with_categories():
    X, below, limit = assay()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(X[:, 1] > 0, "hi", "lo"))
    frame.loc[below, "a"] = limit
    model = LatentImputer(censored={"a": limit}).fit(frame)
    filled = model.transform(frame)
    assert (filled["a"][below] < limit).all()
    assert list(filled.columns) == list(frame.columns)
    with pytest.raises(ValueError, match="not one of the numbers"):
        LatentImputer(censored={"kind": 1.0}).fit(frame)
    with pytest.raises(ValueError, match="must be a number"):
        LatentImputer(censored={"a": "low"}).fit(frame)


# ---------------------------------------------------------------- known errors


def test_known_errors_of_cells_are_used_and_zeros_change_nothing():
    X, _, _ = assay()
    rng = np.random.default_rng(5)
    std = np.where(rng.random(X.shape) < 0.5, 2.0, 0.0)
    shown = np.where(rng.random(X.shape) < 0.15, np.nan, X + std * rng.standard_normal(X.shape))
    plain = LatentImputer(robust=False).fit(shown)
    zeros = LatentImputer(robust=False).fit(shown, X_std=np.zeros(X.shape))
    np.testing.assert_array_equal(plain.transform(shown), zeros.impute(shown, X_std=np.zeros(X.shape)))
    known = LatentImputer().fit(shown, X_std=std)
    at = np.isnan(shown)
    errors = [np.mean((filled - X)[at] ** 2) for filled in (known.impute(shown, X_std=std), plain.transform(shown))]
    assert errors[0] < 0.8 * errors[1]
    with pytest.raises(ValueError, match="need PPCA"):
        LatentImputer(gramian.PPCAMixture(2)).fit(shown, X_std=std)


def test_known_errors_with_the_columns_in_another_order_are_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 3)), columns=list("abc"))
    errors = frame * 0.0 + 0.1
    LatentImputer().fit(frame, X_std=errors)
    with pytest.raises(ValueError, match="in their order: a, b, c"):
        LatentImputer().fit(frame, X_std=errors[list("cba")])


def test_known_errors_of_a_frame_are_per_column_and_a_noise_per_column_goes_with_them():
    X, _, _ = assay()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(X[:, 1] > 0, "hi", "lo"))
    frame.loc[::7, "b"] = np.nan
    std = pd.DataFrame(0.0, index=frame.index, columns=frame.columns)
    std["a"] = 0.5
    model = LatentImputer().fit(frame, X_std=std)
    assert model.impute(frame, X_std=std).notna().all().all()
    array = np.where(np.isnan(frame[list("abcd")]), np.nan, X)
    per_column = LatentImputer(PPCA(1, noise_variance="per-column")).fit(array, X_std=std[list("abcd")])
    assert per_column.estimator_.noise_variance_.shape == (4,)
