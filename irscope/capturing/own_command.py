"""Runs a command of irscope in a process of its own."""

from __future__ import annotations

import subprocess

from irscope.toolchain.child_process import irscope_command


def run_irscope(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `irscope WORDS` until it ends, whatever modules the working folder has; capture what it prints."""
    return subprocess.run(irscope_command(*words), capture_output=True, text=True, check=False)
