"""Parameter and data checks, with one wording: what was given, what is allowed, what to do."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from decimal import Decimal
from functools import wraps
from types import ModuleType
from typing import Any, TypeGuard, TypeVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from gramian._arrays import Array, is_dask, on_dask
from gramian._types import RandomState, Weights
from gramian.exceptions import NumericalWarning, warn
from gramian.policy import SIZES

Method = TypeVar("Method", bound=Callable[..., Any])
WHERE_DASK_WORKS = (
    "PPCA, PPCAMixture, LatentImputer, MultiViewRKM, RKMRegressor and RKMClassifier with linear views or feature maps, and KernelPPCA with "
    "approximation='nystroem' are fitted to Dask rows where they are. Use one of them"
)
"""For models that are fitted to tables in memory only."""
COMPONENT_RULES = ("auto", "mle", "bic")
"""The words that ``n_components`` may be."""
LARGEST = 1e150  # beyond it squares overflow
SMALLEST = 1e-145  # below it squares vanish, or what counts as no noise beside them (1e-12) has no inverse


# ---------------------------------------------------------------- parameters


def is_count(value: object) -> TypeGuard[int]:
    """A whole number, but not a bool: True is not a count."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def is_real(value: object) -> TypeGuard[float]:
    """A finite real number, but not a bool."""
    return (
        isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_) and bool(np.isfinite(float(value)))
    )


def is_auto(value: object) -> bool:
    """Whether a parameter is left to choose; what is compared may be an array or a kernel."""
    return isinstance(value, str) and value == "auto"


def check_count(name: str, value: object, minimum: int = 0) -> int:
    """``value`` as an int of at least ``minimum``."""
    if not is_count(value):
        raise ValueError(f"{name}={value!r} must be an integer of at least {minimum}, got {type(value).__name__}.")
    if value < minimum:
        raise ValueError(f"{name}={value!r} must be at least {minimum}.")
    return int(value)


def check_number(
    name: str,
    value: object,
    low: float = -np.inf,
    high: float = np.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """``value`` as a finite float between the bounds (closed unless said otherwise)."""
    left, right = "(" if open_low else "[", ")" if open_high else "]"
    allowed = f"a finite number in {left}{low:g}, {high:g}{right}"
    if not is_real(value):
        raise ValueError(f"{name}={value!r} must be {allowed}.")
    number = float(value)
    if number < low or number > high or (open_low and number == low) or (open_high and number == high):
        raise ValueError(f"{name}={value!r} must be {allowed}.")
    return number


def check_choice(name: str, value: object, allowed: Any) -> Any:
    """``value`` if it is one of ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name}={value!r} is not known. Use one of {', '.join(map(repr, allowed))}.")
    return value


def check_flag(name: str, value: object) -> bool:
    """``value`` as a bool."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be True or False.")
    return bool(value)


def check_tolerance(tol: object, max_iter: object) -> tuple[float, int]:
    """The two numbers that stop an iteration."""
    return check_number("tol", tol, 0.0), check_count("max_iter", max_iter, 1)


def check_n_components(n_components: Any, rules: tuple[str, ...] = COMPONENT_RULES) -> Any:
    """``n_components`` if it is None, a count >= 0, a fraction in (0, 1) or one of the rules."""
    if n_components is None or (isinstance(n_components, str) and n_components in rules):
        return n_components
    if is_count(n_components) and n_components >= 0:
        return int(n_components)
    if is_real(n_components) and not is_count(n_components) and 0.0 < n_components < 1.0:
        return float(n_components)
    words = "".join(f", {rule!r}" for rule in rules)
    raise ValueError(f"n_components={n_components!r} must be an integer >= 0, a fraction in (0, 1), None{words}.")


def check_random_state(random_state: RandomState) -> np.random.Generator:
    """A NumPy ``Generator`` from None, a non-negative int, a ``Generator`` or a ``RandomState``.

    A ``Generator`` is used as it is (and so advances); a ``RandomState`` gives the seed of a new one.
    """
    check_seed(random_state)
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is np.random:
        random_state = np.random.mtrand._rand
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(int(random_state))


def starting_generator(random_state: RandomState) -> np.random.Generator:
    """The generator of the starts of an EM: with None always the same one, so that a fit depends on what the rows hold and on nothing else."""
    return check_random_state(0 if random_state is None else random_state)


def check_seed(random_state: RandomState) -> None:
    """Refuse what cannot seed, without making a generator (which costs as much as a small fit)."""
    made = (np.random.Generator, np.random.RandomState)
    if random_state is None or random_state is np.random or isinstance(random_state, made):
        return
    if isinstance(random_state, ModuleType) or not is_count(random_state) or random_state < 0:
        raise ValueError(
            f"random_state={random_state!r} cannot be used to seed. Use None, a non-negative integer, "
            "a numpy.random.Generator or a numpy.random.RandomState."
        )


# ---------------------------------------------------------------- data


def quiet_infinities() -> np.errstate:
    """Where arrays are looked at for infinities: those of both signs are refused, not warned of."""
    return np.errstate(over="ignore", invalid="ignore")


def check_table(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    missing: bool = False,
    accept_sparse: bool = False,
    min_samples: int = 1,
    name: str = "X",
    **options: Any,
) -> Any:
    """A finite 2-D array of float32 or float64, from whatever a user may hand over.

    With ``missing`` NaN, None, pd.NA and masked entries become NaN; without it they are an error. Feature names and counts
    are kept on (``reset=True``) or compared with (``reset=False``) the estimator. ``estimator=None`` skips that.
    """
    coded = estimator._coded(X, reset, missing) if hasattr(estimator, "_coded") else None
    if coded is not None:
        estimator, X = None, coded  # names and counts are those of the frame, which are kept already
    if _is_ready(estimator, X, reset, min_samples, options.get("ensure_all_finite", "allow-nan" if missing else True)):
        return X
    given = X
    X = _plain(X, missing=missing, accept_sparse=accept_sparse, name=name)
    dtype = getattr(X, "dtype", None)
    wide = isinstance(dtype, np.dtype) and dtype.kind in "iu" and dtype.itemsize == 8 and np.size(X) > 0
    if wide and max(abs(int(X.max())), abs(int(X.min()))) > 2**53:
        warn(
            f"{name} holds integers above 2**53, which float64 keeps only to rounding. Subtract an offset first to keep them exact.",
            DataConversionWarning,
        )
    keep = (np.float64, np.float32)
    options = {
        "dtype": keep,
        "accept_sparse": ("csr", "csc") if accept_sparse else False,
        "ensure_all_finite": "allow-nan" if missing else True,
        "ensure_min_samples": min_samples,
        "order": "C"
        if 8 * getattr(X, "size", 0) <= SIZES.modest
        else None,  # sums by rows have the same rounding whatever the order
        **options,
    }
    try:
        with quiet_infinities():
            if estimator is None:
                return check_array(X, input_name=name, **options)
            if _is_arrow(given):
                checked = check_array(X, input_name=name, **options)
                return _check_arrow(estimator, list(given.schema.names), checked, reset)
            return validate_data(estimator, X, reset=reset, **options)
    except ValueError as error:
        if missing or "contains NaN" not in str(error):
            raise
        first = str(error).splitlines()[0]  # the rest recommends estimators of scikit-learn
        raise ValueError(
            f"{first} Within gramian, LatentImputer fills the holes: make_pipeline(LatentImputer(), ...)."
        ) from None


def _is_arrow(X: Any) -> bool:
    return type(X).__module__.startswith("pyarrow") and hasattr(X, "schema")


def _check_arrow(estimator: Any, names: list[str], X: Array, reset: bool) -> Array:
    """The numbers of an Arrow table, whose names are lost on the way: kept on the estimator, or compared with what it knows."""
    known = getattr(estimator, "feature_names_in_", None)
    if reset:
        estimator.feature_names_in_ = np.array(names, dtype=object)
        estimator.n_features_in_ = len(names)
    elif known is not None and list(known) != names:
        raise ValueError(
            f"The feature names should match those that were passed during fit: {', '.join(map(str, known))}; X has {', '.join(names)}."
        )
    elif estimator.n_features_in_ != len(names):
        raise ValueError(
            f"X has {len(names)} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features as input."
        )
    return X


def _is_ready(estimator: Any, X: Any, reset: bool, min_samples: int, finite: object) -> bool:
    """Whether X is a plain array of floats that every check would let pass as it is; its columns are then kept on the estimator.

    Scikit-learn's own checks cost as much as a small fit: they look for frames of every library.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype.char not in "df" or not X.dtype.isnative:
        return False
    if X.shape[0] < min_samples or X.shape[1] == 0 or not (X.flags.c_contiguous or X.nbytes > SIZES.modest):
        return False
    if estimator is not None:
        same = reset or getattr(estimator, "n_features_in_", None) == X.shape[1]
        if not same or hasattr(estimator, "feature_names_in_"):
            return False
    with np.errstate(over="ignore", invalid="ignore"):
        if finite is not False and not np.isfinite(X.sum()) and (finite is True or np.isinf(X).any()):
            return False
    if estimator is not None and reset:
        estimator.n_features_in_ = X.shape[1]
    return True


def _plain(X: Any, *, missing: bool, accept_sparse: bool, name: str) -> Any:
    """Refuse or convert what scikit-learn would take wrongly: lazy arrays, strings, dates, masks, None, big-endian, wide floats."""
    module = type(X).__module__.split(".")[0]
    if is_dask(X):
        raise TypeError(
            f"{name} is a lazy Dask collection, which this model cannot take here: call .compute() on it. PPCA, PPCAMixture, LatentImputer, RKMRegressor, "
            "RKMClassifier, and KernelPPCA and KernelPPCAMixture with approximation='nystroem' are fitted to Dask rows where they are."
        )
    if module == "polars" and type(X).__name__ == "LazyFrame":
        raise TypeError(f"{name} is a lazy polars frame; gramian computes in memory. Call .collect() on it first.")
    if module == "pyarrow":
        return np.column_stack([np.asarray(column.to_numpy(zero_copy_only=False)) for column in _arrow_columns(X)])
    if sparse.issparse(X):
        if not accept_sparse:
            raise TypeError(
                f"Sparse data was passed for {name}, but dense data is required. Use '.toarray()' to convert to a dense numpy array."
            )
        return X
    if isinstance(X, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(X)
        if mask.any() and not missing:
            raise ValueError(
                f"{name} has {int(mask.sum())} masked (missing) entries, which this model cannot use. Fill them first, e.g. with gramian.LatentImputer."
            )
        filled = X.astype(float) if X.dtype.kind in "iub" else X
        return np.where(mask, np.nan, filled.data)
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return _plain_frame(X, missing=missing, name=name)
    if isinstance(X, list | tuple):
        return _plain_list(X, missing=missing, name=name)
    if isinstance(X, np.ndarray):
        return _plain_array(X, missing=missing, name=name)
    return X


def _arrow_columns(X: Any) -> list[Any]:
    """The columns of an Arrow table or record batch, each in one piece."""
    return [column.combine_chunks() if hasattr(column, "combine_chunks") else column for column in X.columns]


def _plain_list(X: Any, *, missing: bool, name: str) -> Any:
    try:
        array = np.asarray(X)
    except ValueError:
        return X  # ragged: scikit-learn has the right words
    return _plain_array(array, missing=missing, name=name) if array.dtype.kind in "OUSMmc" else X


def _plain_array(X: Array, *, missing: bool, name: str, column: Any = None) -> Array:
    where = f"{name} (column {column!r})" if column is not None else name
    kind = X.dtype.kind
    if kind in "US":
        first = str(X.flat[0]) if X.size else ""
        raise ValueError(
            f"could not convert string to float: {first!r} in {where}. Text is not a number: convert numeric strings yourself, and let gramian.TablePreprocessor code categories."
        )
    if kind in "Mm":
        raise ValueError(
            f"{where} holds dates or time differences ({X.dtype}). Give a numeric column, such as seconds since a start."
        )
    if kind == "c":
        raise ValueError(f"Complex data not supported: {where} has dtype {X.dtype}.")
    if kind == "O":
        return _from_objects(X, missing=missing, where=where)
    if kind == "f" and (X.dtype.itemsize not in (4, 8) or not X.dtype.isnative):
        return X.astype(np.float32 if X.dtype.itemsize == 4 else np.float64)
    return X


def _from_objects(X: Array, *, missing: bool, where: str) -> Array:
    out = np.empty(X.shape, dtype=np.float64)
    flat = out.ravel()
    for position, value in enumerate(X.ravel()):
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            if not missing:
                raise ValueError(
                    f"{where} contains NaN (a missing value, {value!r}), which this model cannot use. Fill it first, e.g. with gramian.LatentImputer."
                )
            flat[position] = np.nan
        elif isinstance(value, str | bytes):
            raise ValueError(
                f"could not convert string to float: {value!r} in {where}. Text is not a number: convert numeric strings yourself, and let gramian.TablePreprocessor code categories."
            )
        elif isinstance(value, complex | np.complexfloating):
            raise ValueError(f"Complex data not supported: {where} holds {value!r}.")
        elif isinstance(value, numbers.Real | Decimal | np.bool_):
            flat[position] = float(value)
        elif isinstance(value, np.datetime64 | np.timedelta64) or hasattr(value, "isoformat"):
            raise ValueError(f"{where} holds dates ({value!r}). Give a numeric column, such as seconds since a start.")
        else:
            # scikit-learn's own words, and its own exception, for things such as dicts
            raise TypeError(
                f"float() argument must be a string or a real number, not {type(value).__name__!r} (in {where})."
            )
    return out


def _plain_frame(X: Any, *, missing: bool, name: str) -> Any:
    """Data frames: no duplicate names, no text, no dates; columns of other types are turned into floats, names kept."""
    columns = list(X.columns)
    if len(set(map(str, columns))) < len(columns) and len(set(columns)) < len(columns):
        seen: set[Any] = set()
        twice = sorted({str(c) for c in columns if c in seen or seen.add(c)})  # type: ignore[func-returns-value]
        raise ValueError(f"{name} has duplicate column names: {', '.join(twice)}. Rename or drop them.")
    if type(X).__module__.split(".")[0] == "pandas":
        return _plain_pandas(X, missing=missing, name=name)
    for column, dtype in zip(columns, X.dtypes):
        text = str(dtype)
        if text in ("String", "Utf8", "Categorical", "Enum", "Object") or text.startswith(
            ("Date", "Duration", "Time", "Categorical")
        ):
            values = np.asarray(
                X[column].to_numpy(), dtype=object if not text.startswith(("Date", "Duration")) else None
            )
            _plain_array(values, missing=missing, name=name, column=column)
    return X


def _plain_pandas(X: Any, *, missing: bool, name: str) -> Any:
    import pandas as pd

    simple = all(isinstance(dtype, np.dtype) and dtype.kind in "fiub" and dtype.itemsize <= 8 for dtype in X.dtypes)
    if simple:
        return X
    converted = {}
    for position, (column, dtype) in enumerate(zip(X.columns, X.dtypes)):
        series = X.iloc[:, position]
        if isinstance(dtype, pd.SparseDtype):
            series = series.sparse.to_dense()
        if isinstance(series.dtype, np.dtype):
            values = series.to_numpy()
        elif str(series.dtype) in ("string", "str", "category") or isinstance(series.dtype, pd.DatetimeTZDtype):
            values = series.astype(object).to_numpy()
        else:  # nullable and arrow numbers
            values = series.to_numpy(dtype=object)
        values = _plain_array(np.asarray(values), missing=missing, name=name, column=column)
        converted[position] = values
    frame = pd.DataFrame(converted, index=X.index)
    frame.columns = X.columns
    return frame


def refuse_dask(estimator: object, *given: object, advice: str = WHERE_DASK_WORKS) -> None:
    """Raise TypeError if anything that was given is a Dask collection: rows are never gathered silently."""
    if on_dask(*given):
        raise TypeError(
            f"{type(estimator).__name__} cannot be fitted to a lazy Dask collection as it is. {advice}, or call .compute() on rows that "
            "fit into memory."
        )


def check_same_rows(views: Mapping[Any, Any]) -> int:
    """The number of rows that all views share."""
    counts = {name: view.shape[0] for name, view in views.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name!r}: {count}" for name, count in counts.items())
        raise ValueError(
            f"The views have different numbers of rows ({listed}). Row i of every view must be the same case."
        )
    return next(iter(counts.values()))


def check_weights(sample_weight: Weights, X: Any) -> Array:
    """Raw float64 weights of the rows of X: ones when None; finite, not negative, not all zero."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weights = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64), dtype=np.float64)
    if (weights < 0).any():
        raise ValueError(f"sample_weight has negative values (smallest {weights.min():g}). Weights must be >= 0.")
    if not 0 < weights.sum() < np.inf:
        raise ValueError(
            f"sample_weight sums to {weights.sum():g}. Weights must be finite, with one at least above zero."
        )
    return weights


def check_block_weights(sample_weight: Weights, X: Any) -> Array:
    """The same for a block of a larger table, where all weights may be zero."""
    given = np.asarray(sample_weight, dtype=np.float64)
    return np.zeros(len(X)) if given.shape == (len(X),) and not given.any() else check_weights(given, X)


def positive_rows(X: Any, weights: Array) -> tuple[Any, Array]:
    """The rows of positive weight with their weights: zero weight is a removed row."""
    keep = weights > 0
    return (X, weights) if keep.all() else (X[np.flatnonzero(keep)], weights[keep])


def shown_rows(X: Array, weights: Array) -> tuple[Array, Array]:
    """The rows that show a value, with their weights; those that show none are dropped, and said."""
    shown = ~np.isnan(X).all(axis=1)
    if not shown.any():
        return X, weights
    warn_of_empty_rows(int((~shown).sum()))
    return (X, weights) if shown.all() else (X[shown], weights[shown])


def warn_of_empty_rows(count: int) -> None:
    """Say that rows without a value take no part in a fit, if there are any."""
    if count:
        warn(f"{count} row(s) of X show no value at all and are dropped from the fit.", NumericalWarning)


def warn_of_one_value(columns: Array, names: Any = None, what: str = "X") -> None:
    """Say which columns (a flag each) show one value only and miss at least half of their cells: no spread can be learnt of them.

    A column that shows the same value nearly everywhere, as a pixel at the border does, needs no word.
    """
    if columns.any():
        warn(
            f"{what} shows one value only in {_column_words(np.flatnonzero(columns), names)}, and at most half of the cells: "
            "the others are filled with that value. Drop such columns, or fill in what is known.",
            NumericalWarning,
        )


def check_seen(seen: Array, names: Any = None) -> None:
    """Refuse a table in which no cell, or no cell of some column, is observed."""
    empty = np.flatnonzero(~seen)
    if len(empty) == len(seen):
        raise ValueError("All cells of X are missing: nothing to fit. Give at least one observed cell in every column.")
    if empty.size:
        raise ValueError(
            f"X has no observed value in {_column_words(empty, names)} (all NaN). Drop such columns, or fill in what is known."
        )


def _column_words(columns: Array, names: Any) -> str:
    """The columns of these positions in words."""
    named = ", ".join(repr(str(names[j])) if names is not None else str(j) for j in columns[:10])
    return f"column{'s' if columns.size > 1 else ''} {named}{', ...' if columns.size > 10 else ''}"


def check_scale(spread: float, name: str = "X") -> None:
    """Refuse data whose squares overflow or vanish; ``spread`` is its largest (centred) magnitude."""
    if not spread <= LARGEST or 0 < spread < SMALLEST:
        size = f"{spread:.3g}" if np.isfinite(spread) else "1e154 or more"
        raise ValueError(
            f"{name} has magnitudes around {size}, whose squares leave the range of float64. rescale it first (e.g. divide by its largest value)."
        )


def check_labels(y: Any) -> None:
    """Refuse a target that is no class label, in scikit-learn's words, but without its guess that many classes are a regression."""
    try:
        check_classification_targets(np.repeat(y, 2, axis=0))
    except TypeError as error:  # labels that have no order
        kinds = ", ".join(sorted({type(label).__name__ for label in np.ravel(y)}))
        raise TypeError(f"y mixes labels of several types: {kinds}. Give labels of one type.") from error


def finite_answers(method: Method) -> Method:
    """A method that answers rows with finite numbers, or with one sentence: what overflows on the way says nothing before that."""

    @wraps(method)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            answer = method(*args, **kwargs)
        _check_answer(answer, f"answers of {method.__name__}")
        return answer

    return guarded  # type: ignore[return-value]


def _check_answer(answer: Any, what: str) -> None:
    """Every array of an answer is finite, whatever the model holds (one from a file may hold anything)."""
    if isinstance(answer, np.ndarray):
        if answer.dtype.kind == "f":
            check_finite(answer, what)
        return
    if is_dataclass(answer):
        answer = vars(answer)
    for part in answer.values() if isinstance(answer, dict) else answer if isinstance(answer, list | tuple) else ():
        _check_answer(part, what)


def check_finite(values: Array, what: str) -> Array:
    """No method returns NaN or Inf silently."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"{what} are not finite: the input's magnitudes leave the range of float64. rescale the data first."
        )
    return values
