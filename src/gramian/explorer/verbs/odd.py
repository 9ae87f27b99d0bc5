"""odd: every row along (T2) and off (SPE) the model, the limits, and the oddest rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.explorer.packing import pack, plain
from gramian.explorer.session import Session
from gramian.explorer.verbs._input import InputError, Verb, number


def odd(session: Session, level: float, named: int = 50) -> dict[str, Any]:
    """Limits are those that rows which the model has not seen keep, once they are known."""
    data, fitted = session.need()
    if fitted.odd is None:
        raise InputError("The table leaves no noise: no row is off the model.")
    found, scores, limit = fitted.odd, fitted.oddness, fitted.limit(level)
    order = np.argsort(-scores, kind="stable")[:named]
    return {
        "t2": pack(found.t2),
        "spe": pack(found.spe),
        "limit_t2": plain(found.limit_t2),
        "limit_spe": plain(np.median(found.limit_spe)),
        "level": level,
        "held_out": fitted.detector is not None,
        "flagged": pack(np.flatnonzero(scores > limit), "i4"),
        "n_flagged": int((scores > limit).sum()),
        "oddest": [
            {
                "row": int(r),
                "name": data.row_name(int(r)),
                "oddness": plain(scores[r]),
                "flagged": bool(scores[r] > limit),
            }
            for r in order
        ],
    }


VERB = Verb(odd, {"level": (number(0.5, 0.9999), 0.99)})
