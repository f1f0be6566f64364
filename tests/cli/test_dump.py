"""`irscope dump`: the files and their names; no name leads out of the folder."""

from __future__ import annotations

import json

from irscope.model import Config, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target
from tests.cli.conftest import specialization


def files_under(folder) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_dump_writes_readable_names(irscope, capture, tmp_path):
    done = irscope("dump", capture, "-o", "out")
    assert done.returncode == 0, done.stderr
    first = "add_kernel/cuda-90/BLOCK=64,num_stages=3/add_kernel"
    files = files_under(tmp_path / "out")
    assert {f"{first}.ttgir", f"{first}.cubin", f"{first}.json", "index.json"} <= files
    assert "add_kernel/add_kernel.py" in files
    failed = tmp_path / "out/add_kernel/cuda-90/BLOCK=96,num_stages=3"
    assert files_under(failed) == {"error.txt"}
    assert (failed / "error.txt").read_text().startswith("CompilationError: arange's range")


def test_the_index_lists_the_files(irscope, capture, tmp_path):
    irscope("dump", capture, "-o", "out")
    index = json.loads((tmp_path / "out/index.json").read_text())
    assert index["schema"] == "irscope.dump/1"
    (kernel,) = index["kernels"]
    named = {kernel["source"], "index.json"}
    for variant in kernel["variants"]:
        for path in variant["files"].values():
            assert path.startswith(variant["folder"] + "/")
            named.add(path)
    assert named == files_under(tmp_path / "out")


def test_dump_of_one_stage(irscope, capture, tmp_path):
    assert irscope("dump", capture, "-o", "out", "--stage", "ttgir").returncode == 0
    suffixes = {name.rsplit(".", 1)[1] for name in files_under(tmp_path / "out")}
    assert suffixes == {"ttgir", "py", "json", "txt"}


def test_force_keeps_other_files(irscope, capture, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    assert irscope("dump", capture, "-o", "out").returncode == 2
    assert irscope("dump", capture, "-o", "out", "--force").returncode == 0
    assert (tmp_path / "out/mine.txt").read_text() == "mine"


def test_hostile_names_stay_in_the_folder(irscope, tmp_path):
    path = tmp_path / "hostile.irscope"
    names = [
        "../../evil",
        "/etc/evil",
        "..",
        "",
        "a\nb",
        "x" * 5000,
        "index.json",
        "\x1b[31m",
        "Kern",
        "kern",
    ]
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "")
        for name in names:
            kernel = writer.add_kernel(SourceFunction(name, f"{name}.py", 1, "pass\n"), (), ())
            config = Config(((name, name), ("BLOCK", 1)))
            for target in ("cuda:80", "cuda:90"):
                new = NewVariant(parse_target(target), specialization(1), config, artifacts={"ttir": b"x"})
                writer.add_variant(kernel, toolchain, "3.9.0", new)
    before = files_under(tmp_path)
    done = irscope("dump", path, "-o", "out")
    assert done.returncode == 0, done.stderr
    written = files_under(tmp_path) - before
    assert written and all(name.startswith("out/") for name in written)
    assert sum(name.endswith(".ttir") for name in written) == 2 * len(names)


def test_a_link_in_the_folder_is_not_followed_out(irscope, capture, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/add_kernel").symlink_to(outside)
    done = irscope("dump", capture, "-o", "out", "--force")
    assert done.returncode == 2 and "leads out" in done.stderr
    assert not list(outside.iterdir())
