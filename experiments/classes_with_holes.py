"""Classifiers whose inputs miss cells: their own handling beside a table that is filled first.

``GRAMIAN_DATA=... python -m experiments.classes_with_holes [--splits 5] [--file RUNS.json] [--write]``. A fifth of the cells of training and test rows of the 13
IDA sets is hidden at random. "Filled" is ``make_pipeline(LatentImputer(), classifier)``. Errors in percent, paired over splits from number 51 on (image and
splice: from 11 on). ``--file`` keeps what has ended; ``--write`` puts the table into docs/classification.md.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from experiments._page import write_block
from experiments._runs import Run, run_once
from gramian import KernelPPCAClassifier, LatentImputer, RKMClassifier
from gramian.datasets import load_ida, make_missing
from gramian.datasets.loaders import IDA_NAMES

PAGE = Path(__file__).parents[1] / "docs" / "classification.md"
MODELS: dict[str, Any] = {"KernelPPCAClassifier": KernelPPCAClassifier, "RKMClassifier": RKMClassifier}


def split(name: str, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test rows with holes, and their labels."""
    data = load_ida(name)
    place = number if len(data.regen_train) > 50 else number - 40
    train, test = data.regen_train[place], data.regen_test[place][:1000]
    X = make_missing(data.data, 0.2, random_state=number)
    return X[train], data.target[train], X[test], data.target[test]


def run(name: str, model: str, number: int) -> Run:
    """Errors of one split, own handling and filled first."""
    X, y, new, labels = split(name, number)
    found: Run = {}
    for way, made in (("own", MODELS[model]()), ("filled", make_pipeline(LatentImputer(), MODELS[model]()))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[way] = float(100 * np.mean(made.fit(X, y).predict(new) != labels))
    return found


def lines(found: dict[str, dict[str, list[Run]]]) -> list[str]:
    """One row per set, both classifiers."""
    head = " | ".join(f"{model}, own | filled first | difference" for model in MODELS)
    told = [f"| set | {head} |", "|---" * (1 + 3 * len(MODELS)) + "|"]
    worse = dict.fromkeys(MODELS, 0)
    for name, of_models in found.items():
        cells = []
        for model, runs in of_models.items():
            own, filled = (np.array([one[way] for one in runs]) for way in ("own", "filled"))
            gap, error = (own - filled).mean(), (own - filled).std(ddof=1) / np.sqrt(len(own))
            worse[model] += int(gap > error)
            cells += [f"{own.mean():.1f}", f"{filled.mean():.1f}", f"{gap:+.2f} ± {error:.2f}"]
        told.append(f"| {name} | {' | '.join(cells)} |")
    told += [""] + [
        f"`{model}`: not worse than filled first, beyond one standard error, on {len(found) - count} of {len(found)}."
        for model, count in worse.items()
    ]
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=list(IDA_NAMES))
    parser.add_argument("--file", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found = {
        name: {
            model: [
                run_once(given.file, f"{name} {model} {number}", lambda n=name, m=model, k=number: run(n, m, k))
                for number in range(50, 50 + given.splits)
            ]
            for model in MODELS
        }
        for name in given.sets
    }
    told = lines(found)
    print("\n".join(told))
    if given.write:
        write_block(PAGE, "holes", told)


if __name__ == "__main__":
    main()
