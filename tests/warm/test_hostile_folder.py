"""Warm folders that somebody else wrote: their manifests, links and pipes lead nowhere out of the folder."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from irscope.jobs.warm import relocate as relocating
from irscope.jobs.warm.cache_folder import clean, is_whole
from irscope.jobs.warm.manifest import MANIFEST, HashedFunction, read_manifest
from irscope.jobs.warm.relocate import add_driver_modules, relocate
from irscope.jobs.warm.verify import find_changes
from irscope.model import UserError

ENTRY = "A" * 52


def write_stub_folder(folder: Path, file: str) -> None:
    """Write a folder whose driver module, called `file`, was built on a machine with other paths."""
    spec = importlib.util.find_spec("triton")
    assert spec is not None
    assert spec.origin is not None
    text = Path(spec.origin).parent.joinpath("backends", "nvidia", "driver.c").read_text()
    name = relocating._name(text, "there", "nvidia", "/there", [])
    stub: dict[str, object] = {"name": "cuda_utils", "backend": "cuda", "file": file, "folders": [name]}
    stub["source"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / name).mkdir(parents=True)
    (folder / name / "cuda_utils.so").write_bytes(b"their code")
    document = {
        "stubs": [stub],
        "platform": "there",
        "triton_path": "/there",
        "library_dirs": [[]],
        "libhip": [],
    }
    (folder / MANIFEST).write_text(json.dumps(document))


@pytest.fixture
def _libcuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_LIBCUDA_PATH", "/here")


@pytest.mark.usefixtures("_libcuda")
def test_a_driver_module_is_added_for_the_paths_of_this_machine(tmp_path: Path) -> None:
    write_stub_folder(tmp_path / "warm", "cuda_utils.so")
    assert add_driver_modules(tmp_path / "warm") == ["cuda_utils"]
    assert len(list((tmp_path / "warm").glob("*/cuda_utils.so"))) == 2


@pytest.mark.usefixtures("_libcuda")
@pytest.mark.parametrize(
    "file", ["../../outside.so", "..", "sub/../../../outside.so", "/{tmp}/outside.so", "a\0b.so", "\udc80.so"]
)
def test_a_manifest_does_not_make_relocate_write_outside_the_folder(tmp_path: Path, file: str) -> None:
    write_stub_folder(tmp_path / "a" / "b" / "warm", file.format(tmp=tmp_path))
    source = tmp_path / "a" / "b" / "outside.so"
    source.write_bytes(b"their code")
    before = sorted(tmp_path.rglob("*"))
    assert add_driver_modules(tmp_path / "a" / "b" / "warm") == []
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("_libcuda")
def test_a_driver_module_is_not_added_through_a_link(tmp_path: Path) -> None:
    write_stub_folder(tmp_path / "warm", "cuda_utils.so")
    assert add_driver_modules(tmp_path / "warm") == ["cuda_utils"]
    (tmp_path / "outside").mkdir()
    for entry in (tmp_path / "warm").iterdir():
        if entry.is_dir() and entry.name not in (tmp_path / "warm" / MANIFEST).read_text():
            (entry / "cuda_utils.so").unlink()
            entry.rmdir()
            entry.symlink_to(tmp_path / "outside")
    assert add_driver_modules(tmp_path / "warm") == []
    assert not list((tmp_path / "outside").iterdir())


def test_relocate_and_a_build_leave_folders_that_entries_link_to(tmp_path: Path) -> None:
    outside, warm = tmp_path / "outside", tmp_path / "warm"
    outside.mkdir()
    warm.mkdir()
    group = outside / "__grp__k.json"
    group.write_text('{"child_paths": {"k.json": "/elsewhere"}}')
    (outside / "tmp.mine").touch()
    (warm / ENTRY).symlink_to(outside)
    assert relocate(warm) == (0, 0)
    clean(warm, [])
    assert "/elsewhere" in group.read_text()
    assert (outside / "tmp.mine").exists()


def test_relocate_writes_through_no_link_of_its_temporary_name(tmp_path: Path) -> None:
    entry, outside = tmp_path / "warm" / ENTRY, tmp_path / "outside"
    entry.mkdir(parents=True)
    (entry / "__grp__k.json").write_text('{"child_paths": {"k.json": "/elsewhere"}}')
    (entry / f"tmp.{os.getpid()}.__grp__k.json").symlink_to(outside)
    assert relocate(tmp_path / "warm") == (1, 1)
    assert not outside.exists()


@pytest.mark.parametrize(
    "text",
    [
        *("null", "[]", '{"stubs": [{}]}', '{"stubs": [1]}'),
        pytest.param("[" * 100_000, id="nested"),
    ],
)
def test_relocate_reports_no_error_of_a_manifest(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    assert add_driver_modules(tmp_path) == []


def test_pipes_in_a_folder_block_nothing(tmp_path: Path) -> None:
    entry = tmp_path / ENTRY
    entry.mkdir()
    os.mkfifo(entry / "__grp__k.json")
    os.mkfifo(tmp_path / MANIFEST)
    assert relocate(tmp_path) == (1, 0)
    assert add_driver_modules(tmp_path) == []
    assert not is_whole(entry, "k")
    with pytest.raises(UserError, match="named pipe"):
        read_manifest(tmp_path)


def test_verify_reads_no_source_file_without_end(tmp_path: Path) -> None:
    large = tmp_path / "large.py"
    with large.open("wb") as file:
        file.truncate(1 << 40)
    assert find_changes(HashedFunction("k", str(large), 1, "0")) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("kernel", "../../k"), ("target", "--remember"), ("target", "cuda:1"), ("folder", "../up")],
)
def test_a_manifest_with_hostile_names_is_one_line(tmp_path: Path, name: str, value: str) -> None:
    entry = {
        "kernel": "k", "target": "cuda:90", "specialization": [], "config": "", "folder": ENTRY, "hash": "0",
        "size": 0, "types": [], "components": {}, "sources": [], "inputs": [],
    }  # fmt: skip
    texts = dict.fromkeys(("irscope", "created", "command", "at", "extension", "platform", "triton_path"), "")
    lists: dict[str, object] = {key: [] for key in ("library_dirs", "libhip", "sources", "stubs")}
    document = {"format": 1, **texts, **lists, "versions": {}, "common": {}, "choices": {}}
    (tmp_path / MANIFEST).write_text(json.dumps({**document, "entries": [entry]}))
    assert read_manifest(tmp_path) is not None
    (tmp_path / MANIFEST).write_text(json.dumps({**document, "entries": [{**entry, name: value}]}))
    with pytest.raises(UserError, match="not a manifest"):
        read_manifest(tmp_path)
    (tmp_path / MANIFEST).write_text(json.dumps({**document, "entries": [], "choices": {"../../x": []}}))
    with pytest.raises(UserError, match="not a manifest"):
        read_manifest(tmp_path)


def test_the_script_of_the_folder_has_no_other_imports_than_pythons(tmp_path: Path) -> None:
    script = tmp_path / "relocate.py"
    script.write_bytes(Path(relocating.__file__).read_bytes())
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(script)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("0 kernels, 0 relocated")
