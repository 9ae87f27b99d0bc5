"""MultiViewRKM: any cut of the rows, in any order, in batches or on Dask, gives the model of the whole table, choices included."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from gramian import MultiViewRKM, load, save
from gramian.features import FeatureMap, Nystroem, RandomFourier
from gramian.views import folds as view_folds
from gramian.views import moments as view_moments
from gramian.views import rows as _view_rows
from gramian.views import survey as _view_survey
from gramian.views import view as views

pytestmark = pytest.mark.filterwarnings("default")

N = 150
RNG = np.random.default_rng(0)
Z = RNG.standard_normal((N, 2))
X = np.hstack([Z @ RNG.standard_normal((2, 3)), Z @ RNG.standard_normal((2, 4)), 3 + Z @ RNG.standard_normal((2, 2))])
X += 0.5 * RNG.standard_normal(X.shape)
VIEWS = {"a": [0, 2, 1], "b": slice(3, 7), "c": [7, 8]}
WEIGHTS = RNG.integers(0, 4, N).astype(float)


class Doubled(FeatureMap):
    """A map with an inverse."""

    @property
    def n_drawn(self):
        return 1

    @property
    def dim(self):
        return self.n_features_in_

    def _fit(self, X, weights):
        pass

    def _features(self, X):
        return 2.0 * X

    def inverse_transform(self, F):
        return np.asarray(F) / 2.0


MODELS = {
    "auto": MultiViewRKM(views=VIEWS),
    "three folds": MultiViewRKM(views=VIEWS, n_folds=3),
    "one noise": MultiViewRKM(views=VIEWS, noise_variance="ml", view_weights="balanced"),
    "AC": MultiViewRKM(views=VIEWS, noise_variance=0.0),
    "fraction": MultiViewRKM(0.8, views=VIEWS, n_folds=None),
    "many components": MultiViewRKM(6, views=VIEWS),
    "one view": MultiViewRKM(),
    "a map": MultiViewRKM(2, views=VIEWS, kernel={"a": "linear", "b": Doubled(), "c": "linear"}),
    "nystroem": MultiViewRKM(2, views=VIEWS, kernel={"a": "linear", "b": Nystroem("rbf", 12), "c": "linear"}),
    "nystroem, auto": MultiViewRKM(views=VIEWS, kernel={"a": Nystroem("rbf", 9), "b": "linear", "c": "linear"}),
    "random": MultiViewRKM(2, views=VIEWS, kernel=["linear", RandomFourier("rbf", 16, random_state=0), "linear"]),
}
WHOLE: dict = {}

HOLES = X.copy()
HOLES[:, :7][RNG.random((N, 7)) < 0.06] = np.nan
HOLES[RNG.random(N) < 0.2, 7:] = np.nan  # rows that miss a view
HOLES[5] = np.nan  # and one that misses all
MAPPED = X.copy()
MAPPED[::4, 3:7] = np.nan
SPARSE = np.where(RNG.random(X.shape) < 0.35, np.nan, X)  # hardly a row shows everything
HOLED = {
    "auto": (MODELS["auto"], HOLES),
    "one noise": (MODELS["one noise"], HOLES),
    "fraction": (MODELS["fraction"], HOLES),
    "four components": (MultiViewRKM(4, views=VIEWS), HOLES),  # of six, the likelihood is too flat for 1e-9
    "one view": (MODELS["one view"], HOLES),
    "a map": (MODELS["a map"], MAPPED),
    "a map, auto": (MultiViewRKM(views=VIEWS, kernel={"a": "linear", "b": Doubled(), "c": "linear"}), MAPPED),
    "nystroem": (MODELS["nystroem"], MAPPED),
    "few complete rows": (MODELS["auto"], SPARSE),
}


ANCHORED = (views, view_moments, view_folds, _view_rows, _view_survey)


@pytest.fixture(autouse=True)
def _few_rows_are_many(monkeypatch):
    for module in ANCHORED:
        monkeypatch.setattr(module, "LOOK", replace(module.LOOK, rows=40))


def answers(model):
    latents = model.transform(X)
    if len(model.view_names_) == 1:
        return latents
    return (
        np.hstack([latents, *model.predict_view(X, "b", return_std=True)])
        if model.noise_variance
        else np.hstack([latents, model.predict_view(X, "b")])
    )


def whole(name, holes=False):
    if (name, holes) not in WHOLE:
        model, table = HOLED[name] if holes else (MODELS[name], X)
        WHOLE[name, holes] = clone(model).fit(table, sample_weight=WEIGHTS)
    return WHOLE[name, holes]


def same(model, name, holes=False):
    expected = whole(name, holes)
    assert model.n_components_ == expected.n_components_
    assert_allclose(model.noise_variances_, expected.noise_variances_, rtol=1e-9)
    assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-9)
    a, b = answers(model), answers(expected)
    assert_allclose(a, b, rtol=1e-8, atol=1e-9 * abs(b).max())  # with its signs
    assert [trust[:2] for trust in model.trusts_] == [trust[:2] for trust in expected.trusts_]
    assert_allclose([trust[2] for trust in model.trusts_], [trust[2] for trust in expected.trusts_], rtol=1e-9)


@st.composite
def cuts(draw):
    order = np.random.default_rng(draw(st.integers(0, 99))).permutation(N)
    inner = draw(st.lists(st.integers(0, N), max_size=5))
    return order, sorted([*inner, *(i + 1 for i in inner[:1] if i < N)])


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=2, deadline=None, derandomize=True)
@given(cut=cuts())
def test_batches_in_any_order_and_of_any_size_give_the_model_of_the_whole_table(name, cut):
    order, stops = cut
    batches = list(zip(np.split(X[order], stops), np.split(WEIGHTS[order], stops)))
    model = clone(MODELS[name]).fit_batches(batches)
    same(model, name)
    assert model.latents_.shape == (0, model.n_components_)


@pytest.mark.filterwarnings("ignore:1 rows show no entry", "ignore:.*row.* show no entry")
@pytest.mark.parametrize("name", HOLED)
@settings(max_examples=2, deadline=None, derandomize=True)
@given(cut=cuts())
def test_holes_in_batches_give_the_model_of_the_whole_table(name, cut):
    (model, table), (order, stops) = HOLED[name], cut
    batches = list(zip(np.split(table[order], stops), np.split(WEIGHTS[order], stops)))
    found = clone(model).fit_batches(batches)
    same(found, name, holes=True)
    assert_allclose(found.log_likelihoods_, whole(name, True).log_likelihoods_, rtol=1e-9)
    assert found.latents_.shape == (0, found.n_components_)


@pytest.mark.filterwarnings("ignore:.*row.* show no entry")
def test_holes_on_dask_give_the_model_of_the_whole_table():
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    with dask.config.set(scheduler="threads"):
        model = clone(MODELS["auto"]).fit(da.from_array(HOLES, chunks=(40, 5)), sample_weight=WEIGHTS)
    same(model, "auto", holes=True)


def test_holes_that_cannot_be_fitted_are_refused():
    partly = X.copy()
    partly[3, 4] = np.nan
    with pytest.raises(ValueError, match="View 'b' contains NaN in a part of 1 rows"):
        clone(MODELS["a map"]).fit_batches([partly])
    with pytest.raises(ValueError, match="noise_variance='ml' or 'per-view'"):
        clone(MODELS["AC"]).fit_batches([partly])
    partly[1:, 7:] = np.nan
    with pytest.raises(ValueError, match="View 'c' is shown by 1 row"):
        clone(MODELS["auto"]).fit_batches([partly])
    with pytest.raises(ValueError, match="n_components=40 must be at most 9"):
        MultiViewRKM(40, views=VIEWS).fit_batches([HOLES])


@pytest.mark.parametrize("kind", ["table", "list", "dict", "frame"])
def test_rows_on_dask_in_any_container(kind):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    parts = {"a": X[:, [0, 2, 1]], "b": X[:, 3:7], "c": X[:, 7:]}
    with dask.config.set(scheduler="threads"):
        if kind == "table":
            model = clone(MODELS["auto"]).fit(da.from_array(X, chunks=(40, 5)), sample_weight=WEIGHTS)
        elif kind == "frame":
            dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
            frame = pd.DataFrame(X, columns=list("pqrstuvwx"))
            named = {"a": ["p", "r", "q"], "b": list("stuv"), "c": ["w", "x"]}
            model = MultiViewRKM(views=named).fit(dd.from_pandas(frame, npartitions=3), sample_weight=WEIGHTS)
            assert list(model.feature_names_in_) == list("pqrstuvwx")
        else:
            lazy = {name: da.from_array(view, chunks=(40, -1)) for name, view in parts.items()}
            model = MultiViewRKM().fit(lazy if kind == "dict" else list(lazy.values()), sample_weight=WEIGHTS)
    expected = whole("auto")
    assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-9)
    shown = X if kind in ("table", "frame") else parts if kind == "dict" else list(parts.values())
    assert_allclose(model.transform(shown), expected.transform(X), rtol=1e-8, atol=1e-9)


def test_batches_of_dicts_of_views():
    parts = [
        {"a": X[rows][:, [0, 2, 1]], "b": X[rows][:, 3:7], "c": X[rows][:, 7:]}
        for rows in np.array_split(np.arange(N), 3)
    ]
    model = MultiViewRKM().fit_batches([(part, w) for part, w in zip(parts, np.array_split(WEIGHTS, 3))])
    assert model.view_names_ == ["a", "b", "c"]
    assert_allclose(model.eigenvalues_, whole("auto").eigenvalues_, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*row.* show no entry")
def test_batches_may_leave_views_out_and_bad_ones_are_numbered():
    parts = [{"a": part[:, :3], "b": part[:, 3:7], "c": part[:, 7:]} for part in np.array_split(X, 3)]
    table = X.copy()
    table[50:100, 7:], table[100:, 3:7] = np.nan, np.nan
    gaps = [parts[0], {**parts[1], "c": None}, {"a": parts[2]["a"], "c": parts[2]["c"]}]
    expected = MultiViewRKM(2, views={"a": slice(0, 3), "b": slice(3, 7), "c": slice(7, 9)}).fit(table)
    found = MultiViewRKM(2).fit_batches(gaps)
    assert found.view_names_ == ["a", "b", "c"]
    assert_allclose(found.noise_variances_, expected.noise_variances_, rtol=1e-9)
    for bad, words in (
        ({"d": X}, "Batch 2: the view 'd' was not in the first batch"),
        ({"a": X}, "Batch 2: the view 'a' has 9 columns, but it had 3"),
        ({"a": X[:3, :3], "b": X[:4, 3:7]}, "Batch 2: The views have different numbers of rows"),
        ({"a": None}, "Batch 2: no view was given"),
        ({"a": np.array([["x", "y", "z"]])}, "Batch 2: .*Text is not a number"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            MultiViewRKM(2).fit_batches([parts[0], bad])
    with pytest.raises(ValueError, match="Batch 1: View 'c' is None"):
        MultiViewRKM(2).fit_batches([gaps[1]])


@pytest.mark.parametrize("name", ["auto", "nystroem", "random"])
def test_a_model_of_rows_is_saved_and_explained(name, tmp_path):
    model = clone(MODELS[name]).fit_batches([X])
    save(model, tmp_path / "views.model")
    again = load(tmp_path / "views.model")
    for view in "bc":
        assert_allclose(again.predict_view(X, view), model.predict_view(X, view))
    assert "primal" in again.explain()


def test_few_rows_are_fitted_as_in_memory_holes_and_maps_too(monkeypatch):
    monkeypatch.undo()
    holes = X.copy()
    holes[::7, 4] = np.nan
    for model, table in ((MultiViewRKM(2, views=VIEWS), holes), (MultiViewRKM(2, kernel=Nystroem("rbf", 20)), X)):
        found = clone(model).fit_batches([table[:60], table[60:]])
        expected = clone(model).fit(table)
        assert_allclose(found.score(table), expected.score(table), rtol=1e-9)


def test_what_is_no_sum_over_rows_is_refused_with_words_that_name_what_works():
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="approximation='nystroem'"):
        MultiViewRKM(2, kernel="rbf").fit(da.from_array(X, chunks=50))
    with pytest.raises(ValueError, match="feature maps"):
        MultiViewRKM(2, kernel="rbf").fit_batches([X])
    with pytest.raises(ValueError, match="must see all rows"):
        MultiViewRKM(2, kernel=StandardScaler()).fit_batches([X])
    with pytest.raises(ValueError, match="solver='stiefel'"):
        MultiViewRKM(2, solver="stiefel").fit_batches([X])
    with pytest.raises(ValueError, match="function that opens"):
        MultiViewRKM(2).fit_batches(iter([X]))


@pytest.mark.parametrize("kind", ["table", "dict", "list", "frame"])
def test_views_on_dask_are_answered_lazily_and_in_kind(kind):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    holes = X.copy()
    holes[::5, 7:] = np.nan
    parts = {"a": holes[:, :3], "b": holes[:, 3:7], "c": holes[:, 7:]}
    if kind in ("table", "frame"):
        views = {"a": slice(0, 3), "b": slice(3, 7), "c": slice(7, 9)}
        model, given = MultiViewRKM(2, views=views), holes
        lazy = da.from_array(holes, chunks=(40, 5))
        if kind == "frame":
            dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
            given = pd.DataFrame(holes, columns=list("pqrstuvwx"))
            lazy = dd.from_pandas(given, npartitions=3)
    else:
        model, given = MultiViewRKM(2), parts if kind == "dict" else list(parts.values())
        arrays = {name: da.from_array(view, chunks=(40, -1)) for name, view in parts.items()}
        lazy = arrays if kind == "dict" else list(arrays.values())
    model.fit(given)
    with dask.config.set(scheduler="threads"):
        for ask in (
            lambda rows: model.transform(rows),
            lambda rows: model.score_samples(rows),
            lambda rows: model.residual(rows),
            lambda rows: model.mahalanobis(rows),
            lambda rows: model.impute(rows),
            lambda rows: model.impute(rows, return_std=True),
            lambda rows: model.reconstruct(rows),
            lambda rows: model.predict_view(rows, model.view_names_[1], return_std=True),
        ):
            found, expected = ask(lazy), ask(given)
            assert all(hasattr(leaf, "compute") for leaf in leaves(found))
            assert [type(found) if isinstance(found, dict | list | tuple) else None] == [
                type(expected) if isinstance(expected, dict | list | tuple) else None
            ]
            for one, other in zip(leaves(found), leaves(expected), strict=True):
                assert_allclose(np.asarray(one.compute()), np.asarray(other), rtol=1e-9, atol=1e-9)
    if kind == "frame":
        assert list(model.impute(lazy).columns) == list("pqrstuvwx")


def leaves(found):
    if isinstance(found, dict):
        return list(found.values())
    if isinstance(found, tuple):
        return [leaf for part in found for leaf in leaves(part)]
    return found if isinstance(found, list) else [found]
