"""Every choice that the library makes for the user: on rows or cells that the model has not seen, by one rule, with its evidence [10]."""

from gramian.evidence.selection import Evidence, Selection, choose

__all__ = ["Evidence", "Selection", "choose"]
