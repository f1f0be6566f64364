"""What irscope.workspace exports to views: every name, loaded on first use."""

from __future__ import annotations

import ast
from pathlib import Path

import irscope
from irscope import workspace

PACKAGE = Path(irscope.__file__).parent
# What a view may import. Lessons are shown by the app, which imports their types for type checking only.
ALLOWED = ("irscope.tui", "irscope.workspace", "irscope.model")


def test_exports_can_be_loaded_and_are_typed() -> None:
    tree = ast.parse(Path(workspace.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == workspace._MODULE_OF
    for name in imported:
        assert getattr(workspace, name) is not None


def test_the_app_imports_only_the_workspace_and_the_model() -> None:
    for path in (PACKAGE / "tui").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        typed = {id(inner) for node in ast.walk(tree) if _is_typing(node) for inner in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and id(node) not in typed:
                module = node.module or ""
                assert not module.startswith("irscope.") or module.startswith(ALLOWED), f"{path}: {module}"


def _is_typing(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
