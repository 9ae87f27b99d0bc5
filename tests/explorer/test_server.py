"""The page over HTTP: who is let in, what is taken, what is never opened. Every verb answers here as by a plain call."""

import contextlib
import gzip
import http.client
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

pytest.importorskip("starlette")

from gramian.explorer.server import Server
from gramian.explorer.session import Limits
from gramian.explorer.verbs import VERBS, call


class Answer:
    """What a server said."""

    def __init__(self, found):
        self.status_code, self.headers, self.content = found.status, found.headers, found.read()

    @property
    def text(self):
        return self.content.decode()

    def json(self):
        return json.loads(self.content)


class Door:
    """A server in the background, and a plain client of it."""

    def __init__(self, session):
        self.server = Server(session).in_background()
        self.sessions, self.port, self.token = self.server.sessions, self.server.port, self.server.sessions.first
        until = time.monotonic() + 20
        while not self.server.started and time.monotonic() < until:
            time.sleep(0.005)

    def request(self, method, path, body=None, headers=(), token=None):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        head = {"X-Gramian-Token": token} if token else {}
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the server has said enough
                client.request(method, path, body, {**head, **dict(headers)})
            return Answer(client.getresponse())
        finally:
            client.close()

    def call(self, verb, given, token=None, **headers):
        return self.request("POST", f"/call/{verb}", json.dumps(given), headers, token or self.token)

    def upload(self, content, name="table.csv", **headers):
        return self.request("POST", f"/upload?name={name}", content, headers, self.token)


@pytest.fixture
def door(iris):
    made = Door(iris)
    yield made
    made.server.close()


def test_the_page_and_its_modules_come_with_the_token(door):
    token = door.token
    page = door.request("GET", f"/?token={token}")
    assert page.status_code == 200
    assert f"/static/{token}/main.js" in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "<script>" not in page.text
    for name in ("main.js", "explorer.js", "map.js", "explorer.css"):
        assert door.request("GET", f"/static/{token}/{name}").status_code == 200
    assert "access-control-allow-origin" not in page.headers


@pytest.mark.parametrize(
    "path", ["/", "/?token=wrong", "/static/wrong/main.js", "/static/main.js", "/call/state", "/upload", "/nothing"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "PUT"])
def test_without_the_token_every_request_is_403(door, path, method):
    assert door.request(method, path).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1.evil.example:{port}"},
        {"Host": "127.0.0.1:1{port}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1{port}"},
        {"Origin": "https://127.0.0.1:{port}"},
    ],
    ids=lambda headers: next(iter(headers.values())),
)
def test_a_foreign_host_or_origin_is_403_even_with_the_token(door, headers):
    headers = {name: value.format(port=door.port) for name, value in headers.items()}
    assert door.request("GET", f"/?token={door.token}", headers=headers).status_code == 403
    assert door.call("state", {}, **headers).status_code == 403
    assert door.upload(b"a\n1\n", **headers).status_code == 403


def test_our_own_origin_is_let_in(door):
    for host in ("127.0.0.1", "localhost"):
        assert door.call("state", {}, Origin=f"http://{host}:{door.port}").status_code == 200


@pytest.mark.parametrize(
    "verb", sorted(set(VERBS) - {"cancel", "undo", "tune", "edit", "replace", "choose", "export", "views", "series"})
)
def test_a_verb_answers_over_http_as_by_a_call(door, iris, verb):
    given = {
        "decode": {"latent": [0.5] * iris.fitted.q},
        "row": {"row": 3},
        "fill": {"cells": [5.0, None, 1.0, 0.2, None]},
        "search": {"text": "setosa"},
        "select": {"rows": [1, 2, 3]},
    }.get(verb, {})
    answer = door.call(verb, given)
    assert answer.status_code == 200
    assert answer.json() == json.loads(json.dumps(call(iris, verb, given)))


def test_wrong_calls_are_refused_in_json_and_words(door):
    token = door.token
    assert door.call("nothing", {}).status_code == 404
    assert door.request("GET", "/call/state", token=token).status_code == 405
    assert door.request("GET", "/nothing", token=token).status_code == 404
    assert door.request("GET", f"/static/{token}/../server.py", token=token).status_code == 404
    assert door.request("GET", f"/static/{token}/..%2fserver.py", token=token).status_code == 404
    for body in (
        b'{"latent": [NaN]}',
        b'{"latent": [1e999]}',
        b'{"latent": "x"}',
        b"[" * 100_000,
        b"{",
        b"\xff\xfe",
        b'{"latent": [[1]]}',
    ):
        answer = door.request("POST", "/call/decode", body, token=token)
        assert answer.status_code == 422, body[:20]
        assert answer.json()["error"]
        assert "Traceback" not in answer.text
    assert door.request("POST", "/call/decode", b" " * (9 << 20), token=token).status_code == 413


def test_a_head_that_is_too_large_is_431(door):
    answer = door.request("POST", "/call/state", b"{}", {"X-Long": "x" * 200_000}, door.token)
    assert answer.status_code == 431
    assert answer.json()["error"] == "The head of the request is too large."


def test_an_error_of_ours_is_told_without_what_it_holds(door, iris, capfd):
    iris.fitted.linear.impute = iris.fitted.model.posterior = None  # as if something were broken
    answer = door.call("row", {"row": 3})
    assert answer.status_code == 500
    assert answer.json() == {"error": "Something went wrong while answering (TypeError)."}
    assert "Traceback" not in "".join(capfd.readouterr())


TABLE = b"a,b,c\n" + b"".join(b"%d,%d,%d\n" % (i, 2 * i + i % 3, i * i % 7) for i in range(40))


def test_an_uploaded_table_is_a_session_of_its_own(door, iris):
    answer = door.upload(TABLE)
    assert answer.status_code == 200
    other = answer.json()["token"]
    assert other != door.token
    door.sessions.get(other).jobs.wait(60)
    first = door.call("state", {}).json()
    second = door.call("state", {}, other).json()
    assert (first["rows"], second["rows"]) == (150, 40)
    assert second["title"] == "table.csv"


def test_two_uploads_are_not_mixed(door):
    tokens = [door.upload(TABLE.replace(b"a,b,c", name)).json()["token"] for name in (b"a,b,c", b"d,e,f")]
    columns = [door.call("state", {}, token).json()["columns"] for token in tokens]
    assert columns == [["a", "b", "c"], ["d", "e", "f"]]


def test_what_the_command_reads_is_taken_and_all_else_refused(door, tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(20, 3)))
    assert door.upload(gzip.compress(TABLE), "a.csv.gz").status_code == 200
    assert door.upload((tmp_path / "a.npy").read_bytes(), "a.npy").status_code == 200
    for content in (
        pickle.dumps({"a": [1]}),
        b"\x89PNG\r\n\x1a\n" + b"\0" * 50,
        b"%PDF-1.4",
        b"",
        b"<html></html>",
    ):
        answer = door.upload(content)
        assert answer.status_code == 415, content[:8]
        assert "/tmp" not in answer.text
    assert door.upload(b"a,b\n1,2\n").status_code == 422
    assert door.upload(b"a,a\n1,2\n3,4\n").status_code == 422


def test_uploads_are_bounded_while_they_stream(iris):
    iris.limits = Limits(upload_bytes=10_000, cells=60)
    door = Door(iris)

    def pieces():
        for _ in range(1000):
            yield b"1,2,3\n" * 1000

    assert door.upload(pieces()).status_code == 413
    assert door.upload(b"1" * 20_000).status_code == 413
    many = door.upload(TABLE)
    door.server.close()
    assert many.status_code == 422
    assert "60 cells" in many.json()["error"]


def test_a_slow_trickle_is_ended(iris):
    iris.limits = Limits(chunk_seconds=0.1)
    door = Door(iris)

    def trickle():
        yield b"a,b\n"
        time.sleep(1)
        yield b"1,2\n"

    answer = door.upload(trickle())
    door.server.close()
    assert answer.status_code == 408


def test_the_oldest_upload_goes_when_there_are_too_many(iris):
    iris.limits = Limits(sessions=3)
    door = Door(iris)
    sessions = door.sessions
    tokens = [door.upload(TABLE).json()["token"] for _ in range(4)]
    assert sessions.get(sessions.first) is iris
    assert sessions.get(tokens[0]) is None
    assert sessions.get(tokens[-1]) is not None
    door.server.close()


def test_hostile_names_and_cells_go_through_as_text(door):
    name = "<img src=x onerror=alert(1)>"
    rows = [f'"{name}",b,c'] + [
        f'{i},{2 * i % 5},"</script><b>=1+1"' if i % 2 else f"{i},{i % 3},\u202eabc" for i in range(40)
    ]
    token = door.upload("\n".join(rows).encode()).json()["token"]
    answer = door.call("rows", {}, token)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["names"][0] == name


def run_command(*arguments, **options):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "gramian", "explore", "--no-browser", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        **options,
    )


def test_the_command_prints_its_address_listens_on_loopback_and_ends_on_ctrl_c(iris_file):
    process = run_command(iris_file)
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        base, token = url.split("/?token=")
        with urllib.request.urlopen(url) as page:
            assert page.status == 200
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(base)
        until = time.monotonic() + 60
        state = {}
        while state.get("state") != "ready" and time.monotonic() < until:
            request = urllib.request.Request(f"{base}/call/state", data=b"{}", headers={"X-Gramian-Token": token})
            with urllib.request.urlopen(request) as answer:
                state = json.load(answer)
            time.sleep(0.1)
        assert state["state"] == "ready"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert process.stderr.read() == ""
    finally:
        process.kill()
        process.communicate()


def test_what_is_not_there_is_said_at_once(tmp_path):
    process = run_command(str(tmp_path / "nothing.csv"))
    out, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "there is no such file" in error
    assert out == ""


def test_a_taken_port_is_said_in_words(iris):
    first = Server(iris)
    with pytest.raises(OSError, match="is taken"):
        Server(iris, first.port)
    first.socket.close()


def test_explore_serves_in_the_background_of_an_interactive_python(iris_file, monkeypatch, capsys):
    import gramian

    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    server = gramian.explore(iris_file, open_browser=False)
    try:
        until = time.monotonic() + 20
        while not server.started and time.monotonic() < until:
            time.sleep(0.02)
        with urllib.request.urlopen(server.url) as page:
            assert page.status == 200
        assert server.url in capsys.readouterr().out
    finally:
        server.close()
