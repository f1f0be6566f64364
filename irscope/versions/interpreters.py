"""Interpreters that import another Triton, and everything else as the running interpreter does.

    CACHE/versions/interpreters/3.7.1-5f2c.../bin/python      import triton: 3.7.1; import torch: the user's

Each is a virtual environment of a few files, without network access. Its one .pth file puts the folder of the
package in front and processes the site-packages of the running interpreter after it, so that an editable
install, a wheel and a `--target` folder of irscope or of the user's own packages all work.
"""

from __future__ import annotations

import hashlib
import os
import site
import sys
import venv
from pathlib import Path

from irscope.versions.packages import made, versions_folder

INTERPRETERS = "interpreters"
_PTH = "irscope_versions.pth"
_PYTHON = "bin/python"


def interpreter(name: str, package: Path) -> Path:
    """The interpreter that imports the package in the folder `package` before all others.

    `name` begins the name of its folder. Raises VersionUnavailable if it cannot be written.
    """
    lines = _pth_lines(package)
    base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    key = hashlib.sha256("\0".join([base, sys.prefix, *lines]).encode("utf-8", "replace")).hexdigest()[:12]
    folder = versions_folder() / INTERPRETERS / f"{name}-{key}"
    if not (folder / _PYTHON).exists():
        made(folder, lambda part: _make(part, lines), _PYTHON)
    return folder / _PYTHON


def package_of(folder: Path) -> str:
    """The package folder that an interpreter's folder puts in front; "" if it is damaged."""
    for file in folder.glob(f"lib/*/site-packages/{_PTH}"):
        return file.read_text(encoding="utf-8", errors="replace").partition("'")[2].partition("'")[0]
    return ""


def _make(folder: Path, lines: list[str]) -> None:
    venv.create(folder, with_pip=False, symlinks=True, clear=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / _PTH).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _pth_lines(package: Path) -> list[str]:
    """The lines of the .pth file. `site` executes those that begin with "import"."""
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    irscope = Path(__file__).parents[2]
    return [
        # In front of PYTHONPATH, which may have another Triton.
        f"import sys; sys.path.insert(0, {str(package)!r})",
        *(f"import site; site.addsitedir({folder!r})" for folder in folders),
        str(irscope),
    ]
