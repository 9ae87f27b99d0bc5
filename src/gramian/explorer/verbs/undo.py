"""undo: the last edit or choice taken back."""

from __future__ import annotations

from typing import Any

from gramian.explorer.session import Session
from gramian.explorer.verbs._input import Verb


def undo(session: Session) -> dict[str, Any]:
    """What was taken back, or null."""
    return {"undone": session.undo()}


VERB = Verb(undo, {})
