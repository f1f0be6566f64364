"""Print the versions of tools and packages, and what works on this machine.

example: irscope doctor
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import shutil
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from irscope import __version__

NAME = "doctor"
GROUP = "learn and set up"
SUMMARY = "print the versions of tools and packages, and what works here"

_PACKAGES = (
    "triton",
    "torch",
    "aiohttp",
    "mcp",
    "distributed",
    "textual",
    "rich",
    "pygments",
    "rapidfuzz",
    "zstandard",
)
# What works only with a package that the base installation lacks: package, extra that has it, uses.
_USES = (
    ("triton", "compile", ("build", "compile", "learn", "reproduce", "tui FILE.py", "warm")),
    ("torch", "run", ("run", "warm PROGRAM")),
    ("aiohttp", "serve", ("serve",)),
    ("mcp", "mcp", ("mcp",)),
    ("distributed", "cluster", ("compile --cluster",)),
)
_WIDTH = 110
_TRITON_VERSIONS = ("3.6", "3.7", "3.8", "3.9")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare no arguments."""


def run(args: argparse.Namespace) -> int:
    """Print the report. Returns 0 even if something is missing, because the rest works."""
    for line in _report():
        print(line)
    return 0


def _report() -> Iterator[str]:
    from irscope.compiling.processes.disassembler import find_nvdisasm
    from irscope.workspace.kernel_scopes import plugin_uses

    package_versions = {name: _version(name) for name in _PACKAGES}
    yield f"irscope     {__version__}"
    yield f"python      {platform.python_version()} on {platform.system()} {platform.machine()}"
    for name, version in package_versions.items():
        yield f"{name:11} {version or 'not installed'}"
    nvdisasm = find_nvdisasm()
    yield f"nvdisasm    {nvdisasm or 'not found'}"
    yield f"gpu         {_gpu()}"
    yield ""
    yield from _working_commands(package_versions)
    yield f"triton      {_is_tested(package_versions['triton'])}"
    yield f"sass        {'yes' if nvdisasm else 'no: needs nvdisasm, which triton includes'}"
    yield f"versions    {_other_versions()}"
    if found_plugins := plugin_uses():
        yield ""
        yield "plug-ins"
        yield from (f"  {plugin.package} {plugin.version}: {use}" for plugin, use in found_plugins)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _working_commands(found: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the commands that work here, then a line per package that others need."""
    from irscope.cli.main import COMMANDS

    uses_of_packages = {use for _, _, uses in _USES for use in uses}
    working = [name for name, *_ in COMMANDS if name not in uses_of_packages]
    missing = []
    for package, extra, uses in _USES:
        if found[package]:
            working += uses
        else:
            missing.append(f"{', '.join(uses)} (pip install 'irscope[{extra}]')")
    yield from textwrap.wrap(f"works       {', '.join(sorted(working))}", _WIDTH, subsequent_indent=" " * 12)
    yield from (f"missing     {line}" for line in missing)


def _is_tested(triton: str | None) -> str:
    if triton is None:
        return "not installed: captures can be viewed, not made"
    if not triton.startswith(tuple(f"{version}." for version in _TRITON_VERSIONS)):
        return f"tested with {_TRITON_VERSIONS[0]} to {_TRITON_VERSIONS[-1]}, not with {triton}"
    return "compiles for every target, without a GPU"


def _other_versions() -> str:
    """Return the environments that irscope versions made."""
    from irscope.jobs.versions.packages import installed_packages

    environments = [f"{package.tool} {package.version}" for package in installed_packages()]
    return ", ".join(environments) or "no other ones installed; irscope versions KERNEL makes them"


def _gpu() -> str:
    if Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi"):
        return "NVIDIA driver found"
    if Path("/sys/module/amdgpu").exists():
        return "AMD driver found"
    return "none found (none is needed)"
