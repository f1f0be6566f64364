"""A process that has Triton loaded and runs scripts of reproducers, each in a fork of itself.

Reads a line per script from stdin: the script's path, the folder for its stages, the file for what it prints
and the seconds it may take, as JSON; answers with its exit code. Started by `minimize.py`.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import time
from pathlib import Path

_POLL_SECONDS = 0.02


def main() -> int:
    """Serve until stdin is closed."""
    import triton.compiler  # noqa: F401 - what every script imports
    from triton.backends import backends  # noqa: F401

    for line in sys.stdin:
        script, dump, printed, seconds = json.loads(line)
        print(_run(script, dump, printed, seconds), flush=True)
    return 0


def _run(script: str, dump: str, printed: str, seconds: float) -> int:
    child = os.fork()
    if not child:
        _become(script, dump, printed)
    deadline = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return 1
        time.sleep(_POLL_SECONDS)


def _become(script: str, dump: str, printed: str) -> None:
    """Run the script in this process, and end it."""
    code = 1
    try:
        output = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv = [script, "--dump", dump]
        sys.path[0] = str(Path(script).parent)
        runpy.run_path(script, run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException as error:  # noqa: BLE001 - the compiler and the kernel may raise anything
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
