"""The pre-images side by side, and beside scikit-learn's: reconstruction, denoising, samples, time.

Run ``GRAMIAN_DATA=... python -m experiments.preimages [--write]``; ``--write`` puts the tables into docs/choosing.md.
All methods see the same model (kernel, number of components) and the same rows, on three random splits.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning

from experiments._page import write_block
from gramian import PPCA, KernelPPCA
from gramian.datasets import load_mnist, load_olivetti_faces, make_moons
from gramian.kernels import RBF
from gramian.preimage import KernelSmoother

PAGE = Path(__file__).parents[1] / "docs" / "choosing.md"
SPLITS = 3
METHODS = {
    "`smoother` (10 neighbours)": "smoother",
    "`smoother`, all points": KernelSmoother(n_neighbors=None),
    "`fixed_point`": "fixed_point",
    "`mds`": "mds",
    "`ridge`": "ridge",
    "`gradient`": "gradient",
}
ALPHAS = np.logspace(-8, 0, 9)


@dataclass(frozen=True)
class Data:
    title: str
    train: np.ndarray
    clean: np.ndarray
    noisy: np.ndarray
    length_scale: float
    n_components: int


def mnist(rng: np.random.Generator) -> Data:
    data = load_mnist()
    train = rng.choice(data.data, 1500, replace=False) / 255.0
    clean = rng.choice(data.data_test, 200, replace=False) / 255.0
    noisy = clean + 0.5 * rng.standard_normal(clean.shape)
    return Data("MNIST: 1500 digits, 784 pixels in [0, 1], noise 0.5 a pixel, q = 64", train, clean, noisy, 5.0, 64)


def olivetti(rng: np.random.Generator) -> Data:
    faces = load_olivetti_faces()
    x = faces.data / 255.0
    held_out = np.concatenate(
        [rng.choice(np.flatnonzero(faces.target == s), 2, False) for s in np.unique(faces.target)]
    )
    train, clean = np.delete(x, held_out, axis=0), x[held_out]
    noisy = clean + 0.2 * rng.standard_normal(clean.shape)
    return Data("Olivetti: 320 faces, 4096 pixels in [0, 1], noise 0.2 a pixel, q = 80", train, clean, noisy, 8.0, 80)


def moons(rng: np.random.Generator) -> Data:
    train = make_moons(400, noise=0.05, random_state=rng)[0]
    clean = make_moons(200, noise=0.0, random_state=rng)[0]
    noisy = clean + 0.15 * rng.standard_normal(clean.shape)
    return Data("Two moons: 400 points, 2 columns, noise 0.15, q = 8", train, clean, noisy, 0.5, 8)


def tuned_kernel_pca(data: Data) -> KernelPCA:
    """scikit-learn's inverse with the penalty that reconstructs a fifth of the training rows best."""
    parameters = {"kernel": "rbf", "gamma": 0.5 / data.length_scale**2, "fit_inverse_transform": True}
    part = len(data.train) // 5
    inside, outside = data.train[part:], data.train[:part]
    errors = []
    for alpha in ALPHAS:
        model = KernelPCA(data.n_components, alpha=alpha, **parameters).fit(inside)
        errors.append(np.square(model.inverse_transform(model.transform(outside)) - outside).sum())
    return KernelPCA(data.n_components, alpha=ALPHAS[int(np.argmin(errors))], **parameters)


def figures(data: Data, reconstruct: object, denoise: object, sample: object) -> list[float]:
    """Shares: of the variance lost, of the noise left, of the variance in samples; and milliseconds a point."""
    variance = np.square(data.clean - data.train.mean(axis=0)).sum()
    start = time.perf_counter()
    rebuilt = reconstruct(data.clean)
    seconds = time.perf_counter() - start
    lost = np.square(rebuilt - data.clean).sum() / variance
    left = np.square(denoise(data.noisy) - data.clean).sum() / np.square(data.noisy - data.clean).sum()
    drawn = sample().var(axis=0).sum() / data.train.var(axis=0).sum() if sample else np.nan
    return [lost, left, drawn, 1e3 * seconds / len(data.clean)]


def measure(make: object) -> tuple[str, dict[str, np.ndarray]]:
    found: dict[str, list[list[float]]] = {}
    for split in range(SPLITS):
        data = make(np.random.default_rng(split))
        for name, preimage in METHODS.items():
            model = KernelPPCA(
                data.n_components, kernel=RBF(data.length_scale), preimage=preimage, solver="eigh", random_state=split
            )
            model.fit(data.train)
            scores = model.scores(data.train)
            start = time.perf_counter()
            clone(model.preimage_).fit(data.train, kernel=model.kernel_, scores=scores)
            learned = time.perf_counter() - start
            row = figures(
                data,
                lambda X, model=model: model.reconstruct(X, kind="projection"),
                model.reconstruct,
                lambda model=model: model.sample(300),
            )
            found.setdefault(name, []).append([*row, learned])
        for name, model in {
            "scikit-learn, `alpha` tuned": tuned_kernel_pca(data),
            "scikit-learn, `alpha=1`": KernelPCA(**{**tuned_kernel_pca(data).get_params(), "alpha": 1.0}),
        }.items():
            plain = KernelPCA(**{**model.get_params(), "fit_inverse_transform": False})
            start = time.perf_counter()
            plain.fit(data.train)
            middle = time.perf_counter()
            model.fit(data.train)
            learned = max(0.0, (time.perf_counter() - middle) - (middle - start))

            def back(X: np.ndarray, model: KernelPCA = model) -> np.ndarray:
                return model.inverse_transform(model.transform(X))

            found.setdefault(name, []).append([*figures(data, back, back, None), learned])
    return data.title, {name: np.median(rows, axis=0) for name, rows in found.items()}


def reconstruction_lines(quick: bool = False) -> list[str]:
    """Held-out error of reconstruction with q components, over the variance: KernelPPCA(q) and PPCA(q), CPU beside."""
    from sklearn.datasets import load_digits

    X = load_digits().data[:500]
    train, new = X[:300], X[300:]
    total = np.square(new - train.mean(axis=0)).sum()
    lines = ["| digits, 300 rows | KernelPPCA | PPCA | CPU s |", "|---|---|---|---|"]
    for q in (10,) if quick else (2, 10, 30):
        cells, seconds = [], []
        for make in (KernelPPCA, PPCA):
            start = time.process_time()
            model = make(q).fit(train)
            cells.append(f"{np.square(model.reconstruct(new) - new).sum() / total:.3f}")
            seconds.append(time.process_time() - start)
        lines.append(f"| q = {q} | {' | '.join(cells)} | {seconds[0]:.1f}, {seconds[1]:.1f} |")
    return lines


def defaults(splits: int | None = None) -> str:
    """What `preimage="auto"` gives: samples of two moons, and what a second draw costs beside decoding (CPU)."""
    from sklearn.datasets import make_moons as sklearn_moons

    from gramian.single.preimage_choice import energy_distance

    distances, floor = [], []
    for seed in range(SPLITS if splits is None else splits):
        train, new = (sklearn_moons(n, noise=0.1, random_state=s)[0] for n, s in ((400, seed), (1000, 100 + seed)))
        distances.append(energy_distance(KernelPPCA(random_state=50 + seed).fit(train).sample(1000), new))
        floor.append(energy_distance(sklearn_moons(1000, noise=0.1, random_state=200 + seed)[0], new))
    model = KernelPPCA(10, random_state=0).fit(sklearn_moons(2000, noise=0.1, random_state=0)[0])
    Z = np.random.default_rng(0).standard_normal((25, 10))
    model.sample(25), model.inverse_transform(Z)
    costs = []
    for call in (lambda: model.sample(25), lambda: model.inverse_transform(Z)):
        start = time.process_time()
        for _ in range(20):
            call()
        costs.append((time.process_time() - start) / 20)
    return (
        f"Energy distance of 1,000 samples of two moons to 1,000 new rows: {np.mean(distances):.4f} "
        f"(new rows themselves {np.mean(floor):.4f}). A second `sample(25)` of 2,000 rows takes {1e3 * costs[0]:.1f} ms of CPU, "
        f"`inverse_transform` of 25 points {1e3 * costs[1]:.1f} ms."
    )


def table(title: str, rows: dict[str, np.ndarray]) -> str:
    lines = [
        f"**{title}**",
        "",
        "| method | variance lost | noise left | variance of samples | to learn | a point |",
        "|---|---|---|---|---|---|",
    ]
    for name, (lost, left, drawn, each, learned) in rows.items():
        shown = "" if np.isnan(drawn) else f"{100 * drawn:.0f} %"
        lines.append(
            f"| {name} | {100 * lost:.1f} % | {100 * left:.1f} % | {shown} | {learned:.2f} s | {each:.2f} ms |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the tables into docs/choosing.md")
    parser.add_argument("--defaults", action="store_true", help='only what preimage="auto" gives')
    given = parser.parse_args()
    write = given.write
    if given.defaults:
        print(defaults())
        return
    warnings.simplefilter("ignore", ConvergenceWarning)
    text = "\n\n".join(table(*measure(make)) for make in (mnist, olivetti, moons))
    print(text)
    if write:
        write_block(PAGE, "preimages", [text])


if __name__ == "__main__":
    main()
