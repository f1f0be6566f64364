"""Compiles kernels of one module with plain Triton, for kernels_by_file.py; does not use irscope.

    python benchmarks/plain_triton.py < requests.jsonl > results.jsonl

A request names the module, its root folder, the target and the kernels, each with attempts: types of its
run-time parameters and texts of its constexprs; the first attempt that compiles counts. A process per request
imports the module, prints a JSON line about that and one per kernel, then an empty one, and leaves the stages
in the request's output folder.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import resource
import sys
import types
from pathlib import Path
from typing import Any, TextIO

SECONDS = 40  # of CPU time per kernel


class H100:
    """The parts of Triton's driver that libraries use when they are imported."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self.utils = self

    def get_current_target(self) -> Any:
        """The target."""
        return self._target

    def get_current_device(self) -> int:
        """The first device."""
        return 0

    def get_current_stream(self, device: int) -> int:
        """The default stream."""
        return 0

    def get_active_torch_device(self) -> Any:
        """The first CUDA device."""
        import torch

        return torch.device("cuda", 0)

    def get_benchmarker(self) -> Any:
        """Measures nothing."""
        return lambda *_, **__: [1.0, 1.0, 1.0]

    def get_device_properties(self, device: int) -> dict[str, int]:
        """An H100's."""
        return {
            "max_shared_mem": 232448,
            "multiprocessor_count": 132,
            "max_num_regs": 65536,
            "warpSize": self._target.warp_size,
        }


def patch_torch_cuda() -> None:
    """Replaces the functions of `torch.cuda` that libraries call when they are imported."""
    import torch

    properties = types.SimpleNamespace(
        name="NVIDIA H100", major=9, minor=0, multi_processor_count=132, total_memory=80 << 30,
        warp_size=32, gcnArchName="", shared_memory_per_block_optin=232448, L2_cache_size=50 << 20,
    )  # fmt: skip
    answers = {
        "is_available": True, "device_count": 1, "current_device": 0, "get_device_capability": (9, 0),
        "get_device_name": "NVIDIA H100", "get_device_properties": properties, "is_bf16_supported": True,
    }  # fmt: skip
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)
    torch.version.cuda = "13.0"


def import_module(root: str, name: str) -> tuple[Any, list[str]]:
    """The module, and the packages above it that were imported empty because their own code fails."""
    sys.path.insert(0, root)
    parts, emptied = name.split("."), []
    for depth in range(1, len(parts)):
        package = ".".join(parts[:depth])
        try:
            importlib.import_module(package)
        except (Exception, SystemExit) as error:
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            if missing and importlib.util.find_spec(missing.partition(".")[0]) is None:
                raise
            emptied.append(package)
            sys.modules[package] = types.ModuleType(package)
            sys.modules[package].__path__ = [str(Path(root, *parts[:depth]))]  # type: ignore[attr-defined]
    return importlib.import_module(name), emptied


def decorators_and_function(value: Any) -> tuple[list[Any], Any]:
    """The objects around a JITFunction, and the JITFunction."""
    around = []
    while not isinstance(value, JITFunction):
        around.append(value)
        value = getattr(value, "jit_function", None) or getattr(value, "fn", None) or value.__wrapped__
    return around, value


def compile_kernel(
    module: Any, name: str, attempt: dict[str, Any], target: Any
) -> tuple[Any, dict[str, Any], list[str]]:
    """Triton's compiled kernel, the values of the heuristics, and the names that the decorators set.

    Raises whatever Triton raises.
    """
    around, function = decorators_and_function(getattr(module, name))
    scope = {"tl": tl, **vars(module)}
    values = {key: eval(text, scope) for key, text in attempt["constants"].items()}
    given: dict[str, Any] = {}
    for wrapper in around:
        if isinstance(wrapper, Autotuner) and wrapper.configs:
            given |= wrapper.configs[0].all_kwargs()
    values |= given
    for parameter in function.params:
        if parameter.is_constexpr and parameter.has_default:
            values.setdefault(parameter.name, parameter.default)
    heuristics = heuristic_values(around, values, attempt["types"])
    values |= heuristics
    signature, constants, attributes = {}, {}, {}
    for index, parameter in enumerate(function.params):
        if parameter.is_constexpr:
            signature[parameter.name] = "constexpr"
            constants[parameter.name] = values[parameter.name]
            continue
        type_, _, hint = attempt["types"][parameter.name].partition(":")
        if type_ == "1":
            signature[parameter.name], constants[parameter.name] = "constexpr", 1
            continue
        signature[parameter.name] = type_
        known = [["tt.divisibility", 16]] if hint and not parameter.do_not_specialize else []
        known = [] if parameter.do_not_specialize_on_alignment else known
        if type_.startswith("*") and target.backend == "hip" and not parameter.do_not_specialize:
            known = [*known, ["tt.pointer_range", 32]]
        if known:
            attributes[(index,)] = known
    names = {parameter.name for parameter in function.params}
    launch = ("num_warps", "num_stages", "num_ctas", "maxnreg")
    options = {
        key: value
        for key, value in values.items()
        if key not in names or (key in launch and key in {**given, **attempt["constants"]})
    }
    source = ASTSource(function, signature, constants, attributes)
    return triton.compile(source, target=target, options=options), heuristics, [*given, *heuristics]


def heuristic_values(around: list[Any], values: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The values of `@triton.heuristics`; a guess for one that computes with a run-time argument."""
    found: dict[str, Any] = {}
    for wrapper in around:
        for key, heuristic in wrapper.values.items() if isinstance(wrapper, Heuristics) else ():
            try:
                found[key] = heuristic({**dict.fromkeys(names, ...), **values, **found})
            except Exception:  # noqa: BLE001, PERF203 - libraries may raise anything
                found[key] = values.get(key, 64)
    return found


def first_that_compiles(module: Any, kernel: dict[str, Any], target: Any, folder: Path) -> dict[str, Any]:
    """The result of the first attempt that compiles, or the errors of all."""
    errors = []
    for number, attempt in enumerate(kernel["attempts"]):
        try:
            compiled, heuristics, given = compile_kernel(module, kernel["name"], attempt, target)
        except Exception as error:  # noqa: BLE001 - the compiler may raise anything
            cause = error.__cause__ or error
            lines = [line for line in str(cause).splitlines() if line.strip()] or [""]
            errors.append(f"{type(cause).__name__}: {lines[-1].strip()}")
            continue
        for stage, content in compiled.asm.items():
            data = content if isinstance(content, bytes) else str(content).encode()
            (folder / f"{kernel['name']}.{stage}").write_bytes(data)
        values = {key: repr(value) for key, value in heuristics.items()}
        result = {"attempt": number, "stages": list(compiled.asm), "heuristics": values, "given": given}
        return {"name": kernel["name"], **result}
    return {"name": kernel["name"], "errors": errors}


def answer(request: dict[str, Any], results: TextIO) -> None:
    """Imports the module of a request once and compiles each kernel in a child process."""
    backend, arch = request["target"]
    target = GPUTarget(backend, arch, 64 if str(arch).startswith("gfx9") else 32)
    triton.runtime.driver.set_active(H100(target))
    patch_torch_cuda()
    sys.path[:0] = request["paths"]
    try:
        module, emptied = import_module(request["root"], request["module"])
    except BaseException as error:  # noqa: BLE001 - libraries may raise anything
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        text = " ".join(str(error).split())[:300]
        print(json.dumps({"import": f"{type(error).__name__}: {text}", "missing": missing}), file=results)
        return
    print(json.dumps({"import": None, "emptied": emptied}), file=results, flush=True)
    for kernel in request["kernels"]:
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            result = first_that_compiles(module, kernel, target, Path(request["output"]))
            print(json.dumps(result), file=results, flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            error = f"the process ended with status {status}"
            print(json.dumps({"name": kernel["name"], "errors": [error]}), file=results, flush=True)


def main() -> None:
    """Answers each request in a fork of this process, which has imported torch and Triton."""
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries and Triton print goes elsewhere
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            answer(json.loads(line), results)
            results.flush()
            os._exit(0)
        os.waitpid(child, 0)
        print(file=results, flush=True)


if __name__ == "__main__":
    import torch  # noqa: F401 - before the folder of the library is on the path
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    main()
