"""Print the versions of tools and packages, and what works on this machine.

example: irscope doctor
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

from irscope import __version__

NAME = "doctor"
SUMMARY = "print the versions of tools and packages, and what works here"

_PACKAGES = ("triton", "torch", "textual", "rich", "pygments", "rapidfuzz", "zstandard")
_TRITON_VERSIONS = ("3.6", "3.7", "3.8", "3.9")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares no arguments."""


def run(args: argparse.Namespace) -> int:
    """Prints the report. Returns 0 even if something is missing, because the rest works."""
    for line in _report():
        print(line)
    return 0


def _report() -> Iterator[str]:
    from irscope.workspace import find_nvdisasm, plugin_uses

    found = {name: _version(name) for name in _PACKAGES}
    yield f"irscope   {__version__}"
    yield f"python    {platform.python_version()} on {platform.system()} {platform.machine()}"
    for name, version in found.items():
        yield f"{name:9} {version or 'not installed'}"
    nvdisasm = find_nvdisasm()
    yield f"nvdisasm  {nvdisasm or 'not found'}"
    yield f"gpu       {_gpu()}"
    yield ""
    yield "browse, table, show, diff, dump   yes"
    yield f"compile                           {_can_compile(found['triton'])}"
    sass = "yes" if nvdisasm else "no: needs nvdisasm, which triton includes"
    yield f"sass                              {sass}"
    yield f"versions                          {_other_versions()}"
    if found_plugins := plugin_uses():
        yield ""
        yield "plug-ins"
        yield from (f"  {plugin.package} {plugin.version}: {use}" for plugin, use in found_plugins)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _can_compile(triton: str | None) -> str:
    if triton is None:
        return "no: pip install 'irscope[compile]' (Linux)"
    if not triton.startswith(tuple(f"{version}." for version in _TRITON_VERSIONS)):
        return f"maybe: tested with triton {_TRITON_VERSIONS[0]} to {_TRITON_VERSIONS[-1]}, not with {triton}"
    return "yes, for every target, without a GPU"


def _other_versions() -> str:
    """The environments that irscope versions made."""
    from irscope.versions.installed import installed_packages

    found = [f"{package.tool} {package.version}" for package in installed_packages()]
    return ", ".join(found) or "no other ones installed; irscope versions KERNEL makes them"


def _gpu() -> str:
    if Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi"):
        return "NVIDIA driver found"
    if Path("/sys/module/amdgpu").exists():
        return "AMD driver found"
    return "none found (none is needed)"
