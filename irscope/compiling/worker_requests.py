"""Plans one variant again with other values of its config. Runs in a process that has Triton.

The files that a kernel's file consists of, for machines that lack them. Runs in a worker process.

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
from irscope.compiling import plan as planning
from irscope.compiling.job import Job
from irscope.compiling.kernels import FoundKernel, find_kernel, parameters
from irscope.compiling.messages import Plan, Sources, SourcesRequest, SweepRequest, WhatIfRequest
from irscope.compiling.plan import versions, with_heuristics
from irscope.compiling.python_files import package_of
from irscope.model import Argument, Config, Expression, UserError
from irscope.model.errors import ArgumentError
from irscope.model.text import with_nearest


def plan_what_if(request: WhatIfRequest) -> Plan:
    """Plan the jobs of a request: the variant itself, then those with other values.

    Raises UserError if the kernel no longer fits the variant, or a name or value does not fit the
    kernel.
    """
    found_kernel = find_kernel(request.file, request.kernel)
    kernel_parameters = parameters(found_kernel)
    names = {parameter.name for parameter in kernel_parameters}
    if gone := [a.name for a in request.specialization if a.name not in names]:
        raise UserError(f"{request.kernel} has no parameter '{gone[0]}' any more; compile it again")
    axes = {
        name: tuple(planning.plain_value(found_kernel.constants, "config", name, value) for value in values)
        for name, values in request.axes.items()
    }
    base = Config(
        tuple(pair for pair in request.config.values if pair[0] not in _computed(found_kernel, request))
    )
    configs = planning.apply_axes((base,), axes)
    _check_names(request, found_kernel, configs)
    environment = planning.environment_of_kernel(found_kernel.function, request.target)
    expressions = tuple(
        value.text for values in request.axes.values() for value in values if isinstance(value, Expression)
    )
    jobs = []
    for config in (request.config, *configs):
        chosen = {name for name, _ in config.values}
        arguments = tuple(a for a in request.specialization if a.name not in chosen)
        full = with_heuristics(found_kernel, config, arguments, dict(request.config.values))
        planning.check_complete(found_kernel, kernel_parameters, full, arguments)
        jobs.append(_job(request, arguments, full, environment, expressions))
    return planning.kernel_plan(found_kernel, (request.target,), jobs)


def _job(
    request: WhatIfRequest,
    arguments: tuple[Argument, ...],
    config: Config,
    environment: tuple[tuple[str, str], ...],
    expressions: tuple[str, ...],
) -> Job:
    flags = request.reasons, request.passes
    kernel_on_target = request.file, request.kernel, request.target
    return Job(*kernel_on_target, arguments, config, 0, *flags, environment, expressions)


def _computed(found: FoundKernel, request: WhatIfRequest) -> frozenset[str]:
    """Return the config values that heuristics compute from the others and that may change with them.

    A user may have chosen another value for one; that value is not returned.
    """
    values = dict(request.config.values)
    chosen = Config(tuple(pair for pair in values.items() if pair[0] not in found.heuristics))
    computed = dict(with_heuristics(found, chosen, request.specialization, values).values)
    return frozenset(
        name for name in found.heuristics if name in values and values[name] == computed.get(name)
    )


def _check_names(request: WhatIfRequest, found: FoundKernel, configs: tuple[Config, ...]) -> None:
    """Raise UserError, with the nearest name, if a value is of no constexpr and no option."""
    sweep = SweepRequest(request.file, request.kernel, None, {}, {}, (request.target,))
    try:
        planning.check_names(sweep, found, parameters(found), configs)
    except ArgumentError as error:
        known_names = {p.name for p in parameters(found) if p.constexpr} | planning.option_names(
            request.target
        )
        unknown = [name for name in request.axes if name not in known_names]
        if not unknown:
            raise UserError(error.problem) from error
        raise UserError(with_nearest(error.problem, unknown[0], known_names)) from error


# Folders of installed packages, wherever they are, and packages that are the toolchain.
_INSTALLED = ("site-packages", "dist-packages")
_TOOLCHAIN = ("irscope", "triton", "torch")


def find_sources(request: SourcesRequest) -> Sources:
    """Read the files of the request's kernel file, and return them with the toolchain's versions.

    The file has been imported.
    """
    toolchain_versions = versions(request.targets)
    if not request.contents:
        return Sources(toolchain_versions, {}, ())
    folders, own_package = _installed_folders(), package_of(request.file)[:1]
    files = {os.path.abspath(request.file)}  # noqa: PTH100 - links are kept
    for name, file in _module_files():
        if name.partition(".")[0] in own_package or not _is_installed(name, file, folders):
            files.add(file)
    contents = {name: Path(name).read_bytes() for name in sorted(files) if Path(name).is_file()}
    return Sources(toolchain_versions, contents, tuple(_search_folders(contents)))


def _module_files() -> list[tuple[str, str]]:
    """Return the name and the source file of every module of this process."""
    named_files = [(name, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
    return [
        (name, os.path.abspath(file))  # noqa: PTH100
        for name, file in named_files
        if isinstance(file, str) and file.endswith(".py")
    ]


def _installed_folders() -> tuple[str, ...]:
    """Return the folders of Python's own modules and of installed packages."""
    paths = sysconfig.get_paths()
    installed = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    installed.append(str(Path(irscope.__file__).parent))
    installed += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple({f"{folder}{os.sep}" for name in installed for folder in (name, os.path.realpath(name))})


def _is_installed(module: str, file: str, folders: tuple[str, ...]) -> bool:
    """Return True if a module is expected on every machine."""
    if module.partition(".")[0] in _TOOLCHAIN or file.startswith(folders):
        return True
    return any(part in _INSTALLED for part in Path(file).parts)


def _search_folders(files: dict[str, bytes]) -> list[str]:
    """Return the folders of `sys.path` that one of the files is in, in order."""
    folders = dict.fromkeys(os.path.abspath(folder) for folder in sys.path)  # noqa: PTH100
    return [folder for folder in folders if any(name.startswith(f"{folder}{os.sep}") for name in files)]
