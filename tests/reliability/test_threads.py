"""RELIABILITY rows THR: one fitted object used from many threads, clones fitted in parallel, forks."""

from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from reliability.cases import CASES, X

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
    results = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(_fitted)(name) for name in ("PPCA", "KernelPPCA")
    )
    assert all(np.isfinite(result["transform"]).all() for result in results)
