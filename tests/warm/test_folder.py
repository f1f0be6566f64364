"""Warm folders without a compiler: entries from captures, pruning, relocation, the manifest, verification."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from irscope.compiling.toolchain.launch_stubs import BuiltStub
from irscope.compiling.toolchain.local_keys import LocalKeys
from irscope.jobs.warm import build as building
from irscope.jobs.warm import verify as verifying
from irscope.jobs.warm.build import WarmResult, library_dirs
from irscope.jobs.warm.cache_folder import folder_name, is_whole, locked
from irscope.jobs.warm.compile_input import parse_program
from irscope.jobs.warm.launch_plans import WarmOptions
from irscope.jobs.warm.manifest import MANIFEST, HashedFunction, read_manifest
from irscope.jobs.warm.verify import DIFFERS, OK, find_changes, verify
from irscope.model import Argument, Benchmark, Config, SourceFunction, UserError
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target

HASH = "{:064x}"
TEXT = "@triton.jit\ndef scale(x, BLOCK: tl.constexpr):\n    pass\n"
COMPONENTS = {"triton": "t1", "backend": "ptxas 12.8, V12.8.93-90", "type x": "*fp32", "option arch": "sm90"}
LOCAL = LocalKeys(
    triton="t1", version="3.6.0", python="3.12.3", extension=".cpython-312.so", platform="x86_64,Linux",
    triton_path="/usr/triton", backends={"cuda:90": COMPONENTS["backend"]},
    options={"cuda:90": {"arch": "sm90"}}, environment={}, library_dirs=("/lib",),
)  # fmt: skip


def write_capture(path: Path, source: Path) -> Path:
    """Three configs of one kernel with benchmarks, of which the second was chosen; all stages are there."""
    source.write_text(f"import triton\n\n\n{TEXT}")
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.6.0", "python": "3.12.3"}, "irscope run")
        kernel = writer.add_kernel(SourceFunction("scale", str(source), 4, TEXT), (), ("x", "BLOCK"))
        for number, block in enumerate((64, 128, 256), 1):
            stages = {"ttir": b"module {}", "ptx": b".version 8.7", "cubin": bytes([number])}
            target = {"backend": "cuda", "arch": 90, "warp_size": 32}
            variant = NewVariant(
                parse_target("cuda:90"),
                (Argument("x", "*fp32", "D"),),
                Config((("BLOCK", block), ("num_warps", 4))),
                artifacts=stages,
                metadata={"hash": HASH.format(number), "name": "scale", "shared": 0, "target": target},
                cache_key=COMPONENTS,
                benchmarks=(Benchmark("n=1", 1.0 * number, 1.0, 1.0, chosen=block == 128),),
            )
            writer.add_variant(kernel, toolchain, "3.6.0", variant, number)
    return path


@pytest.fixture
def capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def stubs(request: object) -> list[BuiltStub]:
        return [BuiltStub("cuda_utils", "cuda", "cuda_utils.so", "0", ("STUB",), 10)]

    monkeypatch.setattr(building, "local_keys", lambda *_: LOCAL)
    monkeypatch.setattr(building, "build_stubs", stubs)
    monkeypatch.setattr(verifying, "local_keys", lambda *_: LOCAL)
    monkeypatch.setattr(verifying, "build_stubs", stubs)
    return write_capture(tmp_path / "tuned.irscope", tmp_path / "kernels.py")


def build(capture: Path, folder: Path, **options: object) -> WarmResult:
    warm = WarmOptions(**options)  # type: ignore[arg-type]
    return building.build(folder, {str(capture): capture}, warm, "irscope warm")


def test_entries_of_a_capture_are_in_tritons_layout(capture: Path, tmp_path: Path) -> None:
    result = build(capture, tmp_path / "warm")
    assert (result.written, result.problems) == (3, [])
    entry = tmp_path / "warm" / folder_name(HASH.format(1))
    assert (entry / "scale.cubin").read_bytes() == b"\x01"
    assert json.loads((entry / "scale.json").read_text())["hash"] == HASH.format(1)
    group = json.loads((entry / "__grp__scale.json").read_text())["child_paths"]
    assert group["scale.ptx"] == str(entry / "scale.ptx")
    assert is_whole(entry, "scale")
    again = build(capture, tmp_path / "warm")
    assert (again.written, again.kept, again.removed) == (0, 3, 0)


def test_prune_keeps_the_configs_that_were_chosen(capture: Path, tmp_path: Path) -> None:
    build(capture, tmp_path / "warm")
    result = build(capture, tmp_path / "warm", prune=True, binary_only=True)
    assert [entry.config for entry in result.manifest.entries] == ["BLOCK=128,num_warps=4"]
    assert result.removed == 2
    left = sorted(path.name for path in (tmp_path / "warm" / folder_name(HASH.format(2))).iterdir())
    assert left == ["__grp__scale.json", "scale.cubin", "scale.json"]


def test_new_entries_are_those_that_the_folder_lacked(capture: Path, tmp_path: Path) -> None:
    folder = tmp_path / "warm"
    chosen = build(capture, folder, prune=True)
    assert [entry.config for entry in chosen.new] == ["BLOCK=128,num_warps=4"]
    whole = build(capture, folder)
    assert [entry.config for entry in whole.new] == ["BLOCK=64,num_warps=4", "BLOCK=256,num_warps=4"]
    assert build(capture, folder).new == ()


def test_a_capture_without_benchmarks_cannot_be_pruned(capture: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="GPU"):
        building.build(tmp_path / "warm", {}, WarmOptions(prune=True))


def test_kernels_of_another_triton_have_no_stubs(
    capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    monkeypatch.setattr(building, "local_keys", lambda *_: replace(LOCAL, triton="t2", version="3.9.0"))
    result = build(capture, tmp_path / "warm")
    assert not result.manifest.stubs
    assert "Triton 3.6.0" in result.problems[0]
    assert "3.9.0" in result.problems[0]


def test_a_build_for_some_kernels_or_another_target_removes_nothing(capture: Path, tmp_path: Path) -> None:
    build(capture, tmp_path / "warm")
    assert build(capture, tmp_path / "warm", kernels="nothing*").removed == 0
    result = build(capture, tmp_path / "warm", target=parse_target("cuda:100"))
    assert (result.removed, len(result.manifest.entries)) == (0, 3)


def test_the_manifest_is_read_as_it_was_written(capture: Path, tmp_path: Path) -> None:
    manifest = build(capture, tmp_path / "warm", at="/opt/cache").manifest
    assert read_manifest(tmp_path / "warm") == manifest
    assert manifest.at == "/opt/cache"
    assert manifest.entries[0].components == COMPONENTS


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1}', '{"format": 9}'])
def test_a_damaged_manifest_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(UserError, match="build the folder again"):
        read_manifest(tmp_path)


def test_a_manifest_names_only_entries_of_its_folder(capture: Path, tmp_path: Path) -> None:
    build(capture, tmp_path / "warm")
    path = tmp_path / "warm" / MANIFEST
    path.write_text(path.read_text().replace(folder_name(HASH.format(1)), "../../etc"))
    with pytest.raises(UserError, match="not a manifest"):
        read_manifest(tmp_path / "warm")


def test_the_script_in_the_folder_relocates_it(capture: Path, tmp_path: Path) -> None:
    build(capture, tmp_path / "warm")
    (tmp_path / "warm").rename(tmp_path / "moved")
    words = [sys.executable, "-I", "-S", str(tmp_path / "moved" / "relocate.py")]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert "3 kernels, 3 relocated" in done.stdout
    entry = tmp_path / "moved" / folder_name(HASH.format(3))
    group = json.loads((entry / "__grp__scale.json").read_text())["child_paths"]
    assert group["scale.cubin"] == str(entry / "scale.cubin")


def test_two_builds_do_not_share_a_folder(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(UserError, match="another irscope warm"), locked(tmp_path):
        pass


@pytest.mark.parametrize(
    ("changed", "component", "advice"),
    [
        ({"triton": "t2", "version": "3.9.0"}, "triton", "install triton==3.6.0"),
        ({"triton": "t2", "python": "3.11.9"}, "triton", "use Python 3.12"),
        ({"triton": "t2"}, "triton", "same wheel or image"),
        ({"backends": {"cuda:90": "ptxas 13.4, V13.4.59-90"}}, "backend cuda:90", "TRITON_PTXAS_PATH"),
        ({"environment": {"DISABLE_LLVM_OPT": "true"}}, "DISABLE_LLVM_OPT", "unset DISABLE_LLVM_OPT"),
        ({"options": {"cuda:90": {"arch": "sm90a"}}}, "option arch", "another default"),
        ({"device": "cuda:100"}, "device", "--target cuda:100"),
        ({"triton_path": "/opt/triton"}, "cuda_utils", "irscope warm --relocate"),
    ],
)
def test_verify_names_what_differs_and_what_to_do(
    capture: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, object],
    component: str,
    advice: str,
) -> None:
    from dataclasses import replace

    build(capture, tmp_path / "warm")
    if component != "cuda_utils":
        (tmp_path / "warm" / "STUB").mkdir()
        (tmp_path / "warm" / "STUB" / "cuda_utils.so").touch()
        assert all(check.state in (OK, "unknown") for check in verify(tmp_path / "warm"))
    monkeypatch.setattr(verifying, "local_keys", lambda *_: replace(LOCAL, **changed))  # type: ignore[arg-type]
    differ = [check for check in verify(tmp_path / "warm") if check.state == DIFFERS]
    assert [check.component for check in differ] == [component]
    assert advice in differ[0].advice


def test_verify_finds_moved_and_changed_functions(capture: Path, tmp_path: Path) -> None:
    source = build(capture, tmp_path / "warm").manifest.sources[0]
    file = tmp_path / "kernels.py"
    assert find_changes(source) == ""
    text = file.read_text()
    moved = tmp_path / "moved.py"
    moved.write_text(f"import os\n{text}")
    found = find_changes(HashedFunction(source.name, str(moved), source.line, source.digest))
    assert found is not None
    assert "line 4 in the folder, 5 here" in found
    changed = tmp_path / "changed.py"
    changed.write_text(text.replace("pass", "return"))
    found = find_changes(HashedFunction(source.name, str(changed), source.line, source.digest))
    assert found is not None
    assert "text differs" in found
    assert find_changes(HashedFunction(source.name, "/nowhere/kernels.py", 4, source.digest)) is None


def test_inputs_are_programs_with_arguments_or_captures(capture: Path, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.touch()
    assert parse_program(str(capture)) is None
    program = parse_program(f"{script} --steps 1")
    assert program is not None
    assert (program.kind, program.name, program.arguments) == ("script", str(script), ("--steps", "1"))
    module = parse_program("python -m pkg.bench 'a b'")
    assert module is not None
    assert (module.kind, module.name, module.arguments) == ("module", "pkg.bench", ("a b",))
    with pytest.raises(UserError, match="no such file"):
        parse_program("nothing.py")


def test_libcuda_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert library_dirs(("/a:/b", "/c")) == (("/a", "/b"), ("/c",))
    monkeypatch.setenv("TRITON_LIBCUDA_PATH", "/d")
    assert library_dirs(()) == (("/d",),)
    monkeypatch.delenv("TRITON_LIBCUDA_PATH")
    assert ("/lib64",) in library_dirs(())
