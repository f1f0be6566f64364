"""Helion's kernels and configs as text; Helion itself is not needed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from irscope.compiling.kernels import config_value, helion_kernel
from irscope.model import UserError, format_value, parse_value
from irscope.recording.helion import config_values, helion_source, value_text

FILE = """
import helion as h
import helion.language as hl
from helion import kernel as made, Config
from helion.experimental import aot_kernel
import other

@h.kernel(config=Config(block_sizes=[64]))
def first(x): ...

@made
def second(x): ...

@aot_kernel(batched=[[0]])
def third(x): ...

def plain(x): ...

@other.kernel
def foreign(x): ...

fourth = h.kernel(plain, config=Config(block_sizes=[32]))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize("name", ["first", "second", "third", "fourth"])
def test_a_helion_kernel_is_found_however_it_is_imported(file: Path, name: str):
    assert helion_kernel(file, name) == name


@pytest.mark.parametrize("name", ["plain", "foreign", "missing"])
def test_other_functions_are_not_helion_kernels(file: Path, name: str):
    assert helion_kernel(file, name) is None


def test_without_a_name_the_file_must_have_one_kernel(file: Path, tmp_path: Path):
    with pytest.raises(UserError, match="choose one of first, second, third, fourth, as"):
        helion_kernel(file, None)
    one = tmp_path / "one.py"
    one.write_text("import helion\n@helion.kernel()\ndef only(x): ...\n")
    assert helion_kernel(one, None) == "only"
    one.write_text(one.read_text() + "import triton\n@triton.jit\ndef other(x): ...\n")
    assert helion_kernel(one, None) is None, "the file's Triton kernel may be meant"


@pytest.mark.parametrize(
    "text", ["", "def broken(:", "import helion\n\0", '{"helion": 1}', "helion" + "(" * 500]
)
def test_any_text_is_a_file_without_helion_kernels(tmp_path: Path, text: str):
    path = tmp_path / "file.py"
    path.write_text(text)
    assert helion_kernel(path, None) is None
    assert helion_kernel(tmp_path / "missing.py", "kernel") is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([64, 32], "[64,32]"),
        ([[0, 1], [1, 0]], "[[0,1],[1,0]]"),
        (["pointer", "block_ptr"], "[pointer,block_ptr]"),
        (["", "first"], "['',first]"),
        ([None, True], "[None,True]"),
        ([], "[]"),
        (4, 4),
        (None, None),
        ("flat", "flat"),
    ],
)
def test_a_value_of_a_config_is_read_back_as_it_is_shown(value: object, text: object):
    shown = format_value(value_text(value))
    assert shown.replace(" ", "") == str(text)
    assert config_value(shown) == value


def test_a_config_may_list_a_value_once_or_per_operation():
    once = config_values({"block_sizes": [64, 64], "indexing": "pointer"})
    assert config_values({"block_sizes": [64, 64], "indexing": ["pointer", "pointer"]}) == once
    assert once == {"block_sizes": parse_value("[64,64]"), "indexing": "pointer"}


def kernel(x): ...


def test_the_source_has_the_function_and_what_follows_from_the_config():
    specs = [SimpleNamespace(block_id=0), SimpleNamespace(block_id=2)]
    spec = SimpleNamespace(block_sizes=specs, normalize=lambda values: values.setdefault("num_warps", 4))
    bound = SimpleNamespace(kernel=SimpleNamespace(fn=kernel), config_spec=spec)
    config = {"block_sizes": [64, 32]}
    source = helion_source(bound, config)
    assert source.text == f"# {__file__}:{kernel.__code__.co_firstlineno}\ndef kernel(x): ...\n"
    assert source.config == {"block_sizes": parse_value("[64,32]"), "num_warps": 4}
    assert source.constants == {"_BLOCK_SIZE_0": 64, "_BLOCK_SIZE_2": 32}
    assert config == {"block_sizes": [64, 32]}, "Helion completes a config in place"
