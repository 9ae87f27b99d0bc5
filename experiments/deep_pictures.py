"""Pictures of trained maps: samples, traversals, completed halves; and how many samples a classifier is sure of.

Run with ``GRAMIAN_DATA=... OMP_NUM_THREADS=1 python -m experiments.deep_pictures`` (``--write`` puts the pictures into docs/pictures).
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import torch

from experiments.deep_mnist import EPOCHS, N_COMPONENTS, digits
from experiments.deep_views import halves
from gramian import KernelPPCAClassifier
from gramian.deep import DeepRKM
from gramian.kernels import RBF

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
SURE, N_SAMPLES, N_JUDGE = 0.9, 32, 2000


def judges() -> dict[str, KernelPPCAClassifier]:
    """Classifiers of 2,000 training digits: as fitted, and with calibrated probabilities."""
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "mnist.npz") as file:
        X, y = file["x_train"][:N_JUDGE] / 255.0, file["y_train"][:N_JUDGE]
    plain = KernelPPCAClassifier(20, kernel=RBF("median"), n_folds=None, random_state=0)
    return {"plain": plain.fit(X, y), "calibrated": KernelPPCAClassifier(random_state=0).fit(X, y)}


def sheet(rows: np.ndarray, n_columns: int, shape: tuple[int, int] = (28, 28)) -> np.ndarray:
    """Rows of pixels as one picture."""
    grid = np.clip(rows, 0, 1).reshape(-1, n_columns, *shape)
    return grid.transpose(0, 2, 1, 3).reshape(-1, n_columns * shape[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the pictures into docs/pictures")
    parser.add_argument("--folder", type=Path, default=Path("."))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    arguments = parser.parse_args()
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    torch.set_num_threads(1)
    folder = PICTURES if arguments.write else arguments.folder
    X, T = digits()
    classifiers = judges()
    for name, classifier in classifiers.items():
        print(
            f"{name} judge: sure of {(classifier.predict_proba(T[:500]).max(axis=1) > SURE).mean():.0%} of real digits"
        )
    for seed in range(arguments.seeds):
        begun = time.process_time()
        model = DeepRKM(N_COMPONENTS, max_epochs=arguments.epochs, random_state=seed).fit(X)
        for prior in ("mixture", "normal"):
            drawn = model.sample(N_SAMPLES, prior=prior, random_state=seed)
            for name, classifier in classifiers.items():
                sure = int((classifier.predict_proba(drawn).max(axis=1) > SURE).sum())
                print(f"seed {seed}, prior {prior}: {sure} of {N_SAMPLES} above {SURE} ({name} judge)", flush=True)
            if seed == 0:
                plt.imsave(folder / f"deep_samples_{prior}.png", sheet(drawn, 8), cmap="gray_r")
        if seed == 0:
            path = model.traverse(9, 3.0)
            plt.imsave(folder / "deep_traverse.png", sheet(path.reshape(-1, 784), 9), cmap="gray_r")
        print(f"seed {seed}: {time.process_time() - begun:.0f} s CPU", flush=True)
    train, test = halves()
    model = DeepRKM(20, max_epochs=40, random_state=0).fit(train)
    few = {name: view[:10] for name, view in test.items()}
    bottom = model.predict_view({"top": few["top"]}, "bottom")
    rows = np.vstack([np.hstack([few["top"], few["bottom"]]), np.hstack([few["top"], bottom])])
    plt.imsave(folder / "deep_halves.png", sheet(rows, 10), cmap="gray_r")


if __name__ == "__main__":
    main()
