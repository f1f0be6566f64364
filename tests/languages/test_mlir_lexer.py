"""The Pygments lexer for Triton's MLIR."""

from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Error, Keyword, Name, Number, String, Token

from irscope.languages.lexers import TritonMlirLexer

STAGES = sorted(
    path
    for path in (Path(__file__).parents[1] / "data" / "stages").iterdir()
    if path.suffix in (".source", ".glir", ".ttir", ".ttgir")
)


def kinds(line: str) -> dict[str, object]:
    return {value: kind for kind, value in TritonMlirLexer().get_tokens(line)}


@pytest.mark.parametrize("path", STAGES, ids=lambda path: path.name)
def test_real_stages_have_no_errors(path: Path) -> None:
    text = path.read_text()
    tokens = list(TritonMlirLexer(stripnl=False).get_tokens(text))
    assert "".join(value for _, value in tokens) == text
    assert Error not in {kind for kind, _ in tokens}


@pytest.mark.parametrize("path", STAGES, ids=lambda path: path.name)
def test_single_lines_lex_as_in_their_text(path: Path) -> None:
    text = path.read_text()
    lexer = TritonMlirLexer(stripnl=False)

    def visible(part: str) -> list[tuple[object, str]]:
        return [(kind, value) for kind, value in lexer.get_tokens(part) if value.strip()]

    lines = [token for line in text.split("\n") for token in visible(line)]
    assert lines == visible(text)


def test_kinds_of_tokens() -> None:
    line = (
        '    %a:2 = tt.load %b#1, dense<0xFF> {axis = 1 : i32, "ttg.num-warps" = 4.5e1 : f32} : '
        'tensor<64x32x!tt.ptr<f16>, #blocked1> loc(callsite(#loc1 at "f"(#loc2))) // pred'
    )
    found = kinds(line)
    assert found["%a"] is found["%b#1"] is Name.Variable
    assert found["tt.load"] is Name.Function
    assert found["axis"] is found['"ttg.num-warps"'] is Name.Attribute
    assert found["0xFF"] is Number.Hex
    assert found["4.5e1"] is Number.Float
    assert found["64"] is found["32"] is Number.Integer
    assert found["tensor"] is found["!tt.ptr"] is found["f16"] is Keyword.Type
    assert found["#blocked1"] is Name.Decorator
    assert found["loc("] is Comment
    assert found["// pred"] is Comment.Single


def test_locations_recede() -> None:
    line = 'tt.return loc(callsite(#loc1 at "f(.py":1:2))'
    tokens = [(kind, value) for kind, value in TritonMlirLexer().get_tokens(line) if value.strip()]
    assert tokens[0] == (Keyword, "tt.return")
    assert {kind for kind, _ in tokens[1:]} == {Comment}
    alias = '#loc12 = loc("x"(#loc3))'
    assert kinds(alias)["#loc12"] is Comment


def test_strings_labels_symbols_and_control() -> None:
    assert kinds('tt.print "a %d \\"b\\"" : %c')['"a %d \\"b\\""'] is String
    assert kinds("^bb1:  // no predecessors")["^bb1"] is Name.Label
    assert kinds('tt.call @"lib.max(1,)"(%x)')['@"lib.max(1,)"'] is Name.Class
    assert kinds("scf.if %c {")["scf.if"] is Keyword
    assert kinds('%x = "tt.reduce"(%y) ({')['"tt.reduce"'] is Name.Function
    assert kinds("partition0(%a: i32) num_warps(4) {")["partition0"] is Keyword.Reserved


def test_unclosed_line_ends_its_location() -> None:
    tokens = kinds("x.y loc(#loc1\nx.z")
    assert tokens["x.z"] is Name.Function


def test_other_text_is_an_error_and_not_lost() -> None:
    tokens = list(TritonMlirLexer().get_tokens("x.y §"))
    assert (Token.Error, "§") in tokens


@pytest.mark.parametrize("name", ["ttir", "ttgir", "triton-mlir"])
def test_pygments_finds_it_by_name(name: str) -> None:
    assert isinstance(get_lexer_by_name(name), TritonMlirLexer)


@pytest.mark.parametrize("suffix", ["ttir", "ttgir", "source", "glir"])
def test_pygments_finds_it_by_file(suffix: str) -> None:
    assert isinstance(get_lexer_for_filename(f"kernel.{suffix}"), TritonMlirLexer)
