"""Guesses a signature and constexpr values for a kernel from its text, for the user to check.

`def add(x_ptr, n, BLOCK: tl.constexpr)` gives "*fp16:16, i32:16" and BLOCK=1024.

How a kernel's text uses each parameter: as an address, an index, a shape, a branch condition, a dtype.

`tl.load(x_ptr + offsets)` shows that `x_ptr` is a pointer; `tl.arange(0, BLOCK)` that `BLOCK` is a power of
two. Nothing is imported or executed, and functions that the kernel calls are followed.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from irscope.model.records import frozen

# The definition of the function that a call's `func` refers to; None if it is not a function of the library.
Resolve = Callable[[ast.expr], ast.FunctionDef | None]

_ACCESSES = {"load", "store", "make_block_ptr", "make_tensor_descriptor"}
_ATOMICS = {f"atomic_{name}" for name in ("add", "max", "min", "and", "or", "xor", "xchg", "cas")}
# Functions whose result has the same base address as their first argument.
_SAME_BASE = {"multiple_of", "max_contiguous", "max_constancy", "broadcast_to", "advance", "cast", "reshape"}
_DESCRIPTOR = {"load", "store", "gather", "scatter", "atomic_add", "load_tensor_descriptor"}
_SHAPED = {"arange": None, "zeros": 0, "full": 0, "broadcast_to": 1, "reshape": 1, "view": 1}
_BIT_OPERATORS = (ast.RShift, ast.LShift, ast.BitAnd, ast.BitOr, ast.BitXor)
# Functions that call each other this deep are not followed further.
_MOST_CALLS = 12


@dataclass(slots=True)
class Uses:
    """The parameters by use.

    `indices` are pointers to integers, which the kernel computes addresses or bits from; `addresses` are
    integers that it casts to pointers; `descriptors` have the rank of their blocks. `strings` are the
    literals that a parameter is compared with.
    """

    pointers: set[str] = field(default_factory=set)
    indices: set[str] = field(default_factory=set)
    addresses: set[str] = field(default_factory=set)
    floats: set[str] = field(default_factory=set)
    descriptors: dict[str, int] = field(default_factory=dict)
    shapes: set[str] = field(default_factory=set)
    conditions: set[str] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    strings: dict[str, str] = field(default_factory=dict)


def uses_of(function: ast.FunctionDef, resolve: Resolve) -> Uses:
    """Find out how `function` uses its parameters."""
    return _Function(function, resolve, {}, _MOST_CALLS).uses


def argument_nodes(function: ast.FunctionDef) -> list[ast.arg]:
    """Return the parameters of a function, in order."""
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


class _Function:
    """One function: collects the uses of its own parameters, and those of the functions that it calls."""

    def __init__(
        self, function: ast.FunctionDef, resolve: Resolve, known: dict[int, Uses], depth: int
    ) -> None:
        self.uses = known[id(function)] = Uses()
        self._names = {argument.arg for argument in argument_nodes(function)}
        self._resolve, self._known, self._depth = resolve, known, depth
        self._assigned: dict[str, list[ast.expr]] = {}
        self._increments: dict[str, list[ast.expr]] = {}
        nodes = [node for statement in function.body for node in ast.walk(statement)]
        for node in nodes:
            for name, value in _assignments(node):
                into = self._increments if isinstance(node, ast.AugAssign) else self._assigned
                into.setdefault(name, []).append(value)
        for node in nodes:
            self._visit(node)

    def _visit(self, node: ast.AST) -> None:
        match node:
            case ast.Call():
                self._call(node)
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                self.uses.conditions |= self._tested(test)
            case ast.Compare(left=ast.Name(id=name), comparators=[ast.Constant(value=str(text))]):
                self.uses.strings.setdefault(name, text)
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr="dtype"), attr="element_ty"):
                self.uses.pointers |= {name} & self._names
            case ast.BinOp(op=op) if isinstance(op, _BIT_OPERATORS):
                self.uses.indices |= self._loaded(node.left) | self._loaded(node.right)
            case ast.BinOp(left=ast.Name(id=name), right=ast.Constant(value=float())):
                self.uses.floats |= {name} & self._names

    def _call(self, node: ast.Call) -> None:
        name, first = last_name(node.func), _argument(node)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        of_parameter = isinstance(owner, ast.Name) and owner.id in self._names
        if isinstance(node.func, ast.Name) and name in self._names:
            self.uses.called.add(name)
        elif of_parameter and name in _DESCRIPTOR and isinstance(owner, ast.Name):
            self.uses.descriptors[owner.id] = _rank(first)
        elif first is not None and owner is not None and name in _ACCESSES | _ATOMICS:
            self._access(name, first)
        elif name in ("range", "static_range"):
            self.uses.indices |= {p for argument in node.args for p in self._loaded(argument)}
        elif name == "to" and owner is not None and first is not None:
            self._cast(owner, first)
        self._shape_and_dtype(name, node)
        callee = self._resolve(node.func) if self._depth else None
        if callee is not None:
            self._follow(node, callee)

    def _access(self, name: str, address: ast.expr) -> None:
        base = self._base(address)
        self.uses.pointers |= base
        self.uses.indices |= self._loaded(address) - base
        if name in ("atomic_cas", "atomic_xchg", "atomic_and", "atomic_or", "atomic_xor"):
            self.uses.indices |= base

    def _cast(self, value: ast.expr, type_: ast.expr) -> None:
        """`value.to(type_)`."""
        if isinstance(type_, ast.Call) and last_name(type_.func) == "pointer_type":
            self.uses.addresses |= self._base(value)
            self.uses.indices |= self._loaded(value)
        elif isinstance(type_, ast.Name):
            self.uses.dtypes |= {type_.id} & self._names

    def _shape_and_dtype(self, name: str, node: ast.Call) -> None:
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        shapes = [keywords[key] for key in ("shape", "block_shape") if key in keywords]
        if name in _SHAPED:
            shapes += node.args if _SHAPED[name] is None else node.args[_SHAPED[name] :][:1]
        elif name == "make_block_ptr":
            shapes += node.args[4:5]
        self.uses.shapes |= {p for shape in shapes for p in self._sources(shape)}
        flags = [keywords.get(key) for key in ("warp_specialize", "flatten", "disallow_acc_multi_buffer")]
        self.uses.conditions |= {
            expression.id for expression in flags if isinstance(expression, ast.Name)
        } & self._names
        dtypes = [*node.args[1:2], keywords.get("dtype")] if name == "zeros" else [keywords.get("dtype")]
        self.uses.dtypes |= {
            expression.id for expression in dtypes if isinstance(expression, ast.Name)
        } & self._names

    def _follow(self, node: ast.Call, callee: ast.FunctionDef) -> None:
        """Add the uses that the called function makes of this function's parameters."""
        if id(callee) not in self._known:
            _Function(callee, self._resolve, self._known, self._depth - 1)
        inner, names = self._known[id(callee)], [argument.arg for argument in argument_nodes(callee)]
        passed = dict(zip(names, node.args, strict=False))
        passed |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        for name, value in passed.items():
            if name in inner.pointers:
                self.uses.pointers |= self._base(value)
                self.uses.indices |= self._base(value) if name in inner.indices else set()
                self.uses.indices |= self._loaded(value)
            if not isinstance(value, ast.Name) or value.id not in self._names:
                continue
            for kind in ("addresses", "floats", "shapes", "conditions", "dtypes", "called"):
                if name in getattr(inner, kind):
                    getattr(self.uses, kind).add(value.id)
            if name in inner.descriptors:
                self.uses.descriptors[value.id] = inner.descriptors[name]
            if name in inner.strings:
                self.uses.strings.setdefault(value.id, inner.strings[name])

    def _base(self, node: ast.expr, visited: frozenset[str] = frozenset()) -> set[str]:
        """Return the parameters that an address may start from."""
        match node:
            case ast.Name(id=name):
                values = [] if name in self._names or name in visited else self._assigned.get(name, [])
                bases = {base for value in values for base in self._base(value, visited | {name})}
                return bases | ({name} & self._names)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                left, right = self._base(node.left, visited), self._base(node.right, visited)
                by_name = {name for name in left | right if _named_pointer(name)}
                return by_name or left or right
            case ast.IfExp(body=left, orelse=right):
                return self._base(left, visited) | self._base(right, visited)
            case ast.Subscript(value=value):
                return self._base(value, visited)
            case ast.Call():
                return {name for part in _same_base(node) for name in self._base(part, visited)}
        return set()

    def _loaded(self, node: ast.expr) -> set[str]:
        """Return the pointers that the values in an expression are loaded from; comparisons have none."""
        pointers: set[str] = set()
        for part in self._reached(node):
            if isinstance(part, ast.Call) and last_name(part.func) == "load":
                address = _argument(part)
                pointers |= self._base(address) if address is not None else set()
        return pointers

    def _sources(self, node: ast.expr) -> set[str]:
        """Return the parameters that an expression is computed from."""
        return {part.id for part in self._reached(node) if isinstance(part, ast.Name)} & self._names

    def _reached(self, node: ast.expr) -> Iterator[ast.AST]:
        """Yield the parts of an expression and its names' values, but not of comparisons and addresses."""
        visited: set[str] = set()
        pending: list[ast.AST] = [node]
        while pending:
            part = pending.pop()
            yield part
            if isinstance(part, ast.Name) and part.id not in visited:
                visited.add(part.id)
                pending += [*self._assigned.get(part.id, []), *self._increments.get(part.id, [])]
            elif not isinstance(part, ast.Compare) and not (
                isinstance(part, ast.Call) and last_name(part.func) == "load"
            ):
                pending += ast.iter_child_nodes(part)

    def _tested(self, test: ast.expr) -> set[str]:
        """Return the parameters that are conditions themselves, not compared with anything."""
        match test:
            case ast.Name(id=name):
                return {name} & self._names
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._tested(operand)
            case ast.BoolOp(values=values):
                return {name for value in values for name in self._tested(value)}
            case ast.Compare(left=ast.Name(id=name), comparators=[ast.Constant(value=bool())]):
                return {name} & self._names
        return set()


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a statement assigns, with the value of each."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            pairs = zip(targets, values, strict=False)
            yield from ((target.id, value) for target, value in pairs if isinstance(target, ast.Name))
        case ast.Assign():
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name, node.value
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield name, value


def _same_base(call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call whose base address the result has.

    `x.to(tl.pointer_type(...))` makes a base address.
    """
    name = last_name(call.func)
    if name == "to" and isinstance(call.func, ast.Attribute):
        return [] if any(isinstance(argument, ast.Call) for argument in call.args) else [call.func.value]
    return call.args[1:3] if name == "where" else call.args[:1] if name in _SAME_BASE else []


def _argument(call: ast.Call) -> ast.expr | None:
    """Return the first argument of a call; for loads and stores, the address."""
    if call.args:
        return call.args[0]
    named = (keyword.value for keyword in call.keywords if keyword.arg in ("pointer", "base", "offsets"))
    return next(named, None)


def _rank(offsets: ast.expr | None) -> int:
    return len(offsets.elts) if isinstance(offsets, ast.List | ast.Tuple) else 2


def last_name(node: ast.expr) -> str:
    """`load` of `tl.load`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _named_pointer(name: str) -> bool:
    return "ptr" in name.lower() or "pointer" in name.lower()


_FLOAT_NUMBER = re.compile(
    r"(^|_)(eps|epsilon|scale|alpha|beta|gamma|momentum|decay|lr|rate|p|prob|temp|temperature|softcap|slope|"
    r"theta|limit|factor|coef|ratio|value|inf|norm)(_|$)|softcap|scaling|_scale|_(min|max)$",
    re.IGNORECASE,
)
_INT_NUMBER = re.compile(
    r"stride|size|num|len|count|offset|_n$|^n_|seed|batch|dim|rows|cols|heads|groups", re.IGNORECASE
)
_FP32_POINTER = re.compile(
    r"lse|mean|rstd|logsumexp|delta|partial|scale|(^|_)(l|m|lock|max|sum|norm|dt|ws)(_ptr)?$", re.IGNORECASE
)
_INDEX_POINTER = re.compile(
    r"idx|index|indices|(^|_)ids?(_|$)|cu_seq|seq_?lens?|offset|table|count|loc(_|$)|chunk_indices|labels?|"
    r"target|topk|perm|lock|lens(_|$)",
    re.IGNORECASE,
)
_BOOL_POINTER = re.compile(r"(^|_)(bool|mask)(_|$)|_mask$", re.IGNORECASE)
_POINTER_NAME = re.compile(r"(^|_)ptrs?(_|$)|ptr$|pointer", re.IGNORECASE)
_FLAG = re.compile(
    r"^(IS|HAS|USE|DO|EVEN|APPLY|WITH|ENABLE|STORE|SAVE|RETURN|NEED|CAUSAL|REVERSE)(_|$)", re.I
)
_EXTENT = re.compile(r"^[A-Z]{1,2}$|size|dim|len|hidden|cols|rows|^N_|_[NMKD]$", re.IGNORECASE)
_SMALL = re.compile(
    r"group|heads?|num_|^(H|G|B|HQ|HV|NG|N_?H)$|splits?|stages|warps|ratio|rep", re.IGNORECASE
)

_OPTIONS = {"num_warps": "4", "num_stages": "2", "num_ctas": "1"}
# With more sizes than this, blocks of 64 in each dimension are too large.
_MOST_LARGE = 3


@frozen
class Guess:
    """`types` has an entry per run-time parameter; `constants` the text of a value per constexpr.

    A constexpr without a usable guess (a function) is in neither.
    """

    types: Mapping[str, str]
    constants: Mapping[str, str]


def guess(function: ast.FunctionDef, resolve: Resolve, constexprs: Collection[str] | None = None) -> Guess:
    """Guess the types of the run-time parameters and values of the constexprs without a default.

    `constexprs` are the names of the constexprs. If it is None, they are the parameters with
    `constexpr` in the annotation.
    """
    uses = uses_of(function, resolve)
    defaults = _defaults(function)
    if constexprs is None:
        constexprs = {name for name, (argument, _) in defaults.items() if _is_constexpr(argument)}
    types, constants = {}, {}
    shapes = uses.shapes.intersection(constexprs)
    last = _last_strides(defaults) - _strides_of_programs(function)
    for name, (argument, default) in defaults.items():
        if name not in constexprs:
            types[name] = "1" if name in last else _type(name, uses, argument, default)
        elif default is None and name not in uses.called:
            constants[name] = _constant(name, uses, len(shapes))
    return Guess(types, constants)


def _defaults(function: ast.FunctionDef) -> dict[str, tuple[ast.arg, ast.expr | None]]:
    arguments, keyword_only = argument_nodes(function), function.args.kwonlyargs
    positional = arguments[: len(arguments) - len(keyword_only)]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(function.args.defaults))
    defaults = [*missing, *function.args.defaults, *function.args.kw_defaults]
    return {arg.arg: (arg, default) for arg, default in zip(arguments, defaults, strict=True)}


def _is_constexpr(argument: ast.arg) -> bool:
    return argument.annotation is not None and "constexpr" in ast.unparse(argument.annotation)


def _last_strides(names: Iterable[str]) -> set[str]:
    """Return the last of the strides of each tensor (stride_am, stride_ak), usually 1."""
    groups: dict[str, list[str]] = {}
    for name in names:
        if "stride" in name.lower():
            groups.setdefault(name[:-1], []).append(name)
    return {strides[-1] for strides in groups.values() if len(strides) > 1}


def _strides_of_programs(function: ast.FunctionDef) -> set[str]:
    """Return the parameters that only the number of a program is multiplied by.

    They are not strides of elements: `head = tl.program_id(1); base = q_ptr + head * stride_qh`
    gives stride_qh.
    """
    programs = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and _is_program(node.value, frozenset())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    factors: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for factor, cofactor in ((node.left, node.right), (node.right, node.left)):
                if isinstance(factor, ast.Name):
                    factors.setdefault(factor.id, []).append(cofactor)
    return {name for name, cofactors in factors.items() if all(_is_program(o, programs) for o in cofactors)}


def _is_program(node: ast.expr, programs: Collection[str]) -> bool:
    """Return True if an expression is tl.program_id(...), or one of the names, converted or not."""
    if isinstance(node, ast.Name):
        return node.id in programs
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "program_id" or (
        node.func.attr == "to" and _is_program(node.func.value, programs)
    )


def _type(name: str, uses: Uses, argument: ast.arg, default: ast.expr | None) -> str:
    if name in uses.descriptors:
        block = ", ".join(["1"] * (uses.descriptors[name] - 2) + ["64"] * min(uses.descriptors[name], 2))
        return f"tensordesc<fp16[{block}]>"
    if name in uses.pointers or (_POINTER_NAME.search(name) and name not in uses.addresses):
        return f"*{_pointee(name, uses)}:16"
    if name in uses.addresses:
        return "i64:16"
    annotation = ast.unparse(argument.annotation) if argument.annotation else ""
    value = default.value if isinstance(default, ast.Constant) else None
    if annotation == "float" or isinstance(value, float) or name in uses.floats:
        return "fp32"
    floating = _FLOAT_NUMBER.search(name) and not _INT_NUMBER.search(name) and annotation != "int"
    return "fp32" if floating else "i32" if isinstance(value, bool) or "seed" in name else "i32:16"


def _pointee(name: str, uses: Uses) -> str:
    if name in uses.indices or _INDEX_POINTER.search(name):
        return "i32"
    if _BOOL_POINTER.search(name):
        return "i1"
    return "fp32" if _FP32_POINTER.search(name) else "fp16"


def _constant(name: str, uses: Uses, shapes: int) -> str:
    if name in uses.strings:
        return json.dumps(uses.strings[name])  # a Python literal, in double quotes
    if name in uses.dtypes or name.lower().endswith("dtype"):
        return "tl.float32" if "acc" in name.lower() else "tl.float16"
    if name.lower() in _OPTIONS:
        return _OPTIONS[name.lower()]
    if name in uses.shapes:
        return "1024" if shapes == 1 else "64" if shapes <= _MOST_LARGE else "32"
    return "False" if name in uses.conditions or _FLAG.search(name) else _number(name)


def _number(name: str) -> str:
    if _FLOAT_NUMBER.search(name) and not _INT_NUMBER.search(name):
        return "1e-06" if "eps" in name.lower() else "0.5"
    large = not _SMALL.search(name) and (_EXTENT.search(name) or "BLOCK" in name.upper())
    return "64" if large else "4"
