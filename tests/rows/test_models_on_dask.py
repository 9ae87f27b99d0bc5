"""Models on Dask: the numbers of the table in memory, rows that stay where they are, and lazy answers in kind."""

import numpy as np
import pytest
from sklearn.base import clone

from gramian import (
    PPCA,
    KernelPPCA,
    KernelPPCAClassifier,
    KernelPPCAMixture,
    LatentImputer,
    MultiViewRKM,
    PPCAMixture,
    RKMClassifier,
    RKMForecaster,
    RKMRegressor,
)

# a warning turned into an error inside the scheduler, which lives in this process, would stop it for good
pytestmark = pytest.mark.filterwarnings("default")

dask = pytest.importorskip("dask", reason="the extra [dask] is not installed")
da = pytest.importorskip("dask.array", reason="the extra [dask] is not installed")

MODELS = {
    "PPCA auto": PPCA(),
    "mixture auto": PPCAMixture(2, random_state=0),
    "nystroem": KernelPPCA(3, approximation="nystroem", n_landmarks=20, random_state=0),
    "rff": KernelPPCA(3, approximation="rff", n_landmarks=24, random_state=0),
    "kernel mixture": KernelPPCAMixture(2, approximation="nystroem", n_landmarks=30, random_state=0),
    "imputer": LatentImputer(),
}
HOLES = ["PPCA auto", "mixture auto", "imputer"]
VERBS = {
    "PPCA auto": ["transform", "score_samples", "impute", "reconstruct", "scores", "residual", "mahalanobis"],
    "mixture auto": ["transform", "score_samples", "impute", "reconstruct", "predict", "predict_proba"],
    "nystroem": ["transform", "score_samples", "scores", "residual", "mahalanobis"],
    "rff": ["transform", "score_samples"],
    "kernel mixture": ["score_samples", "predict", "predict_proba"],
    "imputer": ["transform", "impute"],
}


def table(holes):
    rng = np.random.default_rng(5)
    planes = [2 * rng.standard_normal((45, 2)) @ rng.standard_normal((2, 4)) + 9 * k for k in range(2)]
    X = np.vstack(planes) + 0.4 * rng.standard_normal((90, 4))
    if holes:
        X[rng.random(X.shape) < 0.12] = np.nan
    return X


def lazy(X, kind):
    if kind == "columns":
        return da.from_array(X, chunks=(31, 3))
    if kind == "unknown":
        array = da.from_array(np.vstack([X, np.full((5, 4), 1e6)]), chunks=(20, -1))
        return array[~(array[:, 0] > 1e5)]
    if kind == "empty blocks":
        array = da.from_array(X, chunks=(40, -1))
        return da.concatenate([array[:0], array, array[:0]])
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    return dd.from_pandas(pd.DataFrame(X, columns=list("abcd"), index=np.arange(len(X)) + 7), npartitions=3)


KINDS = ["columns", "unknown", "empty blocks", "frame"]
CASES = [(name, False) for name in MODELS] + [(name, True) for name in HOLES]


def close(found, expected):
    expected = np.asarray(expected)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-9 * abs(expected).max())


@pytest.mark.parametrize("name, holes", CASES)
def test_rows_on_dask_give_the_model_and_the_answers_of_the_table(name, holes):
    X = table(holes)
    exact = clone(MODELS[name]).fit(X)
    with dask.config.set(scheduler="threads"):
        for kind in KINDS:
            rows = lazy(X, kind)
            model = clone(MODELS[name]).fit(rows)
            for verb in VERBS[name]:
                answer = getattr(model, verb)(rows)
                assert hasattr(answer, "compute"), verb
                expected = getattr(exact, verb)(X)
                found = answer.compute()
                close(found, expected)
                assert found.dtype == expected.dtype if kind != "frame" else (found.index == np.arange(90) + 7).all()


def test_weights_on_dask_are_copies():
    X, weights = table(True), np.arange(90) % 3.0
    expected = PPCAMixture(2, 1, random_state=0).fit(np.repeat(X, weights.astype(int), axis=0))
    for given in (weights, da.from_array(weights, chunks=20)):
        model = PPCAMixture(2, 1, random_state=0).fit(lazy(X, "columns"), sample_weight=given)
        close(model.score_samples(X), expected.score_samples(X))


def test_frames_are_answered_with_names():
    X = lazy(table(True), "frame")
    model = PPCA(2).fit(X)
    assert list(model.feature_names_in_) == list("abcd")
    filled, std = model.impute(X, return_std=True)
    assert list(filled.columns) == list(std.columns) == list("abcd")
    assert not filled.compute().isna().any().any()
    assert list(model.transform(X).columns) == ["ppca0", "ppca1"]
    assert model.score_samples(X).compute().name == "score_samples"


def test_clusters_of_dask_rows_are_lazy():
    X = table(False)
    labels = PPCAMixture(2, 1, random_state=0).fit_predict(lazy(X, "columns"))
    assert hasattr(labels, "compute")
    assert (labels.compute() == PPCAMixture(2, 1, random_state=0).fit_predict(X)).all()


@pytest.mark.parametrize(
    "model, words",
    [
        (KernelPPCA(2), "approximation='nystroem'"),
        (KernelPPCAMixture(2), "approximation='nystroem'"),
        (KernelPPCAClassifier(), "approximation='nystroem'"),
        (MultiViewRKM(2, kernel="rbf"), "approximation='nystroem'"),
        (RKMRegressor(kernel="rbf", approximation=None), "approximation='nystroem'"),
        (RKMClassifier(approximation=None), "approximation='nystroem'"),
        (LatentImputer(PPCAMixture(2)), "Use PPCA"),
        (RKMForecaster(), "Call .compute"),
    ],
)
def test_other_models_refuse_with_words_that_name_what_works(model, words):
    X = lazy(table(False), "columns")
    with pytest.raises(TypeError, match=words):
        model.fit(X, da.from_array(np.arange(90) % 2, chunks=31))


def test_a_target_on_dask_is_not_gathered():
    with pytest.raises(TypeError, match=r"compute\(\)"):
        RKMRegressor().fit(table(False), da.from_array(np.arange(90.0), chunks=31))


def test_text_holes_draws_and_other_widths_are_refused():
    X = lazy(table(True), "columns")
    with pytest.raises(ValueError, match="NaN"):
        KernelPPCA(2, approximation="nystroem").fit(X)
    model = PPCA(2).fit(X)
    with pytest.raises(ValueError, match="several draws"):
        model.impute(X, n_draws=3)
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.transform(X[:, :2])
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="town"):
        PPCAMixture(2).fit(dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "town": ["x", "y"]}), npartitions=1))


def test_on_a_cluster_rows_do_not_move_and_the_numbers_are_those_of_the_table():
    distributed = pytest.importorskip("distributed", reason="the extra [dask] is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        rows = da.random.default_rng(0).standard_normal((40_000, 8), chunks=(5_000, -1))
        rows = rows.map_blocks(two_groups)  # a chain: pieces of the recipe itself have no reason to travel
        X = rows.compute(scheduler="synchronous")
        for model in (PPCA(2), PPCAMixture(2, 1, random_state=0, tol=1e-3)):
            before = sum(client.run(sent).values())
            found = clone(model).fit(rows)
            moved = sum(client.run(sent).values()) - before
            assert moved < 0.01 * X.nbytes
            close(found.score_samples(X[:50]), clone(model).fit(X).score_samples(X[:50]))


def sent(dask_worker):
    """Bytes that a worker has sent to others."""
    return sum(log["total"] for log in dask_worker.transfer_outgoing_log)


def two_groups(block):
    return block + 6 * (block[:, :1] > 0)


for function in (sent, two_groups):
    function.__module__ = "__main__"  # workers cannot import this file: functions travel by value
