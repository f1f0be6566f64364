"""A process that has Triton loaded and runs scripts of reproducers, each in a fork of itself.

It is sent the path of each script, the folder for its stages, the file for what it prints and the seconds it
may take; answers with its exit code. Started by `minimize.py`.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from irscope.compiling.supervisor import supervise

_POLL_SECONDS = 0.02


def main(pipe: str, lifeline: str, cache: str) -> None:
    """Serve the pipe with this file descriptor, supervised; `cache` is the folder for Triton's cache."""
    supervise(int(lifeline))
    os.set_inheritable(int(pipe), False)
    for name in [name for name in os.environ if name.startswith("TRITON_")]:
        del os.environ[name]
    os.environ["TRITON_CACHE_DIR"] = cache
    import triton.compiler  # noqa: F401 - what every script imports
    from triton.backends import backends  # noqa: F401

    with suppress(EOFError, OSError), Connection(int(pipe)) as connection:
        while True:
            connection.send(_run(*connection.recv()))
    os._exit(0)


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
