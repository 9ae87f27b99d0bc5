"""TableModel: an estimator together with the preprocessing of its table, as the command line saves it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gramian.tables.preprocessing import Preprocessing


@dataclass
class TableModel:
    """What ``gramian fit`` writes and every other sub-command reads; ``gramian.load`` gives it back in Python.

    ``estimator`` works on the features that ``preprocessing.matrix(table)`` gives; ``kind`` is the word of ``--model``;
    ``limits`` are quantiles of the training rows' scores, for flags where a model has no control limits of its own;
    ``clock`` holds the last cells of the column that tells the time of a series, by its name;
    ``odd_limits`` are quantiles of the oddness of rows under models that have not seen them, for those that have.
    """

    kind: str
    estimator: Any
    preprocessing: Preprocessing
    limits: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    odd_limits: dict[str, float] = field(default_factory=dict)
    clock: dict[str, list[str] | list[float]] = field(default_factory=dict)
