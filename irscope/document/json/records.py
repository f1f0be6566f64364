"""JSON documents as declared projections of records, and how they are written.

A projection names an attribute for each key of an object. Documents are written a piece at a time: one of
100,000 variants has 250 MB. The text is that of `json.dumps(document, indent=2)`, which is 3 times as slow
and holds all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring_ascii
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from irscope.model import Kernel, SourceFunction, Status, Value, Variant, format_value

if TYPE_CHECKING:
    from irscope.model.origin import Origin


Item = TypeVar("Item")
# The value of a key: an attribute of the record, which may be dotted, or a function of the record.
Field = str | Callable[[Any], Any]


class Projection(Generic[Item]):
    """Declares the JSON object of a type of record.

    >>> _TENSOR: Projection[Tensor] = Projection(value="name", layout="attribute.text", line=known("line"))
    """

    def __init__(self, **fields: Field) -> None:
        self._values = {
            key: attrgetter(field) if isinstance(field, str) else field for key, field in fields.items()
        }

    def __call__(self, record: Item) -> dict[str, Any]:
        """Return the object."""
        return {key: value(record) for key, value in self._values.items()}


def of(attribute: str, function: Callable[[Any], Any]) -> Field:
    """Declare what `function` makes of an attribute."""
    value = attrgetter(attribute)
    return lambda record: function(value(record))


def each(attribute: str, function: Callable[[Any], Any]) -> Field:
    """Declare a list: what `function` makes of each item of an attribute."""
    return of(attribute, lambda items: list(map(function, items)))


def optional(attribute: str, function: Callable[[Any], Any]) -> Field:
    """Declare what `function` makes of an attribute, or null if that is None."""
    return of(attribute, lambda value: None if value is None else function(value))


def known(attribute: str) -> Field:
    """Declare an attribute that is null if it is empty or zero."""
    return of(attribute, lambda value: value or None)


def from_one(attribute: str) -> Field:
    """Declare a line: records count from 0, documents from 1."""
    return of(attribute, lambda index: index + 1)


def tuples(attribute: str, *keys: str) -> Field:
    """Declare a list of objects with these keys; the items of the attribute are tuples."""
    return each(attribute, lambda values: dict(zip(keys, values, strict=True)))


def without_nulls(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record without the keys whose value is null."""
    return {name: value for name, value in record.items() if value is not None}


class Records(Sequence[Any], Generic[Item]):
    """A list of a document whose records are made while it is written, and not kept."""

    def __init__(self, items: Sequence[Item], record: Callable[[Item], Mapping[str, Any]]) -> None:
        self._items, self._record = items, record

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Records(self._items[index], self._record)
        return self._record(self._items[index])

    def __iter__(self) -> Iterator[Any]:
        return map(self._record, self._items)


def json_pieces(value: Any, indent: str = "\n") -> Iterator[str]:
    """Yield the text of a JSON value in ASCII, with the records of its lists one at a time.

    Numbers that JSON cannot represent become strings: the time of a config that failed is
    infinite. Raises TypeError for other objects.
    """
    inner = f"{indent}  "
    if isinstance(value, Mapping) and any(isinstance(item, Mapping | Sequence) for item in value.values()):
        before = "{"
        for key, item in value.items():
            yield f"{before}{inner}{_key(key)}: "
            yield from json_pieces(item, inner)
            before = ","
        yield f"{indent}}}"
    elif isinstance(value, Records) and value:
        before = "["
        for item in value:
            yield f"{before}{inner}{json_text(item, inner)}"
            before = ","
        yield f"{indent}]"
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        before = "["
        for item in value:
            yield f"{before}{inner}"
            yield from json_pieces(item, inner)
            before = ","
        yield f"{indent}]"
    else:
        yield json_text(value, indent)


def json_text(value: Any, indent: str = "\n") -> str:
    """Return the text of a JSON value, whole; each line starts with `indent`."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if value is None or value is True or value is False:
        return _CONSTANTS[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value) if math.isfinite(value) else f'"{value}"'
    inner = f"{indent}  "
    if isinstance(value, Mapping):
        members = [f"{inner}{_key(key)}: {json_text(item, inner)}" for key, item in value.items()]
        return f"{{{','.join(members)}{indent}}}" if members else "{}"
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        items = [f"{inner}{json_text(item, inner)}" for item in value]
        return f"[{','.join(items)}{indent}]" if items else "[]"
    raise TypeError(f"not a JSON value: {value!r:.80}")


_CONSTANTS = {None: "null", True: "true", False: "false"}


def _key(key: Any) -> str:
    return encode_basestring_ascii(key if isinstance(key, str) else json_text(key).strip('"'))


def to_json(document: dict[str, Any]) -> str:
    """`document` as indented JSON in ASCII, so that nothing in it can command a terminal."""
    return "".join(json_pieces(document)) + "\n"


def json_value(value: Value | Status) -> int | float | bool | str | None:
    """Return the value of a constexpr or a fact; values that JSON cannot represent become strings."""
    if isinstance(value, Status) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value if value is None or isinstance(value, int | float | str) else format_value(value)


def variants_by_kernel(variants: Sequence[Variant]) -> dict[Kernel, list[Variant]]:
    """Return the variants of each kernel, both in the order of the capture."""
    groups: dict[Kernel, list[Variant]] = {}
    for variant in variants:
        groups.setdefault(variant.kernel, []).append(variant)
    return groups


def variants_by_source(variants: Sequence[Variant]) -> dict[Kernel, list[Variant]]:
    """As `variants_by_kernel`; kernels that differ only in functions of Triton's library are one."""
    sources: dict[tuple[SourceFunction, ...], Kernel] = {}
    groups: dict[Kernel, list[Variant]] = {}
    for kernel, group in variants_by_kernel(variants).items():
        groups.setdefault(sources.setdefault(kernel.own_functions, kernel), []).extend(group)
    return {kernel: sorted(group, key=lambda variant: variant.id) for kernel, group in groups.items()}


def kernel_record(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel as every document has it."""
    return {
        "name": kernel.name,
        "file": kernel.source.file,
        "line": kernel.source.line,
        "parameters": list(kernel.parameters),
    }


def variant_record(variant: Variant, name: str) -> dict[str, Any]:
    """Return a variant as every document has it; `name` is its short name."""
    failure, origin = variant.failure, variant.origin
    return {
        "id": variant.id,
        "name": name,
        "kernel": variant.kernel.name,
        "target": str(variant.target),
        "config": {key: json_value(value) for key, value in variant.config.values},
        "environment": variant.environment,
        "specialization": {argument.name: str(argument) for argument in variant.specialization},
        "versions": dict(variant.toolchain.versions),
        "status": "failed" if failure else "ok",
        "failure": {"kind": failure.kind, "summary": failure.summary} if failure else None,
        **(_origin_record(origin) if origin else {}),
    }


def _origin_record(origin: Origin) -> dict[str, Any]:
    from irscope.model.origin import origin_to_json

    return {"origin": origin_to_json(origin)}
