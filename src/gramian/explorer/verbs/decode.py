"""decode: the row that a point of latent space stands for, and the rows nearest to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.explorer.packing import plain
from gramian.explorer.session import Session, cells_of
from gramian.explorer.verbs._input import LATENT, NEEDED, InputError, Verb, integer


def decode(session: Session, latent: list[float], nearest: int) -> dict[str, Any]:
    """The decoded row with intervals, as cells of the modelled columns."""
    data, fitted = session.need()
    if len(latent) != fitted.q:
        raise InputError(f"latent has {fitted.q} numbers, not {len(latent)}.")
    point = np.array([latent])
    if fitted.kind == "kernel":
        row, std = fitted.model.inverse_transform(point, return_std=True)
    else:
        row = fitted.model.inverse_transform(point)
        std = np.full(np.shape(row), np.sqrt(fitted.model.noise_variance_))
    found: dict[str, Any] = {"latent": latent, "cells": cells_of(data, np.asarray(row), np.asarray(std))[0]}
    if nearest:
        distance, rows = fitted.tree.query(point[0], k=min(nearest, len(fitted.latents)))
        pairs = zip(np.atleast_1d(rows).tolist(), np.atleast_1d(distance).tolist())
        found["nearest"] = [{"row": r, "name": data.row_name(r), "distance": plain(far)} for r, far in pairs]
    return found


VERB = Verb(decode, {"latent": (LATENT, NEEDED), "nearest": (integer(0, 50), 5)})
