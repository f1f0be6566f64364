"""The processor cores that this process may run on."""

from __future__ import annotations

import os


def available_cores() -> int:
    """The number of these cores; on macOS, which does not restrict processes, that of all cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
