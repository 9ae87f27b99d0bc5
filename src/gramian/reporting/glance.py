"""The first page: what is in the table, what is missing, how much structure there is, odd rows, how far to trust it."""

from __future__ import annotations

import numpy as np

from gramian.policy import DEFAULTS
from gramian.reporting.analysis import Analysis, column_holes
from gramian.reporting.blocks import Card, Cards, Note, Section, shorten
from gramian.reporting.row_drawings import coverage_bar
from gramian.reporting.words import about, count, percent, plural

HEADING = "At a glance"
STRENGTH = {
    "none": (
        "Columns tell next to nothing about each other: guesses of hidden cells are hardly nearer than the column mean. The map, "
        "the components and the clusters below say little."
    ),
    "weak": "Columns tell a little about each other. Read the map and the components below with care.",
    "fair": "Columns tell a good part about each other.",
    "strong": "Columns tell most of what there is to know about each other.",
    "unknown": "",
}
TOLD_APART = 0.3
"""An association from which on two columns are said to go together."""
TRUSTED = 0.06
"""A share inside 90 % intervals that is off by so much, or by what chance makes of few cells, passes as what was promised."""


def strength_words(analysis: Analysis) -> str:
    """How much the columns tell about each other; where numbers tell little, the columns that do go together are named."""
    R, names = analysis.associations
    above = np.triu(np.abs(R), 1)
    if analysis.strength not in ("none", "weak") or not above.size or above.max() < TOLD_APART:
        return STRENGTH[analysis.strength]
    i, j = np.unravel_index(int(above.argmax()), above.shape)
    little = "hardly" if analysis.strength == "none" else "only a little"
    return (
        f"Hidden numbers are told {little} by the other cells, but some columns go together: {shorten(names[i], 30)} and "
        f"{shorten(names[j], 30)} ({above.max():.2f})."
    )


def glance(analysis: Analysis) -> Section:
    """The answers, each as a card."""
    cards = [_table(analysis), _missing(analysis), _structure(analysis), _odd(analysis), _trust(analysis)]
    section = Section(HEADING, [Cards(cards)])
    section.add(*(Note(f"While fitting: {warning}") for warning in analysis.warnings))
    return section


def _table(analysis: Analysis) -> Card:
    table, prepare = analysis.table, analysis.prepare
    texts = sum(bool(values) for values in prepare.categories)
    kinds = [
        (len(prepare.names) - texts, "column of numbers", "columns of numbers"),
        (texts, "of categories", "of categories"),
        (len(prepare.ids), "that names or describes rows", "that name or describe rows"),
        (len(prepare.left_out), "left out", "left out"),
    ]
    words = ", ".join(plural(number, one, many) for number, one, many in kinds if number)
    return Card("The table", plural(table.n_rows, "row"), f"{words}.", link="the-columns")


def _missing(analysis: Analysis) -> Card:
    holes = column_holes(analysis)
    if not holes.any():
        return Card("Missing", "nothing", "Every cell is filled.")
    by_column = holes.sum(axis=0)
    order = np.argsort(-by_column, kind="stable")[:3]
    names = analysis.prepare.names
    most = ", ".join(f"{shorten(names[j], 24)} ({percent(by_column[j] / len(holes))})" for j in order if by_column[j])
    complete = int((~holes.any(axis=1)).sum())
    words = f"{plural(int(holes.sum()), 'cell')} of the modelled columns. Most in {most}. {plural(complete, 'row')} complete."
    return Card("Missing", percent(float(holes.mean())), words, link="what-is-missing")


def _structure(analysis: Analysis) -> Card:
    model = analysis.model
    q, d = model.n_components_, analysis.X.shape[1]
    if q == 0:
        return Card("Structure", "none", "There is one feature only, or nothing to reduce.")
    share, along = percent(float(np.sum(model.explained_variance_ratio_))), f"{plural(q, 'direction')} of {count(d)}"
    if analysis.held_out is None:
        return Card("Structure", share, f"of the variance lie along {along}.", link="structure-and-noise")
    told = percent(max(analysis.held_out.told, 0.0))
    words = f"of what a hidden cell holds is told by the other cells of its row. {strength_words(analysis)} {share} of the variance lie along {along}."
    return Card("Structure", told, words, link="structure-and-noise")


def _odd(analysis: Analysis) -> Card:
    flagged = np.flatnonzero(analysis.flags)
    if not len(flagged):
        return Card("Odd rows", "none", "No row lies beyond what one ordinary row in a hundred would reach.")
    chance = np.minimum(analysis.anomaly.p_t2, analysis.anomaly.p_spe)
    oddest = flagged[np.argsort(chance[flagged], kind="stable")][:3]
    names = "; ".join(shorten(analysis.row_name(int(i)), 24) for i in oddest)
    usual = len(analysis.X) / 100
    words = f"of {count(len(analysis.X))} (about {about(usual)} would be by chance). Oddest: {names}."
    return Card("Odd rows", count(len(flagged)), words, link="odd-rows")


def _trust(analysis: Analysis) -> Card:
    held = analysis.held_out
    if held is None:
        return Card("How far to trust it", "not known", " ".join(analysis.notes.get("trust", [])))
    return Card(
        "How far to trust it",
        percent(held.coverage),
        f"of {plural(held.n_cells, 'cell')} that were hidden and then guessed lie inside their {100 * DEFAULTS.cover:.0f} % intervals. "
        f"{verdict(held.coverage, held.n_cells)}",
        coverage_bar(held.coverage, DEFAULTS.cover),
        "the-model--and-why",
    )


def verdict(coverage: float, n_cells: int) -> str:
    """What a coverage means for the reader; 2.5 standard errors of a share of so many cells are put down to chance."""
    allowed = max(TRUSTED, 2.5 * float(np.sqrt(DEFAULTS.cover * (1 - DEFAULTS.cover) / n_cells)))
    if coverage < DEFAULTS.cover - allowed:
        return "The intervals of this page are too narrow: take them wider than they are written."
    if coverage > DEFAULTS.cover + allowed:
        return "The intervals of this page are wider than they need be."
    return "The intervals of this page can be taken at their word."
