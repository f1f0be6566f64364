"""The key table of docs/commands/tui.md equals the bindings."""

from __future__ import annotations

import re
from pathlib import Path

from irscope.tui import key_help
from irscope.tui.app import IrscopeApp
from irscope.tui.settings import Settings, load
from irscope.workspace import Workspace
from tests.tui.driving import press, texts

PAGE = Path(__file__).parents[2] / "docs" / "commands" / "tui.md"


def key_table(app: IrscopeApp) -> str:
    """The expected table: keys, the action's name for the keymap, its description."""
    lines = []
    for group in key_help.sections():
        lines += [f"| **{group.title}** | | |"]
        for binding in group.bindings:
            if re.fullmatch(r"stage\([2-9]\)", binding.id or ""):
                continue  # the row of stage 1 is for all
            shown = f"`{key_help.shown(app, binding, {})}`"
            row = f"| {shown} | `{binding.id}` | {binding.tooltip} |"
            lines += [
                "| `1` to `9` | `stage(1)` to `stage(9)` | Show that stage |" if "`stage(1)`" in row else row
            ]
    return "\n".join(["| Keys | Action | |", "| --- | --- | --- |", *lines, ""])


async def test_the_key_table_is_up_to_date(app: IrscopeApp) -> None:
    assert key_table(app) in PAGE.read_text(encoding="utf-8")


def test_every_action_has_a_name_and_one_set_of_keys() -> None:
    named: dict[str, str] = {}
    for group in key_help.sections():
        for binding in group.bindings:
            assert binding.id is not None
            assert re.fullmatch(r"[\w.]+(\(.*\))?", binding.id)
            assert named.setdefault(binding.id, binding.key) == binding.key


def test_the_example_config_file_is_valid(tmp_path: Path) -> None:
    example = re.findall(r"```toml\n(.*?)```", PAGE.with_name("config.md").read_text(encoding="utf-8"), re.S)
    (tmp_path / "config.toml").write_text(example[0])
    settings = load(tmp_path / "config.toml")
    assert (settings.theme, settings.stage) == ("nord", "ptx")
    known = {binding.id for group in key_help.sections() for binding in group.bindings}
    assert settings.keys.keys() <= known


async def test_the_keys_of_the_example_work(matmul: Path) -> None:
    changed = {"change(-1)": "u,shift+f8", "toggle_unified": "U"}
    app = IrscopeApp(Workspace(matmul), Settings(keys=changed))
    async with app.run_test(size=(160, 50)) as pilot:
        await press(pilot, "3", "G", "u")
        row = texts(pilot).row
        assert row in [first for first, _ in texts(pilot).page.runs]
        assert not texts(pilot).unified
        await press(pilot, "U")
        assert texts(pilot).unified
