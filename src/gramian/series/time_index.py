"""Time indices as plain data: what is kept of a pandas index, so that forecasts can carry its continuation."""

from __future__ import annotations

import datetime
import re
from collections.abc import Hashable, Sequence
from typing import Any, TypeGuard

import numpy as np

from gramian._arrays import Array

SEASONS: dict[str, tuple[int, ...]] = {
    "Q": (4,),
    "M": (12,),
    "W": (52,),
    "B": (5,),
    "D": (7,),
    "h": (24, 168),
    "min": (60, 1440),
    "s": (60, 3600),
}
"""Values per season, by the step of the index. Every n-th of them has an n-th of the season."""
_ALIASES = {
    "ME": "M",
    "MS": "M",
    "BME": "M",
    "BMS": "M",
    "QE": "Q",
    "QS": "Q",
    "BQE": "Q",
    "BQS": "Q",
    "H": "h",
    "T": "min",
    "S": "s",
}
_FREQUENCY = re.compile(r"^(\d*)([A-Za-z]+)(?:-[A-Z]+)?$")


def is_pandas(values: object) -> TypeGuard[Any]:
    """Whether ``values`` is a pandas object, without importing pandas."""
    return type(values).__module__.split(".")[0] == "pandas"


def describe_index(values: object) -> dict[str, Any] | None:
    """The end and the step of a pandas index, as strings and numbers; None for other containers.

    An index that does not go forward in equal steps is refused.
    """
    if not is_pandas(values):
        return None
    import pandas as pd

    index = values.index
    if isinstance(index, pd.MultiIndex):
        raise ValueError(
            f"The index has {index.nlevels} levels, but a series has one time axis. Give one column per series, indexed by time."
        )
    if index.dtype == object and len(index) and all(isinstance(label, datetime.date) for label in index):
        index = pd.DatetimeIndex(index)
    if isinstance(index, pd.DatetimeIndex):
        return _describe_dates(index)
    if isinstance(index, pd.PeriodIndex):
        _check_forward(index.asi8, "one period each")
        return {"kind": "period", "last": str(index[-1]), "freq": index.freqstr}
    if isinstance(index, pd.TimedeltaIndex):
        steps = index.as_unit("ns").asi8
        step = _check_forward(steps, "equal distances")
        return {"kind": "timedelta", "last": int(steps[-1]), "step": int(step)}
    numbers = np.asarray(index)
    if numbers.dtype.kind in "iuf":
        step = _check_forward(numbers, "equal distances")
        plain = float if numbers.dtype.kind == "f" else int
        return {"kind": "number", "last": plain(numbers[-1]), "step": plain(step)}
    return {"kind": "number", "last": len(index) - 1, "step": 1}  # labels that say nothing of time are counted


def _check_forward(times: Array, wanted: str) -> Any:
    """The common step of numbers that go forward evenly; 1 for a single one."""
    times = np.asarray(times)
    if times.dtype.kind == "f" and not np.isfinite(times).all():
        raise ValueError("The index has missing times. Drop those rows, or give their times.")
    if len(times) < 2:
        return 1
    steps = np.diff(times.astype(np.float64 if times.dtype.kind == "f" else np.int64))
    _check_order(steps)
    even = (
        np.allclose(steps, np.median(steps), rtol=1e-3, atol=0)
        if steps.dtype.kind == "f"
        else (steps == steps[0]).all()
    )
    if not even or (wanted == "one period each" and steps[0] != 1):
        _refuse_uneven(wanted)
    return float(times[-1] - times[0]) / len(steps) if steps.dtype.kind == "f" else steps[0]


def _check_order(steps: Array) -> None:
    if (steps < 0).all():
        raise ValueError(
            "The index is descending: newest first. Turn the series round, as in y.sort_index() or y[::-1]."
        )
    if (steps == 0).any():
        where = int(np.flatnonzero(steps == 0)[0]) + 1
        raise ValueError(
            f"The index has duplicated times (position {where}, the first of them). Keep one value per time, as in y.groupby(level=0).mean()."
        )
    if (steps < 0).any():
        raise ValueError("The index is not in order of time. Sort it first, as in y.sort_index().")


def _refuse_uneven(wanted: str) -> None:
    raise ValueError(
        f"The index is irregular: its steps are not {wanted}. Make gaps rows of NaN, as in y.asfreq('D') (with the step that it has), "
        "average to even steps, as in y.resample('D').mean(), or drop the index with y.to_numpy()."
    )


def _describe_dates(index: Any) -> dict[str, Any]:
    import pandas as pd

    if index.hasnans:
        raise ValueError("The index has missing times (NaT). Drop those rows, or give their times.")
    steps = np.diff(index.as_unit("ns").asi8)
    freq = index.freqstr
    if len(steps):
        _check_order(steps)
        if freq is None and len(index) > 2:
            freq = pd.infer_freq(index)
        if freq is None:
            if not (steps == steps[0]).all():
                _refuse_uneven("equal distances, months, quarters, years, weeks or business days")
            freq = f"{int(steps[0])}ns"
    elif freq is None:
        freq = "D"
    zone = None if index.tz is None else str(index.tz)
    return {"kind": "date", "last": index[-1].isoformat(), "freq": freq, "zone": zone, "unit": index.unit}


def usual_seasons(described: dict[str, Any] | None) -> tuple[int, ...]:
    """The seasons that series with such an index usually have: 12 for months, 24 and 168 for hours, and so on."""
    if described is None or "freq" not in described:
        return ()
    found = _FREQUENCY.match(str(described["freq"]))
    if found is None:
        return ()
    every, base = int(found.group(1) or 1), _ALIASES.get(found.group(2), found.group(2))
    return tuple(season // every for season in SEASONS.get(base, ()) if season % every == 0 and season // every > 1)


def wrong_index(described: Any) -> str | None:
    """What is wrong with a described index in a model file, in words."""
    if described is None:
        return None
    needed = {
        "number": {"last", "step"},
        "timedelta": {"last", "step"},
        "period": {"last", "freq"},
        "date": {"last", "freq", "zone", "unit"},
    }
    kind = described.get("kind") if isinstance(described, dict) else None
    known = needed.get(kind) if isinstance(kind, str) else None
    return None if known is not None and known <= described.keys() else "_index does not describe an index"


def future_index(described: dict[str, Any], steps: Array) -> Any:
    """The index of the forecasts ``steps`` (1 is the next) after the described one."""
    import pandas as pd

    most = int(steps.max())
    if described["kind"] == "number":
        return pd.Index(described["last"] + described["step"] * steps)
    if described["kind"] == "timedelta":
        return pd.to_timedelta(described["last"] + described["step"] * steps, unit="ns")
    if described["kind"] == "period":
        last = pd.Period(described["last"], freq=described["freq"])
        return pd.period_range(last, periods=most + 1, freq=described["freq"])[steps]
    last = pd.Timestamp(described["last"])
    if described["zone"] is not None:
        last = last.tz_convert(described["zone"])
    following = pd.date_range(last, periods=most + 2, freq=described["freq"], unit=described["unit"])
    following = following[following > last][:most]
    return following[: len(steps)] if (steps == np.arange(1, len(steps) + 1)).all() else following[steps - 1]


def last_index(described: dict[str, Any], count: int) -> Any:
    """The last ``count`` times of the described index."""
    import pandas as pd

    if described["kind"] in ("number", "timedelta"):
        return future_index(described, np.arange(1 - count, 1))
    last, freq = described["last"], described["freq"]
    if described["kind"] == "period":
        return pd.period_range(end=pd.Period(last, freq=freq), periods=count, freq=freq)
    end = pd.Timestamp(last)
    if described["zone"] is not None:
        end = end.tz_convert(described["zone"])
    return pd.date_range(end=end, periods=count, freq=freq, unit=described["unit"])


def wrap_forecasts(
    values: Array, described: dict[str, Any] | None, steps: Array, columns: Sequence[str] | None, name: Hashable
) -> Any:
    """Forecasts (k, d) or (k,) as the Series or DataFrame that the training series was, or as they are."""
    if described is None:
        return values

    return dress(values, future_index(described, steps), columns, name)


def dress(values: Array, index: Any, columns: Sequence[str] | None, name: Hashable) -> Any:
    """Values (k,) or (k, d) as a Series or a DataFrame with this index."""
    import pandas as pd

    if values.ndim == 1:
        return pd.Series(values, index=index, name=name)
    return pd.DataFrame(values, index=index, columns=columns)
