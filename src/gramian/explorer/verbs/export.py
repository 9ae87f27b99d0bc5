"""export: what is on screen as a file: the filled table, scores, the model, a report, and the Python that makes it."""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from gramian.explorer.python_code import python_code
from gramian.explorer.session import Session
from gramian.explorer.verbs._input import NEEDED, Verb, choice


def export(session: Session, what: str) -> dict[str, Any]:
    """``{"name": ..., "type": ..., "data": base64}``."""
    name, kind, content = FILES[what](session)
    return {"name": name, "type": kind, "data": base64.b64encode(content).decode("ascii")}


def _write(suffix: str, write: Callable[[str], Any]) -> bytes:
    """What a writer of files writes; the name is ours."""
    with tempfile.TemporaryDirectory(prefix="gramian-") as folder:
        path = os.path.join(folder, f"out{suffix}")
        write(path)
        with open(path, "rb") as file:
            return file.read()


def _stem(session: Session) -> str:
    stem = os.path.splitext(os.path.basename(session.title))[0]
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in stem)[:60].strip("-") or "table"


def _fill(session: Session) -> tuple[str, str, bytes]:
    from gramian.io.tables import write_table

    data, fitted = session.need()
    columns = dict(zip(data.table.names, data.table.columns))
    for name, full in data.bounds.columns(data.prepare, fitted.full).items():
        seen = columns[name]
        empty = np.array([v is None for v in seen]) if seen.dtype == object else np.isnan(seen)
        columns[name] = np.where(empty, full, seen)
    content = _write(
        ".csv", lambda path: write_table(path, list(columns), list(columns.values()), escape_formulas=True)
    )
    return f"{_stem(session)}-filled.csv", "text/csv", content


def _scores(session: Session) -> tuple[str, str, bytes]:
    from gramian.io.tables import write_table

    data, fitted = session.need()
    columns: dict[str, Any] = {"row": np.arange(1.0, len(data.X) + 1)}
    columns |= {name: data.table[name] for name in data.prepare.ids if name in data.table and name != "row"}
    columns |= {f"z{k + 1}": fitted.latents[:, k] for k in range(fitted.q)}
    if fitted.odd is not None:
        columns |= {"t2": fitted.odd.t2, "spe": fitted.odd.spe}
    if fitted.clusters is not None:
        columns["cluster"] = fitted.clusters.labels + 1.0
    content = _write(
        ".csv", lambda path: write_table(path, list(columns), list(columns.values()), escape_formulas=True)
    )
    return f"{_stem(session)}-scores.csv", "text/csv", content


def _model(session: Session) -> tuple[str, str, bytes]:
    from gramian import save
    from gramian.io.table_model import TableModel

    data, fitted = session.need()
    made = TableModel(fitted.kind, fitted.model, data.prepare, detector=fitted.detector)
    return (
        f"{_stem(session)}.safetensors",
        "application/octet-stream",
        _write(".model", lambda path: save(made, path)),
    )


def _report(session: Session) -> tuple[str, str, bytes]:
    from gramian.reporting import write_report

    data, fitted = session.need()
    q = int(fitted.linear.n_components_)

    def write(path: str) -> None:
        write_report(path, data.table, data.prepare, title=session.title, n_components=q)

    return f"{_stem(session)}-report.html", "text/html", _write(".html", write)


def _code(session: Session) -> tuple[str, str, bytes]:
    return f"{_stem(session)}.py", "text/x-python", python_code(session).encode()


FILES: dict[str, Callable[[Session], tuple[str, str, bytes]]] = {
    "filled": _fill,
    "scores": _scores,
    "model": _model,
    "report": _report,
    "code": _code,
}
VERB = Verb(export, {"what": (choice(*FILES), NEEDED)})
