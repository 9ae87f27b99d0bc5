"""From the words of ``--model`` to a fitted estimator with its preprocessing."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._catalogue import entry_of_word, name_of_word
from gramian._content import row_hashes, smallest_positions
from gramian.estimators.outliers import LatentOutlierDetector
from gramian.io.table_model import TableModel
from gramian.mixtures.soft_codes import soft_rows
from gramian.policy import KERNELS, LOOK
from gramian.reporting.words import FACTS
from gramian.single.answers import settle
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import Table

OPTIONS = {
    "n_components": "components",
    "noise_variance": "noise",
    "n_clusters": "clusters",
    "lags": "lags",
    "kernel": "kernel",
    "approximation": "landmarks",
    "n_landmarks": "landmarks",
    "views": "views",
}
"""Parameters as options of the command."""


def parsed_components(text: Any) -> Any:
    """A count, a fraction, or a rule by name."""
    if text is None or text in ("auto", "mle", "bic") or not isinstance(text, str):
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        fraction = float(text)
    except ValueError:
        fraction = -1.0
    if not 0 < fraction < 1:
        raise ValueError(
            f"--components {text!r} must be a whole number, a fraction between 0 and 1, 'auto', 'mle' or 'bic'."
        )
    return fraction


def kernel_of(options: Mapping[str, Any]) -> Any:
    """The kernel that ``--kernel`` and ``--length-scale`` describe; None where neither was given."""
    from gramian.kernels import KERNELS as NAMED
    from gramian.kernels import as_kernel

    name = options.get("kernel") or ("rbf" if options.get("length_scale") is not None else None)
    if name is None:
        return None
    if name == "precomputed" or name not in NAMED:
        known = ", ".join(key for key in NAMED if key != "precomputed")
        raise ValueError(f"--kernel {name!r} is not known. Use one of {known}.")
    kernel = as_kernel(name)
    width = options.get("length_scale")
    if width is not None:
        if "length_scale" not in kernel.get_params():
            raise ValueError(f"--length-scale is given, but the kernel {name!r} has none.")
        kernel.set_params(length_scale=width)
    return kernel


def approximate_options(kind: str, options: Mapping[str, Any], n_rows: int) -> tuple[dict[str, Any], str]:
    """The options with a Nystroem approximation where a kernel model of all rows would take too long, and a note of
    it."""
    if kind not in ("kernel", "kernel-mixture") or options.get("landmarks") is not None or n_rows <= KERNELS.exact_rows:
        return dict(options), ""
    note = f"{n_rows} rows: the kernel is approximated with {KERNELS.landmarks} landmarks (--landmarks N; 0 for none)"
    return {**options, "landmarks": KERNELS.landmarks}, note


def estimator_for(kind: str, options: Mapping[str, Any], prepare: Preprocessing, verbose: int = 0) -> Any:
    """The unfitted estimator: what was asked for, as far as it takes it; the library's defaults for the rest."""
    import gramian

    if kind == "regressor" and prepare.target_is_class:
        raise ValueError(
            f"--target {prepare.target}: the column holds classes, and a regressor predicts numbers. Use --model classifier."
        )
    made = getattr(gramian, name_of_word(kind))
    takes = signature(made).parameters
    asked = {
        "n_components": parsed_components(options.get("components")),
        "noise_variance": options.get("noise"),
        "n_clusters": options.get("clusters"),
        "lags": options.get("lags"),
        "kernel": kernel_of(options),
    }
    if options.get("landmarks"):
        asked |= {"approximation": "nystroem", "n_landmarks": options["landmarks"]}
    if prepare.views:
        asked["views"] = {name: list(columns) for name, columns in prepare.views.items()}
    given = {name: value for name, value in asked.items() if value is not None} | series_options(options)
    for name in given:
        if name not in takes:
            raise ValueError(f"--{OPTIONS[name]} is not an option of --model {kind}.")
    if "n_clusters" in takes and kind == "mixture":
        given.setdefault("n_clusters", "auto")
    if options.get("landmarks") == 0 and "approximation" in takes:
        given["approximation"] = "exact" if kind == "kernel-mixture" else None
    common = {"random_state": options.get("seed", 0), "verbose": verbose}
    return made(**given, **{name: value for name, value in common.items() if name in takes})


def series_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """What ``--season``, ``--difference``, ``--transform`` and the number of steps say to a forecaster."""
    found = {name: options[name] for name in ("difference", "transform", "season") if options.get(name) is not None}
    found |= {name: None for name in ("transform", "season") if found.get(name) == "none"}
    season = found.get("season")
    if season is not None:
        if not str(season).isdigit() or int(season) < 2:
            raise ValueError(f"--season {season!r} must be a whole number from 2 on, or 'none'.")
        found["season"] = int(season)
    if options.get("steps") is not None:
        found["horizon"] = options["steps"]
    return found


def check_needs(kind: str, options: Mapping[str, Any]) -> None:
    """What a kind of model cannot do without, or does not take: said before the file is read."""
    if entry_of_word(kind).target and not options.get("target"):
        raise ValueError(f"--model {kind} needs --target: the column to predict.")
    if kind == "views" and not options.get("views"):
        raise ValueError("--model views needs --views, as in --views a=1-5,b=6-9.")
    if kind != "views" and options.get("views"):
        raise ValueError(f"--views is for --model views, not for --model {kind}.")
    estimator_for(kind, options, Preprocessing([], [], np.empty(0), np.empty(0)))  # refuses what it does not take


def fit_model(
    kind: str,
    options: Mapping[str, Any],
    prepare: Preprocessing,
    X: Array,
    y: Array | None,
    verbose: int = 0,
    *,
    check: bool = False,
    once: bool = False,
) -> TableModel:
    """Fit, and keep what later sub-commands need; with ``check`` also how good the model is on rows it has not seen.

    ``once``: the model is used here and not kept, so what finds odd rows, which needs models of parts of the table, is left out.
    """
    if kind == "forecast":
        estimator = estimator_for(kind, options, prepare, verbose)
        estimator._usual_seasons = tuple(options.get("usual_seasons") or ())
        estimator.fit(X[:, 0] if X.shape[1] == 1 else X)
    else:
        estimator = estimator_for(kind, options, prepare, verbose)
        if kind == "mixture":
            X = soft_rows(estimator, np.array([bool(prepare.categories[j]) for j in prepare.owner]), X)
        estimator.fit(X, y) if y is not None else estimator.fit(X)
    facts = facts_of(estimator)
    if check:
        from gramian.cli._held_out import held_out

        facts |= held_out(kind, estimator, X, y, prepare)
    if once:
        return TableModel(kind, estimator, prepare, facts=facts)
    return TableModel(kind, estimator, prepare, facts, detector_of(estimator, X, options))


def fitted_imputer(
    prepare: Preprocessing, table: Table, aside: tuple[str, ...], bounds: Any, limits: dict[str, Array]
) -> TableModel:
    """The model that fills holes unless told otherwise: chosen and calibrated on hidden cells, as `LatentImputer` of a data frame.

    ``aside`` columns take no part in the model of the others.
    """
    import gramian

    estimator = gramian.LatentImputer(bounds=bounds)._fit_coded(prepare, table, limits, list(aside))
    facts = {**facts_of((estimator._others or estimator).estimator_), "estimator": "LatentImputer"}
    return TableModel("ppca", estimator, prepare, facts=facts)


def detector_of(estimator: Any, X: Array, options: Mapping[str, Any]) -> Any:
    """What says which rows are odd: the library's own detector, or one of the model asked for; None where rows have no likelihood."""
    if not hasattr(estimator, "score_samples"):
        return None
    plain = type(estimator).__name__ == "PPCA" and options.get("components") is None and options.get("noise") is None
    rows = X[smallest_positions(row_hashes(X), LOOK.rows)] if not plain else X
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to all rows has said what there is to say
            return LatentOutlierDetector(None if plain else settle(estimator), standardize=False).fit(rows)
    except ValueError:
        return None  # too few rows, or no noise: there are no densities


def facts_of(estimator: Any) -> dict[str, Any]:
    """Numbers about a fitted model for people and machines."""
    facts: dict[str, Any] = {"estimator": type(estimator).__name__}
    for name in ("n_components_", "noise_variance_", "converged_", "n_iter_"):
        value = getattr(estimator, name, None)
        if isinstance(value, bool | int | float | np.generic):
            facts[name.strip("_")] = value.item() if isinstance(value, np.generic) else value
    for name, value in (getattr(estimator, "skill_", None) or {}).items():
        facts[f"held-out {name}" if name == "error" else f"held-out {name} error"] = value
    ratio = getattr(estimator, "explained_variance_ratio_", None)
    if ratio is not None and np.ndim(ratio) == 1:
        facts["explained variance"] = float(np.sum(ratio))
    weights = getattr(estimator, "weights_", None)
    if weights is not None and np.ndim(weights) == 1:
        facts["mixing"] = [float(weight) for weight in weights]
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        facts["classes"] = [str(label) for label in classes]
    kernel = getattr(estimator, "kernel_", None)
    if kernel is not None:
        facts["kernel"] = kernel if isinstance(kernel, str) else " ".join(repr(kernel).split())[:200]
    return facts


def facts_lines(facts: Mapping[str, Any]) -> list[str]:
    """The facts as aligned lines."""
    words = {FACTS.get(name, name): value for name, value in facts.items()}
    width = max((len(name) for name in words), default=0)
    return [f"  {name:<{width}}  {_show(value)}" for name, value in words.items()]


def _show(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(_show(item) for item in value[:12]) + (", ..." if len(value) > 12 else "")
    return str(value)
