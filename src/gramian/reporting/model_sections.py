"""Sections about the model: how it was chosen, how far to trust it, its components."""

from __future__ import annotations

import numpy as np

from gramian.policy import DEFAULTS, PAGE
from gramian.reporting import row_drawings as draw
from gramian.reporting.analysis import Analysis
from gramian.reporting.blocks import Drawing, Facts, Grid, Note, Section, Text
from gramian.reporting.glance import strength_words, verdict
from gramian.reporting.words import percent, plural


def model(analysis: Analysis) -> Section:
    """What was fitted, why so many dimensions, and what hidden cells say of it."""
    fitted, section = analysis.model, Section("The model, and why")
    q, d = fitted.n_components_, analysis.X.shape[1]
    structure = float(np.sum(fitted.explained_variance_ratio_)) if q else 0.0
    section.add(
        Facts(
            [
                (str(q), f"{'dimension' if q == 1 else 'dimensions'} for {plural(d, 'feature')}"),
                (percent(structure), "of the variance along them"),
                (f"{fitted.noise_variance_:.3g}", "noise variance (a column has 1)"),
            ]
        )
    )
    words = (
        "Probabilistic PCA: each row is a point in a space of few dimensions, mapped linearly to the columns, plus noise that is "
        f"alike in all of them. Columns were brought to mean 0 and variance 1 first. The number of dimensions was {_choice(analysis)}"
    )
    section.add(
        Text(words if q else "There is one feature only, or two rows: nothing to reduce. The model is a Gaussian.")
    )
    section.add(*_why(analysis))
    held = analysis.held_out
    section.add(*(Note(note) for note in analysis.notes.get("trust", [])))
    if held is None:
        return section
    less = 1 - held.error / held.mean_error if held.mean_error > 0 else 0.0
    section.add(
        Text(
            f"To see what the model knows, {plural(held.n_cells, 'observed cell')} of numbers were hidden, the model was fitted "
            f"without them, and each was guessed from the other cells of its row. The error is {held.error:.3g} column spreads, "
            f"against {held.mean_error:.3g} for filling in means: {percent(max(less, 0.0))} less. {strength_words(analysis)}"
        ),
        Text(
            f"Each guess comes with an interval that should hold the truth in {100 * DEFAULTS.cover:.0f} of 100 cases. It did for "
            f"{percent(held.coverage)}. {verdict(held.coverage, held.n_cells)} This is the one number of the page for how far its intervals can "
            "be trusted."
        ),
    )
    return section


def _choice(analysis: Analysis) -> str:
    if analysis.rule in ("as asked", "of the fitted model"):
        return "given." if analysis.rule == "as asked" else "that of the fitted model."
    return f"chosen by {analysis.rule}: more would fit the noise."


def _why(analysis: Analysis) -> list[Drawing]:
    """What was tried for the number of dimensions."""
    selection = getattr(analysis.model, "selection_", None)
    if selection is None or len(selection.candidates) < 2 or not all(isinstance(c, int) for c in selection.candidates):
        return []
    known = [(c, float(s)) for c, s in zip(selection.candidates, selection.scores) if np.isfinite(s)]
    if len(known) < 2:
        return []
    shown = draw.near_the_best(known, analysis.model.n_components_)
    places, scores = zip(*shown)
    what = "hidden cells" if "cells" in analysis.rule else "held-out rows"
    picture = draw.curve(places, scores, analysis.model.n_components_, ("dimensions", f"log-likelihood of {what}"))
    caption = "Higher is better. The fewest dimensions that are as good as the best, within the error of the comparison, are taken."
    worse = len(known) - len(shown)
    return [Drawing(picture, caption + (f" Not drawn: {worse} far worse." if worse else ""))]


def structure(analysis: Analysis) -> Section | None:
    """The components: how large, and which columns make them."""
    fitted = analysis.model
    if fitted.n_components_ == 0:
        return None
    section = Section("Structure and noise")
    if analysis.strength in ("none", "weak"):
        section.add(Note(strength_words(analysis)))
    caption = "Variance along each direction, and the noise that stands for all directions left out."
    pictures = [Drawing(draw.spectrum(fitted.explained_variance_, float(fitted.noise_variance_)), caption)]
    if fitted.n_components_ > 1:
        traits = analysis.traits
        words = (
            f"The {min(PAGE.rows, len(traits.names))} columns that the first two components explain best, as arrows: z1 runs to the "
            "right, z2 upwards. An arrow that reaches the circle is explained by these two; arrows that point the same way rise together."
        )
        pictures.append(Drawing(draw.arrows(traits.correlations(fitted)[:, :2], traits.names, traits.labels), words))
    section.add(*pictures)
    if fitted.n_components_ < 2:
        section.add(Note("One component: there is no plane to draw the columns in."))
    rows = []
    for k in range(min(fitted.n_components_, PAGE.components)):
        rows.append(
            [f"z{k + 1}", percent(float(fitted.explained_variance_ratio_[k])), analysis.traits.in_words(fitted, k)]
        )
    caption = "A sign says whether the column rises or falls with the component."
    return section.add(Grid(["component", "variance", "columns that move most with it"], rows, caption))
