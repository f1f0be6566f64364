"""The files that a kernel's file consists of, for machines that lack them. Runs in a worker process.

These are the file itself and the modules that it has imported so far, without installed packages: those have
to be installed wherever it is compiled.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from pathlib import Path

import irscope
from irscope.capturing.compile.plan import versions
from irscope.capturing.messages import Sources, SourcesRequest
from irscope.toolchain.python_files import package_of

# Folders of installed packages, wherever they are, and packages that are the toolchain.
_INSTALLED = ("site-packages", "dist-packages")
_TOOLCHAIN = ("irscope", "triton", "torch")


def find_sources(request: SourcesRequest) -> Sources:
    """The files of the request's kernel file, which has been imported, and the versions of the toolchain."""
    found = versions(request.targets)
    if not request.contents:
        return Sources(found, {}, ())
    folders, own = _installed_folders(), package_of(request.file)[:1]
    files = {os.path.abspath(request.file)}  # noqa: PTH100 - links are kept
    for name, file in _module_files():
        if name.partition(".")[0] in own or not _is_installed(name, file, folders):
            files.add(file)
    contents = {name: Path(name).read_bytes() for name in sorted(files) if Path(name).is_file()}
    return Sources(found, contents, tuple(_search_folders(contents)))


def _module_files() -> list[tuple[str, str]]:
    """The name and the source file of every module of this process."""
    found = [(name, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
    return [
        (name, os.path.abspath(file))  # noqa: PTH100
        for name, file in found
        if isinstance(file, str) and file.endswith(".py")
    ]


def _installed_folders() -> tuple[str, ...]:
    """The folders of Python's own modules and of installed packages."""
    paths = sysconfig.get_paths()
    own = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    own.append(str(Path(irscope.__file__).parent))
    own += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple({f"{folder}{os.sep}" for name in own for folder in (name, os.path.realpath(name))})


def _is_installed(module: str, file: str, folders: tuple[str, ...]) -> bool:
    """Whether a module is expected on every machine."""
    if module.partition(".")[0] in _TOOLCHAIN or file.startswith(folders):
        return True
    return any(part in _INSTALLED for part in Path(file).parts)


def _search_folders(files: dict[str, bytes]) -> list[str]:
    """The folders of `sys.path` that one of the files is in, in order."""
    found = dict.fromkeys(os.path.abspath(folder) for folder in sys.path)  # noqa: PTH100
    return [folder for folder in found if any(name.startswith(f"{folder}{os.sep}") for name in files)]
