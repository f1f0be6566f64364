"""The server as browsers and strangers meet it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from irscope.serve import web_server as server_module
from irscope.serve.app_session import End
from irscope.serve.policy import HEADERS
from tests.cli.conftest import write_capture
from tests.serve.served import TOKEN, Served, app_processes, serving, wait_until_none_left


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_capture(tmp_path_factory.mktemp("served") / "add.irscope")


@pytest.fixture(scope="module")
def served(capture: Path) -> Iterator[Served]:
    with serving(capture) as served:
        yield served


def test_without_the_token_there_is_no_page(served: Served):
    for path, headers in (
        ("/", {}), ("/?token=wrong", {}), ("/?token=", {}), ("/", {"Cookie": f"irscope-{served.port}=wrong"}),
        (f"/?token={TOKEN}x", {"Cookie": served.cookie}), ("/?token=%00%ff", {}),
    ):  # fmt: skip
        status, _, body = served.get(path, **headers)
        assert status == 403
        assert "token" in body
        assert "terminal.js" not in body


def test_the_token_moves_from_the_address_to_a_cookie(served: Served):
    status, headers, _ = served.get(f"/?token={TOKEN}")
    assert (status, headers["location"]) == (303, "./")
    cookie, *attributes = headers["set-cookie"].split("; ")
    assert cookie == served.cookie
    assert {"HttpOnly", "Path=/", "SameSite=Strict"} <= set(attributes)
    status, _, body = served.get("/", Cookie=cookie)
    assert status == 200
    assert "static/terminal.js" in body
    assert "<title>add.irscope - irscope</title>" in body


def test_a_link_on_another_site_opens_the_app_from_a_page_of_our_own(served: Served):
    status, headers, body = served.get(f"/?token={TOKEN}", Sec_Fetch_Site="cross-site")
    assert status == 200
    assert "set-cookie" in headers
    assert 'http-equiv="refresh"' in body


def test_every_answer_has_the_policy_and_closes_the_connection(served: Served):
    paths = ("/", f"/?token={TOKEN}", "/none", "/static/terminal.js", "/static/none", "/ws")
    for path in paths:
        _, headers, _ = served.get(path, Cookie=served.cookie)
        assert {name: headers.get(name.lower()) for name in HEADERS} == HEADERS
        assert headers["connection"] == "close"
    policy = HEADERS["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "http" not in policy


def test_pages_and_scripts_name_no_other_host(served: Served):
    for path in ("/", "/static/terminal.js", "/static/page.css", "/static/xterm.css"):
        _, _, body = served.get(path, Cookie=served.cookie)
        for address in ('src="http', 'href="http', "url(http", "@import", "fonts.g"):
            assert address not in body


@pytest.mark.parametrize(
    "path", ["/static/../server.py", "/static/%2e%2e%2fserver.py", "/static/", "/static//etc/passwd"]
)
def test_only_the_scripts_are_files(served: Served, path: str):
    assert served.get(path, Cookie=served.cookie)[0] == 404


def test_a_rebound_name_gets_nothing(served: Served):
    assert served.get("/", Host="evil.example", Cookie=served.cookie)[0] == 403
    assert served.websocket(Host="evil.example").status == 403


def test_no_session_without_token_and_own_origin(served: Served, capture: Path):
    own = f"http://127.0.0.1:{served.port}"
    assert served.websocket(cookie="").status == 403
    assert served.websocket(cookie=f"irscope-{served.port}=x").status == 403
    assert served.websocket("?token=x", cookie="").status == 403
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", own + ".evil.example"):
        assert served.websocket(Origin=origin).status == 403
    assert app_processes(capture) == {}


def test_a_session_shows_the_app_until_its_user_quits(served: Served, capture: Path):
    socket = served.websocket("?width=100000000&height=99999999", Origin=f"http://127.0.0.1:{served.port}")
    assert socket.status == 101
    socket.wait_for_app()
    assert len(app_processes(capture)) == 1
    socket.send("resize", {"width": 10**30, "height": -1})
    socket.send("stdin", "\x1b[48;100000;100000;1;1t")  # a terminal's own report of its size
    socket.send("stdin", "\x1b")
    socket.send("stdin", "q")
    socket.send("stdin", "q")  # the answer to the question whether to quit
    assert socket.close_code() == End.QUIT.value[0]
    wait_until_none_left(capture)


def test_half_a_character_that_was_typed_is_shown_as_an_unknown_one(served: Served, capture: Path):
    socket = served.websocket(Origin=f"http://127.0.0.1:{served.port}")
    socket.wait_for_app()
    half = "\x1b[55296u"  # the number of a character, as some terminals send keys
    socket.send("stdin", half)
    socket.wait_for("\ufffd does nothing")
    socket.send("stdin", "/")
    socket.send("stdin", half)  # a prompt takes no character that cannot be printed
    socket.send("stdin", "typed")
    socket.wait_for("typed")
    assert len(app_processes(capture)) == 1


def test_a_malformed_message_or_a_silent_user_ends_the_session(capture: Path):
    served = Served(capture, token="", idle=0.5)
    socket = served.websocket()
    socket.frame(1, b"[" * 60_000)
    assert socket.close_code() == End.MALFORMED.value[0]
    assert served.websocket().close_code() == End.IDLE.value[0]
    served.stop()
    assert served.failures.texts == []
    assert app_processes(capture) == {}


def test_no_more_sessions_than_allowed(capture: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server_module, "_WAIT_FOR_SESSION", 0.1)
    served = Served(capture, sessions=1)
    first = served.websocket()
    assert served.websocket().close_code() == End.FULL.value[0]
    served.stop()
    assert first.close_code() == End.STOPPED.value[0]


def _heed_signals() -> None:
    """The tests themselves may run under nohup or in the background, which ignore these signals."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        *(pytest.param(n, marks=pytest.mark.slow) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)),
    ],
    ids=lambda number: number.name,
)
def test_no_process_is_left_when_the_server_ends(capture: Path, number: signal.Signals, tmp_path: Path):
    own = tmp_path / "own.irscope"
    own.write_bytes(capture.read_bytes())
    command = [sys.executable, "-m", "irscope", "serve", str(own), "--port", "0"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
        preexec_fn=_heed_signals,  # noqa: PLW1509 - it only sets signal handlers
    )
    assert process.stdout is not None
    url = urllib.parse.urlsplit(process.stdout.readline().strip())
    client = Served.__new__(Served)
    client.port, client.token = url.port or 0, url.query.removeprefix("token=")
    socket = client.websocket()
    socket.wait_for_app()
    assert len(app_processes(own)) == 1
    process.send_signal(number)
    process.wait(20)
    process.stdout.close()
    wait_until_none_left(own)
    assert process.returncode == (-9 if number is signal.SIGKILL else 0)


@pytest.mark.slow
def test_without_a_token_on_a_public_address_there_is_a_warning(capture: Path):
    command = [
        sys.executable,
        "-m",
        "irscope",
        "serve",
        str(capture),
        "--port",
        "0",
        "--host",
        "0.0.0.0",
        "--no-token",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    process.terminate()
    _, errors = process.communicate(timeout=20)
    assert "token" not in url
    assert (
        errors == f"irscope: without a token, everyone who can reach {url.rstrip('/')} can see the capture\n"
    )
