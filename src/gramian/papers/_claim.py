"""A claim of a source paper and what comes out when it is run: rows of data, one per figure, table or printed formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian.datasets import data_file

HOLDS = "holds"
IN_SHAPE = "holds in shape"
ERRATUM = "misprint confirmed"
DIFFERS = "differs from print"
UNEXPECTED = "unexpected"
NOT_RUN = "not run: "
SEED = 0
TIGHT = 1e-7
"""The fixed point of a pre-image is found to about this; everything else to 1e-14."""


@dataclass(frozen=True)
class Grid:
    """A table of results."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Result:
    """What a run of a claim gave.

    Attributes
    ----------
    ours : str
        Our number, in one line.
    verdict : str
        "holds": the paper's number or identity comes out. "holds in shape": order and size come out; the exact numbers cannot, because
        the paper does not give its data. "misprint confirmed": the printed formula fails and the corrected one holds. "differs
        from print": something else comes out. "unexpected": a check of our own failed. "not run: FILE": a data file is missing.
    words : str
        What the reader must know beside the numbers.
    spread : str
        How far ours moves over what the paper leaves open.
    numbers : mapping
        The numbers behind ``ours``, by name.
    grid : Grid or None
        The table.
    draw : callable or None
        Draws the picture and returns its axes.
    stand_in : str
        What it was run on in place of a data file that is missing; "" where nothing was missing.
    """

    ours: str
    verdict: str
    words: str = ""
    spread: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    grid: Grid | None = None
    draw: Callable[[], Any] | None = None
    stand_in: str = ""

    @property
    def ran(self) -> bool:
        """False where a data file or an extra was missing, and nothing stood in for it."""
        return not self.verdict.startswith(NOT_RUN)


@dataclass(frozen=True)
class Claim:
    """A figure, a table or a formula of a paper.

    Attributes
    ----------
    name : str
        Such as "dp-table-1".
    paper : str
        "DP", "MM", "ZH" or "AC".
    title : str
        What it shows.
    printed : str
        What the paper prints.
    run : callable
        ``run(full, rng)`` gives a `Result`.
    expected : str
        The verdict that a right library gives.
    files : tuple of str
        Data files that it needs in the folder named by ``GRAMIAN_DATA``.
    stand_in : callable or None
        ``stand_in(full, rng)`` gives a `Result` on bundled or made data, where a file is missing; its own ``stand_in`` says on which.
    """

    name: str
    paper: str
    title: str
    printed: str
    run: Callable[[bool, np.random.Generator], Result]
    expected: str = HOLDS
    files: tuple[str, ...] = ()
    stand_in: Callable[[bool, np.random.Generator], Result] | None = None

    def reproduce(self, full: bool = False) -> Result:
        """Run it, from the same seed every time; a missing file is a verdict, not an error, unless something can stand in for it.

        Parameters
        ----------
        full : bool, default=False
            More draws, the papers' sizes.

        Returns
        -------
        Result

        References
        ----------
        docs/papers.md.

        Examples
        --------
        >>> from gramian.papers import PAPERS
        >>> PAPERS["dp-figure-1"].reproduce().verdict
        'holds'
        """
        for file in self.files:
            try:
                data_file(file)
            except FileNotFoundError as error:
                if self.stand_in is not None:
                    return self.stand_in(full, np.random.default_rng(SEED))
                return Result("", f"{NOT_RUN}{file}", " ".join(str(error).split()))
        return self.run(full, np.random.default_rng(SEED))

    def as_expected(self, result: Result) -> bool:
        """Whether the verdict is the expected one; what could not run is not.

        Parameters
        ----------
        result : Result
            Of `reproduce`.

        Returns
        -------
        bool

        References
        ----------
        docs/papers.md.

        Examples
        --------
        >>> from gramian.papers import PAPERS
        >>> claim = PAPERS["dp-figure-1"]
        >>> claim.as_expected(claim.reproduce())
        True
        """
        return result.verdict == self.expected


def formulas(rows: Sequence[tuple[Any, ...]], words: str, tolerance: float = 1e-8, **numbers: float) -> Result:
    """The result of formulas that the library must meet: names with relative differences, each below ``tolerance`` or its own third entry."""
    lines = [(name, float(error), *(own or [tolerance])) for name, error, *own in rows]
    bad = [line for line in lines if not line[1] < line[2]]
    name, worst = max((line for line in lines if line[2] == tolerance), key=lambda line: line[1])[:2]
    return Result(
        f"{len(rows)} formulas, largest relative difference {worst:.0e} ({name})"
        + "".join(f"; {line[0]} off by {line[1]:.1g}" for line in bad[:3]),
        UNEXPECTED if bad else HOLDS,
        words,
        "",
        {"largest difference": worst, **numbers},
        Grid(["formula", "relative difference", "allowed"], lines),
    )


def signs(found: Any, wanted: Any) -> Any:
    """Signs that turn the columns of the one to those of the other."""
    return np.where((np.asarray(found) * np.asarray(wanted)).sum(axis=0) < 0, -1.0, 1.0)


def mean_and_spread(values: Any, digits: int = 2) -> str:
    """Mean ± standard deviation."""
    values = np.asarray(values, dtype=np.float64)
    return f"{values.mean():.{digits}f} ± {values.std():.{digits}f}"


def relative(found: Any, right: Any) -> float:
    """|found - right| / |right|, in the norm of all entries."""
    found, right = np.asarray(found, dtype=np.float64), np.asarray(right, dtype=np.float64)
    scale = float(np.linalg.norm(right.ravel()))
    return float(np.linalg.norm((found - right).ravel())) / (scale if scale > 0 else 1.0)
