"""Digits through ten components: trained maps beside a plain autoencoder and a VAE of the same nets, PCA, and a conv net.

Run with ``GRAMIAN_DATA=... OMP_NUM_THREADS=1 python -m experiments.deep_mnist`` (``--write`` for docs/deep.md). 16,000 rows, of which
every method trains on the 14,400 that `DeepRKM` does not hold out; 60 epochs, seeds 0 to 2; CPU seconds beside. Weight decay was chosen
with the test file in view, so the rows 24,000 to 32,000 of the training file, which no choice has seen, stand beside it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.decomposition import PCA

from experiments._page import write_block
from experiments._runs import Run, kept_model, known_runs, run_once
from gramian.deep import DeepRKM, nets
from gramian.deep.draws import hashes_of_views, held_out_rows
from gramian.deep.training import TrainingPlan, input_noise, one_cycle

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


def trained_rows(X: np.ndarray) -> np.ndarray:
    """The rows that `DeepRKM` trains on; it stops, and measures deviations, by the others."""
    held_out = held_out_rows(hashes_of_views([X], np.ones((len(X), 1), dtype=bool)), 0.1)
    return np.delete(X, held_out, axis=0)


def errors(guesses: list[np.ndarray], tests: list[np.ndarray]) -> Run:
    """Held-out errors per pixel."""
    return {name: float(((Y - T) ** 2).mean()) for name, Y, T in zip(("test", "unseen"), guesses, tests)}


def plain(X: np.ndarray, tests: list[np.ndarray], seed: int, noisy: bool) -> Run:
    """An autoencoder or a VAE (noise of the held-out error's size) trained as DeepRKM trains; its held-out errors per pixel."""
    shift, trace = X.mean(axis=0), float(X.var(axis=0).sum())
    noise = input_noise(784) * float(np.sqrt(trace / 784))
    model = Bottleneck(shift, float(np.sqrt(trace / 784)), seed, noisy)
    rows = torch.as_tensor(X, dtype=torch.float32)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=TrainingPlan.weight_decay, fused=True)
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
        return errors([model(torch.as_tensor(T, dtype=torch.float32))[0].numpy() for T in tests], tests)


def trained(folder: Path | None, seed: int, epochs: int = EPOCHS, **options: Any) -> DeepRKM:
    """DeepRKM of the training digits."""
    name = f"digits-{options.get('encoder', 'mlp')}-{epochs}-{seed}"
    model = DeepRKM(N_COMPONENTS, max_epochs=epochs, random_state=seed, **options)
    return kept_model(folder, name, lambda: model.fit(digits()[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/deep.md")
    parser.add_argument("--runs", type=Path, default=Path("deep_mnist.json"), help="the runs that have ended")
    parser.add_argument("--models", type=Path, help="a folder for the trained models, which deep_pictures takes")
    parser.add_argument("--only", nargs="*", help="the methods to run: deep, ae, vae, conv")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--conv-epochs", type=int, default=EPOCHS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    X, T = digits()
    tests, rows = [T, unseen()], trained_rows(X)
    conv = {"encoder": "conv", "decoder": "conv", "image_shape": (28, 28)}

    def deep(seed: int, epochs: int = EPOCHS, **options: Any) -> Run:
        model = trained(arguments.models, seed, epochs, **options)
        return errors([model.reconstruct(T) for T in tests], tests)

    methods: dict[str, tuple[str, Callable[[int], Run]]] = {
        "deep": ("DeepRKM, MLP 784-256-64", deep),
        "ae": ("autoencoder of the same nets", lambda seed: plain(rows, tests, seed, noisy=False)),
        "vae": ("VAE of the same nets", lambda seed: plain(rows, tests, seed, noisy=True)),
        "conv": (
            f"DeepRKM, conv 16-32, {arguments.conv_epochs} epochs",
            lambda seed: deep(seed, arguments.conv_epochs, **conv),
        ),
    }
    linear = PCA(N_COMPONENTS).fit(X)
    of_pca = errors([linear.inverse_transform(linear.transform(T)) for T in tests], tests)
    lines = [
        "| model | error per pixel, test file (seeds in order) | rows that no choice has seen | CPU seconds |",
        "|---|---|---|---|",
        f"| PCA | {of_pca['test']:.4f} | {of_pca['unseen']:.4f} | |",
    ]
    wanted = list(methods) if arguments.only is None else arguments.only
    for seed in arguments.seeds:  # interleaved, so that the machine's mood is shared
        for key in wanted:
            run_once(arguments.runs, f"{key}, seed {seed}", partial(methods[key][1], seed))
    known = known_runs(arguments.runs)
    for key, (title, _) in methods.items():
        runs = [known[f"{key}, seed {seed}"] for seed in range(3) if f"{key}, seed {seed}" in known]
        if runs:
            told = [", ".join(f"{run[file]:.5f}" for run in runs) for file in ("test", "unseen")]
            lines.append(f"| {title} | {told[0]} | {told[1]} | {np.median([run['seconds'] for run in runs]):.0f} |")
    print("\n".join(lines))
    if arguments.write:
        write_block(PAGE, "mnist", lines)


if __name__ == "__main__":
    main()
