"""The flat command list: names and summaries, imports, exit codes and one-line errors."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from irscope import __version__
from irscope.cli import main
from irscope.store.schema import SCHEMA_VERSION

HEAVY = {"torch", "triton", "textual", "rich", "pygments", "rapidfuzz"}


@pytest.mark.parametrize(("name", "path", "summary", "group"), main.COMMANDS)
def test_the_list_matches_each_command(name, path, summary, group):
    module = import_module(path)
    assert (name, summary, group) == (module.NAME, module.SUMMARY, module.GROUP)
    assert group in main.GROUPS
    assert module.__doc__ and f"irscope {name}" in module.__doc__, "its help shows an example"


def imported_by(*words: object) -> set[str]:
    """Return the packages that commands import, in one process; `;` separates the commands."""
    return {name.split(".")[0] for name in modules_of(*words)}


def modules_of(*words: object) -> set[str]:
    """Return the modules that commands import, in one process; `;` separates the commands."""
    script = (
        "import sys; from irscope.cli.main import main\n"
        "commands = [[]]\n"
        "for word in sys.argv[1:]: commands.append([]) if word == ';' else commands[-1].append(word)\n"
        "for words in commands:\n"
        "  try: main(words)\n"
        "  except SystemExit: pass\n"
        "print('MODULES', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, words)], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rsplit("MODULES", 1)[1].split())


def test_help_imports_nothing_heavy():
    assert not imported_by("--help") & (HEAVY | {"sqlite3", "zstandard", "dataclasses"})


def test_list_imports_nothing_heavy(capture):
    assert not imported_by("list", capture) & HEAVY


# The packages of irscope that a command loads, and how many of its modules at most: one takes 0.3 to 3 ms.
@pytest.mark.parametrize(
    ("words", "packages", "most"),
    [
        (["--help"], {"cli"}, 3),
        (["list"], set(), 35),
        (["table"], {"facts", "languages"}, 72),
        (["diff", "#1", "#2"], {"diff", "facts", "findings", "languages", "layouts"}, 160),
    ],
)
def test_a_command_loads_no_more_than_it_uses(capture, words, packages, most):
    command, *names = words
    modules = modules_of(command, *([] if command == "--help" else [capture]), *names)
    own = {name for name in modules if name.startswith("irscope.")}
    loaded = {name.split(".")[1] for name in own}
    common = {"cli", "document", "model", "store", "targets", "workspace"}
    allowed = packages if command == "--help" else packages | common
    assert loaded <= allowed
    assert len(own) <= most, sorted(own)


def test_a_worker_loads_only_what_compiling_needs():
    script = "import sys, irscope.compiling.worker; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"sqlite3", "irscope.store.writer", "irscope.workspace"}


def test_looking_for_a_helion_kernel_loads_no_recorder():
    script = "import sys, irscope.recording.compile_helion, irscope.compiling.sweep; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"irscope.recording.program", "irscope.compiling.cluster", "irscope.learn"}


def test_help_builds_no_parser_of_a_command(monkeypatch):
    built = []
    monkeypatch.setattr(main.Parser, "__init__", lambda self, **_: built.append(self))
    monkeypatch.setattr(main.Parser, "add_argument", lambda *_, **__: None, raising=False)
    parser = main._CommandParser(prog="irscope list")
    assert built == []
    with pytest.raises(AttributeError):
        _ = parser.prog
    assert built == [parser]


def test_no_viewing_command_imports_triton(capture):
    words = ["table", capture, ";", "show", capture, "#1", ";", "diff", capture, "#1", "#2"]
    assert not imported_by(*words) & {"torch", "triton", "textual"}


def test_help_lists_every_command(irscope):
    done = irscope("--help", process=True)
    assert done.returncode == 0
    assert irscope().stdout == done.stdout
    for name, _, summary, _ in main.COMMANDS:
        assert f"{name} " in done.stdout
        assert summary.split()[0] in done.stdout


def test_help_groups_the_commands_by_what_they_are_for(irscope):
    text = irscope("--help").stdout
    headings = [text.index(f"\n{group}:\n") for group in (*main.GROUPS, "options")]
    assert headings == sorted(headings)
    assert headings[1] < text.index("\n  diff ") < headings[2]


def test_help_with_a_command_is_the_help_of_that_command(irscope):
    assert irscope("help", "diff").stdout == irscope("diff", "--help").stdout
    assert irscope("help").stdout == irscope("--help").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tabel", "x.irscope"], "no command or file 'tabel' (do you mean table?); see irscope --help"),
        (["zzz"], "no command or file 'zzz'; see irscope --help"),
        (["help", "dif"], "no command or file 'dif' (do you mean diff?); see irscope --help"),
        (["table", "x", "--kernl", "k"], "--kernl k (do you mean --kernel?); see irscope table --help"),
        (["list", "x", "--zzz"], "unrecognized arguments: --zzz; see irscope list --help"),
    ],
)
def test_a_misspelled_word_names_the_one_that_is_like_it(irscope, words, message):
    done = irscope(*words)
    assert done.returncode == 2
    assert done.stderr.endswith(f"{message}\n")


def test_version(irscope):
    assert irscope("--version").stdout == f"irscope {__version__}\n"


def test_a_path_as_only_argument_opens_the_app(tmp_path):
    there = tmp_path / "plain"
    there.touch()
    assert main._with_command([str(there)]) == ["tui", str(there)]
    assert main._with_command(["nowhere.irscope", "--x"]) == ["tui", "nowhere.irscope", "--x"]
    assert main._with_command(["list", str(there)]) == ["list", str(there)]
    assert main._with_command(["nowhere"]) == ["nowhere"]


def damaged(capture: Path, kind: str) -> Path:
    path = capture.with_name(f"{kind}.irscope")
    content = bytearray(capture.read_bytes())
    if kind == "text":
        content[:] = b"hello\n" * 100
    elif kind == "truncated":
        del content[len(content) // 2 :]
    elif kind == "newer":
        content[60:64] = (SCHEMA_VERSION + 1).to_bytes(4, "big")
    elif kind == "foreign":
        content[68:72] = b"\0\0\0\0"
    path.write_bytes(content)
    return path


def assert_one_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("irscope")
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("text", "not an irscope capture"),
        ("truncated", "truncated"),
        ("newer", "newer"),
        ("foreign", "not an irscope"),
    ],
)
def test_a_bad_capture_is_one_line(irscope, capture, kind, word):
    assert_one_line(irscope("list", damaged(capture, kind)), word)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["frob"], ["frob", "irscope --help"]),
        (["list"], ["CAPTURE"]),
        (["list", "nowhere.irscope"], ["nowhere.irscope"]),
        (["list", "add.irscope", "--kernel", "mul"], ["mul", "add_kernel"]),
        (["list", "add.irscope", "--target", "cuda:80"], ["cuda:80", "cuda:90"]),
        (["list", "add.irscope", "--format", "xml"], ["xml", "json"]),
        (["show", "add.irscope", "BLOCK=7"], ["BLOCK=7", "BLOCK=64"]),
        (["show", "add.irscope", "#9"], ["#9", "#4"]),
        (["show", "add.irscope", "#1", "--stage", "ptxx"], ["ptxx", "ttgir", "python"]),
        (["show", "add.irscope", "#1", "--stage", "amdgcn"], ["amdgcn", "ttgir"]),
        (["show", "add.irscope", "#4"], ["failed", "CompilationError", "--stage error"]),
        (["table", "add.irscope", "--columns", "regs"], ["regs", "registers"]),
        (["table", "add.irscope", "--sort", "regs"], ["regs", "registers", "BLOCK"]),
        (["table", "add.irscope", "--width", "x"], ["--width"]),
        (["diff", "add.irscope", "#1", "#9"], ["#9"]),
        (["diff", "add.irscope", "#1", "#2", "--stage", "cubin"], ["cubin", "binary"]),
        (["diff", "add.irscope", "#1", "#2", "--stage", "ptxx"], ["ptxx", "ttgir"]),
        (["diff", "add.irscope", "#1", "#2", "--context", "-1"], ["--context"]),
        (["dump", "add.irscope"], ["--output"]),
        (["dump", "add.irscope", "-o", ".", "--stage", "ttgir"], ["not empty", "--force"]),
        (["dump", "add.irscope", "-o", "out", "--stage", "ptxx"], ["ptxx", "ttgir"]),
        (["dump", "add.irscope", "-o", "add.irscope"], ["add.irscope", "not a folder"]),
        (["compile", "add.py", "--timeout", "0"], ["--timeout"]),
        (["run", "--timeout", "-1", "-c", "1"], ["--timeout"]),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(irscope, capture, words, expected):
    assert_one_line(irscope(*words), *expected)


@pytest.mark.parametrize(
    "words",
    [
        ["show", "add.irscope", "#1"],
        ["report", "add.irscope"],
        ["layout", "add.irscope", "#1"],
        ["import", "add.irscope"],
        ["compile", "add.irscope"],
    ],
)
def test_an_input_is_never_replaced(irscope, capture, words):
    content = capture.read_bytes()
    assert_one_line(irscope(*words, "-o", "add.irscope", "--force"), "the command reads it")
    assert capture.read_bytes() == content


def test_an_error_has_no_control_characters(irscope, capture):
    assert "\x1b" not in irscope("show", capture, "#4").stderr
    assert "\x1b" not in irscope("show", capture, "\x1b[31mred").stderr


def test_a_closed_pipe_is_not_an_error(capture):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "irscope", "list", str(capture)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_unencodable_character_is_not_an_error(irscope, capture):
    done = irscope("show", capture, "#4", "--stage", "error", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "\\u241b[31mbad" in done.stdout


def test_the_app_needs_a_terminal(irscope, capture):
    assert_one_line(irscope(capture), "terminal", "irscope table")
    assert_one_line(irscope("tui", "nowhere.irscope"), "nowhere.irscope")
