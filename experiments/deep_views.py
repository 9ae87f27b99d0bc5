"""A missing view from another: halves of digits, and the six-view numerals, beside ridge and the linear model.

Run with ``GRAMIAN_DATA=... OMP_NUM_THREADS=1 python -m experiments.deep_views`` (``--write`` for docs/deep.md). The number is the
share of the missing view's held-out variance that is left unexplained; coverage is that of nominal 90 % intervals.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import RidgeCV

from experiments._page import write_block
from experiments._runs import Run, kept_model, run_once
from gramian import MultiViewRKM
from gramian.deep import DeepRKM

PAGE = Path(__file__).resolve().parents[1] / "docs" / "deep.md"
ALPHAS = np.logspace(-2, 4, 13)


def halves() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Top and bottom of 8,000 digits, and of 2,000 held-out ones."""
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "mnist.npz") as file:
        train, test = file["x_train"][:8000] / 255.0, file["x_test"][:2000] / 255.0
    return tuple({"top": X[:, :392], "bottom": X[:, 392:]} for X in (train, test))  # type: ignore[return-value]


def numerals() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Fourier coefficients and pixels of 2,000 numerals, standardised as wholes; every fourth is held out."""
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "mfeat.npz") as file:
        views = {name: file[name].astype(np.float64) for name in ("fou", "pix")}
    held_out = np.arange(2000) % 4 == 3
    spread = {name: view[~held_out].std(axis=0).mean() for name, view in views.items()}
    return tuple({name: view[rows] / spread[name] for name, view in views.items()} for rows in (~held_out, held_out))  # type: ignore[return-value]


def unexplained(truth: np.ndarray, guess: np.ndarray, train: np.ndarray) -> float:
    """The share of the held-out variance that a guess leaves."""
    return float(((truth - guess) ** 2).sum() / ((truth - train.mean(axis=0)) ** 2).sum())


def judged(model: Any, train: dict[str, np.ndarray], test: dict[str, np.ndarray], shown: str, asked: str) -> Run:
    """Share unexplained, and coverage of 90 % intervals."""
    mean, std = model.predict_view({shown: test[shown]}, asked, return_std=True)
    covered = float((np.abs(test[asked] - mean) <= 1.6448536 * std).mean())
    return {"share": unexplained(test[asked], mean, train[asked]), "covered": covered}


TASKS = {
    "halves": ("bottom half from top, 8,000 digits, q = 20", halves, "top", "bottom", 40),
    "numerals": ("pixels from Fourier coefficients, 1,500 numerals, q = 20", numerals, "fou", "pix", 120),
}
"""A title, the rows, the view shown, the view asked for, epochs."""
AC = "DeepRKM, AC's objective alone (`cross_weight=0`)"


def rows_of_table(key: str, arguments: argparse.Namespace) -> list[str]:
    """All models on one task."""
    title, read, shown, asked, epochs = TASKS[key]
    train, test = read()

    def ridge() -> Run:
        fitted = RidgeCV(ALPHAS).fit(train[shown], train[asked])
        return {"share": unexplained(test[asked], fitted.predict(test[shown]), train[asked])}

    def linear() -> Run:
        return judged(MultiViewRKM(20, view_weights="balanced").fit(train), train, test, shown, asked)

    def deep(seed: int, weight: Any) -> Run:
        model = DeepRKM(20, cross_weight=weight, max_epochs=epochs, random_state=seed)
        fitted = kept_model(arguments.models, f"{key}-{weight}-{seed}", lambda: model.fit(train))
        return judged(fitted, train, test, shown, asked)

    found = {
        "ridge": [run_once(arguments.runs, f"{key}, ridge", ridge)],
        "linear MultiViewRKM": [run_once(arguments.runs, f"{key}, linear", linear)],
    }
    for name, weight, seeds in (("DeepRKM", "auto", arguments.seeds), (AC, 0.0, arguments.alone)):
        runs = [
            run_once(arguments.runs, f"{key}, {name}, seed {seed}", partial(deep, seed, weight))
            for seed in range(seeds)
        ]
        found |= {name: runs} if runs else {}
    lines = []
    for name, runs in found.items():
        shares = ", ".join(f"{run['share']:.3f}" for run in runs)
        covers = ", ".join(f"{run['covered']:.1%}" for run in runs if "covered" in run)
        seconds = np.median([run["seconds"] for run in runs])
        lines.append(f"| {'' if lines else title} | {name} | {shares} | {covers} | {seconds:.0f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/deep.md")
    parser.add_argument("--runs", type=Path, help="a JSON file of the runs that have ended")
    parser.add_argument("--models", type=Path, help="a folder for the trained models, which deep_pictures takes")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--alone", type=int, default=1, help="seeds of AC's objective alone")
    parser.add_argument("--only", nargs="*", default=list(TASKS), choices=list(TASKS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lines = [
        "| question | model | share unexplained, seeds in order | 90 % intervals cover | CPU seconds |",
        "|---|---|---|---|---|",
    ]
    for key in arguments.only:
        lines += rows_of_table(key, arguments)
    print("\n".join(lines))
    if arguments.write:
        write_block(PAGE, "views", lines)


if __name__ == "__main__":
    main()
