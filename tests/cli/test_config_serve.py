"""irscope config and irscope serve, as a user runs them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import pytest


def config(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "irscope", "config"],
        capture_output=True,
        text=True,
        env={**os.environ, "IRSCOPE_CONFIG": str(path)},
        check=False,
    )


def test_config_prints_path_and_settings(tmp_path):
    path = tmp_path / "config.toml"
    done = config(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == f"{path}  (does not exist yet)"
    path.write_text('theme = "nord\\u001b[2J"\nstage = "ptx"\n[keys]\nswap = "X"\n')
    done = config(path)
    assert done.stdout.splitlines() == [
        str(path), "theme  nord␛[2J", "stage  ptx", "confirm_quit  true", "restore  true", "key    swap = X",
    ]  # fmt: skip


def test_a_broken_config_is_one_line(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("theme = ")
    done = config(path)
    assert done.returncode == 2
    assert done.stdout == f"{path}\n"
    assert done.stderr.startswith(f"irscope: {path}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(find_spec("textual_serve") is not None, reason="textual-serve is installed")
def test_serve_without_textual_serve_is_one_line(irscope, capture):
    done = irscope("serve", capture)
    assert done.returncode == 2
    assert done.stderr == "irscope: irscope serve needs textual-serve: pip install 'irscope[serve]'\n"


@pytest.mark.skipif(find_spec("textual_serve") is None, reason="textual-serve is not installed")
class TestServe:
    """With the extra `serve`."""

    def test_it_answers_only_on_loopback_and_to_its_own_page(self, capture):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        serving = subprocess.Popen(
            [sys.executable, "-m", "irscope", "serve", str(capture), "--port", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            page = self.page(f"http://127.0.0.1:{port}/")
            assert f"ws://127.0.0.1:{port}/ws" in page
            with pytest.raises(urllib.error.HTTPError) as error:
                urllib.request.urlopen(
                    urllib.request.Request(f"http://127.0.0.1:{port}/ws", headers={"Origin": "http://evil"})
                )
            assert error.value.code == 403
        finally:
            serving.terminate()
            serving.wait(timeout=20)

    def page(self, url: str) -> str:
        """The server's answer, once it is up."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not self.listens(url):
            time.sleep(0.1)
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.read().decode()

    def listens(self, url: str) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", urllib.parse.urlsplit(url).port)) == 0

    def test_a_port_that_is_taken(self, irscope, capture):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            done = irscope("serve", capture, "--port", str(taken.getsockname()[1]))
        assert done.returncode == 2
        assert done.stderr.startswith("irscope: cannot listen on 127.0.0.1, port ")

    def test_a_capture_that_cannot_be_read(self, irscope, tmp_path):
        assert irscope("serve", tmp_path / "none.irscope").returncode == 2
