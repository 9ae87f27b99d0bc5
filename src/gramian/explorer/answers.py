"""The answer to a call, over HTTP and in a notebook alike."""

from __future__ import annotations

from typing import Any

from gramian.explorer.packing import read
from gramian.explorer.session import NotYet, Session


def answer_verb(session: Session, name: str, body: bytes | Any) -> tuple[int, Any]:
    """The status and the value: 200, 404 where there is no such verb, 409 while it is being fitted, 422 for a wrong input, 500 for an error of ours."""
    try:
        from gramian.explorer.verbs import VERBS, call

        if name not in VERBS:
            return 404, {"error": "There is no such verb."}
        given = (read(body) if body.strip() else {}) if isinstance(body, bytes) else body
        return 200, call(session, name, given)
    except NotYet as wait:
        return 409, {"error": str(wait)}
    except (ValueError, MemoryError, ImportError) as error:
        return 422, {"error": " ".join(str(error).split())[:2000] or "That does not work."}
    except Exception as error:  # the page is told; what the error holds may be cells, which no log is to show
        return 500, {"error": f"Something went wrong while answering ({type(error).__name__})."}
