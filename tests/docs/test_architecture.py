"""The invariants of docs/architecture.md that no import contract covers."""

from __future__ import annotations

import ast
from pathlib import Path

import irscope
from irscope.targets import BACKENDS

PACKAGE = Path(irscope.__file__).parent
# These drive the toolchains of the vendors; a language has the name that its stage has.
EXEMPT = ("targets", "compiling", "recording", "languages")
# A topic of the glossary is a file; lessons spell SASS in capitals; the program of a lesson names a device of
# torch, as what launches on one does; a reproducer runs without irscope; `cuda` is a method of tensors.
FILES = (
    "glossary/glossary.py",
    "learn/render.py",
    "learn/lessons/21_recompiles.py",
    "jobs/bit_launch_child.py",
    "jobs/reproduce/scaffold.py",
    "lint/source/file_tensors.py",
)


def test_names_of_backends_and_their_stages_are_literals_only_where_the_docs_allow_them() -> None:
    names = {backend.name for backend in BACKENDS}
    names |= {stage.name for backend in BACKENDS for stage in backend.stages}
    found = [
        f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno}: {node.value}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in EXEMPT
        and path.relative_to(PACKAGE).as_posix() not in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert not found
