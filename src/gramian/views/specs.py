"""What a user says of views and targets (kernels, feature maps, weights, space), checked, and made into what the model is built from [8]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_n_components,
    check_number,
    check_seed,
    check_tolerance,
    is_real,
)
from gramian.evidence.folds import check_folds
from gramian.features import FeatureMap, Identity
from gramian.kernels import Linear, Precomputed, as_kernel, finite_gram
from gramian.kernels.base import Kernel
from gramian.kernels.gram_checks import warn_without_structure
from gramian.latent.subspace import Subspace
from gramian.operators.gram import DenseGram, LazyGram
from gramian.policy import SIZES
from gramian.views.view import ExplicitView, KernelView, View, ViewTable

ALGORITHMS = {
    ("primal", False): "primal eigendecomposition (AC algorithm 1)",
    ("dual", False): "dual eigendecomposition (AC algorithm 2)",
    ("primal", True): "primal Stiefel (AC algorithm 3)",
    ("dual", True): "dual Stiefel (AC algorithm 4)",
}


def training_view(spec: Any, X: Array, weights: Array, kept: Array | None = None) -> View:
    """Training rows behind a kernel, a feature map, or as they are (linear)."""
    if is_feature_map(spec):
        if isinstance(spec, Identity):
            return ExplicitView(np.asarray(X, dtype=np.float64))
        options = {"sample_weight": weights} if isinstance(spec, FeatureMap) else {}
        X = np.array(X)
        fitted = clone(spec).fit(X, **options)
        features = np.asarray(fitted.transform(X), dtype=np.float64)
        return ExplicitView(features, fitted, None if inverts_itself(fitted) else X)
    kernel = as_kernel(spec)
    if isinstance(kernel, Linear):
        return ExplicitView(np.asarray(X, dtype=np.float64))
    X = np.array(X)  # kept by the model: what the caller does to the table later must not reach it
    if isinstance(kernel, Precomputed):
        gram = X if kept is None or X.shape[1] == len(X) else X[:, kept]
        view = KernelView(kernel.resolve(gram), None, DenseGram(np.asarray(gram, dtype=np.float64)))
    else:
        view = _kernel_view(kernel.resolve(X), X)
    if isinstance(view.raw, DenseGram):
        gram = finite_gram(view.raw.matrix, view.kernel)
        if np.ptp(X, axis=0).any():  # where all rows are one the kernel is not to blame
            warn_without_structure(gram)
    return view


def fitted_view(subspace: Subspace, X: Array) -> View:
    """Rows behind the kernel or feature map that a fitted view has."""
    if subspace.takes_kernel_values:
        raise ValueError("calibrate cannot hold out rows of a precomputed kernel. Give a kernel and its inputs.")
    if subspace.kernel is not None:
        return _kernel_view(subspace.kernel, X)
    feature_map = subspace.feature_map
    if feature_map is None:
        return ExplicitView(np.asarray(X, dtype=np.float64))
    features = np.asarray(feature_map.transform(X), dtype=np.float64)
    return ExplicitView(features, feature_map, None if inverts_itself(feature_map) else X)


def inverts_itself(feature_map: Any) -> bool:
    """Whether a feature map has its own way back to the inputs: then no training inputs are kept behind it."""
    return callable(getattr(feature_map, "inverse_transform", None))


def _kernel_view(kernel: Any, X: Array) -> KernelView:
    """The view, its Gram matrix stored where it is small."""
    lazy = LazyGram(kernel, X)
    return KernelView(kernel, X, DenseGram(lazy.to_dense()) if len(X) <= SIZES.stored else lazy)


def choose_space(space: str, table: ViewTable, names: list[Any]) -> tuple[str, str]:
    """The flow chart of AC figure 1."""
    n, width = table.n_rows, sum(table.widths)
    if not table.explicit:
        implicit = [name for name, view in zip(names, table.views) if isinstance(view, KernelView)]
        if space == "primal":
            raise ValueError(
                f"space='primal' needs explicit features, but view {implicit[0]!r} has only a kernel. Use space='dual', or a "
                "feature map (gramian.features.Nystroem, RandomFourier) in its place."
            )
        return "dual", f"view {implicit[0]!r} is known through its kernel only"
    if space != "auto":
        return space, f"{space} as asked"
    if width < n:
        return "primal", f"all maps are explicit, with {width} features for {n} rows"
    return "dual", f"all maps are explicit, but there are {width} features for {n} rows"


def weights_of_views(given: Any, table: ViewTable, names: list[Any]) -> Array:
    """β_v, by which the variance of each view is multiplied: 1, as given, or 1 over that variance ("balanced")."""
    n_views = len(names)
    if given is None:
        return np.ones(n_views)
    if isinstance(given, str):
        check_choice("view_weights", given, ("balanced",))
        safe = np.where(table.traces > 0, table.traces, 1.0)
        return np.where(table.traces > 0, 1.0 / safe, 0.0)
    values: list[Any] = [given.get(name) for name in names] if isinstance(given, Mapping) else list(given)
    if len(values) != n_views or not all(is_real(value) and value > 0 for value in values):
        raise ValueError(
            f"view_weights={given!r} must be None, 'balanced', or one positive number for each of the views {names!r}."
        )
    return np.array(values, dtype=np.float64)


def is_feature_map(spec: Any) -> bool:
    """Whether an object stands for explicit features: gramian's, or any transformer with fit and transform."""
    if isinstance(spec, Kernel | str | type) or spec is None:
        return False
    return isinstance(spec, FeatureMap) or (
        callable(getattr(spec, "fit", None)) and callable(getattr(spec, "transform", None))
    )


class NestedKernels:
    """Parameters of a dict or list of kernels: ``kernel__NAME__length_scale``, or ``kernel__0__length_scale``."""

    kernel: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; kernels of views are reached as ``kernel__NAME__length_scale``, or ``kernel__0__...`` in a list [8].

        Parameters
        ----------
        deep : bool, default=True
            Also those of kernels and feature maps.

        Returns
        -------
        dict

        Examples
        --------
        >>> from gramian import MultiViewRKM
        >>> from gramian.kernels import RBF
        >>> MultiViewRKM(kernel={"a": RBF(2.0)}).get_params()["kernel__a__length_scale"]
        2.0
        """
        params: dict[str, Any] = super().get_params(deep)  # type: ignore[misc]
        if deep:
            for name, kernel in _entries(self.kernel):
                params[f"kernel__{name}"] = kernel
                if hasattr(kernel, "get_params") and not isinstance(kernel, type):
                    params.update({f"kernel__{name}__{key}": value for key, value in kernel.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Any:
        """Set parameters; see `get_params` for the names [8].

        Parameters
        ----------
        **params : keyword arguments
            Names and values.

        Returns
        -------
        MultiViewRKM
            Itself.

        Examples
        --------
        >>> from gramian import MultiViewRKM
        >>> from gramian.kernels import RBF
        >>> model = MultiViewRKM(kernel={"a": RBF(2.0)}).set_params(kernel__a__length_scale=3.0)
        >>> model.kernel["a"].length_scale
        3.0
        """
        if "kernel" in params:
            self.kernel = params.pop("kernel")
        known = {str(name): name for name, _ in _entries(self.kernel)}
        rest: dict[str, Any] = {}
        for key, value in params.items():
            prefix, _, below = key.partition("__")
            view, _, parameter = below.partition("__")
            if prefix != "kernel" or view not in known:
                rest[key] = value
            elif parameter:
                _parametrise(self.kernel, known[view]).set_params(**{parameter: value})
            else:
                self.kernel = _replace(self.kernel, known[view], value)
        super().set_params(**rest)  # type: ignore[misc]
        return self


def kernel_per_view(kernel: Any, names: list[Any]) -> list[Any]:
    """One kernel or feature map per view, in the order of the views."""
    if isinstance(kernel, Mapping):
        missing = [name for name in names if name not in kernel]
        unknown = [name for name in kernel if name not in names]
        if missing or unknown:
            raise ValueError(
                f"kernel is a dict for the views {list(kernel)!r}, but the data have {names!r}. Give one kernel per view."
            )
        return [kernel[name] for name in names]
    if isinstance(kernel, list | tuple):
        if len(kernel) != len(names):
            raise ValueError(
                f"kernel lists {len(kernel)} kernels, but there are {len(names)} views. Give one per view."
            )
        return list(kernel)
    return [kernel] * len(names)


def is_linear(spec: Any) -> bool:
    """Whether the features of a view are its inputs."""
    return isinstance(spec, Identity) if is_feature_map(spec) else isinstance(as_kernel(spec), Linear)


def _entries(kernel: Any) -> list[tuple[Any, Any]]:
    """The entries of a dict or list of kernels; none for a single one."""
    if isinstance(kernel, Mapping):
        return list(kernel.items())
    return list(enumerate(kernel)) if isinstance(kernel, list | tuple) else []


def _parametrise(kernel: Any, name: Any) -> Any:
    found = kernel[name]
    if not hasattr(found, "set_params"):
        raise ValueError(
            f"kernel of view {name!r} is {found!r}, which has no parameters to set. Give a kernel object instead."
        )
    return found


def _replace(kernel: Any, name: Any, value: Any) -> Any:
    if isinstance(kernel, Mapping):
        return {key: value if key == name else old for key, old in kernel.items()}
    return type(kernel)(value if i == name else old for i, old in enumerate(kernel))


# ---------------------------------------------------------------- models that hold a target model


def check_target_params(model: Any, approximations: tuple[str, ...], *, open_units: bool = True) -> None:
    """Check the parameters of a model that holds a target model.

    Parameters
    ----------
    model : estimator
        With n_components, noise_variance, standardize, approximation, n_landmarks, n_folds, tol, max_iter and random_state.
    approximations : tuple of str
        Names that ``approximation`` may have. Feature maps are allowed where there is more than Nystroem.
    open_units : bool, default=True
        Whether ``standardize`` may be "auto".
    """
    check_n_components(model.n_components, rules=())
    if isinstance(model.noise_variance, str):
        check_choice("noise_variance", model.noise_variance, ("ml", "per-view"))
    else:
        check_number("noise_variance", model.noise_variance, 0.0)
    if open_units and isinstance(model.standardize, str):
        check_choice("standardize", model.standardize, ("auto",))
    else:
        check_flag("standardize", model.standardize)
    _check_approximation(model.approximation, approximations)
    if model.n_landmarks is not None:
        check_count("n_landmarks", model.n_landmarks, 1)
    check_folds(model.n_folds)
    check_tolerance(model.tol, model.max_iter)
    check_seed(model.random_state)


def _check_approximation(approximation: Any, names: tuple[str, ...]) -> None:
    if approximation is None:
        return
    maps = "rff" in names
    if isinstance(approximation, str) or not maps:
        check_choice("approximation", approximation, names)
    elif not is_feature_map(approximation):
        listed = ", ".join(map(repr, names))
        raise ValueError(f"approximation={approximation!r} must be None, {listed} or a feature map.")
