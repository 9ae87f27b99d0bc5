"""From an analysis to the sections of the report: the words, the tables, and where each picture stands."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from gramian.io.preprocessing import Preprocessing
from gramian.io.table import ReadOptions
from gramian.report import pictures
from gramian.report.analysis import (
    LEVEL,
    ODD_ROWS,
    SHOWN_CELLS,
    Analysis,
    column_holes,
    interval_factor,
    leading_features,
    missing_patterns,
)
from gramian.report.blocks import Code, Facts, Grid, Note, Section, Text, shortened

SHOWN_COLUMNS = 40


def sections_of(analysis: Analysis, path: str, options: ReadOptions | None = None) -> list[Section]:
    """All sections, in the order in which they are read."""
    found = [
        _data(analysis),
        _missing(analysis),
        _model(analysis),
        _structure(analysis),
        _map(analysis),
        _odd_rows(analysis),
        _imputed(analysis),
        _clusters(analysis),
        _python(analysis, path, options or ReadOptions()),
    ]
    return [section for section in found if section is not None]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"


def _count(number: int) -> str:
    return f"{number:,}".replace(",", " ")


# ---------------------------------------------------------------- the table


def _data(analysis: Analysis) -> Section:
    table, prepare = analysis.table, analysis.prepare
    section = Section("The data")
    holes = column_holes(analysis)
    section.add(
        Facts(
            [
                (_count(table.n_rows), "rows"),
                (_count(len(prepare.names)), "columns modelled"),
                (_percent(float(holes.mean())), "of the cells missing"),
                (_count(int((~holes.any(axis=1)).sum())), "complete rows"),
            ]
        )
    )
    for note in (*table.notes, *prepare.notes):
        section.add(Note(note[:1].upper() + note[1:] + "."))
    rows = [_described(analysis, j) for j in range(min(len(prepare.names), SHOWN_COLUMNS))]
    caption = (
        f"The first {SHOWN_COLUMNS} of {len(prepare.names)} columns." if len(prepare.names) > SHOWN_COLUMNS else ""
    )
    section.add(Grid(["column", "kind", "missing", "mean", "std", "smallest", "largest"], rows, caption))
    for warning in analysis.warnings:
        section.add(Note(f"While fitting: {warning}"))
    return section


def _described(analysis: Analysis, j: int) -> list[Any]:
    name, values = analysis.prepare.names[j], analysis.table[analysis.prepare.names[j]]
    label = shortened(name)
    if analysis.prepare.categories[j]:
        seen = [value for value in values if value is not None]
        words, counts = np.unique(np.array([str(v) for v in seen]), return_counts=True)
        common = ", ".join(shortened(str(w), 20) for w in words[np.argsort(-counts)][:3])
        return [label, f"text, {len(words)} values: {common}", len(values) - len(seen), None, None, None, None]
    seen_numbers = values[~np.isnan(values)]
    return [label, "number", len(values) - len(seen_numbers), *_moments(seen_numbers)]


def _moments(values: Any) -> list[float]:
    return [float(values.mean()), float(values.std()), float(values.min()), float(values.max())]


def _missing(analysis: Analysis) -> Section | None:
    holes = column_holes(analysis)
    if not holes.any():
        return None
    section = Section("What is missing")
    counts = holes.sum(axis=0)
    order = np.argsort(-counts, kind="stable")
    names = analysis.prepare.names
    rows = holes.any(axis=1).sum()
    section.add(
        Text(
            f"{_count(int(counts.sum()))} cells are missing, in {_count(int(rows))} rows and "
            f"{int((counts > 0).sum())} columns. The model uses "
            "every row as far as it was seen. It takes cells as missing at random: whether a cell is "
            "missing may depend on what was "
            "seen, but not on the missing value itself."
        )
    )
    section.add(*pictures.missing_map(analysis))
    section.add(
        Grid(
            ["column", "missing", "share"],
            [[shortened(names[j]), int(counts[j]), _percent(counts[j] / len(holes))] for j in order[:12] if counts[j]],
        )
    )
    patterns = missing_patterns(analysis)
    if patterns:
        section.add(
            Grid(
                ["missing together", "rows"],
                [[shortened(p, 100), n] for p, n in patterns],
                "The commonest combinations.",
            )
        )
    return section


# ---------------------------------------------------------------- the model


def _model(analysis: Analysis) -> Section:
    model, section = analysis.model, Section("The model, and why")
    q, d = model.n_components_, analysis.X.shape[1]
    structure = float(np.sum(model.explained_variance_ratio_)) if q else 0.0
    section.add(
        Facts(
            [
                (str(q), f"latent dimension(s) for {d} features"),
                (_percent(structure), "of the variance along them"),
                (f"{model.noise_variance_:.3g}", "noise variance (a column has 1)"),
            ]
        )
    )
    section.add(
        Text(
            "Probabilistic PCA: each row is a point in a space of few dimensions, mapped linearly to the "
            "columns, plus noise that is "
            "alike in all of them. Columns were brought to mean 0 and variance 1 first. The number of "
            f"dimensions was {_chosen(analysis)}"
            if q
            else "There is one feature only, or two rows: nothing to reduce. The model is a Gaussian."
        )
    )
    section.add(*(Note(note) for note in analysis.notes.get("model", [])))
    held = analysis.held_out
    if held is not None:
        error = held.errors[held.candidates.index(held.chosen)]
        better = 1 - error / held.mean_error if held.mean_error > 0 else 0.0
        section.add(
            Text(
                f"To see what the model knows, {held.n_cells} observed cells were hidden and guessed from "
                f"the others. With {held.chosen} dimension(s) the "
                f"error is {error:.3g} column spreads, against {held.mean_error:.3g} for filling in means: "
                f"{_percent(max(better, 0.0))} less. "
                f"Of the {100 * LEVEL:.0f} % intervals, {_percent(held.coverage)} held the hidden value."
            )
        )
        section.add(*pictures.held_out(analysis))
        section.add(*pictures.calibration(analysis))
    return section


def _chosen(analysis: Analysis) -> str:
    return "given." if analysis.rule == "as asked" else f"chosen by {analysis.rule}: more would fit the noise."


def _structure(analysis: Analysis) -> Section | None:
    model = analysis.model
    if model.n_components_ == 0:
        return None
    section = Section("Structure and noise")
    section.add(*pictures.spectrum(analysis))
    rows = []
    for k in range(min(model.n_components_, 8)):
        leaders = "; ".join(
            f"{'+' if value > 0 else '−'} {shortened(name, 30)}" for name, value in leading_features(analysis, k)
        )
        rows.append([f"z{k + 1}", _percent(float(model.explained_variance_ratio_[k])), leaders])
    section.add(
        Grid(
            ["component", "variance", "columns that move most with it"],
            rows,
            "A sign says whether the column rises or falls with the component.",
        )
    )
    return section


def _map(analysis: Analysis) -> Section | None:
    if analysis.model.n_components_ == 0:
        return None
    section = Section("The map of rows")
    section.add(
        Text(
            "Every row at its latent coordinates. Near rows are alike in all columns at once; the ellipses "
            "show how sure the model is of a "
            "row that misses cells."
            if pictures.shows_ellipses(analysis)
            else "Every row at its latent coordinates. Near rows are alike in all columns at once."
        )
    )
    section.add(*pictures.latent_map(analysis))
    return section


# ---------------------------------------------------------------- rows and cells


def _odd_rows(analysis: Analysis) -> Section:
    section, anomaly = Section("Odd rows"), analysis.anomaly
    flagged = int(analysis.flags.sum())
    section.add(
        Text(
            f"{_count(flagged)} of {_count(len(analysis.X))} rows lie beyond what one ordinary row in a "
            "hundred would reach, far out along the structure (T²) "
            "or far off it (SPE). The columns responsible are those without which the row would look ordinary."
        )
    )
    section.add(*pictures.odd_rows(analysis))
    chance = np.minimum(anomaly.p_t2, anomaly.p_spe)
    order = np.argsort(chance, kind="stable")[:ODD_ROWS]
    rows = [
        [
            shortened(analysis.row_name(int(i))),
            float(anomaly.t2[i]),
            float(anomaly.spe[i]),
            _chance(float(chance[i])),
            _responsible(anomaly.contributions[i], analysis.prepare),
        ]
        for i in order
    ]
    section.add(
        Grid(["row", "T²", "SPE", "chance", "columns responsible"], rows, f"The {len(rows)} oddest rows, oddest first.")
    )
    return section


def _chance(probability: float) -> str:
    return "< 1e-12" if probability < 1e-12 else f"{probability:.2g}"


def _responsible(contributions: Any, prepare: Preprocessing) -> str:
    positive = np.maximum(np.nan_to_num(contributions), 0.0)
    by_column = np.bincount(prepare.owner, weights=positive, minlength=len(prepare.names))
    total = by_column.sum()
    if not total > 0:
        return ""
    order = np.argsort(-by_column)[:3]
    return ", ".join(
        f"{shortened(prepare.names[j], 30)} {100 * by_column[j] / total:.0f} %"
        for j in order
        if by_column[j] > 0.05 * total
    )


def _imputed(analysis: Analysis) -> Section | None:
    holes = column_holes(analysis)
    if not holes.any():
        return None
    prepare = analysis.prepare
    section = Section("Imputed cells")
    columns, spreads = prepare.columns(analysis.full), prepare.spread(analysis.std)
    factor = interval_factor(LEVEL)
    cells = np.argwhere(holes)
    share = np.array([_relative(prepare, spreads, analysis, r, c) for r, c in cells])
    order = np.argsort(share, kind="stable")
    picked = order if len(order) <= SHOWN_CELLS else order[np.linspace(0, len(order) - 1, SHOWN_CELLS).astype(int)]
    rows = []
    for row, column in cells[picked]:
        value, spread = columns[column][row], float(spreads[column][row])
        if prepare.categories[column]:
            interval = "likeliest value"
        else:
            interval = f"{value - factor * spread:.4g} to {value + factor * spread:.4g}"
        rows.append([shortened(analysis.row_name(int(row))), shortened(prepare.names[column]), value, interval])
    section.add(
        Text(
            "Each missing cell has a distribution given what was seen of its row, not only a value: its "
            "mean is filled in, and the interval holds "
            f"it in {100 * LEVEL:.0f} of 100 cases if the model is right."
        )
    )
    caption = (
        f"{len(rows)} of {len(cells)} imputed cells, from the surest to the least sure."
        if len(cells) > len(rows)
        else ""
    )
    section.add(Grid(["row", "column", "imputed", f"{100 * LEVEL:.0f} % interval"], rows, caption))
    section.add(Text("The whole filled table: gramian impute IN -o full.csv --std uncertainty.csv"))
    return section


def _relative(prepare: Preprocessing, spreads: Any, analysis: Analysis, row: int, column: int) -> float:
    """How unsure a cell is, in units of its column's spread."""
    feature = int(np.searchsorted(prepare.owner, column))
    return float(spreads[column][row] / prepare.scale[feature])


# ---------------------------------------------------------------- clusters


def _clusters(analysis: Analysis) -> Section:
    section, clusters = Section("Clusters"), analysis.clusters
    section.add(*(Note(note) for note in analysis.notes.get("clusters", [])))
    if clusters is None:
        return section
    count = len(clusters.model.weights_)
    tried = ", ".join(f"{c}: {score:.2f}" for c, score in zip(clusters.candidates, clusters.scores))
    if count == 1:
        section.add(
            Text(
                f"One Gaussian describes the table as well as mixtures of up to {clusters.candidates[-1]} "
                f"clusters do (mean log-likelihood of held-out rows, {tried})."
            )
        )
        return section
    section.add(
        Text(
            f"Held-out rows prefer a mixture of {count} probabilistic PCA models (mean log-likelihood, {tried}). Each cluster "
            "has its own centre, its own directions and its own noise."
        )
    )
    sizes = np.bincount(clusters.labels, minlength=count)
    header = ["cluster", "rows", "differs most in"]
    target = analysis.target
    if target is not None:
        header.append(f"commonest {shortened(str(analysis.prepare.target), 20)}")
    rows = []
    for k in range(count):
        row: list[Any] = [str(k + 1), int(sizes[k]), _differences(analysis, k)]
        if target is not None:
            members = [target[i] for i in np.flatnonzero(clusters.labels == k)]
            row.append(_commonest(members))
        rows.append(row)
    section.add(Grid(header, rows, "Differences of the cluster's centre from the table's, in column spreads."))
    section.add(*pictures.clusters(analysis))
    return section


def _differences(analysis: Analysis, k: int, most: int = 4) -> str:
    assert analysis.clusters is not None
    members = analysis.full[analysis.clusters.labels == k]
    if not len(members):
        return ""
    shift = members.mean(axis=0) - analysis.full.mean(axis=0)
    order = np.argsort(-np.abs(shift))[:most]
    return ", ".join(
        f"{shortened(analysis.prepare.features[j], 30)} {shift[j]:+.1f}" for j in order if abs(shift[j]) > 0.3
    )


def _commonest(words: list[str]) -> str:
    if not words:
        return ""
    values, counts = np.unique(np.array(words), return_counts=True)
    best = int(np.argmax(counts))
    return f"{shortened(str(values[best]), 24)} ({100 * counts[best] / len(words):.0f} %)"


# ---------------------------------------------------------------- the code


def _python(analysis: Analysis, path: str, options: ReadOptions) -> Section:
    prepare, section = analysis.prepare, Section("The same in Python")
    roles = _call("Roles", id=tuple(prepare.ids), target=prepare.target, drop=tuple(prepare.left_out))
    changed = {f.name: getattr(options, f.name) for f in fields(options) if getattr(options, f.name) != f.default}
    reading = f", {_call('ReadOptions', **changed)}" if changed else ""
    lines = [
        "from gramian import PPCA, PPCAMixture",
        "from gramian.io.preprocessing import Preprocessing, Roles",
        "from gramian.io.tables import ReadOptions, read_table",
        "",
        f"table = read_table({path!r}{reading})",
        f"prepare = Preprocessing.fit([table], {roles})",
        "X = prepare.matrix(table)                       # standardised features, NaN where missing",
        "",
        f"model = PPCA(n_components={analysis.model.n_components_}, random_state=0).fit(X)",
        "latent = model.transform(X)",
        "full, std = model.impute(X, return_std=True)",
        "columns = prepare.columns(full)                 # back in the units of the table",
        "odd = model.anomaly(X, level=0.99)              # .t2, .spe, .p_t2, .p_spe, .contributions",
    ]
    if analysis.clusters is not None:
        mixture = analysis.clusters.model
        settings = (
            f"{mixture.n_clusters!r}, {mixture.n_components!r}, n_init={mixture.n_init}, tol={mixture.tol:g}, "
            "random_state=0"
        )
        lines += [f"mixture = PPCAMixture({settings}).fit(X)", "clusters = mixture.predict(X)"]
    return section.add(Code("\n".join(lines)))


def _call(name: str, **arguments: Any) -> str:
    """A call as Python text, without what is empty."""
    given = ", ".join(f"{key}={value!r}" for key, value in arguments.items() if value not in (None, (), frozenset()))
    return f"{name}({given})"
