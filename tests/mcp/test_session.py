"""A session without a transport: hostile captures, no Triton, sources that change, a workspace that stays."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from irscope.cli.main import main
from irscope.compiling.pool import Stop
from irscope.mcp import resources, warm_compiler
from irscope.mcp.answers import MOST_TOKENS, Rendered
from irscope.mcp.calls import call
from irscope.mcp.session import Roots, Session
from irscope.mcp.tools import TOOL_NAMED
from irscope.mcp.warm_compiler import Compiler, Limits, source_stamp
from irscope.model import UserError
from irscope.workspace import Workspace
from tests.mcp.agent import ADD
from tests.tui import captures

Call = Callable[..., Rendered]
STAGES = ("ttir", "ttgir", "llir", "ptx", "sass", "python", "error", "log", "cubin")


@pytest.fixture
def opened() -> Iterator[Callable[[Path, Path], Session]]:
    """Opens sessions and closes them."""
    made: list[Session] = []

    def make(folder: Path, root: Path) -> Session:
        folder.mkdir(exist_ok=True)
        made.append(Session(folder, Roots.of([root]), Compiler(Limits())))
        return made[-1]

    yield make
    for session in made:
        session.close()


def calling(session: Session) -> Call:
    def answer(tool: str, **arguments: Any) -> Rendered:
        return call(session, TOOL_NAMED[tool], arguments, Stop())

    return answer


def test_classes_of_the_same_bits(
    bits_capture: Path, tmp_path: Path, opened: Callable[[Path, Path], Session]
) -> None:
    session = opened(tmp_path / "own", bits_capture.parent)
    answer = calling(session)("bits", capture=bits_capture.name, kernel="row_sum", reference=5)
    assert "class a: #5 (reference)\n" in answer.text
    assert "A = a, B = b: line 38 (total += tl.sum(values, axis=0)): A " in answer.text
    assert answer.data["rows"][1] == ["a", [5], "reference"]
    answer = calling(session)("bits", capture=bits_capture.name, kernel="sum_below")
    assert "unknown: #10: the length of a loop depends on data" in answer.text


def test_picks_among_the_configs_of_the_same_bits(
    bits_capture: Path, tmp_path: Path, opened: Callable[[Path, Path], Session]
) -> None:
    session = opened(tmp_path / "own", bits_capture.parent)
    answer = calling(session)("pick", capture=bits_capture.name, same_bits_as="#5")
    heading, picked, *others = answer.data["rows"]
    assert "same bits as #5: 1 config; costs " in answer.text and heading[4].startswith("same bits as #5")
    assert picked[0] == 5 and picked[4] is None
    assert [row[4] for row in others] == ["other bits than #5"] * 3


def test_answers_about_a_hostile_capture_are_bounded_and_printable(
    hostile_capture: Path, tmp_path: Path, opened: Callable[[Path, Path], Session]
) -> None:
    session = opened(tmp_path / "own", hostile_capture.parent)
    answer, name = calling(session), hostile_capture.name
    with Workspace(hostile_capture) as capture:
        ids = [variant.id for variant in capture.variants]
    found = [answer(tool, capture=name) for tool in ("variants", "pick", "bits", "lint")]
    for variant in ids:
        about = {"capture": name, "variant": variant}
        found += [answer("verdict", **about, against=ids[0], launch="grid=(64,), n=1000")]
        found += [answer("explain", **about), answer("lines", **about), answer("lines", **about, line=5)]
        found += [answer("lines", **about, stage=stage) for stage in (*STAGES, "timeline")]
        found += [answer("compare", capture=name, a=variant, b=other) for other in ids]
        found.append(Rendered(resources.read(session, f"irscope://{name}/{variant}/facts"), {}))
    for one in found:
        assert one.tokens <= MOST_TOKENS
        assert "a bug in irscope" not in one.text
        assert all(line.isprintable() for line in one.text.splitlines())
        assert all(text.replace("\n", "").isprintable() for text in _texts(one.data))


def test_lines_say_what_is_in_flight_in_the_loop(
    tmp_path: Path, opened: Callable[[Path, Path], Session]
) -> None:
    captures.matmul(tmp_path / "m.irscope")
    answer = calling(opened(tmp_path / "own", tmp_path))
    found = answer("lines", capture="m.irscope", variant=1, stage="timeline")
    assert found.tokens <= MOST_TOKENS
    assert "the copies of a and b are issued 2 iterations ahead, into 3 slots" in found.data["sentences"]
    assert any(
        re.match(r"copy of iteration \d to a\[\d\], line \d+: cycles ", line) for line in found.data["lines"]
    )
    failed = answer("lines", capture="m.irscope", variant=4, stage="timeline")
    assert "no timeline: #4 has no ttgir because it failed" in failed.text


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for part in pair for text in _texts(part))
    elif isinstance(value, list):
        yield from (text for part in value for text in _texts(part))


def test_without_triton_captures_can_still_be_read(
    tmp_path: Path, opened: Callable[[Path, Path], Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_compiler, "find_spec", lambda name: None)
    session = opened(tmp_path / "own", tmp_path)
    session.compiler.warm_up()
    found = calling(session)("compile", source=ADD, configs={"BLOCK": 64})
    assert found.is_error
    assert "pip install 'irscope[compile]'" in found.data["error"]
    assert "no such file" in calling(session)("variants", capture="missing.irscope").data["error"]
    with pytest.raises(UserError, match="nothing was compiled yet"):
        session.workspace()


def test_a_source_is_known_by_its_text_and_what_is_next_to_it(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(ADD)
    first = source_stamp(file)
    assert source_stamp(file) == first
    (tmp_path / "helper.py").write_text("SIZE = 3\n")
    second = source_stamp(file)
    assert second != first
    file.write_text(ADD.replace("x + 1", "x + 2"))
    assert source_stamp(file) not in (first, second)


@pytest.mark.slow
def test_an_edited_file_is_compiled_again_and_the_workspace_stays(
    tmp_path: Path,
    triton_cache: Path,
    opened: Callable[[Path, Path], Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(triton_cache))
    file = tmp_path / "kernel.py"
    file.write_text(ADD)
    session = opened(tmp_path / "own", tmp_path)
    answer = calling(session)
    config = {"BLOCK": 256, "num_warps": 4}
    assert answer("compile", file="kernel.py", configs=config).data["verdict"]["variant"] == 1
    assert answer("compile", file="kernel.py", configs=config).data["verdict"]["variant"] == 1
    file.write_text(ADD.replace("x + 1", "x * x + 1"))
    edited = answer("compile", file="kernel.py", configs=config, against=1)
    assert edited.data["verdict"]["variant"] == 2
    assert edited.data["verdict"]["against"]["duplicate"] is False
    session.close()
    again = opened(tmp_path / "own", tmp_path)
    assert [row[0] for row in calling(again)("variants").data["rows"]] == [1, 2]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--memory", "0"], "--memory must be more than 0"),
        (["--timeout", "-1"], "--timeout must be more than 0"),
        (["--no-token"], "--no-token applies only to --http"),
        (["--http", "99999"], "--http must be a port"),
        (["--root", "missing"], "--root missing: no such folder"),
    ],
)
def test_wrong_options_are_one_line(
    words: list[str],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["mcp", *words]) == 2
    assert problem in capsys.readouterr().err


def test_without_the_sdk_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "irscope.mcp.server", None)
    assert main(["mcp"]) == 2
    assert "pip install 'irscope[mcp]'" in capsys.readouterr().err
