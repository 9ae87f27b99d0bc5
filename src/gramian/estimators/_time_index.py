"""Time indices as plain data: what is kept of a pandas index so that forecasts can carry its continuation."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array


def is_pandas(values: Any) -> bool:
    """Whether ``values`` is a pandas object, without importing pandas."""
    return type(values).__module__.split(".")[0] == "pandas"


def describe_index(values: Any) -> dict[str, Any] | None:
    """The end and the step of a pandas index, as strings and numbers; None for other containers."""
    if not is_pandas(values):
        return None
    import pandas as pd

    index = values.index
    if isinstance(index, pd.DatetimeIndex):
        return _describe_dates(index)
    if isinstance(index, pd.PeriodIndex):
        return {"kind": "period", "last": str(index[-1]), "freq": index.freqstr}
    numbers = np.asarray(index)
    if numbers.dtype.kind in "iu" and len(numbers) > 1:
        steps = np.diff(numbers)
        if steps[0] > 0 and (steps == steps[0]).all():
            return {"kind": "number", "last": int(numbers[-1]), "step": int(steps[0])}
    return {"kind": "number", "last": len(index) - 1, "step": 1}


def _describe_dates(index: Any) -> dict[str, Any]:
    import pandas as pd

    freq = index.freqstr
    if freq is None and len(index) > 2:
        freq = pd.infer_freq(index)
    if freq is None:  # irregular: the usual distance
        freq = f"{max(1, int(np.median(np.diff(index.as_unit('ns').asi8))))}ns"
    zone = None if index.tz is None else str(index.tz)
    return {"kind": "date", "last": index[-1].isoformat(), "freq": freq, "zone": zone, "unit": index.unit}


def future_index(described: dict[str, Any], steps: Array) -> Any:
    """The index of the forecasts ``steps`` (1 is the next) after the described one."""
    import pandas as pd

    most = int(steps.max())
    if described["kind"] == "number":
        return pd.Index(described["last"] + described["step"] * steps)
    if described["kind"] == "period":
        last = pd.Period(described["last"], freq=described["freq"])
        return pd.period_range(last, periods=most + 1, freq=described["freq"])[steps]
    last = pd.Timestamp(described["last"])
    if described["zone"] is not None:
        last = last.tz_convert(described["zone"])
    following = pd.date_range(last, periods=most + 2, freq=described["freq"], unit=described["unit"])
    following = following[following > last][:most]
    return following[: len(steps)] if (steps == np.arange(1, len(steps) + 1)).all() else following[steps - 1]


def wrapped(values: Array, described: dict[str, Any] | None, steps: Array, columns: Any, name: Any) -> Any:
    """Forecasts (k, d) or (k,) as the Series or DataFrame that the training series was, or as they are."""
    if described is None:
        return values
    import pandas as pd

    index = future_index(described, steps)
    if values.ndim == 1:
        return pd.Series(values, index=index, name=name)
    return pd.DataFrame(values, index=index, columns=columns)
