"""Figure 2 of Zhou (two C-shapes), interlocked C-shapes and two moons: run ``python experiments/c_shapes.py [SEEDS]``.

Prints how often and how well the shapes separate, and draws ``docs/pictures/c_shapes.png``. The paper's setting is two components
of two directions, noise 0.01, an RBF kernel of width 8 and random starts; the interlocked shapes and the moons are given to
`KernelPPCAMixture` with nothing but its defaults, and to narrower kernels for comparison.

A second table asks whether the moons that are not separated were missed or are not there: the objective that EM reaches from
the default start, beside the one it reaches when it is started from the truth.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from sklearn import datasets

from gramian import KernelPPCAMixture
from gramian.datasets import make_c_shapes, make_moons
from gramian.kernels import RBF

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "c_shapes.png"


def interlocked(**options: Any) -> tuple[np.ndarray, np.ndarray]:
    return make_c_shapes(interlocked=True, **options)


PAPER: dict[str, Any] = {"n_components": 2, "kernel": RBF(8.0)}
CASES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "two C-shapes, width 8, random start": (make_c_shapes, {**PAPER, "init": "random"}),
    "two C-shapes, width 8, 10 random starts": (make_c_shapes, {**PAPER, "init": "random", "n_init": 10}),
    "two C-shapes, width 8": (make_c_shapes, PAPER),
    "two C-shapes, defaults": (make_c_shapes, {}),
    "interlocked C-shapes, random start": (interlocked, {"init": "random"}),
    "interlocked C-shapes, defaults": (interlocked, {}),
    "two moons, median width, q = 2": (make_moons, {"n_components": 2, "kernel": "rbf"}),
    "two moons, random start": (make_moons, {"init": "random"}),
    "two moons, defaults": (make_moons, {}),
}


def agreement(labels: np.ndarray, truth: np.ndarray) -> float:
    """The share of points in the right one of two clusters, whatever their names."""
    same = float(np.mean(labels == truth))
    return max(same, 1.0 - same)


def run(name: str, seed: int) -> tuple[float, int]:
    """Agreement with the truth, and the steps that EM took."""
    maker, options = CASES[name]
    X, truth = maker(random_state=seed)
    model = KernelPPCAMixture(2, noise_variance=0.01, random_state=seed, **options).fit(X)
    return agreement(model.predict(X), truth), model.n_iter_


def table(n_seeds: int) -> str:
    """A Markdown table: mean and least agreement, how often at least 98 % of the points, steps."""
    lines = ["| data and settings | agreement | least | at least 98 % | steps |", "|---|---|---|---|---|"]
    for name in CASES:
        shares, steps = zip(*(run(name, seed) for seed in range(n_seeds)))
        good = sum(share >= 0.98 for share in shares)
        lines.append(
            f"| {name} | {np.mean(shares):.3f} | {min(shares):.3f} | {good} of {n_seeds} | {min(steps)} to {max(steps)} |"
        )
    return "\n".join(lines)


def noisy_moons(noise: float | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's moons, equally spaced on their arcs."""
    return cast("tuple[np.ndarray, np.ndarray]", datasets.make_moons(200, noise=noise, random_state=seed))


def against_truth(options: dict[str, Any], noise: float | None, seed: int) -> tuple[float, float, float, float, float]:
    """Agreement by default and when started from the truth; the objective of both, and of the truth before any step."""
    X, truth = noisy_moons(noise, seed)
    found = KernelPPCAMixture(random_state=seed, **options).fit(X)
    told = KernelPPCAMixture(
        2, found.selection_.chosen if not options else 2, kernel=found.kernel_, init=np.eye(2)[truth]
    ).fit(X)
    shares = [agreement(model.predict(X), truth) for model in (found, told)]
    return *shares, found.log_likelihoods_[-1], told.log_likelihoods_[-1], told.log_likelihoods_[0]


def truth_table(n_seeds: int) -> str:
    """A Markdown table: the default start beside the truth as the start."""
    lines = [
        "| two moons of 200 | agreement, least | from the truth, least | objective | from the truth | truth itself | "
        "largest shortfall |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, options in (("defaults", {}), ("median width, q = 2", {"n_components": 2, "kernel": "rbf"})):
        for noise in (None, 0.05, 0.1):
            rows = np.array([against_truth(options, noise, seed) for seed in range(n_seeds)])
            mean, least = rows.mean(axis=0), rows.min(axis=0)
            shortfall = max(0.0, float((rows[:, 3] - rows[:, 2]).max()))
            lines.append(
                f"| {name}, noise {noise or 0} | {mean[0]:.3f}, {least[0]:.3f} | {mean[1]:.3f}, {least[1]:.3f} | "
                f"{mean[2]:.4f} | {mean[3]:.4f} | {mean[4]:.4f} | {shortfall:.4f} |"
            )
    return "\n".join(lines)


def draw() -> None:
    """Clusters in the first row, samples of the mixture in the second."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = ("two C-shapes, width 8", "interlocked C-shapes, defaults", "two moons, defaults")
    figure, axes = plt.subplots(2, 3, figsize=(9, 5.4), layout="constrained")
    for column, name in enumerate(names):
        maker, options = CASES[name]
        X, truth = maker(random_state=1)
        model = KernelPPCAMixture(2, random_state=1, **options).fit(X)
        labels = model.predict(X)
        drawn, origin = model.sample(200, noise=False, random_state=0)
        for row, (points, cluster) in enumerate(((X, labels), (drawn, origin))):
            ax = axes[row, column]
            for value, marker in ((0, "+"), (1, "x")):
                ax.plot(*points[cluster == value].T, marker, markersize=4, color=f"C{value}")
            ax.set_aspect("equal")
            ax.set_xticks([])
            ax.set_yticks([])
        axes[0, column].set_title(f"{name}\n{agreement(labels, truth):.1%} as drawn", fontsize=9)
    axes[0, 0].set_ylabel("data, by component")
    axes[1, 0].set_ylabel("draws of the mixture")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=75)
    plt.close(figure)


def main() -> None:
    n_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(table(n_seeds))
    print(truth_table(n_seeds))
    draw()


if __name__ == "__main__":
    main()
