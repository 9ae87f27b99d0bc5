"""SQUAREM: two EM steps and a leap along what they have in common; never below plain EM [13].

Points p0 -> p1 -> p2 by EM, r = p1 - p0, v = (p2 - p1) - r, a = min(-1, -|r| / |v|): the leap is p0 - 2 a r + a² v, taken if its
likelihood is not below that of p1, else p2. Any EM can be climbed so: `Squarem` knows points and their sums only by the functions
that it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from gramian._arrays import Array
from gramian._progress import Progress

Point = TypeVar("Point")
Sums = TypeVar("Sums")


@dataclass(frozen=True)
class Climbed(Generic[Point]):
    """Where the climb ended, the level of every accepted point, and how many E-steps it took."""

    point: Point
    levels: list[float]
    converged: bool
    n_evaluations: int


def leap(p0: Sequence[Array], p1: Sequence[Array], p2: Sequence[Array]) -> tuple[list[Array] | None, float]:
    """The extrapolated point (None: p2 itself), and |p2 - p1| / |p1 - p0|, the rate at which the EM steps shrink.

    >>> import numpy as np
    >>> p0, p1, p2 = (np.array([x]) for x in (1.0, 0.5, 0.25))  # halves at each step, towards 0
    >>> leap([p0], [p1], [p2])
    ([array([0.])], 0.5)
    """
    r = [b - a for a, b in zip(p0, p1)]
    v = [(c - b) - step for b, c, step in zip(p1, p2, r)]
    size_r, size_v = _length(r), _length(v)
    size_next = _length([step + bend for step, bend in zip(r, v)])
    rate = size_next / size_r if size_r > 0 else 0.0
    if size_v == 0.0 or size_r <= size_v:
        return None, rate
    a = -size_r / size_v
    return [p - 2.0 * a * step + a * a * bend for p, step, bend in zip(p0, r, v)], rate


def _length(parts: Sequence[Array]) -> float:
    return float(np.sqrt(sum(float(np.vdot(part, part)) for part in parts)))


@dataclass(frozen=True)
class Squarem(Generic[Point, Sums]):
    """An EM by its functions, and the climb.

    ``evaluate`` is the E-step, ``level`` the log-likelihood that it found, ``step`` the M-step. ``coordinates`` gives the free
    parameters (noises and proportions as logarithms) and ``at`` the point of other coordinates. ``ends`` says that a point is the end,
    because its noise is zero; ``leaps=False`` is plain EM.
    """

    evaluate: Callable[[Point], Sums]
    level: Callable[[Sums], float]
    step: Callable[[Sums, Point], Point]
    coordinates: Callable[[Point], Sequence[Array]]
    at: Callable[[Point, Sequence[Array]], Point]
    ends: Callable[[Point], bool] = field(default=lambda point: False)
    leaps: bool = True

    def climb(
        self,
        point: Point,
        *,
        tolerance: float,
        max_iter: int,
        scale: float = 1.0,
        progress: Progress | None = None,
        per_row: float = 1.0,
    ) -> Climbed[Point]:
        """Cycles of two EM steps and a leap until the gain still to come is below ``tolerance``, or ``max_iter`` points were accepted.

        If EM steps shrink by ρ, their gains shrink by ρ², and after a step that gained g there is g ρ² / (1 - ρ²) to come. ``scale``
        is the size of levels whose rounding is no loss; the bar shows levels divided by ``per_row``.
        """
        sums = self.evaluate(point)
        level = self.level(sums)
        levels = [level]
        evaluations, converged = 1, False
        rates: list[float] = []
        # the step from a leap, and its sums: they say whether that is a point at all
        ahead: tuple[Point, Any] | None = None
        while len(levels) <= max_iter:
            first, first_sums = (self.step(sums, point), None) if ahead is None else ahead
            if self.ends(first):
                point, converged = first, True
                break
            if first_sums is None:
                first_sums = self.evaluate(first)
                evaluations += 1
            gain = self.level(first_sums) - level
            if abs(gain) <= 1e-3 * tolerance or abs(gain) <= 1e-14 * abs(level):  # whatever rounding says
                point, converged = first, True
                levels.append(level + max(gain, 0.0))
                break
            if not gain >= 0.0:
                converged = gain > -1e-9 * max(abs(level), scale)
                break
            second = self.step(first_sums, first)
            if self.ends(second):
                levels.append(self.level(first_sums))
                point, converged = second, True
                break
            before, rate = level, 0.0
            with np.errstate(all="ignore"):
                far, rate = leap(self.coordinates(point), self.coordinates(first), self.coordinates(second))
                accepted, ahead = False, None
                if far is not None and self.leaps:
                    candidate = self.at(point, far)
                    if not self.ends(candidate):  # a leap beyond the end says nothing: EM itself must arrive there
                        candidate_sums = self.evaluate(candidate)
                        evaluations += 1
                        found = self.level(candidate_sums)
                        if np.isfinite(found) and found >= self.level(first_sums):
                            onward = self.step(candidate_sums, candidate)
                            accepted = all(np.isfinite(part).all() for part in self.coordinates(onward))
                            onward_sums = None
                            if accepted and not self.ends(onward):
                                onward_sums = self.evaluate(onward)
                                evaluations += 1
                                accepted = bool(np.isfinite(self.level(onward_sums)))
                            ahead = (onward, onward_sums) if accepted else None
            if accepted:
                point, sums = candidate, candidate_sums
            else:
                point, sums, ahead = second, self.evaluate(second), None
                evaluations += 1
            level = max(self.level(sums), before + gain)
            levels.append(level)
            if progress is not None:
                progress.step(log_likelihood=level / per_row)
            rates = [*rates[-2:], min(rate, 1.0)]  # the slowest of three: one lucky cycle ends nothing
            worst = max(rates) ** 2
            few = len(rates) < 2 and worst > 0.05
            if (
                not few
                and worst < 1.0
                and gain * worst / (1.0 - worst) <= tolerance
                and level - before <= 100 * tolerance
            ):
                converged = True
                break
        return Climbed(point, levels[1:] or levels, converged, evaluations)  # the start is no step
