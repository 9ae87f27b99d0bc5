"""MM figure 2: reconstruct held-out MNIST images with a model of 100 images, kernel PCA tuned by BayesSearch beside PCA.

MM tunes 784 widths; 50 trials cannot find these, so the widths here are one for each of the five leading principal directions
and one for all the others. Everything is chosen by cross-validation inside the 100 images; the 300 held-out images are
looked at once, at the end. Needs GRAMIAN_DATA.

    python experiments/tuning_mnist.py [--trials 50] [--figure docs/pictures/tuning_mnist.png]
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

from gramian import PPCA, BayesSearch, KernelPPCA
from gramian.kernels import RBF
from gramian.tuning.defaults import usual_distance

N_LEADING = 5
N_TEST = 300


class PrincipalARD(BaseEstimator):
    """KernelPPCA in principal coordinates: a width for each leading direction, the last entry for all the others."""

    def __init__(self, length_scale=(1.0,), n_components=10):
        self.length_scale = length_scale
        self.n_components = n_components

    def fit(self, X, y=None):
        self.rotation_ = PPCA(len(X) - 1, noise_variance=0).fit(X)
        scores = self.rotation_.scores(X)
        scales = np.full(scores.shape[1], self.length_scale[-1])
        scales[: len(self.length_scale) - 1] = self.length_scale[:-1]
        self.model_ = KernelPPCA(self.n_components, kernel=RBF(scales), preimage="gradient").fit(scores)
        self.low_, self.high_ = X.min(axis=0), X.max(axis=0)
        return self

    def reconstruct(self, X):
        scores = self.model_.reconstruct(self.rotation_.scores(X))
        images = scores @ self.rotation_.components_ + self.rotation_.mean_
        return np.clip(images, self.low_, self.high_)  # pre-images of the plain kernel stay in this box too


def images() -> tuple[np.ndarray, np.ndarray]:
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "mnist.npz") as file:
        test = file["x_test"]
        chosen = np.sort(np.random.default_rng(0).choice(len(test), N_TEST, replace=False))
        return file["x_first100"] / 255.0, test[chosen] / 255.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    train, test = images()
    middle = usual_distance(train)
    variance = np.mean((test - train.mean(axis=0)) ** 2)
    common = {"cv": 5, "n_trials": options.trials, "random_state": 0, "scoring": "reconstruction"}
    width = ("log", middle / 4, middle * 32)
    counts = (5, 79)  # a fold trains on 80 images

    started = time.perf_counter()
    rbf = BayesSearch(
        KernelPPCA(preimage="gradient", kernel=RBF(middle)),
        {"kernel__length_scale": width, "n_components": counts},
        **common,
    )
    rbf.fit(train)
    rbf_seconds = time.perf_counter() - started
    started = time.perf_counter()
    ard = BayesSearch(PrincipalARD(), {"length_scale": (*width, N_LEADING + 1), "n_components": counts}, **common).fit(
        train
    )
    ard_seconds = time.perf_counter() - started

    answers = {}
    for q in (int(rbf.best_params_["n_components"]), 99):
        projected = PPCA(q, noise_variance=0).fit(train).reconstruct(test, kind="projection")
        answers[f"PCA, q = {q}"] = projected
        answers[f"PCA, q = {q}, clipped to the training images' range"] = np.clip(
            projected, train.min(axis=0), train.max(axis=0)
        )
    best_width = rbf.best_params_["kernel__length_scale"]
    answers["RBF, median width, q = 99, smoother (nothing tuned)"] = KernelPPCA(99).fit(train).reconstruct(test)
    answers["RBF, median width, q = 99, gradient pre-image"] = (
        KernelPPCA(99, preimage="gradient").fit(train).reconstruct(test)
    )
    answers[f"RBF tuned: width {best_width / middle:.3g} medians, q = {rbf.best_params_['n_components']}"] = (
        rbf.reconstruct(test)
    )
    answers["RBF tuned width, q = 99"] = (
        rbf.best_estimator_.__class__(99, kernel=RBF(best_width), preimage="gradient").fit(train).reconstruct(test)
    )
    scales = ard.best_params_["length_scale"]
    text = ", ".join(f"{s / middle:.2g}" for s in scales)
    answers[f"ARD tuned: widths {text} medians, q = {ard.best_params_['n_components']}"] = ard.reconstruct(test)
    answers["ARD tuned widths, q = 99"] = PrincipalARD(scales, 99).fit(train).reconstruct(test)

    print(
        f"100 images, {N_TEST} held out; median distance {middle:.3f}; variance of the held-out images {variance:.5f}"
    )
    print(f"search: RBF {rbf_seconds:.0f} s, ARD {ard_seconds:.0f} s for {options.trials} trials of 5 folds each")
    rows = []
    for name, answer in answers.items():
        error = np.mean((answer - test) ** 2)
        rows.append((name, float(error), float(error / variance)))
        print(f"| {name} | {error:.5f} | {error / variance:.1%} |")
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "seconds": [rbf_seconds, ard_seconds]}, indent=1))
    if options.figure:
        draw(test, answers, options.figure)


def draw(test: np.ndarray, answers: dict[str, np.ndarray], path: Path) -> None:
    from matplotlib.figure import Figure

    keys = list(answers)
    rows = {
        "held out": test,
        "PCA, q = 99": answers["PCA, q = 99"],
        "RBF, untuned": answers[keys[4]],
        "RBF, tuned": answers["RBF tuned width, q = 99"],
        "ARD, tuned": answers["ARD tuned widths, q = 99"],
    }
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.subplots(len(rows), 12)
    for line, (name, pictures) in zip(axes, rows.items()):
        for ax, picture in zip(line, pictures[:12]):
            ax.imshow(picture.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
            ax.set_axis_off()
        line[0].set_axis_on()
        line[0].set_xticks([])
        line[0].set_yticks([])
        line[0].spines[:].set_visible(False)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=7)
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    main()
