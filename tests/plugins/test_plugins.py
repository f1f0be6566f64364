"""Plug-ins as their users meet them: a backend and a front end, and plug-ins that cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from irscope.model import Argument, Config, SourceFunction, Stage, Target
from irscope.store import CaptureWriter
from irscope.store.new_variant import NewVariant
from irscope.targets import stages_for
from tests.plugins.installing import HERE, add_metadata, install

ASSEMBLY = (
    ".registers 4\n\tglobal_load_dwordx{}\tv1\n\ts_waitcnt vmcnt(0)\n\tglobal_store_dword\tv2\n\ts_endpgm\n"
)
PROGRAM = """
import sys
from irscope.model import plugins
from irscope.cli.main import main
for line in sys.argv[1:]:
    code = main(line.split(";"))
    if code: print(f"{line}: exit code {code}")
print("LOOKED UP" if plugins._entry_points.cache_info().currsize else "NOT LOOKED UP")
"""


def commands(*lines: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs commands in one process; the words of a command are joined by semicolons."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *lines],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def written(path: Path, backend: str, arch: str, *artifacts: dict[str, str]) -> Path:
    """A capture with a variant per set of artifacts."""
    metadata = {"num_warps": 4, "shared": 0, "name": "double"}
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "test")
        kernel = writer.add_kernel(SourceFunction("double", "double.py", 1, "def double(): ..."), (), ())
        for number, texts in enumerate(artifacts):
            config = Config((("BLOCK", 128 << number),))
            contents = {name: text.encode() for name, text in texts.items()}
            target = Target(backend, arch, 64)
            arguments = (Argument("x_ptr", "*fp32", "D"),)
            new = NewVariant(target, arguments, config, metadata=metadata, artifacts=contents)
            writer.add_variant(kernel, toolchain, "3.9.0", new)
    return path


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which the example is installed."""
    return install("example", tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two variants of the example's backend and front end."""
    stages = [
        {
            "elementwise": "def double(x): return 2 * x\n",
            "exasm": ASSEMBLY.format(width),
            "exbin": "EXAMPLE\0" + ASSEMBLY.format(width),
        }
        for width in (2, 4)
    ]
    return written(tmp_path_factory.mktemp("captures") / "example.irscope", "example", "x1", *stages)


def test_every_view_shows_the_stages_facts_and_derived_stages_of_a_plug_in(example, capture, tmp_path):
    done = commands(
        f"list;{capture}",
        f"table;{capture};--columns;registers,exbin_size,global_loads,occupancy",
        f"show;{capture};1;--stage;exdis",
        f"show;{capture};2;--stage;elementwise",
        f"diff;{capture};1;2",
        f"registers;{capture};1",
        f"check;{capture};--expect;exbin_size <= 200",
        f"dump;{capture};-o;{tmp_path / 'dump'};--sass",
        f"report;{capture};-o;{tmp_path / 'report.html'}",
        "doctor",
        environment=example,
    )
    assert done.stderr.count("irscope:") == 0 and "exit code" not in done.stdout, done.stdout + done.stderr
    assert "#1  BLOCK=128  example:x1  ok" in done.stdout
    assert "1 x 8 B" in done.stdout and "1 x 16 B" in done.stdout
    assert "s_endpgm\n" in done.stdout and "return 2 * x" in done.stdout
    assert "exasm  1 added, 1 removed" in done.stdout
    assert "4 registers per thread" in done.stdout
    assert "irscope-example 1.0: backend example for example:x1, example:x2" in done.stdout
    assert "irscope-example 1.0: front end elementwise with elementwise" in done.stdout
    folder = tmp_path / "dump" / "double" / "example-x1" / "BLOCK=128"
    assert {path.suffix for path in folder.iterdir()} >= {".elementwise", ".exasm", ".exbin", ".exdis"}


def test_nothing_is_looked_up_for_names_that_irscope_has(example, tmp_path):
    texts = [{"ttir": "module {}", "ptx": f".target sm_{arch}"} for arch in (90, 100)]
    capture = written(tmp_path / "cuda.irscope", "cuda", "90", *texts)
    lines = ["list", "table", "show;1;--stage;ptx", "diff;1;2", "why;1;2", f"dump;-o;{tmp_path / 'dump'}"]
    named = [f"{line.partition(';')[0]};{capture};{line.partition(';')[2]}".rstrip(";") for line in lines]
    done = commands(*named, environment=example)
    assert done.stdout.endswith("NOT LOOKED UP\n") and "exit code" not in done.stdout, done.stderr


def test_a_plug_in_that_cannot_be_used_costs_a_line(capture, tmp_path):
    backends = {"gone": "no_such_module:X", "other": "bad_plugin:NAME", "taken": "bad_plugin:TAKEN"}
    add_metadata(tmp_path, "bad", "0.1", {"irscope.backends": {**backends, "leaves": "bad_plugin:LEAVES"}})
    (tmp_path / "bad_plugin.py").write_text(
        "import irscope.targets\nNAME = 'x'\nTAKEN = irscope.targets.CUDA\n"
        "def __getattr__(name): raise SystemExit(3)\n"
    )
    done = commands(f"list;{capture}", environment={**os.environ, "PYTHONPATH": str(tmp_path)})
    lines = [line for line in done.stderr.splitlines() if " of bad 0.1 is ignored: " in line]
    assert [line.partition(" of bad 0.1 is ignored: ")[::2] for line in lines] == [
        ("irscope: backend 'gone'", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("irscope: backend 'leaves'", "SystemExit: 3"),
        ("irscope: backend 'other'", "TypeError: bad_plugin:NAME is not a Backend"),
        ("irscope: backend 'taken'", "ValueError: the name 'cuda' is taken or not an identifier"),
    ]
    assert "no backend 'example'; install the plug-in" in done.stderr
    assert "exit code 2" in done.stdout


def test_a_stage_that_no_installed_plug_in_has_is_a_binary_file():
    known = stages_for("cuda", ["ttir", "elementwise", "../escape", "Stage"])
    assert known[0] == Stage("elementwise", None)
    assert known[1:] == stages_for("cuda")


RAISING = """
from dataclasses import replace
from irscope_example.backend import EXAMPLE
from irscope_example.exasm import LANGUAGE as EXASM

def fail(*arguments): raise RuntimeError("not today")

LANGUAGE = replace(EXASM, parse=fail)
BACKEND = replace(
    EXAMPLE, resources=fail, device=fail, instruction_set=fail, machine_instruction_set=fail,
    languages={"exasm": __name__},
)
"""


def test_functions_of_a_plug_in_that_raise_cost_a_line_each(capture, tmp_path):
    add_metadata(tmp_path, "raising", "0.1", {"irscope.backends": {"example": "raising:BACKEND"}})
    (tmp_path / "raising.py").write_text(RAISING)
    path = os.pathsep.join([str(tmp_path), str(HERE / "example")])
    done = commands(
        f"list;{capture}", f"diff;{capture};1;2", f"show;{capture};1;--stage;exdis",
        environment={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert "exit code" not in done.stdout, done.stderr
    assert "s_endpgm" in done.stdout
    assert sorted(line for line in done.stderr.splitlines() if "not today" in line) == [
        f"irscope: {what} failed: RuntimeError: not today"
        for what in (
            "device of the backend 'example'",
            "instruction_set of the backend 'example'",
            "machine_instruction_set of the backend 'example'",
            "resources of the backend 'example'",
            "the parser of exasm",
        )
    ]


PROGRAM_OF_USER = """
import torch
from functions import double
print(tuple(double(torch.ones(1024, device="cuda")).shape), torch.cuda.get_device_name())
"""


@pytest.fixture
def user(example: dict[str, str], tmp_path: Path) -> Path:
    """A folder with a file and a program that use the front end."""
    pytest.importorskip("triton")
    (tmp_path / "functions.py").write_text(
        "from irscope_example.elementwise import elementwise\n\n@elementwise\ndef double(x): return 2 * x\n"
    )
    (tmp_path / "program.py").write_text(PROGRAM_OF_USER)
    return tmp_path


@pytest.mark.slow
def test_a_kernel_of_a_plug_in_front_end_compiles_for_a_plug_in_backend(example, user):
    capture = user / "double.irscope"
    kernel = f"{user / 'functions.py'}::double"
    signature = "*fp32:16, *fp32:16, i32:16"
    done = commands(
        f"compile;{kernel};--signature;{signature};--config;BLOCK=128,256;--target;example:x1;-o;{capture};--passes",
        f"table;{capture};--columns;registers,exasm_seconds",
        f"passes;{capture};1",
        f"show;{capture};1;--stage;elementwise",
        f"show;{capture};1;--stage;exdis",
        f"diff;{capture};1;2;--stage;exasm",
        environment=example,
    )
    assert "exit code" not in done.stdout and "2 compiled, 0 failed" in done.stderr + done.stdout, done.stderr
    assert "@elementwise\ndef double(x)" in done.stdout and ".registers" in done.stdout
    assert "?" not in done.stdout.partition("passes,")[0].partition("exasm")[2]
    code = f"import irscope; print(irscope.open({str(capture)!r}).variants[0].toolchain)"
    versions = subprocess.run(
        [sys.executable, "-c", code], env=example, capture_output=True, text=True, check=True
    )
    assert "'exas': '1.0'" in versions.stdout


@pytest.mark.slow
def test_a_program_sees_the_device_of_a_plug_in_backend(example, user):
    pytest.importorskip("torch")
    capture = user / "program.irscope"
    program = str(user / "program.py")
    done = commands(
        f"run;--target;example:x2;-o;{capture};{program}",
        f"list;{capture}",
        f"show;{capture};1;--stage;elementwise",
        environment=example,
    )
    assert "(1024,) Example X2" in done.stdout, done.stderr
    assert "BLOCK=128,num_warps=4,num_stages=2  example:x2  ok" in done.stdout
    assert "@elementwise\ndef double(x)" in done.stdout
