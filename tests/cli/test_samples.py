"""irscope samples, samples that are found by name, and arguments from a docstring."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from irscope.cli import options, written_options
from irscope.learn.sample_commands import sample_file, samples
from irscope.learn.sample_commands import written_command as words_in
from irscope.model import Expression
from tests.cli.conftest import Run

TEXT = '''"""A kernel.

    irscope compile k.py::one --signature "*fp32:16, i32" \\
        --const FLAG=True --config BLOCK=64,128 --config num_warps=4,8 --target cuda:80

Nothing of this line is part of the command.
"""
'''


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    options.add_compilation(parser)
    return parser.parse_args(words)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "k.py"
    path.write_text(TEXT.replace("\\\n", "\\\\\n"))
    return path


def test_the_list_has_each_sample(irscope: Run) -> None:
    printed = irscope("samples").stdout
    assert all(sample.path.stem in printed for sample in samples())


def test_samples_are_copied_but_never_over_a_file(irscope: Run, tmp_path: Path) -> None:
    first = irscope("samples", "matmul", "samples/vector_add.py", "-o", str(tmp_path / "new"))
    assert first.returncode == 0
    assert (tmp_path / "new/matmul.py").read_bytes() == sample_file("samples/matmul").read_bytes()
    (tmp_path / "new/vector_add.py").write_text("mine")
    second = irscope("samples", "-o", str(tmp_path / "new"))
    assert second.returncode == 2
    assert "exists" in second.stderr
    assert (tmp_path / "new/vector_add.py").read_text() == "mine"
    assert irscope("samples", "-o", str(tmp_path / "new"), "--force").returncode == 0
    assert (tmp_path / "new/vector_add.py").read_text() != "mine"
    assert "the samples are:" in irscope("samples", "nope").stderr


def test_only_names_in_the_folder_samples_are_samples() -> None:
    assert sample_file("samples/matmul.py") == sample_file("samples/matmul")
    others = ("matmul", "samples/nope", "samples/../samples/matmul", "")
    assert [sample_file(name) for name in others] == [None] * 4


def test_the_docstring_gives_what_the_command_line_leaves_out(file: Path) -> None:
    args = arguments("--config", "BLOCK=256")
    kernel, note = written_options.complete(args, file, None)
    assert kernel == "one"
    assert "docstring" in note
    assert args.signature == "*fp32:16, i32"
    assert options.constants(args.const) == {"FLAG": True}
    assert options.axes(args.config) == {"num_warps": (4, 8), "BLOCK": (256,)}
    assert args.target == ["cuda:80"]


@pytest.mark.parametrize(("words", "kernel"), [(("--signature", "i32"), None), ((), "another")])
def test_the_docstring_is_not_used(file: Path, words: tuple[str, ...], kernel: str | None) -> None:
    args = arguments(*words)
    assert written_options.complete(args, file, kernel) == (kernel, "")
    assert args.config == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        '"""irscope compile"""',
        '"""irscope compile k.py --no-such-option"""',
        '"""irscope compile k.py --signature \'open quote"""',
        "def broken(:",
        "\x00",
    ],
)
def test_a_docstring_without_a_usable_command_changes_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "k.py"
    path.write_text(text)
    assert written_options.complete(arguments(), path, None) == (None, "")


def test_every_sample_says_how_it_is_compiled() -> None:
    assert all(words_in(sample.path) for sample in samples())


def test_an_option_that_is_an_expression(file: Path) -> None:
    assert options.constants(["LAYOUT=gl.Layout([1])"]) == {"LAYOUT": Expression("gl.Layout([1])")}
