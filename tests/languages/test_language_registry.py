"""Every language of the stage table is registered, and parsing one does not import Pygments."""

import subprocess
import sys

import pytest

from irscope.languages.language import LANGUAGES, Language
from irscope.targets import STAGES


def test_the_stage_table_and_the_registry_name_the_same_languages() -> None:
    assert {stage.language for stage in STAGES if stage.language} == set(LANGUAGES)
    assert [Language.named(name).name for name in LANGUAGES] == list(LANGUAGES)


def test_parsing_does_not_import_pygments() -> None:
    code = (
        "import sys; from irscope.languages.language import LANGUAGES, Language, parse\n"
        "for name in LANGUAGES: parse('', name); Language.named(name).without_debug('')\n"
        "sys.exit('pygments' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("language", "opcode", "expected"),
    [
        ("ptx", "ld.global.v4.b32", "ld.global.v4.b32"),
        ("ptx", "mma.sync.aligned.m16n8k16.row.col.f32.f16", "mma.sync.m16n8k16.f32.f16"),
        ("amdgcn", "v_add_u32_e32", "v_add_u32"),
        ("sass", "LDG.E.128", "LDG.128"),
        ("llvm", "call @llvm.smin.i32", "call @llvm.smin.i32"),
        ("mlir", "tt.load", "tt.load"),
    ],
)
def test_instruction_classes(language: str, opcode: str, expected: str) -> None:
    assert Language.named(language).instruction_class(opcode) == expected
