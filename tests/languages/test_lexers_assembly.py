"""The lexers of the line-based languages: no error tokens on real stages, nothing lost, the right classes."""

from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name
from pygments.token import Error, Keyword, Name, Token, _TokenType

from irscope.languages.language import Language
from irscope.targets import STAGES as STAGE_TABLE

LANGUAGE = {".llir": "llvm", ".ptx": "ptx", ".sass": "sass", ".amdgcn": "amdgcn"}
STAGES = sorted(
    path for path in (Path(__file__).parents[1] / "data" / "stages").iterdir() if path.suffix in LANGUAGE
)


def tokens(language: str, text: str) -> list[tuple[_TokenType, str]]:
    return [
        (kind, value)
        for kind, value in Language.named(language).new_lexer().get_tokens(text)
        if value.strip()
    ]


@pytest.mark.parametrize("path", STAGES, ids=lambda path: path.name)
def test_real_stages_have_no_error_tokens(path: Path) -> None:
    text = path.read_text()
    found = list(Language.named(LANGUAGE[path.suffix]).new_lexer().get_tokens(text))
    assert "".join(value for _, value in found) == text
    assert [value for kind, value in found if kind in Error] == []


@pytest.mark.parametrize("path", [path for path in STAGES if "add_kernel" in path.name], ids=lambda p: p.name)
def test_single_lines_can_be_lexed(path: Path) -> None:
    """The views lex what is on screen, line by line."""
    lexer = Language.named(LANGUAGE[path.suffix]).new_lexer()
    whole = [token for token in lexer.get_tokens(path.read_text()) if token[1].strip()]
    lines = [t for line in path.read_text().split("\n") for t in lexer.get_tokens(line) if t[1].strip()]
    assert [(kind, value.strip()) for kind, value in lines] == [
        (kind, value.strip()) for kind, value in whole
    ]


@pytest.mark.parametrize("language", sorted({stage.language for stage in STAGE_TABLE if stage.language}))
def test_every_language_of_the_stage_table_has_a_lexer(language: str) -> None:
    assert Language.named(language).new_lexer().name


@pytest.mark.parametrize("alias", ["nvsass", "nvidia-sass", "amdgcn"])
def test_lexers_are_pygments_plugins(alias: str) -> None:
    assert type(get_lexer_by_name(alias)).__module__.startswith("irscope.languages.")


def test_the_name_sass_is_left_to_css() -> None:
    assert get_lexer_by_name("sass").name == "Sass"


def test_sass_tokens() -> None:
    line = "        /*0160*/              @!P1 LDG.E.128 R8, desc[UR6][R14.64] ;"
    found = {value: kind for kind, value in tokens("sass", line)}
    assert found["/*0160*/"] is Token.Comment.Special
    assert found["@!P1"] is Name.Decorator
    assert found["LDG.E.128"] is Keyword
    assert found["R8"] is found["UR6"] is found["R14"] is Name.Variable


def test_amdgcn_tokens() -> None:
    line = "\tds_read_b64 v[0:1], v4 offset:8 ; note"
    found = {value: kind for kind, value in tokens("amdgcn", line)}
    assert found["ds_read_b64"] is Keyword
    assert found["v[0:1]"] is found["v4"] is Name.Variable
    assert found["offset"] is Name.Attribute
    assert found["; note"] is Token.Comment.Single


def test_ptx_opcode_is_one_token() -> None:
    line = "\t@%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];"
    assert (Keyword, "ld.global.v4.b32") in tokens("ptx", line)
