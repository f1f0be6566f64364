"""Print the path of the app's config file and its settings.

example: irscope config
"""

from __future__ import annotations

import argparse
import sys

NAME = "config"
GROUP = "learn and set up"
SUMMARY = "print the path of the app's config file and its settings"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare no arguments."""


def run(args: argparse.Namespace) -> int:
    """Print the path and the settings. Raises UserError, after printing the path, if the file is invalid."""
    from irscope.model.text import one_line
    from irscope.tui.settings import config_path, load

    path = config_path()
    print(one_line(f"{path}{'' if path.exists() else '  (does not exist yet)'}"))
    sys.stdout.flush()
    settings = load(path)
    print(one_line(f"theme  {settings.theme or 'textual-dark (default)'}"))
    print(f"stage  {settings.stage or 'the first that differs in more than shapes (default)'}")
    print(f"confirm_quit  {str(settings.confirm_quit).lower()}")
    print(f"restore  {str(settings.restore).lower()}")
    for action, key in settings.keys.items():
        print(one_line(f"key    {action} = {key}"))
    return 0
