"""BayesSearch: hyper-parameters by Bayesian optimisation, as a scikit-learn meta-estimator."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, deviation
from gramian._checks import check_choice, check_count, check_flag, check_number, check_random_state, is_count
from gramian._progress import Progress
from gramian._types import RandomState, Table
from gramian.tuning.backends import BACKENDS, import_optuna
from gramian.tuning.best_model import BestModel, own_score
from gramian.tuning.defaults import default_objective, default_space, moves_the_measure
from gramian.tuning.evaluation import Evaluation, Outcome, is_views, with_seeds
from gramian.tuning.objectives import OBJECTIVES
from gramian.tuning.plan import SearchPlan, make_folds, shape_of
from gramian.tuning.space import Space, build_space, with_params
from gramian.tuning.surrogate import Surrogate
from gramian.tuning.trials import (
    Trial,
    best_index,
    check_identity,
    columns,
    decode_points,
    read_checkpoint,
    write_checkpoint,
)


class BayesSearch(BestModel):
    """Search hyper-parameters with a Gaussian-process surrogate and expected improvement (MM 5.1).

    The score of a setting is its mean over held-out folds. A Gaussian process (Matérn 5/2, one length scale a parameter, noise)
    is conditioned on the trials so far, and the next setting maximises log E[max(0, f(θ) - f_best)]. The first trials are the
    centre of the space and a Sobol sequence. The best setting is fitted again on all rows.

    Parameters
    ----------
    estimator : estimator
        Cloned for every trial; never changed itself.
    space : dict, default=None
        Parameter name -> dimension: a list (categories); ``(low, high)``, two ints meaning an integer range;
        ``("log", low, high)``; ``("log", low, high, d)`` for d values such as a length scale a feature; or
        ``{"range": one of the ranges, "prior": (mean, std), "integer": bool}`` with a Gaussian prior (on a log range the mean
        is in the parameter's unit and the std in natural logarithms). Parameters of a kernel that is itself searched, such as
        ``kernel__degree``, apply where the chosen kernel has them. None: a default space for every estimator of this package.
    scoring : str or callable, default=None
        An objective by name (``"reconstruction"``, ``"log_likelihood"``, ``"kernel_error"``, ``"forecast"``, ``"accuracy"``,
        ``"interval_score"``, ``"denoising"``), a scikit-learn scorer's name, or ``scorer(estimator, X, y)``; always maximised, always on
        held-out rows. None: the estimator's default objective, else its ``score``.
    cv : int, splitter or iterable, default=5
        An int: that many shuffled folds (stratified for classifiers; rolling origins for forecasters).
    n_trials : int, default=50
        Trials in all, those of a checkpoint or of an earlier fit with ``warm_start`` included. A finite space may end sooner.
    n_jobs : int, default=None
        Work done side by side: the trials of the first design, then the folds of each trial. The trials are the same for any number.
    timeout : float, default=None
        Seconds after which no further trial is started.
    backend : {"gp", "optuna"}, default="gp"
    warm_start : bool, default=False
        Go on from the trials of the last fit (to the same data).
    checkpoint : path, default=None
        A JSON file rewritten after every trial; a search that finds its own file goes on from there.
    random_state : int, Generator, RandomState or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    best_params_, best_score_, best_index_, best_estimator_ : the best setting, its score, its trial and the model fitted with it
    trials_ : dict of columns ``number``, ``params``, ``score``, ``std`` (over folds), ``status`` ("complete" or "failed"), ``seconds``
    errors_ : dict from the number of a failed trial to what it said
    space_ : the space that was searched
    objective_ : name of the objective, or the callable
    n_splits_, seed_, refit_time_ : number of folds, the seed in use, seconds of the last fit

    References
    ----------
    [10] docs/theory.md, section 10: choosing by what was not seen.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.datasets import make_regression
    >>> from gramian.tuning.search import BayesSearch
    >>> X, y = make_regression(60, 5, noise=5.0, random_state=0)
    >>> search = BayesSearch(Ridge(), {"alpha": ("log", 1e-4, 1e3)}, n_trials=8, random_state=0).fit(X, y)
    >>> search.best_params_["alpha"] < 10
    True
    >>> len(search.trials_["score"])
    8
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        space: Any = None,
        *,
        scoring: Any = None,
        cv: Any = 5,
        n_trials: int = 50,
        n_jobs: int | None = None,
        timeout: float | None = None,
        backend: str = "gp",
        warm_start: bool = False,
        checkpoint: Any = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.scoring = scoring
        self.cv = cv
        self.n_trials = n_trials
        self.n_jobs = n_jobs
        self.timeout = timeout
        self.backend = backend
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------ fit

    def fit(self, X: Table, y: object = None, **fit_params: Any) -> BayesSearch:
        """Search, then fit the best setting on all rows [10].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), views, or a series for a forecaster
        y : array-like, default=None
            Targets; for a forecaster its exogenous inputs.
        **fit_params
            Handed to the estimator's ``fit``; arrays with one entry per row, such as ``sample_weight``, are cut to the fold.
            ``groups`` goes to the splitter.

        Returns
        -------
        BayesSearch

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import BayesSearch, PPCA
        >>> X = load_iris().data
        >>> search = BayesSearch(PPCA(), {"n_components": (1, 3)}, n_trials=3, cv=2, random_state=0).fit(X)
        >>> sorted(search.best_params_)
        ['n_components']
        """
        budget = self._checked()
        plan = self._plan(X, y, fit_params)
        seed, trials = self._earlier(plan)
        evaluation = plan.evaluation(seed)
        started = time.monotonic()
        try:
            trials = self._run(plan, evaluation, seed, trials, budget)
        except KeyboardInterrupt as interrupt:
            kept: list[Trial] = getattr(interrupt, "trials", trials)
            for name in _BEST:  # of an earlier fit, to which these trials do not belong
                self.__dict__.pop(name, None)
            self._remember(plan, seed, kept)
            self._remember_best(kept)
            raise
        best = best_index(trials)
        if best is None:
            raise _all_failed(trials)
        refitted = time.monotonic()
        model = with_seeds(with_params(self.estimator, trials[best].params), seed if self._is_seeded() else None)
        _fit(model, X, y, plan.fit_params)
        self._remember(plan, seed, trials)
        self._remember_best(trials)
        self.best_estimator_ = model
        self.refit_time_ = time.monotonic() - refitted
        self.search_time_ = refitted - started
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        return self

    def _checked(self) -> float:
        """Check the plain parameters; returns the time budget in seconds."""
        check_count("n_trials", self.n_trials, 1)
        check_flag("warm_start", self.warm_start)
        check_choice("backend", self.backend, BACKENDS)
        check_count("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose)
        if self.n_jobs is not None and (not is_count(self.n_jobs) or self.n_jobs == 0):
            raise ValueError(
                f"n_jobs={self.n_jobs!r} must be None, a positive integer, or a negative one counted from all processors."
            )
        if self.backend == "optuna":
            import_optuna()
        if not hasattr(self.estimator, "fit") or not hasattr(self.estimator, "get_params"):
            raise TypeError(
                f"estimator={self.estimator!r} must be an estimator with fit and get_params, as scikit-learn's are."
            )
        return float("inf") if self.timeout is None else check_number("timeout", self.timeout, 0.0, open_low=True)

    def _is_seeded(self) -> bool:
        return self.random_state is not None

    def _plan(self, X: Table, y: object, fit_params: dict[str, Any]) -> SearchPlan:
        """Everything that the trials share, checked before the first of them."""
        fit_params = {name: value for name, value in fit_params.items() if value is not None}
        groups = fit_params.pop("groups", None)
        seed = int(check_random_state(self.random_state).integers(2**31 - 1))
        if y is None and get_tags(self.estimator).target_tags.required:
            raise ValueError(f"{type(self.estimator).__name__} requires y to be passed, but the target y is None.")
        if not is_views(X):
            X, y = indexable(X, y)
        forecaster = hasattr(self.estimator, "predict_interval")
        folds = make_folds(self.cv, self.estimator, X, y, groups, seed, forecaster)
        shape = shape_of(X, y, folds, is_classifier(self.estimator))
        space = (
            default_space(self.estimator, X, shape) if self.space is None else build_space(self.space, self.estimator)
        )
        if self.space is not None and not space.dimensions:
            raise ValueError(
                "space is empty: there is nothing to search. Name a parameter, or use None for the default space."
            )
        name, objective = self._objective(space)
        return SearchPlan(self.estimator, space, name, objective, X, y, folds, fit_params, seed, self._is_seeded())

    def _objective(self, space: Space) -> tuple[Any, Any]:
        scoring = self.scoring
        if scoring is None:
            scoring = default_objective(self.estimator, space)
            if scoring is None:
                if not hasattr(self.estimator, "score"):
                    raise TypeError(
                        f"scoring=None: {type(self.estimator).__name__} has no default objective and no score. Give scoring."
                    )
                return "score", own_score
        if callable(scoring):
            return scoring, scoring
        if not isinstance(scoring, str) or (scoring not in OBJECTIVES and scoring not in get_scorer_names()):
            raise ValueError(
                f"scoring={scoring!r} is not known. Use one of {', '.join(map(repr, OBJECTIVES))}, a scikit-learn scorer's name, "
                "a callable scorer(estimator, X, y), or None."
            )
        if scoring == "log_likelihood" and moves_the_measure(self.estimator, space):
            raise ValueError(
                'scoring="log_likelihood" cannot compare settings of the kernel (nor, in a kernel mixture, of the noise): their densities '
                'live on different spaces, and the widest kernel wins. Use "reconstruction", or search n_components alone.'
            )
        return scoring, OBJECTIVES[scoring] if scoring in OBJECTIVES else get_scorer(scoring)

    def _earlier(self, plan: SearchPlan) -> tuple[int, list[Trial]]:
        """The seed and the trials to go on from: of the checkpoint, else of the last fit, else none."""
        if self.checkpoint is not None:
            found = read_checkpoint(self.checkpoint, plan.identity)
            if found is not None:
                return found[0], decode_points(found[1], plan.searched)
        if self.warm_start and hasattr(self, "_records"):
            check_identity(
                self._identity,
                plan.identity,
                "warm_start=True: the kept trials were made otherwise",
                "Use warm_start=False to start anew.",
            )
            return self.seed_, list(self._records)
        return plan.seed, []

    def _run(
        self, plan: SearchPlan, evaluation: Evaluation, seed: int, trials: list[Trial], budget: float
    ) -> list[Trial]:
        backend = BACKENDS[self.backend]()
        n_jobs = effective_n_jobs(self.n_jobs)
        space = plan.searched
        limit = min(self.n_trials, space.n_points())
        started = time.monotonic()
        trials = list(trials)
        try:
            with Progress("trials", int(limit), self.verbose) as bar, Parallel(n_jobs=n_jobs) as pool:
                bar.step(len(trials))
                while len(trials) < limit and (not trials or time.monotonic() - started < budget):
                    points = backend.propose(space, trials, int(min(n_jobs, limit - len(trials))), seed, self.n_trials)
                    if not points:
                        break
                    settings = [space.decode(point) for point in points]
                    outcomes = _evaluate(evaluation, settings, pool, n_jobs)
                    for point, params, outcome in zip(points, settings, outcomes):
                        trials.append(_trial(len(trials), point, params, outcome))
                        best = best_index(trials)
                        bar.step(score=trials[-1].score, best=float("nan") if best is None else trials[best].score)
                    if self.checkpoint is not None:
                        write_checkpoint(self.checkpoint, plan.identity, seed, trials)
        except KeyboardInterrupt as interrupt:
            interrupt.trials = trials  # type: ignore[attr-defined]
            raise
        return trials

    def _remember(self, plan: SearchPlan, seed: int, trials: list[Trial]) -> None:
        self._records = list(trials)
        self._identity = plan.identity
        self.trials_ = columns(trials)
        self.errors_ = {trial.number: trial.error for trial in trials if trial.status == "failed"}
        self.space_ = plan.space
        self._searched = plan.searched
        self.objective_ = plan.name
        self.n_splits_ = len(plan.folds)
        self.seed_ = seed

    def _remember_best(self, trials: list[Trial]) -> None:
        """The best trial so far; no model is fitted with it."""
        best = best_index(trials)
        if best is not None:
            self.best_index_ = best
            self.best_params_ = trials[best].params
            self.best_score_ = trials[best].score

    # ------------------------------------------------------------ what the trials say

    def surrogate(self) -> Surrogate:
        """The Gaussian process conditioned on all trials, in the unit coordinates of ``space_``."""
        check_is_fitted(self, "trials_")
        points = np.array([trial.point for trial in self._records])
        return Surrogate.fit(points, np.array([trial.score for trial in self._records]), seed=self.seed_)

    def importance(self) -> dict[str, float]:
        """Share of the surrogate's variation that each searched parameter explains alone (first-order Sobol index)."""
        check_is_fitted(self, "trials_")
        return self.surrogate().main_effects(self._searched, seed=self.seed_)


_BEST = ("best_estimator_", "best_index_", "best_params_", "best_score_", "feature_names_in_")


def _fit(model: BaseEstimator, X: Table, y: object, fit_params: dict[str, Any]) -> None:
    if y is None:
        model.fit(X, **fit_params)
    else:
        model.fit(X, y, **fit_params)


def _evaluate(evaluation: Evaluation, settings: list[dict[str, Any]], pool: Any, n_jobs: int) -> list[Outcome]:
    """The outcome of every setting: several settings side by side, or the folds of a single one where each is a fit of its own."""
    if n_jobs == 1:
        return [evaluation(params) for params in settings]
    if len(settings) == 1 and type(evaluation) is Evaluation:
        return [evaluation.side_by_side(settings[0], pool)]
    outcomes: list[Outcome] = pool(delayed(evaluation)(params) for params in settings)
    return outcomes


def _trial(number: int, point: Array, params: dict[str, Any], outcome: Outcome) -> Trial:
    scores = np.asarray(outcome.scores, dtype=float)
    fine = outcome.error == "" and bool(np.isfinite(scores).all())
    error = outcome.error or ("" if fine else f"the objective returned {scores.tolist()}")
    return Trial(
        number=number,
        point=tuple(float(value) for value in point),
        params={**params, **outcome.settled},
        score=float(scores.mean()) if fine else float("nan"),
        std=float(deviation(scores)) if fine else float("nan"),
        status="complete" if fine else "failed",
        seconds=outcome.seconds,
        settled=outcome.settled,
        error=error,
        error_type=outcome.error_type,
    )


def _all_failed(trials: list[Trial]) -> Exception:
    """The error of a search without a single score, of the kind that every trial met."""
    kinds = {trial.error_type for trial in trials}
    kind = TypeError if kinds == {"TypeError"} else MemoryError if kinds == {"MemoryError"} else ValueError
    return kind(f"All {len(trials)} trials failed. The first said: {trials[0].error}")
