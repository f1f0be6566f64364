"""The command in each sample's docstring equals tests/samples/cases.py, which tests/samples compiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irscope.learn.sample_commands import written_command
from tests.docs.pages import ROOT
from tests.samples.cases import CASES

SAMPLES = sorted((ROOT / "samples").glob("[!_]*.py"))


def plain(value: object) -> str:
    return re.sub(r"\s+", "", str(value))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_command_is_a_case(sample: Path) -> None:
    named, *words = written_command(sample)
    given: dict[str, list[str]] = {"--signature": [], "--config": [], "--const": [], "--target": []}
    for option, value in zip(words[::2], words[1::2], strict=True):
        given[option].append(plain(value))
    file, _, kernel = named.removeprefix("samples/").partition("::")
    assert file == sample.name
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


def test_every_sample_is_compiled_and_on_its_page() -> None:
    page = (ROOT / "docs" / "samples.md").read_text(encoding="utf-8")
    assert {case.file for case in CASES} == {path.name for path in SAMPLES}
    assert [path.name for path in SAMPLES if f"[{path.name}](../samples/{path.name})" not in page] == []
