"""Short names of variants, made of the values that distinguish them from the others of their kernel."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from irscope.model import Argument, UserError, Variant, format_value
from irscope.model.records import grouped, varying_keys
from irscope.model.text import split_entries

# The start of the type of a tensor descriptor.
_DESCRIPTOR = "tensordesc<"


def _parts(variant: Variant) -> dict[str, str]:
    """Return everything that can distinguish a variant: name -> text, in the order used in names."""
    return _parts_with(variant, _argument_texts(variant.specialization))


def _argument_texts(arguments: Iterable[Argument]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for argument in arguments:
        texts.setdefault(argument.name, str(argument))
    return texts


def _parts_with(variant: Variant, arguments: Mapping[str, str]) -> dict[str, str]:
    """Return `_parts`, with the specialization as text."""
    parts = {name: sys.intern(format_value(value)) for name, value in variant.config.values}
    parts["target"] = sys.intern(str(variant.target))
    for name, text in arguments.items():
        parts.setdefault(name, text)
    for name, value in variant.environment.items():
        parts.setdefault(name, value)
    parts["triton"] = variant.toolchain.versions.get("triton", "")
    return parts


def variant_names(variants: Sequence[Variant]) -> dict[int, str]:
    """Map ids to readable names: the values in which the variants of a kernel differ.

    `BLOCK_M=64,num_warps=4`; a single variant has its whole config. Names are unique within a
    kernel: if nothing else differs, the id is appended.
    """
    names: dict[int, str] = {}
    # The variants of a large capture share their specializations.
    texts: dict[int, dict[str, str]] = {}

    def parts(variant: Variant) -> dict[str, str]:
        arguments = variant.specialization
        if id(arguments) not in texts:
            texts[id(arguments)] = _argument_texts(arguments)
        return _parts_with(variant, texts[id(arguments)])

    for kernel, group in grouped(variants, lambda variant: variant.kernel.name).items():
        # Again below, because 100,000 of them take 200 MB.
        different = [name for name in varying_keys(map(parts, group)) if not _is_implied(name, group)]
        used_names: set[str] = set()
        for variant in group:
            part = parts(variant)
            named = [f"{key}={part[key]}" for key in different if key in part]
            name = ",".join(named) or str(variant.config) or kernel
            name = f"{name},#{variant.id}" if name in used_names else name
            used_names.add(name)
            names[variant.id] = name
    return names


def _is_implied(name: str, variants: Sequence[Variant]) -> bool:
    """Check whether a part is a tensor descriptor whose type follows from the constants.

    Such a type has up to 100 characters. `x_desc=tensordesc<fp16[64, 64],NVMMASharedLayout(...)>`
    beside BLOCK=64 tells nothing more.
    """
    types: dict[tuple[str, ...], str] = {}
    for variant in variants:
        arguments = variant.specialization
        descriptor_type = next((argument.type for argument in arguments if argument.name == name), "")
        constants = (
            str(variant.config),
            *(str(argument) for argument in arguments if argument.type == "constexpr"),
        )
        if (
            not descriptor_type.startswith(_DESCRIPTOR)
            or types.setdefault(constants, descriptor_type) != descriptor_type
        ):
            return False
    return True


def select_variants(variants: Sequence[Variant], kernel: str | None, target: str | None) -> list[Variant]:
    """Return the variants that match the globs `kernel` and `target`; None: all.

    Raises UserError, listing what there is, if either matches nothing.
    """
    for pattern, what, existing in (
        (kernel, "kernel", [variant.kernel.name for variant in variants]),
        (target, "target", [str(variant.target) for variant in variants]),
    ):
        if pattern is not None and not any(fnmatchcase(name, pattern) for name in existing):
            names = ", ".join(dict.fromkeys(existing)) or "none"
            raise UserError(f"no {what} '{pattern}' in the capture; it has: {names}")
    return [
        variant
        for variant in variants
        if (kernel is None or fnmatchcase(variant.kernel.name, kernel or "*"))
        and (target is None or fnmatchcase(str(variant.target), target or "*"))
    ]


def variant_number(text: str) -> int | None:
    """Return the number in `3` or `#3`, or None for any other text."""
    match = re.fullmatch(r"#?(\d{1,18})", text.strip())
    return int(match[1]) if match else None


def find_variant(variants: Sequence[Variant], text: str) -> Variant:
    """Find the variant that `text` names: `#3`, or any part of a name that only one variant matches.

    A part is `NAME=VALUE` pairs in any order, the name of a kernel or target, or a piece of the
    short name. Raises UserError that lists the candidates if none or several match.
    """
    if match := re.fullmatch(r"#?(\d+)", text.strip()):
        for variant in variants:
            if variant.id == int(match[1]):
                return variant
        last = max((variant.id for variant in variants), default=0)
        available = f"there are #1 to #{last}" if last else "the capture has no variants yet"
        raise UserError(f"no variant #{match[1]}; {available}")
    names = variant_names(variants)
    exact = [variant for variant in variants if names[variant.id] == text]
    fitting = exact or [variant for variant in variants if _fits(variant, names[variant.id], text)]
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(f"#{v.id} {names[v.id]}" for v in (fitting or variants)[:6])
    listed += ", ..." if len(fitting or variants) > 6 else ""
    problem = f"'{text}' fits {len(fitting)} variants" if fitting else f"no variant fits '{text}'"
    raise UserError(f"{problem}: {listed}; name one as irscope list does")


def _fits(variant: Variant, name: str, text: str) -> bool:
    variant_parts = {f"{key}={value}" for key, value in _parts(variant).items()}
    variant_parts |= {variant.kernel.name, str(variant.target)}
    pieces = [
        piece
        for entry in split_entries(text)
        for piece in ([entry] if entry in variant_parts else entry.split())
    ]
    return all(piece in variant_parts for piece in pieces) or text in name
