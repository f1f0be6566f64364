"""What the app loads before it paints a capture for the first time: comparing begins after that."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from irscope.workspace import Workspace
from tests.tui import captures

# Prints the modules that are loaded when the main screen is mounted, which is before anything is compared.
_PROGRAM = """
import asyncio, json, os, sys
from irscope.tui.app import IrscopeApp
from irscope.tui.screens.compare import CompareScreen
from irscope.workspace import Workspace

async def main():
    app = IrscopeApp(Workspace(sys.argv[1]))
    mount = CompareScreen.on_mount
    def mounted(screen):
        mount(screen)
        print(json.dumps([[screen.pair.a.id, screen.pair.b.id], list(sys.modules)]), flush=True)
        os._exit(0)
    CompareScreen.on_mount = mounted
    async with app.run_test(size=(120, 40)):
        pass

asyncio.run(main())
"""
# Reads stages; compares texts; is on no screen yet; reads languages that are not on screen; executes.
_LATER = {
    "irscope.findings.registry",
    "rapidfuzz",
    "textual.widgets._text_area",
    "irscope.languages.sass",
    "irscope.interpreting",
}


def test_comparing_is_loaded_after_the_first_paint(tmp_path: Path) -> None:
    path = captures.launched(tmp_path / "x.irscope")
    Workspace(path, writable=True).store_facts()  # as a capture that was compiled has them
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(path)], capture_output=True, text=True, timeout=120, check=True
    )
    pair, modules = json.loads(done.stdout.splitlines()[-1])
    assert pair == [1, 2]
    assert "irscope.findings.fact_findings" in modules, "it judged pairs by their facts"
    assert not _LATER & set(modules)
