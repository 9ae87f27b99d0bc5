"""The answer to a call, over HTTP and in a notebook alike."""

from __future__ import annotations

from typing import Any

from gramian.explorer.packing import read
from gramian.explorer.session import NotYet, Session


def answered(session: Session, name: str, body: bytes | Any) -> tuple[int, Any]:
    """The status and the value: 200, 404 where there is no such verb, 409 while it is being fitted, 422 for a wrong input."""
    from gramian.explorer.verbs import VERBS, call

    if name not in VERBS:
        return 404, {"error": "There is no such verb."}
    try:
        given = (read(body) if body.strip() else {}) if isinstance(body, bytes) else body
        return 200, call(session, name, given)
    except NotYet as wait:
        return 409, {"error": str(wait)}
    except (ValueError, MemoryError, ImportError) as error:
        return 422, {"error": " ".join(str(error).split())[:2000] or "That does not work."}
