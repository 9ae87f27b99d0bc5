"""row: everything about a row: where it lies and how surely, how odd it is and why, what was seen and what was expected."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.explorer.data import Data
from gramian.explorer.packing import plain, plains
from gramian.explorer.session import Fitted, Session, cells_of
from gramian.explorer.verbs._input import NEEDED, ROW, Verb, check_row

RESPONSIBLE = 5
"""Columns that are named for an odd row."""


def row(session: Session, row: int) -> dict[str, Any]:
    """One row of the table."""
    data, fitted = session.need()
    check_row(len(data.X), row)
    x = data.X[row : row + 1]
    holes = np.isnan(x[0])[np.searchsorted(data.prepare.owner, np.arange(len(data.prepare.names)))]
    found: dict[str, Any] = {"row": row, "name": data.row_name(row), "holes": np.flatnonzero(holes).tolist()}
    found["cells"] = cells_of(data, fitted.full[row : row + 1], fitted.std[row : row + 1])[0]
    found["latent"] = plains(fitted.latents[row])
    found["covariance"] = [plains(line) for line in covariance_of(fitted, x)]
    if fitted.clusters is not None:
        found["cluster"] = int(fitted.clusters.labels[row])
    if fitted.odd is not None:
        found["odd"] = odd_row(data, fitted, row, x)
    return found


def covariance_of(fitted: Fitted, x: Array) -> Array:
    """How surely the row lies there: Cov[z | what was seen]."""
    if fitted.kind == "kernel":
        return np.asarray(fitted.model.posterior(np.asarray(fitted.filler.impute(x))).covariance)
    covariance = np.asarray(fitted.model.posterior(x).covariance)
    return covariance[0] if covariance.ndim == 3 else covariance


def odd_row(data: Data, fitted: Fitted, row: int, x: Array) -> dict[str, Any]:
    """How odd, and which columns are responsible: seen beside what the other cells let expect."""
    found = fitted.linear.anomaly(x)
    prepare = data.prepare
    shares = np.bincount(prepare.owner, np.nan_to_num(found.contributions[0]), len(prepare.names))
    order = [int(j) for j in np.argsort(-shares, kind="stable")[:RESPONSIBLE] if shares[j] > 0]
    hidden = np.repeat(x, len(order), axis=0)
    for k, j in enumerate(order):
        hidden[k, prepare.owner == j] = np.nan
    columns = []
    if order:
        full, std = (np.asarray(part) for part in fitted.linear.impute(hidden, return_std=True))
        seen, expected = cells_of(data, np.nan_to_num(x)), cells_of(data, full, std)
        columns = [
            {"column": prepare.names[j], "share": plain(shares[j]), "seen": seen[0][j][0], "expected": expected[k][j]}
            for k, j in enumerate(order)
        ]
    score, limit = float(fitted.oddness[row]), fitted.limit(0.99)
    return {
        "t2": plain(found.t2[0]),
        "spe": plain(found.spe[0]),
        "oddness": plain(score),
        "flagged": bool(score > limit),
        "columns": columns,
    }


VERB = Verb(row, {"row": (ROW, NEEDED)})
