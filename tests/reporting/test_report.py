"""The report: every shape of table renders, nothing escapes the escaping, nothing is loaded from anywhere (REP-01,
REP-02)."""

import base64
import hashlib
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest

from gramian import PPCA, LatentImputer
from gramian.io.table_model import TableModel
from gramian.io.tables import read_table, write_table
from gramian.reporting import analysis, write_model_report, write_report
from gramian.reporting.blocks import Cell, Grid, Picture, Section, Text, cell_text, shorten
from gramian.reporting.glance import STRENGTH, verdict
from gramian.reporting.page import render, together
from gramian.reporting.pictures import picture
from gramian.reporting.row_drawings import near_the_best
from gramian.reporting.table_sections import shifted_means
from gramian.reporting.words import about, count
from gramian.tables.preprocessing import Preprocessing, Roles
from gramian.tables.table import Table

LIMIT = 2_000_000


class Page(HTMLParser):
    """Tags that are opened and closed, what they refer to, and the text in them."""

    VOID = frozenset(("meta", "link", "img", "br"))

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links, self.text = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for key, value in attrs if key in ("src", "href", "action", "data", "srcset")]
        assert not any(key.startswith("on") for key, _ in attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def check(path):
    """The page is well formed, small, whole and alone; returns it."""
    content = path.read_text(encoding="utf-8")
    assert len(content.encode()) < LIMIT
    page = Page(content)
    assert page.open == []
    assert page.tags.count("script") == 1  # the page's own, named by its digest in the policy
    script = re.search(r"<script>(.*?)</script>", content, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in content
    assert all(link.startswith(("data:", "#")) for link in page.links)
    assert "@import" not in content
    assert not re.search(r"url\(\s*['\"]?(?!data:)", content)
    return page


def table_of(X, names=None, **more):
    names = names or [f"column {j}" for j in range(X.shape[1])]
    return Table([*names, *more], [*np.asarray(X, dtype=float).T, *more.values()])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(60, 5))


@pytest.fixture
def unclustered(monkeypatch):
    """The search for clusters takes most of the time of a page, and has its tests elsewhere."""
    monkeypatch.setattr(analysis, "_clusters", lambda *_: None)


def headings(page):
    text = " ".join(page.text)
    known = (
        "At a glance",
        "The columns",
        "How columns go together",
        "What is missing",
        "The model, and why",
        "Structure and noise",
        "The map of rows",
        "Odd rows",
        "Imputed cells",
        "Clusters",
    )
    return {name for name in (*known, "The same in Python") if name in text}


def test_a_table_with_holes_texts_and_a_target_has_every_section(rows, tmp_path):
    X = rows.copy()
    X[::4, 1] = np.nan
    colour = np.array(["red", "blue", None] * 20, dtype=object)
    kind = np.where(X[:, 0] > 0, "up", "down").astype(object)
    names = np.array([f"person {i}" for i in range(60)], dtype=object)
    table = table_of(X, colour=colour, kind=kind, name=names)
    facts = write_report(
        tmp_path / "r.html", table, Preprocessing.fit([table], Roles(target="kind")), title="people.csv"
    )
    page = check(tmp_path / "r.html")
    assert len(headings(page)) == 11
    text = " ".join(page.text)
    assert "person " in text  # rows are called by their names
    assert "likeliest value" in text
    assert facts["n_components"] >= 1
    assert page.tags.count("svg") >= 6
    assert "img" not in page.tags
    assert text.count("90 % intervals") == 1  # one number for how far to trust the page


def test_a_complete_table_has_nothing_about_holes(rows, tmp_path, unclustered):
    write_report(tmp_path / "r.html", table_of(rows))
    found = headings(check(tmp_path / "r.html"))
    assert "What is missing" not in found
    assert "Imputed cells" not in found


SHAPES = {
    "one feature": (40, 1),
    "two features": (40, 2),
    "two rows": (2, 4),
    "three rows": (3, 4),
    "fewer rows than features": (25, 60),
    "1500 features": (30, 1500),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_shape_of_table_renders(shape, tmp_path, unclustered):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(shape[0], 1)) @ rng.normal(size=(1, shape[1])) + 0.5 * rng.normal(size=shape)
    if shape[1] < 100:
        write_report(tmp_path / "holes.html", table_of(np.where(rng.random(shape) < 0.02, np.nan, X)))
        check(tmp_path / "holes.html")
    write_report(tmp_path / "r.html", table_of(X), n_components=2 if shape[1] == 5000 else None)
    text = " ".join(check(tmp_path / "r.html").text)
    if shape[1] == 5000:
        assert "5000" in text
        assert "left out" in text
    if shape == (40, 1):
        assert "nothing to reduce" in text


def test_one_component_renders_with_a_note(rows, tmp_path, unclustered):
    write_report(tmp_path / "r.html", table_of(rows), n_components=1)
    assert "One component" in " ".join(check(tmp_path / "r.html").text)


def test_a_wild_cell_is_shown_with_what_its_row_says_of_it(rows, tmp_path, unclustered):
    write_report(tmp_path / "clean.html", table_of(rows))
    assert "the others say" not in (tmp_path / "clean.html").read_text()
    X = rows.copy()
    X[7, 1] += 40 * X[:, 1].std()
    write_report(tmp_path / "wild.html", table_of(X, ["a", "slipped", "c", "d", "e"]))
    check(tmp_path / "wild.html")
    told = (tmp_path / "wild.html").read_text().partition("the others say")[2].partition("</table>")[0]
    found = re.findall(r"<td[^>]*>(.*?)</td>", told)
    assert found[:2] == ["line 8", "slipped"]
    assert float(found[2]) == pytest.approx(X[7, 1], rel=1e-3)


def test_constant_and_tiny_tables_render(tmp_path, unclustered):
    X = np.column_stack([np.ones(30), np.arange(30.0), np.arange(30.0) ** 2])
    write_report(tmp_path / "r.html", table_of(X))
    check(tmp_path / "r.html")


NAMES = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "$\\frac{a}$ and $ alone",
    "100 % of {{ 7 * 7 }} {% raw %}",
    "very long " * 80,
    "شعار عربي‏",
    "🎉 café 漢字",
    "tab\tnew\nline\x07",
    "'quotes\" & ampersands",
    "_^\\",
]


def test_names_of_every_kind_are_escaped_shortened_and_drawn(tmp_path, unclustered):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)) @ rng.normal(size=(2, len(NAMES))) + 0.3 * rng.normal(size=(50, len(NAMES)))
    X[::5, 0] = np.nan
    labels = np.array([NAMES[i % 4] for i in range(50)], dtype=object)
    table = table_of(X, NAMES, **{"<b>target</b>": labels})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepare = Preprocessing.fit([table], Roles(target="<b>target</b>"))
    write_report(tmp_path / "r.html", table, prepare, title=NAMES[0])
    content = (tmp_path / "r.html").read_text()
    page = check(tmp_path / "r.html")
    assert set(page.tags) <= {
        *(
            "html",
            "head",
            "meta",
            "link",
            "title",
            "style",
            "body",
            "header",
            "div",
            "h1",
            "p",
            "nav",
            "a",
            "main",
            "section",
            "h2",
        ),
        *(
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "caption",
            "figure",
            "img",
            "figcaption",
            "pre",
            "code",
            "footer",
            "b",
            "span",
        ),
        *("svg", "rect", "circle", "line", "path", "text", "title", "script", "h3"),
    }
    assert "&lt;img src=x onerror=alert(1)&gt;" in content
    assert "{{ 7 * 7 }}" in " ".join(page.text)  # and not 49
    assert "no picture" not in " ".join(page.text)  # nothing failed to draw
    assert max(len(word) for word in " ".join(page.text).split("\n")) < 5000


def test_category_values_with_markup_are_escaped(tmp_path, unclustered):
    X = np.random.default_rng(0).normal(size=(40, 2))
    values = np.array(["<script>x</script>", "a & b"] * 20, dtype=object)
    write_report(tmp_path / "r.html", table_of(X, kind=values))
    check(tmp_path / "r.html")


def test_the_python_of_the_page_gives_the_same_model(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = rows.copy()
    X[::4, 1] = np.nan
    names = np.array([f"person {i}" for i in range(60)], dtype=object)
    write_table("t.csv", [*"abcde", "who"], [*X.T, names])
    table = read_table("t.csv")
    facts = write_report("r.html", table, title="t.csv")
    page = check(tmp_path / "r.html")
    code = next(text for text in page.text if text.startswith("from gramian import"))
    space = {}
    exec(code, space)
    assert space["model"].n_components_ == facts["n_components"]
    assert space["full"].shape == (60, 5)
    assert not np.isnan(space["full"]).any()
    assert int(space["flags"].sum()) == facts["flagged"]


def test_the_same_table_gives_the_same_page(rows, tmp_path, unclustered):
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, table_of(rows[:25]), title="t")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_the_command_writes_a_report(rows, tmp_path, monkeypatch, capsys, unclustered):
    from gramian.cli import main

    monkeypatch.chdir(tmp_path)
    write_table("t.csv", list("abcde"), list(rows.T))
    with pytest.raises(SystemExit) as exit_:
        main(["report", "t.csv", "-o", "r.html", "--json"])
    assert exit_.value.code == 0
    assert '"n_components"' in capsys.readouterr().out
    check(tmp_path / "r.html")


def test_without_jinja_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"gramian\[report\]"):
        render("t", "", [])
    with pytest.raises(ImportError, match=r"gramian\[report\]"):
        write_report("never.html", table_of(np.eye(4)))


@pytest.mark.parametrize("name", ["r.pdf", "r.PDF", "r.docx"])
def test_a_name_of_another_format_is_refused_with_the_word_html(tmp_path, name, unclustered):
    with pytest.raises(ValueError, match="HTML"):
        write_report(tmp_path / name, table_of(np.eye(4)))
    assert not list(tmp_path.iterdir())


def test_a_table_without_structure_is_called_so(tmp_path, unclustered):
    X = np.random.default_rng(0).normal(size=(120, 5))
    facts = write_report(tmp_path / "r.html", table_of(X))
    assert facts["structure"] == "none"
    assert " ".join(check(tmp_path / "r.html").text).count(STRENGTH["none"]) >= 2  # at a glance, and where it matters


@pytest.mark.parametrize(
    "coverage, words", [(0.7, "too narrow"), (0.9, "at their word"), (0.99, "wider than they need")]
)
def test_a_coverage_is_explained(coverage, words):
    assert words in verdict(coverage, 1000)
    assert "at their word" in verdict(0.99, 39)  # few cells: chance


def test_a_fitted_model_has_a_page_and_a_section(rows, tmp_path, unclustered):
    table = table_of(rows)
    prepare = Preprocessing.fit([table])
    model = TableModel("ppca", PPCA(2).fit(prepare.matrix(table)), prepare, facts={"held-out R2 of hidden cells": 0.5})
    write_model_report(tmp_path / "m.html", model)
    assert "held-out R2 of hidden cells" in " ".join(check(tmp_path / "m.html").text)
    facts = write_report(tmp_path / "t.html", table, model=model)
    assert facts["n_components"] == 2  # the fitted model's, not one chosen anew
    assert "The fitted model" in " ".join(check(tmp_path / "t.html").text)


# ---------------------------------------------------------------- pieces


def test_a_picture_that_fails_becomes_a_note():
    def broken():
        raise ValueError("no\nway")

    assert picture(broken, "Map").text == "Map: no picture (no way)."


def test_neighbouring_pictures_stand_together():
    a, b = Picture("data:,", "a"), Picture("data:,", "b")
    assert together([a, b, Text("x"), a]) == [[a, b], [Text("x")], [a]]


@pytest.mark.parametrize(
    "value, text",
    [(None, ""), (float("nan"), "–"), (3.0, "3"), (np.float64(1 / 3), "0.3333"), (1e9, "1e+09"), ("x" * 500, None)],
)
def test_cells_are_for_people(value, text):
    found = cell_text(value)
    assert found == text if text is not None else len(found) <= 120


@pytest.mark.parametrize(
    "value, order",
    [
        (3, "3.0"),
        (None, ""),
        (float("nan"), ""),
        ("12.5 %", "12.5"),
        ("< 1e-12", "1e-12"),
        ("z2", ""),
        ("1\u202f200", "1200"),
    ],
)
def test_cells_are_sorted_by_their_numbers(value, order):
    assert Cell.of(value).order == order


def test_columns_of_numbers_are_known():
    assert Grid(["a", "b"], [[1, "x"], [None, "y"]]).numeric == [True, False]


def test_long_names_keep_both_ends():
    assert shorten("a" * 50 + "THE END!") == "a" * 31 + "…THE END!"
    assert Section("A & b").anchor == "a---b"


# ---------------------------------------------------------------- how many dimensions


def low_rank(n, d, q, noise=0.5):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, q)) @ rng.normal(size=(q, d)) + noise * rng.normal(size=(n, d))


@pytest.mark.parametrize("shape", [(200, 10), (60, 200)], ids=["tall", "wide"])
@pytest.mark.parametrize("holes", [False, True])
def test_the_number_of_dimensions_is_found_in_tall_and_wide_tables(shape, holes):
    X = low_rank(*shape, 3)
    if holes:
        X[np.random.default_rng(1).random(shape) < 0.05] = np.nan
    assert PPCA(random_state=0).fit(X).n_components_ == 3  # the report fits the library's own default


def test_scores_far_below_the_others_do_not_flatten_the_curve():
    known = [(1, -5.0), (2, -3.0), (3, -3.2), (4, -1e14)]
    assert near_the_best(known, 2) == known[:3]
    assert near_the_best(known, 4) == known  # the chosen one is always drawn
    assert near_the_best(known[:3], 2) == known[:3]


@pytest.mark.parametrize(
    ("number", "text"),
    [(12345.6, "12346"), (0.12345, "0.1235"), (-20000, "-20000"), (2.5e8, "2.5e+08"), (1e-5, "1e-05")],
)
def test_numbers_of_common_size_have_no_exponent(number, text):
    assert cell_text(number) == text


def test_counts_are_never_broken_over_lines_and_chance_is_a_plain_number():
    assert count(19537) == "19\u202f537"
    assert [about(195.4), about(3.42), about(0.63)] == ["195", "3.4", "0.63"]


def test_two_names_of_a_row_that_are_the_same_are_said_once(tmp_path):
    rows = np.arange(1.0, 41.0)
    table = Table(["id", "row", "a", "b"], [rows, rows, np.sin(rows), np.cos(3 * rows)])
    prepare = Preprocessing.fit([table], Roles(id=("id", "row")))
    found = analysis.analyse(table, prepare)
    assert found.row_name(4) == "5"


def test_the_page_of_a_poor_model_says_so(tmp_path):
    rng = np.random.default_rng(0)
    table = Table(["a", "b"], list(rng.normal(size=(2, 40))))
    prepare = Preprocessing.fit([table])
    model = TableModel("ppca", PPCA(1).fit(prepare.matrix(table)), prepare)
    for r2, poor in ((0.01, True), (0.4, False)):
        model.facts = {"n_iter": 3, "held-out R2 of hidden cells": r2}
        write_model_report(tmp_path / "m.html", model)
        text = " ".join(check(tmp_path / "m.html").text)
        assert ("hardly better than the plain mean" in text) is poor
        assert "iterations" in text


def test_a_page_says_what_no_method_can_know_and_what_it_would_change(rows, tmp_path, unclustered):
    X = 100.0 + 10.0 * rows
    X[::4, 1] = np.nan
    write_report(tmp_path / "r.html", table_of(X))
    text = " ".join(check(tmp_path / "r.html").text)
    assert "no method can know" in text
    found = analysis.analyse(table_of(X), Preprocessing.fit([table_of(X)]))
    [(name, seen, filled, low, high)] = shifted_means(found)
    assert name == "column 1"
    assert seen == pytest.approx(np.nanmean(X[:, 1]))
    full, std = LatentImputer().fit(X).impute(X, return_std=True)
    assert filled == pytest.approx(full[:, 1].mean(), abs=0.5)
    assert high - filled == pytest.approx(filled - low)
    assert high - filled == pytest.approx(std[:, 1].mean(), rel=0.3)
