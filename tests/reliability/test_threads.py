"""RELIABILITY rows THR: one fitted object used from many threads, clones fitted in parallel, forks, interrupts."""

import multiprocessing
import signal
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

pytest.importorskip("pandas")  # frames are among the subjects
from benchmarks.soak_interrupts import interrupted
from benchmarks.subjects import OURS
from numpy.testing import assert_array_equal
from sklearn.base import clone

from reliability.cases import CASES, X

HANGS_AFTER = 300
"""Seconds: a guard against a deadlock, not a timing."""
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@every
def test_thr_01_eight_threads_get_identical_results_and_change_nothing(case):
    model = case.fit(X)
    before = joblib.hash(vars(model))
    expected = case.outputs(model, X)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: case.outputs(model, X), range(16)))
    for result in results:
        for name in expected:
            assert_array_equal(result[name], expected[name])
    assert joblib.hash(vars(model)) == before


@every
def test_thr_04_clones_fitted_in_parallel_equal_serial_fits(case):
    expected = case.outputs(case.fit(X), X)

    def fit(_):
        model = clone(case.make())
        return case.outputs(model.fit(X) if case.y is None else model.fit(X, case.y), X)

    with ThreadPoolExecutor(2) as pool:
        for result in pool.map(fit, range(2)):
            for name in expected:
                assert_array_equal(result[name], expected[name])


def _fitted(name):
    return CASES[name].outputs(CASES[name].fit(X), X)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_thr_03_joblib_backends_do_not_hang(backend):
    np.linalg.eigh(np.eye(50))
    expected = _fitted("PPCA")["transform"]
    results = joblib.Parallel(n_jobs=2, backend=backend, timeout=HANGS_AFTER)(
        joblib.delayed(_fitted)(name) for name in ("PPCA", "KernelPPCA", "PPCAMixture")
    )
    assert_array_equal(results[0]["transform"], expected)
    assert all(np.isfinite(values.astype(float)).all() for result in results for values in result.values())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_thr_03_a_fork_after_work_in_threads_answers_as_its_parent():
    expected = {name: _fitted(name) for name in CASES}  # BLAS and the library's own threads have been at work
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.map_async(_fitted, list(CASES)).get(timeout=HANGS_AFTER)
    for name, result in zip(CASES, found, strict=True):
        for method, values in result.items():
            assert_array_equal(values, expected[name][method], err_msg=f"{name}.{method}")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize("name", OURS)
@pytest.mark.filterwarnings("ignore")
def test_a_fit_that_is_interrupted_leaves_a_whole_model(name):
    found = interrupted(OURS[name], moments=12)
    assert found["hit"] > 0
    assert found["broken"] == 0
