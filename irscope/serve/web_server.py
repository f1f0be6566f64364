"""The web server: the page, its scripts, and a websocket per session.

The pages: the app's, and those that say why there is no app.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from irscope.model.errors import print_note
from irscope.serve import policy
from irscope.serve.app_session import AppSession, End, first_of, read_input
from irscope.serve.connections import Connections

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="dark">
<title>{title}</title>
<link rel="icon" href="static/icon.svg">
{head}
<link rel="stylesheet" href="static/page.css">
</head>
<body>
{body}
</body>
</html>
"""
_APP = """<div id="terminal"></div>
<div id="keys" hidden></div>
<div id="notice" role="alertdialog" aria-labelledby="reason" hidden>
<p id="reason"></p>
<button type="button" id="again">Start again</button>
</div>
<noscript><p class="message">The app needs JavaScript.</p></noscript>"""
_APP_HEAD = """<link rel="stylesheet" href="static/xterm.css">
<script type="module" src="static/terminal.js"></script>"""


def app_page(name: str) -> str:
    """Return the page that shows the app; `name` is the capture's."""
    return _PAGE.format(title=f"{escape(name)} - irscope", head=_APP_HEAD, body=_APP)


def message_page(text: str, extra: str = "") -> str:
    """Return a page with a sentence; `extra` is HTML that follows it."""
    body = f'<main class="message"><h1>irscope</h1><p>{escape(text)}</p>{extra}</main>'
    return _PAGE.format(title="irscope", head="", body=body)


def token_page(refused: bool) -> str:
    """Return the page that asks for the token."""
    text = "This token is not the server's." if refused else "This page needs the server's token."
    form = (
        "<p>Open the address that irscope serve printed, or enter the token at its end.</p>"
        '<form action="./" method="get"><input name="token" type="password" autocomplete="off" '
        'aria-label="Token" autofocus required> <button>Open</button></form>'
    )
    return message_page(text, form)


def redirect_page() -> str:
    """Return a page that opens the app from our own site.

    A browser sends our cookie only then.
    """
    head = '<meta http-equiv="refresh" content="0; url=./">'
    return _PAGE.format(
        title="irscope", head=head, body='<p class="message"><a href="./">Open the app</a></p>'
    )


_STATIC = Path(__file__).with_name("static")
_TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
# A page that is reloaded needs the session that its last websocket has just left.
_WAIT_FOR_SESSION = 6.0
_HEARTBEAT = 20.0
_SHUTDOWN = 10.0
_YEAR = 365 * 86400

_LOG = logging.getLogger("irscope.serve")

_Handler = Callable[[Any], Awaitable[Any]]


@dataclass(frozen=True)
class Options:
    """The capture that is served, the command of the app, and the number of sessions.

    `idle` is in seconds; 0 for no limit.
    """

    capture: Path
    command: Sequence[str]
    access: policy.AccessRules
    sessions: int
    idle: float


class Server:
    """Serves one capture."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._access = options.access
        self._free = asyncio.Semaphore(options.sessions)
        self._stopped = asyncio.Event()
        self._static = {
            file.name: (file.read_bytes(), _TYPES[file.suffix])
            for file in _STATIC.iterdir()
            if file.suffix in _TYPES
        }
        port = urlsplit(options.access.url).port
        self._cookie = f"irscope-{port or 'token'}"

    def application(self) -> Any:
        """Return the aiohttp application."""
        app = web.Application(middlewares=[_refuse_other_hosts(self._access)], client_max_size=1024)
        app.add_routes(
            [
                web.get("/", self._page),
                web.get("/ws", self._websocket, allow_head=False),
                web.get("/static/{name}", self._file),
            ]
        )
        app.on_response_prepare.append(_prepare)
        return app

    def stop(self) -> None:
        """End all sessions."""
        self._stopped.set()

    async def wait_until_stopped(self) -> End:
        """Return once `stop` was called."""
        await self._stopped.wait()
        return End.STOPPED

    async def _page(self, request: Any) -> Any:
        token = request.query.get("token")
        if token is not None and self._access.token:
            return self._move_token(request, token)
        if not self._access.is_valid(request.cookies.get(self._cookie)):
            return _answer(token_page(refused=False), 403)
        return _answer(app_page(self._options.capture.name))

    def _move_token(self, request: Any, given: str) -> Any:
        """Move the token from the address to a cookie, so that neither history nor bookmarks have it."""
        if not self._access.is_valid(given):
            return _answer(token_page(refused=True), 403)
        if request.headers.get("Sec-Fetch-Site") == "cross-site":
            answer = _answer(redirect_page())
        else:
            answer = web.Response(status=303, headers={"Location": "./"})
        public = urlsplit(self._access.url)
        answer.set_cookie(
            self._cookie,
            self._access.token,
            path=public.path or "/",
            httponly=True,
            samesite="Strict",
            secure=public.scheme == "https",
            max_age=_YEAR,
        )
        return answer

    async def _file(self, request: Any) -> Any:
        content, type_ = self._static.get(request.match_info["name"], (b"", ""))
        if not type_:
            return _answer(message_page("There is no such page."), 404)
        return web.Response(body=content, content_type=type_, charset="utf-8")

    async def _take_session(self) -> bool:
        """Take a session, once one is free; False if none is for some seconds."""
        with contextlib.suppress(asyncio.TimeoutError):
            return await asyncio.wait_for(self._free.acquire(), _WAIT_FOR_SESSION)
        return False

    async def _websocket(self, request: Any) -> Any:
        headers = request.headers
        if not self._access.allows_origin(headers.get("Origin"), headers.get("Host")):
            return _answer(message_page("This page is not served by irscope."), 403)
        token = request.cookies.get(self._cookie, request.query.get("token"))
        if not self._access.is_valid(token):
            return _answer(token_page(refused=True), 403)
        websocket = web.WebSocketResponse(
            heartbeat=_HEARTBEAT, timeout=1.0, max_msg_size=policy.MAX_MESSAGE, compress=False, autoping=False
        )
        if not websocket.can_prepare(request):
            return _answer(message_page("This address is for websockets."), 400)
        request.transport.get_protocol().become_websocket()
        await websocket.prepare(request)
        end = await self._run(request, websocket)
        with contextlib.suppress(ConnectionError, RuntimeError):
            await websocket.close(code=end.value[0], message=end.value[1].encode())
        return websocket

    async def _run(self, request: Any, websocket: Any) -> End:
        if not await self._take_session():
            return End.FULL
        try:
            columns = policy.bounded(request.query.get("width"), policy.COLUMNS, 80)
            rows = policy.bounded(request.query.get("height"), policy.ROWS, 24)
            try:
                session = await AppSession.start(self._options.command, columns, rows)
            except OSError as error:
                print_note(f"cannot start a session: {error}")
                return End.FAILED
            end = End.LOST
            try:
                end = await first_of(
                    self.wait_until_stopped(),
                    session.show_in(websocket),
                    read_input(session, websocket),
                    session.wait_until_idle(self._options.idle),
                )
            finally:
                await asyncio.shield(session.close())
            errors = await session.errors()
            if end is End.FAILED or "Traceback" in errors:
                print_note(f"a session failed: {errors}")
            return end
        finally:
            self._free.release()


def _refuse_other_hosts(access: policy.AccessRules) -> Any:
    """Return a middleware that answers only requests to this server's names."""

    async def check(request: Any, handler: _Handler) -> Any:
        if access.allows_host(request.headers.get("Host")):
            return await handler(request)
        text = "This server has another name; --public-url of irscope serve adds one."
        return _answer(message_page(text), 403)

    return web.middleware(check)


def _is_ours(record: logging.LogRecord) -> bool:
    """Return True if a logged error is ours.

    A client's bad request is not, and must not fill the terminal.
    """
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | ConnectionError)


async def _prepare(request: Any, response: Any) -> None:
    """Set the headers of every answer, and close the connection after it."""
    response.headers.update(policy.HEADERS)
    if response.status != 101:
        response.headers["Connection"] = "close"
        response.force_close()


def _answer(page: str, status: int = 200) -> Any:
    return web.Response(text=page, content_type="text/html", status=status)


async def run(options: Options, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; then no session is left. Calls `ready` once it answers."""
    server = Server(options)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            asyncio.get_running_loop().add_signal_handler(number, server.stop)
    await serve(server, listening, ready)


async def serve(server: Server, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until `server` is stopped and no session is left. Calls `ready` once it answers."""
    _LOG.addFilter(_is_ours)
    runner = web.AppRunner(
        server.application(),
        logger=_LOG,
        access_log=None,
        handle_signals=False,
        lingering_time=0,
        shutdown_timeout=_SHUTDOWN,
        max_field_size=policy.MAX_HEAD,
    )
    await runner.setup()
    handlers: Any = runner.server
    accepting = await asyncio.get_running_loop().create_server(Connections(handlers), sock=listening)
    ready()
    await server.wait_until_stopped()
    accepting.close()
    await runner.cleanup()
