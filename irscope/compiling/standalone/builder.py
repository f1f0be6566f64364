"""Writes a kernel, and the functions, classes and globals that it needs, as one Python file.

Each function's text is kept, comments included; names that two modules give to different things are told
apart (`BLOCK`, `BLOCK_2`), and `common.helper` becomes `helper`. Runs in processes that have the kernel.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import re
import sys
import textwrap
from collections.abc import Mapping
from types import CellType, FunctionType, ModuleType
from typing import Any

from irscope.compiling.standalone.references import GlobalReference, references, rewritten
from irscope.compiling.standalone.values import (
    MODULE_NAMES,
    CannotWriteError,
    expression,
    imported_from,
    is_public,
    public_name,
)

_MISSING = object()
_CONSTEXPR = re.compile(r"\w+\.constexpr")
_EMPTY_CELL = CellType()
_TAKEN = frozenset(dir(builtins)) | frozenset(keyword.kwlist)


class FileBuilder:
    """A Python file that grows with each definition that is asked for."""

    def __init__(self) -> None:
        self._imports: dict[str, None] = {}
        self._definitions: list[str] = []
        # The name in the file -> what it is; and what has a name already, by key.
        self._names: dict[str, object] = {}
        self._known: dict[object, str] = {}
        self._alive: list[Any] = []
        # Where Triton's functions were: name in the file -> the path, and the line of the def.
        self.places: dict[str, tuple[str, int]] = {}

    @property
    def text(self) -> str:
        """Return the text of the file."""
        blocks = "\n\n\n".join(block.strip("\n") for block in self._definitions)
        imports = sorted(
            self._imports, key=lambda line: ("triton" in line or "torch" in line, line.split()[1])
        )
        return "\n".join(imports) + f"\n\n\n{blocks}\n"

    def kernel(self, function: Any, name: str) -> str:
        """Add a `@triton.jit` kernel, which has its own name in the file; `name` is its name in the binary.

        Raises CannotWriteError if it needs an object that cannot be written as text.
        """
        return self._jit(function, function.fn.__name__, name)

    def expression(self, value: Any) -> str:
        """Return the text of an expression in the file that makes `value`. Raises CannotWriteError."""
        return expression(value, self._name)

    def _name(self, value: Any, preferred: str) -> str:
        """Return the name in the file of a function, a class or a module, and add it if it is new."""
        key = id(value)
        if key in self._known:
            return self._known[key]
        self._alive.append(value)  # so that no other object gets its id
        if isinstance(value, ModuleType):
            return self._module(value, preferred)
        if isinstance(inner := getattr(value, "fn", None), FunctionType) and not is_public(
            getattr(value, "__module__", "") or ""
        ):
            return self._jit(value, preferred or inner.__name__)
        if public_import := imported_from(value):
            return self._imported(value, *public_import, preferred)
        if isinstance(value, FunctionType | type):
            return self._python(value, preferred)
        raise CannotWriteError(f"{preferred} is a {type(value).__qualname__}, which is no text")

    def _module(self, module: ModuleType, preferred: str) -> str:
        if not is_public(module.__name__):
            raise CannotWriteError(f"{module.__name__} is a module of the program")
        name = self._claim(MODULE_NAMES.get(module.__name__, preferred), id(module))
        parent, _, last = module.__name__.rpartition(".")
        if not parent:
            line = f"import {last}" if name == last else f"import {last} as {name}"
        elif getattr(sys.modules.get(parent), last, None) is module and name == last:
            line = f"from {parent} import {last}"
        else:
            line = f"import {module.__name__} as {name}"
        self._imports[line] = None
        return name

    def _imported(self, value: Any, module: str, attribute: str, preferred: str) -> str:
        name = self._claim(preferred, id(value))
        alias = "" if name == attribute else f" as {name}"
        self._imports[f"from {module} import {attribute}{alias}"] = None
        return name

    def _jit(self, function: Any, preferred: str, binary_name: str = "") -> str:
        """Add a function that Triton compiles, or compute while it compiles."""
        name = self._claim(preferred, id(function))
        text = getattr(function, "src", None) or function._src
        tree = ast.parse(text)
        scope = {**function.fn.__globals__, **_nonlocals(function.fn)}
        body = self._with_names(text, tree, scope, {function.fn.__name__: function}, jit=True)
        if name != function.fn.__name__:
            body = body.replace(f"def {function.fn.__name__}", f"def {name}", 1)
        self._definitions.append(f"{self._decorator(function, binary_name)}\n{body}")
        definitions = (n for n, line in enumerate(function.raw_src) if line.strip().startswith("def "))
        line = int(function.starting_line_number) + next(definitions, 0)
        self.places[name] = function.fn.__code__.co_filename, line
        return name

    def _decorator(self, function: Any, binary_name: str) -> str:
        if type(function).__name__ == "ConstexprFunction":
            return f"@{self._name(sys.modules['triton'], 'triton')}.constexpr_function"
        gluon = function.is_gluon()
        module = sys.modules["triton.experimental.gluon" if gluon else "triton"]
        options = ["noinline=True"] if getattr(function, "noinline", False) else []
        if binary_name and getattr(function, "_repr", None) is not None:
            options.append(f"repr=lambda _: {binary_name!r}")
        jit = f"@{self._name(module, 'gluon' if gluon else 'triton')}.jit"
        return f"{jit}({', '.join(options)})" if options else jit

    def _python(self, value: Any, preferred: str) -> str:
        """Add a plain function or a class, decorators included."""
        if "<lambda>" in value.__qualname__:
            raise CannotWriteError("a lambda has no text of its own")
        try:
            text = textwrap.dedent(inspect.getsource(value))
            tree = ast.parse(text)
        except (OSError, TypeError, SyntaxError) as error:
            raise CannotWriteError(f"{value.__qualname__}: its text is not known") from error
        defined = tree.body[0]
        if not isinstance(defined, ast.FunctionDef | ast.ClassDef):
            raise CannotWriteError(f"{value.__qualname__}: its text is no definition")
        name = self._claim(preferred, id(value))
        body = self._with_names(text, tree, _scope(value), {defined.name: value}, jit=False)
        alias = "" if name == defined.name else f"\n\n{name} = {defined.name}"
        if alias:
            self._claim(defined.name, id(value))
        self._definitions.append(body.rstrip() + alias)
        return name

    def _with_names(
        self, text: str, tree: ast.AST, scope: Mapping[str, Any], itself: Mapping[str, Any], jit: bool
    ) -> str:
        """`text` with the names that its references have in the file; adds what they refer to."""
        edits: dict[ast.expr, str] = {}
        for annotation in _annotations(tree) if jit else ():
            edits.update(self._annotation(annotation))
        replaced = {id(part) for node in edits for part in ast.walk(node)}
        for reference in references(tree):
            if id(reference.nodes[0]) in replaced or reference.path[0] in itself:
                continue
            replacement = self._resolved(reference, scope, jit)
            if replacement is not None and replacement[1] != ast.unparse(replacement[0]):
                edits[replacement[0]] = replacement[1]
        return rewritten(text, tree, edits)

    def _annotation(self, node: ast.expr) -> dict[ast.expr, str]:
        """Write a parameter's annotation without names of the program: only constexpr matters."""
        text = ast.unparse(node)
        if _CONSTEXPR.fullmatch(text):
            return {}  # resolved like any other reference
        if "constexpr" in text:
            new_text = f"{self._name(sys.modules['triton.language'], 'tl')}.constexpr"
        else:
            new_text = text if isinstance(node, ast.Constant) else repr(text)
        return {} if new_text == text else {node: new_text}

    def _resolved(
        self, reference: GlobalReference, scope: Mapping[str, Any], jit: bool
    ) -> tuple[ast.expr, str] | None:
        """Return the expression of a reference to replace, and by what, or None if the reference stays."""
        value = scope.get(reference.path[0], _MISSING)
        if value is _MISSING or vars(builtins).get(reference.path[0], _MISSING) is value:
            return None
        value, depth = _followed(value, reference.path)
        name = self._global(value, reference.path[depth], jit and reference.evaluated)
        if name in reference.hidden:
            name = self._alias(name, reference.hidden)
        return reference.nodes[depth], name

    def _global(self, value: Any, preferred: str, jit: bool) -> str:
        """Return the name in the file of a global, which is added to it if it is new.

        `jit`: Triton reads it in a function that it compiles, which may read only constexpr constants.
        """
        is_jit = isinstance(getattr(value, "fn", None), FunctionType)
        if is_jit or isinstance(value, ModuleType | FunctionType | type) or imported_from(value) is not None:
            return self._name(value, preferred)  # others have an expression that makes an equal one
        text = expression(value, self._name)
        is_tritons = type(value).__module__.startswith("triton.") or hasattr(value, "_fields")
        if jit and not is_tritons:  # Triton refuses the global unless it is a constexpr
            text = f"{self._name(sys.modules['triton.language'], 'tl')}.constexpr({text})"
        key = (preferred, text)
        if key not in self._known:
            name = self._claim(preferred, key)
            self._definitions.append(f"{name} = {text}")
        return self._known[key]

    def _alias(self, name: str, hidden: frozenset[str]) -> str:
        """Another name for a global that a local variable of the same name hides."""
        key = ("alias", name)
        if key not in self._known or self._known[key] in hidden:
            alias = self._claim(f"{name}_global", key)
            self._definitions.append(f"{alias} = {name}")
        return self._known[key]

    def _claim(self, preferred: str, key: object) -> str:
        """Claim a free name, which is that of `key` from now on."""
        name, number = preferred, 2
        while name in _TAKEN or self._names.get(name, key) != key:
            name, number = f"{preferred}_{number}", number + 1
        self._names[name] = key
        self._known.setdefault(key, name)
        return name


def _followed(value: Any, path: tuple[str, ...]) -> tuple[Any, int]:
    """Follow a path through modules, no further than into a public one; return the object and its index."""
    depth = 0
    while isinstance(value, ModuleType) and depth + 1 < len(path):
        inner = getattr(value, path[depth + 1], _MISSING)
        if inner is _MISSING:
            raise CannotWriteError(f"{'.'.join(path[: depth + 2])} does not exist")
        if is_public(value.__name__) and not isinstance(inner, ModuleType) and not _belongs_to_user(inner):
            break
        value, depth = inner, depth + 1
    return value, depth


def _annotations(tree: ast.AST) -> list[ast.expr]:
    """Return the annotations of the function's parameters and of its result."""
    function = tree.body[0]  # type: ignore[attr-defined] # a module of one function
    every = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    candidates = [node.annotation for node in every] + [function.returns]
    return [node for node in candidates if node is not None]


def _nonlocals(function: Any) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    # An empty cell compares unequal to every full one.
    return {name: cell.cell_contents for name, cell in cells if cell != _EMPTY_CELL}


def _scope(value: Any) -> dict[str, Any]:
    """Return the globals and closure of a plain function, or of a class and its methods."""
    if isinstance(value, FunctionType):
        inner = inspect.unwrap(value)
        return {**inner.__globals__, **_nonlocals(inner)}
    scope = dict(vars(sys.modules.get(value.__module__, builtins)))
    for method in vars(value).values():
        function = getattr(method, "fn", getattr(method, "__func__", method))
        if isinstance(function, FunctionType):
            scope |= {**function.__globals__, **_nonlocals(function)}
    return scope


def _belongs_to_user(value: Any) -> bool:
    """Return True if somebody else put an object into a public module."""
    module = getattr(value, "__module__", None)
    return (
        isinstance(module, str) and callable(value) and not is_public(module) and public_name(value) is None
    )
