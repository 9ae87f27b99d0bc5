"""Series of the M3 and the tourism competitions, beside statsforecast's automatic methods: docs/forecasting.md.

Run with ``GRAMIAN_DATA=... python -m experiments.forecast_competition [--part decide|report] [--count N] [--cache FOLDER] [--write]``. Of
every frequency the first ``--count`` series by their hash are taken. Errors are MASE, interval scores MSIS, both in units of the
seasonal naive error inside the training part. What peers forecast is kept in ``--cache``, where the next run goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments._page import write_block

PAGE = Path(__file__).resolve().parents[1] / "docs" / "forecasting.md"
SEASONS = {"Y": 1, "Q": 4, "M": 12, "O": 1}
TITLES = {"Y": "yearly", "Q": "quarterly", "M": "monthly", "O": "other"}
LEVELS = (80, 95)
PEERS = ("AutoTheta", "AutoETS", "AutoARIMA", "AutoCES")
COMBINATION = "median of the four"
OWN, PANEL = "RKMForecaster", "as one panel"


@dataclass(frozen=True)
class Series:
    """A series of a competition: what is known, and what came."""

    key: str
    frequency: str
    start: str
    past: np.ndarray
    future: np.ndarray

    @property
    def season(self) -> int:
        return SEASONS[self.frequency]

    @property
    def scale(self) -> float:
        """The seasonal naive error inside the past."""
        return float(np.mean(np.abs(self.past[self.season :] - self.past[: -self.season])))

    @property
    def indexed(self) -> Any:
        """The past with an index that tells the step, where there is one."""
        if self.frequency == "O":
            return pd.Series(self.past)
        # the true start does not matter to any method, and some starts are not dates
        return pd.Series(self.past, index=pd.period_range("1960-01-01", periods=len(self.past), freq=self.frequency))


def _order(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def competition(part: str, count: int) -> list[Series]:
    """The first ``count`` series of every frequency, by their hash; those that decide or those that are reported."""
    data = np.load(Path(os.environ["GRAMIAN_DATA"]) / "series_m3_tourism.npz")
    found: dict[str, list[Series]] = {frequency: [] for frequency in SEASONS}
    columns = ("source", "name", "frequency", "start", "offset", "length", "horizon")
    for source, name, frequency, start, offset, length, horizon in zip(*(data[column] for column in columns)):
        key = f"{source}/{name}"
        if (int(_order(key)[1], 16) % 2 == 0) == (part == "decide"):
            values = data["values"][offset : offset + length]
            found[str(frequency)].append(
                Series(key, str(frequency), str(start), values[: length - horizon], values[length - horizon :])
            )
    return [row for rows in found.values() for row in sorted(rows, key=lambda row: _order(row.key)[2:])[:count]]


# ---------------------------------------------------------------- forecasts: mean, and lower and upper ends by level


def peer(name: str, series: Series) -> np.ndarray:
    """(1 + 2 levels, horizon)."""
    from statsforecast import models

    model = getattr(models, name)(season_length=series.season)
    found = model.forecast(series.past.astype(float), len(series.future), level=list(LEVELS))
    return np.array([found["mean"], *(found[f"{end}-{level}"] for level in LEVELS for end in ("lo", "hi"))])


def own(series: Series) -> np.ndarray:
    from gramian import RKMForecaster

    steps = len(series.future)
    model = RKMForecaster(horizon=steps, random_state=0).fit(series.indexed)
    ends = [end for level in LEVELS for end in model.predict_interval(steps, level / 100)]
    return np.array([model.predict(steps), *ends])


def cached(cache: Path, method: str, rows: list[Series], again: bool) -> Iterator[tuple[np.ndarray, float]]:
    """Forecasts and CPU seconds, series by series."""
    path = cache / f"{method}.npz"
    kept = dict(np.load(path)) if path.exists() and not again else {}
    fresh = 0
    for series in rows:
        if series.key not in kept:
            begin = time.process_time()
            try:
                found = own(series) if method == OWN else peer(method, series)
            except ImportError:
                raise
            except Exception as error:  # a peer that fails is given the naive forecast, and it is said
                print(f"{method} failed on {series.key}: {error}", flush=True)
                if method == OWN:
                    raise
                found = np.repeat(series.past[-1], (1 + 2 * len(LEVELS)) * len(series.future)).reshape(
                    -1, len(series.future)
                )
            seconds = time.process_time() - begin
            kept[series.key] = np.column_stack([found, np.full(len(found), seconds)])
            fresh += 1
            if fresh % 25 == 0:
                np.savez(path, **kept)
        yield kept[series.key][:, :-1], float(kept[series.key][0, -1])
    if fresh:
        np.savez(path, **kept)


def judged(series: Series, found: np.ndarray) -> dict[str, float]:
    """MASE, and by level whether values lay inside and the mean scaled interval score."""
    scores = {"mase": float(np.mean(np.abs(series.future - found[0])) / series.scale)}
    for i, level in enumerate(LEVELS):
        low, high = found[1 + 2 * i], found[2 + 2 * i]
        missed = np.maximum(low - series.future, 0.0) + np.maximum(series.future - high, 0.0)
        scores[f"held {level}"] = float(np.mean(missed == 0.0))
        scores[f"msis {level}"] = float(np.mean(high - low + 2.0 / (1 - level / 100) * missed) / series.scale)
    return scores


def lines_of(rows: list[Series], found: dict[str, list[tuple[np.ndarray, float]]]) -> list[str]:
    """One table per frequency, and how it stands with the goals."""
    lines = []
    for frequency, title in TITLES.items():
        some = [i for i, series in enumerate(rows) if series.frequency == frequency]
        if not some:
            continue
        scores = {name: [judged(rows[i], answers[i][0]) for i in some] for name, answers in found.items()}
        mase = {name: np.array([score["mase"] for score in part]) for name, part in scores.items()}
        lines += [
            f"{title.capitalize()}, {len(some)} series:",
            "",
            "| method | mean MASE | own over it, geometric | at worst | 80 % hold | MSIS 80 | 95 % hold | MSIS 95 | CPU s per series |",
            "|" + "---|" * 9,
        ]
        for name, part in scores.items():
            ratio = mase[OWN] / mase[name]
            cells = [f"{mase[name].mean():.3f}", f"{np.exp(np.log(ratio).mean()):.3f}", f"{ratio.max():.1f}"]
            for level in LEVELS:
                cells += [f"{100 * np.mean([s[f'held {level}'] for s in part]):.0f}"]
                cells += [f"{np.mean([s[f'msis {level}'] for s in part]):.2f}"]
            cells += [f"{np.mean([found[name][i][1] for i in some]):.3f}"]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        best = min(mase[name].mean() for name in PEERS)

        def worst(name: str, mase: dict[str, np.ndarray] = mase, some: list[int] = some) -> float:
            """Of a peer over the median of the other three."""
            others = [found[other] for other in PEERS if other != name]
            middle = [np.median([answers[i][0][0] for answers in others], axis=0) for i in some]
            errors = [np.mean(np.abs(rows[i].future - row)) / rows[i].scale for i, row in zip(some, middle)]
            return float((mase[name] / errors).max())

        lines += [
            "",
            f"Mean MASE over the best single peer: {mase[OWN].mean() / best:.3f} (goal: at most 1.00); over the combination: "
            f"{mase[OWN].mean() / mase[COMBINATION].mean():.3f} (goal: 1.03). At worst {(mase[OWN] / mase[COMBINATION]).max():.1f} times the combination (goal: 3); "
            f"each peer over the median of the other three: {', '.join(f'{name} {worst(name):.1f}' for name in PEERS)}.",
            "",
        ]
    return lines


def as_one_panel(rows: list[Series]) -> list[tuple[np.ndarray, float]]:
    """The same series by one call per frequency."""
    from gramian import RKMForecaster

    answers: list[Any] = [None] * len(rows)
    for frequency in TITLES:
        some = [i for i, series in enumerate(rows) if series.frequency == frequency]
        if not some:
            continue
        steps = max(len(rows[i].future) for i in some)
        begin = time.process_time()
        season = SEASONS[frequency] if SEASONS[frequency] > 1 else None
        model = RKMForecaster(horizon=steps, season=season, random_state=0).fit(
            {rows[i].key: rows[i].past for i in some}
        )
        parts = [model.predict(steps)["mean"].to_numpy()]
        for level in LEVELS:
            ends = model.predict_interval(steps, level / 100)
            parts += [ends["lower"].to_numpy(), ends["upper"].to_numpy()]
        seconds = (time.process_time() - begin) / len(some)
        table = np.array(parts).reshape(len(parts), len(some), steps)
        for place, i in enumerate(some):
            answers[i] = (table[:, place, : len(rows[i].future)], seconds)
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("decide", "report"), default="decide")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--cache", type=Path, default=Path("competition"))
    parser.add_argument("--again", action="store_true", help="forecast anew by this library, where it was kept")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = options.cache / options.part
    folder.mkdir(parents=True, exist_ok=True)
    rows = competition(options.part, options.count)
    found = {OWN: list(cached(folder, OWN, rows, options.again)), PANEL: as_one_panel(rows)}
    found |= {name: list(cached(folder, name, rows, False)) for name in PEERS}
    middle = [np.median([found[name][i][0] for name in PEERS], axis=0) for i in range(len(rows))]
    cost = [sum(found[name][i][1] for name in PEERS) for i in range(len(rows))]
    found[COMBINATION] = list(zip(middle, cost))
    lines = lines_of(rows, found)
    print("\n".join(lines))
    if options.write:
        write_block(PAGE, "competition", lines[:-1])


if __name__ == "__main__":
    main()
