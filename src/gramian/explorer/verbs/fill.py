"""fill: a row of the user's own, its empty cells filled and its place on the map."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.explorer.data import Data
from gramian.explorer.packing import plains
from gramian.explorer.session import Fitted, Session, cells_of
from gramian.explorer.verbs._input import NEEDED, InputError, Verb, cell, list_of
from gramian.io.cells import plain_number
from gramian.tables.table import MISSING, Table


def fill(session: Session, cells: list[Any]) -> dict[str, Any]:
    """One cell per modelled column, null where it is empty."""
    data, fitted = session.need()
    names = data.prepare.names
    if len(cells) != len(names):
        raise InputError(f"cells has {len(names)} values, one per column, not {len(cells)}.")
    x = features_of(data, [column_of(data, j, value) for j, value in enumerate(cells)])
    return {**fill_row(data, fitted, x), "latent": plains(latent_of(fitted, x))}


def features_of(data: Data, columns: list[Array]) -> Array:
    """The features of one row, given as columns of one cell."""
    prepare = data.prepare
    if any(prepare.categories):
        return prepare.matrix(Table(list(prepare.names), columns))
    return (np.array([column[0] for column in columns]) - prepare.mean)[None] / prepare.scale


def fill_row(data: Data, fitted: Fitted, x: Array) -> dict[str, Any]:
    """Its cells, and which of them were filled."""
    full, std = fitted.filler.impute(x, return_std=True) if np.isnan(x).any() else (x, np.zeros_like(x))
    holes = np.isnan(x)[0][data.first_feature]
    return {
        "cells": cells_of(data, np.asarray(full), np.asarray(std), possible=True)[0],
        "holes": np.flatnonzero(holes).tolist(),
    }


def latent_of(fitted: Fitted, x: Array) -> Array:
    """Where a row lies on the map."""
    if fitted.kind == "kernel":
        x = np.asarray(fitted.filler.impute(x)) if np.isnan(x).any() else x
    return np.asarray(fitted.model.transform(x))[0]


def column_of(data: Data, position: int, value: Any) -> Array:
    """A column of one cell, as the table would hold it."""
    name, categories = data.prepare.names[position], data.prepare.categories[position]
    if isinstance(value, str) and value.strip().lower() in MISSING:
        value = None
    if categories:
        text = None if value is None else str(value) if isinstance(value, str) else f"{value:g}"
        if text is not None and text not in categories:
            known = ", ".join(categories[:8]) + (", ..." if len(categories) > 8 else "")
            raise InputError(f"{name[:60]}: {text[:60]!r} is not one of its values ({known[:300]}).")
        return np.array([text], dtype=object)
    if isinstance(value, str):
        parsed = plain_number(value.strip())
        if parsed is None or not np.isfinite(parsed):
            raise InputError(f"{name[:60]}: {value[:60]!r} is not a number.")
        value = parsed
    return np.array([np.nan if value is None else float(value)])


VERB = Verb(fill, {"cells": (list_of(cell, 10_000), NEEDED)})
