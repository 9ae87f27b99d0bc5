"""What neighbouring packages offer, found out by running or looking at them: the table of docs/comparison.md.

Run with ``python -m experiments.neighbours`` (``--write`` puts the table into the page), in an environment that has the packages: scikit-learn,
ppca-rs, vbpca-py, mofapy2, GPy. A package that cannot be imported is named, and its column is left out. A probe that fits does so on a small table;
a probe that looks names what it found.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from experiments._page import write_block

PAGE = Path(__file__).resolve().parents[1] / "docs" / "comparison.md"
BLOCK = "neighbours"
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2)) @ RNG.normal(size=(2, 6)) + 0.1 * RNG.normal(size=(60, 6))
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
FEATURES = (
    "fits rows with holes",
    "error of each filled cell",
    "density of a row",
    "clusters with a subspace each",
    "curves",
    "several sources of the same rows",
    "number of components by held-out data",
    "rows in batches",
    "scikit-learn estimator",
    "forecasts of a series",
    "a target with intervals",
    "command line for tables",
    "draws of what is missing",
)
Probe = Callable[[], str]


def has(module: str, *path: str) -> Probe:
    """The name, if the module has it."""

    def look() -> str:
        found: Any = import_module(module)
        for name in path:
            found = getattr(found, name)
        return f"`{'.'.join(path)}`"

    return look


def argument(module: str, path: tuple[str, ...], name: str) -> Probe:
    """The argument of a function, if it takes it."""

    def look() -> str:
        found: Any = import_module(module)
        for part in path:
            found = getattr(found, part)
        inspect.signature(found).parameters[name]
        return f"`{[part for part in path if part != '__init__'][-1]}({name}=)`"

    return look


def with_holes(fit: Callable[[np.ndarray], Any], words: str) -> Probe:
    """A fit that must not fail on NaN."""

    def run() -> str:
        fit(HOLES)
        return words

    return run


def _gramian(name: str, **options: Any) -> Any:
    return getattr(import_module("gramian"), name)(**options)


def _ppca_rs(table: np.ndarray) -> Any:
    package = import_module("ppca_rs")
    data = package.Dataset(np.ascontiguousarray(table))
    return package.PPCATrainer(data).train(state_size=2, n_iters=5, quiet=True).extrapolate(data)


def _vbpca(table: np.ndarray) -> Any:
    return import_module("vbpca_py").VBPCA(n_components=2, maxiters=20).fit(table, mask=~np.isnan(table))


def _mofa(table: np.ndarray) -> Any:
    model = import_module(MOFA).entry_point()
    with contextlib.redirect_stdout(io.StringIO()):
        model.set_data_options()
        model.set_data_matrix([[table[:, :3]], [table[:, 3:]]])
        model.set_model_options(factors=2)
        model.set_train_options(iter=5, quiet=True, seed=0)
        model.build()
        model.run()
        model.impute()
    return model


def _sklearn_estimator(module: str, name: str) -> Probe:
    def look() -> str:
        from sklearn.base import BaseEstimator

        if not issubclass(getattr(import_module(module), name), BaseEstimator):
            raise TypeError(name)
        return "yes"

    return look


SK = "sklearn.decomposition"
MOFA = "mofapy2.run.entry_point"
PROBES: dict[str, dict[str, Probe]] = {
    "gramian": {
        FEATURES[0]: with_holes(lambda T: _gramian("PPCA", n_components=2).fit(T), "`PPCA`, exact likelihood"),
        FEATURES[1]: argument("gramian", ("PPCA", "impute"), "return_std"),
        FEATURES[2]: has("gramian", "PPCA", "score_samples"),
        FEATURES[3]: has("gramian", "PPCAMixture"),
        FEATURES[4]: has("gramian", "KernelPPCA"),
        FEATURES[5]: has("gramian", "MultiViewRKM", "predict_view"),
        FEATURES[6]: with_holes(lambda T: _gramian("PPCA").fit(T).selection_, '`n_components="auto"`'),
        FEATURES[7]: has("gramian", "PPCA", "fit_batches"),
        FEATURES[8]: _sklearn_estimator("gramian", "PPCA"),
        FEATURES[9]: has("gramian", "RKMForecaster"),
        FEATURES[10]: has("gramian", "RKMRegressor", "interval"),
        FEATURES[11]: lambda: has("gramian.cli", "main")() and "`gramian fit`, `report`, ...",
        FEATURES[12]: argument("gramian", ("PPCA", "impute"), "n_draws"),
    },
    "scikit-learn": {
        FEATURES[0]: with_holes(lambda T: import_module(SK).PCA(2).fit(T), "`PCA`"),
        FEATURES[2]: has(SK, "PCA", "score_samples"),
        FEATURES[3]: has("sklearn.mixture", "GaussianMixture"),
        FEATURES[4]: has(SK, "KernelPCA"),
        FEATURES[6]: has("sklearn.model_selection", "GridSearchCV"),
        FEATURES[7]: has(SK, "IncrementalPCA", "partial_fit"),
        FEATURES[5]: lambda: (
            f"{has('sklearn.cross_decomposition', 'CCA')()}, {has('sklearn.cross_decomposition', 'PLSCanonical')()}"
        ),
        FEATURES[10]: argument("sklearn.gaussian_process", ("GaussianProcessRegressor", "predict"), "return_std"),
        FEATURES[12]: argument("sklearn.impute._iterative", ("IterativeImputer", "__init__"), "sample_posterior"),
        FEATURES[8]: _sklearn_estimator(SK, "PCA"),
    },
    "ppca-rs": {
        FEATURES[0]: with_holes(_ppca_rs, "`PPCATrainer`"),
        FEATURES[1]: has("ppca_rs", "InferredMasked", "extrapolated_covariances"),
        FEATURES[2]: has("ppca_rs", "PPCAModel", "llks"),
        FEATURES[3]: has("ppca_rs", "PPCAMix"),
        FEATURES[12]: has("ppca_rs", "InferredMasked", "posterior_sampler"),
        FEATURES[8]: _sklearn_estimator("ppca_rs", "PPCAModel"),
    },
    "vbpca-py": {
        FEATURES[0]: with_holes(_vbpca, "`VBPCA(mask=)`, variational"),
        FEATURES[1]: with_holes(lambda T: _vbpca(T).predictive_variance_, "`predictive_variance_`"),
        FEATURES[2]: has("vbpca_py", "VBPCA", "score_samples"),
        FEATURES[6]: has("vbpca_py", "cross_validate_components"),
        FEATURES[8]: _sklearn_estimator("vbpca_py", "VBPCA"),
    },
    "mofapy2": {
        FEATURES[0]: with_holes(_mofa, "`entry_point`, variational"),
        FEATURES[1]: argument(MOFA, ("entry_point", "impute"), "uncertainty"),
        FEATURES[5]: has(MOFA, "entry_point", "set_data_matrix"),
        FEATURES[7]: has(MOFA, "entry_point", "set_stochastic_options"),
        FEATURES[8]: _sklearn_estimator(MOFA, "entry_point"),
    },
    "GPy": {
        FEATURES[0]: argument("GPy.models", ("BayesianGPLVM", "__init__"), "missing_data"),
        FEATURES[4]: has("GPy.models", "BayesianGPLVM"),
        FEATURES[5]: has("GPy.models", "MRD"),
        FEATURES[10]: has("GPy.models", "GPRegression", "predict_quantiles"),
        FEATURES[8]: _sklearn_estimator("GPy.models", "BayesianGPLVM"),
    },
}
IMPORTED = {
    "gramian": "gramian",
    "scikit-learn": "sklearn",
    "ppca-rs": "ppca_rs",
    "vbpca-py": "vbpca_py",
    "mofapy2": MOFA,
    "GPy": "GPy",
}
NOTES = {
    ("scikit-learn", FEATURES[3]): " (no subspace)",
    ("scikit-learn", FEATURES[5]): " (two sources, no holes)",
    ("scikit-learn", FEATURES[6]): " around `PCA`",
    ("scikit-learn", FEATURES[10]): " of `GaussianProcessRegressor`",
    ("mofapy2", FEATURES[7]): " (in memory)",
    ("GPy", FEATURES[0]): " (not run)",
}
REFUSED = {"scikit-learn": "`PCA` refuses NaN; `IterativeImputer` beside it fills them"}


def answer(package: str, feature: str) -> str:
    """What a probe found, or a dash."""
    probe = PROBES[package].get(feature)
    if probe is None:
        return "–"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return probe() + NOTES.get((package, feature), "")
    except (AttributeError, KeyError, TypeError, ValueError):
        return REFUSED.get(package, "no") if feature == FEATURES[0] else "no" if feature == FEATURES[8] else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    there = []
    for package, module in IMPORTED.items():
        try:
            import_module(module)
            there.append(package)
        except ImportError as error:
            print(f"{package} is left out: {error}")
    others = [package for package in there if package != "gramian"]
    lines = [f"Looked at: {', '.join(f'{package} {version(package)}' for package in others)}.", ""]
    lines += ["| | here | elsewhere |", "|---|---|---|"]
    for feature in FEATURES:
        found = [f"{package}: {text}" for package in others if (text := answer(package, feature)) != "–"]
        lines.append(f"| {feature} | {answer('gramian', feature)} | {'; '.join(found) or '–'} |")
    print("\n".join(lines))
    if arguments.write:
        write_block(PAGE, BLOCK, lines)


if __name__ == "__main__":
    main()
