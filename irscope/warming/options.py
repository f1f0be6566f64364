"""How to build a warm folder, and where production may have the driver's libraries."""

from __future__ import annotations

import os
import platform
import site
import subprocess
from dataclasses import dataclass

from irscope.model import Target


@dataclass(frozen=True, slots=True)
class WarmOptions:
    """How to build a warm folder.

    `target` is the GPU of production for scripts (None: cuda:90), and of captures only its variants are
    used. `kernels` is a glob on kernel names. `prune` keeps only configs that a capture says were chosen,
    `binary_only` no stage but the binary. `at` is the folder's path in production ("": where it is built).
    `libcuda` are folders, or several with ":" between, and `libhip` files; () means the usual ones.
    `processes` of None starts one per core; `seconds` is the time limit per kernel.
    """

    target: Target | None = None
    kernels: str = "*"
    prune: bool = False
    binary_only: bool = False
    at: str = ""
    libcuda: tuple[str, ...] = ()
    libhip: tuple[str, ...] = ()
    processes: int | None = None
    seconds: float = 300.0


def library_dirs(given: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The results that Triton's search for libcuda may have in production (`libcuda_dirs` of its driver).

    The keys of the driver module depend on them in Triton 3.8 and 3.9.
    """
    chosen = given or tuple(filter(None, [os.environ.get("TRITON_LIBCUDA_PATH")]))
    if chosen:
        return tuple(tuple(each.split(":")) for each in chosen)
    machine = platform.machine()
    usual = (
        f"/lib/{machine}-linux-gnu",  # Debian, Ubuntu with the NVIDIA container toolkit
        f"/usr/lib/{machine}-linux-gnu",
        "/lib64",  # Fedora, RHEL, Amazon Linux
        "/usr/lib64",
        "/usr/local/nvidia/lib64",  # Google Kubernetes Engine
        "/usr/lib/wsl/lib",
    )
    here = _from_ldconfig("libcuda.so.1")
    return tuple(dict.fromkeys([*([here] if here else []), *((each,) for each in usual)]))


def libhip_paths(given: tuple[str, ...]) -> tuple[str, ...]:
    """The paths of libamdhip64.so that Triton may find in production; its module's source has the path."""
    chosen = given or tuple(filter(None, [os.environ.get("TRITON_LIBHIP_PATH")]))
    packages = site.getsitepackages()[:1]
    return chosen or (
        *(f"{each}/torch/lib/libamdhip64.so" for each in packages),
        "/opt/rocm/lib/libamdhip64.so",
    )


def _from_ldconfig(library: str) -> tuple[str, ...]:
    """The folders of a library, as Triton reads them from `ldconfig -p`."""
    try:
        printed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    except OSError:  # macOS
        return ()
    return tuple(os.path.dirname(line.split()[-1]) for line in printed.splitlines() if library in line)  # noqa: PTH120
