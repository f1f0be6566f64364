"""Compares `irscope.fits` with a GPU's driver, and with full compilations of the spaces in tune/.

    python -m tools.calibration.fits_truth [--truth ../shared/truth] [--captures FOLDER]

`--truth` has the launches that facts_truth.py reads: the driver's answer is whether each failed, and its
shared memory. FOLDER has captures of the programs in tune/, one per group (matmuls.irscope, ...): every
config is allocated again from the kernel's source. Use the version of Triton that made the records.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irscope.model import Config, Target, Variant
from tests.truth.facts_truth import identity, record_source
from tools.calibration.fits import Use, cpu_seconds, use
from tools.calibration.tune.spaces import without_data

H100 = Target("cuda", "90", 32)
# A kernel, its config and the types of its arguments: what a capture and a launch have in common.
Key = tuple[str, Config, tuple[str, ...]]


def allocated(source: Any, options: Any, target: Any) -> Use:
    """The resources that `irscope.fits` finds for Triton's source and parsed options."""
    from irscope.compiling.standalone.source_text import GeneratedTexts, SourceText
    from irscope.jobs.prune.candidate_worker import allocation_of

    text = GeneratedTexts().text(source, options, target)
    written = SourceText(source.name, "", source.ext, source.language.name, text)
    found = allocation_of(written, options, target)
    return use(found.shared, found.tensor_memory, found.warps, H100)


def compare_launches(folder: Path) -> None:
    """The launches of a real GPU: shared memory, and whether they failed."""
    from triton.compiler import make_backend

    lines = (folder / "h200.jsonl").read_text().splitlines()
    records = [record for record in map(json.loads, lines) if "config" in record]
    known: dict[str, Use] = {}
    different = failed = 0
    for record in records:
        key = identity(record)
        if key not in known:
            source, options, target = record_source(folder / "kernels.py", record)
            known[key] = allocated(source, make_backend(target).parse_options(options), target)
        shared, _, _, problem = known[key]
        failed += bool(record["error"])
        expected = int(record["error"].split("Required: ")[1].split(",")[0]) if record["error"] else None
        if (shared, problem is None) != (expected or record["shared"], not record["error"]):
            different += 1
            print(f"{record['kernel']} {record['config']}: fits {known[key]}, the driver {record}")
    print(f"{len(records)} launches ({failed} failed) of {len(known)} variants: {different} different")


def key_of(kernel: str, config: Config, specialization: Any) -> Key:
    """The key of a variant."""
    values = tuple(sorted((name, value) for name, value in config.values))
    return kernel, Config(values), tuple(str(one) for one in specialization if one.type != "constexpr")


def captured(folder: Path, groups: tuple[str, ...]) -> dict[Key, Variant]:
    """The compiled variants of the captures."""
    import irscope

    found = {}
    for group in groups:
        with irscope.open(folder / f"{group}.irscope") as capture:
            for variant in capture.variants:
                if variant.failure is None:
                    found[key_of(variant.kernel.name, variant.config, variant.specialization)] = variant
    return found


def candidates(space: Any) -> Iterator[Any]:
    """The candidates of a space at its first shape, with tensors that have no data."""
    import triton

    from irscope.compiling.toolchain.stub_driver import gpu_target
    from irscope.jobs.prune.candidates import AutotunerCall, candidates_of

    kernel = space.kernel
    with without_data():
        tensors = space.tensors(space.shapes[0])
        for config in space.configs:
            arguments, grid = space.launch(tensors, space.shapes[0], config)
            named = dict(zip(kernel.arg_names, arguments, strict=False))
            options = {name: value for name, value in config.items() if name.startswith("num_")}
            own = triton.Config({k: v for k, v in config.items() if k not in options}, **options)
            yield candidates_of(AutotunerCall(kernel, (), named, grid, gpu_target(H100)), [own])[0]


def compare_spaces(folder: Path) -> None:
    """Every config of tune/ against the metadata of its full compilation."""
    from irscope.compiling.standalone.source_text import GeneratedTexts
    from tools.calibration.tune.measure import GROUPS, spaces

    known, tally = captured(folder, GROUPS), collections.Counter[str]()
    start = cpu_seconds()
    for space in spaces(GROUPS):
        texts = GeneratedTexts()
        for candidate in candidates(space):
            job = candidate.job(0, texts, None, full=False)
            variant = known.get(key_of(job.kernel, job.config, job.specialization))
            if variant is None:
                tally["not captured"] += 1
                continue
            found = variant.metadata
            full = use(found["shared"], found.get("tmem_size"), found["num_warps"], H100)
            early = allocated(candidate.source, candidate.options, candidate.gpu)
            tally["compared"] += 1
            tally["cannot be launched"] += full[3] is not None
            tally["different"] += early != full
            if early != full:
                print(f"{space.name} {candidate.config}: fits {early}, full compilation {full}")
        print(f"{space.name}: {dict(tally)}, {cpu_seconds() - start:.0f} s of CPU", file=sys.stderr)
    print(", ".join(f"{count:,} {what}" for what, count in tally.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description="Compares fits with a GPU's driver and full compilations.")
    parser.add_argument("--truth", type=Path, help="the folder of h200.jsonl")
    parser.add_argument("--captures", type=Path, help="the folder of the captures of tools/calibration/tune")
    options = parser.parse_args()
    if options.truth:
        compare_launches(options.truth)
    if options.captures:
        compare_spaces(options.captures)


if __name__ == "__main__":
    main()
