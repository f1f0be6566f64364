"""What-ifs: one variant compiled again with other values of its config, as a user asks for them.

Variants that were built from an edited stage, and the variants that they were built from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model import (
    OPTION_NAMES,
    Expression,
    Kernel,
    UserError,
    Value,
    Variant,
    format_value,
    parse_argument,
)
from irscope.model.files import check_regular
from irscope.model.records import frozen
from irscope.model.text import split_entries, with_nearest

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace


# The values to compile with, by name of the constexpr or option.
Values = Mapping[str, tuple[Value | Expression, ...]]
# The space before the next NAME=.
_NEXT = re.compile(r"\s+(?=[A-Za-z_]\w*\s*=(?!=))")
# A calculation, a name in a module, or a global constant of the kernel's file.
_MAY_BE_NUMBER = re.compile(r"[-+*/%().\[]|[A-Z_][A-Z0-9_]*\Z")
# More variants than this are a sweep.
_MOST = 32
# Captures have at most some 100,000 variants.
_FIRST_SEPARATE = 1_000_001
# The largest file that is searched for a kernel's source.
_MAX_BYTES = 10_000_000


@frozen
class WhatIf:
    """A request to compile `variant` with other values, from the kernel in `file`, which that executes.

    Without values, the variant itself is compiled from the file as it is now. `known` are the variants that
    need not be compiled again; new ones get ids from `first_id` on. `passes`: record the compiler's passes,
    because the variant has them.
    """

    variant: Variant
    file: Path
    values: Values
    known: tuple[Variant, ...]
    first_id: int
    passes: bool = False


@frozen
class PassRequest:
    """A request to compile `variant` once more with its passes; that executes its kernel's `file`."""

    variant: Variant
    file: Path


def constexpr_values(variant: Variant) -> dict[str, Value]:
    """Return the values that the variant was compiled with.

    They are those of its config, and of constexprs outside of it.
    """
    constants = {a.name: a.value for a in variant.specialization if a.type == "constexpr"}
    return constants | dict(variant.config.values)


def suggested_values(variant: Variant, name: str) -> str:
    """Suggest a text to begin with: `num_stages=4`, the value of `name` or of the last option."""
    values = constexpr_values(variant)
    options = [option for option in ("num_stages", *OPTION_NAMES) if option in values]
    chosen = name if name in values else next(iter([*options, *values]), OPTION_NAMES[0])
    return f"{chosen}={format_value(values[chosen])}" if chosen in values else f"{chosen}="


def parse_values(text: str, variant: Variant) -> Values:
    """Parse the values in `num_stages=2,3 BLOCK_M=64`.

    Raises UserError, with the nearest name, if one is wrong.
    """
    choices_of: dict[str, tuple[Value | Expression, ...]] = {}
    for part in _NEXT.split(text.strip()):
        name, equals, values = (word.strip() for word in part.partition("="))
        if not (equals and name.isidentifier() and split_entries(values)):
            raise UserError(f"'{part}' is not NAME=VALUE or NAME=V1,V2")
        _check_name(name, variant)
        choices_of[name] = tuple(map(parse_argument, split_entries(values)))
        for value in choices_of[name]:
            _check_number(name, value, constexpr_values(variant).get(name))
    total = 1
    for choices in choices_of.values():
        total *= len(choices)
    if total > _MOST:
        raise UserError(
            f"that is {total:,} variants, more than {_MOST}; irscope compile --config does sweeps"
        )
    return choices_of


def _check_name(name: str, variant: Variant) -> None:
    """Raise UserError if `name` is surely not a constexpr or an option of the variant's kernel."""
    values = constexpr_values(variant)
    if name in values or name in OPTION_NAMES or name in variant.metadata:
        return
    if name in variant.kernel.parameters:
        raise UserError(f"'{name}' is a run-time argument: its value is not known to the compiler")
    known_names = {*values, *OPTION_NAMES}
    problem = f"no constexpr or option '{name}'"
    nearest = with_nearest(problem, name, known_names)
    if nearest != problem:
        raise UserError(nearest)
    # Without the metadata of a compilation, the options of the backend are not known.
    if variant.metadata:
        raise UserError(f"{problem}; known: {', '.join(sorted(known_names))}")


def _check_number(name: str, value: Value | Expression, before: Value) -> None:
    """Raise UserError if `value` is surely invalid for option `name`, or not a number like `before`."""
    text = str(value) if isinstance(value, Expression) else format_value(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in OPTION_NAMES:
        least = 0 if name == "num_stages" else 1
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise UserError(f"{name}={text}: {name} is a whole number, {least} or more")
        if name == "num_warps" and value & (value - 1):
            raise UserError(f"{name}={text}: {name} is a power of two: 1, 2, 4, 8, 16")
        return
    may_be_number = is_number or (isinstance(value, Expression) and _MAY_BE_NUMBER.search(text))
    if isinstance(before, int | float) and not isinstance(before, bool) and not may_be_number:
        raise UserError(f"{name}={text}: not a number; {name} is {format_value(before)} now")


def free_id(variants: tuple[Variant, ...], separate: bool) -> int:
    """Return the first id for new variants.

    `separate`: another process may add variants to the capture on screen, which get the next ids
    there. No capture has so many that they reach the ids of what-ifs, which are stored in a
    capture of their own.
    """
    following = max((variant.id for variant in variants), default=0) + 1
    return max(following, _FIRST_SEPARATE) if separate else following


def source_state(file: Path, kernel: Kernel) -> str:
    """Say whether a file has the kernel as it was captured. Reads the file; executes nothing."""
    try:
        if check_regular(file).st_size > _MAX_BYTES:
            return "too large to be a kernel's file"
        text = file.read_text(encoding="utf-8", errors="replace")
    except (OSError, UserError, ValueError):
        return "there is no such file"
    if kernel.source.text.strip() in text:
        return f"{kernel.name} in it is as captured"
    if re.search(rf"\bdef {re.escape(kernel.name)}\b", text):
        return f"{kernel.name} in it differs from the captured one"
    return f"{kernel.name} is not in it"


@frozen
class StageEdit:
    """A request to build `variant` from `text` in place of its `stage`.

    `contents` are the variant's stages as they are stored, `taken` the names of its other edits; the new
    variant gets an id from `first_id` on.
    """

    variant: Variant
    stage: str
    text: str
    contents: Mapping[str, bytes]
    taken: tuple[str, ...]
    first_id: int


def can_build_from(stage: str) -> bool:
    """Check whether Triton can build from a stage: compiler text that is not derived from a binary."""
    from irscope.targets import stage_named

    try:
        stage_info = stage_named(stage)
    except ValueError:  # the Python source, an error
        return False
    return not stage_info.binary and not stage_info.derived_from and stage not in ("helion",)


def edit_names(workspace: Workspace, original: Variant) -> list[str]:
    """Return the names of the edits of a variant, or of the variant that it is an edit of."""
    identity = _without_edit(original)
    return [v.edit.name for v in workspace.variants if v.edit is not None and _without_edit(v) == identity]


def _without_edit(variant: Variant) -> tuple[object, ...]:
    """Return everything that identifies a variant except for its edit."""
    environment = {name: value for name, value in variant.environment.items() if name != "edit"}
    return (variant.kernel, variant.target, variant.specialization, variant.config, environment)
