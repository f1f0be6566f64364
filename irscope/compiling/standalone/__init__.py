"""A compilation as Python text that needs nothing of the program: the kernel's file, and Triton's input.

A capture keeps both with each variant, because only the process that compiles has the closures and globals
of a kernel. `irscope reproduce` makes a folder of them.
"""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Mapping
from typing import Any

from irscope.compiling.standalone.builder import FileBuilder
from irscope.compiling.standalone.values import CannotWriteError
from irscope.model.errors import error_line

# Artifacts of a variant besides its stages: the kernel's file, the call, and, if asked for, the values of the
# arguments of its first launch.
KERNEL, CALL, VALUES = "kernel", "call", "values"
_Proxy = namedtuple("_Proxy", ["constants", "signature"])


def standalone(source: Any, options: Any, target: Any) -> Mapping[str, bytes]:
    """Return an ASTSource's kernel as a file, and triton.compile's arguments as JSON.

    The JSON has Python expressions: "signature", "constexprs", "attrs" and "options" (those that
    differ from the backend's defaults) are expressions in the file. If an object of the kernel
    cannot be written as text, only the JSON is returned, with "problem". Never raises.
    """
    try:
        builder = FileBuilder()
        call = _call(builder, source, options, target)
        return {KERNEL: builder.text.encode(), CALL: json.dumps(call).encode()}
    except CannotWriteError as error:
        return {CALL: json.dumps({"problem": str(error)}).encode()}
    except Exception as error:  # noqa: BLE001 - objects of the program may raise anything
        return {CALL: json.dumps({"problem": error_line(error)}).encode()}


def _call(builder: FileBuilder, source: Any, options: Any, target: Any) -> dict[str, Any]:
    function = source.fn
    name = builder.kernel(function, _name_in_binary(source))
    defaults = _defaults(target)
    changed = {key: value for key, value in vars(options).items() if defaults.get(key, _proxy) != value}
    return {
        "kernel": name,
        "gluon": bool(function.is_gluon()),
        "parameters": [parameter.name for parameter in function.params],
        "signature": builder.expression(dict(source.signature)),
        "constexprs": {builder.expression(k): builder.expression(v) for k, v in source.constants.items()},
        "attrs": {builder.expression(k): builder.expression(v) for k, v in source.attrs.items() if v},
        "options": {key: builder.expression(value) for key, value in sorted(changed.items())},
        "places": {name: list(location) for name, location in builder.places.items()},
    }


_proxy = object()


def _defaults(target: Any) -> dict[str, Any]:
    from triton.compiler import make_backend

    return dict(vars(make_backend(target).parse_options({})))


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
