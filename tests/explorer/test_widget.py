"""The page in a notebook: the same verbs through the messages of a widget, the same modules as one."""

import re

import pytest

pytest.importorskip("anywidget")

from gramian.explorer.bundle import MODULES, STATIC, static_files, style, widget_module
from gramian.explorer.verbs import VERBS, call
from gramian.explorer.widget import widget_of


@pytest.fixture
def widget(iris):
    made = widget_of(iris)
    made.sent = []
    made.send = lambda message, buffers=None: made.sent.append(message)
    yield made
    made.close()


@pytest.mark.parametrize(
    "verb", sorted(set(VERBS) - {"cancel", "undo", "tune", "edit", "replace", "choose", "export", "views", "series"})
)
def test_a_verb_answers_a_message_as_by_a_call(widget, iris, verb):
    given = {
        "decode": {"latent": [0.5] * iris.fitted.q},
        "row": {"row": 3},
        "fill": {"cells": [5.0, None, 1.0, 0.2, None]},
        "search": {"text": "setosa"},
        "select": {"rows": [1, 2, 3]},
    }.get(verb, {})
    widget.answer({"id": "7", "verb": verb, "input": given})
    assert widget.sent == [{"id": "7", "status": 200, "output": call(iris, verb, given)}]


def test_wrong_messages_are_answered_in_words_or_not_at_all(widget):
    widget.answer({"id": "1", "verb": "row", "input": {"row": -1}})
    widget.answer({"id": "2", "verb": "nothing"})
    widget.answer("nonsense")
    widget.answer({"id": "3", "verb": 5})
    assert [message["status"] for message in widget.sent] == [422, 404]


def test_messages_that_come_from_the_page_are_answered(widget):
    widget._heard(widget, {"id": "9", "verb": "state", "input": {}}, None)
    for _ in range(200):
        if widget.sent:
            break
        import time

        time.sleep(0.01)
    assert widget.sent[0]["output"]["state"] == "ready"


def test_the_modules_joined_have_every_name_once_and_import_nothing():
    joined = widget_module()
    assert not re.search(r"^import ", joined, re.MULTILINE)
    assert len(re.findall(r"^export ", joined, re.MULTILINE)) == 1
    names = re.findall(r"^(?:async )?(?:function|const|class|let) (\w+)", joined, re.MULTILINE)
    assert sorted(names) == sorted(set(names))
    assert set(MODULES) == {path.name for path in STATIC.glob("*.js")} - {"main.js", "widget.js"}


def test_modules_are_joined_after_those_that_they_import():
    for place, name in enumerate(MODULES):
        text = (STATIC / name).read_text()
        for needed in re.findall(r'from "\./([\w.]+)"', text):
            assert MODULES.index(needed) < place, f"{name} needs {needed}"


def test_the_page_is_small_calm_and_asks_nobody():
    files = static_files()
    own = sum(len(content) for content, _ in files.values()) + len((STATIC / "index.html").read_bytes())
    assert own < 150_000
    for content, _ in files.values():
        for found in re.findall(rb"https?://[\w./]+", content):
            assert found == b"http://www.w3.org/2000/svg"
        for word in (b"innerHTML", b"insertAdjacentHTML", b"document.write", b"eval("):
            assert word not in content
    assert "--ink: #1f2933" in style()


def test_a_notebook_gets_the_widget(iris_file, monkeypatch):
    import sys
    import types

    import gramian

    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    made = gramian.explore(iris_file)
    assert type(made).__name__ == "Explorer"
    assert made.session.jobs.wait(60)
    made.session.close()
