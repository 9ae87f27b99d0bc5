"""Freed memory is kept while a task runs, and handed back at the end, only where the environment asks for that."""

import pytest

from gramian.rows import dask_rows as module

TRIM, MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h


class Recorded:
    def __init__(self):
        self.calls = []

    def mallopt(self, name, value):
        self.calls.append((name, value))

    def malloc_trim(self, pad):
        self.calls.append("trim")


@pytest.fixture
def library(monkeypatch):
    found = Recorded()
    monkeypatch.setattr(module, "_libc", lambda: found)
    return found


def test_thresholds_are_set_by_the_first_task_and_set_back_by_the_last(library, monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    with module.kept_memory():
        with module.kept_memory():
            assert library.calls == [(MMAP, 1 << 28), (TRIM, 1 << 28)]
        assert len(library.calls) == 2
    assert library.calls[2:] == [(MMAP, 1 << 17), (TRIM, 65536), "trim"]


def test_a_task_that_fails_sets_them_back_too(library, monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    with pytest.raises(ZeroDivisionError), module.kept_memory():
        raise ZeroDivisionError
    assert library.calls[-1] == "trim"


@pytest.mark.parametrize("value", [None, "", "many"])
def test_a_process_that_was_not_asked_to_hand_memory_back_is_left_alone(library, monkeypatch, value):
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    if value is not None:
        monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", value)
    with module.kept_memory():
        pass
    assert library.calls == []
