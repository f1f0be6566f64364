"""The files of this repository name no package registry, and no folder of the machine that wrote them."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.docs.pages import ROOT

# Addresses of package indexes, and options that name one: pip and npm know their own.
REGISTRY = re.compile(
    r"https?://[^\s\"'`)<>]*/(?:simple|pypi|-/all)(?:/|\b)|--(?:extra-)?index-url|\bindex-url\s*=|\bregistry\s*=\s*http",
    re.IGNORECASE,
)
# Folders of users other than the made-up ones, of random names, and of jobs.
PEOPLE = "me|you|user|someone|ann|USER|NAME"
MACHINE = re.compile(
    rf"/home/(?!(?:{PEOPLE})\b)[\w.-]+|/Users/[\w.-]+|/root/|(?<![\w./}}])/work/"
    r"|/tmp/(?:tmp|irscope-)[a-z0-9_]{8}\b|/tmp/pytest-of-"
)


def tracked_texts() -> list[tuple[str, str]]:
    """Return the path and text of each tracked file that is text."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs a checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / name for name in listed.decode().split("\0") if name]
    contents = [(path, path.read_bytes()) for path in paths if path.is_file()]
    return [
        (str(path.relative_to(ROOT)), content.decode("utf-8", "replace"))
        for path, content in contents
        if b"\0" not in content
    ]


@pytest.mark.parametrize("pattern", [REGISTRY, MACHINE], ids=["registries", "machines"])
def test_no_tracked_file_names_a_registry_or_a_machine(pattern: re.Pattern[str]) -> None:
    found = [
        f"{path}: {match[0]}"
        for path, text in tracked_texts()
        if path != "tests/docs/test_tracked_files.py"
        for match in pattern.finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "https://packages.example/simple/triton",
        "pip install {}index-url X",
        "registry = http://packages.example",
    ],
)
def test_the_pattern_finds_registries(text: str) -> None:
    assert REGISTRY.search(text.format("--"))
    assert not REGISTRY.search("https://example.com/simplest language_registry.py registry = {}")


@pytest.mark.parametrize(
    "parts", [("home", "alice", "x.py"), ("tmp", "tmpabcdefgh", "demo"), ("work", "main"), ("root", "x")]
)
def test_the_pattern_finds_machines(parts: tuple[str, ...]) -> None:
    assert MACHINE.search(f'"/{"/".join(parts)}"')
    assert not MACHINE.search("/home/me/x.py /tmp/kernels/a.py build/work/x")
