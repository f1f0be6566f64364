"""Compares facts measured without a GPU with those that a GPU's driver reported, by field.

    python -m tests.truth.facts_truth [TRUTH.jsonl or its folder] [-j N]

Compiles each record's kernel with the installed Triton for the target and the specialization of its
launch, and measures the variant. The kernels are in kernels.py next to the records. Registers and spills
depend on the version of Triton: run it with the version that the records name.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from irscope.facts.measure import measure
from irscope.model import Argument, Config, Kernel, SourceFunction, Toolchain, Variant
from irscope.targets import parse_target

# The record's fields and the facts that must equal them.
FIELDS = {
    "n_regs": "registers",
    "n_spills": "n_spills",
    "local_bytes": "stack",
    "shared": "shared",
    "blocks_per_sm": "blocks_per_sm",
}

Outcome = tuple[dict[str, Any], dict[str, bytes]]


def launch_arguments(record: dict[str, Any]) -> list[tuple[str, int | None]]:
    """The arguments before the meta-parameters: (type, value), pointers without a value."""
    sizes = record["args"]
    if record["kernel"] == "add_kernel":
        return [("*fp32", None)] * 3 + [("i32", sizes[0])]
    if record["kernel"] == "softmax_kernel":
        return [("*fp32", None)] * 2 + [("i32", sizes[1])] * 2
    n = sizes[0]  # contiguous n x n matrices: each has the strides n and 1
    return [("*fp16", None)] * 3 + [("i32", value) for value in (n, n, n, n, 1, n, 1, n, 1)]


def specialize(record: dict[str, Any]) -> tuple[Argument, ...]:
    """The arguments as the JIT specializes them: pointers and multiples of 16 marked, 1 a constant."""
    arguments = []
    for number, (kind, value) in enumerate(launch_arguments(record)):
        if value == 1:
            arguments.append(Argument(str(number), "constexpr", None, 1))
        else:
            arguments.append(Argument(str(number), kind, "D" if value is None or value % 16 == 0 else ""))
    return tuple(arguments)


def record_source(kernels: Path, record: dict[str, Any]) -> tuple[Any, dict[str, Any], Any]:
    """The record's kernel as Triton's source, the options and Triton's target."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    spec = importlib.util.spec_from_file_location("kernels", kernels)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{kernels}: no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, record["kernel"])
    options = {name: value for name, value in record["config"].items() if name.startswith("num_")}
    constants = {name: value for name, value in record["config"].items() if name not in options}
    signature = dict.fromkeys(function.arg_names, "constexpr")
    attributes = {}
    for position, (name, argument) in enumerate(zip(function.arg_names, specialize(record), strict=False)):
        signature[name] = argument.type
        if argument.type == "constexpr":
            constants[name] = argument.value
        elif argument.key == "D":
            attributes[position,] = [["tt.divisibility", 16]]
    values = {(function.arg_names.index(name),): value for name, value in constants.items()}
    target = parse_target(record["target"])
    source = ASTSource(function, signature, values, attributes)
    return source, options, GPUTarget(target.backend, int(target.arch), target.warp_size)


def compile_record(kernels: Path, record: dict[str, Any]) -> Outcome:
    """(metadata, artifacts by stage) of the record's kernel, compiled in this process."""
    import triton

    source, options, target = record_source(kernels, record)
    compiled = triton.compile(source, target=target, options=options)
    metadata = {name: value for name, value in compiled.metadata._asdict().items() if name != "target"}
    artifacts = {
        stage: text.encode() if isinstance(text, str) else bytes(text)
        for stage, text in compiled.asm.items()
        if stage in ("ttgir", "ptx", "cubin")
    }
    return metadata, artifacts


def variant_of(record: dict[str, Any], metadata: dict[str, Any]) -> Variant:
    """The record's launch as a variant of a capture."""
    source = SourceFunction(record["kernel"], "kernels.py", 1, "")
    return Variant(
        id=1,
        kernel=Kernel(1, record["kernel"], source, (), ()),
        target=parse_target(record["target"]),
        specialization=specialize(record),
        config=Config(tuple(record["config"].items())),
        toolchain=Toolchain(1, {"triton": record["triton"]}, ""),
        metadata=metadata,
    )


def identity(record: dict[str, Any]) -> str:
    """A key that is equal for records that one compilation serves."""
    return repr((record["kernel"], record["target"], record["config"], specialize(record)))


def compare(record: dict[str, Any], outcome: Outcome) -> dict[str, tuple[Any, Any]]:
    """Field -> (the driver's answer, irscope's) for one record."""
    metadata, artifacts = outcome
    facts = measure(variant_of(record, metadata), artifacts.get)
    if record.get("error"):
        required = record["error"].partition("Required: ")[2].partition(",")[0]
        return {
            "cannot launch": (True, not facts["launchable"].value.ok),
            "shared": (int(required), facts["shared"].value),
        }
    pairs = {field: (record[field], facts[fact].value) for field, fact in FIELDS.items() if field in record}
    return {**pairs, "cannot launch": (False, not facts["launchable"].value.ok)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("truth", nargs="?", type=Path, default=Path("../shared/truth"))
    parser.add_argument("-j", type=int, default=2, help="worker processes")
    options = parser.parse_args()
    file = options.truth / "h200.jsonl" if options.truth.is_dir() else options.truth
    records = [json.loads(line) for line in file.read_text().splitlines()]
    records = [record for record in records if "config" in record]
    unique = {identity(record): record for record in records}
    started = time.perf_counter()
    with ProcessPoolExecutor(options.j) as pool:
        compiling = [(key, pool.submit(compile_record, file.parent / "kernels.py", record))
                     for key, record in unique.items()]  # fmt: skip
        outcomes = {key: future.result() for key, future in compiling}
    print(f"{len(records)} records, {len(unique)} compilations, {time.perf_counter() - started:.0f} s")
    tally: collections.Counter[tuple[str, bool]] = collections.Counter()
    for record in records:
        for field, (driver, ours) in compare(record, outcomes[identity(record)]).items():
            tally[field, driver == ours] += 1
            if driver != ours:
                print(f"  {record['kernel']} {record['config']}: {field}: driver {driver}, irscope {ours}")
    for field in dict.fromkeys(field for field, _ in tally):
        equal, different = tally[field, True], tally[field, False]
        print(f"{field:14} compared {equal + different:4}  equal {equal:4}  different {different:4}")
    return 1 if any(not equal for _, equal in tally) else 0


if __name__ == "__main__":
    sys.exit(main())
