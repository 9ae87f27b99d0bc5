"""Files that need not fit into memory: fits that pass over the rows in pieces, as often as the model needs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._catalogue import entry_of_word
from gramian._content import SmallestRows
from gramian._progress import Progress
from gramian.cli._models import detector_of, estimator_for, facts_of
from gramian.io.source import memory_available
from gramian.io.table_model import TableModel, without_holes
from gramian.policy import KERNELS, LOOK
from gramian.tables.preprocessing import Preprocessing

STREAMED = ("ppca", "mixture", "kernel", "kernel-mixture", "regressor", "views")
"""Kinds of models whose fits are sums over rows."""
HELD_SHARE = 8
"""A file is held in memory while it is no larger than this part of what may be used: parsed and fitted, a table took six times its file (benchmarks/large_files.py)."""


def should_stream(kind: str, size: int, asked: bool | None, memory: int | None = None) -> bool:
    """Whether the rows are to pass by instead of being held: when asked, or when the file is large for the memory that may be used."""
    if asked and kind not in STREAMED:
        raise ValueError(
            f"--stream works with --model {', '.join(STREAMED)}, not with --model {kind}, which needs all rows at once."
        )
    if asked is not None:
        return asked
    return kind in STREAMED and size > memory_of_stream(memory) // HELD_SHARE


def memory_of_stream(memory: int | None) -> int:
    """What ``--memory`` says, else half of what the process may use."""
    return memory_available() // 2 if memory is None else memory


class Pieces:
    """The rows of a file in numbers, piece by piece, in as many passes as are asked for; each says how fast it goes."""

    def __init__(
        self, opened: Any, prepare: Preprocessing, *, target: bool = False, filler: Any = None, verbose: int = 0
    ) -> None:
        self.opened, self.prepare, self.target, self.filler, self.verbose = opened, prepare, target, filler, verbose
        self.passes = 0

    def __call__(self) -> Iterator[Any]:
        """One pass."""
        self.passes += 1
        start, done = time.monotonic(), 0
        with Progress(f"pass {self.passes}", verbose=self.verbose) as bar:
            for part in self.opened.reader.batches():
                X = without_holes(self.filler, self.prepare.matrix(part))
                yield (X, self.prepare.targets(part)) if self.target else X
                done += len(X)
                seconds = max(time.monotonic() - start, 1e-9)
                bar.step(rows=done, **{"rows/s": round(done / seconds)})

    def drawn(self) -> Array:
        """The distinct rows of smallest hash: one more pass."""
        found: SmallestRows | None = None
        for piece in self():
            X = piece[0] if self.target else piece
            some = SmallestRows.of(X, np.ones(len(X)), LOOK.rows)
            found = some if found is None else found + some
        assert found is not None
        return found.rows


def fit_stream(kind: str, session: Any, opened: Any, options: Mapping[str, Any]) -> TableModel:
    """What the columns are, then the fit: some passes over the file, one piece in memory at a time."""
    prepare = opened.preprocessing()
    if kind in ("kernel", "kernel-mixture") and not options.get("landmarks"):
        options = {**options, "landmarks": KERNELS.landmarks}
        session.note(f"the rows pass by: the kernel is approximated with {KERNELS.landmarks} landmarks (--landmarks N)")
    estimator = estimator_for(kind, options, prepare, 0)
    filler = None
    if not entry_of_word(kind).batches_with_holes:
        filler = _filler(Pieces(opened, prepare, verbose=session.verbose))
    pieces = Pieces(opened, prepare, target=kind == "regressor", filler=filler, verbose=session.verbose)
    fitted = estimator.fit_batches(pieces)
    detector = detector_of(fitted, pieces.drawn(), options)
    return TableModel(kind, fitted, prepare, facts_of(fitted), detector, filler=filler)


def _filler(pieces: Pieces) -> Any:
    """What fills the inputs of a file that is not held, for an estimator that takes no holes."""
    from gramian import PPCA, LatentImputer

    if any(np.isnan(X).any() for X in pieces()):
        return LatentImputer(standardize=False).fit_batches(pieces)
    return PPCA().fit_batches(pieces)


def streamed_imputer(kind: str, plain: bool, session: Any, opened: Any, options: Mapping[str, Any]) -> TableModel:
    """The model that fills the holes of a file that is not held: the calibrated one, or the one asked for."""
    import gramian

    prepare = opened.preprocessing()
    pieces = Pieces(opened, prepare, verbose=session.verbose)
    if not plain:
        estimator = estimator_for(kind, options, prepare, 0).fit_batches(pieces)
        return TableModel(kind, estimator, prepare, facts=facts_of(estimator))
    estimator = gramian.LatentImputer(standardize=False).fit_batches(pieces)
    facts = {**facts_of(estimator.estimator_), "estimator": "LatentImputer"}
    return TableModel("ppca", estimator, prepare, facts=facts)
