"""Sections about the table as it is: its columns, how they go together, what is missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.policy import PAGE
from gramian.reporting import column_drawings as draw
from gramian.reporting.analysis import Analysis, column_holes, first_features, missing_patterns
from gramian.reporting.blocks import Drawing, Grid, Note, Section, Text, shorten
from gramian.reporting.words import count, percent, plural


def columns(analysis: Analysis) -> Section:
    """Every column with its numbers and its histogram."""
    prepare, section = analysis.prepare, Section("The columns")
    notes = [note[:1].upper() + note[1:] + "." for note in (*analysis.table.notes, *prepare.notes)]
    if notes:
        section.add(Note(" ".join(notes)))
    rows = [_describe(analysis, j) for j in range(min(len(prepare.names), PAGE.columns))]
    more = len(prepare.names) - PAGE.columns
    caption = f"The first {PAGE.columns} of {len(prepare.names)} columns." if more > 0 else ""
    header = ["column", "spread", "missing", "mean", "std", "smallest", "median", "largest"]
    return section.add(Grid(header, rows, caption))


def _describe(analysis: Analysis, j: int) -> list[Any]:
    name, values = analysis.prepare.names[j], analysis.table[analysis.prepare.names[j]]
    label = shorten(name)
    if analysis.prepare.categories[j]:
        cells = values.tolist() if values.dtype == object else [None if v != v else f"{v:g}" for v in values.tolist()]
        seen = [str(value) for value in cells if value is not None]
        words, counts = np.unique(np.array(seen), return_counts=True)
        common = ", ".join(shorten(str(w), 16) for w in words[np.argsort(-counts, kind="stable")][:3])
        said = f"{label}: {len(words)} values ({common}{', ...' if len(words) > 3 else ''})"
        return [said, Drawing(draw.value_bars(seen)), len(cells) - len(seen), *[None] * 5]
    seen_numbers = values[~np.isnan(values)]
    low, middle, high = np.quantile(seen_numbers, [0, 0.5, 1]) if len(seen_numbers) else [np.nan] * 3
    moments = [float(seen_numbers.mean()), float(seen_numbers.std())] if len(seen_numbers) else [np.nan, np.nan]
    picture = Drawing(draw.histogram(values))
    return [label, picture, len(values) - len(seen_numbers), *moments, float(low), float(middle), float(high)]


def together(analysis: Analysis) -> Section | None:
    """How any two columns go together: numbers, categories and dates."""
    if len(analysis.X) < 3:
        return None
    R, names = analysis.associations
    if len(names) < 2:
        return None
    strength = np.nan_to_num(np.abs(R - np.eye(len(R))))
    picked = np.arange(len(names))
    section = Section("How columns go together")
    if len(names) > PAGE.cells:
        picked = np.sort(np.argsort(-strength.max(axis=1), kind="stable")[: PAGE.cells])
    caption = (
        f"{'The ' + str(len(picked)) + ' most associated of ' if len(picked) < len(names) else ''}{len(names)} columns, over the rows that show "
        "both. Two numbers: their correlation, orange where they rise together, blue against each other; a category of two values, or an ordered one, counts "
        "as numbers in its order. With other categories: the correlation ratio, or Cramér's V, from 0 to 1. The deeper, the stronger."
    )
    if n_wild := int(analysis.wild.sum()):
        caption += f" {plural(n_wild, 'wild cell')} left out."
    section.add(Drawing(draw.correlations(R[np.ix_(picked, picked)], [names[j] for j in picked]), caption))
    above = np.argwhere(np.triu(strength, 1) > 0)
    order = np.argsort(-strength[tuple(above.T)], kind="stable")[:8]
    pairs = [[shorten(names[i]), shorten(names[j]), float(round(R[i, j], 3))] for i, j in above[order]]
    if pairs:
        section.add(Grid(["column", "and", "association"], pairs, "The strongest."))
    return section


def missing(analysis: Analysis) -> Section | None:
    """Where the holes are."""
    holes = column_holes(analysis)
    if not holes.any():
        return None
    names = analysis.prepare.names
    section, by_column = Section("What is missing"), holes.sum(axis=0)
    rows = int(holes.any(axis=1).sum())
    section.add(
        Text(
            f"{plural(int(by_column.sum()), 'cell')} missing, in {plural(rows, 'row')} and "
            f"{plural(int((by_column > 0).sum()), 'column')}. The model uses every row as far as it was seen. It takes cells as "
            "missing at random: whether a cell is missing may depend on what was seen, but not on the missing value itself."
        )
    )
    order = np.argsort(-by_column, kind="stable")
    shown = np.arange(len(names))
    if len(names) > PAGE.columns:
        shown = np.sort(order[: PAGE.columns])
        section.add(
            Note(f"The map shows the {PAGE.columns} of {len(names)} columns that miss most; the others are left out.")
        )
    caption = "Rows from top to bottom as in the table, columns from left to right. Coloured: missing."
    section.add(Drawing(draw.hole_map(holes[:, shown], [names[j] for j in shown]), caption, wide=True))
    section.add(
        Grid(
            ["column", "missing", "share"],
            [
                [shorten(names[j]), int(by_column[j]), percent(by_column[j] / len(holes))]
                for j in order[:12]
                if by_column[j]
            ],
        )
    )
    patterns = missing_patterns(analysis)
    section.add(
        Grid(["missing together", "rows"], [[shorten(p, 100), n] for p, n in patterns], "The commonest combinations.")
    )
    shifts = shifted_means(analysis)
    if shifts:
        section.add(
            Text(
                "If cells are missing because of the values they would have had (large incomes that are not told), nothing in the table can show it, "
                "no method can know, and intervals then cover less than they say. What it would change:"
            )
        )
        section.add(
            Grid(
                ["column", "mean of seen cells", "mean, filled", "missing one deviation lower", "one higher"],
                [[shorten(name), *map(_round, means)] for name, *means in shifts[:12]],
                "The mean of a column if its missing values lie where they are filled, and one standard deviation of the filling (what it is unsure "
                "by) below or above. Conclusions that change between the columns of this table depend on why cells are missing.",
            )
        )
    return section


def shifted_means(analysis: Analysis) -> list[tuple[str, float, float, float, float]]:
    """For each column of numbers with holes, those with most first: its name, and its mean over seen cells, as filled, and with filled cells one
    deviation lower and higher."""
    prepare, holes, found = analysis.prepare, column_holes(analysis), []
    for j in np.argsort(-holes.sum(axis=0), kind="stable"):
        hidden = holes[:, j]
        if not hidden.any() or prepare.categories[j]:
            continue
        k = int(first_features(prepare)[j])
        values = prepare.mean[k] + prepare.scale[k] * analysis.full[:, k]
        push = float(prepare.scale[k] * np.where(hidden, analysis.std[:, k], 0.0).mean())
        filled = float(values.mean())
        found.append((prepare.names[j], float(values[~hidden].mean()), filled, filled - push, filled + push))
    return found


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def size_words(analysis: Analysis) -> str:
    """Rows and columns, for the line under the title."""
    return f"{count(analysis.table.n_rows)} rows and {count(len(analysis.table.names))} columns"
