"""Print where the config file of the app is, and what it says.

example: irscope config
"""

from __future__ import annotations

import argparse
import sys

NAME = "config"
SUMMARY = "print where the app's config file is, and what it says"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(args: argparse.Namespace) -> int:
    """Prints the path and the settings. Raises UserError, after the path, where the file is broken."""
    from irscope.model.text import one_line
    from irscope.tui.settings import config_path, load

    path = config_path()
    print(one_line(f"{path}{'' if path.exists() else '  (not there yet)'}"))
    sys.stdout.flush()
    settings = load(path)
    print(one_line(f"theme  {settings.theme or 'textual-dark (default)'}"))
    print(f"stage  {settings.stage or 'the first that differs in more than shapes (default)'}")
    for action, key in settings.keys.items():
        print(one_line(f"key    {action} = {key}"))
    return 0
