"""Who chooses the next trials: the Gaussian process of this package, or Optuna, by the same call.

A backend keeps no state: what it proposes is a function of the seed, the trial's number and the trials before it. That is
what lets a search go on from its checkpoint exactly as if it had not been interrupted. ``propose(space, trials, count, seed, n_trials)`` gives up to
``count`` points, fewer when the space is exhausted; points that are proposed together depend on no score of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from gramian._arrays import Array
from gramian.tuning.space import Category, Integer, Real, Space
from gramian.tuning.surrogate import Surrogate, is_new, propose
from gramian.tuning.trials import Trial


def first_points(space: Space, count: int, seed: int) -> Array:
    """The centre of the space, then a scrambled Sobol sequence, both through the priors; repeats are left out."""
    if space.width == 0:
        return np.zeros((1, 0))
    log2 = max(1, int(np.ceil(np.log2(4 * count))))  # a spare three quarters, for repeats in small discrete spaces
    sequence = qmc.Sobol(space.width, scramble=True, seed=np.random.default_rng([seed, 1])).random_base2(log2)
    points = space.from_uniform(np.vstack([np.full((1, space.width), 0.5), sequence]))
    _, first = np.unique(np.round(points, 9), axis=0, return_index=True)
    return points[np.sort(first)][:count]


def n_first(space: Space, n_trials: int) -> int:
    """How many trials are made before the surrogate speaks."""
    return min(n_trials, max(5, min(space.width + 3, 12)))


@dataclass(frozen=True)
class GPBackend:
    """Sobol start, whose points may be tried side by side, then a Gaussian process with log expected improvement, one at a time."""

    def propose(self, space: Space, trials: Sequence[Trial], count: int, seed: int, n_trials: int) -> list[Array]:
        number = len(trials)
        start = first_points(space, n_first(space, n_trials), seed)
        if number < len(start):
            return list(start[number : number + count])
        taken = np.array([trial.point for trial in trials]).reshape(number, space.width)
        scores = np.array([trial.score for trial in trials])
        rng = np.random.default_rng([seed, 2, number])
        if not np.isfinite(scores).any():
            return _random_point(space, taken, rng)
        surrogate = Surrogate.fit(taken, scores, seed=int(rng.integers(2**31 - 1)))
        # the weight of the priors fades as trials speak (Hvarfner et al. 2022)
        prior_weight = n_trials / 10.0 / number
        point = propose(space, surrogate, taken, rng, prior_weight)
        return [] if point is None else [point]


def _random_point(space: Space, taken: Array, rng: np.random.Generator) -> list[Array]:
    points = np.unique(space.from_uniform(rng.random((64, space.width))), axis=0)
    points = points[is_new(points, taken)]
    return list(rng.permutation(points)[:1])


@dataclass(frozen=True)
class OptunaBackend:
    """Optuna's tree-structured Parzen estimator; every proposal replays the trials into a fresh in-memory study."""

    def propose(self, space: Space, trials: Sequence[Trial], count: int, seed: int, n_trials: int) -> list[Array]:
        optuna = import_optuna()
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            number = len(trials)
            if space.width == 0:
                return [np.zeros(0)] * (1 - min(1, number))
            sampler = optuna.samplers.TPESampler(
                seed=int(np.random.default_rng([seed, 3, number]).integers(2**31 - 1)),
                n_startup_trials=n_first(space, n_trials),
            )
            study = optuna.create_study(direction="maximize", sampler=sampler)
            laws = self._distributions(optuna, space)
            for trial in trials:
                study.add_trial(self._replayed(optuna, space, laws, trial))
            return [self._point(space, study.ask(laws).params)]
        finally:
            optuna.logging.set_verbosity(level)

    @staticmethod
    def _names(space: Space) -> list[tuple[str, str, int]]:
        """(Optuna's name, ours, coordinate): a vector becomes one parameter an entry."""
        return [
            (name if dimension.width == 1 or isinstance(dimension, Category) else f"{name}[{i}]", name, i)
            for name, dimension in space.dimensions.items()
            for i in range(1 if isinstance(dimension, Category) else dimension.width)
        ]

    def _distributions(self, optuna: Any, space: Space) -> dict[str, Any]:
        laws: dict[str, Any] = {}
        for label, name, _ in self._names(space):
            dimension = space.dimensions[name]
            if isinstance(dimension, Category):
                laws[label] = optuna.distributions.CategoricalDistribution(tuple(range(dimension.width)))
            elif isinstance(dimension, Integer):
                laws[label] = optuna.distributions.IntDistribution(
                    int(dimension.low), int(dimension.high), log=dimension.log
                )
            else:
                laws[label] = optuna.distributions.FloatDistribution(dimension.low, dimension.high, log=dimension.log)
        return laws

    def _replayed(self, optuna: Any, space: Space, laws: dict[str, Any], trial: Trial) -> Any:
        places, point = space.columns(), np.asarray(trial.point)
        values: dict[str, Any] = {}
        for label, name, i in self._names(space):
            dimension = space.dimensions[name]
            unit = point[places[name]]
            if isinstance(dimension, Category):
                values[label] = int(dimension.index(unit))
            else:
                values[label] = np.atleast_1d(dimension.decode(unit))[i].item()
        failed = not np.isfinite(trial.score)
        state = optuna.trial.TrialState.FAIL if failed else optuna.trial.TrialState.COMPLETE
        return optuna.trial.create_trial(
            state=state, params=values, distributions=laws, value=None if failed else trial.score
        )

    def _point(self, space: Space, values: dict[str, Any]) -> Array:
        point = np.empty(space.width)
        places = space.columns()
        for label, name, i in self._names(space):
            dimension = space.dimensions[name]
            if isinstance(dimension, Category):
                point[places[name]] = np.eye(dimension.width)[values[label]]
            else:
                assert isinstance(dimension, Real)
                point[places[name].start + i] = dimension.encode(values[label])[0]
        return space.snap(point)[0]


def import_optuna() -> Any:
    """The optuna module, or an ImportError that names the extra."""
    try:
        import optuna
    except ImportError as error:
        raise ImportError('backend="optuna" needs Optuna. Install the extra: pip install "gramian[optuna]".') from error
    return optuna


BACKENDS: dict[str, Any] = {"gp": GPBackend, "optuna": OptunaBackend}
