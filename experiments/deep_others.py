"""Where trained maps do not pay, and where they might: few large pictures (faces), and a table of ten measured columns.

Run with ``GRAMIAN_DATA=... OMP_NUM_THREADS=1 python -m experiments.deep_others`` (``--write`` for docs/deep.md). The number is the
share of the held-out variance that the reconstruction leaves.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.decomposition import PCA

from experiments._page import write_block
from gramian import KernelPPCA
from gramian.deep import DeepRKM

PAGE = Path(__file__).resolve().parents[1] / "docs" / "deep.md"


def faces() -> tuple[np.ndarray, np.ndarray]:
    """300 faces to train on and 100 held out, each of the 40 people in both."""
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "olivetti_faces.npz") as file:
        name = max(file.files, key=lambda key: file[key].size)
        X = file[name].reshape(len(file[name]), -1) / float(file[name].max())
    held_out = np.arange(len(X)) % 4 == 3
    return X[~held_out], X[held_out]


def forest() -> tuple[np.ndarray, np.ndarray]:
    """The ten measured columns of 12,000 plots of forest, standardised, and of 4,000 others."""
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "covertype.npz") as file:
        name = max(file.files, key=lambda key: file[key].size)
        X = np.asarray(file[name][:, :10], dtype=np.float64)
    rows = np.random.default_rng(0).permutation(len(X))[:16_000]
    train, test = X[rows[:12_000]], X[rows[12_000:]]
    return (train - train.mean(axis=0)) / train.std(axis=0), (test - train.mean(axis=0)) / train.std(axis=0)


def left(X: np.ndarray, T: np.ndarray, guess: np.ndarray) -> float:
    """The share of the held-out variance that is left."""
    return float(((T - guess) ** 2).sum() / ((T - X.mean(axis=0)) ** 2).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/deep.md")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lines = ["| data | model | share left, seeds 0 to 2 | CPU seconds |", "|---|---|---|---|"]
    for title, read, q, epochs in (
        ("300 faces of 4,096 pixels, q = 10", faces, 10, 60),
        ("12,000 rows of 10 columns, q = 3", forest, 3, 30),
    ):
        X, T = read()
        begun = time.process_time()
        linear = PCA(q).fit(X)
        share = left(X, T, linear.inverse_transform(linear.transform(T)))
        lines.append(f"| {title} | PCA | {share:.4f} | {time.process_time() - begun:.1f} |")
        begun = time.process_time()
        kernel = KernelPPCA(q, approximation="nystroem" if len(X) > 2000 else None, random_state=0).fit(X)
        share = left(X, T, kernel.reconstruct(T))
        lines.append(f"| | KernelPPCA | {share:.4f} | {time.process_time() - begun:.1f} |")
        found, seconds = [], []
        for seed in range(arguments.seeds):
            begun = time.process_time()
            model = DeepRKM(q, max_epochs=epochs, random_state=seed).fit(X)
            seconds.append(time.process_time() - begun)
            found.append(left(X, T, model.reconstruct(T)))
            print(title, seed, f"{found[-1]:.4f}", f"{seconds[-1]:.0f} s", flush=True)
        told = ", ".join(f"{share:.4f}" for share in found)
        lines.append(f"| | DeepRKM | {told} | {np.median(seconds):.0f} |")
    print("\n".join(lines))
    if arguments.write:
        write_block(PAGE, "others", lines)


if __name__ == "__main__":
    main()
