"""The parent process of a worker: ends the worker, and all that it started, as soon as irscope ends.

A worker can hang in compiled code, and irscope can be killed at any moment, so a worker does not watch
irscope itself. Its supervisor does: a small process that waits until the worker ends, or the other end of
its lifeline, a socket that only irscope has, is closed; the operating system closes it if irscope is
killed, on Linux and macOS alike. It then kills the worker's process group with ptxas in it, on Linux also
what left the group, and removes the worker's folder for temporary files. `multiprocessing.resource_tracker`
and Bazel's process-wrapper work the same way.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress

# linux/prctl.h
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_LINUX = sys.platform == "linux"
FOLDER_PREFIX = "irscope-worker-"


def supervise(lifeline: int) -> None:
    """Forks a worker and returns in it; the calling process supervises it and then exits as the worker did.

    `lifeline` is a socket; the worker has to end when its other end is closed.
    """
    supervisor = os.getpid()
    with suppress(PermissionError):  # it leads a session already
        os.setsid()  # the terminal sends Ctrl-C only to irscope
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in _IGNORED}
    _adopt_descendants()
    # Written to by Python's signal handler when the worker, or what it left behind, ends.
    ended, wake = (above_streams(end) for end in os.pipe())
    for end in (ended, wake):
        os.set_blocking(end, False)
    handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
    before = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    folder = tempfile.mkdtemp(prefix=FOLDER_PREFIX)
    worker = os.fork()
    if worker:
        _exit_as(_supervised(worker, lifeline, ended, wake, folder))
    signal.set_wakeup_fd(before)
    for number, handler in handlers.items():
        signal.signal(number, handler if handler is not None else signal.SIG_DFL)
    for descriptor in (lifeline, ended, wake):
        os.close(descriptor)
    os.setsid()
    _end_with(supervisor)
    tempfile.tempdir = folder


def _supervised(worker: int, lifeline: int, ended: int, wake: int, folder: str) -> int:
    """Wait for the end of the worker or of irscope and end all that is left; the worker's exit status."""
    _close_all_but(lifeline, ended, wake)
    events = select.poll()
    for descriptor in (lifeline, ended):
        events.register(descriptor, select.POLLIN)
    while lifeline not in [descriptor for descriptor, _ in events.poll()]:
        with suppress(BlockingIOError):
            os.read(ended, select.PIPE_BUF)
        if _has_ended(worker):
            break
    _kill(os.kill, worker)  # it may have no group yet
    _kill(os.killpg, worker)
    status = os.waitpid(worker, 0)[1]
    _kill_descendants()
    shutil.rmtree(folder, ignore_errors=True)
    return status


def _has_ended(worker: int) -> bool:
    """Return True if the worker ended.

    Processes that it left behind are children of the supervisor and end too.
    """
    if not hasattr(os, "waitid"):  # macOS before Python 3.13; no other process has this one as its parent
        return True
    while child := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if child.si_pid == worker:
            return True
        os.waitpid(child.si_pid, 0)
    return False


def _exit_as(status: int) -> None:
    """End this process as another one ended: with its exit code, or by its signal."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError, ValueError):  # there is nothing to restore for SIGKILL
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def above_streams(descriptor: int) -> int:
    """Return a descriptor of the same file that is not a standard stream's.

    Programs may have closed the standard streams.
    """
    if descriptor > 2:
        return descriptor
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


def _close_all_but(*kept: int) -> None:
    """Close the descriptors of this process, above all the worker's pipe: irscope waits for its end."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    low = 3
    for descriptor in sorted(kept):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, _most_descriptors())


def _most_descriptors() -> int:
    with suppress(OSError, ValueError):
        return max(map(int, os.listdir("/dev/fd"))) + 1  # noqa: PTH208 - Linux and macOS
    return min(os.sysconf("SC_OPEN_MAX"), 1 << 16)


def _adopt_descendants() -> None:
    """Make this process the parent of what its descendants leave behind, so that it can end it (Linux)."""
    if _LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _kill_descendants() -> None:
    """End what the worker started outside of its process group, generation by generation (Linux)."""
    children_file = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    while _LINUX:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        try:
            with open(children_file, encoding="ascii") as listed:  # noqa: PTH123 - few imports
                children = [int(word) for word in listed.read().split()]
        except OSError:
            return
        killed = [child for child in children if _kill(os.kill, child)]
        if not killed:
            return
        os.waitpid(killed[0], 0)


def _kill(kill: Callable[[int, int], None], process: int) -> bool:
    """Kill a process or group; return True if it was there to be killed."""
    try:
        kill(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _end_with(supervisor: int) -> None:
    """Make Linux kill this process if its supervisor is killed; it has one thread, which is the parent."""
    if _LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)
