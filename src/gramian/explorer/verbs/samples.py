"""samples: new rows drawn from the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.explorer.packing import plain
from gramian.explorer.session import Session, cells_of
from gramian.explorer.verbs._input import Verb, integer


def samples(session: Session, count: int, seed: int) -> dict[str, Any]:
    """Rows as cells of the modelled columns; the same seed draws the same rows."""
    data, fitted = session.need()
    drawn = np.asarray(fitted.model.sample(count, random_state=seed))
    latents = np.asarray(fitted.model.transform(drawn))
    rows = [[cell[0] for cell in row] for row in cells_of(data, drawn, possible=True)]
    return {"names": list(data.prepare.names), "rows": rows, "latents": [[plain(v) for v in z] for z in latents]}


VERB = Verb(samples, {"count": (integer(1, 200), 24), "seed": (integer(), 0)})
