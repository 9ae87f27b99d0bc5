"""A thousand series by one call: CPU, memory and error beside one by one and beside statsforecast's AutoETS: docs/forecasting.md.

Run with ``python -m experiments.forecast_panel [--series N] [--peers N] [--write]``. Series are made: a level that moves, a drift, a season of twelve, 30 to 120 values, so that
nothing is tuned on them. Errors are absolute, in units of the seasonal naive error. The last hundredth are new series, which the panel never saw. Peers and single fits are timed on ``--peers`` series.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from experiments._page import write_block
from gramian import RKMForecaster

PAGE = Path(__file__).resolve().parents[1] / "docs" / "forecasting.md"
SEASON = STEPS = 12


def made(count: int) -> list[np.ndarray]:
    """Series with the values to forecast at their ends."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(count):
        n = int(rng.integers(30, 121)) + STEPS
        t = np.arange(n)
        season = rng.uniform(0, 8) * np.sin(2 * np.pi * (t + rng.integers(12)) / SEASON)
        found.append(
            100 + rng.normal(0, 0.3) * t + season + rng.standard_normal(n).cumsum() + 2 * rng.standard_normal(n)
        )
    return found


def error(series: np.ndarray, forecast: np.ndarray) -> float:
    past = series[:-STEPS]
    return float(np.mean(np.abs(forecast - series[-STEPS:])) / np.mean(np.abs(past[SEASON:] - past[:-SEASON])))


def one_by_one(series: np.ndarray) -> np.ndarray:
    model = RKMForecaster(season=SEASON, horizon=STEPS, random_state=0).fit(series[:-STEPS])
    model.predict_interval(STEPS)
    return np.asarray(model.predict(STEPS))


def ets(series: np.ndarray) -> np.ndarray:
    from statsforecast.models import AutoETS

    return np.asarray(AutoETS(season_length=SEASON).forecast(series[:-STEPS], STEPS, level=[90])["mean"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--peers", type=int, default=60)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    series = made(options.series)
    known, new = series[: -options.series // 100], series[-options.series // 100 :]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    model = RKMForecaster(season=SEASON, horizon=STEPS, random_state=0).fit([row[:-STEPS] for row in known])
    fitted = time.process_time()
    means = model.predict(STEPS)["mean"].to_numpy().reshape(-1, STEPS)
    predicted = time.process_time()
    model.predict_interval(STEPS)
    ended = time.process_time()
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    unseen = model.predict(STEPS, history=[row[:-STEPS] for row in new])["mean"].to_numpy().reshape(-1, STEPS)
    per = 1e3 / len(known)
    lines = [
        f"{len(known)} series by one call: fit {per * (fitted - begin):.1f} ms, forecasts {per * (predicted - fitted):.1f} ms, intervals "
        f"{per * (ended - predicted):.1f} ms of CPU per series (goal: 5 ms per series for the fit), {memory:.0f} MB beyond the data at most.",
        "",
        "| method | mean MASE | CPU ms per series with intervals |",
        "|---|---|---|",
        f"| one panel | {np.mean([error(*pair) for pair in zip(known, means)]):.3f} | {per * (ended - begin):.1f} |",
        f"| one panel, {len(new)} new series | {np.mean([error(*pair) for pair in zip(new, unseen)]):.3f} | |",
    ]
    some = range(min(options.peers, len(known)))
    lines.append(f"| one panel, the first {len(some)} | {np.mean([error(known[i], means[i]) for i in some]):.3f} | |")
    methods: dict[str, Callable[[np.ndarray], np.ndarray]] = {"one by one": one_by_one, "AutoETS": ets}
    for name, method in methods.items():
        method(known[0])
        begin = time.process_time()
        errors = [error(known[i], method(known[i])) for i in some]
        seconds = (time.process_time() - begin) / len(some)
        lines.append(f"| {name}, the first {len(some)} | {np.mean(errors):.3f} | {1e3 * seconds:.1f} |")
    print("\n".join(lines))
    if options.write:
        write_block(PAGE, "panel", lines)


if __name__ == "__main__":
    main()
