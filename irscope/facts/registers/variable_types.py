"""The types of a kernel's variables, by TTIR.

    acc = tl.dot(p.to(tl.float16), v, acc)    -> acc: 64x64 f32

The compiler names all operations of an assignment after its variable: `p.to(tl.float16)` is called acc too.
The values that another statement uses are the variable's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set

from irscope.diff.def_use import definitions
from irscope.facts.registers.live_values import in_library
from irscope.languages.document import Document, Location, Operation
from irscope.languages.mlir.value_types import shaped_values

_NUMBER = re.compile(r"_\d+$|#\d+$")

# The shape and the element type.
TensorType = tuple[tuple[int, ...], str]


def variable_types(ttir: Document) -> Mapping[str, Set[TensorType]]:
    """Map each variable of the user's functions that holds tensors to their types."""
    operations = ttir.operations
    users: dict[int, list[Operation]] = defaultdict(list)
    for operation, sources in zip(operations, definitions(ttir), strict=True):
        for source in sources:
            if source is not None and not source.argument:
                users[source.owner].append(operation)
    types: dict[str, set[TensorType]] = defaultdict(set)
    for value in shaped_values(ttir):
        location = operations[value.operation].location
        if not value.python or (location is not None and in_library(location.file)):
            continue
        parts = [_is_part(user, value.python, location) for user in users[value.operation]]
        if not parts or not all(parts):
            types[value.python].add((tuple(map(int, value.type.shape)), value.type.element))
    return types


def _is_part(user: Operation, variable: str, location: Location | None) -> bool:
    """Check whether an operation belongs to the assignment of a variable at a location."""
    if not user.results or user.opcode.startswith("scf."):
        return False
    if _NUMBER.sub("", user.results[0].lstrip("%")) == variable:
        return True
    return location is not None and any(
        (inlined.file, inlined.line) == (location.file, location.line) for inlined in _chain(user.location)
    )


def _chain(location: Location | None) -> Iterator[Location]:
    while location is not None:
        yield location
        location = location.inlined_at
