"""Constexpr values: converts those that users write and programs pass to the model's plain data, and back.

Runs in processes that have Triton and the kernel's file.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import enum
import importlib
import inspect
import re
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

from irscope.model import Dtype, Expression, ListValue, NamedValue, ObjectValue, UserError, Value, parse_value
from irscope.model.config import DTYPE_NAMES
from irscope.model.errors import error_line

_GLUON = "triton.experimental.gluon.language"
# The names that an expression may use even if the kernel's file does not import them.
_MODULES = {
    "gl": _GLUON,
    "gluon": "triton.experimental.gluon",
    "tl": "triton.language",
    "torch": "torch",
    "triton": "triton",
}
_NO_ADDRESS = "0x..."
_ADDRESS = re.compile(r"\b0x[0-9a-f]{4,}")
_PLAIN = Dtype | ObjectValue | NamedValue | ListValue
# Parts of an expression that no plain string has.
_OBJECTS = (ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Tuple, ast.Dict)
_BRACKETS = re.compile(r"[(\[{]")


def plain_value(value: Any) -> Value:
    """Convert a constexpr value to the model's type. A value of an unknown type becomes its text."""
    value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
    if isinstance(value, enum.Enum):
        return NamedValue(f"{type(value).__qualname__}.{value.name}")
    if value is None or isinstance(value, bool | int | float | str | _PLAIN):
        return value
    if _is_named_tuple(value) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        return _plain_object(value)
    if isinstance(value, list | tuple) or type(value).__qualname__ == "tuple":  # tl.tuple
        items = tuple(map(plain_value, value))
        return ListValue(items) if isinstance(value, list) else items
    return _plain_dtype(value) or _plain_name(value)


def _plain_object(value: Any) -> ObjectValue:
    """Convert an instance of a dataclass, or a named tuple, field by field."""
    gluon = type(value).__module__.startswith(_GLUON)
    arguments, options = [], []
    for name, default in _fields(value):
        plain = plain_value(getattr(value, name))
        # Layouts take tuples for lists, and nothing depends on which of the two it was.
        plain = ListValue(plain) if gluon and isinstance(plain, tuple) else plain
        if default is _NO_DEFAULT:
            arguments.append((name, plain))
        elif plain != plain_value(default):
            options.append((name, plain))
    return ObjectValue(_class_name(type(value)), tuple(arguments), tuple(options))


_NO_DEFAULT = object()


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and default of each field."""
    if _is_named_tuple(value):
        yield from ((name, value._field_defaults.get(name, _NO_DEFAULT)) for name in value._fields)
        return
    for field in dataclasses.fields(value):
        if not field.init:
            continue
        if field.default_factory is not dataclasses.MISSING:
            yield field.name, field.default_factory()
        else:
            yield field.name, _NO_DEFAULT if field.default is dataclasses.MISSING else field.default


def _is_named_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


def _class_name(type_: type) -> str:
    """Return the name of a class.

    Names of Gluon's language start with "gl", without the private modules.
    """
    if not type_.__module__.startswith(_GLUON):
        return type_.__qualname__
    modules = type_.__module__.removeprefix(_GLUON).split(".")
    return ".".join(["gl", *(name for name in modules if name and name[0] != "_"), type_.__qualname__])


def _plain_dtype(value: Any) -> Dtype | None:
    """Return an element type of tl or torch, or None if `value` is something else."""
    text = str(value)
    parsed = parse_value(text)
    if isinstance(parsed, Dtype):  # "torch.float16"
        return parsed
    return Dtype(text) if type(value).__name__ == "dtype" and text in DTYPE_NAMES else None


def _plain_name(value: Any) -> NamedValue:
    """Return a function or class by its name, and anything else by its text, without addresses."""
    function = getattr(value, "fn", value)
    if inspect.isfunction(function) or inspect.isclass(function):
        return NamedValue(function.__qualname__.replace("<locals>.", ""), _source_digest(value))
    return NamedValue(_ADDRESS.sub(_NO_ADDRESS, str(value)))


def _source_digest(value: Any) -> str:
    """Return the start of Triton's hash of a @triton.jit function's source; "" for any other value."""
    key = getattr(value, "cache_key", "")
    return key[:12] if isinstance(key, str) else ""


class Constants:
    """Converts the constexpr values of a kernel to plain data, and back.

    It remembers each object that it converted, and knows the names of the kernel's file.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._names: dict[str, Any] | None = None
        self._objects: dict[Value, Any] = {}

    def plain(self, value: Any) -> Value:
        """`plain_value`; remembers the object. An Expression is evaluated.

        Raises UserError if the expression is wrong or two different objects have one plain value.
        """
        if isinstance(value, Expression):
            return self.evaluate(value.text)
        plain = plain_value(value)
        self._remember(plain, value)
        return plain

    def _remember(self, plain: Value, value: Any) -> None:
        if isinstance(value, _PLAIN):
            return
        if isinstance(plain, ObjectValue | NamedValue):
            remembered = self._objects.setdefault(plain, value)
            # Two functions can have one name, and two objects one text without addresses.
            named = isinstance(plain, NamedValue) and (callable(value) or _NO_ADDRESS in plain.name)
            if named and remembered is not value and remembered != value:
                raise UserError(f"two different values are both called {plain}; give them different names")
        elif isinstance(plain, tuple | ListValue):
            for item, of in zip(plain if isinstance(plain, tuple) else plain.items, value, strict=False):
                self._remember(item, of)

    def real(self, value: Value | Expression) -> Any:
        """Return the object of a plain value or an Expression. Raises UserError if there is none."""
        match value:
            case Expression():
                return self.real(self.plain(value))
            case Dtype(name):
                import triton.language as tl

                return tl.dtype(name)
            case tuple():
                return tuple(map(self.real, value))
            case ListValue(items):
                return list(map(self.real, items))
            case ObjectValue() | NamedValue():
                return self._objects[value] if value in self._objects else self._rebuilt(value)
        return value

    def evaluate(self, text: str) -> Value:
        """Return the plain value of Python text that a user wrote.

        A word without a meaning is a string. Raises UserError if the text is wrong.
        """
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            if _BRACKETS.search(text):
                raise UserError(f"{text}: not a Python expression: {error.args[0]}") from error
            return text
        if self._is_string(tree):
            return text
        try:
            value = eval(text.strip(), self._scope(tree))  # noqa: S307 - the user's own text, next to the user's own file
        except Exception as error:  # user code may raise anything
            raise UserError(f"{text}: {_problem(error)}") from error
        if inspect.ismodule(value):
            raise UserError(f"{text}: a module, not a constant")
        return self.plain(value)

    def _is_string(self, tree: ast.expr) -> bool:
        """Return True if the text is a plain string.

        That is a word that the kernel compares with, or one without a meaning.
        """
        if isinstance(tree, ast.Name) and tree.id in self._strings():
            return True
        if any(isinstance(node, _OBJECTS) for node in ast.walk(tree)):
            return False
        names = _names(tree)
        defined_names = [name for name in names if name in self._namespace() or name in _MODULES]
        return bool(names) and (
            not defined_names or (isinstance(tree, ast.Name) and self._is_module(tree.id))
        )

    def _is_module(self, name: str) -> bool:
        return name in _MODULES or inspect.ismodule(self._namespace().get(name))

    def _strings(self) -> set[str]:
        """Return the strings in the kernel and the functions that it calls."""
        from irscope.compiling.kernels import called_functions

        functions = [self._function, *called_functions(self._function)]
        return {
            node.value
            for function in functions
            for node in ast.walk(function.parse())
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }

    def _namespace(self) -> Mapping[str, Any]:
        """Return the names of the kernel's file and of the function that defines the kernel."""
        if self._names is None:
            closure = inspect.getclosurevars(self._function.fn).nonlocals
            self._names = {**self._function.fn.__globals__, **closure}
        return self._names

    def _scope(self, tree: ast.expr) -> dict[str, Any]:
        """Return the names that an expression can use."""
        defaults = {name: _default(name) for name in _names(tree)}
        defined = {name: value for name, value in defaults.items() if value is not None}
        return {**defined, **self._namespace()}

    def _rebuilt(self, value: ObjectValue | NamedValue) -> Any:
        """Build a new object from its class name and fields, or look up the object of a name."""
        path = value.type if isinstance(value, ObjectValue) else value.name
        first, *rest = path.split(".")
        target = None if first == "gl" else self._namespace().get(first)
        target = _default(first) if target is None else target
        for name in rest:
            target = getattr(target, name, None)
        if target is None:
            raise UserError(f"{value}: the kernel's file has no {path}")
        if isinstance(value, NamedValue):
            return target
        return target(**{name: self.real(field) for name, field in value.arguments + value.options})


def _default(name: str) -> Any:
    """Return the meaning of a name that the kernel's file does not define, or None if it has none."""
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name.endswith("Layout"):
        return getattr(importlib.import_module(_GLUON), name, None)
    return getattr(builtins, name, None)


def _names(tree: ast.expr) -> list[str]:
    """Return the names that an expression reads."""
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]


def _problem(error: Exception) -> str:
    """Describe an exception in one line: an assertion without a message by its source line."""
    frames = traceback.extract_tb(error.__traceback__)
    if str(error).strip() or not frames or not frames[-1].line:
        return error_line(error)
    return f"{type(error).__name__}: {frames[-1].line}"
