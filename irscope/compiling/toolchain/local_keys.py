"""The parts of Triton's cache keys that this machine determines, found in a process of its own."""

from __future__ import annotations

import os
import platform
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from irscope.compiling.processes.run_tool import call_in_process
from irscope.model.records import frozen
from irscope.targets import parse_target


@frozen
class LocalKeys:
    """The parts of Triton's keys that this machine determines.

    `triton` is the digest of Triton's key of itself, as in `Variant.cache_key`. `backends` are the keys of
    the backends and `options` the default options by target; `environment` are the variables in the key that
    are set. `platform`, `extension`, `triton_path`, `library_dirs` and `libhip` are parts of the keys of
    stubs; the last two are () and "" if they cannot be found here, and `searched` says why. `device` is the
    target of this machine's GPU, "" if it has none.
    """

    triton: str
    version: str
    python: str
    extension: str
    platform: str
    triton_path: str
    backends: Mapping[str, str]
    options: Mapping[str, Mapping[str, str]]
    environment: Mapping[str, str]
    library_dirs: tuple[str, ...] = ()
    libhip: str = ""
    searched: str = ""
    device: str = ""

    def driver_library(self, backend: str) -> str:
        """Return where a backend's driver library is here, or "" if Triton does not find it."""
        return ":".join(self.library_dirs) if backend == "cuda" else self.libhip


def local_keys(targets: Sequence[str], cache: Path | None = None) -> LocalKeys:
    """Return the keys of this machine for these targets. Raises OSError if Triton cannot be used.

    With a cache folder, Triton's key of itself is kept there, which workers read.
    """
    variables = dict(os.environ) | ({"TRITON_CACHE_DIR": str(cache)} if cache else {})
    return call_in_process(keys_here, (cache is not None, tuple(targets)), environment=variables)


def keys_here(request: tuple[bool, tuple[str, ...]]) -> LocalKeys:
    """Return the keys of this machine: a request says whether to keep Triton's key of itself, and targets."""
    import triton
    from triton import knobs
    from triton._C.libtriton import get_cache_invalidating_env_vars
    from triton.compiler import make_backend
    from triton.runtime import cache
    from triton.runtime.build import platform_key

    from irscope.compiling.toolchain.stub_driver import gpu_target
    from irscope.compiling.toolchain.triton_cache import digest, remember_triton_key

    keeps_key, targets = request
    if keeps_key:
        remember_triton_key()
    backends, options = {}, {}
    for name in targets:
        backend = make_backend(gpu_target(parse_target(name)))
        backends[name] = backend.hash()
        knob_values = {
            "debug": knobs.runtime.debug,
            "instrumentation_mode": knobs.compilation.instrumentation_mode,
        }
        options[name] = {k: str(v) for k, v in vars(backend.parse_options(knob_values)).items()}
    directories, libhip, searched = _driver_places({name.partition(":")[0] for name in targets})
    return LocalKeys(
        triton=digest(cache.triton_key()),
        version=triton.__version__,
        python=platform.python_version(),
        extension=str(sysconfig.get_config_var("EXT_SUFFIX")),
        platform=platform_key(),
        triton_path=str(Path(triton.__file__).resolve().parent),
        backends=backends,
        options=options,
        environment=get_cache_invalidating_env_vars(),
        library_dirs=directories,
        libhip=libhip,
        searched=searched,
        device=_device(),
    )


def _driver_places(backends: set[str]) -> tuple[tuple[str, ...], str, str]:
    """Find the folders of libcuda and the path of libamdhip64 on this machine.

    Also returns why one was not found.
    """
    directories: tuple[str, ...] = ()
    libhip = searched = ""
    try:
        if "cuda" in backends:
            directories = tuple(import_module("triton.backends.nvidia.driver").libcuda_dirs())
        if "hip" in backends:
            libhip = str(import_module("triton.backends.amd.driver")._get_path_to_hip_runtime_dylib())
    except (AssertionError, RuntimeError, OSError, subprocess.CalledProcessError) as error:
        searched = str(error).splitlines()[0] if str(error) else type(error).__name__
    return directories, libhip, searched


def _device() -> str:
    """Return the target of this machine's GPU, or "" if there is none or torch cannot say."""
    if not (any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/kfd").exists()):
        return ""
    try:
        import torch

        if not torch.cuda.is_available():
            return ""
        if torch.version.hip:
            return "hip:" + str(torch.cuda.get_device_properties(0).gcnArchName).partition(":")[0]
        major, minor = torch.cuda.get_device_capability()
    except Exception:  # noqa: BLE001 - no torch, or a broken driver
        return ""
    return f"cuda:{major * 10 + minor}"
