"""What models that hold a target model ask of their parameters, checked once for all of them [8]."""

from __future__ import annotations

from typing import Any

from gramian._checks import (
    check_choice,
    check_count,
    check_flag,
    check_n_components,
    check_number,
    check_seed,
    check_tolerance,
)
from gramian.estimators._view_specs import is_feature_map
from gramian.solvers import solvers_for


def check_target_params(model: Any, approximations: tuple[str, ...], *, open_units: bool = True) -> None:
    """Check the parameters of a model that holds a target model.

    Parameters
    ----------
    model : estimator
        With n_components, noise_variance, standardize, approximation, n_landmarks, n_folds, space, solver, tol, max_iter and
        random_state.
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
    if model.n_folds is not None:
        check_count("n_folds", model.n_folds, 2)
    check_choice("space", model.space, ("auto", "primal", "dual"))
    if isinstance(model.solver, str):
        check_choice("solver", model.solver, solvers_for("views"))
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
