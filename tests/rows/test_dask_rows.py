"""Rows on Dask: the same sums, and a killed worker changes nothing."""

import os
import signal

import numpy as np
import pytest

from gramian.operators.moments import Moments
from gramian.rows import as_rows, is_dask
from gramian.rows.draws import block_moments as moments

# a warning turned into an error inside the scheduler, which lives in this process, would stop it for good
pytestmark = pytest.mark.filterwarnings("default")

dask = pytest.importorskip("dask", reason="the extra [dask] is not installed")
da = pytest.importorskip("dask.array", reason="the extra [dask] is not installed")


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).standard_normal((300, 4)) + 3


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed", reason="the extra [dask] is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def lazy(X, kind):
    if kind == "rows":
        return da.from_array(X, chunks=(37, -1))
    if kind == "columns":
        return da.from_array(X, chunks=(100, 3))
    if kind == "unknown":
        array = da.from_array(X, chunks=(50, -1))
        return array[array[:, 0] > -1e9]
    if kind == "empty blocks":
        array = da.from_array(X, chunks=(60, -1))
        return da.concatenate([array[:0], array, array[:0]])
    assert kind == "frame"
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    return dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=4)


KINDS = ["rows", "columns", "unknown", "empty blocks", "frame"]


def check(rows, X):
    found, whole = rows.fold(moments), Moments.of(X)
    np.testing.assert_allclose(found.scatter, whole.scatter, rtol=1e-12)
    np.testing.assert_allclose(found.mean, whole.mean, rtol=1e-12)
    assert sum(rows.map(lambda block: len(block))) == 300


@pytest.mark.parametrize("kind", KINDS)
def test_sums_without_a_client(X, kind):
    with dask.config.set(scheduler="threads"):
        check(as_rows(lazy(X, kind)), X)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_on_a_cluster(X, kind, client):
    check(as_rows(lazy(X, kind)), X)


def test_workers_are_asked_of_the_scheduler(X, client, monkeypatch):
    # every two seconds the client renews its own copy without the workers, which once looked like a cluster that has none
    monkeypatch.setattr(client, "scheduler_info", lambda **kwargs: {"workers": {}})
    check(as_rows(lazy(X, "rows")), X)


def test_weights_are_cut_as_the_rows_are(X):
    weights = np.arange(300.0)
    expected = Moments.of(X, weights).scatter
    for given in (weights, da.from_array(weights, chunks=60)):
        for kind in ("rows", "unknown") if isinstance(given, np.ndarray) else ("rows",):
            np.testing.assert_allclose(as_rows(lazy(X, kind), given).fold(moments).scatter, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="sample_weight has 3"):
        as_rows(lazy(X, "rows"), np.ones(3))


def test_text_is_refused_by_name(X):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "town": ["x", "y"]}), npartitions=1)
    with pytest.raises(ValueError, match="town"):
        as_rows(frame)


def test_is_dask_needs_no_import():
    assert not is_dask(np.eye(2))
    assert is_dask(da.zeros((2, 2)))


def test_rows_never_move_and_a_killed_worker_changes_nothing(X):
    distributed = pytest.importorskip("distributed", reason="the extra [dask] is not installed")
    big = np.tile(X, (200, 1))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        array = da.random.default_rng(0).standard_normal(big.shape, chunks=(6000, -1))
        rows = as_rows(array)
        before = rows.fold(moments)
        moved = client.run(lambda dask_worker: sum(log["total"] for log in dask_worker.transfer_outgoing_log))
        assert sum(moved.values()) < 0.01 * big.nbytes
        pending = client.submit(os.getpid, pure=False)
        os.kill(pending.result(), signal.SIGKILL)
        after = rows.fold(moments)
        assert (after.scatter == before.scatter).all()
        assert (after.mean == before.mean).all()
        cluster.scale(3)
        assert (rows.fold(moments).scatter == before.scatter).all()
