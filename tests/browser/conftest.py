"""A real Chromium, a real server, small tables. Every test also fails on an error in the console or a request to anywhere else."""

import shutil
import time

import numpy as np
import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/browser" in str(item.path).replace("\\", "/"):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as manager:
        browser = manager.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def shops():
    """Ten years of months: two views, a season, holes, a category."""
    rng = np.random.default_rng(0)
    t, z = np.arange(120), rng.normal(size=(120, 2))
    season = np.sin(t * np.pi / 6)
    columns = {"month": np.array([f"{2010 + k // 12}-{k % 12 + 1:02d}-01" for k in t], dtype=object)}
    for i, name in enumerate(("north", "south", "west")):
        columns[f"sales {name}"] = 100 + 20 * season + 0.3 * t + 3 * rng.normal(size=120) + 8 * z[:, i % 2]
    for i, name in enumerate(("rain", "sun")):
        columns[f"weather {name}"] = 10 + 3 * season * (1 - 2 * i) + z[:, i] + 0.5 * rng.normal(size=120)
    columns["sales south"][[4, 9, 30]] = np.nan
    columns["sales north"][60] += 60  # odd
    return columns


@pytest.fixture(scope="session")
def served():
    """Open a session behind a real server, once per table; wait until everything is fitted."""
    from gramian.explorer import session_of
    from gramian.explorer.server import Server

    servers = {}

    def open_server(name, given, wait=True):
        if name not in servers:
            session = session_of(None, given)
            session.title = name
            server = servers[name] = Server(session).in_background()
            while not server.started:
                time.sleep(0.01)
            if wait:
                assert session.jobs.wait(600)
                session.title = name
        return servers[name]

    yield open_server
    for server in servers.values():
        server.close()


@pytest.fixture
def page_of(chromium, served):
    """A page of its own context, ready; errors and strange requests are counted."""
    made, wrong = [], []

    def open_page(url, width=1280, height=900, scheme="light", ready=True):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True
        )
        page = context.new_page()
        page.set_default_timeout(120_000)  # of a busy machine
        made.append(context)
        own = url.split("/?")[0]
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on(
            "console", lambda message: wrong.append(f"console: {message.text}") if message.type == "error" else None
        )
        page.on("dialog", lambda dialog: (wrong.append("dialog"), dialog.dismiss()))
        page.on(
            "request",
            lambda r: None if r.url.startswith((own, "data:", "blob:")) else wrong.append(f"request: {r.url}"),
        )
        page.goto(url)
        if ready:
            page.locator("body[data-state=ready]").wait_for()
            page.locator("[data-panel=table][data-rows]").wait_for()
        return page

    open_page.expected = []
    yield open_page
    for context in made:
        context.close()
    assert [text for text in wrong if not any(part in text for part in open_page.expected)] == []


@pytest.fixture(scope="session")
def shops_server(served):
    return served("shops", shops())


@pytest.fixture
def shop(page_of, shops_server):
    """The page of the shops, all panels there."""
    return page_of(shops_server.url)
