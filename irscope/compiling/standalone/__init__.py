"""A compilation as Python text that needs nothing of the program: the kernel's file, and Triton's input.

A capture keeps both with each variant, because only the process that compiles has the closures and globals
of a kernel. `irscope reproduce` makes a folder of them.
"""

from __future__ import annotations

import ast
import json
import re
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from irscope.compiling.standalone.builder import FileBuilder
from irscope.compiling.standalone.values import CannotWriteError
from irscope.model import UserError
from irscope.model.errors import error_line

# Artifacts of a variant besides its stages: the kernel's file, the call, and, if asked for, the values of the
# arguments of its first launch.
KERNEL, CALL, VALUES = "kernel", "call", "values"
_INDEX = re.compile(r"\(\d{1,4}(?:, \d{1,4})*,?\)")
_PROXY = object()
_Proxy = namedtuple("_Proxy", ["constants", "signature"])


@dataclass(frozen=True)
class Call:
    """The arguments of triton.compile as Python expressions in the kernel's file, by parameter or index path.

    `options` are those that differ from the backend's defaults. `places` has the file and line of each
    function that Triton compiles.
    """

    kernel: str
    gluon: bool
    parameters: tuple[str, ...]
    signature: str
    constexprs: Mapping[str, str]
    attrs: Mapping[str, str]
    options: Mapping[str, str]
    places: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """Return the names that the expressions use, those of the kernel's file and of Python."""
        texts = (self.signature, *self.constexprs.values(), *self.options.values())
        nodes = (node for text in texts for node in ast.walk(ast.parse(text, mode="eval")))
        return {node.id for node in nodes if isinstance(node, ast.Name)}


def standalone(source: Any, options: Any, target: Any) -> Mapping[str, bytes]:
    """Return an ASTSource's kernel as a file, and triton.compile's arguments as JSON.

    The JSON is that of a `Call`. If an object of the kernel cannot be written as text, only the JSON
    is returned, with "problem". Never raises.
    """
    try:
        builder = FileBuilder()
        call = _call(builder, source, options, target)
        return {KERNEL: builder.text.encode(), CALL: json.dumps(asdict(call)).encode()}
    except CannotWriteError as error:
        return {CALL: json.dumps({"problem": str(error)}).encode()}
    except Exception as error:  # noqa: BLE001 - objects of the program may raise anything
        return {CALL: json.dumps({"problem": error_line(error)}).encode()}


def _call(builder: FileBuilder, source: Any, options: Any, target: Any) -> Call:
    from triton.compiler import make_backend

    function = source.fn
    name = builder.kernel(function, _name_in_binary(source))
    defaults = vars(make_backend(target).parse_options({}))
    changed = {k: value for k, value in sorted(vars(options).items()) if defaults.get(k, _PROXY) != value}
    return Call(
        kernel=name,
        gluon=bool(function.is_gluon()),
        parameters=tuple(parameter.name for parameter in function.params),
        signature=builder.expression(dict(source.signature)),
        constexprs={builder.expression(k): builder.expression(v) for k, v in source.constants.items()},
        attrs={builder.expression(k): builder.expression(v) for k, v in source.attrs.items() if v},
        options={key: builder.expression(value) for key, value in changed.items()},
        places=builder.places,
    )


def _name_in_binary(source: Any) -> str:
    """Return the name that the kernel's `repr` gives it in the binary, or "" if it has none."""
    function = source.fn
    if getattr(function, "_repr", None) is None:
        return ""
    constants = {
        function.arg_names[path[0]] if len(path) == 1 else path: value
        for path, value in source.constants.items()
    }
    return str(function._repr(_Proxy(constants, source.signature)))


def parse_call(content: bytes | None, what: str) -> Call:
    """Read the JSON of `standalone`. Raises UserError that names the variant, `what`."""
    if content is None:
        raise UserError(
            f"{what}: the capture has no stand-alone text of its kernel, because an older irscope or another "
            "tool made it; compile or run it again, or import its folder on the machine that compiled it"
        )
    try:
        values = dict(json.loads(content))
        if problem := values.get("problem"):
            raise UserError(f"{what} cannot be reproduced: {problem}")
        return Call(
            kernel=_identifier(values["kernel"]),
            gluon=bool(values["gluon"]),
            parameters=tuple(map(_identifier, values["parameters"])),
            signature=_expression(values["signature"]),
            constexprs={_path(k): _expression(v) for k, v in values["constexprs"].items()},
            attrs={_path(k): _expression(v) for k, v in values["attrs"].items()},
            options={_identifier(k): _expression(v) for k, v in values["options"].items()},
            places={_identifier(k): (str(file), int(line)) for k, (file, line) in values["places"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{what}: what the capture has of its compilation is damaged") from error


def _identifier(text: Any) -> str:
    if not (isinstance(text, str) and text.isidentifier()):
        raise ValueError(text)
    return text


def _path(text: Any) -> str:
    """`text`, if it is the index of a parameter, or of an item of a tuple: "(3,)". Raises ValueError."""
    if not (isinstance(text, str) and _INDEX.fullmatch(text)):
        raise ValueError(text)
    return text


def _expression(text: Any) -> str:
    """`text`, if it is one Python expression. Raises ValueError."""
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(text) from error
    return str(text)
