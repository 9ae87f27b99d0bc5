"""A second soak: laws that must hold of any table, against plain NumPy and scikit-learn, and of a table that is changed in what must not matter.

Run as ``python -m benchmarks.soak_laws --minutes 60 --seed 1 --write`` (minutes of the clock; ``--write`` adds the row to the page); a case again:
``python -m benchmarks.soak_laws --seed 1 --case NUMBER``. With ``--options`` the options of the estimator are drawn as well, and a second flaw. A case is a :class:`Plan`, which a seed and a number decide: the law, the estimator, sizes from one row and one column on, scales from 1e-150 to 1e150, what is
wrong with the table. A find is shrunk to a small plan with the same words by hypothesis. The first soak (:mod:`benchmarks.soak`) asks only whether
answers are finite; this one whether they are right.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._results import git, note, noted
from benchmarks.promises import is_promised, outcome
from benchmarks.subjects import OURS, Subject
from gramian import PPCA, KernelPPCA, LatentImputer, MultiViewRKM, PPCAMixture, load, save
from gramian.exceptions import NumericalWarning

SECONDS = 60.0
SIZES = (1, 2, 3, 4, 5, 8, 13, 20, 40)
WIDTHS = (1, 2, 3, 4, 6, 9)
SCALES = (0, 0, 0, 0, -3, 3, -9, 9, -60, 60, -150, 150)
OFFSETS = (None, None, None, 0, 3, 6, 8)
FLAWS = (
    "none",
    "none",
    "none",
    "repeats",
    "constant column",
    "wild cell",
    "few values",
    "equal rows",
    "twin columns",
    "holes",
    "many holes",
    "zeros",
)
SECOND_FLAWS = (
    "none",
    "holes",
    "rows of holes",
    "one cell of a column",
    "constant column",
    "twin rows",
    "wild cell",
    "scales",
    "heavy tails",
)
ROBUST = (False, "rows", "cells", "auto")
KERNEL_NAMES = ("rbf", "linear", "laplacian", "cosine", "polynomial", "matern")
OF_TARGETS: dict[str, tuple[Any, ...]] = {
    "kernel": ("auto", *KERNEL_NAMES),
    "noise_variance": ("per-view", "ml"),
    "view_weights": ("balanced", None),
    "standardize": ("auto", True, False),
    "approximation": ("auto", None, "nystroem"),
    "n_folds": (5, None),
}
OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "PPCA": {
        "noise_variance": ("ml", 0.1, 0.0),
        "center": (True, False),
        "solver": ("auto", "em", "krylov", "eigh"),
        "robust": ROBUST,
        "rotation": (None, "varimax"),
    },
    "KernelPPCA": {
        "kernel": KERNEL_NAMES,
        "noise_variance": ("ml", 0.1),
        "center": (True, False),
        "solver": ("auto", "em", "krylov", "eigh"),
        "approximation": (None, "nystroem", "rff"),
        "n_landmarks": (None, 5),
        "preimage": ("auto", "smoother"),
    },
    "PPCAMixture": {
        "n_clusters": (1, 2, 3),
        "noise": ("separate", "shared"),
        "init": ("kmeans", "random"),
        "n_init": (1, 2),
        "standardize": (False, True),
        "robust": ROBUST,
    },
    "KernelPPCAMixture": {
        "n_clusters": (1, 2, 3),
        "kernel": ("auto", *KERNEL_NAMES),
        "noise_variance": (0.01, 0.3),
        "standardize": (False, True),
        "approximation": (None, "nystroem"),
        "n_landmarks": (None, 4),
    },
    "KernelPPCAClassifier": {
        "kernel": ("auto", *KERNEL_NAMES),
        "noise_variance": ("auto", 0.1),
        "n_clusters": (1, 2),
        "standardize": ("auto", True, False),
        "n_folds": (5, None),
    },
    "MultiViewRKM": {
        "kernel": ("linear", "rbf", "auto"),
        "noise_variance": ("per-view", "ml", 0.1),
        "rotate": (True, False),
        "n_folds": (5, None),
        "robust": ROBUST,
    },
    "RKMRegressor": OF_TARGETS,
    "RKMClassifier": OF_TARGETS,
    "RKMForecaster": {
        "season": ("auto", None, 2),
        "difference": ("auto", 0, 1),
        "kernel": ("auto", "linear", "rbf"),
        "strategy": ("recursive", "direct"),
        "horizon": (None, 3),
    },
    "LatentImputer": {
        "estimator": (None, PPCA(1), KernelPPCA(1, random_state=0), PPCAMixture(2, 1, random_state=0)),
        "standardize": ("auto", True, False),
        "robust": ("auto", "cells", "rows", False),
        "bounds": ("auto", None),
        "margins": ("auto", None),
        "add_indicator": (False, True),
        "keep_empty_features": (False, True),
    },
    "LatentOutlierDetector": {
        "estimator": (None, PPCA(1), KernelPPCA(1, random_state=0), PPCAMixture(2, 1, random_state=0)),
        "standardize": ("auto", True, False),
        "robust": ("auto", "cells", "rows", False),
        "contamination": (0.1, 0.01),
    },
    "DynamicPPCA": {"order": (1, 2), "standardize": (True, False)},
}
"""What ``--options`` draws from, beside the defaults."""
Answer = dict[str, Any]
COMPARED: Counter[str] = Counter()
"""How many answers were compared, by what: the rest of the cases were refused in words, or are no matter of the law."""


class WrongError(AssertionError):
    """A law does not hold."""


@dataclass(frozen=True, order=True)
class Plan:
    """One case: all that is drawn, in numbers and words, so that it can be written down and made smaller."""

    law: str
    subject: str
    n: int
    d: int
    q: int
    scale: int
    offset: int | None
    flaw: str
    seed: int
    options: int = 0

    @classmethod
    def of(cls, seed: int, number: int, options: bool = False) -> Plan:
        """The plan of that number; with ``options`` those of the estimator, and a second flaw, follow from a seed too."""
        rng = np.random.default_rng([seed, number])
        laws = WITH_OPTIONS if options else tuple(LAWS)
        law = laws[number % len(laws)]
        extreme = rng.random() < 0.4  # the others are tables that most laws can be asked about
        return cls(
            law,
            str(rng.choice(LAWS[law].subjects)),
            int(rng.choice(SIZES if extreme else SIZES[-4:])),
            int(rng.choice(WIDTHS if extreme else WIDTHS[2:])),
            int(rng.integers(1, 4)),
            int(rng.choice(SCALES if extreme else SCALES[:8])),
            OFFSETS[int(rng.integers(len(OFFSETS) if extreme else 5))],
            str(rng.choice(FLAWS)),
            int(rng.integers(1000)),
            int(rng.integers(1, 10**6)) if options else 0,
        )

    def rows(self) -> Any:
        """The table."""
        rng = np.random.default_rng(self.seed)
        n, d = self.n, self.d
        X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.3 * rng.standard_normal((n, d))
        if self.flaw == "repeats":
            X = X[rng.integers(0, n, n)]
        elif self.flaw == "constant column":
            X[:, 0] = 1.5
        elif self.flaw == "wild cell":
            X[0, -1] = 1e9
        elif self.flaw == "few values":
            X = np.round(X)
        elif self.flaw == "equal rows":
            X[:] = X[0]
        elif self.flaw == "twin columns":
            X[:, -1] = X[:, 0]
        elif self.flaw == "zeros":
            X[:] = 0.0
        if self.offset is not None:
            X = X + 10.0**self.offset
        X = X * 10.0**self.scale
        if "holes" in self.flaw:
            X[rng.random(X.shape) < (0.15 if self.flaw == "holes" else 0.6)] = np.nan
        return X if self.options == 0 else self._flawed_again(X)

    def _flawed_again(self, X: Any) -> Any:
        """The table with a second flaw, or none."""
        rng = np.random.default_rng([self.options, 1])
        n, d = X.shape
        second, j = str(rng.choice(SECOND_FLAWS)), int(rng.integers(d))
        if second == "holes":
            X[rng.random(X.shape) < 0.2] = np.nan
        elif second == "rows of holes":
            X[rng.random(n) < 0.3] = np.nan
        elif second == "one cell of a column":
            X[1:, j] = np.nan
        elif second == "constant column":
            X[:, j] = X[0, 0]
        elif second == "twin rows":
            X[n // 2 :] = X[: n - n // 2]
        elif second == "wild cell":
            X[int(rng.integers(n)), j] *= 1e7
        elif second == "scales":
            X = X * 10.0 ** rng.integers(-6, 7, d)
        elif second == "heavy tails":
            X = X * np.exp(2 * rng.standard_normal(X.shape))
        return X

    def drawn_options(self) -> dict[str, Any]:
        """Options of the estimator beside its defaults."""
        rng = np.random.default_rng([self.options, 2])
        every = OPTIONS.get(self.subject, {}) if self.options else {}
        return {name: values[int(rng.integers(len(values)))] for name, values in every.items() if rng.random() < 0.4}

    def target(self) -> Any:
        """A target for the rows of the estimator."""
        rng = np.random.default_rng([self.seed, 1])
        kind = OURS[self.subject].target
        return None if not kind else np.arange(self.n) % 2 if kind == "class" else rng.standard_normal(self.n)

    @property
    def about(self) -> Subject:
        """The estimator."""
        return OURS[self.subject]

    def fitted(self, X: Any = None, y: Any = None, **more: Any) -> Any:
        """A model of the rows."""
        known = self.about.built().get_params()
        options = {"n_components": self.q} if "n_components" in known else {}
        return self.about.fitted(
            self.rows() if X is None else X,
            self.target() if y is None else y,
            **{**self.drawn_options(), **options, **more},
        )


# ---------------------------------------------------------------- comparing


def close(found: Any, wanted: Any, words: str, tolerance: float = 1e-7, unit: float | None = None) -> None:
    """Refuse numbers that are not equal, in units of the largest that is wanted."""
    found, wanted = np.asarray(found, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    if found.shape != wanted.shape:
        raise WrongError(f"{words}: shape {found.shape} for {wanted.shape}")
    COMPARED[words.partition(":")[0]] += 1
    unit = float(np.abs(wanted).max(initial=0.0)) if unit is None else unit
    worst = float(np.abs(found - wanted).max(initial=0.0))
    if not worst <= tolerance * unit:
        raise WrongError(f"{words}: off by {worst / unit if unit else worst:.1g}")


def heard(work: Callable[[], Any]) -> Any:
    """What ``work`` gives, with warnings of few digits taken as "do not compare": None."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = work()
    for one in said:
        if not is_promised(one):
            raise WrongError(f"a warning: {one.category.__name__}: {one.message}")
    return None if any(issubclass(one.category, NumericalWarning) for one in said) else found


def pca(X: Any, q: int) -> tuple[Any, Any, Any, float] | None:
    """Mean, W and the variances of PPCA by an eigendecomposition; None where q cuts through equal eigenvalues."""
    n, d = X.shape
    mean = X.mean(axis=0)
    values, vectors = np.linalg.eigh((X - mean).T @ (X - mean) / n)
    values, vectors = values[::-1], vectors[:, ::-1]
    if q >= min(n - 1, d) or values[q - 1] - values[q] < 1e-5 * values[0] or values[q:].mean() < 1e-10 * values[0]:
        return None
    noise = float(values[q:].mean())
    return mean, vectors[:, :q] * np.sqrt(values[:q] - noise), values, noise


def log_normal(X: Any, mean: Any, covariance: Any) -> Any:
    """log N(x; mean, covariance) of rows, of their seen cells where some are missing."""
    answers = []
    for x in X:
        seen = ~np.isnan(x)
        C, r = covariance[np.ix_(seen, seen)], (x - mean)[seen]
        answers.append(
            -0.5 * (seen.sum() * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + r @ np.linalg.solve(C, r))
            if seen.any()
            else 0.0
        )
    return np.array(answers)


def plain(plan: Plan) -> bool:
    """Whether oracles in plain NumPy have the digits for a table like that."""
    return (
        plan.flaw in ("none", "few values", "holes", "many holes", "repeats")
        and (plan.offset or 0) <= 3
        and abs(plan.scale) <= 60
    )


# ---------------------------------------------------------------- laws against oracles


def by_eigenvectors(plan: Plan) -> None:
    """PPCA has the mean, covariance and log-likelihood of an eigendecomposition."""
    X = plan.rows()
    found = pca(X, plan.q) if plain(plan) and not np.isnan(X).any() else None
    model = plan.fitted(X)
    if found is None or not np.ptp(X, axis=0).any():  # of one row there are no axes
        return
    mean, W, values, noise = found
    C = W @ W.T + noise * np.eye(plan.d)
    close(model.mean_, mean, "mean", unit=float(np.abs(X).max()))
    close(model.get_covariance(), C, "covariance")
    close(model.explained_variance_, values[: plan.q], "eigenvalues")
    close(model.score_samples(X), log_normal(X, mean, C), "log-likelihood", 1e-6)


def by_scikit_learn(plan: Plan) -> None:
    """KernelPPCA has the eigenvalues of scikit-learn's KernelPCA, and its scores up to signs."""
    from sklearn.decomposition import KernelPCA

    X = plan.rows()
    model = plan.fitted(X, kernel="rbf")
    if np.isnan(X).any() or len(np.unique(X, axis=0)) < plan.q + 2 or not plain(plan):
        return
    peer = KernelPCA(plan.q, kernel="rbf", gamma=0.5 / float(model.kernel_.length_scale) ** 2).fit(X)
    eigenvalues = peer.eigenvalues_ / plan.n
    if len(model.explained_variance_) < plan.q or eigenvalues[-1] < 1e-6 * eigenvalues[0]:
        return
    close(model.explained_variance_, eigenvalues, "eigenvalues")
    if plan.q == 1 or np.diff(-eigenvalues).min() > 1e-3 * eigenvalues[0]:
        close(np.abs(model.scores(X)), np.abs(peer.transform(X)), "scores", 1e-5)


def by_conditioning(plan: Plan) -> None:
    """What PPCA fills is the mean of the law given the seen cells; its likelihood is that of the seen cells."""
    X = plan.rows()
    model = plan.fitted(X)
    if not plain(plan) or plan.q >= min(plan.n - 1, plan.d) or model.noise_variance_ < 1e-9 * np.nanmax(np.abs(X)) ** 2:
        return
    holed = np.where(np.random.default_rng(plan.seed).random(X.shape) < 0.3, np.nan, X)
    C, mean = model.get_covariance(), model.mean_
    filled = holed.copy()
    for x in filled:
        seen = ~np.isnan(x)
        if seen.any():
            x[~seen] = mean[~seen] + C[np.ix_(~seen, seen)] @ np.linalg.solve(C[np.ix_(seen, seen)], (x - mean)[seen])
        else:
            x[:] = mean
    close(model.impute(holed), filled, "filled cells", unit=float(np.abs(filled).max()))
    close(model.score_samples(holed), log_normal(holed, mean, C), "log-likelihood of seen cells", 1e-6)


def by_clusters(plan: Plan) -> None:
    """The density of a mixture is that of its Gaussians, and responsibilities follow."""
    X = plan.rows()
    model = PPCAMixture(2, min(plan.q, max(1, plan.d - 1)), random_state=0, standardize=False).fit(X)
    if np.isnan(X).any() or not plain(plan) or min(model.noise_variances_) < 1e-8 * np.abs(X).max() ** 2:
        return
    logs = np.column_stack(
        [
            np.log(w) + log_normal(X, m, W @ W.T + s * np.eye(plan.d))
            for w, m, W, s in zip(model.weights_, model.means_, model.loadings_, model.noise_variances_)
        ]
    )
    top = logs.max(axis=1)
    total = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
    close(model.score_samples(X), total, "density of a mixture", 1e-6)
    close(model.predict_proba(X), np.exp(logs - total[:, None]), "responsibilities", 1e-5)


def primal_is_dual(plan: Plan) -> None:
    """KernelPPCA of a linear kernel is PPCA."""
    X = plan.rows()
    primal, dual = (
        heard(lambda: PPCA(plan.q).fit(X)),
        heard(lambda: KernelPPCA(plan.q, kernel="linear", noise_dim=plan.d).fit(X)),
    )
    if primal is None or dual is None or np.isnan(X).any() or (pca(X, plan.q) if plain(plan) else None) is None:
        return
    close(dual.explained_variance_, primal.explained_variance_, "eigenvalues of the dual")
    close(dual.reconstruct(X), primal.reconstruct(X), "reconstructions", 1e-6, float(np.abs(X).max()))
    gap = -np.diff(primal.explained_variance_)
    if not gap.size or gap.min() > 1e-3 * primal.explained_variance_[0]:
        close(np.abs(dual.transform(X)), np.abs(primal.transform(X)), "latents of the dual", 1e-5)


def seen_cells_stand(plan: Plan) -> None:
    """An imputer leaves what is seen, fills a column of one value with it, and leaves no hole."""
    X = plan.rows()
    hidden = np.random.default_rng(plan.seed).random(X.shape) < 0.2
    X[hidden] = np.nan
    if np.isnan(X).all(axis=0).any():
        return
    model: Any = {
        "LatentImputer": lambda: LatentImputer(PPCA(1, random_state=0), keep_codes=CODES),
        "PPCA": lambda: PPCA(1, random_state=0),
        "KernelPPCA": lambda: KernelPPCA(1, random_state=0),
        "PPCAMixture": lambda: PPCAMixture(2, 1, random_state=0),
        "MultiViewRKM": lambda: MultiViewRKM(1, views={"a": [0], "b": list(range(1, plan.d))}, random_state=0),
    }[plan.subject]()
    if plan.subject == "MultiViewRKM" and plan.d < 2:
        return
    model.fit(X)
    given = X.copy()
    filled = model.transform(X) if plan.subject == "LatentImputer" else model.impute(X)
    filled = np.hstack(filled) if isinstance(filled, list) else np.asarray(filled)
    seen = ~np.isnan(X)
    COMPARED["seen cells"] += 1
    if not np.array_equal(X, given, equal_nan=True):
        raise WrongError("the table that was given is changed")
    if not np.array_equal(filled[seen], X[seen]):
        raise WrongError("a seen cell is changed")
    if not np.isfinite(filled).all():
        raise WrongError("a cell is not filled")
    for column, known, out in zip(X.T, seen.T, filled.T):
        if known.any() and np.ptp(column[known]) == 0 and not (out == column[known][0]).all():
            raise WrongError("a column of one value is filled with others")


# ---------------------------------------------------------------- laws about what must not matter


def vague(plan: Plan, **options: Any) -> bool:
    """Whether so few rows leave many models of nearly one likelihood, or nothing but rounding off the subspace: the last digits are chance."""
    q = options.get("n_components", plan.q)
    return q >= min(plan.n - 1, plan.d) or plan.n < 4 * q


def asked(plan: Plan, model: Any, X: Any) -> Answer:
    """What the methods of the estimator say about rows."""
    found = {}
    for method in plan.about.methods:
        answer = model.predict(3) if plan.subject == "RKMForecaster" else getattr(model, method)(X)
        found[method] = np.hstack(answer) if isinstance(answer, list) else np.asarray(answer)
    return found


def same(found: Answer, wanted: Answer, words: str, tolerance: float = 1e-9) -> None:
    """Two sets of answers are equal: text and classes exactly, numbers to the tolerance."""
    for method, answer in wanted.items():
        if answer.dtype.kind in "fc":
            close(found[method], answer, f"{words}: {method}", tolerance)
        elif not np.array_equal(found[method], answer):
            raise WrongError(f"{words}: {method} differs")


def cuts(plan: Plan) -> None:
    """Rows one at a time are answered as all of them together."""
    X = plan.rows()
    model = heard(lambda: plan.fitted(X))
    if model is None or plan.q >= min(plan.n - 1, plan.d):
        return
    # of rows 1e9 deviations away densities are 1e19 nats apart, and the digits of their differences are none
    middle = np.nanmean(X, axis=0) if (plan.offset or 0) > 6 else 0.0
    new = np.vstack([X, middle + (X[::-1] - middle) * 1.7, middle + (X[:1] - middle) * 3.0])
    whole = asked(plan, model, new)
    if plan.subject == "KernelPPCA":
        del whole["reconstruct"]  # noise that all rows of a call share is seen by the call (docs/kernel_ppca.md)
    if {"predict_proba", "decision_function"} & whole.keys():
        del whole["predict"]  # of ties; what it follows from is compared
    parts = [asked(plan, model, new[i : i + 1]) for i in range(len(new))]
    joined = {method: np.concatenate([part[method] for part in parts]) for method in whole}
    same(joined, whole, "one row at a time", max(1e-9, float(np.finfo(float).eps) * signal_over_noise(model)))


def signal_over_noise(model: Any) -> float:
    """How many times its (least) noise the largest variance of a model is: so many times rounding is in its latents."""
    noises = getattr(model, "noise_variance_", getattr(model, "noise_variances_", 0.0))
    if isinstance(model, MultiViewRKM):
        noises = 1.0  # its variances are in units of the noises
    clusters = getattr(model, "loadings_", ()) if isinstance(model, PPCAMixture) else ()
    variances = [np.square(W).sum(axis=0) for W in clusters] or [getattr(model, "explained_variance_", np.zeros(0))]
    noise, largest = float(np.min(noises)), max(float(np.max(of, initial=0.0)) for of in variances)
    return largest / noise if noise > 0 else 0.0


def orders(plan: Plan) -> None:
    """A second call gives the same bits; so does a file; so does a second fit; nothing that was given is changed."""
    X = plan.rows()
    given = X.copy()
    model = plan.fitted(X)
    first = asked(plan, model, X)
    same(asked(plan, model, X), first, "a second call", 0.0)
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "m")
        same(asked(plan, load(Path(folder) / "m"), X), first, "a loaded model", 0.0)
    if plan.about.built().get_params().get("random_state", 0) is not None:
        same(asked(plan, plan.fitted(X), X), first, "a second fit", 0.0)
    if not np.array_equal(X, given, equal_nan=True):
        raise WrongError("the table that was given is changed")


def containers(plan: Plan) -> None:
    """The container does not matter: frames, Arrow, masks, byte orders, strides, files in memory."""
    X = plan.rows()
    model = heard(lambda: plan.fitted(X))
    if model is None or vague(plan):
        return
    wanted = asked(plan, model, X)
    for name, held in _containers(X):
        if plan.subject in ("RKMForecaster", "DynamicPPCA") and name not in (
            "big-endian",
            "strided",
            "read-only",
            "Fortran order",
        ):
            continue
        same(asked(plan, plan.fitted(held), held), wanted, name)


def _containers(X: Any) -> Iterator[tuple[str, Any]]:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    names = [f"c{j}" for j in range(X.shape[1])]
    yield "big-endian", X.astype(">f8")
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, ::3] = X
    yield "strided", wide[::2, ::3]
    frozen = X.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen
    yield "Fortran order", np.asfortranarray(X)
    yield "pandas", pd.DataFrame(X, columns=names)
    yield "pandas nullable", pd.DataFrame(X, columns=names).convert_dtypes(convert_integer=False).astype("Float64")
    yield "polars", pl.DataFrame(X, schema=names, orient="row")
    yield "pyarrow", pa.table({name: pa.array(column, from_pandas=True) for name, column in zip(names, X.T)})
    yield "list", X.tolist()
    yield "masked", np.ma.masked_invalid(X)
    yield "objects", np.where(np.isnan(X), None, X.astype(object))  # type: ignore[call-overload]
    yield "pandas of Arrow", pd.DataFrame(X, columns=names).astype("double[pyarrow]")
    yield "polars nulls", pl.DataFrame(X, schema=names, orient="row").fill_nan(None)
    with tempfile.TemporaryDirectory() as folder:
        mapped = np.memmap(Path(folder) / "m", dtype=np.float64, mode="w+", shape=X.shape)
        mapped[:] = X
        yield "memory-mapped", mapped


CODES = [-1, -9, -99, -999]
"""What stands for a missing value in one unit, and is a number in another."""
GIVEN: dict[str, dict[str, Any]] = {
    "KernelPPCAClassifier": {"kernel": "rbf", "n_components": 2, "noise_variance": 0.1, "n_folds": None},
    "MultiViewRKM": {"noise_variance": "ml", "n_folds": None},
    "RKMRegressor": {"kernel": "rbf", "n_components": 3, "n_folds": None},
    "RKMClassifier": {"kernel": "rbf", "n_components": 3, "n_folds": None},
    "LatentImputer": {"estimator": PPCA(1, random_state=0), "keep_codes": CODES},
    "LatentOutlierDetector": {"estimator": PPCA(1), "n_folds": None},
}
"""What is drawn by the content of rows (folds), and so differs with their unit, given."""


def units(plan: Plan) -> None:
    """A power of two as unit changes no answer without a unit."""
    X = plan.rows()
    options = GIVEN.get(plan.subject, {})
    if plan.about.target and np.isnan(X).any():
        return  # how many latents the law of inputs has is found on folds
    if plan.subject == "KernelPPCAMixture" and np.isnan(X).any():
        return  # what a hole may hold is drawn by the content of the row
    model, scaled = heard(lambda: plan.fitted(X, **options)), heard(lambda: plan.fitted(X * 2.0**20, **options))
    if model is None or scaled is None:
        return
    for method in {"transform", "predict", "predict_proba", "mahalanobis"} & set(plan.about.methods):
        wanted, found = getattr(model, method)(X), getattr(scaled, method)(X * 2.0**20)
        wanted, found = (np.hstack(part) if isinstance(part, list) else np.asarray(part) for part in (wanted, found))
        if plan.subject == "LatentImputer":
            found = found / 2.0**20
        if wanted.dtype.kind == "f":
            close(found, wanted, f"another unit: {method}", 1e-6)
        elif not np.array_equal(wanted, found):
            raise WrongError(f"another unit: {method} differs")


def idle_columns(plan: Plan) -> None:
    """A column of zeros changes nothing."""
    X = plan.rows()
    wider = np.column_stack([X, np.zeros(len(X))])
    model, other = heard(lambda: plan.fitted(X)), heard(lambda: plan.fitted(wider))
    if model is None or other is None or not plain(plan) or np.isnan(X).any():
        return
    if plan.subject == "PPCA":
        if (pca(X, plan.q) or (0, 0, 0, 0))[3] == 0:
            return
        close(other.explained_variance_, model.explained_variance_, "an idle column: eigenvalues", 1e-6)
        close(other.components_[:, -1], np.zeros(len(other.components_)), "an idle column: its loading", unit=1e-9)
        return
    close(other.transform(wider), model.transform(X), "an idle column: latents", 1e-6)


def copies(plan: Plan) -> None:
    """Weights are rows given as often, and none are rows left out."""
    X = plan.rows()
    weighed = np.random.default_rng(plan.seed).integers(0, 4, len(X)).astype(float)
    weighed[: min(len(X), plan.q + 2)] += 1.0
    twice = np.repeat(X, weighed.astype(int), axis=0)
    if plan.subject == "PPCA":
        a = heard(lambda: PPCA(plan.q, random_state=0).fit(twice))
        b = heard(lambda: PPCA(plan.q, random_state=0).fit(X, sample_weight=weighed))
    else:
        a = heard(lambda: KernelPPCA(plan.q, random_state=0, kernel="rbf").fit(twice))
        b = heard(lambda: KernelPPCA(plan.q, random_state=0, kernel="rbf").fit(X, sample_weight=weighed))
    if a is None or b is None or not plain(plan):
        return
    close(b.explained_variance_, a.explained_variance_, "weights: eigenvalues", 1e-6)
    close(
        b.noise_variance_,
        a.noise_variance_,
        "weights: noise",
        1e-6,
        float(a.explained_variance_.max(initial=0.0)) or None,
    )


def batches(plan: Plan) -> None:
    """A table in pieces gives the model of the whole, however it is cut."""
    X, y = plan.rows(), plan.target()
    if plan.n < 4 or vague(plan) or (plan.offset or 0) > 6:
        return
    known = plan.about.built().get_params()
    more: dict[str, Any] = {"approximation": "nystroem", "n_landmarks": 5} if "approximation" in known else {}

    def fit(*edges: int) -> Any:
        pieces = [slice(a, b) for a, b in zip((0, *edges), (*edges, plan.n))]
        source = [X[piece] if y is None else (X[piece], y[piece]) for piece in pieces]
        options = {"n_components": plan.q} if "n_components" in known else {}
        return plan.about.built(**{**plan.drawn_options(), **options, **more}).fit_batches(source)

    first = heard(lambda: fit(plan.n // 2))
    second = heard(lambda: fit(1, 3))
    if first is None or second is None:
        return
    same(asked(plan, second, X), asked(plan, first, X), "other cuts of batches")


def row_order(plan: Plan) -> None:
    """The order of rows changes no answer."""
    X, y = plan.rows(), plan.target()
    order = np.random.default_rng(plan.seed).permutation(plan.n)
    model = heard(lambda: plan.fitted(X, y))
    other = heard(lambda: plan.fitted(X[order], None if y is None else y[order]))
    if model is None or other is None or vague(plan) or (plan.offset or 0) > 6:
        return
    found, wanted = asked(plan, other, X), asked(plan, model, X)
    if {"predict_proba", "decision_function"} & wanted.keys():
        del wanted["predict"]  # of ties
    if plan.subject == "KernelPPCA":
        del wanted["reconstruct"]  # which way back is chosen among near ties
    same(found, wanted, "another order of rows", 1e-6)


def column_order(plan: Plan) -> None:
    """The order of columns changes no answer of a model without draws by content."""
    X, y = plan.rows(), plan.target()
    order = np.random.default_rng(plan.seed).permutation(plan.d)
    options = GIVEN.get(plan.subject, {})
    if np.isnan(X).any():
        return  # what EM leaves to do is another little
    model = heard(lambda: plan.fitted(X, y, **options))
    other = heard(lambda: plan.fitted(X[:, order], y, **options))
    if model is None or other is None or vague(plan, **options) or (plan.offset or 0) > 6:
        return
    for method in ("score_samples", "residual", "predict_proba"):
        if method in plan.about.methods and not (
            method != "predict_proba" and getattr(model, "noise_variance_", 1.0) == 0.0
        ):
            wanted = getattr(model, method)(X)
            close(getattr(other, method)(X[:, order]), wanted, f"another order of columns: {method}", 1e-6)


def no_rows(plan: Plan) -> None:
    """No rows are answered with no rows, or in words."""
    X = plan.rows()
    model = plan.fitted(X)
    for method in plan.about.methods:
        try:
            answer = getattr(model, method)(X[:0])
        except ValueError as refused:
            if "0 sample" not in str(refused) and "zero-size" in str(refused):
                raise WrongError(f"no rows: {method}: {refused}") from refused
            continue
        for part in answer if isinstance(answer, list | tuple) else [answer]:
            COMPARED["no rows"] += 1
            if len(part) != 0:
                raise WrongError(f"no rows: {method} has {len(part)} of them")


def far_rows(plan: Plan) -> None:
    """Rows far beyond the data, alone and with a hole, are answered with finite numbers, or in words."""
    X = plan.rows()
    model = plan.fitted(X)
    rng = np.random.default_rng(plan.seed)
    with np.errstate(over="ignore"):
        far = X * 10.0 ** int(rng.choice([2, 9, 60, 140, 300 - max(plan.scale, 0)]))
    far = np.where(np.isfinite(far) | np.isnan(X), far, np.finfo(float).max)
    if plan.about.holes and rng.random() < 0.5:
        far[:, 0] = np.nan
    methods = [*plan.about.methods, *(name for name in ("anomaly", "posterior", "interval") if hasattr(model, name))]
    for method in methods:
        try:
            answer = getattr(model, method)(far)
        except (ValueError, TypeError) as refused:
            if isinstance(refused, np.linalg.LinAlgError) or not str(refused):
                raise
            continue
        parts = answer if isinstance(answer, list | tuple) else [answer]
        held = [one for part in parts for one in (vars(part).values() if hasattr(part, "__dict__") else [part])]
        for one in held:
            COMPARED["far rows"] += 1
            numbers = np.asarray(one)
            if numbers.dtype.kind == "f" and np.isnan(numbers).any():
                raise WrongError(f"far rows: {method} has NaN")


def single_precision(plan: Plan) -> None:
    """float32 is answered in float32, with its digits."""
    X = plan.rows()
    model = heard(lambda: plan.fitted(X))
    if model is None or vague(plan) or not plain(plan) or abs(plan.scale) > 3 or np.isnan(X).any():
        return
    rounded = X.astype(np.float32)
    other = heard(lambda: plan.fitted(rounded))
    if other is None:
        return
    options = ("transform",) if plan.subject != "KernelPPCA" else ("score_samples",)
    for method in options:
        if method in plan.about.methods:
            found, wanted = getattr(other, method)(rounded), getattr(model, method)(X)
            if np.asarray(found).dtype != np.float32 and method == "transform":
                raise WrongError(f"float32: {method} is {np.asarray(found).dtype}")
            if plan.subject != "LatentImputer":
                found, wanted = np.abs(found), np.abs(wanted)
            if plan.subject in ("PPCA", "KernelPPCA"):
                close(found, wanted, f"float32: {method}", 1e-2)


def narrower(plan: Plan) -> None:
    """No posterior is wider than the prior, and every covariance is one."""
    X = plan.rows()
    model = plan.fitted(X)
    for rows in (X, np.where(np.random.default_rng(plan.seed).random(X.shape) < 0.3, np.nan, X)):
        covariances = np.atleast_3d(np.asarray(model.posterior(rows).covariance)).reshape(
            -1, model.n_components_, model.n_components_
        )
        if not covariances.size:
            continue
        values = np.linalg.eigvalsh(covariances.astype(np.float64))
        COMPARED["posteriors"] += 1
        if values.max() > 1.0 or values.min() < -1e-12:
            raise WrongError(f"posterior: eigenvalues from {values.min():.3g} to {values.max():.17g}")


@dataclass(frozen=True)
class Law:
    """A law and the estimators it is about."""

    check: Callable[[Plan], None]
    subjects: tuple[str, ...]


ALL = tuple(OURS)
ROWS = tuple(name for name in OURS if name not in ("RKMForecaster", "DynamicPPCA"))
LAWS = {
    "eigenvectors": Law(by_eigenvectors, ("PPCA",)),
    "scikit-learn": Law(by_scikit_learn, ("KernelPPCA",)),
    "conditioning": Law(by_conditioning, ("PPCA",)),
    "clusters": Law(by_clusters, ("PPCAMixture",)),
    "primal is dual": Law(primal_is_dual, ("PPCA",)),
    "seen cells": Law(seen_cells_stand, ("LatentImputer", "PPCA", "KernelPPCA", "PPCAMixture", "MultiViewRKM")),
    "cuts": Law(cuts, ROWS),
    "again": Law(orders, ALL),
    "containers": Law(containers, ALL),
    "units": Law(units, ROWS),
    "idle columns": Law(idle_columns, ("PPCA", "KernelPPCA")),
    "copies": Law(copies, ("PPCA", "KernelPPCA")),
    "row order": Law(row_order, ROWS),
    "column order": Law(column_order, ("PPCA", "KernelPPCA", "KernelPPCAClassifier", "RKMClassifier")),
    "no rows": Law(no_rows, ROWS),
    "far rows": Law(far_rows, ROWS),
    "float32": Law(single_precision, ("PPCA", "KernelPPCA", "PPCAMixture", "MultiViewRKM", "LatentImputer")),
    "posterior": Law(narrower, ("PPCA", "KernelPPCA")),
    "batches": Law(
        batches,
        ("PPCA", "KernelPPCA", "PPCAMixture", "KernelPPCAMixture", "MultiViewRKM", "RKMRegressor", "LatentImputer"),
    ),
}
WITH_OPTIONS = ("cuts", "again", "containers", "row order", "no rows", "far rows", "posterior", "batches")
"""The laws that hold whatever the options are."""


# ---------------------------------------------------------------- running


def tried(plan: Plan) -> str:
    """``""`` where the law holds or the table is refused in words; else what is wrong."""

    def work() -> list[Any]:
        LAWS[plan.law].check(plan)
        return []

    found = outcome(work, SECONDS)
    return "" if found.promised else f"{found.kind}: {found.words}"


def cause(words: str) -> str:
    """Words without their numbers, to tell causes apart."""
    return re.sub(r"-?\d[\d.e+-]*", "#", words)[:90]


def shrink(plan: Plan, words: str) -> Plan:
    """A smaller plan that goes wrong in the same words, by hypothesis; the same plan where there is none."""
    from hypothesis import HealthCheck, Phase, find, settings
    from hypothesis import strategies as st
    from hypothesis.errors import NoSuchExample

    strategy = st.builds(
        Plan,
        law=st.just(plan.law),
        subject=st.just(plan.subject),
        n=st.sampled_from([n for n in SIZES if n <= plan.n]),
        d=st.sampled_from([d for d in WIDTHS if d <= plan.d]),
        q=st.integers(1, plan.q),
        scale=st.sampled_from(sorted({0, plan.scale}, key=abs)),
        offset=st.sampled_from([None, plan.offset] if plan.offset is not None else [None]),
        flaw=st.sampled_from(["none", plan.flaw] if plan.flaw != "none" else ["none"]),
        seed=st.sampled_from(sorted({0, 1, plan.seed})),
        options=st.sampled_from(sorted({0, plan.options})),
    )
    try:
        return find(
            strategy,
            lambda small: cause(tried(small)) == cause(words),
            settings=settings(max_examples=60, deadline=None, database=None, derandomize=True, phases=(Phase.generate, Phase.shrink),
                              suppress_health_check=list(HealthCheck)),
        )  # fmt: skip
    except NoSuchExample:
        return plan


def soak(
    minutes: float,
    seed: int = 0,
    most: int | None = None,
    shrinking: bool = True,
    clock: Callable[[], float] = time.process_time,
    options: bool = False,
) -> dict[str, Any]:
    """Plans until the minutes of the clock (of CPU, if not said otherwise) are over, or ``most`` of them; what was found so far at Ctrl-C."""
    start, begun, number = time.process_time(), clock(), 0
    counts: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    compared: Counter[str] = Counter()
    causes: dict[str, str] = {}
    with contextlib.suppress(KeyboardInterrupt):
        while clock() - begun < 60 * minutes and (most is None or number < most):
            plan = Plan.of(seed, number, options)
            before = COMPARED.total()
            words = tried(plan)
            counts[plan.law] += 1
            compared[plan.law] += COMPARED.total() > before
            number += 1
            if words:
                wrong[plan.law] += 1
                key = f"{plan.law}, {plan.subject}: {cause(words)}"
                if key not in causes:
                    small = shrink(plan, words) if shrinking else plan
                    causes[key] = f"case {number - 1} of seed {seed}: {tried(small) or words}: {small}"
                    print(causes[key][:420], flush=True)
            if number % 500 == 0:
                spent = time.process_time() - start
                print(f"{number} cases, {sum(wrong.values())} finds, {spent:.0f} s", flush=True)
    return {
        "seed": seed,
        "options": options,
        "minutes of CPU": round((time.process_time() - start) / 60, 1),
        "cases": number,
        "finds": sum(wrong.values()),
        "by law": {law: [counts[law], compared[law], wrong[law]] for law in LAWS},
        "causes": list(causes.values()),
    }


def main() -> None:
    """Soak, and with ``--write`` add the counts to those of the runs before; or try one case again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="of the clock")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="the number of a case to try again")
    parser.add_argument(
        "--options", action="store_true", help="draw options of the estimators and a second flaw as well"
    )
    parser.add_argument("--write", action="store_true", help="add the row to the results, and write the page")
    given = parser.parse_args()
    if given.case is not None:
        plan = Plan.of(given.seed, given.case, given.options)
        print(asdict(plan), tried(plan), sep="\n")
        return
    begun = time.monotonic()
    found = soak(given.minutes, given.seed, clock=time.monotonic, options=given.options)
    commit = git("log", "-1", "--format=%h of %cs")
    drawn = "options drawn as well, " if given.options else ""
    found["when"] = f"{drawn}{(time.monotonic() - begun) / 60:.0f} minutes of the clock, commit {commit}"
    print(f"{found['cases']} cases, {found['finds']} finds, {len(found['causes'])} causes")
    if given.write:
        from benchmarks import reliability_page

        note("laws", [*noted().get("laws", []), found])
        reliability_page.main()


if __name__ == "__main__":
    main()
