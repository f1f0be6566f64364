"""Whether the autotuner runs a kernel several times on the same arguments, and which of them it restores."""

from __future__ import annotations

from irscope.lint.source.kernel_source import Autotune, KernelSource, strings
from irscope.lint.source.python_module import PythonModule
from irscope.lint.source.static_values import UNKNOWN

_RESTORING = ("reset_to_zero", "restore_value")
_HOOKS = ("pre_hook", "post_hook")


def unrestored(kernel: KernelSource, module: PythonModule) -> frozenset[str] | None:
    """The parameters that keep what the first runs wrote when `kernel` is tuned.

    None if it is not tuned, or if that is uncertain: a single config is not benchmarked, and a hook may
    restore anything.
    """
    autotune = kernel.autotune
    if autotune is None or _hooked(autotune, module) or not _several_configs(autotune, module):
        return None
    restored: set[str] = set()
    for name in _RESTORING:
        node = autotune.arguments.get(name)
        names = strings(module.value(node, module.scope) or []) if node is not None else []
        if names is None:
            return None
        restored.update(names)
    return kernel.runtime_parameters - restored


def _hooked(autotune: Autotune, module: PythonModule) -> bool:
    """Whether the autotuner or a config may have a hook, which may restore anything."""
    for keyword in autotune.node.keywords:
        # An unknown `**options` is shared by kernels, so it names no parameter; only a hook is possible.
        known = module.value(keyword.value, module.scope) if keyword.arg is None else {}
        if isinstance(known, dict) and known.keys() & {*_HOOKS, *_RESTORING}:
            return True
    if any(name in autotune.arguments for name in _HOOKS):
        return True
    return any(config.options.get("pre_hook", UNKNOWN) is not None for config in autotune.configs or ())


def _several_configs(autotune: Autotune, module: PythonModule) -> bool:
    """Whether there are at least two configs, or a list made in this file that never has a hook."""
    if autotune.configs is not None:
        return len(autotune.configs) > 1
    return "pre_hook" not in module.text and "Config(" in module.text
