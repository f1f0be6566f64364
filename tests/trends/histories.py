"""Folders of captures of commits, and git repositories of kernels."""

from __future__ import annotations

import subprocess
from pathlib import Path

from irscope.jobs.trends.trends import CAPTURES, Entry, History
from tests.cli.gated import write

COMMITS = tuple(f"{number}" * 40 for number in range(1, 5))


def entry(number: int, capture: str, triton: str = "3.9.0", **values: str) -> Entry:
    """The entry of the commit with this number, from 0, a day after the one before it."""
    given = {"subject": f"Commit {number}", "content": f"tree {number}", "launches": "all"} | values
    return Entry(
        COMMITS[number], f"2026-05-0{number + 1}T12:00:00+02:00", triton=triton, capture=capture, **given
    )


def history(folder: Path, name: str = "library", subject: str = "Spill") -> History:
    """Four commits: the third spills, the last one is as the third; another Triton for the first two."""
    captures = folder / CAPTURES
    captures.mkdir(parents=True)
    write(captures / "a.irscope", registers=64)
    write(captures / "b.irscope", registers=64, name="mul_kernel", blocks=(64, 256), failed=(256,))
    write(captures / "c.irscope", registers=128, stack=64, shared=512)
    made = History(folder, name, "https://github.com/owner/library")
    for number, capture in enumerate(("a.irscope", "a.irscope", "c.irscope", "c.irscope")):
        made = made.with_entry(entry(number, capture, subject=subject if number == 2 else "Nothing"))
    for number, capture in enumerate(("a.irscope", "b.irscope")):
        made = made.with_entry(entry(number, capture, "3.8.0"))
    made.write()
    return made


def git(folder: Path, *words: str) -> str:
    """Runs git in a folder. Raises CalledProcessError if it fails."""
    options = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *options, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, message: str) -> str:
    """Commits everything; returns the hash."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")
