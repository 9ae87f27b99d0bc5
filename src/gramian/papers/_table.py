"""All claims, and what of the papers is not run here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from gramian.papers import ac_claims, dp_figures, dp_tables, errata, mm_tables, zh_figures
from gramian.papers._claim import Claim

_MODULES = (dp_tables, dp_figures, mm_tables, zh_figures, ac_claims, errata)
PAPERS: dict[str, Claim] = {claim.name: claim for module in _MODULES for claim in module.CLAIMS}
NOT_REPRODUCED: tuple[tuple[str, str], ...] = (
    ("DP figure 1", "a diagram of the spaces; its arrows are the operators checked in dp-table-1 and dp-table-4"),
    (
        "MM figure 2",
        "kernels tuned on 100 MNIST images: experiments/tuning_mnist.py and docs/tuning.md; 100 components of 100 centred rows exceed the rank, 99",
    ),
    (
        "ZH table 1",
        "13 data sets, 100 splits: experiments/zh_table1.py and docs/classification.md (the original splits are not to be had)",
    ),
    ("AC figure 5", "Gamma' before the rotation: its formula is checked in errata-ac-figure-5; no picture"),
    ("AC table 3, algorithm 3", "the paper leaves it out as well (5001 x 144 parameters)"),
    ("AC algorithms 3 and 4 with trained maps", "experiments/deep_views.py and docs/deep.md; they need torch"),
)


def chosen(names: Iterable[str]) -> list[Claim]:
    """The claims of these names, in the order of `PAPERS`; none or "all": all; the start of names ("dp", "errata") is enough."""
    wanted = list(names)
    if not wanted or "all" in wanted:
        return list(PAPERS.values())
    for name in wanted:
        if not any(_means(name, known) for known in PAPERS):
            near = difflib.get_close_matches(name, PAPERS, 3)
            hint = f" Near it: {', '.join(near)}." if near else ""
            raise ValueError(
                f"{name!r} is no figure, table or misprint of the papers.{hint} See gramian reproduce --list."
            )
    return [claim for key, claim in PAPERS.items() if any(_means(name, key) for name in wanted)]


def _means(name: str, known: str) -> bool:
    return known == name or known.startswith(f"{name}-")
