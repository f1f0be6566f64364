"""Finds kernels in a user's file, with their decorators. Runs in processes that have Triton.

Helion kernels of a file: their names, example arguments, and configs, from the user's options.

`helion_kernel` reads the file's text; the other functions need Helion, and run where the file is imported.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

from irscope.compiling.constexpr_values import Constants
from irscope.compiling.python_files import import_file, load_file
from irscope.compiling.signature import NAMED, SignatureItem
from irscope.model import Config, Dtype, SourceFunction, UserError, parse_value
from irscope.model.config import torch_name
from irscope.model.errors import error_line
from irscope.model.plugins import problems
from irscope.model.text import split_entries
from irscope.targets.frontends import Frontend, all_frontends

_TENSOR = re.compile(
    r"(?P<dtype>[a-z]\w*)\s*\[(?P<sizes>[\d,\s]*)\](?:\s*strides\s*\[(?P<strides>[\d,\s]*)\])?"
)


def helion_kernel(path: Path, name: str | None) -> str | None:
    """Return the Helion kernel `name` of a file.

    Without a name, return the only one of a file that has no `@triton.jit`. Returns None if that
    is not a Helion kernel, or if the file is not Python. Raises UserError if there are several.
    """
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text) if "helion" in text else ast.Module([], [])
    except (OSError, ValueError, SyntaxError, RecursionError):
        return None
    names = list(dict.fromkeys(helion_kernels(tree)))
    if name is not None:
        return name if name in names else None
    if not names or "triton.jit" in text:
        return None
    if len(names) > 1:
        raise UserError(f"{path}: choose one of {', '.join(names)}, as {path}::KERNEL")
    return names[0]


def helion_kernels(tree: ast.Module) -> Iterator[str]:
    """Yield the names that `@helion.kernel`, or a call of it, defines in a module."""
    modules = dict(_imported_from_helion(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            if any(_makes_kernel(decorator, modules) for decorator in node.decorator_list):
                yield node.name
        elif isinstance(node, ast.Assign) and _makes_kernel(node.value, modules):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _imported_from_helion(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names that a file imports from Helion, with the path of each: "h", "helion"."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "helion":
                    yield (alias.asname or "helion"), (alias.name if alias.asname else "helion")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "helion":
            for alias in node.names:
                yield (alias.asname or alias.name), f"{node.module}.{alias.name}"


def _makes_kernel(node: ast.expr, modules: Mapping[str, str]) -> bool:
    """Return True for `helion.kernel`, `helion.kernel(...)`, or an expression that ends in `_kernel`."""
    while isinstance(node, ast.Call):
        node = node.func
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in modules:
        return False
    last = names[0] if names else modules[node.id].rpartition(".")[2]
    return last in ("kernel", "jit") or last.endswith("_kernel")


def example_arguments(kernel: Any, signature: str, constants: Mapping[str, str]) -> tuple[Any, ...]:
    """Return the arguments for which a Helion kernel is compiled.

    These are uninitialized tensors on the device, and values. `signature` has an entry per
    parameter, in order or as NAME=ENTRY: `fp16[512, 64]` is a tensor (with `strides [1, 512]` if
    it is not contiguous), `[fp16[8], fp16[9]]` a list, anything else a value. Raises UserError if
    it does not fit the kernel.
    """
    entries = split_entries(signature)
    named = {match[1]: match[2] for entry in entries if (match := NAMED.fullmatch(entry))} | dict(constants)
    positional = [_argument(entry) for entry in entries if not NAMED.fullmatch(entry)]
    try:
        values = {name: _argument(text) for name, text in named.items()}
        return tuple(kernel.normalize_args(*positional, **values))
    except TypeError as error:
        names = ", ".join(kernel.signature.parameters)
        example = ", ".join("fp32[1024, 1024]" for _ in kernel.signature.parameters)
        raise UserError(
            f'--signature: {error}; {kernel.name} has {names}, and needs an entry for each: "{example}"'
        ) from error


def _argument(text: str) -> Any:
    import torch

    text = text.strip()
    if match := _TENSOR.fullmatch(text):
        sizes, strides = (_numbers(match[group]) for group in ("sizes", "strides"))
        dtype = _dtype(match["dtype"])
        if match["strides"] is None:
            return torch.empty(sizes, dtype=dtype, device="cuda")
        return torch.empty_strided(sizes, strides, dtype=dtype, device="cuda")
    if text[:1] in ("[", "(") and text[-1:] in ("]", ")"):
        items = [_argument(item) for item in split_entries(text[1:-1])]
        return items if text[0] == "[" else tuple(items)
    value = parse_value(text)
    return _dtype(value.name) if isinstance(value, Dtype) else value


def _numbers(text: str | None) -> list[int]:
    return [int(number) for number in (text or "").split(",") if number.strip()]


def _dtype(name: str) -> Any:
    import torch

    dtype = getattr(torch, torch_name(name), None)
    if not isinstance(dtype, torch.dtype):
        raise UserError(f"--signature: '{name}' is not an element type such as fp16, bf16, fp32 or int32")
    return dtype


def config_value(text: str) -> Any:
    """Parse a value of Helion's config: `[64, 32]`, `[pointer]`, `4`.

    The text is what a user writes or what irscope shows.
    """
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [config_value(item) for item in split_entries(text[1:-1])]
    return parse_value(text)


def combined_configs(configs: Sequence[Any], axes: Mapping[str, Sequence[str]]) -> list[Any]:
    """Combine each config with the product of the axes (name -> texts of values).

    The axes win over the config's own values.
    """
    from helion import Config

    values = {name: [config_value(text) for text in texts] for name, texts in axes.items()}
    combined = [
        Config(**{**config.config, **dict(zip(values, chosen, strict=True))})
        for config in configs
        for chosen in product(*values.values())
    ]
    return list(dict.fromkeys(combined))


@dataclass(frozen=True)
class FoundKernel:
    """A kernel and what its decorators say.

    `function` is Triton's JITFunction without the decorators around it; `configs` are those of
    `@triton.autotune` (empty if not autotuned); `heuristics` maps parameter names to the functions of
    `@triton.heuristics`; `pruned` is true if the autotuner has a prune function or performance model.
    `constants` has the objects in the configs.
    `source_stages` are the texts that another front end generated it from, by stage.
    """

    function: Any
    constants: Constants
    configs: tuple[Config, ...] = ()
    heuristics: Mapping[str, Any] = field(default_factory=dict)
    pruned: bool = False
    source_stages: Mapping[str, str] = field(default_factory=dict)


def find_kernel(path: Path, name: str | None) -> FoundKernel:
    """Find the kernel named `name`, or the file's only kernel.

    Raises UserError, which lists the kernels.
    """
    values = load_file(path)
    if name is not None and name in values:  # a file may have hundreds of kernels, and variants of each
        kernels = _kernels(path, {name: values[name]})
        if kernels:
            return kernels[name]
    kernels = _kernels(path, values)
    if not kernels or (name is not None and name not in kernels):
        kernels |= _kernels_of_frontends(values)
    if name not in kernels and (helion := helion_kernel(path, name)) is not None:
        raise UserError(f"{path}::{helion} is a Helion kernel: irscope compile makes a capture of it")
    problem = import_file(path).error
    if problem is not None and (name not in kernels if name else not kernels):
        raise problem
    ignored = "".join(f"; {problem}" for problem in problems())
    if not kernels:
        raise UserError(f"{path}: no @triton.jit function in it{ignored}")
    if name is not None:
        if name not in kernels:
            raise UserError(f"{path}: no kernel '{name}'; the file has {', '.join(kernels)}{ignored}")
        return kernels[name]
    roots = _roots(kernels)
    if len(roots) != 1:
        names = ", ".join(roots or kernels)
        raise UserError(f"{path}: choose one of {names}, as {path}::KERNEL, or compile all with --guess")
    return next(iter(roots.values()))


def kernel_names(path: Path) -> tuple[str, ...]:
    """Return the kernels of a file that no other kernel of it calls.

    Raises UserError if there is none.
    """
    values = load_file(path)
    roots = tuple(_roots(_kernels(path, values) or _kernels_of_frontends(values)))
    if not roots:
        raise import_file(path).error or UserError(f"{path}: no @triton.jit function in it")
    return roots


def _kernels(path: Path, values: Mapping[str, Any]) -> dict[str, FoundKernel]:
    """Return the kernels that a file defines, by name."""
    return {
        key: kernel
        for key, value in values.items()
        if (kernel := unwrap(value)) is not None and _defined_in(kernel.function, path)
    }


def _roots(found: Mapping[str, FoundKernel]) -> dict[str, FoundKernel]:
    """Return the kernels that no other one calls."""
    called = {id(helper) for kernel in found.values() for helper in called_functions(kernel.function)}
    return {key: kernel for key, kernel in found.items() if id(kernel.function) not in called}


def parameters(found: FoundKernel) -> tuple[SignatureItem, ...]:
    """Return the parameters of a kernel."""
    return tuple(
        SignatureItem(
            name=parameter.name,
            constexpr=parameter.is_constexpr,
            has_default=parameter.has_default,
            default=found.constants.plain(parameter.default) if parameter.has_default else None,
            specialized=not parameter.do_not_specialize,
            aligned=not parameter.do_not_specialize_on_alignment,
        )
        for parameter in found.function.params
    )


def called_functions(function: Any) -> list[Any]:
    """Find the JITFunctions that `function` calls, directly or not, in the order of discovery."""
    callees: dict[int, Any] = {}
    pending = [function]
    while pending:
        for callee in _referenced_functions(pending.pop()):
            if callee is not function and id(callee) not in callees:
                callees[id(callee)] = callee
                pending.append(callee)
    return list(callees.values())


def source_function(function: Any) -> SourceFunction:
    """Return the text of a JITFunction in its file, decorators included."""
    lines, first = inspect.getsourcelines(function.fn)
    file = inspect.getsourcefile(function.fn) or function.fn.__code__.co_filename
    return SourceFunction(function.fn.__name__, file, first, "".join(lines))


# More decorators around each other than any kernel has: a bound on a chain that may have a cycle.
_MOST_DECORATORS = 16


def unwrap(value: Any) -> FoundKernel | None:
    """Return the JITFunction inside its decorators, or None if there is none.

    Libraries wrap kernels in decorators of their own. Like those of Triton, they keep the function
    that they decorate as `fn`, `jit_function` or `__wrapped__`.
    """
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    configs: list[Any] = []
    heuristics: dict[str, Any] = {}
    pruned = False
    for _ in range(_MOST_DECORATORS):
        if isinstance(value, JITFunction):
            constants = Constants(value)
            for parameter in filter(lambda one: one.has_default, value.params):
                constants.plain(parameter.default)
            plain_configs = tuple(_config(config, constants) for config in configs)
            return FoundKernel(value, constants, plain_configs, heuristics, pruned)
        if isinstance(value, Autotuner):
            configs = value.configs
            pruned = bool(value.perf_model) or value.early_config_prune is not None
        elif isinstance(value, Heuristics):
            heuristics = {**value.values, **heuristics}
        value = _decorated(value)
    return None


def _kernels_of_frontends(values: Mapping[str, Any]) -> dict[str, FoundKernel]:
    """Return the kernels that objects of other front ends compile to.

    Their Triton may be in generated files.
    """
    imported = [
        candidate for candidate in all_frontends() if candidate.unwrap and candidate.package in sys.modules
    ]
    return {
        key: replace(jit_kernel, source_stages=_source_stages(frontend, jit_kernel.function))
        for frontend in imported
        for key, value in values.items()
        if (kernel := _call_hook(frontend, frontend.unwrap, value)) is not None
        and (jit_kernel := unwrap(kernel)) is not None
    }


def _source_stages(frontend: Frontend, function: Any) -> Mapping[str, str]:
    return _call_hook(frontend, frontend.sources, function) or {}


def _call_hook(frontend: Frontend, hook: str, argument: Any) -> Any:
    """Return the result of a front end's hook, or None if it has no such hook.

    Raises UserError if the hook fails.
    """
    if not hook:
        return None
    try:
        return resolve_name(hook)(argument)
    except Exception as error:  # the plug-in's own code
        raise UserError(f"{hook} of the front end '{frontend.name}': {error_line(error)}") from error


def _decorated(value: Any) -> Any:
    """Return the function that a decorator's object keeps, or None if it keeps none."""
    if isinstance(value, type | ModuleType):
        return None
    candidates = (inspect.getattr_static(value, name, None) for name in ("jit_function", "fn", "__wrapped__"))
    return next((function for function in candidates if function is not None), None)


def _config(config: Any, constants: Constants) -> Config:
    kwargs = {name: constants.plain(value) for name, value in config.all_kwargs().items()}
    # Nearly every config has the default of one CTA: omit it.
    return Config(tuple((k, v) for k, v in kwargs.items() if (k, v) != ("num_ctas", 1)))


def _defined_in(function: Any, path: Path) -> bool:
    return Path(function.fn.__code__.co_filename).resolve() == path.resolve()


def _referenced_functions(function: Any) -> list[Any]:
    """Find the JITFunctions that the names and attributes in a function's text refer to."""
    from triton.runtime.jit import JITFunction

    scope = {**vars(function.fn).get("__globals__", {}), **function.fn.__globals__}
    scope |= inspect.getclosurevars(function.fn).nonlocals
    functions = []
    for node in ast.walk(function.parse()):
        value = None
        if isinstance(node, ast.Name):
            value = scope.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            value = getattr(scope.get(node.value.id), node.attr, None)
        if isinstance(value, JITFunction):
            functions.append(value)
    return functions
