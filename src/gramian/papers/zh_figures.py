"""ZH figures 1 and 2, the limiting distance, and EM against the closed form."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gramian import KernelPPCA, KernelPPCAMixture
from gramian._arrays import Array
from gramian.datasets import make_c_shapes
from gramian.kernels import RBF
from gramian.papers._claim import DIFFERS, HOLDS, UNEXPECTED, Claim, Grid, Result, relative
from gramian.plotting._canvas import BLUE, DIVERGING, RED, panels

WIDTH, NOISE = 8.0, 0.01
GOOD = 0.98


def figure_1(full: bool, rng: np.random.Generator) -> Result:
    """The two leading kernel components on one C-shape and on two."""
    ones, twos = [], []
    for seed in range(50 if full else 10):
        X, shape = make_c_shapes(random_state=seed)
        one = X[shape == 0]
        alone = KernelPPCA(2, kernel=RBF(WIDTH), solver="eigh").fit(one)
        both = KernelPPCA(2, kernel=RBF(WIDTH), solver="eigh").fit(X)
        spread = KernelPPCA(0, kernel=RBF(WIDTH), noise_variance=0.0, solver="eigh").fit(one).residual(one)
        ones.append(1.0 - float(alone.residual(one).mean() / spread.mean()))
        twos.append(1.0 - float(both.residual(one).mean() / spread.mean()))
    alone_mean, both_mean = float(np.mean(ones)), float(np.mean(twos))

    def draw() -> Any:
        X, shape = make_c_shapes(random_state=0)
        axes = panels(None, (2, 3), (9.6, 5.6))
        for line, points in zip(axes, (X[shape == 0], X)):
            line[0].plot(*points.T, "+", color=BLUE, ms=4)
            model = KernelPPCA(2, kernel=RBF(WIDTH), solver="eigh").fit(points)
            low, high = points.min(axis=0) - 2, points.max(axis=0) + 2
            grid = np.stack(np.meshgrid(*np.linspace(low, high, 60).T), axis=-1)
            values = model.scores(grid.reshape(-1, 2)).reshape(60, 60, 2)
            for j in (0, 1):
                line[j + 1].contour(
                    grid[..., 0], grid[..., 1], values[..., j], levels=14, cmap=DIVERGING, linewidths=0.9
                )
                line[j + 1].plot(*points.T, ".", color="black", ms=1.5)
                line[j + 1].set_title(f"component {j + 1}", fontsize="medium")
            for ax in line:
                ax.set(aspect="equal", xticks=[], yticks=[])
        return axes

    return Result(
        f"two components explain {alone_mean:.0%} of a shape by a model of its own, {both_mean:.0%} by one of both shapes",
        HOLDS if alone_mean > 0.8 and both_mean < alone_mean - 0.1 else UNEXPECTED,
        "The components of one C-shape follow it; those of two describe both at once, as the paper says, and each shape less well. The "
        "contours are of the scores; crosses are the data.",
        f"{len(ones)} draws: {min(ones):.0%} to {max(ones):.0%}, and {min(twos):.0%} to {max(twos):.0%}",
        {"one shape": alone_mean, "two shapes": both_mean},
        None,
        draw,
    )


def _agreement(labels: Array, truth: Array) -> float:
    same = float(np.mean(labels == truth))
    return max(same, 1.0 - same)


def _mixture(X: Array, **options: Any) -> KernelPPCAMixture:
    return KernelPPCAMixture(2, 2, kernel=RBF(WIDTH), noise_variance=NOISE, **options).fit(X)


def figure_2(full: bool, rng: np.random.Generator) -> Result:
    """Random starts as in the paper, ten of them, and the library's own start: how often the shapes are told apart."""
    seeds = range(40 if full else 8)
    starts: dict[str, dict[str, Any]] = {
        "one random start (the paper's)": {"init": "random"},
        "best of ten random starts": {"init": "random", "n_init": 10},
        "the library's start": {},
    }
    rows, often = [], {}
    for name, options in starts.items():
        found = []
        for seed in seeds:
            X, shape = make_c_shapes(random_state=seed)
            model = _mixture(X, random_state=seed, **options)
            found.append((_agreement(model.predict(X), shape), model.n_iter_))
        agreement, steps = np.transpose(found)
        often[name] = int((agreement >= GOOD).sum())
        rows.append(
            (
                name,
                float(agreement.mean()),
                f"{often[name]} of {len(found)}",
                f"{int(steps.min())} to {int(steps.max())}",
            )
        )
    own = often["the library's start"]

    def draw() -> Any:
        X, _ = make_c_shapes(random_state=0)
        axes = panels(None, (2, 4), (10.4, 3.8))
        draws = np.random.default_rng(5)
        for line, start in zip(axes, (draws.dirichlet([1.0, 1.0], size=len(X)), None)):
            shown = {"start": start} if start is not None else {}
            options: dict[str, Any] = {"random_state": 0} if start is None else {"init": start}
            for count in (1, 3, 200) if start is not None else (1, 200):
                model = _mixture(X, max_iter=count, tol=1e-6, **options)
                name = f"end, {model.n_iter_} steps" if count == 200 else f"after step {count}"
                shown[name] = model.responsibilities_
            for ax, (name, shares) in zip(line, shown.items()):
                labels = shares.argmax(axis=1)
                for k, (marker, colour) in enumerate((("+", BLUE), ("x", RED))):
                    ax.plot(*X[labels == k].T, marker, ms=4, color=colour)
                ax.set_title(name, fontsize="medium")
                ax.set(aspect="equal", xticks=[], yticks=[])
        for ax in axes[1, 2:]:
            ax.set_axis_off()
        axes[0, 0].set_ylabel("random start")
        axes[1, 0].set_ylabel("the library's start")
        return axes

    return Result(
        f"separated: {'; '.join(f'{name} {count} of {len(seeds)}' for name, count in often.items())}",
        DIFFERS if own == len(seeds) and often["one random start (the paper's)"] < len(seeds) else UNEXPECTED,
        "The end of the paper's figure comes out every time from the library's own start. From one random start, which is what the paper "
        "describes, EM often ends elsewhere: the printed run was a good one. Separated means at least 98 % of the points.",
        f"{len(seeds)} draws of data and start; the paper says 3 iterations",
        {name: float(count) for name, count in often.items()},
        Grid(["start", "mean agreement", "separated", "steps"], rows),
        draw,
    )


def limiting_distance(full: bool, rng: np.random.Generator) -> Result:
    """rho times the Mahalanobis distance (ZH eq. 12) against the distance to the subspace (ZH eq. 13), as rho falls."""
    X, new = rng.normal(size=(60, 3)), rng.normal(size=(20, 3))
    limit = KernelPPCA(4, kernel=RBF(2.0), noise_variance=0.0, solver="eigh").fit(X).residual(new)
    rows, gaps = [], []
    for power in range(2, 9):
        model = KernelPPCA(4, kernel=RBF(2.0), noise_variance=10.0**-power, solver="eigh").fit(X)
        gaps.append(relative(10.0**-power * model.mahalanobis(new), limit))
        rows.append((10.0**-power, gaps[-1]))
    rates = [a / b for a, b in pairwise(gaps)]
    return Result(
        f"relative gap {gaps[0]:.1e} at rho = 0.01, {gaps[-1]:.1e} at 1e-8",
        HOLDS if all(abs(rate - 10) < 0.5 for rate in rates) else UNEXPECTED,
        "The gap falls tenfold with rho, as sum_p t_p²/l_p times rho must.",
        "",
        {"first": gaps[0], "last": gaps[-1]},
        Grid(["rho", "relative gap"], rows),
    )


def em(full: bool, rng: np.random.Generator) -> Result:
    """ZH's EM for the empirical loadings against the eigendecomposition, over data sets and q."""
    rows, worst = [], 0.0
    for q in (1, 2, 4):
        for _ in range(10 if full else 2):
            X = rng.normal(size=(60, 4)) * [2.0, 1.4, 1.0, 0.7]
            both = [
                KernelPPCA(
                    q, kernel=RBF(3.0), noise_variance=NOISE, solver=s, tol=1e-10, max_iter=20_000, random_state=0
                ).fit(X)
                for s in ("em", "eigh")
            ]
            gap = relative(both[0].explained_variance_, both[1].explained_variance_)
            law = relative(both[0].dual_coef_ @ both[0].dual_coef_.T, both[1].dual_coef_ @ both[1].dual_coef_.T)
            rows.append((q, gap, law))
            worst = max(worst, gap, law)
    return Result(
        f"largest relative difference {worst:.1e}",
        HOLDS if worst < 1e-5 else UNEXPECTED,
        "Eigenvalues, and the loadings up to the rotation that no likelihood sees.",
        f"{len(rows)} data sets, 1 to 4 components",
        {"largest difference": worst},
        Grid(["q", "eigenvalues", "loadings (Q Q*)"], rows),
    )


CLAIMS = [
    Claim(
        "zh-figure-1",
        "ZH",
        "kernel components on one and on two C-shapes",
        "one shape is captured precisely; two are mixed",
        figure_1,
    ),
    Claim(
        "zh-figure-2",
        "ZH",
        "a mixture tells two C-shapes apart",
        "separated after 3 iterations from a random start",
        figure_2,
        DIFFERS,
    ),
    Claim(
        "zh-limit",
        "ZH",
        "the limiting distance, eqs. 12 and 13",
        "rho times the distance tends to that to the subspace",
        limiting_distance,
    ),
    Claim("zh-em", "ZH", "EM finds the closed form", "the M-step's fixed point is eq. 9", em),
]
