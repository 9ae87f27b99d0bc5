"""What must hold of trained maps whatever is trained, each as a figure: fixed maps, the frame, anchors, gauge, scale.

Run with ``OMP_NUM_THREADS=1 python -m experiments.deep_identities`` (``--write`` for docs/deep.md). Rows are the 8 x 8 digits of
scikit-learn; every figure is the worst of three seeds. geoopt, where it is installed, runs beside our Cayley-Adam.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits

from experiments._page import write_block
from gramian import KernelPPCA, MultiViewRKM
from gramian.deep import DeepRKM
from gramian.deep.anchors import whiten_codes
from gramian.deep.frame import CayleyAdam, RunningMoments, exact_moments, frame_of, principal_axes
from gramian.deep.objective import Completion, shares
from gramian.features import RandomFourier
from gramian.kernels import RBF

PAGE = Path(__file__).resolve().parents[1] / "docs" / "deep.md"
SEEDS, Q, BATCH, STEPS = range(3), 5, 64, 3000


def pixels() -> np.ndarray:
    """1,797 digits of 8 x 8 pixels in [0, 1]."""
    return np.asarray(load_digits().data / 16.0)


def fixed_net(seed: int, n_columns: int, n_features: int = 32) -> Any:
    """A net that nobody trains."""
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(n_columns, n_features), torch.nn.Tanh()).double()


def features(seed: int) -> np.ndarray:
    """Features of the digits by a fixed net."""
    with torch.no_grad():
        return np.asarray(fixed_net(seed, 64)(torch.as_tensor(pixels())).numpy())


def batches(F: np.ndarray, size: int, n_epochs: int, seed: int) -> Iterator[np.ndarray]:
    """Rows in a new order every epoch."""
    rng = np.random.default_rng(seed)
    for _ in range(n_epochs):
        order = rng.permutation(len(F))
        yield from (F[order[start : start + size]] for start in range(0, len(F), size))


def of_fixed_maps(kind: str, seed: int) -> float:
    """``max_epochs=0`` against `MultiViewRKM` with the same maps: the largest difference of latents and of a predicted view."""
    X = pixels()[:600]
    views = {"top": X[:, :32], "bottom": X[:, 32:]}
    fourier = RandomFourier(RBF(2.0), 40, random_state=seed)
    encoder = {"identity": "identity", "fourier": fourier, "net": [fixed_net(seed, 32), fixed_net(seed + 9, 32)]}[kind]
    decoder = "identity" if kind == "identity" else "mlp"
    deep = DeepRKM(Q, encoder=encoder, decoder=decoder, max_epochs=0, random_state=seed).fit(views)
    kernel = "linear" if kind == "identity" else deep.maps_
    plain = MultiViewRKM(Q, kernel=kernel, noise_variance="per-view", view_weights="balanced", random_state=seed).fit(
        views
    )
    top = {"top": views["top"]}
    latents = np.abs(deep.transform(top) - plain.transform(top)).max()
    return float(max(latents, np.abs(deep.predict_view(top, "bottom") - plain.predict_view(top, "bottom")).max()))


def of_stiefel(size: int, seed: int) -> float:
    """Eigenvalues of the rotated Cayley-Adam frame against those of the covariance, in units of the largest."""
    F = features(seed)
    running, way = RunningMoments([F.shape[1]]), CayleyAdam(Q)
    steps = list(batches(F, size, STEPS if size >= len(F) else STEPS // 25, seed))
    for i, rows in enumerate(steps):
        running.update(rows)
        way.step(running.scaled_covariance(), 1.0 - i / len(steps))
    exact = exact_moments(F, [F.shape[1]])
    truth = np.linalg.eigvalsh(exact.scaled_covariance())[::-1][:Q]
    return float(np.abs(frame_of(exact, way.axes).eigenvalues - truth).max() / truth[0])


def of_geoopt(seed: int) -> float:
    """tr UᵀCU after equal steps of our Cayley-Adam and of geoopt's Riemannian Adam, relative."""
    import geoopt

    F = features(seed)
    C = exact_moments(F, [F.shape[1]]).scaled_covariance()
    way, start = CayleyAdam(Q), CayleyAdam(Q)
    start.step(C, 1e-12)
    point = geoopt.ManifoldParameter(torch.as_tensor(start.axes.copy()), manifold=geoopt.Stiefel())
    optimiser = geoopt.optim.RiemannianAdam([point], lr=0.05)
    for i in range(STEPS):
        way.step(C, 1.0 - i / STEPS)
        optimiser.param_groups[0]["lr"] = 0.05 * (1.0 - i / STEPS)
        optimiser.zero_grad()
        (-0.5 * torch.trace(point.T @ torch.as_tensor(C) @ point)).backward()
        optimiser.step()
    ours, theirs = (float(np.trace(U.T @ C @ U)) for U in (way.axes, point.detach().numpy()))
    return abs(ours - theirs) / theirs


def of_running(seed: int) -> float:
    """The share of the leading variance that the axes of the running covariance miss."""
    F = features(seed)
    running = RunningMoments([F.shape[1]])
    for rows in batches(F, 256, 20, seed):
        running.update(rows)
    exact = exact_moments(F, [F.shape[1]]).scaled_covariance()
    axes = principal_axes(running.scaled_covariance(), Q)
    return float(1 - np.trace(axes.T @ exact @ axes) / np.linalg.eigvalsh(exact)[::-1][:Q].sum())


def of_anchors(share: float, seed: int) -> float:
    """sin² of the largest angle between scores over anchors and those of the exact dual."""
    X = np.random.default_rng(seed).permutation(pixels())[:1000] @ np.linalg.svd(pixels(), full_matrices=False)[2][:5].T
    kernel, m = RBF(4.0), int(share * 1000)
    codes = whiten_codes(kernel, torch.as_tensor(X[:m]), torch.as_tensor(X)).numpy()
    moments = exact_moments(codes, [m])
    axes = principal_axes(moments.scaled_covariance(), 3)
    ours = np.linalg.qr((codes - codes.mean(axis=0)) @ axes)[0]
    exact = np.linalg.qr(KernelPPCA(3, kernel=kernel, noise_variance=0.0, solver="eigh").fit(X).scores(X))[0]
    return float(1 - np.linalg.svd(ours.T @ exact, compute_uv=False).min() ** 2)


def of_gauge(seed: int) -> float:
    """The relative change of the loss when one encoder is multiplied by 10 and its decoder's input divided by 10."""
    F = features(seed)
    widths, found = [20, 12], []
    for scale in (1.0, 10.0):
        scaled = np.hstack([scale * F[:, :20], F[:, 20:]])
        moments = exact_moments(scaled, widths)
        frame = frame_of(moments, principal_axes(moments.scaled_covariance(), Q))
        completion = Completion(frame, widths, torch.zeros(1, dtype=torch.float64))
        rows = [torch.as_tensor(F[:, :20]), torch.as_tensor(F[:, 20:])]
        decoders = [lambda f, scale=scale: f / scale, lambda f: f]
        parts = shares(rows, torch.as_tensor(scaled), [((True, True), None)], completion, decoders, [1.0, 1.0], True)
        found.append(float(parts.loss(0.1, 1.0)))
    return abs(found[1] / found[0] - 1)


def of_scale(weight: float, seed: int) -> float:
    """tr C of the features after 100 epochs over that after one; or its inverse, whichever is larger."""
    X = pixels()[:400]
    options = {"rkm_weight": weight, "early_stopping": False, "hidden": (32,), "n_features": 16, "random_state": seed}
    first, last = (DeepRKM(Q, max_epochs=n, **options).fit(X).encode(X).var(axis=0).sum() for n in (1, 100))
    return float(max(last / first, first / last))


FIGURES: dict[str, tuple[str, Callable[[int], float]]] = {
    "`max_epochs=0`, identity = `MultiViewRKM`": ("1e-10", lambda seed: of_fixed_maps("identity", seed)),
    "`max_epochs=0`, random Fourier features = `MultiViewRKM`": ("1e-10", lambda seed: of_fixed_maps("fourier", seed)),
    "`max_epochs=0`, frozen nets = `MultiViewRKM`": ("1e-10", lambda seed: of_fixed_maps("net", seed)),
    '`frame="stiefel"`, rotated, full batch: Γ = Λ, of λ₁': ("1e-4", lambda seed: of_stiefel(10_000, seed)),
    f"the same by batches of {BATCH}": ("1e-4", lambda seed: of_stiefel(BATCH, seed)),
    "own Cayley-Adam = geoopt's, of the objective": ("1e-3", of_geoopt),
    "axes of the running covariance: leading variance missed": ("1e-4", of_running),
    "anchors, m = N: sin² to the exact dual": ("1e-10", lambda seed: of_anchors(1.0, seed)),
    "anchors, m = N / 10": ("1e-5", lambda seed: of_anchors(0.1, seed)),
    "one encoder times 10, its decoder's input by 1/10: change of the loss": ("1e-6", of_gauge),
    "tr C over 100 epochs, `rkm_weight=0`: largest factor": ("bounded", lambda seed: of_scale(0.0, seed)),
    "the same, `rkm_weight=1`": ("bounded", lambda seed: of_scale(1.0, seed)),
    "the same, `rkm_weight=10`": ("bounded", lambda seed: of_scale(10.0, seed)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/deep.md")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lines = ["| what must hold | asked | found, worst of 3 seeds | CPU seconds |", "|---|---|---|---|"]
    for title, (asked, figure) in FIGURES.items():
        if figure is of_geoopt and find_spec("geoopt") is None:
            continue
        begun = time.process_time()
        worst = max(figure(seed) for seed in SEEDS)
        lines.append(f"| {title} | {asked} | {worst:.1e} | {time.process_time() - begun:.0f} |")
        print(lines[-1], flush=True)
    if arguments.write:
        write_block(PAGE, "identities", lines)


if __name__ == "__main__":
    main()
