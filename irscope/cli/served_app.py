"""The app of one page: `python served_app.py CAPTURE`, with its terminal on stdin and stdout.

Started by its path, so that Python looks for modules next to irscope and not in the current folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> int:
    """Show the capture until its user quits or the server is gone."""
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from irscope.model import UserError
    from irscope.serve import driver, guard
    from irscope.tui.app import run
    from irscope.tui.settings import config_path
    from irscope.workspace import Workspace

    path = Path(sys.argv[1])
    driver.use_stdout()
    try:
        with Workspace(path) as workspace:
            guard.install(path, config_path())
            return run(workspace).code
    except UserError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # a thread that still waits for input must not keep the process
