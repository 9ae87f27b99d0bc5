"""Forecasts: what a default fit costs, and how it grows with the length of the series."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks._timing import Row, interleaved
from gramian import RKMForecaster

SHORT = 500
LENGTHS = (2_000, 4_000, 8_000, 16_000)
"""Beyond 1,000 windows the kernel is seen from landmarks."""
MOST_SECONDS = 3.0
HUNDRED, PANEL = 100, 300
MOST_FIT, MOST_PANEL = 60.0, 5.0
"""Milliseconds of CPU of one fit, and of one series of a panel."""
STEEPEST = 1.5


def season(n: int) -> np.ndarray:
    """A season of 24, a slow trend and noise."""
    t = np.arange(n)
    return 10 + 0.002 * t + 3 * np.sin(2 * np.pi * t / 24) + np.random.default_rng(0).standard_normal(n)


def cycle(n: int) -> np.ndarray:
    """A nonlinear cycle, driven by noise: a kernel is chosen."""
    rng, u, v = np.random.default_rng(0), 1.0, 0.0
    out = np.empty(n)
    for t in range(n):
        for _ in range(10):
            u, v = u + 0.06 * v, v + 0.06 * (1.5 * (1 - u * u) * v - u) + 0.06 * rng.standard_normal()
        out[t] = u
    return out


SERIES = {"season and trend": season, "nonlinear cycle": cycle}


def default_fit(y: np.ndarray) -> None:
    """What a newcomer types: fit, forecast, interval."""
    model = RKMForecaster(random_state=0).fit(y)
    model.predict(12)
    model.predict_interval(12)


def short_series() -> Iterator[Row]:
    """Issue 13: a default fit with its intervals at 500 values."""
    for words, made in SERIES.items():
        y = made(SHORT)
        took = interleaved({"ours": lambda y=y: default_fit(y)})["ours"].cpu
        work = f"RKMForecaster() with intervals, {words}, {SHORT} values"
        yield Row("", work, "seconds", f"{MOST_SECONDS:g} s", "", f"{took:.2f} s", took <= MOST_SECONDS)


def hundred_values() -> Iterator[Row]:
    """Issue 31: one default fit of 100 values, and a panel by one call, per series."""
    t = np.arange(HUNDRED)
    walk = 100 + np.random.default_rng(0).standard_normal(HUNDRED).cumsum()
    months = pd.Series(
        season(HUNDRED) + 3 * np.sin(2 * np.pi * t / 12), index=pd.period_range("2010-01", periods=HUNDRED, freq="M")
    )
    made = {"a random walk": walk, "months": months, "a cycle": cycle(HUNDRED)}
    for words, y in made.items():
        took = interleaved({"ours": lambda y=y: RKMForecaster(random_state=0).fit(y)})["ours"].cpu
        work = f"RKMForecaster(), {words}, {HUNDRED} values, the fit"
        yield Row("", work, "milliseconds", f"{MOST_FIT:g} ms", "", f"{1e3 * took:.0f} ms", 1e3 * took <= MOST_FIT)
    rng = np.random.default_rng(1)
    many = {i: 100 + rng.standard_normal(HUNDRED).cumsum() for i in range(PANEL)}
    took = interleaved({"ours": lambda: RKMForecaster(season=12, random_state=0).fit(many)}, repeats=1)["ours"].cpu
    each = 1e3 * took / PANEL
    work = f"RKMForecaster(season=12), {PANEL} series of {HUNDRED} values, the fit, per series"
    yield Row("", work, "milliseconds", f"{MOST_PANEL:g} ms", "", f"{each:.1f} ms", each <= MOST_PANEL)


def growth() -> Iterator[Row]:
    """Issue 13: the growth of a default fit beyond 2,000 values."""
    for words, made in SERIES.items():
        whole = made(max(LENGTHS))
        candidates = {str(n): lambda n=n, whole=whole: default_fit(whole[:n]) for n in LENGTHS}
        took = interleaved(candidates, repeats=1)
        seconds = [took[str(n)].cpu for n in LENGTHS]
        slope = float(np.polyfit(np.log(LENGTHS), np.log(seconds), 1)[0])
        told = ", ".join(f"{value:.1f} s" for value in seconds)
        work = f"RKMForecaster() with intervals, {words}, {', '.join(map(str, LENGTHS))} values"
        yield Row("", work, "linear growth", f"slope {STEEPEST:g}", "1.1", f"{slope:.2f} ({told})", slope <= STEEPEST)


def run() -> Iterator[Row]:
    yield from hundred_values()
    yield from short_series()
    yield from growth()
