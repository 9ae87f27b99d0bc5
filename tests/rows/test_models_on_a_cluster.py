"""Models on two worker processes: the numbers of the table, rows that stay, and workers that die or come in the middle of a fit."""

import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from gramian import (
    PPCA,
    KernelPPCA,
    KernelPPCAMixture,
    LatentImputer,
    MultiViewRKM,
    PPCAMixture,
    RKMClassifier,
    RKMRegressor,
)
from gramian.features import Nystroem
from gramian.rows import DaskRows, as_rows
from gramian.views import folds as view_folds
from gramian.views import moments as view_moments
from gramian.views import rows as _view_rows
from gramian.views import survey as _view_survey
from gramian.views import view as views

# a warning turned into an error inside the scheduler, which lives in this process, would stop it for good
pytestmark = pytest.mark.filterwarnings("default")

da = pytest.importorskip("dask.array", reason="the extra [dask] is not installed")
distributed = pytest.importorskip("distributed", reason="the extra [dask] is not installed")

RNG = np.random.default_rng(6)
X = np.vstack([2 * RNG.standard_normal((60, 2)) @ RNG.standard_normal((2, 4)) + 9 * k for k in range(2)])
X += 0.4 * RNG.standard_normal(X.shape)
HOLES = np.where(RNG.random(X.shape) < 0.12, np.nan, X)
Y = X[:, 0] - X[:, 1] + RNG.standard_normal(len(X))
WEIGHTS = RNG.integers(0, 3, len(X)).astype(float)

VIEWS = {"a": [0, 1], "b": [2, 3]}
MODELS = {
    "PPCA auto": (PPCA(), X, None),
    "PPCA with holes": (PPCA(2), HOLES, None),
    "mixture with holes": (PPCAMixture(2, 1, random_state=0), HOLES, None),
    "nystroem": (KernelPPCA(3, approximation="nystroem", n_landmarks=20), X, None),
    "kernel mixture": (KernelPPCAMixture(2, 2, approximation="nystroem", n_landmarks=20, random_state=0), X, None),
    "imputer": (LatentImputer(), HOLES, None),
    "regressor": (RKMRegressor(kernel="rbf", approximation="nystroem", n_landmarks=20), X, Y),
    "classifier": (RKMClassifier(kernel="linear"), X, (Y > 0).astype(int)),
    "views": (MultiViewRKM(views=VIEWS), X, None),
    "views with holes": (MultiViewRKM(1, views=VIEWS), HOLES, None),
    "views behind maps": (MultiViewRKM(1, views=VIEWS, kernel={"a": Nystroem("rbf", 9), "b": "linear"}), X, None),
}


@pytest.fixture(autouse=True)
def _few_rows_are_many(monkeypatch):
    for module in (views, view_moments, view_folds, _view_rows, _view_survey):
        monkeypatch.setattr(module, "LOOK", replace(module.LOOK, rows=40))


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def answers(model, table):
    if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
        return model.predict_proba(table)
    if isinstance(model, RKMRegressor):
        return np.column_stack(model.predict(table, return_std=True))
    if isinstance(model, LatentImputer):
        return np.hstack(model.impute(table, return_std=True))
    return model.score_samples(table)


@pytest.mark.parametrize("name", MODELS)
def test_two_processes_give_the_model_of_the_table(name, client):
    model, table, y = MODELS[name]
    rows = da.from_array(table, chunks=((37, 1, 52, 30), (4,)))  # one block has one row
    weighted = {} if isinstance(model, LatentImputer) else {"sample_weight": WEIGHTS}
    targets = [] if y is None else [da.from_array(y, chunks=50)]
    found = clone(model).fit(rows, *targets, **weighted)
    expected = answers(clone(model).fit(table, *([] if y is None else [y]), **weighted), table)
    assert_allclose(answers(found, table), expected, rtol=1e-9, atol=1e-9 * abs(expected).max())


def token(block):
    """Another number each time it is made."""
    return int.from_bytes(os.urandom(6), "big")


def prepared(block):
    return block.prepared


def test_what_is_prepared_is_kept_by_the_workers_and_released_with_the_rows(client):
    rows = as_rows(da.from_array(X, chunks=(30, -1))).prepare(token)
    assert rows.map(prepared) == rows.map(prepared)
    held = {key for keys in client.has_what().values() for key in keys if "_prepared_group" in str(key)}
    assert held
    del rows
    for _ in range(100):
        left = {key for keys in client.has_what().values() for key in keys} & held
        if not left:
            break
        threading.Event().wait(0.05)
    assert not left


@pytest.mark.parametrize("change", ["killed", "added"])
@pytest.mark.parametrize("name", ["PPCA with holes", "regressor"])
def test_a_worker_that_dies_or_comes_in_the_middle_of_a_fit_changes_nothing(name, change, client, monkeypatch):
    model, table, y = MODELS[name]
    rows = da.from_array(table, chunks=(20, -1))
    targets = [] if y is None else [y]
    expected = answers(clone(model).fit(table, *targets), table)
    pid = client.submit(os.getpid, pure=False).result()
    passes, started, done = [], threading.Event(), threading.Event()
    run = DaskRows._run

    def counted(self, *given, **options):
        passes.append(given[1].__name__)
        if len(passes) == 2:
            started.set()
        return run(self, *given, **options)

    def act():
        started.wait(60)
        if change == "killed":
            os.kill(pid, signal.SIGKILL)
        else:
            client.cluster.scale(3)
        done.set()

    monkeypatch.setattr(DaskRows, "_run", counted)
    actor = threading.Thread(target=act)
    actor.start()
    found = clone(model).fit(rows, *targets)
    actor.join(60)
    assert done.is_set()
    assert len(passes) > 2  # the fit went on after it
    assert_allclose(answers(found, table), expected, rtol=1e-9, atol=1e-9 * abs(expected).max())


def slow(block):
    time.sleep(1.0)
    return 1.0


def test_an_interrupt_leaves_no_task_running(client):
    rows = as_rows(da.from_array(X, chunks=(15, 4)))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # test runners may ignore it
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            rows.fold(slow)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    until = time.monotonic() + 60  # a block that is being worked on is worked on to its end
    while any(client.processing().values()) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(client.processing().values())
    assert rows.fold(token_weight) == len(X)  # the workers are free, and the rows are still there


def token_weight(block):
    return float(block.weights.sum())


for function in (token, prepared, slow, token_weight):
    function.__module__ = "__main__"  # workers cannot import this file: functions travel by value
