"""What a forecaster says of itself: what was taken off the series and why, and what held-out stretches said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose
from typing import Any

from gramian.series.paths import Member, SmoothingMember


def forecaster_words(model: Any, members: Sequence[Member | SmoothingMember]) -> str:
    """The text of `RKMForecaster.explain`."""
    first = members[0]
    if isinstance(first, SmoothingMember):
        said = ["Levels, slopes and seasons at a few rates, averaged by how well they said each next value."]
        said += line_words(first)
        if hasattr(model, "selection_"):
            said.append(f"Chosen on held-out stretches: {model.selection_.reason}.")
        return " ".join([*said, *([] if model.skill_ is None else [skill_words(model.skill_)])]).strip()
    said = [
        f"{first.model.algorithm}: {first.model.reason}. {model.n_components_} components, {_one_step(model.held_out_error_)}."
    ]
    if not all(t.is_plain for t in first.transforms):
        said.append("Taken off: " + "; ".join(dict.fromkeys(t.words() for t in first.transforms)) + ".")
    if len(members) > 1:
        windows = [member for member in members if not isinstance(member, SmoothingMember)]
        if len(windows) < len(members):
            part = 1.0 - sum(member.weight for member in windows) / sum(member.weight for member in members)
            said.append(
                f"{100 * part:.0f} % of the forecast is levels, slopes and seasons at a few rates, with lines beside them."
            )
        alike = [member for member in windows[1:] if isclose(member.weight, first.weight)]
        others = "; ".join(member.transforms[0].words() for member in alike)
        halfway = ", and half of it with the plain model" if len(alike) < len(windows) - 1 else ""
        if len(windows) > 1:
            said.append(f"Averaged with {len(alike)} other structures ({others}){halfway}.")
    if hasattr(model, "selection_"):
        said.append(f"Chosen on held-out stretches: {model.selection_.reason}.")
    if model.skill_ is not None:
        said.append(skill_words(model.skill_))
    said += [note[0].upper() + note[1:] + "." for note in first.model.notes]
    return " ".join(filter(None, said))


def panel_words(n_series: int, member: SmoothingMember) -> str:
    """The text of `RKMForecaster.explain` for many series."""
    said = f"{n_series} series: levels, slopes and seasons at a few rates for each, how much each rate counts learned over all of them."
    return " ".join([said, *line_words(member)])


def line_words(member: SmoothingMember) -> list[str]:
    """What stands beside smoothing."""
    windows, naive = (
        sum(line.share for line in member.smoothing.lines if (line.lags > 0) == has) for has in (True, False)
    )
    named = (
        (windows, "regressions on past values"),
        (naive, "the naive forecast, which was better on held-out stretches"),
    )
    return [f"{100 * share:.0f} % of the forecast is {what}." for share, what in named if share >= 0.005]


def skill_words(skill: Mapping[str, float]) -> str:
    """How far off forecasts were, beside naive ones."""
    parts = [
        f"{skill['error'] / skill[name]:.2f} of the {name} error"
        for name in ("naive", "seasonal naive")
        if skill.get(name)
    ]
    return f"Several steps ahead, on held-out stretches: {' and '.join(parts)}." if parts else ""


def _one_step(error: float | None) -> str:
    return (
        "nothing was held out" if error is None else f"one-step error on held-out stretches {error:.3g} of the variance"
    )
