"""compare_imputers: which imputer fills this table best, on cells of it that are hidden from all of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_count
from gramian.estimators.imputer import LatentImputer
from gramian.exceptions import DataWarning, warn
from gramian.policy import LOOK
from gramian.tables.codes import codes_as_missing
from gramian.tables.frames import as_table, frame_like, orders_of
from gramian.tables.preprocessing import Preprocessing, Roles
from gramian.tables.table import Table

LEVEL, REACH = 0.9, 1.6448536269514722
Moments = tuple[Array, Array | None]
"""Features without holes, and their deviations where there are any."""
Filler = Callable[[Preprocessing, Array], tuple[Moments, dict[str, Array]]]
"""Features with holes -> the same without, and the chances of categories by name."""


def compare_imputers(X: Any, n_draws: int = 3, random_state: int = 0) -> Any:
    """How well several imputers fill cells of a table that are hidden from them: which one to use, and what it costs [10].

    Column means and medians, the nearest rows, scikit-learn's IterativeImputer, a forest per column (as missForest) and `LatentImputer`
    fill the same hidden cells, a tenth of the observed ones in each draw. Categories are coded for all of them as `TablePreprocessor` does.

    Parameters
    ----------
    X : data frame, dict of columns, or array-like of shape (n_samples, n_features)
    n_draws : int, default=3
    random_state : int, default=0

    Returns
    -------
    frame of the kind of X (pandas for arrays, a dict of columns where that is not installed)
        One row per imputer, best first: ``error`` (root mean square over numbers, in deviations of their columns), ``interval_score`` (of 90 %
        intervals in the same unit; smaller is better; imputers without intervals get those of their own errors on the other draws),
        ``wrong`` (share of categories filled wrongly; NaN without categories) and ``cpu`` (seconds per table).

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import compare_imputers
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 1)) @ np.ones((1, 4)) + 0.2 * rng.standard_normal((80, 4))
    >>> found = compare_imputers({name: X[:, j] for j, name in enumerate("abcd")}, n_draws=2)
    >>> bool(found["error"][list(found["imputer"]).index("LatentImputer")] < 0.5)
    True
    """
    given = as_table(X)
    table, _ = codes_as_missing(given, how="write it as another number")
    for note in table.notes[len(given.notes) :]:
        warn(note, DataWarning)
    rng = np.random.default_rng(check_count("random_state", random_state, 0))
    if table.n_rows > LOOK.rows:
        rows = np.sort(rng.choice(table.n_rows, LOOK.rows, replace=False))
        table = Table(table.names, [column[rows] for column in table.columns])
    coding = Preprocessing.fit([table], Roles(orders=orders_of(X)))
    features = coding.matrix(table, unknown="missing")
    found: dict[str, list[tuple[Array, Array, Array, float, float]]] = {name: [] for name in _IMPUTERS}
    for _ in range(check_count("n_draws", n_draws, 1)):
        hidden = _hide(features, coding.owner, rng)
        shown = np.where(hidden, np.nan, features)
        for name, fill in _IMPUTERS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what each has to say of itself is not the question
                start = time.process_time()
                told, chances = fill(coding, shown)
                seconds = time.process_time() - start
            found[name].append(_judge(coding, features, told, chances, hidden, seconds))
    if not any(len(part[0]) or not np.isnan(part[3]) for part in found["mean"]):
        warn("too few cells are known to hide any of them: nothing was judged", DataWarning)
    rows_of = {name: _summary(parts) for name, parts in found.items()}
    order = sorted(rows_of, key=lambda name: (np.nan_to_num(rows_of[name][0], nan=np.inf), rows_of[name][2]))
    columns = [np.array(order, dtype=object), *(np.array([rows_of[name][k] for name in order]) for k in range(4))]
    return _put_back(X, ["imputer", "error", "interval_score", "wrong", "cpu"], columns)


def _put_back(X: Any, names: list[str], columns: list[Array]) -> Any:
    if hasattr(X, "columns") and not isinstance(X, Table):
        return frame_like(X, names, columns)
    try:
        import pandas
    except ImportError:
        return dict(zip(names, columns))
    return pandas.DataFrame(dict(zip(names, columns)))


def _hide(features: Array, owner: Array, rng: np.random.Generator) -> Array:
    """The cells of a draw: all features of a column together, and no row or column hidden whole."""
    seen = ~np.isnan(features)
    hidden = (rng.random((len(features), int(owner[-1]) + 1)) < LOOK.hidden)[:, owner] & seen
    hidden[(hidden | ~seen).all(axis=1)] = False
    hidden[:, (hidden | ~seen).sum(axis=0) > len(features) - 3] = False
    return hidden


def _judge(
    coding: Preprocessing, features: Array, told: Moments, chances: dict[str, Array], hidden: Array, seconds: float
) -> tuple[Array, Array, Array, float, float]:
    """Errors of hidden numbers, their columns, their promised deviations (NaN: none), the share of wrong categories, seconds."""
    numbers = np.array([not coding.categories[j] for j in coding.owner])
    at, (filled, std) = hidden & numbers, told
    promised = np.full(at.sum(), np.nan) if std is None else std[at]
    wrong: list[Array] = []
    known = coding.probabilities(np.nan_to_num(features))
    for j, name in enumerate(coding.names):
        if name in known:
            rows = np.flatnonzero(hidden[:, coding.owner == j][:, 0])
            wrong.append(known[name][rows].argmax(axis=1) != chances[name][rows].argmax(axis=1))
    share = float(np.concatenate(wrong).mean()) if wrong and sum(map(len, wrong)) else np.nan
    return (features - filled)[at], at.nonzero()[1], promised, share, seconds


def _summary(parts: list[tuple[Array, Array, Array, float, float]]) -> tuple[float, float, float, float]:
    errors, columns = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    draws = np.concatenate([np.full(len(part[0]), k) for k, part in enumerate(parts)])
    std = np.concatenate([part[2] for part in parts])
    if np.isnan(std).any():
        std = np.array([_own_deviation(errors, columns, draws, j, k) for j, k in zip(columns, draws)])
    score = 2 * REACH * std + 2 / (1 - LEVEL) * np.maximum(np.abs(errors) - REACH * std, 0.0)
    wrong = [part[3] for part in parts if not np.isnan(part[3])]
    error = float(np.sqrt(np.square(errors).mean())) if errors.size else np.nan
    return (
        error,
        float(score.mean()) if errors.size else np.nan,
        float(np.mean(wrong)) if wrong else np.nan,
        float(np.mean([part[4] for part in parts])),
    )


def _own_deviation(errors: Array, columns: Array, draws: Array, column: int, draw: int) -> float:
    """The size of an imputer's errors of a column on the other draws; on all where there is no other."""
    mine = (columns == column) & (draws != draw)
    mine = mine if mine.any() else columns == column
    return float(np.sqrt(np.square(errors[mine]).mean()))


def _scikit(make: Callable[[], Any]) -> Filler:
    def fill(coding: Preprocessing, shown: Array) -> tuple[Moments, dict[str, Array]]:
        filled = make().fit_transform(shown)
        return (filled, None), coding.probabilities(filled)

    return fill


def _simple(strategy: str) -> Any:
    from sklearn.impute import SimpleImputer

    return SimpleImputer(strategy=strategy)


def _neighbours() -> Any:
    from sklearn.impute import KNNImputer

    return KNNImputer()


def _iterative(estimator: Any = None, rounds: int = 10) -> Any:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return IterativeImputer(estimator, max_iter=rounds, random_state=0)


def _forests() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return _iterative(RandomForestRegressor(n_estimators=30, min_samples_leaf=3, random_state=0), 3)


def _latent(coding: Preprocessing, shown: Array) -> tuple[Moments, dict[str, Array]]:
    model = LatentImputer(standardize=False, bounds=None).fit(shown)
    filled, std = model.impute(shown, return_std=True)
    return (filled, std), model._chances_in(coding, shown, filled, std)


_IMPUTERS: dict[str, Filler] = {
    "mean": _scikit(lambda: _simple("mean")),
    "median": _scikit(lambda: _simple("median")),
    "nearest rows": _scikit(_neighbours),
    "IterativeImputer": _scikit(_iterative),
    "forests": _scikit(_forests),
    "LatentImputer": _latent,
}
