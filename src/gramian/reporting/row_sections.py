"""Sections about rows: their map, the odd ones, what was filled in, clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.policy import DEFAULTS, PAGE
from gramian.reporting import row_drawings as draw
from gramian.reporting.analysis import Analysis, column_holes, interval_factor
from gramian.reporting.blocks import Drawing, Grid, Note, Section, Text, shorten
from gramian.reporting.glance import strength_words
from gramian.reporting.words import count, extrapolated_columns, of_extrapolated, plural, responsible
from gramian.tables.preprocessing import Preprocessing


def rows_to_draw(analysis: Analysis) -> Array:
    """Rows to draw: all, or some spread evenly and the odd ones."""
    n = len(analysis.X)
    if n <= PAGE.marks:
        return np.arange(n)
    even = np.linspace(0, n - 1, PAGE.marks).astype(int)
    odd = np.flatnonzero(analysis.flags)
    odd = odd[np.argsort(-analysis.oddness[odd], kind="stable")]
    return np.unique(np.concatenate([even, odd[: PAGE.marks // 2]]))


def _names(analysis: Analysis, rows: Array) -> list[str]:
    return [shorten(analysis.row_name(int(i)), 60) for i in rows]


def row_map(analysis: Analysis) -> Section | None:
    """Rows at their latent coordinates."""
    if analysis.model.n_components_ == 0:
        return None
    section = Section("The map of rows")
    if analysis.strength in ("none", "weak"):
        section.add(Note(strength_words(analysis)))
    section.add(Text("Every row at its latent coordinates. Near rows are alike in all columns at once."))
    rows = rows_to_draw(analysis)
    classes = None if analysis.target is None else [analysis.target[i] for i in rows]
    points, axes = _plane(analysis, rows)
    coloured = f"Coloured by {shorten(str(analysis.prepare.target))}. " if classes is not None else ""
    some = f"{count(len(rows))} of {count(len(analysis.X))} rows are drawn. " if len(rows) < len(analysis.X) else ""
    caption = f"{coloured}{some}Odd rows are far out along the structure, or off it, which this plane does not show."
    names = _names(analysis, rows)
    return section.add(Drawing(draw.row_map(points, names, classes, analysis.flags[rows], axes), caption))


def _plane(analysis: Analysis, rows: Array) -> tuple[Array, tuple[str, str]]:
    """Two coordinates of rows: the first two latents, or one over the row numbers."""
    latents = analysis.latents[rows]
    if latents.shape[1] > 1:
        share = analysis.model.explained_variance_ratio_
        return latents[:, :2], (f"z1 ({100 * share[0]:.0f} % of the variance)", f"z2 ({100 * share[1]:.0f} %)")
    return np.column_stack([rows + 1.0, latents[:, 0]]), ("row", "z1")


def odd_rows(analysis: Analysis) -> Section:
    """Rows far out along the structure, or far off it."""
    section, anomaly = Section("Odd rows"), analysis.anomaly
    flagged = int(analysis.flags.sum())
    section.add(
        Text(
            f"{count(flagged)} of {plural(len(analysis.X), 'row')} are as unlikely as one ordinary row in a hundred, under models that have not "
            "seen them. T² says how far out along the structure a row lies, SPE how far off it. The columns responsible are those "
            "without which the row would look ordinary."
        )
    )
    if analysis.model.n_components_:
        rows = rows_to_draw(analysis)
        names = _names(analysis, rows)
        for values, label in ((anomaly.t2, "T²"), (anomaly.spe, "SPE")):
            picked = analysis.flags[rows]
            section.add(Drawing(draw.distances(values[rows], picked, rows, names, label), wide=True))
        section.blocks[-1] = Drawing(
            section.blocks[-1].svg, "Rows in the order of the table; odd ones in orange.", True
        )
    chance = np.minimum(anomaly.p_t2, anomaly.p_spe)
    order = np.argsort(-analysis.oddness, kind="stable")[: max(PAGE.rows, min(flagged, 5 * PAGE.rows))]
    cells = [
        [
            shorten(analysis.row_name(int(i))),
            "yes" if analysis.flags[i] else "no",
            float(anomaly.t2[i]),
            # Decimals of a distance: what is below is of the size of rounding.
            round(float(anomaly.spe[i]), 9),
            _chance(float(chance[i])),
            responsible(anomaly.contributions[i], analysis.prepare),
            *told,
        ]
        for i, told in zip(order, seen_and_ordinary(analysis, order))
    ]
    caption = f"The {len(cells)} oddest rows, oddest first. The chance is that of a Gaussian row to lie as far out."
    section.add(Grid(["row", "odd", "T²", "SPE", "chance", "columns responsible", "seen", "ordinary"], cells, caption))
    wild = wild_cells(analysis)
    if wild:
        caption = f"{plural(len(wild), 'cell')} that the other cells of the row contradict most: slips, or the news of the table."
        section.add(Grid(["row", "column", "seen", "the others say", "± deviation"], wild, caption))
    return section


def wild_cells(analysis: Analysis) -> list[list[Any]]:
    """Cells of numbers that the others of their row contradict [14], the farthest first: row, column, seen, expected, its deviation."""
    prepare, model = analysis.prepare, analysis.model
    found = np.argwhere(analysis.contradicted)
    far = np.argsort(-analysis.anomaly.contributions[tuple(found.T)], kind="stable")[: PAGE.rows]
    rows, features = found[far].T
    if not len(rows):
        return []
    masked = np.array(analysis.X[rows])
    masked[np.arange(len(rows)), features] = np.nan
    expected, std = (np.asarray(part) for part in model.impute(masked, return_std=True))
    columns, spreads = prepare.columns(expected), prepare.spread(std)
    out = []
    for k, (row, j) in enumerate(zip(rows, prepare.owner[features])):
        name = prepare.names[j]
        seen = float(analysis.table[name][row])
        out.append([shorten(analysis.row_name(int(row))), shorten(name), seen, columns[j][k], float(spreads[j][k])])
    return out


def seen_and_ordinary(analysis: Analysis, rows: Array, most: int = 3) -> list[tuple[str, str]]:
    """What the columns responsible show in each row, and what the rest of the row would lead one to expect there."""
    prepare = analysis.prepare
    positive = np.maximum(np.nan_to_num(analysis.anomaly.contributions[rows]), 0.0)
    by_column = np.column_stack([positive[:, prepare.owner == j].sum(axis=1) for j in range(len(prepare.names))])
    blamed = [
        [int(j) for j in np.argsort(-shares, kind="stable")[:most] if shares[j] > 0.05 * shares.sum()]
        for shares in by_column
    ]
    masked = np.array(analysis.X[rows])
    for i, columns in enumerate(blamed):
        masked[i, np.isin(prepare.owner, columns)] = np.nan
    expected = prepare.columns(np.asarray(analysis.model.impute(masked)))
    out = []
    for i, columns in enumerate(blamed):
        seen = (_cell(analysis.table[prepare.names[j]][rows[i]]) for j in columns)
        out.append((", ".join(seen), ", ".join(_cell(expected[j][i]) for j in columns)))
    return out


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else shorten(str(value), 24)


def _chance(probability: float) -> str:
    return "< 1e-12" if probability < 1e-12 else f"{probability:.2g}"


def imputed_cells(analysis: Analysis) -> Section | None:
    """Cells that were filled, with their intervals."""
    holes = column_holes(analysis)
    if not holes.any():
        return None
    prepare, section = analysis.prepare, Section("Imputed cells")
    far = extrapolated_columns(prepare, analysis.full, holes)
    if far:
        section.add(Note(f"Cells {of_extrapolated(far)}."))
    columns, spreads = prepare.columns(analysis.full), prepare.spread(analysis.std)
    factor = interval_factor(DEFAULTS.cover)
    cells = np.argwhere(holes)
    share = np.array([_relative(prepare, spreads, r, c) for r, c in cells])
    order = np.argsort(share, kind="stable")
    picked = order if len(order) <= PAGE.cells else order[np.linspace(0, len(order) - 1, PAGE.cells).astype(int)]
    rows = []
    for row, column in cells[picked]:
        value, spread = columns[column][row], float(spreads[column][row])
        low, high = (None, None) if prepare.categories[column] else (value - factor * spread, value + factor * spread)
        filled = f"{value} (likeliest value)" if prepare.categories[column] else value
        rows.append([shorten(analysis.row_name(int(row))), shorten(prepare.names[column]), filled, low, high])
    section.add(
        Text(
            "Each missing cell has a distribution given what was seen of its row, not only a value: its mean is filled in, and the "
            f"interval should hold it in {100 * DEFAULTS.cover:.0f} of 100 cases."
        )
    )
    caption = (
        f"{len(rows)} of {count(len(cells))} imputed cells, from the surest to the least sure. "
        if len(cells) > len(rows)
        else ""
    )
    section.add(Grid(["row", "column", "imputed", f"{100 * DEFAULTS.cover:.0f} % from", "to"], rows, caption))
    return section.add(Text("The whole filled table: gramian impute IN -o full.csv --std uncertainty.csv"))


def _relative(prepare: Preprocessing, spreads: Any, row: int, column: int) -> float:
    """How unsure a cell is, in units of its column's spread."""
    feature = int(np.searchsorted(prepare.owner, column))
    return float(spreads[column][row] / prepare.scale[feature])


def clusters(analysis: Analysis) -> Section:
    """The mixture that held-out rows prefer."""
    section, found = Section("Clusters"), analysis.clusters
    section.add(*(Note(note) for note in analysis.notes.get("clusters", [])))
    if found is None:
        return section
    sizes = np.bincount(found.labels, minlength=len(found.model.weights_))
    if len(sizes) == 1:
        return section.add(
            Text(
                f"One Gaussian describes the table as well as mixtures of up to {found.candidates[-1]} clusters do, by the likelihood of "
                "held-out rows."
            )
        )
    section.add(
        Text(
            f"Held-out rows prefer a mixture of {len(sizes)} probabilistic PCA models. Each cluster has its own centre, its own "
            "directions and its own noise."
        )
    )
    header = ["cluster", "rows", "differs most in"]
    if analysis.target is not None:
        header.append(f"commonest {shorten(str(analysis.prepare.target), 20)}")
    rows = []
    for k in range(len(sizes)):
        row: list[Any] = [str(k + 1), int(sizes[k]), _differences(analysis, found.labels == k)]
        if analysis.target is not None:
            row.append(_commonest([analysis.target[i] for i in np.flatnonzero(found.labels == k)]))
        rows.append(row)
    section.add(Grid(header, rows, "Differences of the cluster's centre from the table's, in column spreads."))
    if analysis.model.n_components_:
        shown = rows_to_draw(analysis)
        points, axes = _plane(analysis, shown)
        kinds = [f"cluster {k + 1}" for k in found.labels[shown]]
        section.add(
            Drawing(
                draw.row_map(points, _names(analysis, shown), kinds, None, axes), "The clusters on the map of rows."
            )
        )
    known = [(c, s) for c, s in zip(found.candidates, found.scores) if np.isfinite(s)]
    if len(known) > 1:
        places, scores = zip(*known)
        picture = draw.curve(places, scores, len(sizes), ("clusters", "log-likelihood of held-out rows"))
        section.add(Drawing(picture, "How well held-out rows are described, for each number of clusters."))
    return section


def _differences(analysis: Analysis, members: Array, most: int = 4) -> str:
    if not members.any():
        return ""
    traits = analysis.traits
    shift = (analysis.full[members].mean(axis=0) - analysis.full.mean(axis=0)) @ traits.matrix
    order = np.argsort(-np.abs(shift), kind="stable")[:most]
    return ", ".join(f"{shorten(traits.names[j], 30)} {shift[j]:+.1f}" for j in order if abs(shift[j]) > 0.3)


def _commonest(words: list[str]) -> str:
    if not words:
        return ""
    values, counts = np.unique(np.array(words), return_counts=True)
    best = int(np.argmax(counts))
    return f"{shorten(str(values[best]), 24)} ({100 * counts[best] / len(words):.0f} %)"
