"""cancel: end what works in the background; what was there before stays."""

from __future__ import annotations

from typing import Any

from gramian.explorer.session import Session
from gramian.explorer.verbs._input import Verb


def cancel(session: Session) -> dict[str, Any]:
    """What was ended, or null."""
    return {"cancelled": session.jobs.cancel()}


VERB = Verb(cancel, {})
