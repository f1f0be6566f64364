"""Hosts, origins, tokens, sizes, rates, and the files of a served app."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from irscope.compiling.processes.child_process import irscope_command, python_command
from irscope.serve import guard
from irscope.serve.policy import COLUMNS, AccessRules, Rate, bounded, host_name, is_loopback, new_token


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST", "[::1]:8000"])
def test_names_of_loopback_are_allowed(host: str):
    assert AccessRules("127.0.0.1", "http://127.0.0.1:8000").allows_host(host)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "10.0.0.7", "", None, "[::1", "a@b"],
)
def test_other_names_are_dns_rebinding(host: str | None):
    assert not AccessRules("127.0.0.1", "http://127.0.0.1:8000").allows_host(host)


def test_a_public_server_has_its_url_and_addresses_as_names():
    access = AccessRules("0.0.0.0", "https://gpu.example/irscope/")
    assert access.allows_host("gpu.example")
    assert access.allows_host("10.0.0.7:8000")
    assert not access.allows_host("evil.example")
    assert access.allows_origin("https://gpu.example", "127.0.0.1:8000")
    assert not access.allows_origin("http://gpu.example", "gpu.example")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "http://127.0.0.1:9", "file://"])
def test_other_origins_are_refused(origin: str):
    access = AccessRules("127.0.0.1", "http://127.0.0.1:8000")
    assert not access.allows_origin(origin, "127.0.0.1:8000")
    assert access.allows_origin("http://localhost:8000", "localhost:8000")
    assert access.allows_origin(None, "127.0.0.1:8000")


def test_only_the_token_is_valid():
    token = new_token()
    access = AccessRules("127.0.0.1", "http://127.0.0.1:8000", token)
    assert access.is_valid(token)
    assert not any(access.is_valid(other) for other in (None, "", token[:-1], token + "0", "\ud800", "\x00"))
    assert AccessRules("127.0.0.1", "http://127.0.0.1:8000").is_valid(None)


def test_loopback():
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "gpu")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip
    assert host_name("[::1]:8000") == "::1"


@pytest.mark.parametrize(
    ("value", "columns"),
    [
        ("80", 80),
        ("0", 20),
        (10**30, 600),
        (-5, 20),
        ("9" * 99, 80),
        (True, 80),
        (None, 80),
        ("٣", 80),
        (1.5, 80),
    ],
)
def test_a_size_is_bounded(value: object, columns: int):
    assert bounded(value, COLUMNS, 80) == columns


def test_a_rate_allows_a_burst_and_then_delays():
    now = 0.0
    rate = Rate(10, 5, lambda: now)
    assert [rate.delay() for _ in range(6)] == [0, 0, 0, 0, 0, 0.1]
    now = 1.0
    assert rate.delay() == 0


@pytest.fixture
def check(tmp_path: Path):
    capture = tmp_path / "a.irscope"
    return guard._hook(str(capture), [str(capture), str(tmp_path / "lib")], [str(tmp_path / "cache")])


def test_a_served_app_opens_its_own_files(check, tmp_path: Path):
    check("open", (str(tmp_path / "lib" / "x.py"), "r", os.O_RDONLY))
    check("open", (str(tmp_path / "cache" / "x"), "w", os.O_WRONLY | os.O_CREAT))
    check("open", (3, "r", os.O_RDONLY))
    check("os.rename", (str(tmp_path / "cache" / "x"), str(tmp_path / "cache" / "y"), -1, -1))
    check("sqlite3.connect", (f"file:{tmp_path}/a.irscope?mode=ro&immutable=1",))
    check("subprocess.Popen", ("/usr/bin/nvdisasm", ["nvdisasm", "x.cubin"], None, None))


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("open", ("/etc/passwd", "r", os.O_RDONLY)),
        ("open", ("{}/lib/x.py", "w", os.O_WRONLY)),
        ("open", ("{}/a.irscope", None, os.O_RDWR)),
        ("open", ("{}/cache/../secret", "r", os.O_RDONLY)),
        ("open", (b"/etc/passwd", "r", os.O_RDONLY)),
        ("os.listdir", ("/etc",)),
        ("os.scandir", (None,)),
        ("os.remove", ("{}/a.irscope", -1)),
        ("os.rename", ("{}/cache/x", "{}/lib/x", -1, -1)),
        ("os.mkdir", ("{}/new", 0o777, -1)),
        ("sqlite3.connect", ("{}/other.irscope",)),
        ("subprocess.Popen", ("/bin/sh", ["sh", "-c", "id"], None, None)),
        ("subprocess.Popen", (sys.executable, [sys.executable, "-c", "1"], None, None)),
        (
            "subprocess.Popen",
            (sys.executable, python_command("irscope.compiling.toolchain.rebuild_child"), None, None),
        ),
        ("os.system", (b"id",)),
        ("os.exec", ("/bin/sh", [], None)),
        ("socket.connect", (None, ("10.0.0.1", 80))),
    ],
)
def test_a_served_app_opens_nothing_else(check, tmp_path: Path, event: str, arguments: tuple[object, ...]):
    here = tuple(word.format(tmp_path) if isinstance(word, str) else word for word in arguments)
    with pytest.raises(PermissionError):
        check(event, here)


SERVED_LAYOUTS = """
import sys
from pathlib import Path
from irscope.serve import guard
from irscope.tui.settings import config_path
from irscope.compiling.processes.child_process import irscope_command, python_command
from irscope.workspace import Workspace
from irscope.workspace.variant_layouts import DrawingOptions, VariantLayouts, ask_triton_for_layouts

with Workspace(Path(sys.argv[1])) as workspace:
    guard.install(Path(sys.argv[1]), config_path())
    variant = workspace.variants[0]
    ask_triton_for_layouts(workspace, variant)
    layouts = VariantLayouts(workspace, variant)
    print(layouts.draw(layouts.tensors[0][0], DrawingOptions()).sentences[-1])
"""


@pytest.mark.slow
def test_a_served_app_draws_tritons_own_layouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    triton = pytest.importorskip("triton")
    monkeypatch.setenv("IRSCOPE_CACHE", str(tmp_path / "cache"))
    file = Path(__file__).parents[2] / "samples" / "vector_add.py"
    words = ["compile", str(file), "--signature", "*fp32, *fp32, *fp32, i32", "--config", "BLOCK_SIZE=64"]
    words += ["-o", "v.irscope"]
    subprocess.run(irscope_command(*words), cwd=tmp_path, check=True, capture_output=True)
    served = [sys.executable, "-c", SERVED_LAYOUTS, str(tmp_path / "v.irscope")]
    done = subprocess.run(served, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"Linear layout: from Triton {triton.__version__}.\n", "")


def test_a_link_out_of_the_cache_is_refused(check, tmp_path: Path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "link").symlink_to(tempfile.gettempdir())
    with pytest.raises(PermissionError):
        check("open", (str(tmp_path / "cache" / "link" / "x"), "w", os.O_WRONLY))
