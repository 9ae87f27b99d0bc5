"""Threads: one of BLAS in a fit, all for large matrices, as many of our own as there were; restored by whoever leaves last."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from gramian import PPCA
from gramian._threads import (
    own_threads,
    single_blas_thread,
    thread_count,
    thread_map,
    threads_for_rows,
    threads_for_size,
)
from gramian.policy import SIZES


def threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("BLAS of this process cannot be given two threads")
        if thread_count() != 2:
            pytest.skip("a thread that another test left behind still asks for one thread of BLAS")
        yield


def test_one_thread_of_blas_holds_until_the_last_that_asked_has_left(two_threads):
    first, second = single_blas_thread(), single_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == {1}
    assert thread_count() == 1
    second.__exit__(None, None, None)
    assert threads() == {2}
    assert thread_count() == 2


def test_few_rows_have_one_thread_in_all_and_many_have_their_own(two_threads):
    for n_rows, own in ((SIZES.one_thread, 1), (SIZES.one_thread + 1, 2), (float("nan"), 2)):
        with threads_for_rows(n_rows):
            assert (threads(), thread_count()) == ({1}, own)
    assert (threads(), thread_count()) == ({2}, 2)


def test_a_large_matrix_has_all_threads_of_blas_unless_one_in_all_is_asked_for(two_threads):
    with own_threads():
        with threads_for_size(SIZES.all_threads - 1):
            assert threads() == {1}
        with threads_for_size(SIZES.all_threads):
            assert (threads(), thread_count()) == ({2}, 2)
        assert threads() == {1}
        with single_blas_thread(), threads_for_size(SIZES.all_threads):
            assert (threads(), thread_count()) == ({1}, 1)


def test_threads_of_our_own_have_one_thread_of_blas_and_start_no_others(two_threads):
    with own_threads():
        assert thread_map(lambda item: (item, threads(), thread_count()), range(3), 2) == [
            (item, {1}, 1) for item in range(3)
        ]


def test_a_fit_of_many_rows_leaves_blas_as_it_was(two_threads):
    rows = np.random.default_rng(0).standard_normal((SIZES.one_thread + 100, 3))
    PPCA(1).fit(rows)
    assert threads() == {2}
    with pytest.raises(ValueError, match="n_components"):
        PPCA(99).fit(rows)
    assert threads() == {2}


def test_the_lost_end_of_a_with_leaves_no_limit_behind(two_threads):
    lost = single_blas_thread()
    lost.__enter__()
    assert threads() == {1}
    del lost  # as an interrupt between the two leaves it
    assert threads() == {2}
    assert thread_count() == 2
