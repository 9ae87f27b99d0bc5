"""The law of a filled cell where several models have a say: of all columns, of those without some categories, and of a column along the clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.estimators.forecaster import RKMForecaster
from gramian.estimators.time_filling import feature_of, weave
from gramian.filling.categories import FilledCategories
from gramian.filling.choice import FillingChoice
from gramian.filling.columns import ShownRows
from gramian.filling.draws import DrawnTables
from gramian.tables.frames import as_table, frame_of
from gramian.tables.front_door import clock_of
from gramian.tables.margins import IDENTITY, Margins


class WovenLaws(FillingChoice, FilledCategories, DrawnTables):
    """What `LatentImputer` says of cells: `fit` settles who is asked."""

    ways_: dict[str, str]

    _others: WovenLaws | None = None
    _forecasters: dict[str, RKMForecaster] = {}  # noqa: RUF012 (of columns that the clock helps to fill)
    _time_scales: dict[str, float] = {}  # noqa: RUF012
    _clock_step: str = ""

    def _columns_given(self, X: Any) -> Any:
        """The columns of a frame, codes of missing as missing."""
        return (
            self._table(X) if self._coding is not None else replace(as_table(X), columns=list(self._checked_rows(X).T))
        )

    def _told(self, X: Any, X_std: Any = None) -> ShownRows:
        told = super()._told(X, X_std)
        if not self._forecasters or frame_of(X) is None:
            return told
        table, coding, timed = self._columns_given(X), self._coding, {}
        clock = clock_of(X, table)
        if clock is None or repr(clock.step) != self._clock_step:
            return told
        shown = [n for n in table.names if n not in self._empty_columns(table.names)]
        for name, model in self._forecasters.items():
            values, spreads = (np.asarray(part) for part in model.impute(table[name], return_std=True))
            j = shown.index(name) if coding is None else feature_of(coding, name)
            mean, scale = (0.0, 1.0) if coding is None else (coding.mean[j], coding.scale[j])
            both = self._time_scales[name] if self.ways_[name] == "both" else None
            timed[j] = ((values - mean) / scale, spreads / scale, both)
        return replace(told, timed=timed)

    def _kept_features(self) -> Array:
        """Which features are those of the model of the others."""
        coding = self._coding
        assert coding is not None
        return ~np.isin(coding.owner, [coding.names.index(name) for name in self.aside_])

    def _told_others(self, told: ShownRows) -> ShownRows:
        """The rows as the model of the others is told of them."""
        assert self._others is not None
        kept = self._kept_features()
        return self._others._told_of(told.table[:, kept], None if told.known is None else told.known[:, kept])

    def _law(self, told: ShownRows) -> tuple[Array, Array]:
        mean, std = super()._law(told)
        if self._others is not None:
            kept = self._kept_features()
            mean[:, kept], std[:, kept] = self._others._law(self._told_others(told))
        margins = self._margins_of_columns
        for j, (values, spreads, scale) in told.timed.items():  # in units of the table
            if margins is not None:
                ends = margins.low[j], margins.high[j]
                mean[:, j], std[:, j] = margins.columns[j].moments(mean[:, j], std[:, j], *ends)
            mean[:, j], std[:, j] = weave(values, spreads, mean[:, j], std[:, j], scale)
        return mean, std

    def _margins_of_law(self, told: ShownRows) -> Margins | None:
        margins = self._margins_of_columns
        if margins is None or not told.timed:
            return margins
        columns = [IDENTITY if j in told.timed else margin for j, margin in enumerate(margins.columns)]
        return replace(margins, columns=tuple(columns))

    @property
    def _margins_of_columns(self) -> Margins | None:
        """The laws of all columns, those of the others among them."""
        if self._others is None or (self._margins is None and self._others._margins is None):
            return self._margins
        kept = self._kept_features()
        low, high, _ = self._feature_ends(len(kept))
        own = [IDENTITY] * len(kept) if self._margins is None else list(self._margins.columns)
        others = [IDENTITY] * int(kept.sum()) if self._others._margins is None else self._others._margins.columns
        for j, margin in zip(np.flatnonzero(kept), others):
            own[j] = margin
        return Margins(tuple(own), low, high)

    def _calibrated(self, features: Array, std: Array) -> dict[str, Array]:
        found = super()._calibrated(features, std)
        if self._others is None:
            return found
        kept = self._kept_features()
        return found | self._others._calibrated(features[:, kept], std[:, kept])

    def _drawn(self, told: ShownRows, m: int, rng: np.random.Generator) -> Iterator[tuple[Array, dict[str, Array]]]:
        drawn = super()._drawn(told, m, rng)
        others = repeat(None) if self._others is None else self._others._drawn(self._told_others(told), m, rng)
        law = self._law(told) if told.timed else None
        for (features, texts), other in zip(drawn, others):
            if other is not None:
                features[:, self._kept_features()], texts = other[0], texts | other[1]
            if law is not None:
                at = np.isnan(told.table) & np.isin(np.arange(features.shape[1]), list(told.timed))
                features[at] = law[0][at] + law[1][at] * rng.standard_normal(int(at.sum()))
            yield features, texts

    @property
    def aside_(self) -> list[str]:
        """The categories that take no part in the model of the others, as hidden cells of these are filled as well without them."""
        if self._others is None or self._coding is None or self._others._coding is None:
            return []
        return [name for name in self._coding.names if name not in self._others._coding.names]
