"""Faults of a cluster: a scheduler that is lost, workers without memory, blocks without rows or of unknown length; a fit ends in numbers or in words."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import PPCA, LatentImputer, RKMRegressor
from gramian.rows import as_rows
from gramian.rows.draws import block_moments as moments

# a warning turned into an error inside the scheduler, which lives in this process, would stop it for good
pytestmark = pytest.mark.filterwarnings("default")

dask = pytest.importorskip("dask", reason="the extra [dask] is not installed")
da = pytest.importorskip("dask.array", reason="the extra [dask] is not installed")
distributed = pytest.importorskip("distributed", reason="the extra [dask] is not installed")

X = np.random.default_rng(0).standard_normal((300, 4)) @ np.diag([3.0, 2.0, 1.0, 0.5])
Y = X[:, 0] - X[:, 1]


def cluster(**options):
    """A cluster of one worker; a loaded machine has all the time it needs."""
    return distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50, **options
    )


def test_a_lost_scheduler_is_told_in_words():
    with cluster(processes=False) as held, distributed.Client(held) as client:
        client.wait_for_workers(1, timeout=300)
        rows = as_rows(da.from_array(X, chunks=(100, -1)))
        assert_allclose(rows.fold(moments).mean, X.mean(axis=0))
        held.close()
        with pytest.raises(ConnectionError, match="scheduler"):
            rows.fold(moments)
        with pytest.raises(ConnectionError, match="scheduler"):
            rows.prepare(moments)


def _use_up(block):
    import time

    held = np.ones(150_000_000)  # 1.2 GB
    time.sleep(300)
    return block * held[0]


def test_a_worker_beyond_its_memory_is_told_in_words_and_the_model_stands():
    model = PPCA(2).fit(X)
    before = model.components_.copy()
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0, "distributed.worker.memory.terminate": 0.9}),
        cluster(processes=True, memory_limit="700MB") as held,
        distributed.Client(held) as client,
    ):
        client.wait_for_workers(1, timeout=300)
        greedy = da.from_array(X, chunks=(300, -1)).map_blocks(_use_up, dtype=float, meta=np.empty((0, 0)))
        with pytest.raises(MemoryError, match="smaller chunks"):
            model.fit(greedy)
    assert (model.components_ == before).all()


def _unknown(rows):
    array = da.from_array(rows, chunks=(70, -1))
    return array[da.isfinite(array[:, 0]) | True]


def _empty_parts(rows):
    array = da.from_array(rows, chunks=(90, -1))
    return da.concatenate([array[:0], array[:90], array[:0], array[90:], array[:0]])


@pytest.mark.parametrize("lazy", [_unknown, _empty_parts])
def test_models_of_blocks_without_rows_or_of_unknown_length_are_those_of_the_table(lazy):
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    with dask.config.set(scheduler="synchronous"):
        assert_allclose(PPCA(2).fit(lazy(X)).get_covariance(), PPCA(2).fit(X).get_covariance(), atol=1e-9)
        filled = LatentImputer(PPCA(2)).fit(lazy(holes)).transform(holes)
        assert_allclose(filled, LatentImputer(PPCA(2)).fit(holes).transform(holes), atol=1e-6)
        found = RKMRegressor(kernel="linear").fit(lazy(X), lazy(Y[:, None])[:, 0])
        assert_allclose(found.predict(X), RKMRegressor(kernel="linear").fit(X, Y).predict(X), atol=1e-8)


@pytest.mark.parametrize("model", [PPCA(2), LatentImputer(PPCA(2))], ids=lambda model: type(model).__name__)
def test_blocks_that_are_all_empty_are_refused(model):
    nothing = da.from_array(X, chunks=(100, -1))
    with dask.config.set(scheduler="synchronous"):
        for lazy in (nothing[:0], nothing[nothing[:, 0] > 1e9]):
            with pytest.raises(ValueError, match=r"row|sample"):
                model.fit(lazy)
