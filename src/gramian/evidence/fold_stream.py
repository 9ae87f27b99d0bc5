"""Moments per fold of rows that come by once: folds by content, so batches never matter [10, 13]."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array
from gramian._content import DistinctHashes, Folds, SmallestRows, row_hashes
from gramian.evidence.dimension import JudgedMoments
from gramian.operators.moments import Moments
from gramian.policy import LOOK
from gramian.rows.base import Block
from gramian.rows.draws import FoldMoments, fold_moments


@dataclass(frozen=True)
class FoldStream:
    """The moments of each fold of all rows so far, their distinct hashes, and the rows that vote.

    Up to `LOOK.drawn` distinct rows, folds are dealt by rank, which only the last row settles: until then rows wait in ``kept``.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> whole = FoldStream().add(X, np.ones(20)).judged.parts
    >>> parts = FoldStream().add(X[:7], np.ones(7)).add(X[7:], np.ones(13)).judged.parts
    >>> len(parts), bool(np.allclose(parts[0].scatter, whole[0].scatter))
    (5, True)
    """

    hashes: Annotated[Array, "*"] = field(
        default_factory=lambda: np.empty(0, dtype=np.uint64)
    )  # at most LOOK.drawn + 1
    kept: Annotated[list[Any], "*: ..."] = field(
        default_factory=list
    )  # [rows, weights, rows, weights, ...] not yet summed
    summed: Annotated[list[Moments | None], "*"] = field(default_factory=list)
    drawn: SmallestRows | None = None  # at most LOOK.drawn

    def add(self, X: Any, weights: Array) -> FoldStream:
        """With the rows of one batch, all of positive weight."""
        of_rows = row_hashes(X)
        hashes = (DistinctHashes(self.hashes) + DistinctHashes.of(of_rows)).hashes
        drawn = SmallestRows.of(X, weights, LOOK.drawn, of_rows)
        drawn = drawn if self.drawn is None else self.drawn + drawn
        waiting = replace(self, hashes=hashes, kept=[*self.kept, X, weights], drawn=drawn)
        if len(hashes) <= LOOK.drawn:
            return waiting
        return replace(waiting, kept=[], summed=waiting._sum(of_rows))

    def faded(self, share: float) -> FoldStream:
        """With this share of the weight of all rows so far."""
        if share == 1:
            return self
        kept = [part if k % 2 == 0 else share * part for k, part in enumerate(self.kept)]
        drawn = self.drawn and replace(self.drawn, weights=share * self.drawn.weights)
        return replace(self, kept=kept, summed=[part and part.faded(share) for part in self.summed], drawn=drawn)

    @property
    def folds(self) -> Folds:
        return Folds.of(DistinctHashes(self.hashes), LOOK.folds)

    def _sum(self, last_hashes: Array | None = None) -> list[Moments | None]:
        """With the rows that waited; ``last_hashes`` are those of the last batch, where they are known."""
        folds = self.folds
        total = FoldMoments(tuple(self.summed) or (None,) * folds.n_folds)
        batches = list(zip(self.kept[::2], self.kept[1::2]))
        for position, (X, weights) in enumerate(batches, start=1):
            known = last_hashes if position == len(batches) else None
            total = total + fold_moments(Block(X, weights), folds, known)
        return list(total.parts)

    @property
    def judged(self) -> JudgedMoments:
        """The moments of each fold that has rows, and the rows that vote."""
        assert self.drawn is not None
        return JudgedMoments.of(self._sum(), self.folds, self.drawn)
