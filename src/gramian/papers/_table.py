"""All claims, and what of the papers is not run here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from gramian.papers import errata
from gramian.papers._claim import Claim

PAPERS: dict[str, Claim] = {claim.name: claim for claim in [*errata.CLAIMS]}
NOT_REPRODUCED: tuple[tuple[str, str], ...] = ()


def chosen(names: Iterable[str]) -> list[Claim]:
    """The claims of these names, in the order of `PAPERS`; none or "all": all; the start of names ("dp", "errata") is enough."""
    wanted = list(names)
    if not wanted or "all" in wanted:
        return list(PAPERS.values())
    for name in wanted:
        if not any(_means(name, known) for known in PAPERS):
            near = difflib.get_close_matches(name, PAPERS, 3)
            hint = f" Near it: {', '.join(near)}." if near else ""
            raise ValueError(f"{name!r} is no figure, table or misprint of the papers.{hint} See gramian reproduce --list.")
    return [claim for key, claim in PAPERS.items() if any(_means(name, key) for name in wanted)]


def _means(name: str, known: str) -> bool:
    return known == name or known.startswith(f"{name}-")
