"""The kernels and targets of a capture, to choose what the table shows.

The file and line of a kernel, for tools that annotate a repository's files.

The installed plug-ins and what they add, for `irscope doctor`.
"""

from __future__ import annotations

from collections.abc import Sequence

from irscope.model import Kernel, Variant
from irscope.model.files import relative_file
from irscope.model.plugins import GROUPS, Plugin, loaded_object, plugins
from irscope.model.records import frozen_with_dict
from irscope.model.text import one_line
from irscope.targets import Backend, all_backends
from irscope.targets.frontends import Frontend, all_frontends


@frozen_with_dict
class Scope:
    """A kernel and a target; None: all of them."""

    kernel: str | None = None
    target: str | None = None

    def __contains__(self, variant: Variant) -> bool:
        return self.kernel in (None, variant.kernel.name) and self.target in (None, str(variant.target))

    def __str__(self) -> str:
        """Return the scope in one line: `matmul_kernel cuda:90`."""
        if self.kernel is None:
            return "all kernels" if self.target is None else f"all kernels {self.target}"
        return one_line(self.kernel if self.target is None else f"{self.kernel} {self.target}")


@frozen_with_dict
class ScopeCount:
    """A scope, and how many variants it has: in all, and failed."""

    scope: Scope
    variants: int
    failed: int


def scope_counts(variants: Sequence[Variant]) -> list[ScopeCount]:
    """Count everything that can be chosen: all, then each kernel with its targets, in capture order."""
    if not variants:
        return []
    counts_of: dict[Scope, list[int]] = {}
    targets = {str(variant.target) for variant in variants}
    several = len({variant.kernel.name for variant in variants}) > 1
    pairs = dict.fromkeys((variant.kernel.name, str(variant.target)) for variant in variants)
    order = [Scope()]
    if several and len(targets) > 1:
        order += [Scope(None, target) for target in dict.fromkeys(target for _, target in pairs)]
    for kernel in dict.fromkeys(name for name, _ in pairs):
        kernel_targets = [target for name, target in pairs if name == kernel]
        order += [Scope(kernel)] if len(kernel_targets) > 1 else []
        order += [Scope(kernel, target) for target in kernel_targets]
    counts_of = {scope: [0, 0] for scope in order}
    for variant in variants:
        kernel, target = variant.kernel.name, str(variant.target)
        for scope in (Scope(), Scope(None, target), Scope(kernel), Scope(kernel, target)):
            if scope in counts_of:
                counts_of[scope][0] += 1
                counts_of[scope][1] += variant.failure is not None
    return [ScopeCount(scope, *counts) for scope, counts in counts_of.items()]


def scope_of(a: Variant, b: Variant) -> Scope:
    """Return the kernel and target that two variants share; of what they do not share, all."""
    return Scope(
        a.kernel.name if a.kernel.name == b.kernel.name else None,
        str(a.target) if a.target == b.target else None,
    )


def mismatch(a: Variant, b: Variant) -> str:
    """Say that A and B are different kernels or for different targets; "" if they can be compared."""
    parts = []
    if a.kernel.name != b.kernel.name:
        parts.append(f"A and B are different kernels: {a.kernel.name} and {b.kernel.name}")
    if a.target != b.target:
        parts.append(f"A and B are for different targets: {a.target} and {b.target}")
    return one_line("; ".join(parts))


def kernel_place(kernel: Kernel) -> tuple[str, int]:
    """Return the kernel's file as `relative_file` names it, and the line of its `def`, from 1."""
    from irscope.facts.source.tokens import def_index  # here because `irscope list` does not need it

    source = kernel.source
    return relative_file(source.file), max(source.line, 1) + def_index(source.text.split("\n"))


def plugin_uses() -> list[tuple[Plugin, str]]:
    """Return each installed plug-in with what it adds: "backend example for example:x1, example:x2".

    The reason why one cannot be used is printed on stderr.
    """
    all_backends()
    all_frontends()
    return [(plugin, _use(loaded_object(plugin))) for group in GROUPS for plugin in plugins(group)]


def _use(found: object) -> str:
    if isinstance(found, Backend):
        targets = ", ".join(map(str, found.targets)) or "no target that can be compiled for"
        return f"backend {found.name} for {targets}"
    if isinstance(found, Frontend):
        stages = ", ".join(stage.name for stage in found.stages) or "no stage"
        return f"front end {found.name} with {stages}"
    return "cannot be used"
