"""tune: a Bayesian search in the background, with progress; cancel ends it."""

from __future__ import annotations

from typing import Any

from gramian.explorer import fitting
from gramian.explorer.session import Session
from gramian.explorer.verbs._input import Verb, integer


def tune(session: Session, trials: int) -> dict[str, Any]:
    """The best model takes the place of the one on the map."""
    session.need()
    fitting.tune(session, trials)
    return {"working": True}


VERB = Verb(tune, {"trials": (integer(2, 500), 20)})
