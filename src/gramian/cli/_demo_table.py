"""The first step of the demo: a real table of named columns, its holes, its rows and its odd ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.cli._demo_steps import Step, rms
from gramian.reporting.blocks import Code, Grid, Section, Text
from gramian.reporting.pictures import picture
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import Table

DRAWS = 5
"""Times that a tenth of the measured cells is hidden: enough cells for a share of them to be told to about a per cent."""


def table() -> Step:
    """Penguins: cells hidden and filled with intervals, a map of the rows, odd rows with reasons."""
    from gramian import PPCA, odd_rows, plotting
    from gramian.datasets import load_penguins

    columns = load_penguins()
    whole = Table(list(columns), list(columns.values()))
    found = [_hide(whole, draw) for draw in range(DRAWS)]
    errors, plain, inside = (np.concatenate([part[k] for part in found]) for k in range(3))
    error, of_means, share = rms(errors), rms(plain), float(inside.mean())
    line = (
        f"{len(inside)} hidden cells of {whole.n_rows} penguins: error {error:.2f} deviations (means {of_means:.2f}); "
        f"{100 * share:.0f} % inside intervals that promise 90 %"
    )
    prepare = Preprocessing.fit([whole])
    X = prepare.matrix(whole)
    model = PPCA(n_components=2).fit(X)
    odd = odd_rows(columns)
    rows = [[str(odd[name][i]) for name in ("row", "columns", "seen", "expected")] for i in range(len(odd["row"]))]
    section = Section("A table with holes")
    section.add(
        Text(
            f"{whole.n_rows} penguins of the Palmer Archipelago: sizes, isotopes, species, island, sex, the date of the egg. A tenth of the measured "
            f"cells was hidden, {DRAWS} times, and filled from the rest of each row. The error is {error:.2f} standard deviations, against {of_means:.2f} for "
            f"column means; {100 * share:.0f} % of the hidden values lie inside intervals that promise 90 %."
        ),
        picture(
            lambda: _filled_cells(whole, found[0][3]),
            "Hidden cells, filled",
            "Each bar is the 90 % interval of a hidden cell, beside the value that was hidden; on the line they agree.",
            marks=10**6,
            wide=True,
        ),
        picture(
            lambda: plotting.latent_scatter(model, X, labels=np.array(columns["species"], dtype=str)),
            "A map of the penguins",
            "Every row at its place in two dimensions, those with holes too.",
        ),
        Text(
            "Rows that are odd, each with the columns responsible, what stands there, and what the rest of the row leads one to expect:"
        ),
        Grid(["row", "columns", "seen", "expected"], rows),
        Code(
            "full, quality = gramian.fill(frame, return_quality=True)\nodd = gramian.odd_rows(frame)\ngramian.report(frame).save('report.html')"
        ),
    )
    return Step(line, {"error": error, "error of means": of_means, "coverage": share, "odd rows": len(rows)}, section)


def _hide(whole: Table, draw: int) -> tuple[Array, Array, Array, dict[str, tuple[Array, Array, Array]]]:
    """Errors of hidden cells in deviations of their columns, those of means, which lie inside 90 %, and by column (truth, filled, deviation)."""
    from gramian import LatentImputer

    rng = np.random.default_rng(draw)
    columns, hidden = [], {}
    for name in whole.names:
        column = np.array(whole[name])
        if column.dtype != object:
            hidden[name] = (rng.random(len(column)) < 0.1) & ~np.isnan(column)
            column[hidden[name]] = np.nan
        columns.append(column)
    holed = Table(whole.names, columns)
    prepare = Preprocessing.fit([holed])
    X = prepare.matrix(holed)
    full, std = LatentImputer(standardize=False).fit(X).impute(X, return_std=True)
    filled, spreads = dict(zip(prepare.names, prepare.columns(full))), dict(zip(prepare.names, prepare.spread(std)))
    errors, plain, inside, cells = [], [], [], {}
    for name, at in hidden.items():
        truth, unit = whole[name][at], np.nanstd(whole[name])
        cells[name] = (truth, filled[name][at], spreads[name][at])
        errors.append((filled[name][at] - truth) / unit)
        plain.append((np.nanmean(holed[name]) - truth) / unit)
        inside.append(np.abs(filled[name][at] - truth) <= 1.645 * spreads[name][at])
    return np.concatenate(errors), np.concatenate(plain), np.concatenate(inside), cells


def _filled_cells(whole: Table, cells: dict[str, tuple[Array, Array, Array]]) -> Any:
    """Truth against what was filled in, a panel per column."""
    from gramian.plotting._canvas import BLUE, GREY, panels, plain

    axes = panels(None, (2, 3), (8.4, 5.0)).ravel()
    for ax, (name, (truth, filled, std)) in zip(axes, cells.items()):
        plain(ax)
        ends = np.nanmin(whole[name]), np.nanmax(whole[name])
        ax.plot(ends, ends, color=GREY, lw=1, zorder=1)
        ax.errorbar(truth, filled, 1.645 * std, fmt="o", ms=3, lw=0.8, color=BLUE, zorder=2)
        ax.set_title(name.replace("_", " "), fontsize="medium")
    axes[3].set_xlabel("hidden value")
    axes[0].set_ylabel("filled, 90 %")
    return axes[0]
