"""What a person does on the page, in a real Chromium."""

import http.server
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

PANELS = ("map", "table", "odd", "evidence", "samples", "views", "series", "clusters", "columns")


def panel(page, name):
    return page.locator(f"[data-panel={name}]")


def stage(page):
    """The map's canvas, its box inside the window."""
    canvas = panel(page, "map").locator("canvas.over")
    canvas.scroll_into_view_if_needed()
    return canvas, canvas.bounding_box()


def latent(page):
    return [float(v) for v in panel(page, "map").get_attribute("data-latent").split()]


def until(wanted, seconds=120.0):
    """Wait until something is true: locators say nothing of numbers."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if wanted():
            return True
        time.sleep(0.03)
    return False


def test_every_panel_that_the_data_allow_is_there(shop):
    for name in PANELS:
        panel(shop, name).wait_for()
    assert shop.locator("[data-panel]").count() == len(PANELS)
    assert panel(shop, "map").get_attribute("data-points") == "120"


def test_sixty_moves_are_followed_and_the_last_one_always(shop):
    until(lambda: panel(shop, "map").get_attribute("data-latent"))
    _, box = stage(shop)
    x, y = box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"]
    before = int(panel(shop, "map").get_attribute("data-decoded"))
    shop.mouse.move(x, y)
    shop.mouse.down()
    counted = "(n) => Number(document.querySelector('[data-panel=map]').dataset.decoded) >= n"
    for k in range(60):  # as fast as answers come; benchmarks/bench_explore.py moves at 60 per second, on quiet cores
        shop.mouse.move(x + 4 * k + 4, y + 2 * k + 2)
        shop.wait_for_function(counted, arg=before + k + 1)
    for k in range(60, 120):  # faster than answers come: moves in between may be left out, never the last
        shop.mouse.move(x + 2 * k, y + k)
    shop.mouse.up()
    expected = "new URLSearchParams(location.hash.slice(1)).get('latent').split(',').map(Number)"
    assert until(lambda: latent(shop) == pytest.approx(shop.evaluate(expected), rel=1e-4))
    shop.wait_for_timeout(300)
    last = shop.evaluate(expected)
    assert latent(shop) == pytest.approx(last, rel=1e-4)
    assert last[0] != 0
    drawn = int(panel(shop, "map").get_attribute("data-decoded")) - before
    assert 60 < drawn <= 120
    shown = panel(shop, "map").locator(".cells dd b").first.inner_text()
    assert float(shown) > 0


def test_the_decoded_row_is_that_of_the_point(shop, shops_server):
    until(lambda: panel(shop, "map").get_attribute("data-latent"))
    session = shops_server.sessions.get(shops_server.sessions.first)
    row = session.fitted.model.inverse_transform(np.array([latent(shop)]))
    expected = [column[0] for column in session.data.prepare.columns(row)]
    texts = panel(shop, "map").locator(".cells dd b").all_inner_texts()
    assert [float(text) for text in texts] == pytest.approx(expected, rel=2e-3)


def test_a_lasso_selects_rows_and_says_what_sets_them_apart(shop):
    shop.get_by_role("radio", name="Lasso").click()
    _, box = stage(shop)
    corners = [(0.02, 0.02), (0.5, 0.02), (0.5, 0.98), (0.02, 0.98)]
    places = [(box["x"] + a * box["width"], box["y"] + b * box["height"]) for a, b in corners]
    shop.mouse.move(*places[0])
    shop.mouse.down()
    for place in [*places[1:], places[0]]:
        shop.mouse.move(*place, steps=6)
    shop.mouse.up()
    assert until(lambda: int(panel(shop, "map").get_attribute("data-selected") or 0) > 20)
    selected = int(panel(shop, "map").get_attribute("data-selected"))
    assert selected < 110
    assert panel(shop, "map").locator(".effects li").count() > 2
    panel(shop, "table").get_by_label("Which rows").select_option("selected")
    assert until(lambda: panel(shop, "table").get_attribute("data-rows") == str(selected))
    url = shop.url
    assert "polygon=" in url
    shop.reload()
    assert until(lambda: panel(shop, "map").get_attribute("data-selected") == str(selected))


def test_the_oddest_row_says_which_column_is_responsible(shop):
    panel(shop, "odd").locator(".oddest button").first.click()
    assert until(lambda: panel(shop, "odd").locator(".responsible li").count() > 0)
    assert "2015-01-01" in panel(shop, "odd").locator(".why h3").inner_text()
    assert panel(shop, "odd").locator(".responsible .name").first.inner_text() == "sales north"
    assert "row=60" in shop.evaluate("location.href")


def test_a_cell_is_edited_emptied_filled_and_undone(shop):
    cell = panel(shop, "table").locator("td[data-place='2 sales west']")
    before = cell.inner_text()
    cell.dblclick()
    shop.keyboard.type("123.5")
    shop.keyboard.press("Enter")
    assert until(lambda: cell.inner_text() == "123.5")
    assert "edited" in cell.get_attribute("class")
    cell.focus()
    shop.keyboard.press("Delete")
    assert until(lambda: "filled" in cell.get_attribute("class"))
    cell.hover()
    assert until(lambda: "90 %" in shop.locator(".tip").inner_text())
    shop.get_by_role("button", name="Undo").click()
    assert until(lambda: cell.inner_text() == "123.5")
    shop.get_by_role("button", name="Undo").click()
    assert until(lambda: cell.inner_text() == before)


def test_a_cell_that_is_not_a_number_is_refused_in_words(shop, page_of):
    page_of.expected += ["status of 422"]  # the browser itself notes it
    cell = panel(shop, "table").locator("td[data-place='1 sales west']")
    cell.dblclick()
    shop.keyboard.type("many")
    shop.keyboard.press("Enter")
    message = shop.locator(".message")
    message.wait_for()
    assert "'many' is not a number" in message.inner_text()


def test_dragging_q_moves_all_panels(shop):
    slider = panel(shop, "evidence").locator("[data-choose=q]")
    slider.focus()
    now = int(slider.input_value())
    shop.keyboard.press("ArrowLeft")
    assert until(lambda: (panel(shop, "map").get_attribute("data-axes") or "").endswith(f" {now - 1}"))
    shop.get_by_role("button", name="Undo").click()
    assert until(lambda: panel(shop, "map").get_attribute("data-axes").endswith(f" {now}"))


def test_samples_are_drawn_again(shop):
    samples = panel(shop, "samples")
    assert until(lambda: samples.locator("tbody tr").count() == 8)
    before = samples.locator("tbody").inner_text()
    samples.get_by_role("button", name="Again").click()
    assert until(lambda: samples.locator("tbody").inner_text() != before)


def test_views_are_predicted_and_chosen(shop):
    views = panel(shop, "views")
    assert until(lambda: views.get_attribute("data-view") == "sales")
    views.get_by_label("predict").select_option("weather")
    assert until(lambda: views.get_attribute("data-view") == "weather")
    assert views.locator("dt").all_inner_texts() == ["weather rain", "weather sun"]


def test_the_horizon_of_a_series_is_dragged(shop):
    series = panel(shop, "series")
    assert until(lambda: series.get_attribute("data-steps") == "24")
    series.get_by_label("Steps ahead").fill("48")
    assert until(lambda: series.get_attribute("data-steps") == "48")
    assert series.locator("path.fan.next").count() == 2
    assert series.locator("path.fan.past").count() == 2


def test_a_cluster_selects_its_rows(shop):
    clusters = panel(shop, "clusters")
    assert until(lambda: clusters.get_attribute("data-clusters"))
    before = int(clusters.get_attribute("data-clusters"))
    panel(shop, "evidence").locator("[data-choose=clusters]").fill(str(before + 1))
    assert until(lambda: clusters.get_attribute("data-clusters") == str(before + 1))
    clusters.get_by_role("button", name="cluster 1", exact=True).click()
    assert until(lambda: int(panel(shop, "map").get_attribute("data-selected") or 0) > 10)
    shop.get_by_role("button", name="Undo").click()
    assert until(lambda: clusters.get_attribute("data-clusters") == str(before))


def test_a_column_colours_the_map_and_a_reload_brings_everything_back(shop):
    panel(shop, "columns").get_by_role("button", name="weather sun", exact=True).click()
    assert until(lambda: "weather sun" in panel(shop, "map").locator(".legend").inner_text())
    panel(shop, "map").get_by_label("across").select_option("1")
    panel(shop, "map").get_by_label("up").select_option("0")
    panel(shop, "table").get_by_role("button", name="sales west").click()
    panel(shop, "table").get_by_label("Rows after").click()
    assert until(lambda: "16 to 30" in panel(shop, "table").locator(".place").inner_text())
    shop.reload()
    shop.locator("body[data-state=ready]").wait_for()
    assert until(lambda: "weather sun" in panel(shop, "map").locator(".legend").inner_text())
    assert panel(shop, "map").get_by_label("across").input_value() == "1"
    assert panel(shop, "map").get_by_label("up").input_value() == "0"
    assert until(lambda: "16 to 30" in panel(shop, "table").locator(".place").inner_text())


def test_the_part_of_the_map_that_is_shown_comes_back_and_ellipses_too(shop):
    shop.get_by_role("button", name="Zoom in").click()
    shop.get_by_role("button", name="Ellipses").click()
    assert until(lambda: "zoom=" in shop.evaluate("location.href") and "ellipses=1" in shop.evaluate("location.href"))
    before = shop.evaluate("new URLSearchParams(location.hash.slice(1)).get('zoom')")
    shop.reload()
    shop.locator("body[data-state=ready]").wait_for()
    assert until(lambda: shop.get_by_role("button", name="Ellipses").get_attribute("aria-pressed") == "true")
    shop.wait_for_timeout(400)
    assert shop.evaluate("new URLSearchParams(location.hash.slice(1)).get('zoom')") == before
    shop.get_by_role("button", name="Show everything").click()
    assert until(lambda: "zoom=" not in shop.evaluate("location.href"))


def test_ten_values_have_ten_marks(page_of, served):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(200, 2))
    columns = {f"c{j}": z @ rng.normal(size=2) + 0.1 * rng.normal(size=200) for j in range(4)}
    columns["kind"] = np.array([f"k{i % 10}" for i in range(200)], dtype=object)
    page = page_of(served("ten", columns).url + "#colour=column%3Akind")
    legend = panel(page, "map").locator(".legend span")
    assert until(lambda: legend.count() == 10)
    look = "(n) => { const s = getComputedStyle(n); return [s.backgroundColor, s.borderTopStyle, s.color].join(); }"
    marks = {panel(page, "map").locator(".legend i").nth(k).evaluate(look) for k in range(10)}
    assert len(marks) == 10


def test_a_row_is_found_by_its_name(shop):
    box = shop.get_by_label("Search a row")
    box.fill("2013-05")
    shop.keyboard.press("Enter")
    assert until(lambda: "row=40" in shop.evaluate("location.href"))


def test_a_search_is_tuned_and_cancelled(shop):
    shop.get_by_role("button", name="Tune").click()
    shop.locator(".progress").wait_for()
    shop.get_by_role("button", name="Cancel").click()
    assert until(lambda: "Cancelled" in shop.locator(".message").inner_text())
    assert until(lambda: shop.locator("body").get_attribute("data-busy") == "false")


def test_a_kernel_is_chosen_and_undone(shop):
    shop.get_by_label("model", exact=True).select_option("rbf")
    assert until(lambda: " kernel " in (panel(shop, "map").get_attribute("data-axes") or ""))
    assert until(lambda: shop.locator("body").get_attribute("data-busy") == "false")
    shop.get_by_role("button", name="Undo").click()
    assert until(lambda: " ppca " in panel(shop, "map").get_attribute("data-axes"))


@pytest.mark.parametrize(
    ("what", "start"), [("code", b"# What the page"), ("filled", b"month,"), ("png", b"\x89PNG"), ("svg", b"<svg")]
)
def test_what_is_on_screen_is_saved(shop, tmp_path, what, start):
    until(lambda: panel(shop, "map").get_attribute("data-latent"))
    shop.locator("summary", has_text="Export").click()
    with shop.expect_download() as waiting:
        shop.locator(f"[data-export={what}]").click()
    waiting.value.save_as(tmp_path / "file")
    assert (tmp_path / "file").read_bytes().startswith(start)


def test_everything_is_reached_by_the_keyboard(shop):
    until(lambda: panel(shop, "map").get_attribute("data-latent"))
    reached = set()
    for _ in range(80):
        shop.keyboard.press("Tab")
        reached.add(
            shop.evaluate(
                "(document.activeElement.getAttribute('aria-label') || document.activeElement.textContent || '').slice(0, 30)"
            )
        )
        if any(name.startswith("Map of rows") for name in reached):
            break
    assert {"Tune", "Export", "Point"} <= reached
    before = latent(shop)
    shop.keyboard.press("ArrowRight")
    assert until(lambda: latent(shop)[0] > before[0])
    shop.keyboard.press("Enter")
    assert until(lambda: "row=" in shop.evaluate("location.href"))
    unnamed = shop.evaluate(
        "[...document.querySelectorAll('button, input, select, summary, a, [role=radio], [role=application], [role=img]')].filter((n) => !n.hidden && !(n.labels && n.labels.length) "
        "&& !n.getAttribute('aria-label') && !n.textContent.trim()).map((n) => n.outerHTML.slice(0, 80))"
    )
    assert unnamed == []


def test_the_dots_of_the_evidence_are_taken_by_the_keyboard(shop):
    until(lambda: panel(shop, "evidence").locator("[role=radio]").count() > 1)
    group = panel(shop, "evidence").locator("[role=radiogroup]").first
    assert "Held-out score" in group.get_attribute("aria-label")
    assert group.locator("[tabindex='0']").count() == 1  # one stop, whatever there is to choose
    chosen = group.locator("[aria-checked=true]")
    now = int(chosen.get_attribute("data-candidate"))
    panel(shop, "evidence").locator("h3").first.scroll_into_view_if_needed()
    slider = panel(shop, "evidence").locator("[data-choose=q]")
    slider.focus()
    shop.keyboard.press("Shift+Tab")
    assert shop.evaluate("document.activeElement.getAttribute('role')") == "radio"
    shop.keyboard.press("ArrowLeft")
    other = int(shop.evaluate("document.activeElement.dataset.candidate"))
    assert other < now
    assert f"{other} axes" in shop.evaluate("document.activeElement.getAttribute('aria-label')")
    shop.keyboard.press("Enter")
    assert until(lambda: (panel(shop, "map").get_attribute("data-axes") or "").endswith(f" {other}"))
    assert until(lambda: chosen.get_attribute("data-candidate") == str(other))
    assert shop.evaluate("document.activeElement.dataset.candidate") == str(other)  # drawn anew, still there
    shop.get_by_role("button", name="Undo").click()
    assert until(lambda: panel(shop, "map").get_attribute("data-axes").endswith(f" {now}"))


def test_the_chart_of_odd_rows_is_walked_by_the_keyboard(shop):
    until(lambda: panel(shop, "odd").locator(".oddest button").count() > 0)
    chart = panel(shop, "odd").get_by_role("application")
    chart.focus()
    row = "Number(new URLSearchParams(location.hash.slice(1)).get('row') ?? -1)"
    shop.keyboard.press("Home")
    assert until(lambda: shop.evaluate(row) == 60)  # the oddest
    assert until(lambda: "2015-01-01" in panel(shop, "odd").locator(".why h3").inner_text())
    shop.keyboard.press("ArrowDown")
    assert until(lambda: shop.evaluate(row) not in (60, -1))
    shop.keyboard.press("Escape")
    assert until(lambda: shop.evaluate(row) == -1)


def test_a_lasso_is_drawn_by_the_keyboard(shop):
    until(lambda: panel(shop, "map").get_attribute("data-latent"))
    panel(shop, "map").locator("canvas.over").focus()
    for keys in (["Shift+ArrowLeft"] * 4, ["Shift+ArrowUp"] * 4, ["Shift+ArrowRight"] * 4):
        for key in [*keys, " "]:
            shop.keyboard.press(key)
    shop.keyboard.press("l")
    assert until(lambda: int(panel(shop, "map").get_attribute("data-selected") or 0) > 3)
    shop.keyboard.press("Escape")
    assert until(lambda: "polygon=" not in shop.evaluate("location.href"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1600])
def test_nothing_runs_out_of_the_window_and_no_half_is_empty(page_of, shops_server, width, scheme):
    page = page_of(shops_server.url, width=width, scheme=scheme)
    for name in PANELS:
        panel(page, name).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    reach = page.evaluate(
        "Math.max(...[...document.querySelectorAll('[data-panel]')].map((n) => n.getBoundingClientRect().right))"
    )
    assert reach > 0.9 * width
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 26, 32)")


HOSTILE = "<img src=x onerror=alert(1)>"


def test_an_uploaded_file_with_hostile_names_and_cells_is_shown_as_text(page_of, shops_server, tmp_path):
    rows = [f'"{HOSTILE}","quo""te","\u202eright to left",b,"</script><script>alert(2)</script>"']
    rng = np.random.default_rng(0)
    for i in range(60):
        cells = [
            f"{rng.normal():.3f}",
            f"{rng.normal():.3f}",
            f"{i % 7}",
            ["=1+1", "<b>x</b>", "\u202eabc"][i % 3],
            f"{i * i % 11}",
        ]
        rows.append(",".join(cells))
    (tmp_path / "hostile.csv").write_text("\n".join(rows))
    page = page_of(shops_server.url)
    first = page.url
    page.locator("input[type=file]").set_input_files(tmp_path / "hostile.csv")
    page.get_by_role("heading", name="hostile.csv").wait_for()
    page.locator("body[data-state=ready]").wait_for()
    assert page.url.split("token=")[1][:20] != first.split("token=")[1][:20]
    assert until(lambda: page.get_by_role("button", name=HOSTILE).count() > 0)
    assert page.locator("img").count() == 0
    assert until(lambda: page.get_by_text("<b>x</b>").count() > 0)
    assert page.locator("[data-panel=table] b").count() == 0


def test_a_huge_cell_is_cut_and_a_wrong_file_is_refused_in_words(page_of, shops_server, tmp_path):
    page_of.expected += ["status of 4"]  # the browser itself notes it
    page = page_of(shops_server.url)
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 200)
    page.locator("input[type=file]").set_input_files(tmp_path / "picture.csv")
    assert until(lambda: "this is a picture" in page.locator(".message").inner_text())
    (tmp_path / "huge.csv").write_text(
        "a,b,c\n" + "\n".join(f"{i},{i % 5},{'x' * (10_000_000 if i == 3 else 3)}" for i in range(30))
    )
    page.locator("input[type=file]").set_input_files(tmp_path / "huge.csv")
    assert until(
        lambda: (
            page.get_by_role("heading", name="huge.csv").count() or "huge.csv" in page.locator(".message").inner_text()
        ),
    )


def test_another_site_gets_nothing(page_of, shops_server):
    """A page of another origin in the same browser: its fetches and forms are refused."""
    base, token = shops_server.url.split("/?token=")

    page_of.expected += ["request:", "CORS", "ERR_FAILED", "status of 403"]

    class Evil(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!DOCTYPE html><link rel=icon href=data:,><form method=post></form>")

        def log_message(self, *_):
            pass

    evil = http.server.HTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=evil.serve_forever, daemon=True).start()
    page = page_of(f"http://127.0.0.1:{evil.server_port}/", ready=False)
    fetched = page.evaluate(
        """async ([url, token]) => { try { const r = await fetch(url, {method: "POST", headers: {"X-Gramian-Token": token}, body: "{}"});
        return r.status; } catch { return "refused"; } }""",
        [f"{base}/call/state", token],
    )
    assert fetched == "refused"
    with page.expect_navigation() as going:
        page.evaluate(
            "([url]) => { const f = document.querySelector('form'); f.action = url; f.submit(); }",
            [f"{base}/call/undo?token={token}"],
        )
    assert going.value.status == 403
    evil.shutdown()
    evil.server_close()


def test_the_page_says_that_the_server_is_gone(page_of, tmp_path):
    (tmp_path / "table.csv").write_text("a,b,c\n" + "\n".join(f"{i},{i * i % 7},{i % 5}" for i in range(40)))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "gramian", "explore", str(tmp_path / "table.csv"), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
    page = page_of(process.stdout.readline().strip())
    page_of.expected += ["net::ERR_"]  # the browser itself notes that nobody answers
    process.kill()
    process.communicate()
    page.locator("body.disconnected").wait_for()
    assert "Disconnected" in page.locator(".message").inner_text()


def test_an_answer_that_breaks_off_counts_as_lost(page_of, shops_server):
    page = page_of(shops_server.url)
    page.route("**/call/*", lambda route: route.fulfill(status=200, content_type="application/json", body='{"rows": ['))
    page.locator("body.disconnected").wait_for()
    page.unroute("**/call/*")
    page.locator("body:not(.disconnected)").wait_for()


def test_a_table_that_cannot_be_read_fails_in_words(page_of, served, tmp_path):
    (tmp_path / "bad.csv").write_text("a,a\n1,2\n3,4\n")
    page = page_of(served("bad.csv", str(tmp_path / "bad.csv")).url, ready=False)
    page.locator("body[data-state=failed]").wait_for()
    assert "duplicate column names" in page.locator(".empty").inner_text()


def test_the_same_page_lives_in_a_widget(chromium, shops_server):
    """The module that a notebook loads, with the widget's own messages."""
    pytest.importorskip("anywidget")
    from gramian.explorer.bundle import style, widget_module
    from gramian.explorer.widget import widget_of

    session = shops_server.sessions.get(shops_server.sessions.first)
    widget = widget_of(session)
    answers = []
    widget.send = lambda message, buffers=None: answers.append(message)
    context = chromium.new_context(viewport={"width": 1000, "height": 900})
    page = context.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))

    def heard(message):
        answers.clear()
        widget.answer(message)
        return answers[0]

    page.expose_function("toPython", heard)
    start = (
        "import page from '/widget.js'; const listeners = [];"
        "const model = { on: (_, work) => listeners.push(work), get: () => '', set() {}, save_changes() {},"
        "send: async (message) => { if (window.silent) return; const answer = await window.toPython(message); listeners.forEach((work) => work(answer)); } };"
        "page.render({ model, el: document.getElementById('cell') });"
    )
    html = f"<!DOCTYPE html><style>{style()}</style><div id=cell></div><script type=module>{start}</script>"
    page.route("http://notebook.test/", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.route(
        "http://notebook.test/widget.js",
        lambda route: route.fulfill(body=widget_module(), content_type="text/javascript"),
    )
    page.goto("http://notebook.test/")
    page.locator(".gramian[data-state=ready]").wait_for(timeout=120_000)
    for name in PANELS:
        panel(page, name).wait_for()
    assert until(lambda: panel(page, "map").get_attribute("data-latent"))
    before = latent(page)
    panel(page, "map").locator("canvas.over").focus()
    page.keyboard.press("ArrowUp")
    assert until(lambda: latent(page)[1] > before[1])
    page.evaluate("window.silent = true")  # a kernel that is busy, or gone
    page.locator(".gramian.disconnected").wait_for()
    assert "kernel does not answer" in page.locator(".message").inner_text()
    page.evaluate("window.silent = false")
    assert until(lambda: page.locator(".gramian.disconnected").count() == 0)
    assert wrong == []
    context.close()
    widget.comm and widget.comm.close()
