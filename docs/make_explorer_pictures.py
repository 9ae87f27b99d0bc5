"""`python docs/make_explorer_pictures.py [FOLDER]`: the explorer as Chromium shows it, every panel, narrow and wide, light and dark.

Without a folder the few pictures of docs/explore.md and the README are made anew.
"""

from __future__ import annotations

import io
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

PICTURES = Path(__file__).parent / "pictures"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


def shops() -> dict[str, Any]:
    """Ten years of months: two views, a season, holes, an odd month."""
    rng = np.random.default_rng(0)
    t, z = np.arange(120), rng.normal(size=(120, 2))
    season = np.sin(t * np.pi / 6)
    columns: dict[str, Any] = {"month": np.array([f"{2010 + k // 12}-{k % 12 + 1:02d}-01" for k in t], dtype=object)}
    for i, name in enumerate(("north", "south", "west")):
        columns[f"sales {name}"] = 100 + 20 * season + 0.3 * t + 3 * rng.normal(size=120) + 8 * z[:, i % 2]
    for i, name in enumerate(("rain", "sun", "wind")):
        columns[f"weather {name}"] = 10 + 3 * season * (1 - 2 * (i % 2)) + z[:, i % 2] + 0.5 * rng.normal(size=120)
    columns["sales north"][60] += 45
    for name in list(columns)[1:]:
        columns[name][rng.random(120) < 0.05] = np.nan
    return columns


def served(given: Any, title: str) -> Any:
    from gramian.explorer import session_of
    from gramian.explorer.server import Server

    session = session_of(None, given)
    session.jobs.wait(300)
    session.title = title
    server = Server(session).in_background()
    while not server.started:
        time.sleep(0.01)
    return server


def small(shot: bytes, path: Path) -> None:
    """A picture of few colours and few bytes."""
    from PIL import Image

    Image.open(io.BytesIO(shot)).convert("RGB").quantize(80, kmeans=1, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    print(path, path.stat().st_size)


def opened(browser: Any, server: Any, state: str = "", width: int = 1280, scheme: str = "light") -> Any:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(f"{server.url}#{state}")
    page.locator("body[data-state=ready][data-busy=false]").wait_for(timeout=120_000)
    page.wait_for_timeout(1500)
    page.locator("body[data-busy=false]").wait_for(timeout=120_000)
    page.wait_for_timeout(500)
    return page


def main() -> None:
    from playwright.sync_api import sync_playwright

    from gramian.datasets import load_penguins

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    digits, table = served(None, "digits"), served(shops(), "shops.csv")
    birds = served(load_penguins(), "penguins.csv")
    with sync_playwright() as manager:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = manager.chromium.launch(executable_path=path, args=FLAGS)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for scheme in ("light", "dark"):
                for width in (390, 1280, 1600):
                    for name, server in (("digits", digits), ("shops", table)):
                        page = opened(browser, server, "row=60", width, scheme)
                        for panel in page.locator("[data-panel]").all():
                            kind = panel.get_attribute("data-panel")
                            panel.screenshot(path=folder / f"{name}_{kind}_{width}_{scheme}.png")
                        page.evaluate("scrollTo(0, 0)")
                        page.screenshot(path=folder / f"{name}_all_{width}_{scheme}.png")
                        page.close()
            return
        page = opened(browser, digits, "row=10")
        small(page.screenshot(), PICTURES / "explore_map.png")
        small(page.locator("[data-panel=samples]").screenshot(), PICTURES / "explore_samples.png")
        page.close()
        page = opened(browser, table, "row=60&only=holes&ellipses=1", 1280)
        page.locator("[data-panel=series][data-steps]").wait_for(timeout=120_000)
        page.locator("[data-panel=views][data-view]").wait_for(timeout=120_000)
        for kind in ("odd", "series", "table", "evidence", "views", "columns"):
            small(page.locator(f"[data-panel={kind}]").screenshot(), PICTURES / f"explore_{kind}.png")
        page.close()
        page = opened(browser, digits, "row=10&colour=digit", 1600, "dark")
        small(page.screenshot(), PICTURES / "explore_dark.png")
        page.close()
        page = opened(browser, birds, "", 1280)
        small(page.locator("[data-panel=clusters]").screenshot(), PICTURES / "explore_clusters.png")
        page.close()
        page = opened(browser, table, "row=60&ellipses=1", 390, "dark")
        small(page.screenshot(), PICTURES / "explore_narrow.png")
        browser.close()
    for server in (digits, table, birds):
        server.close()


if __name__ == "__main__":
    main()
