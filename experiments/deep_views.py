"""A missing view from another: halves of digits, and the six-view numerals, beside ridge and the linear model.

Run with ``GRAMIAN_DATA=... OMP_NUM_THREADS=1 python -m experiments.deep_views`` (``--write`` for docs/deep.md). The number is the
share of the missing view's held-out variance that is left unexplained; coverage is that of nominal 90 % intervals.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import RidgeCV

from experiments._page import write_block
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


def judged(
    model: Any, train: dict[str, np.ndarray], test: dict[str, np.ndarray], shown: str, asked: str
) -> tuple[float, float]:
    """Share unexplained, and coverage of 90 % intervals."""
    mean, std = model.predict_view({shown: test[shown]}, asked, return_std=True)
    covered = float((np.abs(test[asked] - mean) <= 1.6448536 * std).mean())
    return unexplained(test[asked], mean, train[asked]), covered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/deep.md")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--only", choices=["halves", "numerals"])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    tasks = {
        "halves": ("bottom half from top, 8,000 digits, q = 20", halves, "top", "bottom", arguments.epochs),
        "numerals": (
            "pixels from Fourier coefficients, 1,500 numerals, q = 20",
            numerals,
            "fou",
            "pix",
            3 * arguments.epochs,
        ),
    }
    lines = ["| question | model | share unexplained | 90 % intervals cover | CPU seconds |", "|---|---|---|---|---|"]
    for key, (title, read, shown, asked, epochs) in tasks.items():
        if arguments.only not in (None, key):
            continue
        train, test = read()
        begun = time.process_time()
        ridge = RidgeCV(ALPHAS).fit(train[shown], train[asked])
        share = unexplained(test[asked], ridge.predict(test[shown]), train[asked])
        lines.append(f"| {title} | ridge | {share:.3f} | | {time.process_time() - begun:.0f} |")
        begun = time.process_time()
        linear = MultiViewRKM(20, view_weights="balanced").fit(train)
        share, covered = judged(linear, train, test, shown, asked)
        lines.append(f"| | linear MultiViewRKM | {share:.3f} | {covered:.1%} | {time.process_time() - begun:.0f} |")
        for name, weight in (("DeepRKM", "auto"), ("DeepRKM, AC's objective alone (cross_weight=0)", 0.0)):
            found, seconds = [], []
            for seed in range(arguments.seeds):
                begun = time.process_time()
                model = DeepRKM(20, cross_weight=weight, max_epochs=epochs, random_state=seed).fit(train)
                seconds.append(time.process_time() - begun)
                found.append(judged(model, train, test, shown, asked))
                print(title, name, seed, found[-1], f"{seconds[-1]:.0f} s, {model.n_epochs_} epochs", flush=True)
            shares = ", ".join(f"{share:.3f}" for share, _ in found)
            covers = ", ".join(f"{covered:.1%}" for _, covered in found)
            lines.append(f"| | {name} | {shares} | {covers} | {np.median(seconds):.0f} |")
    print("\n".join(lines))
    if arguments.write:
        write_block(PAGE, "views", lines)


if __name__ == "__main__":
    main()
