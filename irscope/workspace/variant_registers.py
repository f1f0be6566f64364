"""The register report of one variant: which stages it reads, and what to do if one is missing.

The inputs of a kernel that are fixed when it is compiled, and the values that a capture has of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from irscope.facts.fact import number_of
from irscope.facts.registers.register_report import RegisterReport, register_report
from irscope.facts.registry import REGISTERS
from irscope.findings.cache_key import CacheKeyInput, cache_key_inputs, has_key
from irscope.findings.cache_key_diff import value_text
from irscope.model import OPTION_NAMES, UserError, Variant
from irscope.model.records import frozen
from irscope.model.text import natural_key
from irscope.targets import all_backends, backend_of, backend_with_assembly, backend_with_machine_code

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace


def variant_registers(workspace: Workspace, variant: Variant, stage: str | None) -> RegisterReport:
    """Report on `stage`, or on the best one (None). Raises UserError if there is none."""
    if stage is not None and not (backend_with_machine_code(stage) or backend_with_assembly(stage)):
        stage_names = dict.fromkeys(
            name for backend in all_backends() for name in (backend.machine_code, backend.assembly)
        )
        raise UserError(f"{stage} has no registers; choose {', '.join(stage_names)}")
    stage = stage or _best_stage(workspace, variant)
    document = workspace.document(variant, stage)
    number = number_of(workspace.facts(variant), REGISTERS)
    layouts = workspace.layouts(variant) if workspace.contents.key(variant, "ttgir") else None
    assembly = backend_of(variant.target).assembly
    has_assembly = stage != assembly and workspace.contents.key(variant, assembly)
    report = register_report(
        variant.kernel,
        document,
        None if number is None else int(number),
        (layouts.document, layouts.layouts) if layouts else None,
        workspace.document(variant, assembly) if has_assembly else None,
    )
    return replace(report, stage=stage)


def _best_stage(workspace: Workspace, variant: Variant) -> str:
    """Return the machine code; the assembly if that cannot be had."""
    backend = backend_of(variant.target)
    try:
        workspace.text(variant, backend.machine_code)
    except UserError:
        if backend.assembly == backend.machine_code:
            raise
        return backend.assembly
    return backend.machine_code


CONSTEXPR, ARGUMENT, OPTION = "constexpr", "argument", "option"


@frozen
class CompileTimeInput:
    """One or several inputs of equal values.

    `kind` is CONSTEXPR, ARGUMENT or OPTION; `values` are the distinct values, sorted: "64", or
    "*fp16 divisible by 16". Each other value is another compilation.
    """

    kind: str
    names: tuple[str, ...]
    values: tuple[str, ...]


def compile_time_inputs(variants: Sequence[Variant]) -> list[CompileTimeInput]:
    """Return a kernel's constants, the options that vary, and what is known of each argument.

    Arguments with equal values share an entry: `a_ptr, b_ptr: *fp16 divisible by 16`.
    """
    whole = all(map(has_key, variants))
    inputs = [cache_key_inputs(variant, whole) for variant in variants]
    parameters = dict.fromkeys(name for variant in variants for name in variant.kernel.parameters)
    # An import may know fewer parameters than it has constants.
    parameters |= dict.fromkeys(
        key_input.name for group in inputs for key_input in group if key_input.kind == CONSTEXPR
    )
    entries: list[CompileTimeInput] = []
    for kind, names in ((CONSTEXPR, parameters), (OPTION, OPTION_NAMES), (ARGUMENT, parameters)):
        groups: dict[tuple[str, ...], list[str]] = {}
        for name in names:
            values = _values(inputs, CacheKeyInput(kind, name))
            if values and (kind != OPTION or len(values) > 1):
                groups.setdefault(values if kind == ARGUMENT else (name, *values), []).append(name)
        entries += [
            CompileTimeInput(kind, tuple(group), values if kind == ARGUMENT else values[1:])
            for values, group in groups.items()
        ]
    return entries


def _values(inputs: Sequence[dict[CacheKeyInput, str]], name: CacheKeyInput) -> tuple[str, ...]:
    return tuple(
        sorted(
            {value_text(name, key_inputs[name]) for key_inputs in inputs if name in key_inputs},
            key=natural_key,
        )
    )
