"""The page over HTTP, for this machine's user alone: loopback, a token per table, no other host or site let in."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from typing import Any

from gramian.explorer.answers import answer_verb
from gramian.explorer.bundle import index_page, static_files
from gramian.explorer.packing import write_json
from gramian.explorer.session import Limits, Session

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route
except ImportError as missing:
    raise ImportError("the page needs Starlette and uvicorn: pip install 'gramian[explore]'.") from missing

HOST = "127.0.0.1"
QUICK = frozenset(("decode", "fill", "row"))
"""Verbs that answer while the mouse moves."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Sessions:
    """The tables that this server shows, each behind a token of its own. Of uploaded ones the oldest goes when there are too many."""

    def __init__(self, first: Session) -> None:
        self.limits = first.limits
        self._by_token: dict[str, Session] = {}
        self.first = self.add(first)

    def add(self, session: Session) -> str:
        """A token that is the only way to the session."""
        token = secrets.token_urlsafe(24)
        self._by_token[token] = session
        uploaded = list(self._by_token)[1:]
        if len(uploaded) >= self.limits.sessions:
            self._by_token.pop(uploaded[0]).close()
        return token

    def get(self, token: str) -> Session | None:
        """The session of a token; compared in constant time."""
        found = None
        for known, session in self._by_token.items():
            if secrets.compare_digest(known.encode(), token.encode("utf-8", "replace")):
                found = session
        return found

    def close(self) -> None:
        """End all work."""
        for session in self._by_token.values():
            session.close()


class Guard:
    """Before anything else: the Host, the Origin and the token; 403 without a word more."""

    def __init__(self, app: Any, sessions: Sessions, port: int) -> None:
        self.app, self.sessions = app, sessions
        self.hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        if sum(len(name) + len(value) for name, value in scope["headers"]) > self.sessions.limits.head_bytes:
            await answer(431, {"error": "The head of the request is too large."})(scope, receive, send)
            return
        request = Request(scope)
        session = self._session(request) if self._is_ours(request) else None
        if session is None:
            await answer(403, {"error": "Not allowed."})(scope, receive, send)
            return
        scope["state"] = {"session": session}
        await self.app(scope, receive, send)

    def _is_ours(self, request: Request) -> bool:
        hosts, origins = request.headers.getlist("host"), request.headers.getlist("origin")
        return len(hosts) == 1 and hosts[0] in self.hosts and all(origin in self.origins for origin in origins)

    def _session(self, request: Request) -> Session | None:
        parts = request.scope["path"].split("/")
        in_path = parts[2] if len(parts) > 3 and parts[1] == "static" else ""
        given = request.headers.get("x-gramian-token") or request.query_params.get("token") or in_path
        return self.sessions.get(given) if given else None


def answer(status: int, value: Any) -> Response:
    """Strict JSON."""
    return Response(write_json(value), status, HEADERS, "application/json")


def app_of(sessions: Sessions, port: int) -> Guard:
    """The application; ``port`` is the one that the Host must name."""
    files = static_files()

    async def page(request: Request) -> Response:
        token = request.query_params.get("token", "")
        return Response(index_page(token), 200, HEADERS, "text/html")

    async def static(request: Request) -> Response:
        found = files.get(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        return Response(found[0], 200, HEADERS, found[1])

    async def call(request: Request) -> Response:
        given, name = await _body(request, sessions.limits), request.path_params["name"]
        if name in QUICK:  # a thread would cost more than the answer
            return call_verb(request.state.session, name, given)
        return await run_in_threadpool(call_verb, request.state.session, name, given)

    async def upload(request: Request) -> Response:
        return await _uploaded(request, sessions)

    async def failed(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        words = {404: "There is no such page.", 405: "Not this way.", 413: "Too large."}
        detail = error.detail if isinstance(error, HTTPException) and status not in words else ""
        return answer(status, {"error": words.get(status) or detail or "Something went wrong in the server."})

    routes = [
        Route("/", page, methods=["GET"]),
        Route("/static/{token}/{name}", static, methods=["GET"]),
        Route("/call/{name}", call, methods=["POST"]),
        Route("/upload", upload, methods=["POST"]),
    ]
    return Guard(
        Starlette(routes=routes, exception_handlers={HTTPException: failed, Exception: failed}), sessions, port
    )


def call_verb(session: Session, name: str, body: bytes) -> Response:
    """The answer of a verb: 200, 404 where there is none, 409 while it is being fitted, 422 for a wrong input."""
    status, value = answer_verb(session, name, body)
    return answer(status, value)


async def _body(request: Request, limits: Limits) -> bytes:
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.chunk_seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size > limits.call_bytes:
                    raise HTTPException(413)
                parts.append(chunk)
    except TimeoutError as error:
        raise HTTPException(408, "Nothing came for too long.") from error
    except ClientDisconnect as error:
        raise HTTPException(400, "The call ended early.") from error
    return b"".join(parts)


async def _chunks(request: Request, seconds: float) -> AsyncIterator[bytes]:
    """The body piece by piece; an end where nothing comes any more."""
    stream = request.stream().__aiter__()
    while True:
        try:
            yield await asyncio.wait_for(stream.__anext__(), seconds)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            raise HTTPException(408, "Nothing came for too long.") from error
        except ClientDisconnect as error:
            raise HTTPException(400, "The upload ended early.") from error


async def _uploaded(request: Request, sessions: Sessions) -> Response:
    """A file as the body of the request: bounded while it streams, read, forgotten. The new table has a token of its own."""
    limits = sessions.limits
    title = os.path.basename(request.query_params.get("name", "").replace("\\", "/"))[:200] or "table"
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limits.upload_bytes:
        raise HTTPException(413)
    with tempfile.NamedTemporaryFile(prefix="gramian-", delete=False) as file:
        try:
            size, deadline = 0, asyncio.get_running_loop().time() + limits.upload_seconds
            async for chunk in _chunks(request, limits.chunk_seconds):
                size += len(chunk)
                if size > limits.upload_bytes:
                    raise HTTPException(413)
                if asyncio.get_running_loop().time() > deadline:
                    raise HTTPException(408, "The upload took too long.")
                file.write(chunk)
            file.close()
            status, value = await run_in_threadpool(read_upload, file.name, title, limits)
        finally:
            os.unlink(file.name)
    if isinstance(value, Session):
        token = sessions.add(value)
        return answer(200, {"token": token, "title": title})
    return answer(status, value)


def read_upload(path: str, title: str, limits: Limits) -> tuple[int, Any]:
    """A session of an uploaded table; 415 where it is not a table, 422 where it cannot be read."""
    from gramian.explorer import fitting
    from gramian.explorer.data import read_data
    from gramian.io.source import Source
    from gramian.io.table import ReadOptions

    source = Source(path)
    source.name = title
    try:
        _ = source.format
    except (ValueError, OSError) as error:
        return 415, {"error": " ".join(str(error).split())[:2000]}
    try:
        session = Session(title, limits)
        session.data = read_data(path, title, ReadOptions(), limits.cells)
    except (ValueError, MemoryError, OSError, ImportError) as error:
        return 422, {"error": " ".join(str(error).replace(path, title).split())[:2000]}
    fitting.start(session)
    return 200, session


class Server(uvicorn.Server):
    """A server of one or more sessions; ``url`` is the page of the first."""

    def __init__(self, session: Session, port: int = 0, ready: Callable[[str], None] | None = None) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.socket.bind((HOST, port))
            self.socket.listen()  # so that the port is taken from now on
        except OSError as error:
            self.socket.close()
            raise OSError(f"port {port} is taken: give another one, or none for any that is free.") from error
        self.port = int(self.socket.getsockname()[1])
        self.sessions = Sessions(session)
        self.ready = ready
        self.url = f"http://{HOST}:{self.port}/?token={self.sessions.first}"
        config = uvicorn.Config(
            app_of(self.sessions, self.port),
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=1 << 20,  # so that too large a head is answered in words
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.ready is not None:
            self.ready(self.url)

    def serve_until_stopped(self) -> None:
        """Until Ctrl-C."""
        try:
            self.run(sockets=[self.socket])
        except KeyboardInterrupt:
            pass
        finally:
            self.sessions.close()
            self.socket.close()

    def in_background(self) -> Server:
        """In a thread of its own."""
        self._thread = threading.Thread(target=self.serve_until_stopped, name="gramian-server", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """End it."""
        self.should_exit = True
        if hasattr(self, "_thread"):
            self._thread.join(5)

    def __repr__(self) -> str:
        return f"<gramian explorer at {self.url}>"


def serve(
    session: Session,
    *,
    port: int = 0,
    open_browser: bool = True,
    block: bool = True,
    say: Callable[[str], None] = print,
) -> Server:
    """Serve a session; says the address when it listens."""

    def ready(url: str) -> None:
        say(url)
        sys.stdout.flush()
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    server = Server(session, port, ready)
    if block:
        server.serve_until_stopped()
        return server
    return server.in_background()
