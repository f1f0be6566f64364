"""Limits what a served app may touch on the server to the capture, irscope's own files and its cache.

The app itself has no key that needs more in a browser. The guard (a hook for Python's audit events) makes
sure of that for every key, also for those added later: anything else raises PermissionError. It is not a
sandbox for hostile code, and none runs: opening a capture executes nothing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import unquote

from irscope.compiling.processes.child_process import python_command

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Events whose first arguments are paths that are changed, and how many those are.
_CHANGES = {
    "os.remove": 1, "os.rename": 2, "os.mkdir": 1, "os.rmdir": 1, "os.link": 2, "os.symlink": 2,
    "os.truncate": 1, "os.chmod": 1, "os.chown": 1, "os.utime": 1, "os.setxattr": 1, "os.removexattr": 1,
    "os.mkfifo": 1, "os.mknod": 1,
}  # fmt: skip
_LISTS = ("os.listdir", "os.scandir")
_REFUSED = (
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn",
    "os.startfile", "webbrowser.open", "socket.connect", "socket.bind",
)  # fmt: skip
# The programs that derive a stage or a layout; they get text of the capture and print text.
_DISASSEMBLER = "nvdisasm"
_LAYOUTS = python_command("irscope.compiling.toolchain.triton_layouts")
# Devices, this process, and data of the system that libraries read.
_SYSTEM = (
    "/dev/null",
    "/dev/urandom",
    "/dev/zero",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/usr/share",
)


def install(capture: Path, config: Path) -> None:
    """Refuse, from now on and until the process ends, every file other than those named above.

    `config` is the app's config file.
    """
    from irscope.workspace.stage_contents import default_folder

    capture_file = os.path.realpath(capture)
    with contextlib.suppress(OSError):
        default_folder().mkdir(parents=True, exist_ok=True)  # its parents could not be made later
    writable = _real([default_folder(), tempfile.gettempdir(), "/dev/null"])
    read = [
        *writable, capture_file, *(capture_file + suffix for suffix in ("-wal", "-shm", "-journal", "-lock")),
        *_real([*_libraries(), config, *_SYSTEM]), f"/proc/{os.getpid()}",
    ]  # fmt: skip
    sys.addaudithook(_hook(capture_file, read, writable))


def _libraries() -> Iterable[str | Path]:
    """Yield the folders of Python and its packages; of the folder that has irscope, only irscope."""
    package = Path(__file__).parents[1]
    yield package
    yield from (sys.prefix, sys.base_prefix, sys.exec_prefix)
    yield from (entry for entry in sys.path if entry and Path(entry).resolve() != package.parent.resolve())


def _real(paths: Iterable[str | Path]) -> list[str]:
    return [os.path.realpath(path) for path in paths]


def _hook(capture: str, read: list[str], written: list[str]) -> Callable[[str, tuple[object, ...]], None]:
    def check(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments[:3]
            is_write = bool(flags & _WRITES) if isinstance(flags, int) else bool(set(str(mode)) & set("wax+"))
            _require(path, written if is_write else read)
        elif event in _LISTS:
            _require(arguments[0] or ".", read)
        elif event in _CHANGES:
            for path in arguments[: _CHANGES[event]]:
                _require(path, written)
        elif event == "sqlite3.connect":
            _require(_database(arguments[0]), [capture])
        elif event == "subprocess.Popen":
            _require_program(arguments[0], arguments[1])
        elif event in _REFUSED:
            raise PermissionError(errno.EACCES, "a served session may not", event)

    return check


def _require(path: object, allowed: list[str]) -> None:
    """Raise PermissionError unless `path` is one of `allowed` or in one; a number is an open file."""
    if isinstance(path, str | bytes | os.PathLike):
        real = os.path.realpath(os.fsdecode(path))
        if not any(
            real == allowed_path or real.startswith(allowed_path.rstrip("/") + "/")
            for allowed_path in allowed
        ):
            raise PermissionError(errno.EACCES, "not for a served session", os.fsdecode(path))


def _require_program(executable: object, words: object) -> None:
    program = os.fsdecode(executable) if isinstance(executable, str | bytes | os.PathLike) else ""
    command = [os.fsdecode(word) for word in words] if isinstance(words, list | tuple) else []
    if Path(program).name != _DISASSEMBLER and (program, command) != (sys.executable, _LAYOUTS):
        raise PermissionError(errno.EACCES, "a served session may not run", program)


def _database(argument: object) -> object:
    """Return the path in SQLite's URI."""
    text = os.fsdecode(argument) if isinstance(argument, str | bytes | os.PathLike) else ""
    return unquote(text.removeprefix("file:").partition("?")[0]) if text.startswith("file:") else text
