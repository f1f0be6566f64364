"""Importing a real cache gives what was compiled; malformed entries are skipped."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from irscope.model import Benchmark, Variant
from irscope.store import CaptureReader, variant_names
from tests.conftest import Irscope
from tests.importers.conftest import PLAIN, Compiled
from tests.importers.entries import metadata, stage, write_entry
from tests.store.stored_facts import by_variant


def variants(path: Path) -> list[Variant]:
    with CaptureReader(path) as capture:
        return capture.variants()


def by_hash(path: Path) -> dict[str, Variant]:
    return {variant.metadata["hash"]: variant for variant in variants(path)}


def runtime(variant: Variant) -> list[tuple[str, str, str | None]]:
    return [(a.name, a.type, a.key) for a in variant.specialization if a.type != "constexpr"]


@pytest.mark.slow
def test_importing_a_real_cache_gives_what_was_compiled(irscope: Irscope, tmp_path: Path, compiled: Compiled):
    done = irscope("import", str(compiled.cache), "-o", "x.irscope")
    assert done.returncode == 0, done.stderr
    assert "8 variants of 1 kernel from a Triton cache" in done.stdout
    assert "constexpr values" in done.stderr
    made, imported = by_hash(compiled.capture), by_hash(tmp_path / "x.irscope")
    assert set(imported) == set(made)
    for key, new in imported.items():
        old = made[key]
        assert new.artifacts == old.artifacts
        assert new.target == old.target
        assert runtime(new) == runtime(old)
        assert new.metadata == old.metadata
        assert new.config.get("num_warps") == old.config.get("num_warps")
        # tl.arange(0, BLOCK) reveals BLOCK; nothing in the IR reveals EVEN and FACTOR.
        assert new.config.meta == {"BLOCK": old.config.get("BLOCK")}
        assert new.kernel.source == old.kernel.source
        assert new.kernel.parameters == old.kernel.parameters
        assert (new.log, new.seconds) == (old.log, old.seconds)
    assert new.toolchain.versions["imported from"] == "Triton cache"


@pytest.mark.slow
def test_a_dump_folder_is_read_without_metadata(irscope: Irscope, tmp_path: Path, compiled: Compiled):
    done = irscope("import", str(compiled.dump), "-o", "x.irscope")
    assert done.returncode == 0, done.stderr
    assert "from a TRITON_KERNEL_DUMP folder" in done.stdout
    assert "num_stages" in done.stderr
    made = {variant.artifacts["ttgir"].digest: variant for variant in variants(compiled.capture)}
    found = variants(tmp_path / "x.irscope")
    # Its folders do not depend on options or targets: the last num_warps and target remain.
    assert 0 < len(found) < 8
    for new in found:
        old = made[new.artifacts["ttgir"].digest]
        assert set(new.artifacts) == set(old.artifacts) - {"source"}
        assert new.target == old.target
        assert new.config.get("num_warps") == old.config.get("num_warps")
        assert runtime(new) == runtime(old)


@pytest.mark.slow
def test_no_file_is_read_twice_and_none_outside(tmp_path: Path, compiled: Compiled):
    from irscope.cli.main import main

    opened: list[str] = []
    watching = True

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open":
            opened.append(str(arguments[0]))

    sys.addaudithook(hook)
    main(["import", str(compiled.cache), "-o", str(tmp_path / "x.irscope")])
    watching = False
    below = [path for path in opened if path.startswith(str(compiled.cache))]
    assert len(below) == len(set(below)) > 8 * 6
    assert opened.count(str(PLAIN)) == 1


@pytest.mark.slow
def test_source_that_was_edited_since_is_not_used(irscope: Irscope, tmp_path: Path, compiled: Compiled):
    cache = tmp_path / "cache"
    shutil.copytree(compiled.cache, cache)
    moved = tmp_path / "plain.py"
    moved.write_text("# one more line\n" + PLAIN.read_text())
    for path in [*cache.glob("*/*.source"), *cache.glob("*/*.ttir")]:
        path.write_text(path.read_text().replace(str(PLAIN), str(moved)))
    done = irscope("import", str(cache), "-o", "x.irscope")
    assert "no Python source (deleted, or changed since) for 1 kernel: scale" in done.stderr
    found = variants(tmp_path / "x.irscope")
    assert {variant.kernel.source.text for variant in found} == {""}
    assert {variant.kernel.source.file for variant in found} == {str(moved)}
    # The sizes of the ranges still distinguish the configs.
    assert {variant.config.get("arange") for variant in found} == {64, 128}


def test_malformed_entries_are_skipped(irscope: Irscope, tmp_path: Path):
    cache, secret = tmp_path / "cache", tmp_path / "secret"
    write_entry(cache, "GOOD")
    (write_entry(cache, "BADJSON") / "add_kernel.json").write_bytes(b"\xff\x00{{{")
    (write_entry(cache, "DEEP") / "add_kernel.json").write_text("[" * 100_000)
    (write_entry(cache, "GARBAGE") / "add_kernel.ttir").write_bytes(os.urandom(5000))
    write_entry(cache, "TARGET", target={"backend": "abacus", "arch": "\x1b[31m"})
    write_entry(cache, "COUNT", num_warps="many")
    write_entry(cache, "NAME", name="x" * 100_000)
    write_entry(cache, "SURROGATE", name="\ud800\x1b[31m")
    (write_entry(cache, "NOJSON") / "add_kernel.json").unlink()
    secret.write_bytes(stage("ptx"))
    linked = write_entry(cache, "LINKED") / "add_kernel.ptx"
    linked.unlink()
    linked.symlink_to(secret)
    (cache / "LOOP").symlink_to(cache)
    (cache / "FIFO").mkdir()
    os.mkfifo(cache / "FIFO" / "add_kernel.json")
    (cache / "GOOD" / "tmp.pid_1_x").mkdir()
    done = irscope("import", str(cache), "-o", "x.irscope")
    assert done.returncode == 1
    assert "\x1b" not in done.stderr
    assert done.stderr.count("skipped") == 6  # five by name, and how many more
    assert "skipped 2 more" in done.stderr
    found = variants(tmp_path / "x.irscope")
    assert len(found) == 3
    linked_variant = next(v for v in found if v.metadata["hash"] == metadata("LINKED")["hash"])
    assert set(linked_variant.artifacts) == {"ttir"}
    for words in (["list"], ["table"], ["show", "--stage", "ttir"]):
        shown = irscope(words[0], "x.irscope", *(["#1"] if words[0] == "show" else []), *words[1:])
        assert shown.returncode == 0, shown.stderr
        assert "\x1b" not in shown.stdout


def test_variants_with_identical_configs_are_all_kept_under_different_names(irscope: Irscope, tmp_path: Path):
    cache = tmp_path / "cache"
    for key in ("FIRSTONE", "SECONDONE", "THIRDONE"):
        write_entry(cache, key)
    write_entry(cache, "OTHER", block=256)
    assert irscope("import", str(cache), "-o", "x.irscope").returncode == 0
    found = variants(tmp_path / "x.irscope")
    assert len(set(variant_names(found).values())) == len(found) == 4
    assert sum(variant.config.get("cache") is not None for variant in found) == 2
    assert sorted(v.config.get("arange") for v in found) == [256, 1024, 1024, 1024]


def test_resume_adds_only_what_is_new(irscope: Irscope, tmp_path: Path):
    cache = tmp_path / "cache"
    write_entry(cache, "A")
    write_entry(cache, "B")
    assert irscope("import", str(cache)).returncode == 0
    write_entry(cache, "C")
    again = irscope("import", str(cache), "--resume")
    assert "1 variant of 1 kernel" in again.stdout
    assert "2 already there" in again.stdout
    assert len(variants(tmp_path / "cache.irscope")) == 3
    assert irscope("import", str(cache)).returncode == 2


def test_an_autotuners_times_belong_to_the_only_variant_that_fits(irscope: Irscope, tmp_path: Path):
    cache = tmp_path / "cache"
    write_entry(cache, "A", num_warps=4)
    write_entry(cache, "B", num_warps=8)
    write_entry(cache, "C", num_warps=2)
    write_entry(cache, "D", num_warps=2, num_stages=2)
    (cache / "TUNED").mkdir()
    rows = [
        [{"kwargs": {"BLOCK_SIZE": 1024}, "num_warps": warps, "num_stages": stages}, times]
        for warps, stages, times in ((4, 3, [0.5, 0.4, 0.6]), (8, 3, [0.25, 0.2, 0.3]), (2, None, [1, 1, 1]))
    ]
    rows.append([{"kwargs": {}, "num_warps": 16}, [float("inf")] * 3])
    results = {"key": [4096, "torch.float16"], "configs_timings": rows}
    (cache / "TUNED" / "add_kernel.autotune.json").write_text(json.dumps(results))
    done = irscope("import", str(cache), "-o", "x.irscope")
    assert "2 with measured times" in done.stdout
    times = {(v.config.get("num_warps"), v.config.get("num_stages")): v.benchmarks for v in
             variants(tmp_path / "x.irscope")}  # fmt: skip
    key = "4096, torch.float16"
    assert times == {
        (4, 3): (Benchmark(key, 0.5, 0.4, 0.6),),
        (8, 3): (Benchmark(key, 0.25, 0.2, 0.3, chosen=True),),
        (2, 3): (),  # two variants fit: which one was measured is not known
        (2, 2): (),
    }


@pytest.mark.parametrize("content", ["nothing", "text", "binary"])
def test_a_path_that_cannot_be_imported_gives_one_line(irscope: Irscope, tmp_path: Path, content: str):
    path = tmp_path / content
    if content == "nothing":
        path.mkdir()
    else:
        path.write_bytes(b"hello\n" if content == "text" else b"\x1f\x8b" + os.urandom(500))
    done = irscope("import", str(path))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("*.irscope"))


def test_any_target_is_kept_and_shown_without_occupancy(irscope: Irscope, tmp_path: Path):
    cache = tmp_path / "cache"
    targets = {"hip:gfx908": 64, "hip:gfx1030": 32, "cuda:61": 32}
    for name, threads in targets.items():
        backend, _, arch = name.partition(":")
        described = {"backend": backend, "arch": int(arch) if backend == "cuda" else f"{arch}:xnack-"}
        write_entry(cache, name, target=described | {"warp_size": threads}, shared=1024)
    write_entry(cache, "nonsense", target={"backend": "cuda", "arch": "../90"})
    done = irscope("import", "cache", "-o", "x.irscope")
    assert done.returncode == 1
    assert "unknown target 'cuda:../90'" in done.stderr
    found = {str(variant.target): variant.target.warp_size for variant in variants(tmp_path / "x.irscope")}
    assert found == targets
    with CaptureReader(tmp_path / "x.irscope") as capture:
        facts = by_variant(capture.fact_blocks())
    assert len(facts) == 3, "measured with the import"
    table = irscope("table", "x.irscope", "--format", "csv")
    assert table.returncode == 0, table.stderr
    assert all(name in table.stdout for name in targets)
    assert irscope("show", "x.irscope", "#1", "--stage", "ttir").returncode == 0


@pytest.mark.slow
def test_an_import_matches_the_capture_that_compiled_it(irscope: Irscope, tmp_path: Path):
    words = ("compile", f"{PLAIN}::looped", "--signature", "*fp32:16, i32", "--config", "BLOCK=64,128")
    cold = {"TRITON_CACHE_DIR": str(tmp_path / "cold")}
    for name, environment in (("plain", {}), ("unoptimized", {"DISABLE_LLVM_OPT": "1"})):
        done = irscope(*words, "-o", f"{name}.irscope", **cold, **environment)
        assert done.returncode == 0, done.stderr
    assert irscope("import", "cold", "-o", "imported.irscope").returncode == 0
    for name in ("plain", "unoptimized"):
        for pair in ((f"{name}.irscope", "imported.irscope"), ("imported.irscope", f"{name}.irscope")):
            shown = irscope("diff", *pair).stdout
            assert "2 with identical machine code" in shown
            assert "differ in DISABLE_LLVM_OPT: " in shown
    merged = irscope("merge", "plain.irscope", "imported.irscope", "-o", "all.irscope")
    assert merged.returncode == 0
    why = irscope("why", "all.irscope", "#1", "DISABLE_LLVM_OPT=1,BLOCK=64").stdout
    assert "environment variable DISABLE_LLVM_OPT: unset -> 1" in why
    assert "num_warps" not in why.partition("What changed")[0].partition("Why it was")[2]
