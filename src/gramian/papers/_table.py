"""All claims, and what of the papers is not run here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from gramian.papers import (
    ac_claims,
    ac_laws,
    ac_stiefel,
    ac_trained,
    dp_figures,
    dp_spaces,
    dp_tables,
    errata,
    mm_kernels,
    mm_laws,
    mm_tables,
    zh_figures,
    zh_laws,
    zh_table,
)
from gramian.papers._claim import Claim

_MODULES = (
    dp_tables,
    dp_spaces,
    dp_figures,
    mm_laws,
    mm_tables,
    mm_kernels,
    zh_laws,
    zh_figures,
    zh_table,
    ac_laws,
    ac_claims,
    ac_laws,
    ac_stiefel,
    ac_trained,
    errata,
)
PAPERS: dict[str, Claim] = {claim.name: claim for module in _MODULES for claim in module.CLAIMS}
NOT_REPRODUCED: tuple[tuple[str, str], ...] = (
    ("AC table 3, algorithm 3", "the paper leaves it out as well (5001 x 144 parameters)"),
    (
        "ZH table 1, the original splits",
        "they are not to be had: regenerated ones of the same sizes are used; its columns of SVM and KFD are another paper's, and were not run",
    ),
    ("MM figure 2, its own pictures", "the paper prints no number and does not name its hundred images"),
)


def choose_claims(names: Iterable[str]) -> list[Claim]:
    """The claims of these names, in the order of `PAPERS`; none or "all": all; the start of names ("dp", "errata") is enough.

    Parameters
    ----------
    names : iterable of str
        Names, or the starts of names.

    Returns
    -------
    list of Claim

    References
    ----------
    docs/papers.md.

    Examples
    --------
    >>> from gramian.papers import choose_claims
    >>> [claim.name for claim in choose_claims(["dp-table"])]
    ['dp-table-1', 'dp-table-4']
    """
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
