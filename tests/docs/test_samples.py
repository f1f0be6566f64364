"""The commands in docs/samples.md equal tests/samples/cases.py, which tests/samples compiles."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.docs.pages import ROOT
from tests.samples.cases import CASES

TEXT = (ROOT / "docs" / "samples.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^(irscope compile (?:.*\\\n)*.*)$", TEXT, re.M)


def plain(value: object) -> str:
    return re.sub(r"\s+", "", str(value))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[2])
def test_command_is_a_case(command: str) -> None:
    _, _, sample, *words = shlex.split(command.replace("\\\n", ""))
    given: dict[str, list[str]] = {"--signature": [], "--config": [], "--const": [], "--target": []}
    for option, value in zip(words[::2], words[1::2], strict=True):
        given[option].append(plain(value))
    file, _, kernel = sample.removeprefix("samples/").partition("::")
    assert any(
        case.file == file
        and kernel in ("", case.kernel)
        and given["--signature"] == [plain(case.signature)]
        and given["--config"]
        == [plain(f"{name}={','.join(map(str, values))}") for name, values in case.config.items()]
        and given["--const"] == [plain(f"{name}={value}") for name, value in case.const.items()]
        and set(given["--target"]) <= set(case.targets)
        for case in CASES
    )


def test_every_sample_has_one() -> None:
    assert {case.file for case in CASES} == {re.split(r"[/:]", command.split()[2])[1] for command in COMMANDS}
