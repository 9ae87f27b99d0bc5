"""RKMForecaster behind sktime's interface (extra ``gramian[sktime]``)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

try:
    import pandas as pd
    from sktime.forecasting.base import BaseForecaster
except ImportError as error:
    raise ImportError("gramian.adapters.sktime needs sktime. Install it with: pip install 'gramian[sktime]'") from error

from gramian.estimators.forecaster import RKMForecaster


class SktimeRKMForecaster(BaseForecaster):
    """:class:`gramian.RKMForecaster` as an sktime forecaster: pipelines, tuning, evaluation and backtesting come from there.

    Panels and hierarchies are fitted by one call, with one law for all series, where nothing of a window model was asked for (lags, kernel
    and difference are left open); else sktime fits one model per series.

    Parameters
    ----------
    lags, n_components, season, difference, transform, kernel, noise_variance, standardize, strategy, horizon, n_folds, random_state
        As in :class:`gramian.RKMForecaster`; a ``horizon`` that is left open is the farthest step of ``fh``, where that is known at `fit`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from gramian.adapters.sktime import SktimeRKMForecaster
    >>> y = pd.Series(np.sin(np.arange(100) / 4))
    >>> plain = {"season": None, "difference": 0, "transform": None}
    >>> model = SktimeRKMForecaster(lags=8, n_components=2, kernel="linear", noise_variance=0.0, **plain).fit(y, fh=[1, 2])
    >>> bool(abs(model.predict() - np.sin([25.0, 25.25])).max() < 1e-9)
    True
    """

    _tags = {  # noqa: RUF012 - sktime reads it from the class
        "authors": ["The gramian developers"],
        "maintainers": ["The gramian developers"],
        "python_dependencies": None,
        "y_inner_mtype": ["pd.Series", "pd.DataFrame"],
        "X_inner_mtype": "pd.DataFrame",
        "capability:multivariate": True,
        "capability:exogenous": True,
        "capability:insample": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:missing_values": True,
        "capability:categorical_in_X": False,
        "capability:random_state": True,
        "property:randomness": "stochastic",
        "requires-fh-in-fit": False,
        "X-y-must-have-same-index": True,
        "enforce_index_type": None,
    }

    def __init__(
        self,
        lags: Any = "auto",
        n_components: Any = 0.95,
        season: Any = "auto",
        difference: Any = "auto",
        transform: Any = "auto",
        kernel: Any = "auto",
        noise_variance: Any = "per-view",
        standardize: bool = True,
        strategy: str = "recursive",
        horizon: Any = None,
        n_folds: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.lags = lags
        self.n_components = n_components
        self.season = season
        self.difference = difference
        self.transform = transform
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.standardize = standardize
        self.strategy = strategy
        self.horizon = horizon
        self.n_folds = n_folds
        self.random_state = random_state
        with warnings.catch_warnings():
            # sktime 1.2 announces another default of remember_data; `update` refits as long as that one holds
            warnings.simplefilter("ignore", FutureWarning)
            super().__init__()
        if (lags, difference, kernel, strategy) == ("auto", "auto", "auto", "recursive"):
            many = ["pd-multiindex", "pd_multiindex_hier"]
            self.set_tags(y_inner_mtype=["pd.Series", "pd.DataFrame", *many], X_inner_mtype=["pd.DataFrame", *many])

    def _fit(self, y: Any, X: Any, fh: Any) -> SktimeRKMForecaster:
        self._many = y.index.nlevels > 1
        if self._many:
            return self._fit_many(y, X, fh)
        self._names = list(y.columns) if isinstance(y, pd.DataFrame) else [y.name]
        self._series = not isinstance(y, pd.DataFrame)
        self._inputs = None if X is None or X.shape[1] == 0 else list(X.columns)
        inner = self._inner(fh)
        series = y.reset_index(drop=True) if not _is_even(y.index) else y
        self.forecaster_ = inner.fit(series, None if self._inputs is None else X.to_numpy(dtype=float))
        return self

    def _inner(self, fh: Any) -> RKMForecaster:
        inner = RKMForecaster(**{name: getattr(self, name) for name in self.get_param_names()})
        if inner.horizon is None and inner.strategy == "recursive" and fh is not None:
            inner.horizon = max(1, *self._steps(fh))
        return inner

    # ------------------------------------------------------------ panels and hierarchies

    def _fit_many(self, y: Any, X: Any, fh: Any) -> SktimeRKMForecaster:
        """One panel per column of ``y``, all with the same inputs."""
        self._names, self._levels = list(y.columns), list(y.index.names)
        self._inputs = None if X is None or X.shape[1] == 0 else [f"input {name}" for name in X.columns]
        self._counted = not _is_even(y.index.get_level_values(-1).unique().sort_values())
        table = self._renamed(X.reindex(y.index)) if self._inputs else None
        self.forecasters_ = {}
        for name in self._names:
            column = y[[name]].set_axis(["value"], axis=1)
            whole = column if table is None else column.join(table)
            self.forecasters_[name] = self._inner(fh).fit(self._clocked(whole), self._inputs, value="value")
        return self

    def _renamed(self, X: Any) -> Any:
        return X.set_axis(self._inputs, axis=1)

    def _clocked(self, table: Any) -> Any:
        """The table with times that are counted, where they do not go on at even steps."""
        if not self._counted:
            return table
        ids = table.index.droplevel(-1)
        counts = table.groupby(level=list(range(table.index.nlevels - 1)), sort=False).cumcount()
        keys = [(*(key if isinstance(key, tuple) else (key,)), count) for key, count in zip(ids, counts)]
        return table.set_axis(pd.MultiIndex.from_tuples(keys, names=self._levels))

    def _many_answers(self, fh: Any, X: Any, levels: Any) -> Any:
        """Forecasts (n * steps, columns), or quantiles of each, with sktime's index."""
        steps = np.array(self._steps(fh))
        times = fh.to_absolute_index(self.cutoff)
        future = self._renamed(X) if self._inputs and X is not None and not self._counted else None
        found = {}
        for name, inner in self.forecasters_.items():
            panel: Any = inner._panel
            late = panel.n_times - (
                panel.firsts + panel.lengths
            )  # series that ended before the others go on from their own end
            most = int(steps.max() + late.max())
            answer = inner.predict(most, future) if levels is None else inner.predict_quantiles(most, levels, future)
            for column, key in [("mean", name)] if levels is None else [(f"{q:g}", (name, q)) for q in levels]:
                table = answer[column].to_numpy().reshape(len(panel.ids), most)
                found[key] = np.take_along_axis(table, late[:, None] + steps - 1, axis=1).ravel()
            ids = panel.ids
        keys = [(*(key if isinstance(key, tuple) else (key,)), time) for key in ids for time in times]
        index = pd.MultiIndex.from_tuples(keys, names=self._levels)
        columns = self._names if levels is None else pd.MultiIndex.from_tuples(list(found))
        return pd.DataFrame(np.column_stack(list(found.values())), index=index, columns=columns)

    # ------------------------------------------------------------ one series, or a table of them

    def _steps(self, fh: Any) -> list[int]:
        return [int(step) for step in fh.to_relative(self.cutoff).to_pandas()]

    def _future(self, fh: Any, X: Any) -> Any:
        """Exogenous inputs of all steps up to the farthest; those that were not given are unknown, not an error."""
        if self._inputs is None:
            return None
        steps = self._steps(fh)
        future = np.full((max(steps), len(self._inputs)), np.nan)
        if X is not None:
            found = X.reindex(fh.to_absolute_index(self.cutoff))
            future[np.array(steps) - 1] = found.to_numpy(dtype=float)
        return future

    def _predict(self, fh: Any, X: Any) -> Any:
        if self._many:
            return self._many_answers(fh, X, None)
        values = np.asarray(self.forecaster_.predict(self._steps(fh), self._future(fh, X)))
        index = fh.to_absolute_index(self.cutoff)
        if self._series:
            return pd.Series(values, index=index, name=self._names[0])
        return pd.DataFrame(values.reshape(len(index), -1), index=index, columns=self._names)

    def _predict_quantiles(self, fh: Any, X: Any, alpha: Any) -> Any:
        if self._many:
            return self._many_answers(fh, X, list(alpha))
        found = self.forecaster_.predict_quantiles(self._steps(fh), list(alpha), self._future(fh, X))
        found = found.reshape(len(alpha), len(self._steps(fh)), -1)
        names = self._get_varnames()
        columns = pd.MultiIndex.from_product([names, list(alpha)])
        table = found.transpose(1, 2, 0).reshape(found.shape[1], -1)
        return pd.DataFrame(table, index=fh.to_absolute_index(self.cutoff), columns=columns)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Settings for sktime's own tests."""
        return [
            {"season": None, "n_folds": None, "random_state": 0},
            {"lags": 3, "n_components": 2, "kernel": "rbf", "season": None, "random_state": 0},
            {"lags": 3, "season": 2, "difference": 1, "transform": None, "kernel": "linear", "random_state": 0},
            {
                "lags": 2,
                "season": None,
                "difference": 0,
                "transform": None,
                "kernel": "linear",
                "noise_variance": "ml",
                "n_components": 1,
                "strategy": "direct",
                "horizon": 2,
            },
        ]


def _is_even(index: Any) -> bool:
    """Whether RKMForecaster can go on from this index; sktime itself allows uneven ones, which are counted then."""
    from gramian.series.time_index import describe_index

    try:
        describe_index(pd.Series(0.0, index=index))
    except ValueError:
        return False
    return True
