"""irscope config and irscope serve, as a user runs them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
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


def test_serve_without_aiohttp_is_one_line(irscope, capture, monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.delitem(sys.modules, "irscope.serve.web_server", raising=False)
    done = irscope("serve", capture)
    assert done.returncode == 2
    assert done.stderr == "irscope: irscope serve needs aiohttp: pip install 'irscope[serve]'\n"


class TestServe:
    """With the extra `serve`; tests/serve has the server."""

    def test_a_port_that_is_taken(self, irscope, capture):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            done = irscope("serve", capture, "--port", str(taken.getsockname()[1]))
        assert done.returncode == 2
        assert done.stderr.startswith("irscope: cannot listen on 127.0.0.1, port ")

    def test_a_capture_that_cannot_be_read(self, irscope, tmp_path):
        assert irscope("serve", tmp_path / "none.irscope").returncode == 2

    @pytest.mark.parametrize(
        "words",
        [
            ("--port", "65536"),
            ("--sessions", "0"),
            ("--idle", "-1"),
            ("--idle", "nan"),
            ("--public-url", "x"),
        ],
    )
    def test_an_option_out_of_range_is_one_line(self, irscope, capture, words):
        done = irscope("serve", capture, *words)
        assert done.returncode == 2
        assert done.stderr.startswith(f"irscope serve: argument {words[0]}: must be ")
