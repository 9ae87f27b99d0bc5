"""Pictures of trained maps: samples, traversals, completed halves; and how many samples a classifier is sure of.

Run with ``GRAMIAN_DATA=... OMP_NUM_THREADS=1 python -m experiments.deep_pictures`` (``--write`` puts
the pictures into docs/pictures and the table into docs/deep.md).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import torch

from experiments._page import write_block
from experiments._runs import kept_model
from experiments.deep_mnist import EPOCHS, PAGE, digits, trained
from experiments.deep_views import TASKS, halves
from gramian import KernelPPCAClassifier
from gramian.deep import DeepRKM
from gramian.kernels import RBF

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
SURE, N_SAMPLES, N_JUDGE, N_REAL = 0.9, 32, 2000, 500


def judges() -> dict[str, KernelPPCAClassifier]:
    """Classifiers of 2,000 training digits: probabilities as fitted, of [ZH]'s limiting rule, and of the default, which is calibrated."""
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "mnist.npz") as file:
        X, y = file["x_train"][:N_JUDGE] / 255.0, file["y_train"][:N_JUDGE]
    given = {"n_components": 20, "kernel": RBF("median"), "random_state": 0}
    return {
        "`KernelPPCAClassifier(20, n_folds=None)`: as fitted": KernelPPCAClassifier(n_folds=None, **given).fit(X, y),
        "`KernelPPCAClassifier(20, noise_variance=None)`: [ZH]'s rule": KernelPPCAClassifier(
            noise_variance=None, **given
        ).fit(X, y),
        "`KernelPPCAClassifier()`: calibrated": KernelPPCAClassifier(random_state=0).fit(X, y),
    }


def sheet(rows: np.ndarray, n_columns: int, shape: tuple[int, int] = (28, 28)) -> np.ndarray:
    """Rows of pixels as one picture."""
    grid = np.clip(rows, 0, 1).reshape(-1, n_columns, *shape)
    return grid.transpose(0, 2, 1, 3).reshape(-1, n_columns * shape[1])


def completed(folder: Path | None) -> np.ndarray:
    """Held-out digits, and below them the same with the bottom half predicted from the top."""
    train, test = halves()
    model = DeepRKM(20, max_epochs=TASKS["halves"][-1], random_state=2)
    fitted = kept_model(folder, "halves-auto-2", lambda: model.fit(train))
    few = {name: view[:10] for name, view in test.items()}
    bottom = fitted.predict_view({"top": few["top"]}, "bottom")
    return np.vstack([np.hstack([few["top"], few["bottom"]]), np.hstack([few["top"], bottom])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="put the table into docs/deep.md and the pictures beside it"
    )
    parser.add_argument("--folder", type=Path, default=Path("."), help="where pictures go without --write")
    parser.add_argument("--models", type=Path, help="the folder of models that deep_mnist and deep_views were given")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    arguments = parser.parse_args()
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    torch.set_num_threads(1)
    folder = PICTURES if arguments.write else arguments.folder
    T = digits()[1][:N_REAL]
    classifiers = judges()

    def sure(rows: np.ndarray) -> list[float]:
        return [float((judge.predict_proba(rows).max(axis=1) > SURE).mean()) for judge in classifiers.values()]

    found: dict[str, list[list[float]]] = {"real": [sure(T)], "rebuilt": [], "mixture": [], "normal": []}
    for seed in range(arguments.seeds):
        model = trained(arguments.models, seed, arguments.epochs)
        found["rebuilt"].append(sure(model.reconstruct(T)))
        for prior in ("mixture", "normal"):
            drawn = model.sample(N_SAMPLES, prior=prior, random_state=seed)
            found[prior].append(sure(drawn))
            if seed == 0:
                plt.imsave(folder / f"deep_samples_{prior}.png", sheet(drawn, 8), cmap="gray_r")
        if seed == 0:
            path = model.traverse(9, 3.0)
            plt.imsave(folder / "deep_traverse.png", sheet(path.reshape(-1, 784), 9), cmap="gray_r")
    plt.imsave(folder / "deep_halves.png", sheet(completed(arguments.models), 10), cmap="gray_r")
    lines = [
        f"| judge, of 2,000 digits | real digits | rebuilt through q = 10 | of {N_SAMPLES} samples, seeds in order | of {N_SAMPLES} draws of N(0, I) |",
        "|---|---|---|---|---|",
    ]
    for j, name in enumerate(classifiers):
        counts = [", ".join(f"{N_SAMPLES * run[j]:.0f}" for run in found[prior]) for prior in ("mixture", "normal")]
        rebuilt = ", ".join(f"{run[j]:.0%}" for run in found["rebuilt"])
        lines.append(f"| {name} | {found['real'][0][j]:.0%} | {rebuilt} | {counts[0]} | {counts[1]} |")
    print("\n".join(lines))
    if arguments.write:
        write_block(PAGE, "samples", lines)


if __name__ == "__main__":
    main()
