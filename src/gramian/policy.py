"""Every number that decides something for a user and is no parameter: what it is, why it has its value, and what set it.

One frozen record per decision. A number is here because it was tuned on data, or because several places must agree on it.
``docs/policy.md`` is generated from this file; ``experiments/sensitivity.py`` prints how far the outcome of its job moves when a tuned number is
halved or doubled.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any


def number(default: Any, unit: str, why: str, set_by: str = "") -> Any:
    """A field of a policy: its value, its unit, its reason, and the experiment that set it (empty: nothing was tuned)."""
    return field(default=default, metadata={"unit": unit, "why": why, "set_by": set_by})


@dataclass(frozen=True)
class Jury:
    """Which held-out rows vote, and when there are too few to hold any out."""

    fence: float = number(
        3.0,
        "interquartile ranges above the upper quartile",
        "Tukey's outer fence: on Gaussian rows hardly any is beyond it, and wild rows up to a quarter of all cannot move it.",
        "experiments.sensitivity",
    )
    fewest_rows: int = number(8, "rows", "Quartiles of fewer rows say nothing: all of them vote.")


@dataclass(frozen=True)
class Look:
    """How much is looked at before something is decided: enough for the decision, little beside the fit."""

    rows: int = number(
        2000,
        "rows of smallest hash",
        "A choice that needs a Gram matrix or an EM per candidate is made on so many distinct rows.",
    )
    drawn: int = number(
        10_000,
        "rows of smallest hash",
        "What is kept of rows that are otherwise only summed over: enough for quantiles, ranks and votes, in a few megabytes.",
    )
    folds: int = number(
        5, "folds", "Four fifths of the rows are enough to rank candidates; ten folds cost twice as much."
    )


@dataclass(frozen=True)
class Detector:
    """`LatentOutlierDetector` where no estimator is given."""

    noise_floor: float = number(
        1e-3,
        "of the mean variance",
        "A column that only one row moves must not make every other row infinitely likely.",
        "experiments.sensitivity",
    )
    refits: int = number(
        3,
        "fits without the rows beyond the fence",
        "Outliers that were fitted hide each other; the fence settles after two or three fits.",
        "experiments.anomalies",
    )


JURY = Jury()
LOOK = Look()
DETECTOR = Detector()
POLICIES = (JURY, LOOK, DETECTOR)


def rows_of_page() -> list[tuple[str, str, Any, str, str, str]]:
    """One row per number: record, field, value, unit, reason, experiment."""
    return [
        (
            type(record).__name__,
            entry.name,
            getattr(record, entry.name),
            *(entry.metadata[key] for key in ("unit", "why", "set_by")),
        )
        for record in POLICIES
        for entry in fields(record)
    ]
