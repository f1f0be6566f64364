"""Commands that execute Python code of a capture: not that of a stranger, unless the user says so."""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from irscope.cli.consent import require_consent
from irscope.compiling.processes.child_process import irscope_command
from irscope.compiling.standalone import CALL, KERNEL
from irscope.model import Argument, Config, Kernel, Launch, SourceFunction, UserError
from irscope.store import CaptureWriter, NewVariant, made_here
from irscope.targets import parse_target
from irscope.workspace.trust import has_kernel, untrusted_files

SCALE = "@triton.jit\ndef scale(x, BLOCK: tl.constexpr):\n    pass\n"
MARK = "import pathlib\npathlib.Path(r'{}').touch()\n"


@pytest.fixture(autouse=True)
def _nobody_was_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRSCOPE_STATE", str(tmp_path / "state"))


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The capture of somebody else, which names a file that says when it is executed."""
    executed = tmp_path / "executed"
    file = tmp_path / "kernels.py"
    file.write_text(f"{MARK.format(executed)}import triton, triton.language as tl\n\n{SCALE}")
    text = SCALE.replace("pass", "tl.store(x, BLOCK)")
    monkeypatch.setenv("IRSCOPE_STATE", str(tmp_path / "their state"))
    with CaptureWriter.create(tmp_path / "theirs.irscope") as writer:
        kernel = writer.add_kernel(SourceFunction("scale", str(file), 5, text), (), ("x", "BLOCK"))
        call = b'{"kernel": "scale", "gluon": false, "parameters": ["x", "BLOCK"], "signature": "{}", '
        call += b'"constexprs": {}, "attrs": {}, "options": {}, "places": {}}'
        variant = NewVariant(
            parse_target("cuda:90"),
            (Argument("x", "*fp32", "D"),),
            Config((("BLOCK", 64), ("num_warps", 4))),
            artifacts={"ttir": b"module {}"},
            attachments={CALL: call, KERNEL: f"{MARK.format(executed)}\n{SCALE}".encode()},
            launches=(Launch((1, 1, 1), arguments=(("x", "float32[64]"), ("BLOCK", "64"))),),
        )
        writer.add_variant(kernel, writer.add_toolchain({"triton": "3.9.0"}, "theirs"), "3.9.0", variant)
    monkeypatch.setenv("IRSCOPE_STATE", str(tmp_path / "state"))
    return tmp_path / "theirs.irscope"


def command(capture: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        irscope_command(*words),
        cwd=capture.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    [
        ("versions", "theirs.irscope", "--triton", "3.9.0"),
        ("bisect", "theirs.irscope", "--triton", "3.8.0..3.9.0", "--fact", "registers"),
        ("reproduce", "theirs.irscope", "#1"),
        ("lint", "theirs.irscope", "--prove"),
        ("reproduce", "theirs.irscope", "#1", "--no-check", "--minimize", "--fact", "registers"),
        ("warm", "theirs.irscope", "--vary", "scale:x=*fp16", "-o", "warm"),
    ],
)
def test_code_of_a_stranger_is_not_executed(
    theirs: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRSCOPE_CACHE", str(theirs.parent / "cache"))
    done = command(theirs, *words)
    assert done.returncode == 2
    assert "--trust" in done.stderr or "has no scale as theirs.irscope has it" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (theirs.parent / "executed").exists()


@pytest.mark.slow
def test_trust_executes_it(theirs: Path) -> None:
    made = command(theirs, "reproduce", "theirs.irscope", "#1", "-o", "repro", "--trust")
    assert "repro: kernel.py" in made.stdout
    assert (theirs.parent / "executed").exists()


def test_no_check_needs_no_trust(theirs: Path) -> None:
    done = command(theirs, "reproduce", "theirs.irscope", "#1", "-o", "repro", "--no-check")
    assert (done.returncode, done.stderr) == (0, "")
    assert not (theirs.parent / "executed").exists()


def kernel_of(file: Path, text: str, name: str = "scale") -> Kernel:
    return Kernel(1, name, SourceFunction(name, str(file), 1, text), (), ("x", "BLOCK"))


@pytest.mark.parametrize(
    ("text", "name", "trusted"),
    [
        (SCALE, "scale", True),
        (SCALE.partition("\n")[2], "scale", True),
        (SCALE.replace("pass", "return"), "scale", False),
        ("", "scale", False),
        ("import triton", "scale", False),
        ("def scale", "scale", False),
        ("def run():\n    pass", "run", True),
        ("def run", "run", False),
        ("if True:\n    def inner(x):\n        pass", "inner", False),
        ("    def inner(x):\n        pass", "inner", True),
    ],
)
def test_a_file_is_trusted_for_a_whole_function(tmp_path: Path, text: str, name: str, trusted: bool) -> None:
    file = tmp_path / "kernels.py"
    nested = "\ndef outer():\n    def inner(x):\n        pass\n"
    file.write_text(f"import triton\n\n{SCALE}\ndef run():\n    pass\n{nested}")
    assert has_kernel(file, kernel_of(file, text, name)) is trusted
    assert bool(list(untrusted_files([kernel_of(file, text, name)]))) is not trusted


def test_files_that_are_read_neither_hang_nor_are_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "broken.py").write_text(f"{SCALE}(")
    for name in ("pipe.py", "broken.py"):
        assert not has_kernel(tmp_path / name, kernel_of(tmp_path / name, SCALE))
    monkeypatch.chdir(tmp_path)
    Path("relative.py").write_text(SCALE)
    assert list(untrusted_files([kernel_of(Path("relative.py"), SCALE)])) == ["relative.py (a relative path)"]


def test_what_was_compiled_here_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = [f"{number:064x}"[::-1] for number in range(5)]
    assert not made_here.is_remembered(digests)
    assert not made_here.is_remembered([])
    made_here.remember(digests[:2])
    made_here.remember(digests)
    assert made_here.is_remembered(digests)
    assert not made_here.is_remembered([*digests, "f" * 64])
    assert len((tmp_path / "state" / "compiled-here").read_text().splitlines()) == 5
    monkeypatch.setattr(made_here, "_MOST_BYTES", 0)
    made_here.remember(["e" * 64])
    assert made_here.is_remembered([digests[4], "e" * 64])
    assert not made_here.is_remembered(digests[:1])
    monkeypatch.setenv("IRSCOPE_STATE", "/dev/null/none")
    made_here.remember(digests)
    assert not made_here.is_remembered(digests)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "executed"), [("y\n", True), ("Yes\n", True), ("\n", False), ("", False)])
def test_a_terminal_is_asked(monkeypatch: pytest.MonkeyPatch, answer: str, executed: bool) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", shown)
    outcome = SimpleNamespace(executed=True)
    try:
        require_consent(argparse.Namespace(trust=False), Path("x\x1b[2J.irscope"), ["k\x1b[2J.py", *"abcd"])
    except UserError as error:
        outcome.executed = False
        assert str(error) == "nothing was executed"
    assert outcome.executed is executed
    assert "and 2 more" in shown.getvalue()
    assert "\x1b" not in shown.getvalue()
