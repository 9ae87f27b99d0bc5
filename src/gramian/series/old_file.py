"""Forecasters of model files of the first version: the plain model that they are, as one member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gramian.series.paths import Member
from gramian.series.transform import SeriesTransform
from gramian.series.window_model import WindowModel


def old_state(state: Mapping[str, Any], ahead: int) -> dict[str, Any]:
    """The fitted attributes of today from those of the first version."""
    nothing = np.empty(0)
    input_shift, input_scale = (
        nothing if state.get(name) is None else state[name] for name in ("_input_shift", "_input_scale")
    )
    model = WindowModel(
        state["_fit"],
        state["lags"],
        ahead,
        state["_shift"],
        state["_scale"],
        input_shift,
        input_scale,
        state["_low"],
        state["_high"],
        state["_correlation_root"],
        state["algorithm_"],
        state["_reason"],
    )
    n_series = state["n_series_"]
    return {
        "_members": [Member((SeriesTransform(),) * n_series, model)],
        "_series": state["_window"] * state["_scale"] + state["_shift"],
        "_inputs": None,
        "_spread": np.ones((1, n_series)),
        "lags_": state["lags"],
        "season_": None,
        "difference_": 0,
        "transform_": None,
        "kernel_": state["kernel"],
        "skill_": None,
    }
