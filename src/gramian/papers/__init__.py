"""The source papers, claim by claim: `PAPERS` names every figure, table and misprint that ``gramian reproduce`` runs.

Examples
--------
>>> from gramian.papers import PAPERS
>>> PAPERS["errata-mm-algorithm-2"].reproduce().verdict
'misprint confirmed'
"""

from gramian.papers._claim import Claim, Grid, Result
from gramian.papers._table import NOT_REPRODUCED, PAPERS, choose_claims

__all__ = ["NOT_REPRODUCED", "PAPERS", "Claim", "Grid", "Result", "choose_claims"]
