"""Runs a tool, such as nvdisasm, that ends with irscope, also if irscope is killed.

The kernel of Linux signals a child whose parent has ended (prctl(2), PR_SET_PDEATHSIG). Elsewhere a tool that
was started runs to its end. The workers of a sweep have a supervisor instead, which also ends their children.

Runs a command of irscope, or calls a function, in a new Python.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from irscope.compiling.processes.child_process import irscope_command, python_command

# linux/prctl.h
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class ToolLimits:
    """The most bytes that a tool may allocate, and write to a file."""

    memory: int
    written: int


def run_tool(
    command: Sequence[str | Path],
    given: bytes | None = None,
    seconds: float | None = None,
    environment: Mapping[str, str] | None = None,
    errors: IO[bytes] | None = None,
    output: IO[bytes] | None = None,
    limits: ToolLimits | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command with `given` as its input, until it ends; its output and its errors are captured.

    Its errors go to the file `errors` if there is one, and its output to the file `output`; `environment`
    replaces this process's. `limits` are for a tool whose input anybody may have written.

    Raises OSError if the command cannot be started, subprocess.TimeoutExpired after `seconds`.
    """
    control = _control()
    return subprocess.run(
        command,
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        stdout=output or subprocess.PIPE,
        stderr=errors or subprocess.PIPE,
        env=environment,
        timeout=seconds,
        check=False,
        # It calls two functions of libc, and takes no lock that another thread may hold. Linux takes the end
        # of the thread that starts a process for that of the parent: this one waits.
        preexec_fn=partial(_prepare, control, os.getpid(), limits) if control or limits else None,
    )


@cache
def _control() -> Callable[[int, int], int] | None:
    """prctl(2) on Linux, else None. Loaded before the fork: nothing can be imported after it."""
    if sys.platform != "linux":
        return None
    return ctypes.CDLL(None).prctl


def _prepare(control: Callable[[int, int], int] | None, parent: int, limits: ToolLimits | None) -> None:
    """In the new process: it is killed when `parent` ends, or ends now if that was before."""
    if limits is not None:
        limit_resource(resource.RLIMIT_DATA, limits.memory)
        limit_resource(resource.RLIMIT_FSIZE, limits.written)
    if control is not None:
        control(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def limit_resource(kind: int, most: int) -> None:
    """Lower a limit of this process for good; one that is lower already stays."""
    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY or hard > most:
        with suppress(OSError, ValueError):  # macOS has no RLIMIT_DATA that works
            resource.setrlimit(kind, (most, most))


def run_irscope(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `irscope WORDS` until it ends, whatever modules the working folder has; capture what it prints."""
    return subprocess.run(irscope_command(*words), capture_output=True, text=True, check=False)


_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")


def call_in_process(
    function: Callable[[_Argument], _Result],
    argument: _Argument,
    seconds: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> _Result:
    """Return the result of a function of a module for `argument`; both must be picklable.

    Raises OSError with the last line that the process prints if it ends without a result,
    subprocess.TimeoutExpired after `seconds`.
    """
    command = python_command(__name__, function.__module__, function.__name__)
    done = run_tool(command, pickle.dumps(argument), seconds, environment)
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise OSError((lines or ["the process ended"])[-1])
    return cast("_Result", pickle.loads(done.stdout))  # noqa: S301 - from a process of ours


def main(module: str, name: str) -> None:
    """Call the function with the argument on stdin, and write its result to stdout."""
    output = os.dup(1)
    os.dup2(2, 1)  # compilers may print
    function: Callable[[Any], object] = getattr(import_module(module), name)
    result = pickle.dumps(function(pickle.load(sys.stdin.buffer)))  # noqa: S301 - from a process of ours
    with open(output, "wb") as file:  # noqa: PTH123 - a descriptor
        file.write(result)
