"""The Python that makes what is on screen: it reads the table, fits the same models, and ends with the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.explorer.session import Fitted, Session
from gramian.policy import KERNELS, LOOK


def python_code(session: Session) -> str:
    """A script; ``latents``, ``full``, ``std``, ``odd`` and ``clusters`` are what the page shows."""
    data, fitted = session.need()
    q, n = int(fitted.linear.n_components_), len(data.X)
    holes, by_kernel = bool(np.isnan(data.X).any()), fitted.kind == "kernel"
    calibrated = fitted.filler is not fitted.linear
    before, after = _edits(session)
    names = {"PPCA"} | ({"LatentImputer"} if calibrated else set()) | ({"KernelPPCA"} if by_kernel else set())
    fits = [f"linear = PPCA({q}, random_state=0).fit(X)"]
    if calibrated:
        rows = _drawing_lines("X", n, LOOK.rows)
        fits.append(f"filler = LatentImputer(PPCA({q}, random_state=0), standardize=False).fit({rows})")
    looks = ["odd = linear.anomaly(X)"] if fitted.odd is not None else []
    filler = "filler" if calibrated else "linear"
    looks.append(f"full, std = {filler}.impute(X, return_std=True)" if holes else "full, std = X, np.zeros_like(X)")
    if by_kernel or fitted.clusters is not None:
        fits.append(looks[-1])
    if by_kernel:
        fits.append(_kernel_model(fitted, n))
    if fitted.clusters is not None:
        names.add("PPCAMixture")
        asked, rows = fitted.options.get("clusters") or "auto", _drawing_lines("full", n, LOOK.few)
        fits.append(f"clusters = PPCAMixture(n_clusters={asked!r}, random_state=0).fit({rows}).predict(full)")
    looks.append(f"latents = {'model.transform(full)' if by_kernel else 'linear.transform(X)'}")
    lines = [*_table(session), *before, "X = prepare.matrix(table)", "", *fits, "", *after]
    lines += ["X = prepare.matrix(table)"] if after else []
    lines += [
        *looks,
        "columns = Bounds.of_table(table, prepare).columns(prepare, full)  # as the table has them, possible values",
    ]
    head = [f"# What the page about {session.title[:60]!r} showed.", "import numpy as np", ""]
    head.append(f"from gramian import {', '.join(sorted(names))}")
    if by_kernel:
        head.append(f"from gramian.kernels import {type(fitted.model.kernel_).__name__}")
    if any("content_sample" in line for line in lines):
        head.append("from gramian._content import content_sample")
    return "\n".join([*head, *lines]) + "\n"


def _drawing_lines(rows: str, n: int, most: int) -> str:
    """The rows that were drawn by content, where there are many."""
    return rows if n <= most else f"content_sample({rows}, {most})"


def _kernel_model(fitted: Fitted, n: int) -> str:
    kernel = fitted.model.kernel_
    more = f", approximation='nystroem', n_landmarks={KERNELS.landmarks}" if n > KERNELS.exact_rows else ""
    parameters = ", ".join(f"{name}={value!r}" for name, value in kernel.get_params(deep=False).items())
    return (
        f"model = KernelPPCA({fitted.q}, kernel={type(kernel).__name__}({parameters}), random_state=0{more}).fit(full)"
    )


def _edits(session: Session) -> tuple[list[str], list[str]]:
    """Cells that were edited before the models were fitted, and after."""
    data = session.need_data()
    parts: tuple[list[str], list[str]] = ([], [])
    for row, columns in sorted(session.edited.items()):
        for j in sorted(columns):
            name = data.table.names[j]
            line = f"table[{name!r}][{row}] = {_cell(data.table[name][row])}"
            parts[(row, j) not in session.fitted_edits].append(line)
    return parts


def _table(session: Session) -> list[str]:
    """The table as it was read, and what its columns are."""
    data = session.need_data()
    prepare = data.prepare
    lines = ["from gramian.io import Preprocessing, read_table", "from gramian.tables.bounds import Bounds"]
    lines.append("from gramian.tables.preprocessing import Roles")
    if session.title == "digits":
        lines += ["from gramian.explorer.data import demo_data", "", "table = demo_data().table"]
    else:
        lines += ["", f"table = read_table({data.title!r})"]
    emptied = [(name, code, np.nan) for name, codes in data.emptied.items() for code in codes]
    for name, old, new in [*emptied, *session.replaced]:
        lines.append(f"table[{name!r}][table[{name!r}] == {_cell(old)}] = {_cell(new)}")
    if (prepare.mean == 0).all() and (prepare.scale == 1).all():  # a bare estimator: columns in their own units
        width = len(prepare.names)
        made = f"Preprocessing({prepare.names!r}, [[] for _ in range({width})], np.zeros({width}), np.ones({width}))"
    else:
        made = f"Preprocessing.fit([table], {_call('Roles', id=tuple(prepare.ids), target=prepare.target)})"
    return [*lines, f"prepare = {made}"]


def _cell(value: Any) -> str:
    return (
        "None"
        if value is None
        else "np.nan"
        if value != value
        else repr(value if isinstance(value, str) else float(value))
    )


def _call(name: str, **given: Any) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items() if value)})"
