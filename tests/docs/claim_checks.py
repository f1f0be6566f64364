"""Checks of the claims in claims.py: the program in an empty folder, and a function per claim."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import metadata, requires
from pathlib import Path

from irscope.cli.main import main
from tests.docs.pages import ROOT

ADD = ["samples/vector_add", "--config", "BLOCK_SIZE=256,1024", "--config", "num_stages=2,3"]


@dataclass(frozen=True)
class Output:
    """The end of a command."""

    code: int
    out: str
    err: str


class Program:
    """Runs irscope in an empty folder; `capture` has four variants of a vector addition, made when needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *words: str) -> Output:
        """Runs a command in this process."""
        out, err = io.StringIO(), io.StringIO()
        code: int | str | None
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main(list(words))
        except SystemExit as exit_:
            code = exit_.code
        finally:
            os.chdir(before)
        return Output(int(code or 0), out.getvalue(), err.getvalue())

    def json(self, *words: str) -> dict[str, object]:
        """The JSON document that a command prints."""
        document = json.loads(self.run(*words, "--format", "json").out)
        if isinstance(document, list):  # a document per kernel
            document = document[0]
        assert isinstance(document, dict)
        return document

    def python(self, code: str) -> str:
        """The output of a fresh process."""
        words = [sys.executable, "-c", code]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            words, cwd=self.folder, env=environment, capture_output=True, text=True, check=True
        ).stdout

    @cached_property
    def capture(self) -> str:
        """The name of the capture."""
        done = self.run("compile", *ADD, "-o", "add.irscope")
        assert done.code == 0, done.err
        return "add.irscope"

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """The rows that the capture's database returns."""
        with contextlib.closing(sqlite3.connect(self.folder / self.capture)) as database:
            return database.execute(query).fetchall()


Check = Callable[[Program], None]


def exits(code: int, *words: str, says: str = "") -> Check:
    """A command on the capture (`CAPTURE`) ends with this code; its output or errors have `says`."""

    def check(program: Program) -> None:
        done = program.run(*(program.capture if word == "CAPTURE" else word for word in words))
        assert done.code == code, (done.code, done.out, done.err)
        assert says in done.out + done.err, done

    return check


def prints_schema(schema: str, *words: str) -> Check:
    """A command's JSON names its schema."""

    def check(program: Program) -> None:
        found = program.json(*(program.capture if word == "CAPTURE" else word for word in words))
        assert found["schema"] == schema, found["schema"]

    return check


def imports_without(code: str, *packages: str) -> Check:
    """A fresh process that runs `code` has none of these packages imported."""

    def check(program: Program) -> None:
        capture = program.capture
        text = f"import sys; CAPTURE = {capture!r}\n{code}\nprint('MODULES', *sys.modules)"
        loaded = program.python(text).rpartition("MODULES")[2].split()
        assert not {name.partition(".")[0] for name in loaded} & set(packages)

    return check


def requirement(name: str, extra: str = "") -> str:
    """The requirement of a package in the installed metadata, "" if there is none."""
    found = [one for one in requires("irscope") or [] if re.match(rf"{name}\b", one)]
    wanted = f"extra == '{extra}'" if extra else "extra =="
    return next((one for one in found if (wanted in one) == bool(extra)), "")


def base_installs_neither(_: Program) -> None:
    assert not requirement("triton")
    assert not requirement("torch")
    assert requirement("triton", "compile")


def python_versions(_: Program) -> None:
    assert metadata("irscope")["Requires-Python"] == ">=3.10"


def lint_executes_nothing(program: Program) -> None:
    (program.folder / "hostile.py").write_text(
        "import triton, pathlib\npathlib.Path('ran').write_text('')\n@triton.jit\ndef k(x_ptr): pass\n"
    )
    assert program.run("lint", "hostile.py").code == 0
    assert not (program.folder / "ran").exists()


def application_id(program: Program) -> None:
    head = (program.folder / program.capture).read_bytes()[:100]
    assert head.startswith(b"SQLite format 3\0")
    assert int.from_bytes(head[68:72], "big") == 0x69727363
    assert head[68:72] == b"irsc"


def user_version(program: Program) -> None:
    assert program.rows("pragma user_version") == [(3,)]
    newer = program.folder / "newer.irscope"
    shutil.copyfile(program.folder / program.capture, newer)
    with contextlib.closing(sqlite3.connect(newer)) as database:
        database.execute("pragma user_version = 4")
    done = program.run("list", newer.name)
    assert done.code == 2
    assert "newer" in done.err


def blobs(program: Program) -> None:
    contents = [bytes(row[0]) for row in program.rows("select data from blob")]  # type: ignore[call-overload]
    assert all(content[:4] == b"\x28\xb5\x2f\xfd" for content in contents)
    used = program.rows("select count(*), count(distinct digest) from artifact where stage = 'ptx'")
    assert used == [(4, 2)], used


def sorted_keys(program: Program) -> None:
    for column in ("metadata", "seconds", "cache_key"):
        for (text,) in program.rows(f"select {column} from variant"):
            keys = list(json.loads(str(text)))
            assert keys == sorted(keys), column


def one_file_remains(program: Program) -> None:
    name = program.capture
    assert not [path for path in program.folder.glob(f"{name}-*") if path.suffix.endswith(("-wal", "-shm"))]


def not_overwritten(program: Program) -> None:
    path = program.folder / program.capture
    before = path.read_bytes()
    assert program.run("compile", *ADD, "-o", path.name).code == 2
    assert path.read_bytes() == before


def default_target(program: Program) -> None:
    program.run("compile", "samples/vector_add", "--config", "BLOCK_SIZE=256")
    assert "cuda:90" in program.run("list", "add_kernel.irscope").out


def default_timeout(program: Program) -> None:
    assert re.search(r"--timeout SECONDS\s+per variant \(300\)", program.run("compile", "--help").out)


def key_components(program: Program) -> None:
    text = program.run("why", program.capture, "#1", "#2").out
    found = re.search(r"of the (\d+) components", text)
    assert found is not None
    assert 35 <= int(found[1]) <= 45


def other_names(program: Program) -> None:
    one = program.run("check", program.capture, "--expect", "spills == 0", "--expect", "spill_words == 0")
    two = program.run("check", program.capture, "--expect", "n_spills == 0")
    assert one.code == two.code == 0


def redundant_configs(program: Program) -> None:
    assert "benchmarking 2 of 4 variants is redundant" in program.run("table", program.capture).out


def no_python(program: Program) -> None:
    done = program.run("check", program.capture, "--expect", "__import__('os').mkdir('made') == 1")
    assert done.code == 2
    assert not (program.folder / "made").exists()


def names_vary(program: Program) -> None:
    (program.folder / "names").mkdir()
    program.run("compile", "samples/vector_add", "--config", "BLOCK_SIZE=256,1024", "-o", "names/a.irscope")
    text = program.run("list", "names/a.irscope").out
    assert "BLOCK_SIZE=256" in text
    assert "num_warps" not in text


def constants_of_estimates(_: Program) -> None:
    from irscope.estimating.constants import CONSTANTS

    assert len(CONSTANTS) == 31
    assert all(one.low <= one.value <= one.high for one in CONSTANTS)


def supported_versions(_: Program) -> None:
    from irscope.jobs.versions.environments import SUPPORTED

    assert SUPPORTED == ("3.6.0", "3.7.1", "3.8.0", "3.9.0")
    lowest, highest = re.findall(r"[<>]=?(\d\.\d+)", requirement("triton", "compile"))
    assert {lowest, highest} == {"3.6", "3.10"}


def explains_rules(program: Program) -> None:
    text = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    names = re.findall(r"^### ([a-z][a-z-]+)$", text, re.M)
    assert len(names) > 20
    for name in names:
        assert program.run("explain", name).code == 0, name


def rule_codes(program: Program) -> None:
    text = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    for name, code in re.findall(r"^### ([a-z][a-z-]+)\n\n(IRS\d+)\.", text, re.M):
        assert code in program.run("explain", name).out + program.run("explain", code).out, (name, code)


def config_place(program: Program) -> None:
    os.environ["IRSCOPE_CONFIG"] = str(program.folder / "my.toml")
    try:
        assert "my.toml" in program.run("config").out
    finally:
        del os.environ["IRSCOPE_CONFIG"]


def dump_files(program: Program) -> None:
    assert program.run("dump", program.capture, "-o", "dumped").code == 0
    names = {path.name for path in (program.folder / "dumped").rglob("*") if path.is_file()}
    assert {"index.json", "add_kernel.py", "add_kernel.json", "log.txt"} <= names


def unified_rows(program: Program) -> None:
    text = program.run("diff", program.capture, "#1", "#3", "--stage", "ttgir", "--format", "unified").out
    assert text.startswith(("---", "diff"))
    assert "@@" in text


def report_replaced(program: Program) -> None:
    assert program.run("report", program.capture).code == 0
    assert (program.folder / "add.html").is_file()
    assert program.run("report", program.capture).code == 2
    assert program.run("report", program.capture, "--force").code == 0


def nothing_from_the_network(program: Program) -> None:
    program.run("report", program.capture, "-o", "loads.html")
    text = (program.folder / "loads.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=[\"']?(https?:)?//", text)


def variants(program: Program, sample: str, *words: str) -> list[dict[str, object]]:
    """The facts of each variant of a sample, compiled with its docstring's arguments."""
    name = f"{sample}.irscope"
    done = program.run("compile", f"samples/{sample}", "-o", name, "--force", *words)
    assert done.code == 0, done.err
    found = program.json("table", name)["variants"]
    assert isinstance(found, list)
    return found


def number_of_configs(sample: str, number: int) -> Check:
    """A sample compiles to this number of variants."""

    def check(program: Program) -> None:
        assert len(variants(program, sample, "--target", "cuda:90")) == number

    return check


def less_shared_memory(program: Program) -> None:
    whole, halves = (
        [fact(one, "shared") for one in variants(program, sample, "--target", "cuda:90")]
        for sample in ("persistent_matmul", "epilogue_subtiling")
    )
    assert [int(str(a)) - int(str(b)) for a, b in zip(whole, halves, strict=True)] == [16 * 1024] * 6


def fact(variant: dict[str, object], name: str) -> object:
    """The value of a fact in a JSON table."""
    facts = variant["facts"]
    assert isinstance(facts, dict)
    return facts[name]


def passes_change_nothing(program: Program) -> None:
    for words in (["passes.irscope", "--passes"], ["plain.irscope"]):
        assert program.run("compile", "samples/fused_softmax", "-o", *words).code == 0
    text = program.run("diff", "plain.irscope", "passes.irscope").out
    assert "4 with identical machine code" in text


def limit(place: str, value: float) -> Check:
    """A constant of the package, `module:NAME`, has this value."""

    def check(_: Program) -> None:
        module, _, name = place.partition(":")
        assert getattr(import_module(f"irscope.{module}"), name) == value, place

    return check


def number_of_dependencies(_: Program) -> None:
    base = [one for one in requires("irscope") or [] if "extra ==" not in one]
    assert (len(base), len([one for one in base if "python_version" not in one])) == (10, 9), base


def formats_for_ci(program: Program) -> None:
    for words in (["diff"], ["check"], ["lint"]):
        text = program.run(*words, "--help").out
        assert all(name in text for name in ("github", "sarif", "junit", "markdown")), words


def plugins_of_the_repository(_: Program) -> None:
    found = sorted((ROOT / "tests" / "plugins").glob("*/pyproject.toml"))
    assert [path.parent.name for path in found] == ["example", "xpu"]


def seconds_of_the_film(_: Program) -> None:
    text = (ROOT / "docs" / "images" / "film.svg").read_text(encoding="utf-8")
    seconds = re.search(r"animation:film ([\d.]+)s", text)
    assert seconds is not None
    assert 24 <= float(seconds[1]) <= 26, seconds[1]


def findings_of_lint(_: Program) -> None:
    """The numbers of the table in docs/measured.md add up to those of docs/lint.md."""
    section = (
        (ROOT / "docs" / "measured.md").read_text(encoding="utf-8").partition("## Lint rules on libraries")[2]
    )
    rows = re.findall(r"^\| [^|]+ \| (\d+) \| (\d+) \|", section.partition("\n##")[0], re.M)
    assert (sum(int(found) for found, _ in rows), sum(int(right) for _, right in rows)) == (93, 92)


def kernels_by_file(_: Program) -> None:
    """The rows of the table in docs/measured.md add up to its last row."""
    section = (ROOT / "docs" / "measured.md").read_text(encoding="utf-8").partition("## Kernels by file")[2]
    rows = re.findall(
        r"^\| [^|]+ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", section.partition("\n## ")[0], re.M
    )
    *parts, total = [[int(cell) for cell in row] for row in rows]
    assert [sum(column) for column in zip(*parts, strict=True)] == total


def programs_of_libraries(_: Program) -> None:
    """So do those of the programs, whose text has the sums."""
    section = (ROOT / "docs" / "measured.md").read_text("utf-8").partition("## Programs of libraries")[2]
    rows = re.findall(r"\| (\d+) of (\d+) \| \d+ \| (\d+) \|", section.partition("\n## ")[0])
    whole, programs = (sum(int(row[column]) for row in rows) for column in (0, 1))
    assert (whole, programs, len(rows)) == (39, 45, 17)


def kernels_in_one_file(_: Program) -> None:
    text = (ROOT / "samples" / "layer_norm.py").read_text(encoding="utf-8")
    assert text.count("@triton.jit\n") == 3


def missing_mask_in_source(program: Program) -> None:
    """The kernel without a mask of docs/compare.md."""
    text = (ROOT / "samples" / "vector_add.py").read_text(encoding="utf-8")
    (program.folder / "no_mask.py").write_text(text.replace("x_ptr + offsets, mask=mask", "x_ptr + offsets"))
    done = program.run("lint", "no_mask.py")
    assert done.code == 1
    assert "no_mask.py:24:9: IRS115 mask-missing" in done.out


def missing_mask_in_a_launch(program: Program) -> None:
    """The same kernel in a capture of a launch with 1,000 elements; needs torch."""
    missing_mask_in_source(program)
    (program.folder / "launch.py").write_text(
        "import torch\nfrom no_mask import add\nadd(*(torch.rand(1000, device='cuda') for _ in range(2)))\n"
    )
    words = [sys.executable, "-m", "irscope", "run", "--target", "cuda:90", "launch.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(words, cwd=program.folder, env=environment, capture_output=True, check=True)
    assert (
        "IRS207 out-of-bounds: line 24 of add_kernel reads element 1,023"
        in program.run("lint", "launch.irscope").out
    )


def has(text: str, part: str) -> None:
    """Fails if `text` lacks `part`."""
    assert part in text, text
