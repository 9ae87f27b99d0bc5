"""Several rules of one kernel taken together: their evidence is added, each as far as held-out rows speak for it [7, 10]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gramian._arrays import Array
from gramian.classes.calibration import calibrate
from gramian.policy import CLASSES

ALL = int(np.iinfo(np.int32).max)
"""In place of a q: all directions above the noise."""


@dataclass(frozen=True)
class Blend:
    """Rules (q, ρ) of one kernel and the shares of their evidence: one decomposition per class serves them all."""

    counts: Annotated[Array, "# b"]  # q or ALL
    noises: Annotated[Array, "++ b"]  # ρ
    shares: Annotated[Array, "+ b"]  # they sum to 1

    @property
    def rules(self) -> list[tuple[int | None, float]]:
        """As `KernelPPCAClassifier` takes them."""
        return [(None if q == ALL else int(q), float(noise)) for q, noise in zip(self.counts, self.noises)]

    @property
    def told(self) -> str:
        """The rules with their shares, largest first."""
        named = [f"noise {ρ:.3g}" if q is None else f"q = {q} at noise {ρ:.3g}" for q, ρ in self.rules]
        return ", ".join(f"{named[k]}: {100 * self.shares[k]:.0f} %" for k in np.argsort(-self.shares, kind="stable"))

    def __call__(self, evidence: Array) -> Array:
        """The evidence of all rules, the first axis, as one."""
        return np.tensordot(self.shares, evidence, axes=1)


def blend_rules(
    evidence: Array, codes: Array, weights: Array, rules: Sequence[tuple[int | None, float]], *, offsets: bool
) -> tuple[Blend, Array]:
    """Shares of rules from held-out evidence (K, C, n): scale_k exp(CLASSES.row_share · n · held-out log-likelihood of rule k).

    And the evidence (C, n) of all together.

    Scales, those of calibrated probabilities, bring evidence to one unit. n counts distinct rows.
    """
    calibration = calibrate(evidence, codes, weights, offsets=offsets)
    logs = calibration.log_probabilities(evidence)[:, codes, np.arange(len(codes))]
    totals = len(codes) * (logs @ (weights / weights.sum()))
    odds = np.exp(CLASSES.row_share * (totals - totals.max()))
    kept = np.flatnonzero(odds >= CLASSES.least_share * odds.sum()).tolist()
    shares = odds[kept] * calibration.scales[kept]
    counts = np.array([ALL if rules[k][0] is None else rules[k][0] for k in kept])
    blend = Blend(counts, np.array([rules[k][1] for k in kept]), shares / shares.sum())
    return blend, blend(evidence[kept])
