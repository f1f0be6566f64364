"""Runs git on a user's repository, without its hooks and whatever repository the environment names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from irscope.model import UserError
from irscope.model.text import one_line
from irscope.toolchain.run_tool import run_tool

# Variables that would make git work on another repository: a hook that starts irscope sets them.
_OF_ANOTHER = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY")
# Settings of the repository that name programs are replaced.
_NO_PROGRAMS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_QUIET = ("-c", "advice.detachedHead=false", "-c", "gc.auto=0")
_SECONDS = 300.0


def git(folder: Path, *arguments: str) -> str:
    """The output of a git command in `folder`, without the last line feed.

    Raises UserError with git's message.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER}
    environment |= {"GIT_LFS_SKIP_SMUDGE": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    command: list[str | Path] = ["git", "-C", folder, *_NO_PROGRAMS, *_QUIET, *arguments]
    try:
        done = run_tool(command, seconds=_SECONDS, environment=environment)
    except FileNotFoundError as error:
        raise UserError("git is not installed; irscope reads the commits with it") from error
    except OSError as error:
        raise UserError(f"git: cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"git {arguments[0]}: not done after {_SECONDS:g} s in {folder}") from error
    if done.returncode:
        message = one_line(done.stderr.decode("utf-8", "replace").strip()) or f"exit {done.returncode}"
        raise UserError(f"{folder}: git {arguments[0]}: {message.removeprefix('fatal: ')}")
    return done.stdout.decode("utf-8", "replace").rstrip("\n")
