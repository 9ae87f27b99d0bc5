"""The widget in JupyterLab and in marimo, headless, where they are installed: beside this Python, or beside the one that GRAMIAN_NOTEBOOKS names."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

PYTHON = os.environ.get("GRAMIAN_NOTEBOOKS", sys.executable)
CODE = """import gramian
from sklearn.datasets import load_iris
X = load_iris().data
widget = gramian.explore(gramian.PPCA(2).fit(X), X)
"""


def needed(module):
    """Skip where a home of widgets is not installed."""
    try:
        found = subprocess.run([PYTHON, "-c", f"import {module}, anywidget, sklearn"], capture_output=True, text=True)
    except OSError as error:
        pytest.skip(f"{PYTHON}: {error.strerror}")
    if found.returncode:
        pytest.skip(f"{module} does not run in {PYTHON}: {found.stderr.strip().splitlines()[-1]}")


@pytest.fixture
def started(tmp_path):
    """Start a server in a folder of its own; it is ended afterwards."""
    running = []

    def start(command, url):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path)}
        if sys.executable != PYTHON:  # the packages of that Python, the source of this one
            env["PYTHONPATH"] = os.pathsep.join(
                path for path in sys.path if "site-packages" not in path and path.endswith("src")
            )
        with (tmp_path / "server.log").open("wb") as log:
            running.append(
                subprocess.Popen([PYTHON, *command], cwd=tmp_path, env=env, stdout=log, stderr=subprocess.STDOUT)
            )
        for _ in range(1200):
            try:
                return urllib.request.urlopen(url, timeout=5).status
            except OSError:
                assert running[-1].poll() is None, "the server ended"
                time.sleep(0.1)
        raise AssertionError("the server does not answer")

    yield start
    for process in running:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if running:  # shown by pytest where the test fails
        print((tmp_path / "server.log").read_text(errors="replace")[-8000:])


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def run_first_cell(page):
    """Run the first cell of JupyterLab. A run that comes before the kernel is connected is dropped without a word (a new cell
    is opened below), so wait for the kernel, and run again until the prompt says that the cell runs or has run."""
    first = page.locator(".jp-Notebook .jp-CodeCell").first
    first.wait_for(timeout=240_000)
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for(timeout=240_000)
    prompt = first.locator(".jp-InputPrompt")
    deadline = time.monotonic() + 120
    while not re.search(r"\[(\*|\d+)\]", prompt.inner_text()):
        assert time.monotonic() < deadline, "JupyterLab does not run the cell"
        first.locator(".cm-content").click()
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(1000)


def lives(page):
    """All panels of the data are there; a key moves the point and the row beside it follows; a row is chosen."""
    root = page.locator(".gramian")
    page.locator(".gramian[data-state=ready]").wait_for(timeout=240_000)
    for name in ("map", "table", "odd", "evidence", "samples", "columns"):
        page.locator(f"[data-panel={name}]").wait_for()
    page.locator("[data-panel=map][data-latent]").wait_for()
    before = page.locator("[data-panel=map]").get_attribute("data-latent")
    page.locator("[data-panel=map] canvas.over").focus()
    page.keyboard.press("ArrowUp")
    deadline = time.monotonic() + 120
    while page.locator("[data-panel=map]").get_attribute("data-latent") == before:
        assert time.monotonic() < deadline, "the row does not follow the point"
        page.wait_for_timeout(50)
    page.locator("[data-panel=table] tbody th button").first.click()
    page.locator("[data-panel=odd] .why h3").wait_for()
    assert "disconnected" not in root.get_attribute("class")


def test_the_widget_lives_in_jupyterlab(chromium, started, tmp_path):
    needed("jupyterlab")
    needed("ipykernel")
    cell = {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": CODE + "widget",
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": [cell], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "look.ipynb").write_text(json.dumps(notebook))
    port = free_port()
    options = [
        "--no-browser",
        f"--port={port}",
        "--ServerApp.token=here",
        f"--ServerApp.root_dir={tmp_path}",
        "--allow-root",
    ]
    started(["-m", "jupyterlab", *options], f"http://127.0.0.1:{port}/api")
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(120_000)  # of a busy machine
    page = context.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)) if "gramian" in str(error) else None)
    page.goto(f"http://127.0.0.1:{port}/lab/tree/look.ipynb?token=here")
    run_first_cell(page)
    lives(page)
    assert wrong == []
    context.close()


def test_the_widget_lives_in_marimo(chromium, started, tmp_path):
    needed("marimo")
    lines = "".join(f"    {line}\n" for line in CODE.strip().splitlines())
    app = f"import marimo\n\napp = marimo.App()\n\n\n@app.cell\ndef _():\n{lines}    widget\n    return\n\n\nif __name__ == '__main__':\n    app.run()\n"
    (tmp_path / "look.py").write_text(app)
    port = free_port()
    command = ["-m", "marimo", "run", str(tmp_path / "look.py"), "--headless", "--no-token", "--port", str(port)]
    started(command, f"http://127.0.0.1:{port}/health")
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(120_000)  # of a busy machine
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{port}/")
    lives(page)
    context.close()
