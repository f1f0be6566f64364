"""The differences between two TTIR modules: a simple count that shares nothing with the diff.

An operation is its text without names, and where its operands come from: a parameter, or the text of another
operation. The operations that differ are the ones that one module has more often than the other.

What the count cannot know, it does not judge:
- Two equal expressions are one operation, on the line of the first. If one is edited, there are two, and the
  second is on a line that had none. So an operation may be reported if its Python line has more of it than
  the line of the other side, even if the modules have it equally often.
- The arguments of the region of an edited operation are the arguments that it had (`tt.scan` along another
  axis), and the values that a loop carries are identified by their names in Python, not by their order.
- The number of a splat is the number itself: `0.0 : f32` and `dense<0.0> : tensor<64xf32>` differ in type.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

from irscope.diff.rows import Change, StageDiff

_NAME = re.compile(r"%[\w$.-]+(?:#\d+)?")
_LOCATION = re.compile(r" loc\((#loc\d*|\".*\"|unknown)\)$")
_ARGUMENT_LOCATION = re.compile(r' loc\((?:#loc\d*|"[^"]*"\(#loc\d*\))\)(?=[,) ])')
_ALIAS = re.compile(r"(#loc\d*) = loc\((.*)\)$")
_POSITION = re.compile(r'"[^"]*":(\d+):\d+')
_COMMUTES = re.compile(r"arith\.(?:add|mul|and|or|xor|max|min)")

# The word for an operation whose operand was edited.
_READS = Change.OPERANDS | Change.CONSTANT

_Key = tuple[str, tuple[object, ...]]


@dataclass
class Operation:
    """One operation: its text without names, the keys of its operands, and its line in the kernel's file."""

    text: str
    operands: list[tuple[object, ...] | None] = field(default_factory=list)
    python: int | None = None
    keys: tuple[object, ...] = ()

    @property
    def key(self) -> _Key:
        """The part of an operation that is compared."""
        return self.text, self.keys


@dataclass
class Module:
    """The operations of a module by the index of their first line, in order."""

    operations: dict[int, Operation]


def read(text: str) -> Module:
    """The operations of a TTIR module as Triton prints it."""
    locations = dict(match.groups() for line in text.split("\n") if (match := _ALIAS.match(line)))
    operations: dict[int, Operation] = {}
    sources: dict[str, tuple[object, ...]] = {}
    owners: list[Operation] = []
    for index, line in enumerate(text.split("\n")):
        stripped = _ARGUMENT_LOCATION.sub("", line.strip())
        match = _LOCATION.search(stripped)
        stripped = stripped[: match.start()] if match else stripped
        python = _line(match[1], locations) if match else None
        if not stripped or stripped.startswith(("#", "//", "module", "^")):
            if stripped.startswith("^") and owners:
                for position, name in enumerate(_NAME.findall(stripped)):
                    sources[name] = _argument(owners[-1].text, name, position)
            continue
        if stripped.startswith("}"):
            owner = owners.pop() if owners else None
            if owner is not None:
                owner.text += " " + _NAME.sub("%", stripped)
                owner.python = owner.python or python
                if stripped.endswith("{"):
                    owners.append(owner)
            continue
        results, _, body = _split(stripped)
        operation = Operation(_NAME.sub("%", stripped), [], python)
        _define(operation, results, body, sources)
        operations[index] = operation
        if stripped.endswith("{"):
            owners.append(operation)
    return Module(operations)


def _argument(owner: str, name: str, position: int) -> tuple[object, ...]:
    """An argument of a region: of a loop by its name in Python, of any other operation by its position."""
    opcode = owner.removeprefix("% = ").removeprefix("%:").partition("(")[0]
    if "scf.while" in owner:
        return "carried", _stem(name)
    return "argument", opcode, position


def _stem(name: str) -> str:
    """The name of a value without the number that MLIR adds."""
    return re.sub(r"_\d+$", "", name)


def _split(line: str) -> tuple[str, str, str]:
    if not line.startswith("%"):
        return "", "", line
    results, equals, body = line.partition(" = ")
    return results, equals, body


def _define(operation: Operation, results: str, body: str, sources: dict[str, tuple[object, ...]]) -> None:
    """Notes the operands of an operation, and where the values that it defines come from."""
    if body.startswith("tt.func"):
        for position, name in enumerate(_NAME.findall(body)):
            sources[name] = "parameter", position
        return
    names = _NAME.findall(body)
    if body.startswith("scf.for"):
        carried = re.findall(r"(%[\w$.-]+) = (%[\w$.-]+(?:#\d+)?)", body.partition("iter_args")[2])
        index, *bounds = names[:4]
        sources[index] = ("index",)
        operation.operands = [sources.get(name) for name in (*bounds, *(start for _, start in carried))]
        stem = results.partition(":")[0]
        for position, (name, _) in enumerate(carried):
            python = _stem(name)
            sources[name] = "carried", python
            sources[f"{stem}#{position}" if len(carried) > 1 else stem] = "after", operation, python
        return
    if body.startswith("scf.while"):
        carried = re.findall(r"(%[\w$.-]+) = (%[\w$.-]+(?:#\d+)?)", body.partition(") :")[0])
        operation.operands = [sources.get(start) for _, start in carried]
        stem = results.partition(":")[0]
        for position, (name, _) in enumerate(carried):
            sources[name] = "carried", _stem(name)
            sources[f"{stem}#{position}" if len(carried) > 1 else stem] = "after", operation, _stem(name)
        return
    operation.operands = [sources.get(name) for name in names]
    stem, _, number = results.partition(":")
    for position in range(int(number) if number else 0):
        sources[f"{stem}#{position}"] = "operation", operation, position
    for position, name in enumerate(results.split(", ") if results and not number else ()):
        sources[name] = "operation", operation, position


def _line(location: str, aliases: Mapping[str, str]) -> int | None:
    """The line of the outermost call of a location."""
    for _ in range(64):
        if location.startswith("callsite("):
            location = location.rpartition(" at ")[2].rstrip(")")
        elif location in aliases:
            location = aliases[location]
        elif position := _POSITION.match(location):
            return int(position[1])
        elif named := re.match(r'"[^"]*"\((.*)\)$', location):
            location = named[1]
        else:
            return None
    return None


@dataclass(frozen=True)
class Verdict:
    """Whether the modules are the same, and what is wrong with a diff of them."""

    folded: bool
    problems: tuple[str, ...] = ()
    wrong_class: bool = False


def judge(left: str, right: str, diff: StageDiff, moved: Callable[[int], int | None]) -> Verdict:
    """Compares a diff with what differs. `moved` gives the new line of an old line of the kernel."""
    a, b = read(left), read(right)
    ours, theirs = list(a.operations.values()), list(b.operations.values())
    texts = Counter(one.text for one in ours), Counter(one.text for one in theirs)
    edited = {*(texts[0] - texts[1]), *(texts[1] - texts[0])}
    for module in (a, b):
        for operation in module.operations.values():
            keys = [_source_key(source, edited) for source in operation.operands]
            commutes = _COMMUTES.search(operation.text)
            operation.keys = tuple(sorted(keys, key=repr) if commutes else keys)
    if [one.key for one in ours] == [one.key for one in theirs]:
        return Verdict(folded=True)
    problems: list[str] = []
    changed = [texts[0] - texts[1], texts[1] - texts[0]]
    for name, module, others, side in (("A", a, theirs, 0), ("B", b, ours, 1)):
        expected = Counter(one.key for one in module.operations.values()) - Counter(one.key for one in others)
        rows = [(row.right if side else row.left, row.change & ~Change.MOVED) for row in diff.rows]
        lines = [line for line, change in rows if line in module.operations and change]
        reported = Counter(module.operations[line].key for line in lines if line is not None)
        reported_texts = Counter(module.operations[line].text for line in lines if line is not None)
        placed = _more_on_a_line(module, others, moved, bool(side))
        for key, number in (reported - expected - placed).items():
            if not reads_edited(key):
                problems.append(f"{name}: reported, but equal: {number} x {key[0]}")
        for text, number in (changed[side] - reported_texts).items():
            problems.append(f"{name}: not reported: {number} x {text}")
        optional = {
            text for text, keys in [*expected, *others_expected(module, others)] if "edited" in str(keys)
        }
        for (text, _), number in (expected - reported).items():
            if text not in edited and text not in optional:
                problems.append(f"{name}: has other operands, not reported: {number} x {text}")
        problems += _wrong_lines(name, module, others, lines, moved, bool(side))
    classes = list(_wrong_classes(diff, a, b))
    return Verdict(False, (*problems, *classes), bool(classes))


def reads_edited(key: _Key) -> bool:
    """Whether an operation reads the result of one that was edited, so that it computes something else.

    `y = f(x); store y` against `store x`: whether the store has another operand, or `f` is between it and the
    operand that it had, is a matter of taste.
    """
    return "edited" in str(key[1])


def others_expected(module: Module, others: list[Operation]) -> Counter[_Key]:
    """The operations that only the other side has."""
    return Counter(one.key for one in others) - Counter(one.key for one in module.operations.values())


def _source_key(source: tuple[object, ...] | None, edited: set[str]) -> object:
    """Where an operand comes from; operations of edited text are all the same."""
    if source is None:
        return None
    kind, *rest = source
    if kind == "operation":
        operation, position = rest
        assert isinstance(operation, Operation)
        if operation.text in edited:
            return "edited arith.constant" if "arith.constant" in operation.text else "edited"
        return operation.text, position
    if kind == "after":
        loop, name = rest
        assert isinstance(loop, Operation)
        return kind, "edited" if loop.text in edited else name
    return source


def _more_on_a_line(
    module: Module, others: list[Operation], moved: Callable[[int], int | None], right: bool
) -> Counter[_Key]:
    """The operations that their Python lines have more often than on the other side."""
    here = Counter((_place(one, not right, moved), one.key) for one in module.operations.values())
    there = Counter((_place(one, right, moved), one.key) for one in others)
    found = Counter[_Key]()
    for (place, key), number in (here - there).items():
        if place is not None:
            found[key] += number
    return found


def _place(operation: Operation, old: bool, moved: Callable[[int], int | None]) -> object:
    """The line of an operation as one of the new text; None for a constant, which has no line of its own."""
    if operation.python is None or "arith.constant" in operation.text:
        return None
    return moved(operation.python) if old else operation.python


def _wrong_lines(
    name: str,
    module: Module,
    others: list[Operation],
    lines: list[int | None],
    moved: Callable[[int], int | None],
    right: bool,
) -> list[str]:
    """Reported operations of a Python line that has as many of them on the other side."""
    here = Counter((_place(one, not right, moved), one.key) for one in module.operations.values())
    there = Counter((_place(one, right, moved), one.key) for one in others)
    found = []
    for line in lines:
        operation = module.operations[line or 0]
        key = _place(operation, not right, moved), operation.key
        if here[key] <= there[key] and not reads_edited(operation.key):
            found.append(f"{name}: wrong line {operation.python}: {operation.text}")
    return found


def _wrong_classes(diff: StageDiff, a: Module, b: Module) -> list[str]:
    found = []
    for row in diff.rows:
        left = a.operations.get(row.left) if row.left is not None else None
        right = b.operations.get(row.right) if row.right is not None else None
        change = row.change & ~Change.MOVED
        if not change or (left is None and right is None):
            continue
        if left is not None and right is not None:
            expected = expected_change(left, right)
            if reads_edited(left.key) or reads_edited(right.key):
                expected, change = expected & ~_READS, change & ~_READS
        elif row.change & Change.MOVED:
            continue
        else:
            expected = Change.ADDED if left is None else Change.REMOVED
        if change != expected:
            text = (left or right or Operation("")).text
            found.append(f"class {change} instead of {expected}: {text} -> {right.text if right else None}")
    return found


def expected_change(a: Operation, b: Operation) -> Change:
    """The classes of a pair, from its texts: dimensions, element types, literals, attributes, operands."""
    change = Change.EQUAL
    ours, theirs = _Parts(a.text), _Parts(b.text)
    if (
        ours.elements != theirs.elements
        or ours.types != theirs.types
        or len(ours.shapes) != len(theirs.shapes)
    ):
        change |= Change.TYPE
    elif ours.shapes != theirs.shapes:
        change |= Change.SHAPE
    if ours.literal != theirs.literal:
        change |= Change.CONSTANT
    if ours.attributes != theirs.attributes:
        change |= Change.ATTRIBUTE
    if len(a.operands) != len(b.operands):
        change |= Change.OPERANDS
    else:
        for was, now in zip_longest(a.keys, b.keys):
            if was != now:
                constants = _is_constant(was) and _is_constant(now)
                change |= Change.CONSTANT if constants else Change.OPERANDS
    return change


def _is_constant(key: object) -> bool:
    text = key[0] if isinstance(key, tuple) else key
    return isinstance(text, str) and "arith.constant" in text


class _Parts:
    """The text of an operation in parts."""

    def __init__(self, text: str) -> None:
        braces = re.findall(r"\{[^{}]+\}", text)
        rest = re.sub(r"\{[^{}]+\}", "", text)
        literal = re.search(r"arith\.constant (.*?) : ", rest)
        # A splat of a number is that number, of another type.
        self.literal = literal[1].removeprefix("dense<").removesuffix(">") if literal else ""
        rest = rest.replace(f"constant {literal[1]} ", "constant ") if literal else rest
        self.types = re.findall(r"!tt\.ptr<[^>]*>|\b(?:bf|f|i)\d+\w*\b|tensor(?=<)", rest)
        keywords = re.findall(r"[A-Za-z]\w* = [A-Za-z]\w*(?!\.)", rest)
        rest = re.sub(r"[A-Za-z]\w* = [A-Za-z]\w*(?!\.)", "", rest)
        self.shapes = re.findall(r"<((?:\d+x)+)", rest)
        self.elements = re.findall(r"(?:<|\d+x| |\()((?:bf|f|i)\d+\w*|!tt\.ptr)\b", rest)
        words = re.findall(
            r"[a-z_]+(?:\.[a-z_]+)?", re.sub(r"tensor<[^ ]*>|!tt.ptr<\w+>|\b[bfi]+\d+\b", "", rest)
        )
        self.attributes = braces, keywords, words
