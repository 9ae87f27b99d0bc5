"""The explorer: server CPU per call, drags that are drawn, the first map of a CSV, a million points in Chromium, the size of the page."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks._timing import Row, sized

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def table_with_holes() -> Any:
    """2,000 rows and 40 columns of six latents, a tenth of the cells missing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6)) @ rng.normal(size=(6, 40)) + 0.3 * rng.normal(size=(2000, 40))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def process_cpu(pid: int) -> float:
    """CPU seconds of a process until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Command:
    """`gramian explore FILE`, and calls of its verbs."""

    def __init__(self, path: str) -> None:
        started = time.perf_counter()
        command = [sys.executable, "-m", "gramian", "explore", path, "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.start_wall, self.start_cpu = time.perf_counter() - started, process_cpu(self.process.pid)
        self.base, self.token = self.url.split("/?token=")
        self.line = http.client.HTTPConnection(self.base.removeprefix("http://"))  # kept open, as browsers do

    def call(self, verb: str, given: Any = None) -> Any:
        head = {"X-Gramian-Token": self.token, "Content-Type": "application/json"}
        self.line.request("POST", f"/call/{verb}", json.dumps(given or {}), head)
        return json.loads(self.line.getresponse().read())

    def wait(self, wanted: Any, every: float = 0.1) -> Any:
        while True:
            state = self.call("state")
            if wanted(state):
                return state
            time.sleep(every)

    def per_call(self, verb: str, inputs: list[Any], rounds: int = 7) -> float:
        """Median over rounds of the server's CPU milliseconds per call; the process sleeps otherwise."""
        found = []
        for _ in range(rounds):
            before = process_cpu(self.process.pid)
            for given in inputs:
                self.call(verb, given)
            found.append(1e3 * (process_cpu(self.process.pid) - before) / len(inputs))
        return median(found)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def run() -> Iterator[Row]:
    from gramian.explorer.bundle import STATIC, static_files
    from gramian.io import write_table

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        X, path = table_with_holes(), str(Path(folder) / "holes.csv")
        write_table(path, [f"c{j}" for j in range(40)], list(X.T))
        command = Command(path)
        state = command.wait(lambda s: "model" in s, 0.2)
        command.call("map")
        cpu = process_cpu(command.process.pid)
        yield Row(
            "P33",
            "`gramian explore`: the server listens, CPU",
            "-",
            "1 s",
            "-",
            f"CPU {command.start_cpu:.2f} s, wall {command.start_wall:.2f} s",
            command.start_cpu < 1,
        )
        yield Row(
            "P33", "first map of 2,000 x 40 with holes, CPU of the command", "-", "3 s", "-", f"{cpu:.2f} s", cpu <= 3
        )
        slow = {"fit", "whole", "fill"}  # the models that answer; clusters and limits need not be waited for
        command.wait(lambda s: not slow & {job["key"] for job in s["jobs"]}, 0.5)
        command.call("cancel")
        command.wait(lambda s: not s["jobs"], 0.5)
        time.sleep(3)
        state = command.call("state")
        q, rng = state["model"]["q"], np.random.default_rng(1)
        n = sized(200, 10)
        drags = [{"latent": rng.normal(size=q).tolist()} for _ in range(n)]
        fills = [{"cells": [None if np.isnan(v) else float(v) for v in X[i]]} for i in range(n)]
        for work, verb, inputs in (
            ("decode", "decode", drags),
            ("filled row", "fill", fills),
            ("odd row with its columns", "row", [{"row": i} for i in range(n)]),
        ):
            took = command.per_call(verb, inputs)
            yield Row("P33", f"{work}, server CPU per call", "-", "3 ms", "1 ms", f"{took:.2f} ms", took <= 3)
        yield from _drags(command)
        command.close()
        yield from _many_points(folder)
    own = sum(len(content) for content, _ in static_files().values()) + (STATIC / "index.html").stat().st_size
    yield Row("P33", "the page, all of it our own", "-", "150 kB", "-", f"{own / 1e3:.0f} kB", own < 150_000)


def _browser(manager: Any) -> Any:
    return manager.chromium.launch(
        executable_path=shutil.which("chromium") or shutil.which("chromium-browser"), args=FLAGS
    )


def _drags(command: Command) -> Iterator[Row]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    with sync_playwright() as manager:
        browser = _browser(manager)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(command.url)
        page.locator("[data-panel=map][data-latent]").wait_for(timeout=60_000)
        page.wait_for_timeout(1000)
        panel = page.locator("[data-panel=map]")
        box = panel.locator("canvas.over").bounding_box()
        before, cpu = int(panel.get_attribute("data-decoded")), process_cpu(command.process.pid)
        x, y = box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"]
        page.mouse.move(x, y)
        page.mouse.down()
        for k in range(60):
            page.mouse.move(x + 4 * k + 4, y + 2 * k + 2)
            page.wait_for_timeout(16)
        page.mouse.up()
        page.wait_for_timeout(500)
        drawn = int(panel.get_attribute("data-decoded")) - before
        last = page.evaluate("new URLSearchParams(location.hash.slice(1)).get('latent').split(',').map(Number)")
        same = np.allclose([float(v) for v in panel.get_attribute("data-latent").split()], last, rtol=1e-3, atol=1e-6)
        used = 1e3 * (process_cpu(command.process.pid) - cpu) / max(drawn, 1)
        found = f"{drawn} drawn, the last {'too' if same else 'NOT'}; {used:.1f} ms of server CPU each"
        yield Row(
            "P33",
            "60 moves of the pointer in Chromium",
            "-",
            "55 drawn, the last always",
            "60",
            found,
            drawn >= 55 and same,
        )
        browser.close()


def _many_points(folder: str) -> Iterator[Row]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    rng, n = np.random.default_rng(0), sized(1_000_000, 30_000)
    np.save(
        Path(folder) / "many.npy", rng.normal(size=(n, 2)) @ rng.normal(size=(2, 4)) + 0.1 * rng.normal(size=(n, 4))
    )
    command = Command(str(Path(folder) / "many.npy"))
    command.wait(lambda s: "model" in s)
    command.call("cancel")
    with sync_playwright() as manager:
        browser = _browser(manager)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(command.url)
        page.locator(f"[data-panel=map][data-points='{n}']").wait_for(timeout=120_000)
        page.wait_for_timeout(3000)
        box = page.locator("[data-panel=map] canvas.over").bounding_box()
        page.locator("[data-panel=map] [data-tool=pan]").click()
        page.evaluate(
            "window.frames_ = 0; window.stop_ = false; (function f() { window.frames_ += 1; if (!window.stop_) requestAnimationFrame(f); })()"
        )
        page.mouse.move(box["x"] + 100, box["y"] + 200)
        page.mouse.down()
        before, started = page.evaluate("window.frames_"), time.perf_counter()
        for k in range(40):
            page.mouse.move(box["x"] + 100 + 5 * k, box["y"] + 200 + k)
        frames, took = page.evaluate("window.frames_") - before, time.perf_counter() - started
        drawn = int(page.locator("[data-panel=map]").get_attribute("data-drawn"))
        page.mouse.up()
        painter = page.locator("[data-panel=map]").get_attribute("data-painter")
        browser.close()
    command.close()
    rate = frames / took
    yield Row(
        "P33",
        f"{n:,} points panned in headless Chromium without a GPU ({painter}; as many as there is time for while it moves)",
        "-",
        "30 frames per second",
        "-",
        f"{rate:.0f} frames per second, the last of {drawn:,} points; all when it rests",
        rate > 30,
    )


if __name__ == "__main__":
    for row in run():
        print(row.work, "|", row.found, "|", row.holds, flush=True)
