"""Compiles the spaces with any Triton without a GPU, and launches the machine code where there is one, without Triton.

    PYTHONPATH=FOLDER_OF_A_TRITON:. python -m tests.truth.bits.elsewhere compile --output kernels [--configs N] [GLOB ...]
    python -m tests.truth.bits.elsewhere launch kernels/*.pickle.xz --output launched.jsonl
    python -m tests.truth.bits.elsewhere join kernels/3.8.0.pickle.xz launched.jsonl --output measured/triton38.jsonl.xz

The second command needs torch, irscope and a GPU. The third writes the lines that `predict.py --file` reads.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import lzma
import multiprocessing
import os
import pickle
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.truth.bits.space import Config, Grid, Space
from tests.truth.bits.spaces import spaces

_METADATA = (
    "name", "shared", "num_warps", "num_ctas", "launch_cooperative_grid", "launch_pdl", "global_scratch_size",
    "profile_scratch_size", "tensordesc_meta", "enable_fp_fusion",
)  # fmt: skip


@dataclass(frozen=True)
class Compiled:
    """A config of a space, compiled: what a launch needs, and the TTGIR that a prediction reads."""

    space: str
    config: Config
    grid: Grid
    types: Sequence[Any]
    metadata: Mapping[str, Any]
    cubin: bytes
    ttgir: str


class NoGpu:
    """Describes an H100 or H200 to Triton."""

    def get_current_target(self) -> Any:
        """Return the target of all kernels."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        """Return the only device."""
        return 0

    def get_current_stream(self, _device: int) -> int:
        """Return the default stream."""
        return 0


def _compile(task: tuple[str, int]) -> Compiled | str:
    import torch
    from triton.runtime import driver

    torch.set_num_threads(1)
    driver.set_active(NoGpu())  # type: ignore[arg-type]
    name, index = task
    space = _space(name)
    config = space.configs[index]
    arguments = space.arguments(space.tensors("cpu"), config)
    grid = space.grid(config)
    try:
        kernel = space.kernel.warmup(*arguments, grid=grid, **config)
    except Exception as error:  # noqa: BLE001 - whatever Triton raises
        return f"{name} {config}: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    metadata = {item: getattr(kernel.metadata, item, None) for item in _METADATA}
    types = list(kernel.src.signature.values())
    return Compiled(name, config, grid, types, metadata, kernel.asm["cubin"], kernel.asm["ttgir"])


def _space(name: str) -> Space:
    return next(space for space in spaces([name]))


def compile_spaces(names: Sequence[str], most: int | None, output: Path, jobs: int) -> None:
    """Compile about `most` configs of each space, and print what does not compile."""
    import triton

    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    os.environ.setdefault("TRITON_CACHE_DIR", str(output / "cache"))
    tasks = []
    for space in spaces(names):
        step = max(1, len(space.configs) // most) if most else 1
        tasks += [(space.name, index) for index in range(0, len(space.configs), step)]
    file = output / f"{triton.__version__}.pickle.xz"
    with lzma.open(file, "wb") as written, multiprocessing.get_context("fork").Pool(jobs) as pool:
        for count, answer in enumerate(pool.imap(_compile, tasks, chunksize=4), 1):
            if isinstance(answer, str):
                print(answer, flush=True)
            else:
                pickle.dump(vars(answer), written)
            if count % 100 == 0:
                print(f"{count} of {len(tasks)}", flush=True)


def read_compiled(file: Path) -> Iterator[Compiled]:
    """Yield what `compile_spaces` has written."""
    with lzma.open(file) as content, contextlib.suppress(EOFError):
        while True:
            yield Compiled(**pickle.load(content))


def _launch_space(name: str, kernels: Sequence[tuple[str, Compiled]]) -> list[dict[str, Any]]:
    """Launch kernels of a space, each with the file that has it; return a line for each launch."""
    from tests.truth.bits.launching import Launcher, use_scratch_memory

    use_scratch_memory("cuda")
    launcher = Launcher(_space(name))
    lines = []
    for file, compiled in kernels:
        line = {"file": file, "kernel": name, "config": compiled.config, "grid": compiled.grid}
        try:
            line |= _launch_compiled(launcher, compiled)
        except Exception as error:  # noqa: BLE001 - too much shared memory, an illegal address
            line["error"] = " ".join(str(error).split())[:200]
        lines.append(line)
    return lines


def _launch_compiled(launcher: Any, compiled: Compiled) -> dict[str, Any]:
    import torch

    from irscope.compiling.edits.launch_child import compiled_kernel

    metadata = {
        **compiled.metadata,
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
        "global_scratch_align": 128,
        "profile_scratch_align": 128,
    }
    names = [parameter.name for parameter in launcher.space.kernel.params]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kernel.cubin").write_bytes(compiled.cubin)
        Path(folder, "kernel.json").write_text(json.dumps(metadata))
        kernel = compiled_kernel(Path(folder), dict(zip(names, compiled.types, strict=True)))
    arguments = launcher.arguments(compiled.config)
    values = [*arguments, *[None] * (len(names) - len(arguments))]
    grid = (*compiled.grid, 1, 1)[:3]
    line: dict[str, Any] = launcher.bits(lambda: kernel[grid](*values))
    return line | {"arguments": launcher.described(compiled.config), "device": torch.cuda.get_device_name()}


def launch_files(files: Sequence[Path], output: Path, jobs: int, seconds: float) -> None:
    """Launch what was compiled, each space in a process of its own, and append a line for each launch."""
    deadline = time.monotonic() + seconds
    kernels: dict[str, list[tuple[str, Compiled]]] = defaultdict(list)
    for file in files:
        for compiled in read_compiled(file):
            kernels[compiled.space].append((file.name, compiled))
    context = multiprocessing.get_context("fork")
    with context.Pool(jobs, maxtasksperchild=1) as pool, output.open("w") as written:
        answers = {
            name: pool.apply_async(_launch_space, (name, members)) for name, members in kernels.items()
        }
        for name, answer in answers.items():
            try:
                lines = answer.get(max(1.0, deadline - time.monotonic()))
            except Exception as error:  # noqa: BLE001 - it took too long, or could not start
                print(f"{name}: {type(error).__name__}: {error}", flush=True)
                continue
            written.writelines(json.dumps(line) + "\n" for line in lines)
            written.flush()


def joined(compiled: Sequence[Compiled], lines: Sequence[Mapping[str, Any]], triton: str) -> Iterator[str]:
    """Yield the lines that `predict.py` reads: each stage once, before the first launch that has it."""
    stages: set[str] = set()
    numbers: dict[str, dict[str, int]] = defaultdict(dict)
    modules = {json.dumps([item.space, item.config]): item for item in compiled}
    for line in lines:
        if "error" in line:
            continue
        item = modules[json.dumps([line["kernel"], line["config"]])]
        stage = hashlib.sha256(item.ttgir.encode()).hexdigest()[:12]
        if stage not in stages:
            stages.add(stage)
            yield json.dumps({"stage": stage, "ttgir": item.ttgir}) + "\n"
        bits = json.dumps([line["outputs"], line["bits"]])
        classes = numbers[line["kernel"]]
        record = {
            "kernel": line["kernel"],
            "config": line["config"],
            "grid": line["grid"],
            "fusion": bool(item.metadata["enable_fp_fusion"]),
            "class": classes.setdefault(bits, len(classes)),
            "repeatable": all(again == line["bits"] for again in line["again"]),
            "arguments": dict(_predicted_arguments(line["arguments"])),
            "stage": stage,
            "triton": triton,
        }
        yield json.dumps(record) + "\n"


def _predicted_arguments(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what a prediction needs of the arguments: numbers, descriptors, and which tensors are the same."""
    for name, value in arguments.items():
        if isinstance(value, int | float):
            yield name, value
        elif isinstance(value, dict) and value.get("block"):
            yield name, {key: value[key] for key in ("shape", "strides", "same_as") if key in value}
        elif isinstance(value, dict) and "same_as" in value:
            yield name, {"same_as": value["same_as"]}


def join(file: Path, launched: Path, output: Path) -> None:
    """Write the launches of one version's kernels, with their TTGIR."""
    lines = [json.loads(text) for text in launched.read_text().splitlines()]
    triton = file.name.removesuffix(".pickle.xz")
    with lzma.open(output, "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME) as written:
        members = [line for line in lines if line["file"] == file.name]
        written.writelines(joined(list(read_compiled(file)), members, triton))


def main() -> int:
    """Compile, launch or join."""
    parser = argparse.ArgumentParser("python -m tests.truth.bits.elsewhere")
    commands = parser.add_subparsers(dest="command", required=True)
    compiling, launching, joining = (commands.add_parser(name) for name in ("compile", "launch", "join"))
    compiling.add_argument("names", nargs="*", default=["*"], metavar="GLOB")
    compiling.add_argument("--configs", type=int, help="only about CONFIGS configs of each space")
    launching.add_argument("files", nargs="+", type=Path)
    launching.add_argument("--seconds", type=float, default=300)
    joining.add_argument("file", type=Path)
    joining.add_argument("launched", type=Path)
    for command in (compiling, launching, joining):
        command.add_argument("--output", type=Path, required=True)
        command.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if options.command == "launch":
        launch_files(options.files, options.output, options.jobs, options.seconds)
    elif options.command == "join":
        join(options.file, options.launched, options.output)
    else:
        options.output.mkdir(parents=True, exist_ok=True)
        compile_spaces(options.names, options.configs, options.output, options.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
