"""The config file: reading it, its errors, and its effect on the app."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.model import UserError
from irscope.tui.app import IrscopeApp
from irscope.tui.settings import Settings, config_path, load
from irscope.tui.widgets.bars import KeyHints
from irscope.workspace import Workspace
from tests.tui.driving import drawn, press, settled, tab, texts

WHOLE = """\
theme = "nord"
stage = "ttir"
[keys]
swap = "X,, f8"
"change(1)" = "d"
"""


def test_valid_settings(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    assert load(path) == Settings()
    path.write_text(WHOLE)
    assert load(path) == Settings("nord", "ttir", {"swap": "X,f8", "change(1)": "d"})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"theme = ", "Invalid value"),
        (b"\xff\xfe", "utf-8"),
        (b"color = 1", "unknown setting 'color'; known: theme, stage, keys"),
        (b"theme = 1", "theme is not a name"),
        (b"stage = 'cubin'", "unknown stage 'cubin'"),
        (b"stage = ['x']", "unknown stage"),
        (b"keys = 1", "keys is not a table"),
        (b"[keys]\nswap = 1", "swap is not a key"),
        (b"[keys]\nswap = ' , '", "swap is not a key"),
        (b"[keys]\nswap = ','", "swap is not a key"),
        (b"x = " + b"[" * 100_000, ""),
        (b"#" * 1_000_001, "too large"),
    ],
)
def test_an_error_in_the_file_is_one_line(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_is_not_a_config_file(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        load(tmp_path)


def test_the_path_of_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("IRSCOPE_CONFIG", raising=False)
    assert config_path().parts[-2:] == ("irscope", "config.toml")
    monkeypatch.setenv("IRSCOPE_CONFIG", str(tmp_path / "x"))
    assert config_path() == tmp_path / "x"


async def test_the_app_applies_the_settings(matmul: Path) -> None:
    app = IrscopeApp(Workspace(matmul), Settings("nord", "ttir", {"swap": "X", "change(1)": "d"}))
    async with app.run_test(size=(220, 50)) as pilot:
        await settled(pilot)
        assert app.theme == "nord"
        assert tab(pilot) == "ttir"
        assert "X swap" in drawn(app.screen.query_one(KeyHints))
        await press(pilot, "x")
        assert "A #1" in drawn(texts(pilot)).splitlines()[0]
        await press(pilot, "X")
        assert "A #2" in drawn(texts(pilot)).splitlines()[0]
        await press(pilot, "g")
        before = texts(pilot).change_number()
        await press(pilot, "d")
        assert texts(pilot).change_number() == before + 1
        await press(pilot, "question_mark")
        help_lines = drawn(app.screen.query_one("HelpView")).splitlines()
        assert [line.strip("│ ").split()[0] for line in help_lines if "Swap A and B" in line] == ["X"]


async def test_keys_of_two_actions_are_reported(matmul: Path) -> None:
    # `a` is a key of only the table, `C` one of the main screen, `s` also one of the chart.
    settings = Settings(keys={"swap": "a", "detail": "C", "chart": "s,f9", "axis": "x", "why": "f7"})
    app = IrscopeApp(Workspace(matmul), settings)
    async with app.run_test(size=(160, 50)) as pilot:
        await settled(pilot)
        assert [note.message for note in app._notifications] == [
            "'s' is a key of chart and of sort",
            "'a' is a key of swap and of mark('a')",
            "'a' is a key of swap and of all_findings",
        ]


async def test_unknown_settings_are_reported_and_ignored(matmul: Path) -> None:
    settings = Settings("[b]no", "sass", {"no such": "x"})
    app = IrscopeApp(
        Workspace(matmul, lambda cubin: ""), settings, "config.toml: broken; the file is ignored"
    )
    async with app.run_test(size=(160, 50)) as pilot:
        await settled(pilot)
        messages = [note.message for note in app._notifications]
        assert messages[0] == "config.toml: broken; the file is ignored"
        assert messages[1].startswith("no theme '[b]no'; known: ")
        assert messages[2] == "keys: no action 'no such'"
        await press(pilot, "x")
        assert "A #2" in drawn(texts(pilot)).splitlines()[0]
