"""Rows of a Dask array or frame: they stay where they are, and only sums travel [13].

With a distributed client, blocks are computed from their recipe where the scheduler keeps them (a worker that dies costs a recomputation,
nothing else), and each pass is one task per group of blocks. Without a client, the default scheduler runs the same tasks.
Groups are fixed once, so sums are added in the same order whatever happens to the workers.
"""

from __future__ import annotations

import ctypes
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from operator import add
from threading import Lock
from typing import Any

import numpy as np

from gramian._arrays import is_dask
from gramian._checks import check_block_weights, check_table
from gramian._threads import single_blas_thread
from gramian.rows.array import ArrayRows, prepared_bytes
from gramian.rows.base import NO_ROWS, Result, Sum


@dataclass(frozen=True)
class DaskRows:
    """Groups of blocks (`ArrayRows`, each a Dask object) and, with a client, the worker that each group is at home with."""

    groups: tuple[tuple[Any, ...], ...]
    homes: tuple[str, ...]  # empty without a client
    n_columns: int
    dtype: np.dtype[Any]
    feature_names: list[str] | None
    preparation: tuple[Any, ...] = ()
    client: Any = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, X: Any, weights: Any = None, target: Any = None, *, missing: bool = True) -> DaskRows:
        """The rows of a Dask array (any chunks) or frame; weights and target may be Dask or NumPy."""
        frame = hasattr(X, "columns")
        names, n_columns, dtype = _described_frame(X) if frame else _described_array(X)
        blocks = _blocks(X, weights, target, frame, missing)
        if not blocks:
            raise ValueError(NO_ROWS)
        client = _client()
        with _in_words():
            groups, homes = _groups(blocks, client)
        return cls(groups, homes, n_columns, dtype, names, client=client)

    def map(self, task: Callable[..., Result], *common: Any) -> list[Result]:
        parts = self._run(_map_group, task, common)
        return [result for part in parts for result in part]

    def fold(self, task: Callable[..., Sum], *common: Any) -> Sum:
        parts = self._run(_fold_group, task, common, merge=True)
        parts = [part for part in parts if part is not None]
        if not parts:
            raise ValueError(NO_ROWS)
        return reduce(add, parts)

    def prepare(self, task: Callable[..., Any], *common: Any) -> DaskRows:
        """The rows with what was prepared of them, kept by the workers for as long as these rows are: a lost group is made again."""
        if self.client is None:
            return replace(self, preparation=(task, *common))
        with _in_words():
            limits = _memory_limits(self.client)
            work = Work(preparation=(task, *common))
            futures = self._submitted(_prepared_group, work, [0.3 * limits[home] for home in self.homes])
        return replace(self, groups=tuple((future,) for future in futures))

    def _submitted(self, run: Callable[..., Any], work: Work, *each: Sequence[Any]) -> list[Any]:
        """One task per group, where it is at home; ``each`` holds one more argument per group."""
        return [
            self.client.submit(
                run,
                work,
                *(arguments[i] for arguments in each),
                *group,
                workers=[home],
                allow_other_workers=True,
                pure=False,
            )
            for i, (group, home) in enumerate(zip(self.groups, self.homes))
        ]

    def _run(self, run: Callable[..., Any], task: Any, common: Any, merge: bool = False) -> list[Any]:
        """``run`` on every group, where it is at home; answers in the order of the groups."""
        work = Work(task, common, self.preparation)
        if self.client is None:
            import dask

            tasks = [dask.delayed(run, pure=False)(work, *group) for group in self.groups]
            return list(dask.compute(*tasks))
        futures: list[Any] = []
        try:
            with _in_words():
                futures = self._submitted(run, work)
                while merge and len(futures) > 8:  # fewer come home
                    pairs = [futures[i : i + 2] for i in range(0, len(futures), 2)]
                    futures = [self.client.submit(_add, *pair, pure=False) for pair in pairs]
                return list(self.client.gather(futures))
        except BaseException:
            with suppress(Exception):  # there may be no scheduler to tell
                self.client.cancel(futures)  # an interrupt leaves no task running
            raise


@contextmanager
def _in_words() -> Iterator[None]:
    """What becomes of a cluster, told by exceptions that users know; those of tasks are as they are."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError | ValueError | TypeError) or not type(error).__module__.startswith("distributed"):
            raise
        if type(error).__name__ == "KilledWorker":
            raise MemoryError(
                "Workers of Dask died while they worked on a block, probably for want of memory. Use smaller chunks, or workers with more memory. "
                f"Dask says: {error}"
            ) from error
        raise ConnectionError(
            f"The scheduler of Dask cannot be reached any more. Start a cluster and a client, and fit again. Dask says: {error}"
        ) from error


# ---------------------------------------------------------------- what runs where the rows are


class Work:
    """What is done with rows, closed to Dask: a bare tuple that begins with a function is a task to its older schedulers."""

    def __init__(self, task: Any = None, common: Any = (), preparation: Any = ()) -> None:
        self.task = task
        self.common = common
        self.preparation = preparation


def side_by_side(views: Mapping[Any, Any]) -> tuple[Any, list[int]]:
    """One Dask array of all views, each a Dask array or frame, and the number of columns of each."""
    import dask.array as da

    for name, view in views.items():
        if view is None or not is_dask(view):
            raise TypeError(f"View {name!r} is no Dask array, but others are. Give all views on Dask, or none.")
    arrays = [view.to_dask_array() if hasattr(view, "columns") else view for view in views.values()]
    table = da.concatenate(arrays, axis=1, allow_unknown_chunksizes=True)
    return table, [int(array.shape[1]) for array in arrays]


def _fold_group(work: Work, *blocks: Any) -> Any:
    """The sum over the blocks of a group, None if all are empty."""
    with single_blas_thread(), kept_memory():
        parts = [block.fold(work.task, *work.common) for block in _with_rows(work.preparation, blocks)]
    return reduce(add, parts) if parts else None


def _map_group(work: Work, *blocks: Any) -> list[Any]:
    with single_blas_thread(), kept_memory():
        parts = [block.map(work.task, *work.common) for block in _with_rows(work.preparation, blocks)]
    return [result for part in parts for result in part]


def _prepared_group(work: Work, memory: float, *blocks: Any) -> list[ArrayRows]:
    """The blocks with what was prepared of them; beyond ``memory`` bytes it is made anew in each pass."""
    found: list[ArrayRows] = []
    preparation = work.preparation
    with single_blas_thread(), kept_memory():
        for block in _with_rows((), blocks):
            memory -= prepared_bytes(block.X.size)
            found.append(block.keeping(*preparation) if memory >= 0 else replace(block, preparation=preparation))
    return found


def _with_rows(preparation: Any, blocks: Any) -> Iterator[ArrayRows]:
    """The blocks that have rows; a group that was prepared is a list of them."""
    for block in blocks:
        for one in block if isinstance(block, list) else [block]:
            if len(one):
                yield replace(one, preparation=preparation) if preparation else one


def _add(first: Any, second: Any = None) -> Any:
    return second if first is None else first if second is None else first + second


def _block(part: Any, weights: Any, target: Any, names: list[str] | None, missing: bool) -> ArrayRows:
    """One checked block, made where its rows are."""
    if isinstance(part, np.ndarray) and part.ndim == 2 and not len(part):
        return ArrayRows(part.astype(np.float64), np.ones(0), None if target is None else np.asarray(target), names)
    if not len(part):
        return ArrayRows(
            np.empty((0, part.shape[1])), np.ones(0), None if target is None else np.asarray(target), names
        )
    X = check_table(None, part, reset=True, missing=missing)
    w = np.ones(len(X)) if weights is None else check_block_weights(weights, X)
    return ArrayRows(X, w, None if target is None else np.asarray(target), names).positive()


# ---------------------------------------------------------------- taking a collection apart


def _described_array(X: Any) -> tuple[None, int, np.dtype[Any]]:
    if X.ndim != 2:
        raise ValueError(f"Expected a 2-D Dask array, got one of {X.ndim} dimensions. Reshape it: one row per sample.")
    if X.dtype.kind not in "fiub":
        check_table(
            None, np.zeros((1, X.shape[1]), dtype=X.dtype), reset=True
        )  # the words for text, dates, complex numbers
    if np.isnan(X.shape[1]):
        raise ValueError("The number of columns of the Dask array is unknown. Call compute_chunk_sizes() on it.")
    return None, int(X.shape[1]), np.dtype(np.float32 if X.dtype == np.float32 else np.float64)


def _described_frame(X: Any) -> tuple[list[str], int, np.dtype[Any]]:
    check_table(None, X._meta_nonempty, reset=True, missing=True)  # text and dates are refused by their column's name
    names = [str(name) for name in X.columns]
    single = all(dtype == np.float32 for dtype in X.dtypes)
    return names, len(names), np.dtype(np.float32 if single else np.float64)


def _blocks(X: Any, weights: Any, target: Any, frame: bool, missing: bool) -> list[Any]:
    """One delayed `ArrayRows` per block of rows."""
    import dask

    if frame:
        parts = list(X.to_delayed())
        lengths = None
    else:
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        parts = [row[0] for row in X.to_delayed()]
        lengths = X.chunks[0]
    names = [str(name) for name in X.columns] if frame else None
    sides = [_side(side, X, parts, lengths, what) for side, what in ((weights, "sample_weight"), (target, "y"))]
    make = dask.delayed(_block, pure=True)
    return [make(part, weight, aim, names, missing) for part, weight, aim in zip(parts, *sides)]


def _side(side: Any, X: Any, parts: Sequence[Any], lengths: Any, what: str) -> list[Any]:
    """Weights or targets cut as the rows are."""
    if side is None:
        return [None] * len(parts)
    if is_dask(side):
        pieces = list(np.ravel(side.to_delayed()))
        if len(pieces) != len(parts):
            if lengths is None or not hasattr(side, "rechunk"):
                raise ValueError(f"{what} has {len(pieces)} blocks, but X has {len(parts)}. Give it the same blocks.")
            pieces = list(np.ravel(side.rechunk((lengths, *side.chunks[1:])).to_delayed()))
        return pieces
    side = np.asarray(side)
    if lengths is None or np.isnan(np.asarray(lengths, dtype=float)).any():
        import dask

        lengths = dask.compute(*[dask.delayed(len)(part) for part in parts])
    if sum(lengths) != len(side):
        raise ValueError(f"X has {sum(lengths)} rows, but {what} has {len(side)}. Give one per row.")
    return np.split(side, np.cumsum(lengths)[:-1])


def _client() -> Any:
    """The user's distributed client, or None."""
    try:
        from distributed import default_client
    except ImportError:
        return None
    try:
        return default_client()
    except ValueError:
        return None


def _workers(client: Any) -> dict[str, Any]:
    """What the scheduler says of each worker, asked anew: the client's own copy names none of them while it is renewed."""
    if client.status == "closed":
        return {}
    found: dict[str, Any] = client.sync(client.scheduler.identity)["workers"]
    return found


def _memory_limits(client: Any, unknown: float = 2.0**31) -> dict[str, float]:
    """The memory of each worker, in bytes; ``unknown`` of one that does not say."""
    known = {address: float(about.get("memory_limit") or unknown) for address, about in _workers(client).items()}
    return defaultdict(lambda: min(known.values(), default=unknown), known)


def _groups(blocks: list[Any], client: Any) -> tuple[tuple[tuple[Any, ...], ...], tuple[str, ...]]:
    """Groups of blocks and their homes: by the worker that holds them, so that no block has to move."""
    if client is None:
        cuts = [part.tolist() for part in np.array_split(np.arange(len(blocks)), min(8, len(blocks)))]
        return tuple(tuple(blocks[i] for i in cut) for cut in cuts), ()
    workers = sorted(_workers(client))
    if not workers:
        raise ValueError("The Dask client has no workers. Start some, or close the client.")
    from distributed import wait

    # no home is asked for here: the restriction would hold for every task of the recipe, also when that worker is gone
    futures = client.compute(blocks)
    wait(futures)
    where = client.who_has(futures)
    by_home: dict[str, list[Any]] = {}
    for future in futures:
        holders = sorted(where.get(future.key, ())) or workers
        by_home.setdefault(holders[0], []).append(future)
    return tuple(tuple(group) for group in by_home.values()), tuple(by_home)


_lock = Lock()
_tasks = 0


@lru_cache(maxsize=1)
def _libc() -> Any:
    """glibc, where the process runs on it."""
    try:
        library = ctypes.CDLL("libc.so.6")
        return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
    except OSError:
        return None


@contextmanager
def kept_memory() -> Iterator[None]:
    """Within it freed memory is used again; where the environment asks for memory to be handed back, that is done at the end.

    Workers of Dask hand every freed array back at once, which costs a pass as much again in pages that are mapped anew.
    """
    asked = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    library = _libc() if asked.isdigit() else None
    if library is None:
        yield
        return
    _count(library, 1, int(asked))
    try:
        yield
    finally:
        _count(library, -1, int(asked))


def _count(library: Any, change: int, asked: int) -> None:
    """The first task to come sets the thresholds so that freed blocks up to 256 MiB are used again, the last to go sets them back."""
    trim_threshold, mmap_threshold = -1, -3  # as glibc's mallopt knows them
    global _tasks
    with _lock:
        _tasks += change
        if change > 0 and _tasks == 1:
            library.mallopt(mmap_threshold, 1 << 28)
            library.mallopt(trim_threshold, 1 << 28)
        elif _tasks == 0:
            library.mallopt(mmap_threshold, 1 << 17)  # glibc's own
            library.mallopt(trim_threshold, asked)
            library.malloc_trim(0)
