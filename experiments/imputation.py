"""`LatentImputer()` with cells hidden at random and in blocks, beside what a user would take instead: docs/imputation.md.

    python -m experiments.imputation [--tables 20] [--half decide] [--write]

Peers, each at its own default: column mean, IterativeImputer, KNNImputer on standardised columns, soft-impute (written here: iterated soft
thresholding of singular values, the threshold chosen on hidden cells) and, where it is installed, ppca-rs at the q that `PPCA()` chooses.
Errors are root mean squares over the hidden cells in units of the column's standard deviation. Rules were decided on the tables
whose sha256 of the name begins with an even digit.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from experiments._page import write_block
from gramian import PPCA, LatentImputer

PAGE = Path(__file__).resolve().parents[1] / "docs" / "imputation.md"
MOST_ROWS, MOST_COLUMNS = 300, 20
PATTERNS = ("10 %", "30 %", "50 %", "blocks")
THRESHOLDS = np.geomspace(0.9, 0.02, 9)
"""Of soft-impute, over the largest singular value."""


def shared(name: str, key: str) -> np.ndarray | None:
    path = Path(os.environ.get("GRAMIAN_DATA", "")) / name
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as data:
        return np.asarray(data[key], dtype=float)


def tables() -> dict[str, np.ndarray]:
    """Complete numeric tables of scikit-learn, statsmodels and GRAMIAN_DATA (where it is set), at most 300 x 20."""
    from statsmodels import datasets as stats

    found: dict[str, np.ndarray | None] = {
        name: load().data
        for name, load in {
            "iris": datasets.load_iris,
            "wine": datasets.load_wine,
            "breast cancer": datasets.load_breast_cancer,
            "diabetes": datasets.load_diabetes,
            "digits": datasets.load_digits,
        }.items()
    }
    for name, module in (
        ("macrodata", stats.macrodata),
        ("star98", stats.star98),
        ("state crime", stats.statecrime),
        ("scotland", stats.scotland),
        ("anes96", stats.anes96),
    ):
        found[name] = module.load_pandas().data.select_dtypes("number").to_numpy(float)
    found["fair"] = stats.fair.load_pandas().data.select_dtypes("number").to_numpy(float)
    found["el nino"] = stats.elnino.load_pandas().data.drop(columns="YEAR").to_numpy(float)
    for name, file, key in (
        ("metabolites", "metabolite.npz", "complete"),
        ("covertype", "covertype.npz", "x_num"),
        ("etth1", "etth1.npz", "values"),
        ("ida heart", "ida_heart.npz", "x"),
        ("ida image", "ida_image.npz", "x"),
        ("mfeat fou", "mfeat.npz", "fou"),
        ("mfeat mor", "mfeat.npz", "mor"),
        ("mfeat zer", "mfeat.npz", "zer"),
    ):
        found[name] = shared(file, key)
    return {name: cut(X) for name, X in found.items() if X is not None}


def cut(X: np.ndarray) -> np.ndarray:
    rows = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    X = X[np.sort(rows)]
    varied = [j for j in range(X.shape[1]) if len(np.unique(X[:, j])) > 5]
    return X[:, varied[:MOST_COLUMNS]]


def half(name: str) -> str:
    return "report" if int(hashlib.sha256(name.encode()).hexdigest()[0], 16) % 2 else "decide"


def hidden(X: np.ndarray, pattern: str) -> np.ndarray:
    """Which cells are hidden: at random, or a third of the columns (neighbours) in a third of the rows; no row or column is left without any."""
    rng = np.random.default_rng(0)
    n, d = X.shape
    if pattern == "blocks":
        holes = np.zeros(X.shape, dtype=bool)
        width = max(1, d // 3)
        for row in rng.permutation(n)[: n // 3]:
            first = int(rng.integers(0, d - width + 1))
            holes[row, first : first + width] = True
        return holes
    holes = rng.random(X.shape) < float(pattern.split()[0]) / 100
    holes[holes.all(axis=1), 0] = False
    return holes


def soft_impute(T: np.ndarray) -> np.ndarray:
    """Iterated soft thresholding of the singular values of the standardised table; the threshold by a tenth of the cells, hidden."""
    mean, scale = np.nanmean(T, axis=0), np.nanstd(T, axis=0)
    Z = (T - mean) / np.where(scale > 0, scale, 1.0)
    seen = ~np.isnan(Z)
    apart = seen & (np.random.default_rng(1).random(Z.shape) < 0.1)

    def path(shown: np.ndarray) -> Iterator[np.ndarray]:
        filled = np.where(shown, Z, 0.0)
        largest = np.linalg.svd(filled, compute_uv=False)[0]
        for share in THRESHOLDS:
            for _ in range(50):
                U, s, Vt = np.linalg.svd(filled, full_matrices=False)
                low = (U * np.maximum(s - share * largest, 0.0)) @ Vt
                new = np.where(shown, Z, low)
                moved = np.abs(new - filled).max()
                filled = new
                if moved < 1e-3:
                    break
            yield filled

    errors = [float(np.square((filled - Z)[apart]).mean()) for filled in path(seen & ~apart)]
    best = list(path(seen))[int(np.argmin(errors))]
    return best * scale + mean


def nearest(T: np.ndarray) -> np.ndarray:
    mean, scale = np.nanmean(T, axis=0), np.nanstd(T, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    return KNNImputer().fit_transform((T - mean) / scale) * scale + mean


def rust(T: np.ndarray, q: int) -> np.ndarray:
    """ppca-rs on standardised columns."""
    from ppca_rs import Dataset, PPCATrainer  # type: ignore[import-not-found]

    mean, scale = np.nanmean(T, axis=0), np.nanstd(T, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    data = Dataset((T - mean) / scale)
    model = PPCATrainer(data).train(start=None, state_size=max(q, 1), n_iters=50, quiet=True)
    return np.asarray(model.extrapolate(data).numpy()) * scale + mean


def peers() -> dict[str, Callable[[np.ndarray, int], np.ndarray]]:
    found: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
        "mean": lambda T, q: np.where(np.isnan(T), np.nanmean(T, axis=0), T),
        "IterativeImputer": lambda T, q: IterativeImputer(random_state=0).fit_transform(T),
        "KNNImputer": lambda T, q: nearest(T),
        "soft-impute": lambda T, q: soft_impute(T),
    }
    try:
        import ppca_rs  # type: ignore[import-not-found]  # noqa: F401

        found["ppca-rs"] = rust
    except ImportError:
        pass
    return found


@dataclass
class Results:
    """Errors by table and method, coverage by table, CPU by method: of one pattern and half."""

    names: list[str] = field(default_factory=list)
    errors: list[dict[str, float]] = field(default_factory=list)
    covered: list[np.ndarray] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def row(self, title: str, methods: list[str]) -> str:
        found = np.array([[errors[method] for method in methods] for errors in self.errors])
        ratios = (found / found.min(axis=1, keepdims=True)).mean(axis=0)
        against_mean = found[:, 0] / found[:, methods.index("mean")]
        inside = [float(covered.mean()) for covered in self.covered]
        pooled = float(np.concatenate(self.covered).mean())
        cells = " | ".join(f"{ratio:.3f}" for ratio in ratios)
        worst = self.names[int(np.argmin(inside))]
        cpu = ", ".join(f"{self.seconds[method]:.1f}" for method in methods)
        return (
            f"| {title} | {len(self.names)} | {cells} | {against_mean.max():.3f} ({self.names[int(against_mean.argmax())]}) | "
            f"{pooled:.1%} | {min(inside):.1%} ({worst}) | {cpu} |"
        )


def measure(T: np.ndarray, X: np.ndarray, name: str, results: Results) -> None:
    holes = np.isnan(T)
    scale = np.nanstd(T, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    errors, start = {}, time.process_time()
    model = LatentImputer().fit(T)
    filled, std = model.impute(T, return_std=True)
    results.seconds["LatentImputer"] = results.seconds.get("LatentImputer", 0.0) + time.process_time() - start
    errors["LatentImputer"] = root_mean(filled, X, holes, scale)
    results.covered.append(np.abs(filled - X)[holes] <= 1.6449 * std[holes])
    q = int(PPCA().fit((T - np.nanmean(T, axis=0)) / scale).n_components_)  # for those who must be told
    for method, fill in peers().items():
        start = time.process_time()
        errors[method] = root_mean(fill(T, q), X, holes, scale)
        results.seconds[method] = results.seconds.get(method, 0.0) + time.process_time() - start
    results.names.append(name)
    results.errors.append(errors)
    print(f"  {name:15s} {X.shape!s:10s}" + " ".join(f"{m} {e:.3f}" for m, e in errors.items()), flush=True)


def root_mean(filled: np.ndarray, X: np.ndarray, holes: np.ndarray, scale: np.ndarray) -> float:
    return float(np.sqrt(np.square(((filled - X) / scale)[holes]).mean()))


def lines(
    count: int | None = None, patterns: tuple[str, ...] = PATTERNS, halves: tuple[str, ...] = ("decide", "report")
) -> list[str]:
    """A Markdown table: mean of error / best, by pattern and half."""
    methods = ["LatentImputer", *peers()]
    found = [
        "| cells hidden, tables | number | "
        + " | ".join(methods)
        + " | at most, of the mean's error | 90 % intervals, pooled | at worst | CPU s, in this order |",
        "|" + "---|" * (len(methods) + 6),
    ]
    every = dict(list(tables().items())[:count])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in halves:
            for pattern in patterns:
                results = Results()
                for name, X in every.items():
                    if half(name) == part:
                        measure(np.where(hidden(X, pattern), np.nan, X), X, name, results)
                if results.names:
                    found.append(results.row(f"{pattern}, {part}", methods))
                    print(found[-1], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, help="only the first so many")
    parser.add_argument("--half", choices=("decide", "report"), help="only this half")
    parser.add_argument("--write", action="store_true", help="put the table into docs/imputation.md")
    options = parser.parse_args()
    found = lines(options.tables, halves=(options.half,) if options.half else ("decide", "report"))
    if options.write:
        write_block(PAGE, "patterns", found)


if __name__ == "__main__":
    main()
