"""Rows dealt to folds: models of a family are fitted without each fold in turn, and judged by it [10, 13].

The only loop over folds. A family says how its models are fitted (`Family.path`: one decomposition, or one chain of warm starts, for all
candidates), and a path what they lose on rows that it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from gramian._arrays import Array
from gramian._content import Folds, content_folds, row_hashes
from gramian._progress import checkpoint
from gramian.evidence.selection import Evidence, choose_by
from gramian.policy import JURY, LOOK

T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """One fold: positions of the rows that models are fitted to, and of those that judge them."""

    number: int
    kept: Array
    held: Array


class Path(Protocol):
    """The models of all candidates, fitted to the rows kept."""

    def losses(self, held: Array, candidates: Sequence[Any]) -> Array:
        """(candidate, row held out), lower is better; inf where a candidate cannot be fitted."""


class Family(Protocol):
    """Models of one kind, from simplest to richest."""

    def path(self, part: Part) -> Path:
        """The models of the rows kept."""


@dataclass(frozen=True)
class HeldOut:
    """The fold of every row, and how many distinct rows each fold has: repeated rows count once, as weights do."""

    numbers: Array  # (n,)
    distinct: Array  # one per fold
    weights: Array  # (n,), raw

    @classmethod
    def of(
        cls, X: Any, n_folds: int | Folds = LOOK.folds, *, hashes: Array | None = None, weights: Array | None = None
    ) -> HeldOut:
        """The rows of X (or their hashes) by content: equal rows are in one fold, and neither order nor repetition matters [13].

        >>> import numpy as np
        >>> held_out = HeldOut.of(np.arange(12.0).reshape(6, 2), 3)
        >>> len(held_out), held_out.distinct.tolist(), [part.held.size for part in held_out]
        (3, [2, 2, 2], [2, 2, 2])
        """
        hashes = row_hashes(X) if hashes is None else hashes
        folds, numbers = content_folds(X, n_folds, hashes)
        known = np.unique(hashes) if folds.ranked is None or folds is n_folds else folds.ranked
        distinct = np.bincount(folds.assign(known), minlength=max(folds.n_folds, 1))
        return cls(numbers, distinct, np.ones(len(hashes)) if weights is None else weights)

    @classmethod
    def stretches(cls, n_rows: int, n_folds: int) -> HeldOut:
        """Consecutive stretches of a series."""
        numbers = np.arange(n_rows) * min(n_folds, n_rows) // max(n_rows, 1)
        return cls(numbers, np.bincount(numbers), np.ones(n_rows))

    def __len__(self) -> int:
        """The number of folds; 1 where nothing can be held out."""
        return len(self.distinct)

    def __bool__(self) -> bool:
        return len(self.distinct) > 1

    def __iter__(self) -> Iterator[Part]:
        """The folds that have rows."""
        for number in range(len(self) if self else 0):
            checkpoint("rows held out", number, len(self))
            held = self.numbers == number
            if held.any():
                yield Part(number, np.flatnonzero(~held), np.flatnonzero(held))

    @property
    def usable(self) -> bool:
        """Whether there are rows enough to judge a regression."""
        return bool(self) and int(self.distinct.sum()) >= JURY.fewest_rows

    @property
    def fewest_kept(self) -> int:
        """The distinct rows left when the largest fold is held out."""
        return int(self.distinct.sum() - self.distinct.max())

    @property
    def kept_share(self) -> float:
        """The share of the rows that a model has seen."""
        return 1.0 - 1.0 / len(self)

    def each(self, question: Callable[[Part], T]) -> list[T]:
        """What is found with each fold held out."""
        return [question(part) for part in self]

    def evidence(self, candidates: Sequence[Any], losses: Sequence[Array], **words: str) -> Evidence:
        """The table of losses (candidate, row) that were found fold by fold."""
        return Evidence.of_rows(candidates, losses, self.each(lambda part: self.weights[part.held]), **words)

    def table(
        self,
        family: Family,
        candidates: Iterable[Any],
        *,
        what: str = "q",
        loss: str = "held-out log-likelihood",
        patience: bool = False,
    ) -> Evidence:
        """Losses by candidate, fold and row.

        With ``patience`` candidates are tried one by one, simplest first, until a few of them in a row are worse than the best by more than
        the error of the difference; every path then lives to the end.
        """
        words = {"what": what, "loss": loss}
        if not patience:
            listed = list(candidates)
            return self.evidence(listed, self.each(lambda part: family.path(part).losses(part.held, listed)), **words)
        parts = list(self)
        paths = [family.path(part) for part in parts]
        tried: list[Any] = []
        found: list[list[Array]] = [[] for _ in parts]
        evidence = None
        for candidate in candidates:
            tried.append(candidate)
            for part, path, losses_of in zip(parts, paths, found):
                losses_of.append(path.losses(part.held, [candidate])[0])
            evidence = self.evidence(tried, [np.array(rows) for rows in found], **words)
            if ends(evidence):
                break
        assert evidence is not None
        return evidence


def ends(evidence: Evidence) -> bool:
    """Whether the last candidates, as many as the jury's patience, were all worse than the best by more than the error of the difference."""
    if len(evidence.candidates) <= JURY.patience:
        return False
    found = choose_by(evidence)
    best = int(found.scores.argmax())
    behind = found.scores[best] - found.scores > found.errors
    return bool(behind[-JURY.patience :].all() and best < len(found.scores) - JURY.patience)


def ladder(smallest: int, largest: int, step: float = 0.25) -> list[int]:
    """Numbers of components to try: one by one while small, then each larger than the last by the share ``step``.

    >>> ladder(0, 20)
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 20]
    >>> ladder(0, 20, 0.5)
    [0, 1, 2, 3, 4, 6, 9, 13, 19, 20]
    """
    out, q = [], smallest
    while q < largest:
        out.append(q)
        q += max(1, int(step * q))
    return [*out, largest] if largest >= smallest else [smallest]
