"""row: everything about a row: where it lies and how surely, how odd it is and why, what was seen and what was expected."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.explorer.data import Data
from gramian.explorer.packing import pack, plain, plains
from gramian.explorer.session import Fitted, Session, cells_of
from gramian.explorer.verbs._input import NEEDED, ROW, Verb, check_row


def row(session: Session, row: int) -> dict[str, Any]:
    """One row of the table."""
    data, fitted = session.need()
    check_row(len(data.X), row)
    x = data.X[row : row + 1]
    holes = np.isnan(x[0])[data.first_feature]
    cells = cells_of(data, fitted.full[row : row + 1], fitted.std[row : row + 1], possible=True)[0]
    found: dict[str, Any] = {"row": row, "name": data.row_name(row), "holes": np.flatnonzero(holes).tolist()}
    found |= {
        "cells": cells,
        "latent": plains(fitted.latents[row]),
        "covariance": pack(_one(covariance_of(fitted, x))),
    }
    if fitted.clusters is not None:
        found["cluster"] = int(fitted.clusters.labels[row])
    if fitted.odd is not None:
        found["odd"] = odd_row(data, fitted, row, cells)
    return found


def covariance_of(fitted: Fitted, x: Array) -> Array:
    """How surely rows lie there: Cov[z | what was seen], one for each or one for all."""
    if fitted.kind == "kernel":
        return np.asarray(fitted.model.posterior(np.asarray(fitted.filler.impute(x))).covariance)
    return np.asarray(fitted.model.posterior(x).covariance)


def _one(covariance: Array) -> Array:
    return covariance[0] if covariance.ndim == 3 else covariance


def odd_row(data: Data, fitted: Fitted, row: int, cells: list[Any], most: int = 5) -> dict[str, Any]:
    """How odd, and at ``most`` so many columns that are responsible: seen beside what the other cells let expect."""
    prepare, odd, x = data.prepare, fitted.odd, data.X[row]
    shares = np.bincount(data.owner, np.nan_to_num(odd.contributions[row]), len(prepare.names))
    order = [int(j) for j in np.argsort(-shares, kind="stable")[:most] if shares[j] > 0]
    expected = _expectation(data, fitted, x, order) if order else []
    score = float(fitted.oddness[row])
    return {
        "t2": plain(odd.t2[row]),
        "spe": plain(odd.spe[row]),
        "oddness": plain(score),
        "flagged": bool(score > fitted.limit(0.99)),
        "columns": [
            {"column": prepare.names[j], "share": plain(shares[j]), "seen": cells[j][0], "expected": expected[j]}
            for j in order
        ],
    }


def _expectation(data: Data, fitted: Fitted, x: Array, columns: list[int]) -> list[Any]:
    """The row as cells, where each of some columns is what the others let expect of it."""
    owned = data.owner == np.array(columns)[:, None]
    full, std = (np.asarray(part) for part in fitted.linear.impute(np.where(owned, np.nan, x), return_std=True))
    told, spread = np.nan_to_num(x), np.zeros_like(x)
    at = owned.any(axis=0)
    whose = owned[:, at].argmax(axis=0)
    told[at], spread[at] = full[whose, at], std[whose, at]
    return cells_of(data, told[None], spread[None], possible=True)[0]


VERB = Verb(row, {"row": (ROW, NEEDED)})
