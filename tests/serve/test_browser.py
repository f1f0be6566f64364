"""The served app in Chromium: nothing leaves the host, keys, clipboard, downloads, phones, reconnecting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import write_capture
from tests.serve.served import TOKEN, Served, app_processes, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_capture(tmp_path_factory.mktemp("browser") / "add.irscope")


@pytest.fixture
def served(capture: Path) -> Iterator[Served]:
    with serving(capture) as served:
        yield served


class Shown:
    """A page with the app: what it typed, asked for, and complained of."""

    def __init__(self, browser: Any, served: Served, routes: list[Any] | None = None, **options: Any) -> None:
        self.asked: list[str] = []
        self.messages: list[str] = []
        self.typed: list[str] = []
        self.received = 0
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("websocket", self._watch)
        if routes is not None:  # both ends of each websocket
            self.page.route_web_socket(
                re.compile("/ws"), lambda route: routes.append((route, route.connect_to_server()))
            )
        self.page.goto(f"http://127.0.0.1:{served.port}/?token={TOKEN}")
        self.wait_for_app()

    def _note(self, message: Any) -> None:
        if message.type == "error":
            self.messages.append(message.text)

    def _watch(self, websocket: Any) -> None:
        self.asked.append(websocket.url)
        websocket.on("framesent", lambda frame: self.typed.append(str(frame)))
        websocket.on("framereceived", self._count)

    def _count(self, frame: str | bytes) -> None:
        self.received += len(frame)

    def wait_for_app(self) -> None:
        before = self.received
        while self.received < before + 2000:
            self.page.wait_for_timeout(50)
        self.page.wait_for_timeout(500)

    def copied(self) -> str:
        return str(self.page.evaluate("navigator.clipboard.readText()"))


def test_no_request_leaves_the_host(browser: Any, served: Served):
    shown = Shown(browser, served)
    addresses = {re.sub(r"[/?].*", "", asked.partition("://")[2]) for asked in shown.asked}
    assert addresses == {f"127.0.0.1:{served.port}"}
    assert shown.page.url == f"http://127.0.0.1:{served.port}/"
    assert shown.messages == []
    assert shown.page.evaluate("document.cookie") == ""
    shown.context.close()


def test_copying_and_saving_reach_the_browser(browser: Any, served: Served):
    shown = Shown(browser, served)
    shown.page.keyboard.press("y")
    shown.page.wait_for_timeout(1500)
    assert shown.copied().startswith("#blocked = ")
    with shown.page.expect_download() as download:
        shown.page.keyboard.press("w")
    assert download.value.suggested_filename == "add_kernel-2.ttgir"
    assert shown.copied() in Path(download.value.path()).read_text().splitlines()
    shown.context.close()


def test_the_app_gets_the_keys_that_browsers_use(browser: Any, served: Served):
    shown = Shown(browser, served)
    for key, sent in (("Control+p", "\\u0010"), ("Escape", "\\u001b"), ("Tab", "\\t"), ("F1", "\\u001bOP")):
        shown.page.keyboard.press(key)
        shown.page.wait_for_timeout(300)
        assert f'["stdin","{sent}"]' in shown.typed
    shown.page.evaluate("navigator.clipboard.writeText('pasted')")
    shown.page.keyboard.press("Control+v")
    shown.page.wait_for_timeout(300)
    assert any("pasted" in frame for frame in shown.typed)
    shown.context.close()


def test_a_page_says_why_it_ended_and_starts_again(browser: Any, served: Served, capture: Path):
    shown = Shown(browser, served)
    shown.page.keyboard.press("q")
    shown.page.keyboard.press("q")  # the answer to the question whether to quit
    shown.page.wait_for_selector("text=You quit the app.")
    shown.page.click("text=Start again")
    shown.wait_for_app()
    assert len(app_processes(capture)) == 1
    shown.context.close()


def test_the_only_session_survives_a_reload_and_a_second_page_says_so(browser: Any, capture: Path):
    served = Served(capture, sessions=1)
    shown = Shown(browser, served)
    shown.page.reload()
    shown.wait_for_app()
    other = shown.context.new_page()
    other.goto(f"http://127.0.0.1:{served.port}/")
    other.wait_for_selector("text=All sessions are in use.")
    shown.context.close()
    served.stop()


def test_a_page_connects_again(browser: Any, served: Served):
    routes: list[Any] = []
    shown = Shown(browser, served, routes)
    routes[0][1].close()
    routes[0][0].close(code=1001)
    shown.page.wait_for_selector("text=The connection was lost.")
    shown.wait_for_app()
    assert not shown.page.is_visible("#notice")
    shown.context.close()


def test_a_phone_has_keys_and_scrolls(browser: Any, served: Served):
    size = {"width": 390, "height": 844}
    shown = Shown(browser, served, viewport=size, has_touch=True, is_mobile=True, device_scale_factor=2)
    assert shown.page.evaluate("document.documentElement.scrollWidth") == 390
    shown.page.tap("#keys button:has-text('↓')")
    shown.page.wait_for_timeout(300)
    assert '["stdin","\\u001b[B"]' in shown.typed
    finger = shown.context.new_cdp_session(shown.page)
    for kind, y in (("touchStart", 500), ("touchMove", 440), ("touchEnd", None)):
        points = [] if y is None else [{"x": 100, "y": y}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    shown.page.wait_for_timeout(300)
    assert any("[<65;" in frame for frame in shown.typed)
    shown.context.close()
