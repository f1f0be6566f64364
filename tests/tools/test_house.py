"""tools/house.py measures a tree, and fails if a figure is over its limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYPROJECT = """
[[tool.importlinter.contracts]]
type = "layers"
layers = ["workspace", "model | store"]

[tool.irscope-house]
"""
AREA = "def area():\n    '''Return it.'''\n    one = two = 1\n"
SOURCES = {
    "irscope/__init__.py": "",
    "irscope/model/__init__.py": "",
    "irscope/model/shape.py": "class Shape:\n    pass\n" + AREA,
    "irscope/model/names.py": "from irscope.model.shape import Shape\nfrom irscope.workspace import view\n",
    "irscope/store/__init__.py": "",
    "irscope/store/shape.py": "class Shape:\n    pass\n"
    + "\n".join(["def long():", *["    pass"] * 40])
    + "\n",
    "irscope/workspace/__init__.py": "from irscope.model.names import Shape as Shape, area as area\n",
    "irscope/workspace/view.py": "from irscope.model import shape\n\n\ndef f():\n    '''The view.'''\n",
    "irscope/learn/exercise_files/kernel.py": "x = 1\n",
    "benchmarks/speed.py": "",
}
FIGURES = {
    "files": 8,
    "packages": 4,
    "import-layers": 2,
    "workspace-exports": 2,
    "workspace-exported-functions": 1,
    "small-modules-with-one-importer": 2,  # names and view; two import model/shape.py, none store/shape.py
    "class-names-defined-twice": 1,
    "modules-sharing-a-name": 2,
    "functions-over-40-lines": 1,
    "longest-file": 43,
    "docstrings-without-a-verb-percent": 50.0,
    "vague-locals-percent": 50.0,
    "benchmark-files": 1,
    "ast-nodes": 82,
}


def house(tree: Path, limits: dict[str, float]) -> subprocess.CompletedProcess[str]:
    for name, text in SOURCES.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    lines = [f"{name} = {limit}" for name, limit in limits.items()]
    (tree / "pyproject.toml").write_text("\n".join([PYPROJECT, *lines, ""]))
    command = [sys.executable, "-m", "tools.house", str(tree)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_tree_within_its_limits_passes(tmp_path):
    done = house(tmp_path, FIGURES)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].split() == ["benchmark-files", "1", "of", "1"]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_over_its_limit_is_named(name, tmp_path):
    done = house(tmp_path, FIGURES | {name: FIGURES[name] - 0.1})
    assert done.returncode == 1
    assert done.stderr == f"{name}: {FIGURES[name]:,} is over the limit of {FIGURES[name] - 0.1:,}\n"


def test_every_figure_needs_a_limit_and_every_limit_a_figure(tmp_path):
    limits = {name: limit for name, limit in FIGURES.items() if name != "files"}
    done = house(tmp_path, limits | {"fils": 9})
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "fils: no figure has this name",
        "files: no limit in pyproject.toml",
    ]
