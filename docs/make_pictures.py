"""Draw the pictures of the pages: run each page's code, and save what was drawn under the name that the page gives it.

    python docs/make_pictures.py [PAGE ...]

The code blocks of a page run in order in one namespace, so that a page reads as one session. Where an image of ``pictures/`` follows
a block, the figure of its last ``ax`` (or ``axes``) is saved there: what a page shows is what its code draws.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PAGES = ("plotting.md", "ppca.md")
BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\s*!\[[^\]]*\]\((?P<picture>pictures/[\w-]+\.png)\))?", flags=re.S)
FIRST = "pictures/first.png"
DPI = 100
LARGEST = 60_000


def blocks(page: str) -> list[tuple[str, str | None]]:
    """The code blocks of a page, each with the picture that follows it."""
    text = (FOLDER / page).read_text(encoding="utf-8")
    return [(match["code"], match["picture"]) for match in BLOCK.finditer(text)]


def run(page: str) -> Iterator[tuple[str, Any]]:
    """Run the blocks of a page in order; after each that has a picture, its name and its figure."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for code, picture in blocks(page):
        names.pop("ax", None), names.pop("axes", None)
        exec(compile(code, str(FOLDER / page), "exec"), names)
        if picture is not None:
            drawn = names["axes"][0] if "axes" in names else names["ax"]
            yield picture, drawn.figure


def save(figure: Any, path: Path) -> int:
    """The figure as a small PNG, with a palette where it would be large; the number of bytes."""
    from PIL import Image

    buffer = BytesIO()
    figure.savefig(buffer, dpi=DPI)
    picture = Image.open(buffer).convert("RGB")
    path.parent.mkdir(exist_ok=True)
    picture.save(path, optimize=True)
    if path.stat().st_size > LARGEST:
        picture.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    return path.stat().st_size


def first_picture() -> Any:
    """The picture that the README opens with: holes filled, a map of rows, a forecast, each with how sure it is."""
    import numpy as np
    from matplotlib.figure import Figure
    from sklearn.datasets import load_digits, load_iris

    from gramian import PPCA, RKMForecaster, plotting
    from gramian.datasets import make_mackey_glass, make_missing

    figure = Figure(figsize=(11, 3.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1.1, 1.3))
    digits = load_digits().data
    holes = make_missing(digits, 0.35, random_state=0)
    filled, std = PPCA(n_components=12).fit(holes).impute(holes, return_std=True)
    chosen = [5, 17, 26, 41]
    lines = [holes[chosen], filled[chosen], std[chosen] * 16 / std.max()]
    gap = np.full((8, 1), np.nan)
    tiles = [[np.hstack([row.reshape(8, 8), gap]) for row in line] for line in lines]
    mosaic = np.vstack([np.vstack([np.hstack(line), np.full((1, 9 * len(chosen)), np.nan)]) for line in tiles])
    left.imshow(np.ma.masked_invalid(mosaic), cmap="gray_r", vmin=0, vmax=16)
    left.set_facecolor("#f3d9c4")
    left.set_yticks([3.5, 12.5, 21.5], ["with holes", "filled", "uncertainty"])
    left.set_xticks([])
    left.spines[:].set_visible(False)
    left.tick_params(length=0)
    iris = load_iris()
    flowers = make_missing(iris.data, 0.1, random_state=0)
    rows = slice(None, None, 3)
    kinds = iris.target_names[iris.target]
    plotting.latent_scatter(PPCA(n_components=2).fit(flowers), flowers[rows], kinds[rows], ax=middle)
    series = make_mackey_glass(460) + 0.05 * np.random.default_rng(0).standard_normal(460)
    forecaster = RKMForecaster(lags=24, random_state=0).fit(series[:400])
    plotting.forecast_fan(forecaster, 60, past=series[300:400], actual=series[400:], ax=right)
    for box in [right.get_legend(), *figure.legends]:
        if box is not None:
            box.remove()
    for ax, title in ((left, "holes"), (middle, "structure"), (right, "forecasts")):
        ax.set_title(f"{title}, with uncertainty", fontsize="medium")
    return figure


def main() -> None:
    """Draw all pages, or those named; and the picture of the README."""
    if not sys.argv[1:] or "README.md" in sys.argv[1:]:
        print(f"{FIRST}: {save(first_picture(), FOLDER / FIRST) / 1000:.0f} kB")
    for page in [page for page in sys.argv[1:] if page != "README.md"] or ([] if sys.argv[1:] else PAGES):
        for picture, figure in run(page):
            print(f"{picture}: {save(figure, FOLDER / picture) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
