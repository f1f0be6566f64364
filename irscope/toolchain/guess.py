"""Guesses a signature and constexpr values for a kernel from its text, for the user to check.

`def add(x_ptr, n, BLOCK: tl.constexpr)` gives "*fp16:16, i32:16" and BLOCK=1024.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from irscope.toolchain.argument_uses import Resolve, Uses, argument_nodes, uses_of

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


@dataclass(frozen=True, slots=True)
class Guess:
    """`types` has an entry per run-time parameter; `constants` the text of a value per constexpr.

    A constexpr without a usable guess (a function) is in neither.
    """

    types: Mapping[str, str]
    constants: Mapping[str, str]


def guess(function: ast.FunctionDef, resolve: Resolve, constexprs: Collection[str] | None = None) -> Guess:
    """The likely types of the run-time parameters and values of the constexprs that have no default.

    `constexprs` are the names of the constexprs; None: the parameters with `constexpr` in the annotation.
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
    """The last of the strides of each tensor (stride_am, stride_ak), which is 1 for most tensors."""
    groups: dict[str, list[str]] = {}
    for name in names:
        if "stride" in name.lower():
            groups.setdefault(name[:-1], []).append(name)
    return {strides[-1] for strides in groups.values() if len(strides) > 1}


def _strides_of_programs(function: ast.FunctionDef) -> set[str]:
    """The parameters that are multiplied by the number of a program and nothing else: no strides of elements.

    `head = tl.program_id(1); base = q_ptr + head * stride_qh` gives stride_qh.
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
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(one, ast.Name):
                    factors.setdefault(one.id, []).append(other)
    return {name for name, others in factors.items() if all(_is_program(o, programs) for o in others)}


def _is_program(node: ast.expr, programs: Collection[str]) -> bool:
    """Whether an expression is tl.program_id(...), or one of the names, converted or not."""
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
