"""irscope.workspace exports the same names to type checkers and, lazily, at run time."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import irscope.workspace


def imported_for_types() -> set[tuple[str, str]]:
    tree = ast.parse(Path(irscope.workspace.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {
        (str(node.module), alias.name)
        for node in imports
        if str(node.module).startswith("irscope.")
        for alias in node.names
        if alias.asname == alias.name
    }


def test_every_export_is_imported_from_its_module():
    lazy = {(module, name) for name, module in irscope.workspace._MODULE_OF.items()}
    assert lazy == imported_for_types()
    for module, name in lazy:
        assert getattr(irscope.workspace, name) is getattr(import_module(module), name)


def test_every_export_is_used_outside_of_the_package():
    folder = Path(irscope.workspace.__file__).parent
    used = {
        alias.name
        for path in folder.parent.rglob("*.py")
        if folder not in path.parents and b"irscope.workspace" in path.read_bytes()
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.ImportFrom) and node.module == "irscope.workspace"
        for alias in node.names
    }
    assert irscope.workspace._MODULE_OF.keys() <= used


def test_no_export_has_the_name_of_a_module():
    modules = {path.stem for path in Path(irscope.workspace.__file__).parent.glob("*.py")}
    assert not modules & irscope.workspace._MODULE_OF.keys(), "importing the module would replace the export"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        irscope.workspace.nothing  # noqa: B018
