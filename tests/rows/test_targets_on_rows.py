"""Models with a target: any cut of the rows, in any order, in batches or on Dask, gives the model of the whole table, choices included."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone

from gramian import RKMClassifier, RKMRegressor
from gramian.features import Nystroem
from gramian.policy import KERNELS
from gramian.targets import estimator as _target_estimator

pytestmark = pytest.mark.filterwarnings("default")

N = 120
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.standard_normal((N, 3)), RNG.standard_t(1.5, N)])
NUMBERS = np.sin(2 * X[:, 0]) + 0.5 * X[:, 2] + 0.3 * RNG.standard_normal(N)
TARGETS = {
    "one": NUMBERS,
    "two": np.column_stack([NUMBERS, X[:, 1] + 0.2 * RNG.standard_normal(N)]),
    "labels": np.array(["low", "middle", "high"])[np.digitize(NUMBERS, [-0.5, 0.5])],
}
WEIGHTS = RNG.integers(0, 4, N).astype(float)

MODELS = {
    "auto": (RKMRegressor(), "one"),
    "linear": (RKMRegressor(kernel="linear"), "one"),
    "nystroem": (RKMRegressor(kernel="rbf", approximation="nystroem", n_landmarks=20), "two"),
    "random features": (RKMRegressor(5, kernel="rbf", approximation="rff", n_landmarks=20, random_state=0), "one"),
    "feature map": (RKMRegressor(kernel=Nystroem("rbf", 20)), "one"),
    "noise 0": (RKMRegressor(3, kernel="linear", noise_variance=0.0), "one"),
    "one noise": (RKMRegressor(3, kernel="linear", noise_variance="ml"), "two"),
    "nothing held out": (RKMRegressor(kernel="linear", n_folds=None), "one"),
    "classes auto": (RKMClassifier(), "labels"),
    "classes": (RKMClassifier(kernel="linear"), "labels"),
}
WHOLE: dict = {}


@pytest.fixture(autouse=True)
def _few_rows_are_many(monkeypatch):
    """What is exact, or gathered, up to 2,000 rows is a sum over rows here."""
    monkeypatch.setattr(_target_estimator, "KERNELS", replace(KERNELS, exact_rows=10))


def answers(model):
    if isinstance(model, RKMClassifier):
        return model.predict_proba(X)
    return np.hstack([np.reshape(part, (N, -1)) for part in model.predict(X, return_std=True)])


def whole(name):
    if name not in WHOLE:
        model, target = MODELS[name]
        WHOLE[name] = clone(model).fit(X, TARGETS[target], sample_weight=WEIGHTS)
    return WHOLE[name]


def same(model, name):
    expected = answers(whole(name))
    assert_allclose(answers(model), expected, rtol=1e-9, atol=1e-9 * abs(expected).max())
    assert model.n_components_ == whole(name).n_components_
    if hasattr(model, "selection_"):
        assert chosen(model) == chosen(whole(name))


def chosen(model):
    """The choice in words, numbers to nine digits."""
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.9g}", str(model.selection_.chosen))


@st.composite
def cuts(draw):
    order = np.random.default_rng(draw(st.integers(0, 99))).permutation(N)
    inner = draw(st.lists(st.integers(0, N), max_size=5))
    return order, sorted([*inner, *(i + 1 for i in inner[:1] if i < N)])


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=3, deadline=None, derandomize=True)
@given(cut=cuts())
def test_batches_in_any_order_and_of_any_size_give_the_model_of_the_whole_table(name, cut):
    model, target = MODELS[name]
    y, (order, stops) = TARGETS[target], cut
    parts = [np.split(array[order], stops) for array in (X, y, WEIGHTS)]
    same(clone(model).fit_batches(list(zip(*parts))), name)


@pytest.mark.parametrize("name", ["auto", "nystroem", "classes"])
def test_weights_are_copies(name):
    model, target = MODELS[name]
    rows = np.repeat(np.arange(N), WEIGHTS.astype(int))[::-1]
    batches = [(X[part], TARGETS[target][part]) for part in np.array_split(rows, 4)]
    same(clone(model).fit_batches(lambda: iter(batches)), name)


@pytest.mark.parametrize("name", MODELS)
def test_rows_on_dask_give_the_model_and_lazy_answers(name):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    model, target = MODELS[name]
    y = TARGETS[target]
    rows = da.from_array(X, chunks=(50, 3))
    aims = da.from_array(y, chunks=(70, *y.shape[1:])) if name != "linear" else y
    with dask.config.set(scheduler="threads"):
        found = clone(model).fit(rows, aims, sample_weight=WEIGHTS)
        same(found, name)
        answer = found.predict(rows)
        assert hasattr(answer, "compute")
        expected = found.predict(X)
        got = answer.compute()
        assert (got == expected).all() if target == "labels" else np.allclose(got, expected)


def test_frames_on_dask_give_names_and_take_series_as_targets():
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=NUMBERS)
    table = dd.from_pandas(frame, npartitions=3)
    model = RKMRegressor(kernel="linear").fit(table[list("abcd")], table["y"])
    assert list(model.feature_names_in_) == list("abcd")
    expected = RKMRegressor(kernel="linear").fit(frame[list("abcd")], frame["y"])
    assert_allclose(model.predict(frame[list("abcd")]), expected.predict(frame[list("abcd")]), rtol=1e-9)


@pytest.mark.parametrize("name", ["linear", "nystroem", "classes", "one noise", "noise 0"])
def test_sums_give_the_model_of_the_table(name, monkeypatch):
    """The oracle: the same model from all rows at once. Its landmarks are drawn after units, so there are none here."""
    model, target = MODELS[name]
    model = clone(model).set_params(standardize=False)
    sums = clone(model).fit(X, TARGETS[target], sample_weight=WEIGHTS)

    def refuse(*_):
        raise _target_estimator.NoFeaturesError("asked for")

    monkeypatch.setattr(_target_estimator.TargetEstimator, "_fit_sums", refuse)
    table = clone(model).fit(X, TARGETS[target], sample_weight=WEIGHTS)
    expected = answers(table)
    assert_allclose(answers(sums), expected, rtol=1e-6, atol=1e-6 * abs(expected).max())
    assert_allclose(sums.noise_variances_, table.noise_variances_, rtol=1e-8)


def test_few_rows_elsewhere_are_fitted_as_in_memory(monkeypatch):
    monkeypatch.undo()
    exact = RKMRegressor(kernel="rbf").fit(X, NUMBERS)
    assert "dual" in exact.algorithm_
    model = RKMRegressor(kernel="rbf").fit_batches([(X[:50], NUMBERS[:50]), (X[50:], NUMBERS[50:])])
    assert_allclose(model.predict(X), exact.predict(X), rtol=1e-9, atol=1e-9)


def test_more_than_are_drawn_are_summed_over_all_the_same(monkeypatch):
    from gramian.targets import survey as target_survey

    monkeypatch.setattr(target_survey, "LOOK", replace(target_survey.LOOK, drawn=60))
    seen = []

    def watched(self, *given, fit=_target_estimator.TargetEstimator._fit_sums):
        seen.append(fit(self, *given))
        return seen[-1]

    monkeypatch.setattr(_target_estimator.TargetEstimator, "_fit_sums", watched)
    whole = RKMRegressor(kernel="linear").fit(X, NUMBERS)
    parts = RKMRegressor(kernel="linear").fit_batches(
        list(zip(np.array_split(X[::-1], 7), np.array_split(NUMBERS[::-1], 7)))
    )
    assert [[len(looked), len(told.predictions)] for looked, _, told in seen] == [[60, 60], [60, 60]]
    assert len(whole._fit.held_out.predictions) == 0
    assert_allclose(answers(parts), answers(whole), rtol=1e-9, atol=1e-9)
    assert whole.held_out_error_ == pytest.approx(parts.held_out_error_, rel=1e-9)


def test_nothing_of_the_size_of_the_table_is_kept():
    sizes = [
        len(pickle.dumps(RKMRegressor(kernel="linear").fit_batches([(X, NUMBERS)] * copies))) for copies in (1, 40)
    ]
    assert sizes[1] < 1.1 * sizes[0]
    rows = np.random.default_rng(0).standard_normal((12_000, 3))
    model = RKMRegressor(kernel="linear").fit_batches([(part, part[:, 0]) for part in np.array_split(rows, 12)])
    assert len(pickle.dumps(model)) < 50_000


@pytest.mark.parametrize("model", [RKMRegressor(kernel="rbf", approximation=None), RKMClassifier(approximation=None)])
def test_exact_kernels_refuse_rows_elsewhere_with_words_that_name_what_works(model):
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="approximation='nystroem'"):
        model.fit(da.from_array(X, chunks=50), NUMBERS)
    with pytest.raises(ValueError, match="approximation='nystroem'"):
        model.fit_batches([(X, NUMBERS)])


def test_bad_batches_and_bad_targets_are_told():
    model = RKMRegressor(kernel="linear")
    with pytest.raises(ValueError, match="function that opens"):
        model.fit_batches(iter([(X, NUMBERS)]))
    with pytest.raises(ValueError, match=r"Give \(X, y\)"):
        model.fit_batches([X])
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit_batches([(X, NUMBERS), (X[:2], [np.nan, 1.0])])
    with pytest.raises(ValueError, match="same targets for all rows"):
        model.fit_batches([(X, NUMBERS), (X, TARGETS["two"])])


def test_a_source_that_breaks_off_leaves_the_model_as_it_was():
    model = RKMClassifier(kernel="linear").fit(X, TARGETS["labels"])
    before = dict(vars(model))

    def broken():
        yield X[:20], TARGETS["labels"][:20]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        model.fit_batches(broken)
    assert vars(model) == before


def test_cuts_change_no_bit():
    """Blocks are cut anew: of 5,000 rows every cut gives the sums of one and the same."""
    rows = np.random.default_rng(1).standard_normal((5000, 3))
    target = np.sin(rows[:, 0])
    found = []
    for edges in ([2500], [1, 2, 4097], [4096], list(range(300, 5000, 300))):
        parts = list(zip(np.split(rows, edges), np.split(target, edges)))
        found.append(RKMRegressor(kernel="rbf", n_landmarks=40, approximation="nystroem").fit_batches(parts))
    assert all((one.predict(rows[:20]) == found[0].predict(rows[:20])).all() for one in found)
