"""What latents of the prior decode to, and noise that all rows share: ``GRAMIAN_DATA=... python -m experiments.way_back [--write]``.

Off the data: farther from every training row than 99 % of new rows are; 1,000 latents of N(0, I). Denoising: squared error of `reconstruct` over that of the best single
pre-image (smoother, ridge, fixed point), new rows with noise of some root mean squared deviations of the columns. ``--write`` puts the table into docs/choosing.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist

from experiments._page import write_block
from experiments._pictures import Pair, digits, faces, like_usps
from gramian import KernelPPCA
from gramian.datasets import make_moons

PAGE = Path(__file__).parents[1] / "docs" / "choosing.md"
METHODS = ("smoother", "ridge", "fixed_point")
NOISES = (0.0, 0.15, 0.4, 0.75, 1.5, 3.0)
"""None but 0 is one that the choice itself looks at."""


def moons(rng: np.random.Generator) -> Pair:
    """Two moons, 2 columns."""
    return make_moons(400, noise=0.05, random_state=rng)[0], make_moons(300, noise=0.05, random_state=rng)[0]


SETS: dict[str, Callable[[np.random.Generator], Pair]] = {
    "digits": digits,
    "like USPS": like_usps,
    "faces": faces,
    "two moons": moons,
}


def row(name: str, q: int | str) -> str:
    """A row of the table."""
    rng = np.random.default_rng(7)
    train, new = SETS[name](rng)
    start = time.process_time()
    model = KernelPPCA(q, random_state=0).fit(train)
    methods = {method: model._fitted_preimage(method) for method in METHODS}
    latents = rng.standard_normal((1000, model.n_components_))
    limit = np.quantile(cdist(new, train).min(axis=1), 0.99)

    def off(rows: np.ndarray) -> str:
        return f"{100 * np.mean(cdist(rows, train).min(axis=1) > limit):.1f} %"

    asked = time.process_time()
    cells = [off(model.inverse_transform(latents))]
    seconds = time.process_time() - asked
    cells += [off(model._decoded(methods["ridge"], model._gaussian.decode(latents)))]
    spread = np.sqrt(train.var(axis=0).mean())
    for noise in NOISES:
        rows = new + noise * spread * rng.standard_normal(new.shape)
        scores = model._map_scores(model._project(rows))
        best = min(np.square(model._decoded(method, scores) - new).sum() for method in methods.values())
        cells.append(f"{np.square(model.reconstruct(rows) - new).sum() / best:.2f}")
    told = f"| {name}, q = {model.n_components_} | {' | '.join(cells)} | {seconds:.1f} |"
    print(told, f"{time.process_time() - start:.0f} s", flush=True)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    head = " | ".join(f"noise {noise:g}" if noise else "clean" for noise in NOISES)
    lines = [
        f"| set | prior latents off the data | by ridge alone | {head} | s of CPU, first call |",
        "|---" * (4 + len(NOISES)) + "|",
        *(row(name, q) for name in given.sets for q in ("auto", 10, 40)),
    ]
    print("\n".join(lines))
    if given.write:
        write_block(PAGE, "way_back", lines)


if __name__ == "__main__":
    main()
