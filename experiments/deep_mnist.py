"""Digits through ten components: trained maps beside a plain autoencoder and a VAE of the same nets, PCA, and a conv net.

Run with ``GRAMIAN_DATA=... OMP_NUM_THREADS=1 python -m experiments.deep_mnist`` (``--write`` for docs/deep.md). 16,000 rows,
60 epochs, seeds 0 to 2; CPU seconds beside. Weight decay was chosen with the test file in view, so the rows 24,000 to 32,000 of
the training file, which no choice has seen, stand beside it.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.decomposition import PCA

from experiments._page import write_block
from gramian.deep import DeepRKM, nets
from gramian.deep.training import WEIGHT_DECAY, input_noise, one_cycle

PAGE = Path(__file__).resolve().parents[1] / "docs" / "deep.md"
N_TRAIN, N_COMPONENTS, EPOCHS, BATCH, RATE = 16_000, 10, 60, 256, 2e-3


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Training and held-out pixels in [0, 1]."""
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "mnist.npz") as file:
        return file["x_train"][:N_TRAIN] / 255.0, file["x_test"] / 255.0


def unseen() -> np.ndarray:
    """Digits that no choice of this package has seen."""
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "mnist.npz") as file:
        return np.asarray(file["x_train"][24_000:32_000] / 255.0)


class Bottleneck(torch.nn.Module):
    """The nets of DeepRKM with a linear bottleneck in the frame's place; ``noisy``: a variational one."""

    def __init__(self, shift: np.ndarray, scale: float, seed: int, noisy: bool) -> None:
        super().__init__()
        spec, wiring = nets.MLP(), nets.Wiring(784, 64)
        self.encoder = nets.build(spec, "encoder", wiring, shift, scale, seed)
        self.decoder = nets.build(spec, "decoder", wiring, shift, scale, seed + 1)
        self.noisy = noisy
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.down = torch.nn.Linear(64, (2 if noisy else 1) * N_COMPONENTS)
            self.up = torch.nn.Linear(N_COMPONENTS, 64)

    def forward(self, x: Any) -> tuple[Any, Any]:
        code = self.down(self.encoder(x))
        penalty = torch.zeros(())
        if self.noisy:
            code, log_variance = code.chunk(2, dim=1)
            penalty = 0.5 * (code**2 + log_variance.exp() - 1 - log_variance).sum(dim=1).mean()
            if self.training:
                code = code + torch.exp(0.5 * log_variance) * torch.randn_like(code)
        return self.decoder(self.up(code)), penalty


def plain(X: np.ndarray, tests: list[np.ndarray], seed: int, noisy: bool) -> list[float]:
    """An autoencoder or a VAE (noise of the held-out error's size) trained as DeepRKM trains; its held-out errors per pixel."""
    shift, trace = X.mean(axis=0), float(X.var(axis=0).sum())
    noise = input_noise(784) * float(np.sqrt(trace / 784))
    model = Bottleneck(shift, float(np.sqrt(trace / 784)), seed, noisy)
    rows = torch.as_tensor(X, dtype=torch.float32)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=WEIGHT_DECAY, fused=True)
    n_batches = -(-len(X) // BATCH)
    torch.manual_seed(seed)
    model.train()
    for epoch in range(EPOCHS):
        order = np.random.default_rng([seed, epoch]).permutation(len(X))
        for i, part in enumerate(np.array_split(order, n_batches)):
            rate = one_cycle(epoch * n_batches + i, EPOCHS * n_batches)
            for group in optimiser.param_groups:
                group["lr"] = RATE * rate
            batch = rows[torch.as_tensor(part)]
            answer, penalty = model(batch + rate * noise * torch.randn_like(batch))
            # a Gaussian of variance 0.01 per pixel: |x - y|² / (2 · 0.01) + KL, in units of the variance
            loss = (((answer - batch) ** 2).sum(dim=1).mean() + 0.02 * penalty) / trace
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    model.eval()
    with torch.no_grad():
        return [float(((model(torch.as_tensor(T, dtype=torch.float32))[0].numpy() - T) ** 2).mean()) for T in tests]


def trained(X: np.ndarray, tests: list[np.ndarray], seed: int, **options: Any) -> list[float]:
    """DeepRKM's held-out errors per pixel."""
    model = DeepRKM(N_COMPONENTS, max_epochs=EPOCHS, random_state=seed, **options).fit(X)
    return [float(((model.reconstruct(T) - T) ** 2).mean()) for T in tests]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/deep.md")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--conv", action="store_true", help="the conv net too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    X, T = digits()
    tests = [T, unseen()]
    methods = {
        "DeepRKM, MLP 784-256-64": lambda seed: trained(X, tests, seed),
        "autoencoder of the same nets": lambda seed: plain(X, tests, seed, noisy=False),
        "VAE of the same nets": lambda seed: plain(X, tests, seed, noisy=True),
    }
    if arguments.conv:
        conv = {"encoder": "conv", "decoder": "conv", "image_shape": (28, 28)}
        methods["DeepRKM, conv 16-32"] = lambda seed: trained(X, tests, seed, **conv)
    linear = PCA(N_COMPONENTS).fit(X)
    of_pca = [((linear.inverse_transform(linear.transform(T)) - T) ** 2).mean() for T in tests]
    lines = [
        "| model | error per pixel, test file (seeds in order) | rows that no choice has seen | CPU seconds |",
        "|---|---|---|---|",
        f"| PCA | {of_pca[0]:.4f} | {of_pca[1]:.4f} | |",
    ]
    found: dict[str, list[tuple[list[float], float]]] = {name: [] for name in methods}
    for seed in range(arguments.seeds):
        for name, method in methods.items():  # interleaved, so that the machine's mood is shared
            begun = time.process_time()
            errors = method(seed)
            found[name].append((errors, time.process_time() - begun))
            print(name, seed, errors, f"{found[name][-1][1]:.0f} s", flush=True)
    for name, runs in found.items():
        told = [", ".join(f"{errors[i]:.5f}" for errors, _ in runs) for i in range(2)]
        seconds = np.median([second for _, second in runs])
        lines.append(f"| {name} | {told[0]} | {told[1]} | {seconds:.0f} |")
    print("\n".join(lines))
    if arguments.write:
        write_block(PAGE, "mnist", lines)


if __name__ == "__main__":
    main()
