"""irscope doctor says for each command whether it works here."""

from __future__ import annotations

import re

import pytest

from irscope.cli import doctor
from irscope.cli.main import COMMANDS, main


def report(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["doctor"]) == 0
    return capsys.readouterr().out


def working_commands(text: str) -> set[str]:
    lines = re.search(r"^works +(.*(?:\n +.*)*)", text, re.M)
    assert lines
    return set(" ".join(lines[1].split()).split(", "))


def test_each_command_works_or_needs_a_package_that_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_version", lambda package: None)
    text = report(capsys)
    works = working_commands(text)
    missing = re.findall(r"^missing +(.*) \(pip install 'irscope\[(\w+)\]'\)$", text, re.M)
    assert {"list", "diff", "lint", "doctor"} <= works
    assert ("build, compile, learn, reproduce, tui FILE.py, warm", "compile") in missing
    assert [extra for _, extra in missing] == ["compile", "run", "serve", "mcp", "cluster"]
    needing = {use.partition(" ")[0] for uses, _ in missing for use in uses.split(", ")}
    assert {name for name, *_ in COMMANDS} == works | (needing - works)
    assert not works & {"compile", "run", "serve", "mcp"}


def test_with_every_package_all_commands_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_version", lambda package: "3.9.0")
    text = report(capsys)
    assert "missing" not in text
    assert {name for name, *_ in COMMANDS} <= working_commands(text)
    assert re.search(r"^triton +compiles for every target, without a GPU$", text, re.M)


def test_another_triton_is_called_untested(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_version", lambda package: "3.4.0")
    assert re.search(r"^triton +tested with 3.6 to 3.9, not with 3.4.0$", report(capsys), re.M)
