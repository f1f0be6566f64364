"""Corrects the paths in a folder that `irscope warm` built and somebody moved: python3 relocate.py.

Triton's group files (`__grp__NAME.json`) name the files of an entry by absolute paths; if these do not exist,
Triton compiles the kernel again. This file is also copied into the folder, and needs nothing but Python.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

_GROUP = "__grp__"


def relocate(folder: Path, at: str = "") -> tuple[int, int]:
    """Makes every group file name its files by their paths in `at` (default: `folder` itself).

    Returns how many group files there are, and how many named other paths. A reader sees the old or the new
    group, whole. Raises OSError if one cannot be written.
    """
    root = at or os.path.abspath(folder)  # noqa: PTH100 - resolve() would follow links
    groups = changed = 0
    for entry in sorted(folder.iterdir()):
        for group in sorted(entry.glob(f"{_GROUP}*.json")):
            groups += 1
            changed += _rewrite(group, f"{root.rstrip('/')}/{entry.name}")
    return groups, changed


def _rewrite(group: Path, entry: str) -> bool:
    """Whether the group named other paths than those in `entry`, and was written again."""
    try:
        names = json.loads(group.read_bytes())["child_paths"]
        paths = {str(name): f"{entry}/{name}" for name in names}
    except (ValueError, KeyError, TypeError):
        return False  # Triton treats it as missing
    if paths == names:
        return False
    temporary = group.with_name(f"tmp.{os.getpid()}.{group.name}")
    temporary.write_text(json.dumps({"child_paths": paths}))
    temporary.replace(group)
    return True


def main() -> int:
    """Relocates the folder that this file is in."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--at", metavar="PATH", default="", help="the folder's path in production")
    folder = Path(os.path.abspath(__file__)).parent  # noqa: PTH100
    at = parser.parse_args().at
    try:
        groups, changed = relocate(folder, at)
    except OSError as error:
        print(f"relocate.py: {error}; make the folder writable, or relocate it before", file=sys.stderr)
        return 2
    print(f"{groups} kernels, {changed} relocated to {at or folder}; set TRITON_CACHE_DIR={at or folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
