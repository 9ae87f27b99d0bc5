"""From the words of ``--model`` to a fitted estimator with its preprocessing."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.io.preprocessing import Preprocessing
from gramian.io.source import memory_available
from gramian.io.table_model import TableModel
from gramian.report.analysis import dimension

LEVELS = (0.9, 0.95, 0.99, 0.995, 0.999)
SCORED_ROWS = 5000
MAX_CLUSTERS = 6
CHOICE_ROWS = 5000
EXACT_ROWS, LANDMARKS = 5000, 1000
WORDS = {"n_components": "latent dimensions", "noise_variance": "noise variance", "n_iter": "iterations"}
"""Facts as people read them."""


def parsed_components(text: Any) -> Any:
    """A count, a fraction, or a rule by name."""
    if text is None or text in ("mle", "bic") or not isinstance(text, str):
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
        raise ValueError(f"--components {text!r} must be a whole number, a fraction between 0 and 1, 'mle' or 'bic'.")
    return fraction


def kernel_of(options: Mapping[str, Any]) -> Any:
    """The kernel that ``--kernel`` and ``--length-scale`` describe."""
    from gramian.kernels import KERNELS, as_kernel

    name = options.get("kernel") or "rbf"
    if name == "precomputed" or name not in KERNELS:
        known = ", ".join(key for key in KERNELS if key != "precomputed")
        raise ValueError(f"--kernel {name!r} is not known. Use one of {known}.")
    kernel = as_kernel(name)
    width = options.get("length_scale")
    if width is not None:
        if "length_scale" not in kernel.get_params():
            raise ValueError(f"--length-scale is given, but the kernel {name!r} has none.")
        kernel.set_params(length_scale=width)
    return kernel


def approximated(kind: str, options: Mapping[str, Any], n_rows: int) -> tuple[dict[str, Any], str]:
    """The options with a Nystroem approximation where a kernel model of all rows would take too long, and a note of
    it."""
    if kind not in ("kernel", "kernel-mixture") or options.get("landmarks") is not None or n_rows <= EXACT_ROWS:
        return dict(options), ""
    note = f"{n_rows} rows: the kernel is approximated with {LANDMARKS} landmarks (--landmarks N; 0 for none)"
    return {**options, "landmarks": LANDMARKS}, note


def estimator_for(kind: str, options: Mapping[str, Any], prepare: Preprocessing, verbose: int = 0) -> Any:
    """The unfitted estimator."""
    import gramian

    q, noise, seed = parsed_components(options.get("components")), options.get("noise"), options.get("seed", 0)
    given = {name: value for name, value in (("n_components", q), ("noise_variance", noise)) if value is not None}
    common = {"random_state": seed}
    if kind == "ppca":
        given.setdefault("n_components", "bic")
        return gramian.PPCA(**given, **common, verbose=verbose)
    if kind == "mixture":
        if "noise_variance" in given:
            raise ValueError(
                "--noise is not an option of --model mixture, which estimates the noise of each component."
            )
        default = max(1, min(3, len(prepare.features) - 1))
        return gramian.PPCAMixture(options.get("clusters") or 2, given.get("n_components", default), **common)
    kernel = kernel_of(options)
    landmarks = options.get("landmarks") or None
    approximation = {} if landmarks is None else {"approximation": "nystroem", "n_landmarks": landmarks}
    if kind == "kernel":
        return gramian.KernelPPCA(kernel=kernel, **given, **approximation, **common, verbose=verbose)
    if kind == "kernel-mixture":
        return gramian.KernelPPCAMixture(
            options.get("clusters") or 2, kernel=kernel, **given, **approximation, **common
        )
    if kind == "classifier":
        return gramian.KernelPPCAClassifier(kernel=kernel, **given, **common)
    if kind == "regressor":
        return gramian.RKMRegressor(kernel=kernel, **given, **common)
    if kind == "views":
        views = {name: list(columns) for name, columns in prepare.views.items()}
        chosen = kernel if options.get("kernel") else "linear"
        given.setdefault("noise_variance", "per-view")
        return gramian.MultiViewRKM(kernel=chosen, views=views, **given, **common)
    lags = {} if options.get("lags") is None else {"lags": options["lags"]}
    return gramian.RKMForecaster(kernel=kernel, **lags, **given, **common)


def check_needs(kind: str, options: Mapping[str, Any]) -> None:
    """What a kind of model cannot do without, said before the file is read."""
    if kind in ("classifier", "regressor") and not options.get("target"):
        raise ValueError(f"--model {kind} needs --target: the column to predict.")
    if kind == "views" and not options.get("views"):
        raise ValueError("--model views needs --views, as in --views a=1-5,b=6-9.")
    if kind != "views" and options.get("views"):
        raise ValueError(f"--views is for --model views, not for --model {kind}.")


def check_complete(kind: str, X: Array, prepare: Preprocessing) -> None:
    """Kernels need complete rows: say which column has holes, and what to do."""
    if kind in ("ppca", "mixture", "views", "forecast"):
        return
    holes = np.isnan(X).any(axis=0)
    if holes.any():
        column = prepare.names[int(prepare.owner[np.flatnonzero(holes)[0]])]
        count = int(np.isnan(X).any(axis=1).sum())
        raise ValueError(
            f"{count} row(s) have missing values (column {column!r} among them), which --model {kind} cannot use. "
            "Fill them first with: gramian impute IN -o FULL"
        )


def fitted(
    kind: str, options: Mapping[str, Any], prepare: Preprocessing, X: Array, y: Array | None, verbose: int = 0
) -> TableModel:
    """Fit, and keep what later sub-commands need."""
    check_complete(kind, X, prepare)
    if kind == "ppca":
        options = {
            **options,
            "components": dimension(X, parsed_components(options.get("components")), options.get("seed", 0))[0],
        }
    if kind == "mixture" and not options.get("clusters"):
        estimator = best_mixture(X, options, prepare)
    elif kind == "forecast":
        estimator = estimator_for(kind, options, prepare, verbose).fit(X[:, 0] if X.shape[1] == 1 else X)
    else:
        estimator = estimator_for(kind, options, prepare, verbose)
        estimator.fit(X, y) if y is not None else estimator.fit(X)
    return TableModel(kind, estimator, prepare, limits_of(estimator, X), facts_of(estimator))


def best_mixture(X: Array, options: Mapping[str, Any], prepare: Preprocessing) -> Any:
    """The mixture with the smallest BIC among 1 to 6 clusters."""
    best, smallest, said = None, np.inf, list[Any]()
    if len(X) > CHOICE_ROWS:  # the number of clusters is chosen on some rows, the mixture is fitted to all
        some = X[np.random.default_rng(options.get("seed", 0)).choice(len(X), CHOICE_ROWS, replace=False)]
        count = best_mixture(some, options, prepare).n_clusters
        return estimator_for("mixture", {**options, "clusters": count}, prepare).fit(X)
    for clusters in range(1, min(MAX_CLUSTERS, max(1, len(X) // 10)) + 1):
        candidate = estimator_for("mixture", {**options, "clusters": clusters}, prepare)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                candidate.fit(X)
            bic = candidate.bic(X)
        except ValueError:
            if best is None:
                raise
            break  # too few rows for so many clusters
        if bic < smallest:
            best, smallest, said = candidate, bic, caught
    for warning in said:  # those of the candidates that lost are of no interest
        warnings.warn(warning.message, warning.category, stacklevel=2)
    return best


def limits_of(estimator: Any, X: Array) -> dict[str, float]:
    """Quantiles of the log-likelihood of training rows: the flags of models without control limits of their own."""
    if not hasattr(estimator, "score_samples"):
        return {}
    rows = X if len(X) <= SCORED_ROWS else X[np.random.default_rng(0).choice(len(X), SCORED_ROWS, replace=False)]
    try:
        scores = estimator.score_samples(rows)
    except ValueError:
        return {}  # zero noise: there are no densities
    return {str(level): float(np.quantile(scores, 1 - level)) for level in LEVELS}


def facts_of(estimator: Any) -> dict[str, Any]:
    """Numbers about a fitted model for people and machines."""
    facts: dict[str, Any] = {"estimator": type(estimator).__name__}
    for name in ("n_components_", "noise_variance_", "converged_", "n_iter_"):
        value = getattr(estimator, name, None)
        if isinstance(value, bool | int | float | np.generic):
            facts[name.strip("_")] = value.item() if isinstance(value, np.generic) else value
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
        facts["kernel"] = " ".join(repr(kernel).split())[:200]
    return facts


def facts_lines(facts: Mapping[str, Any]) -> list[str]:
    """The facts as aligned lines."""
    words = {WORDS.get(name, name): value for name, value in facts.items()}
    width = max((len(name) for name in words), default=0)
    return [f"  {name:<{width}}  {_shown(value)}" for name, value in words.items()]


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value[:12]) + (", ..." if len(value) > 12 else "")
    return str(value)


def should_stream(kind: str, size: int, asked: bool | None) -> bool:
    """Whether the rows are to pass by instead of being held: when asked, or when the file is large for the memory
    left."""
    if asked and kind != "ppca":
        raise ValueError(f"--stream works with --model ppca, not with --model {kind}, which needs all rows at once.")
    return bool(asked) if asked is not None else kind == "ppca" and size > memory_available() // 4
