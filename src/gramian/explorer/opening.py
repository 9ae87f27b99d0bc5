"""From what the user names to a session's table and model."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from gramian.explorer import fitting
from gramian.explorer.data import Data, data_of, demo_data, plain_model, read_data, table_of
from gramian.explorer.session import Session
from gramian.io.table import ReadOptions
from gramian.io.table_model import TableModel
from gramian.policy import LOOK


def is_model(value: Any) -> bool:
    """Whether it is a fitted model, or the path of a model file."""
    if isinstance(value, str | os.PathLike):
        return is_model_file(os.fspath(value))
    return isinstance(value, TableModel) or (hasattr(value, "get_params") and hasattr(value, "fit"))


def is_model_file(path: str) -> bool:
    """By its first bytes."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        head = file.read(64)
    return head[8:9] == b"{" and b"__metadata__" in head


def open_session(session: Session, model: Any, X: Any) -> None:
    """Read, and begin to fit. A table, or the path of one, may stand in the place of the model."""
    if X is None and model is not None and not is_model(model):
        model, X = None, model
    known = _model(model)
    session.given = known.estimator if known is not None else None
    session.data = _data(session, known, X)
    session.title = session.data.title
    session.changed(drawn=True)
    fitting.start(session)


def _model(model: Any) -> TableModel | None:
    if model is None or isinstance(model, TableModel):
        return model
    if isinstance(model, str | os.PathLike):
        from gramian import load

        loaded = load(model)
        return loaded if isinstance(loaded, TableModel) else plain_model(loaded, type(loaded).__name__)
    return plain_model(model, type(model).__name__)


def _data(session: Session, model: TableModel | None, X: Any) -> Data:
    if X is None:
        return demo_data() if model is None else _draw(model)
    if isinstance(X, str | os.PathLike):
        path = os.fspath(X)
        found = read_data(path, os.path.basename(path), ReadOptions(), session.limits.cells)
        if model is None:
            return found
        return replace(data_of(found.table, found.title, _fitting_names(model, found.table)), emptied=found.emptied)
    table, views = table_of(X)
    if model is not None and "text" in table.kinds and not any(model.preprocessing.categories):
        model = session.given = None  # fitted to a frame, whose columns it codes by itself: look at the frame
    if model is not None:
        model = _fitting_names(model, table)
    found = data_of(table, session.title, model)
    return replace(found, views=views) if views else found


def _fitting_names(model: TableModel, table: Any) -> TableModel:
    """A model that knows columns by position takes the names of the table."""
    names = model.preprocessing.names
    if not set(names) <= set(table.names) and all(name == f"x{i}" for i, name in enumerate(names, start=1)):
        if len(table.names) != len(names):
            raise ValueError(f"{len(table.names)} columns, but the model was fitted on {len(names)}.")
        model.preprocessing.names = list(table.names)
    return model


def _draw(model: TableModel) -> Data:
    """Rows drawn from a model that comes without a table."""
    from gramian.tables.table import Table

    estimator = getattr(model.estimator, "estimator_", model.estimator)
    if not hasattr(estimator, "sample"):
        raise ValueError(f"a {type(estimator).__name__} cannot draw rows: give a table beside the model.")
    rows = estimator.sample(LOOK.few, random_state=0)
    rows = rows[0] if isinstance(rows, tuple) else rows
    prepare = model.preprocessing
    return data_of(Table(list(prepare.names), prepare.columns(rows)), "rows drawn from the model", model)
