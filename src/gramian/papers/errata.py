"""Printed formulas that must not be copied, each as a check: the printed one fails, the corrected one holds [9].

Each check works on a small random problem and returns two relative errors: of the printed formula and of the corrected one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gramian.papers._claim import ERRATUM, UNEXPECTED, Claim, Grid, Result
from gramian.papers._errata_ac import AC
from gramian.papers._errata_dp import DP
from gramian.papers._errata_dp_more import DP_MORE
from gramian.papers._errata_mm import MM
from gramian.papers._misprint import Misprint

RIGHT, WRONG = 1e-8, 1e-2
"""Relative errors: the corrected formula must be below the one, the printed formula above the other, on every problem."""


@dataclass(frozen=True)
class _Check:
    misprint: Misprint

    def __call__(self, full: bool, rng: np.random.Generator) -> Result:
        count = 100 if full else 5
        errors = np.array([self.misprint.check(rng) for _ in range(count)])
        printed, right = errors[:, 0], errors[:, 1]
        least, most = float(printed.min()), float(right.max())
        confirmed = least > WRONG and most < RIGHT
        return Result(
            f"printed formula off by at least {least:.2g}, corrected by at most {most:.1e} (relative)",
            ERRATUM if confirmed else UNEXPECTED,
            f"Right: {self.misprint.right}. {self.misprint.how}",
            f"{count} random problems; printed off by {least:.2g} to {float(printed.max()):.2g}",
            {"printed": least, "corrected": most},
            Grid(
                ["problem", "printed, error", "corrected, error"],
                [(i + 1, *map(float, e)) for i, e in enumerate(errors)],
            ),
        )


def _claims(paper: str, misprints: tuple[Misprint, ...]) -> list[Claim]:
    made: Callable[[Misprint], Claim] = lambda one: Claim(  # noqa: E731
        f"errata-{paper.lower()}-{one.name}", paper, f"misprint, {one.where}", one.printed, _Check(one), ERRATUM
    )
    return [made(one) for one in misprints]


CLAIMS = [*_claims("DP", (*DP, *DP_MORE)), *_claims("MM", MM), *_claims("AC", AC)]
