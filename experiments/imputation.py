"""Imputation error and interval coverage, beside the usual fillers: writes docs/imputation.md.

Run with `python -m experiments.imputation` (the PyPI packages `ppca`, `pyppca`, `ppca-rs` and `vbpca-py` are compared where installed).
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from gramian import PPCA

PAGE = Path(__file__).resolve().parents[1] / "docs" / "imputation.md"
Filler = Callable[[np.ndarray], np.ndarray]


def fillers(q: int, choose: bool) -> dict[str, Filler]:
    """Every way to fill a table; packages that are not installed are left out."""
    found: dict[str, Filler] = {
        f"gramian PPCA({q})": lambda T: PPCA(q).fit(T).impute(T),
        **({'gramian PPCA("bic")': lambda T: PPCA("bic").fit(T).impute(T)} if choose else {}),
        "column mean": SimpleImputer().fit_transform,
        "KNNImputer(5)": KNNImputer().fit_transform,
        "IterativeImputer": IterativeImputer(random_state=0, max_iter=10, n_nearest_features=20).fit_transform,
    }
    try:
        from ppca import PPCA as Magic  # type: ignore[import-not-found]  # noqa: N811

        def magic(T: np.ndarray) -> np.ndarray:
            model = Magic()
            model.fit(data=T.copy(), d=q, verbose=False)
            return np.asarray(model.data * model.stds + model.means)

        found["ppca (PyPI)"] = magic
    except ImportError:
        pass
    try:
        from pyppca import ppca as pyppca  # type: ignore[import-not-found]

        found["pyppca (PyPI)"] = lambda T: np.asarray(pyppca(T.copy(), q, False)[4])
    except ImportError:
        pass
    try:
        from ppca_rs import Dataset, PPCATrainer  # type: ignore[import-not-found]

        def rust(T: np.ndarray) -> np.ndarray:
            data = Dataset(T)
            model = PPCATrainer(data).train(start=None, state_size=q, n_iters=50, quiet=True)
            return np.asarray(model.extrapolate(data).numpy())

        found["ppca-rs (PyPI)"] = rust
    except ImportError:
        pass
    try:
        from vbpca_py import VBPCA  # type: ignore[import-not-found]

        def bayes(T: np.ndarray) -> np.ndarray:
            model = VBPCA(q, maxiters=200, random_state=0, num_cpu=1, runtime_tuning="off").fit(T)
            return np.asarray(model.inverse_transform(model.scores_))

        found["vbpca-py (PyPI)"] = bayes
    except ImportError:
        pass
    return found


def metabolites() -> tuple[np.ndarray, np.ndarray] | None:
    folder = os.environ.get("GRAMIAN_DATA")
    path = Path(folder) / "metabolite.npz" if folder else None
    if path is None or not path.exists():
        return None
    with np.load(path, allow_pickle=False) as data:
        return data["complete"], data["incomplete"]


def masked_digits(share: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    X = load_digits().data[:600]
    X = X[:, X.std(axis=0) > 0]
    holes = np.random.default_rng(0).random(X.shape) < share
    return X, np.where(holes, np.nan, X)


def table(name: str, complete: np.ndarray, holes: np.ndarray, q: int, choose: bool = False) -> list[str]:
    """Root mean squared error over the hidden cells, in units of their standard deviation about column means."""
    hidden = np.isnan(holes)
    scale = np.sqrt(((complete - np.nanmean(holes, axis=0))[hidden] ** 2).mean())
    lines = [
        f"## {name}: {holes.shape[0]} x {holes.shape[1]}, {hidden.mean():.1%} hidden",
        "",
        "| filled by | error |",
        "|---|---|",
    ]
    for method, fill in fillers(q, choose).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                filled = fill(holes)
                error = np.sqrt(((filled - complete)[hidden] ** 2).mean()) / scale
                lines.append(f"| {method} | {error:.3f} |")
            except Exception as problem:
                lines.append(f"| {method} | failed: {type(problem).__name__} |")
        print(name, lines[-1], flush=True)
    return [*lines, ""]


def coverage(n_tables: int = 40) -> tuple[float, int]:
    """The share of hidden cells inside nominal 90 % intervals, pooled over simulated tables."""
    rng = np.random.default_rng(0)
    inside = total = 0
    for _ in range(n_tables):
        n, d, q = int(rng.integers(80, 200)), int(rng.integers(6, 15)), int(rng.integers(1, 4))
        X = rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + 0.5 * rng.standard_normal((n, d))
        holes = rng.random(X.shape) < rng.uniform(0.05, 0.3)
        holes[holes.all(axis=1), 0] = False
        T = np.where(holes, np.nan, X)
        filled, std = PPCA(q).fit(T).impute(T, return_std=True)
        inside += int((np.abs(filled - X)[holes] <= 1.6449 * std[holes]).sum())
        total += int(holes.sum())
    return inside / total, total


def main() -> int:
    lines = [
        "# Imputation, measured",
        "",
        "Written by `python -m experiments.imputation`. Errors are root mean squares over the hidden cells, divided by those of the column",
        "mean: 1 is as good as the mean, smaller is better. Packages from PyPI appear where they are installed.",
        "",
    ]
    found = metabolites()
    if found is not None:
        lines += table("Metabolites (Scholz 2005)", *found, q=5, choose=True)
    lines += table("Masked digits", *masked_digits(), q=12)
    share, cells = coverage()
    lines += [
        "## Coverage",
        "",
        f"Nominal 90 % intervals cover {share:.1%} of {cells} hidden cells, pooled over 40 simulated tables.",
        "",
    ]
    print(lines[-2])
    PAGE.write_text("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
