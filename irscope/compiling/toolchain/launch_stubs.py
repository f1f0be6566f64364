"""Builds the shared objects that Triton builds with the C compiler at first use, without a GPU.

These are a module that calls the driver (`cuda_utils`, `hip_utils`) and in Triton 3.6 a launcher per
signature (`__triton_launcher`). Triton's own code makes their C source and their keys: its drivers run up to
the point where they would start the compiler, once for each place that libcuda may have in production.

Runs in a process of its own, because it replaces functions of Triton's drivers.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from irscope.compiling.processes.run_tool import call_in_process
from irscope.compiling.toolchain.patching import patched
from irscope.model.records import frozen

# The calls of libcuda in driver.c and in the launchers.
_CUDA_FUNCTION = re.compile(r"\bcu[A-Z]\w+(?=\s*\()")
_DRIVERS = {"cuda": "triton.backends.nvidia.driver", "hip": "triton.backends.amd.driver"}


@frozen
class Launcher:
    """A signature to launch: Triton's types by parameter, and the metadata that the launcher depends on.

    `tensordesc_meta` is JSON; "" if there is none.
    """

    backend: str
    types: tuple[Any, ...]
    tensordesc_meta: str = ""
    warp_size: int = 32


@frozen
class BuiltStub:
    """A shared object in the cache; see `warming.manifest.WarmStub`. `problem` says why it is not there."""

    name: str
    backend: str
    file: str
    source: str
    folders: tuple[str, ...]
    size: int = 0
    problem: str = ""


@frozen
class StubRequest:
    """A build of stubs: the cache folder, the backends, the launchers, and where production has the drivers.

    `library_dirs` are the possible results of the driver's search for libcuda; `libhip` are paths of
    libamdhip64. `lookup` builds nothing, and finds the entries of this machine's own platform key.
    """

    folder: str
    backends: tuple[str, ...]
    launchers: tuple[Launcher, ...]
    library_dirs: tuple[tuple[str, ...], ...] = ()
    libhip: tuple[str, ...] = ()
    lookup: bool = False


@frozen
class _Source:
    """A C source as Triton's driver gives it to the compiler, and one key under which it looks it up."""

    name: str
    key: str
    text: str
    include_dirs: tuple[str, ...]
    libraries: tuple[str, ...]
    flags: tuple[str, ...]
    suffix: str


class _Captured(BaseException):
    """Ends a driver's code where it would start the C compiler."""


def build_stubs(request: StubRequest) -> list[BuiltStub]:
    """Build every stub of the request that its folder lacks, in a process of its own. Raises OSError."""
    return call_in_process(build_here, request)


def platform_keys() -> list[str]:
    """Triton's platform key of this machine, and the one that it has with or without the `file` command."""
    from triton.runtime.build import platform_key

    machine_key = platform_key()
    bits = platform.architecture()[0]
    system = f"{platform.machine()},{platform.system()},{bits}"
    return list(dict.fromkeys([machine_key, f"{system},ELF", f"{system},"]))


def build_here(request: StubRequest) -> list[BuiltStub]:
    """Build the stubs in this process, whose drivers of Triton this changes."""
    sources_by_stub: dict[tuple[str, str, str], list[_Source]] = {}
    for backend in request.backends:
        for source in _sources(backend, request):
            sources_by_stub.setdefault((backend, source.name, source.text), []).append(source)
    stubs = {of: (_stub(of[0], sources), sources[0]) for of, sources in sources_by_stub.items()}
    if request.lookup:
        return [stub for stub, _ in stubs.values()]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(lambda pair: _install(Path(request.folder), *pair), stubs.values()))


def _sources(backend: str, request: StubRequest) -> Iterator[_Source]:
    """Yield the sources that this backend's driver would compile, once per key."""
    driver = import_module(_DRIVERS[backend])
    utils, launcher = (
        (driver.CudaUtils, driver.CudaLauncher)
        if backend == "cuda"
        else (driver.HIPUtils, driver.HIPLauncher)
    )
    calls: list[Callable[[], Any]] = [utils]
    if hasattr(driver, "make_launcher"):  # 3.6
        calls += [
            lambda given=given: launcher(_kernel(given), _metadata(given))  # type: ignore[misc]
            for given in request.launchers
            if given.backend == backend
        ]
    for library_patch in _places(backend, driver, request):
        with library_patch:
            for key in platform_keys()[: 1 if request.lookup else None]:
                for call in calls:
                    yield _captured(call, key)


def _places(
    backend: str, driver: ModuleType, request: StubRequest
) -> Iterator[contextlib.AbstractContextManager[None]]:
    """Within each block, the driver finds its library at one of the places that production may have."""
    if backend == "cuda":
        for library_folders in request.library_dirs:
            directories = [driver.libdevice_dir, *library_folders]
            yield patched(driver, "library_dirs", lambda directories=directories: directories)
    else:
        for path in request.libhip:
            yield patched(driver, "_get_path_to_hip_runtime_dylib", lambda path=path: path)


def _kernel(launcher: Launcher) -> Any:
    """Create what a launcher sees of an ASTSource: the types of the parameters."""
    names = [f"p{number}" for number in range(len(launcher.types))]
    signature = dict(zip(names, launcher.types, strict=True))
    return SimpleNamespace(constants={}, signature=signature, fn=SimpleNamespace(arg_names=names))


def _metadata(launcher: Launcher) -> Any:
    """Create what a launcher sees of a kernel's metadata."""
    descriptors = json.loads(launcher.tensordesc_meta) if launcher.tensordesc_meta else None
    return SimpleNamespace(tensordesc_meta=descriptors, warp_size=launcher.warp_size)


def _captured(call: Callable[[], Any], platform_key: str) -> _Source:
    """Return the source that Triton would compile in `call`, with the cache key of its lookup."""
    from triton.runtime import build

    keys: list[str] = []
    captured: list[_Source] = []

    def manager(key: str) -> Any:
        keys.append(key)
        return SimpleNamespace(get_file=lambda _: None)

    def compile_(
        name: str, path: str, _: str, __: Any, include_dirs: Any, libraries: Any, flags: Any, **___: Any
    ) -> str:
        text, suffix = Path(path).read_text(encoding="utf-8"), Path(path).suffix
        includes, libs, options = (
            tuple(map(str, values or ())) for values in (include_dirs, libraries, flags)
        )
        captured.append(_Source(name, keys[-1], text, includes, libs, options, suffix))
        raise _Captured

    with (
        patched(build, "get_cache_manager", manager),
        patched(build, "_build", compile_),
        patched(build, "platform_key", lambda: platform_key),
        contextlib.suppress(_Captured),
    ):
        call()
    return captured[0]


def _stub(backend: str, sources: Sequence[_Source]) -> BuiltStub:
    """Return the stub of a source, which is looked up under several keys."""
    from triton.runtime.cache import _base32

    source = sources[0]
    file = f"{source.name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    names = tuple(dict.fromkeys(_base32(keyed_source.key) for keyed_source in sources))
    return BuiltStub(source.name, backend, file, hashlib.sha256(source.text.encode()).hexdigest(), names)


def _install(folder: Path, stub: BuiltStub, source: _Source) -> BuiltStub:
    """Compiles a source unless an entry has the result, and puts it into the entries of all its keys."""
    targets = [folder / name / stub.file for name in stub.folders]
    existing = next((path for path in targets if path.exists()), None)
    with tempfile.TemporaryDirectory(dir=folder, prefix="tmp.") as temporary:
        try:
            shared_object = existing or _compile(source, Path(temporary), stub.file)
        except (OSError, subprocess.CalledProcessError) as error:
            return replace(stub, problem=_problem(error))
        for path in targets:
            if not path.exists():
                path.parent.mkdir(exist_ok=True)
                _link(shared_object, Path(temporary) / "linked", path)
    return replace(stub, size=targets[0].stat().st_size)


def _link(made: Path, temporary: Path, path: Path) -> None:
    """Make `path` the same file as `made`, or a copy where the file system has no hard links."""
    try:
        os.link(made, temporary)
    except OSError:
        shutil.copyfile(made, temporary)
    temporary.replace(path)


def _problem(error: OSError | subprocess.CalledProcessError) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = [line for line in str(error.stderr).splitlines() if "error" in line]
        return (lines or [f"the C compiler ended with exit code {error.returncode}"])[0]
    return str(error)


def _compile(source: _Source, temporary: Path, file: str) -> Path:
    """Compile the shared object of a source, as Triton's `_build` does.

    libcuda is a stub with its names.
    """
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise FileNotFoundError("no C compiler: install gcc, or set CC")
    path, shared_object = temporary / f"{source.name}{source.suffix}", temporary / file
    path.write_text(source.text, encoding="utf-8")
    if source.libraries:
        _compile_libraries(compiler, source, temporary)
    scheme = sysconfig.get_default_scheme().replace("posix_local", "posix_prefix")
    includes = [*source.include_dirs, temporary, sysconfig.get_paths(scheme=scheme)["include"]]
    words: list[str | Path] = [compiler, path, "-O3", "-shared", "-fPIC", "-Wno-psabi", "-o", shared_object]
    words += [f"-l:{library}" for library in source.libraries]
    words += [f"-L{temporary}", *(f"-I{folder}" for folder in includes), *source.flags]
    subprocess.run(words, check=True, capture_output=True, text=True)
    return shared_object


def _compile_libraries(compiler: str, source: _Source, temporary: Path) -> None:
    """Stubs of the libraries that a source is linked with; without a name it uses, a linker drops them."""
    names = sorted(set(_CUDA_FUNCTION.findall(source.text)))
    path = temporary / "library_stub.c"
    path.write_text("".join(f"void {name}(void) {{}}\n" for name in names))
    for library in source.libraries:
        words: list[str | Path] = [
            compiler,
            "-shared",
            "-fPIC",
            f"-Wl,-soname,{library}",
            "-o",
            temporary / library,
            path,
        ]
        subprocess.run(words, check=True, capture_output=True, text=True)
