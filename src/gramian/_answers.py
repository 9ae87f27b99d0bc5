"""Answers that can be read: a headline and a small table, as text and in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple


class Shown(NamedTuple):
    """What is read of an answer: a headline, the names of columns, and rows of cells."""

    headline: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()


class Answer:
    """An object that shows itself; a subclass provides ``_shown``."""

    def _shown(self) -> Shown:
        raise TypeError(f"{type(self).__name__} does not say what is shown of it.")

    def __repr__(self) -> str:
        """The headline, and the table in columns of text."""
        shown = self._shown()
        cells = [list(shown.columns), *([_write(cell) for cell in row] for row in shown.rows)]
        if len(cells) == 1:
            return shown.headline
        widths = [max(map(len, column)) for column in zip(*cells)]
        last = len(widths) - 1
        lines = [
            "  ".join(c.ljust(w) if j == last else c.rjust(w) for j, (c, w) in enumerate(zip(row, widths)))
            for row in cells
        ]
        return "\n".join([shown.headline, *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        """The same as a table for notebooks."""
        shown = self._shown()
        head = "".join(f"<th>{escape(name)}</th>" for name in shown.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_write(cell))}</td>" for cell in row) + "</tr>" for row in shown.rows
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if shown.rows else ""
        return f"<p>{escape(shown.headline)}</p>{table}"


def _write(cell: Any) -> str:
    if isinstance(cell, dict):
        return ", ".join(f"{name} {_write(value)}" for name, value in cell.items())
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
