"""Any cut of the rows into batches, in any order, with copies or weights, gives the model of the whole table, choices included."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from gramian import (
    PPCA,
    KernelPPCA,
    KernelPPCAMixture,
    LatentImputer,
    PPCAMixture,
)
from gramian.latent import feature_moments

TOLERANCE = 1e-9


def table(holes, n=70, d=4):
    """Two clusters with a plane each, some rows twice."""
    rng = np.random.default_rng(3)
    planes = [2 * rng.standard_normal((n // 2, 2)) @ rng.standard_normal((2, d)) + 9 * k for k in range(2)]
    X = np.vstack(planes) + 0.4 * rng.standard_normal((2 * (n // 2), d))
    if holes:
        X[rng.random(X.shape) < 0.12] = np.nan
    return np.vstack([X, X[:7]])


COMPLETE = {
    "PPCA auto": PPCA(),
    "PPCA": PPCA(2),
    "mixture auto": PPCAMixture(2, random_state=0),
    "mixture": PPCAMixture(2, 1, random_state=0),
    "mixture, shared noise, units, fraction": PPCAMixture(2, 0.8, noise="shared", standardize=True, random_state=0),
    "nystroem auto": KernelPPCA(approximation="nystroem", n_landmarks=20, random_state=0),
    "nystroem": KernelPPCA(3, approximation="nystroem", n_landmarks=20, random_state=0),
    "rff": KernelPPCA(3, approximation="rff", n_landmarks=24, random_state=0),
    "kernel mixture auto": KernelPPCAMixture(2, approximation="nystroem", n_landmarks=30, random_state=0),
    "kernel mixture, units, fraction": KernelPPCAMixture(
        2, 0.9, standardize=True, approximation="nystroem", n_landmarks=30, random_state=0
    ),
    "imputer": LatentImputer(),
}
HOLES = {name: COMPLETE[name] for name in ("PPCA auto", "PPCA", "mixture auto", "mixture", "imputer")}
CASES = [(name, False) for name in COMPLETE] + [(name, True) for name in HOLES]
TABLES = {holes: table(holes) for holes in (False, True)}
WEIGHTS = np.random.default_rng(4).integers(0, 4, len(TABLES[False])).astype(float)
WHOLE: dict = {}


def answers(model, X):
    """What a model says of rows, as one array."""
    if isinstance(model, LatentImputer):
        holed = np.where(np.arange(X.shape[1]) == np.arange(len(X))[:, None] % X.shape[1], np.nan, X)
        return np.hstack(model.impute(holed, return_std=True))
    return np.column_stack([model.score_samples(X), abs(model.transform(X))])


def whole(name, holes):
    if (name, holes) not in WHOLE:
        X = TABLES[holes]
        WHOLE[name, holes] = answers(clone(COMPLETE[name]).fit(X, sample_weight=WEIGHTS), X)
    return WHOLE[name, holes]


@st.composite
def cuts(draw):
    """An order of the rows, and where they are cut: one row or none in a batch is likely."""
    n = len(WEIGHTS)
    order = np.random.default_rng(draw(st.integers(0, 99))).permutation(n)
    inner = draw(st.lists(st.integers(0, n), max_size=6))
    return order, sorted([*inner, *(i + 1 for i in inner[:1] if i < n)])


@pytest.mark.parametrize("name, holes", CASES, ids=lambda value: str(value))
@settings(max_examples=3, deadline=None, derandomize=True)
@given(cut=cuts())
def test_batches_in_any_order_and_of_any_size_give_the_model_of_the_whole_table(name, holes, cut):
    X, (order, stops) = TABLES[holes], cut
    batches = list(zip(np.split(X[order], stops), np.split(WEIGHTS[order], stops)))
    model = clone(COMPLETE[name]).fit_batches(batches)
    expected = whole(name, holes)
    np.testing.assert_allclose(answers(model, X), expected, rtol=TOLERANCE, atol=TOLERANCE * abs(expected).max())


@pytest.mark.parametrize("name, holes", [("PPCA", False), ("mixture", True), ("nystroem", False)])
def test_weights_are_copies_whatever_the_batches(name, holes):
    X = np.repeat(TABLES[holes], WEIGHTS.astype(int), axis=0)
    model = clone(COMPLETE[name]).fit_batches(lambda: iter(np.array_split(X[::-1], 5)))
    expected = whole(name, holes)
    np.testing.assert_allclose(
        answers(model, TABLES[holes]), expected, rtol=TOLERANCE, atol=TOLERANCE * abs(expected).max()
    )


@pytest.mark.parametrize("tol, agreement", [(1e-12, TOLERANCE), (5e-5, 5e-5)])
def test_batches_of_a_very_long_table_agree_to_what_tol_asks(monkeypatch, tol, agreement):
    monkeypatch.setattr(feature_moments, "SIZES", replace(feature_moments.SIZES, single=50))
    X = TABLES[False]
    model = clone(COMPLETE["nystroem"]).set_params(tol=tol)
    expected = answers(clone(model).fit(X), X)
    found = answers(model.fit_batches([X[40:], X[:13], X[13:40]]), X)
    np.testing.assert_allclose(found, expected, rtol=agreement, atol=agreement * abs(expected).max())


@pytest.mark.parametrize("name", [name for name in COMPLETE if not name.startswith("PPCA")])
def test_a_one_shot_iterator_is_refused_with_the_function_form(name):
    with pytest.raises(ValueError, match="function that opens"):
        clone(COMPLETE[name]).fit_batches(iter([TABLES[False]]))


@pytest.mark.parametrize("name", COMPLETE)
def test_a_source_that_breaks_off_leaves_the_model_as_it_was(name):
    X = TABLES[False]
    model = clone(COMPLETE[name]).fit(X)
    before = dict(vars(model))

    def broken():
        yield X[:20]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        model.fit_batches(broken)
    assert vars(model) == before


@pytest.mark.parametrize("name", COMPLETE)
def test_nothing_of_the_size_of_the_table_is_kept(name):
    X = TABLES[False]
    sizes = [len(pickle.dumps(clone(COMPLETE[name]).fit_batches([X] * copies))) for copies in (1, 40)]
    assert sizes[1] < 1.1 * sizes[0]


@pytest.mark.parametrize("name", COMPLETE)
def test_batches_of_frames_give_names_and_bad_ones_are_numbered(name):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(TABLES[False], columns=list("abcd"))
    model = clone(COMPLETE[name]).fit_batches([frame[:30], frame[30:]])
    assert list(model.feature_names_in_) == list("abcd")
    model.transform(frame)  # with no word about names
    with pytest.raises(ValueError, match="Batch 2"):
        clone(COMPLETE[name]).fit_batches([frame, frame[["a", "b"]]])
    with pytest.raises(ValueError, match="no rows"):
        clone(COMPLETE[name]).fit_batches([frame[:0]])


def test_kernel_models_refuse_holes_in_batches_and_batches_without_an_approximation():
    with pytest.raises(ValueError, match=r"Batch 2.*NaN"):
        KernelPPCA(2, approximation="nystroem").fit_batches([TABLES[False], TABLES[True]])
    with pytest.raises(ValueError, match=r"approximation=.nystroem."):
        KernelPPCA(2).fit_batches([TABLES[False]])
    with pytest.raises(ValueError, match=r"approximation='nystroem'"):
        KernelPPCAMixture(2).fit_batches([TABLES[False]])
    with pytest.raises(ValueError, match="init='kernel_kmeans'"):
        KernelPPCAMixture(2, init="random", approximation="nystroem").fit_batches([TABLES[False]])


def test_given_responsibilities_go_with_rows_in_memory():
    X = TABLES[False]
    with pytest.raises(ValueError, match="init holds responsibilities"):
        PPCAMixture(2, 1, init=np.full((len(X), 2), 0.5)).fit_batches([X])
