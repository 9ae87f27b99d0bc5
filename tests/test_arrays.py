"""Threads of BLAS: one for small work, restored by whoever leaves last."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from gramian._arrays import FEW_ROWS, blas_for_rows, blas_threads, single_blas_thread


def threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("BLAS of this process cannot be given two threads")
        if blas_threads() != 2:
            pytest.skip("a thread that another test left behind still asks for one thread of BLAS")
        yield


def test_one_thread_of_blas_holds_until_the_last_that_asked_has_left(two_threads):
    first, second = single_blas_thread(), single_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == {1}
    assert blas_threads() == 1
    second.__exit__(None, None, None)
    assert threads() == {2}
    assert blas_threads() == 2


def test_few_rows_have_one_thread_and_many_have_all(two_threads):
    for n_rows, count in ((FEW_ROWS, 1), (FEW_ROWS + 1, 2), (float("nan"), 2)):
        with blas_for_rows(n_rows):
            assert threads() == {count}


def test_the_lost_end_of_a_with_leaves_no_limit_behind(two_threads):
    lost = single_blas_thread()
    lost.__enter__()
    assert threads() == {1}
    del lost  # as an interrupt between the two leaves it
    assert threads() == {2}
    assert blas_threads() == 2
