# ruff: noqa
# mypy: ignore-errors
"""The part of a reproducer's script that is the same for all; `script.py` replaces what is above the line.

It runs under Triton 3.6 to 3.9, without irscope.
"""

NAME, TARGET, ENVIRONMENT, GLUON = "kernel", ("cuda", 90, 32), {}, False
RECORDED = {"registers": None, "code": None, "failure": None}
GRID, ARGUMENTS, UNALIGNED, PLACES = (1, 1, 1), {}, (), {}


def call():
    return {"fn": None, "signature": {}, "constexprs": {}, "attrs": {}}, {}


# ---
import argparse
import contextlib
import hashlib
import io
import json
import os
import re
import struct
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
LOADED = (".text", ".rodata", ".data", ".nv.constant", ".nv.global", ".nv.shared")


class NoGpu:
    """Describes the target to code that asks for it while the kernel is compiled."""

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget(*TARGET)

    def get_current_device(self):
        return 0


def compile_kernel():
    """Compile the kernel with the recorded arguments; return it and the log of ptxas."""
    os.environ.update(ENVIRONMENT)
    sys.path.insert(0, str(FOLDER))
    import triton
    from triton import knobs
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    if GLUON:
        from triton.experimental.gluon._runtime import GluonASTSource as Source
    else:
        from triton.compiler import ASTSource as Source
    import kernel as functions

    for name, (file, line) in PLACES.items():  # device_assert has them in the machine code
        function = getattr(functions, name)
        skipped = [source_line.strip().startswith("def ") for source_line in function.raw_src].index(True)
        function.fn.__code__ = function.fn.__code__.replace(co_filename=file)
        function.file_name, function.def_file_line_number = file, line
        function.starting_line_number = line - skipped
    before = driver._active
    driver.set_active(NoGpu())
    log = io.StringIO()
    knobs.nvidia.dump_ptxas_log = knobs.compilation.always_compile = True
    try:
        source, options = call()
        with contextlib.redirect_stdout(log):
            kernel = triton.compile(Source(**source), target=GPUTarget(*TARGET), options=options)
    finally:
        driver._active = before
    return kernel, log.getvalue()


def code_hash(binary):
    """sha256 of what the device loads of a cubin or code object: no debug information, no names."""
    (offset,), (size, number, names) = (
        struct.unpack_from("<Q", binary, 40),
        struct.unpack_from("<3H", binary, 58),
    )
    headers = [struct.unpack_from("<IIQQQQIIQQ", binary, offset + i * size) for i in range(number)]
    digest = hashlib.sha256()
    for name, kind, _, _, start, length, *_ in headers:
        position = headers[names][4] + name
        text = binary[position : binary.index(b"\0", position)].decode()
        prefix = next((section for section in LOADED if text.startswith(section)), None)
        if prefix:
            digest.update(f"{prefix} {length}\n".encode())
            digest.update(b"" if kind == 8 else binary[start : start + length])
    return digest.hexdigest()


def facts(asm, log):
    """Registers per thread, bytes of spill stores and loads (AMD: spilled registers), and the code's hash."""
    if "cubin" in asm:
        used, spilled = re.findall(r"Used (\d+) registers", log), re.findall(r"(\d+) bytes spill", log)
        registers = int(used[-1]) if used else None
        spills = sum(map(int, spilled[-2:])) if spilled else None
        return {"registers": registers, "spill_bytes": spills, "code": code_hash(asm["cubin"])}
    number = {name: int(value) for name, value in re.findall(r"\.(\w+_count): +(\d+)", asm["amdgcn"])}
    spills = number.get("vgpr_spill_count", 0) + number.get("sgpr_spill_count", 0)
    registers, code = number.get("vgpr_count"), code_hash(asm["hsaco"])
    return {"registers": registers, "spilled_registers": spills, "code": code}


def argument(name, spec, aligned, torch):
    """Return a new argument like a recorded one: floats are random, integers 0, a safe index."""
    if isinstance(spec, dict) and "block" in spec:
        from triton.tools.tensor_descriptor import TensorDescriptor

        base = argument(name, spec["base"], True, torch)
        return TensorDescriptor(base, list(base.shape), list(base.stride()), spec["block"])
    if isinstance(spec, tuple):
        return tuple(argument(name, item, aligned, torch) for item in spec)
    if not isinstance(spec, dict):
        return spec
    dtype, offset = getattr(torch, spec["dtype"]), 0 if aligned else 1
    size = offset + 1 + sum((n - 1) * abs(s) for n, s in zip(spec["shape"], spec["strides"]) if n)
    if dtype.is_floating_point:
        buffer = torch.randn(size, device="cuda").to(dtype)
    else:
        buffer = torch.zeros(size * dtype.itemsize, dtype=torch.uint8, device="cuda").view(dtype)
    return buffer.as_strided(spec["shape"], spec["strides"], offset)


def tensors(arguments):
    """Yield the tensors of arguments by name, those of descriptors and tuples too."""
    for name, value in arguments:
        if hasattr(value, "data_ptr"):
            yield name, value
        elif hasattr(value, "base"):
            yield name, value.base
        elif isinstance(value, tuple):
            yield from tensors((f"{name}.{index}", item) for index, item in enumerate(value))


def memory(tensor):
    """Return the elements of its memory, from the first to the last."""
    size = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride())) if tensor.numel() else 0
    return tensor.as_strided((size,), (1,), tensor.storage_offset())


def launch(kernel):
    """Launch the kernel once; return True if all tensors are then as recorded, or none were."""
    import torch
    import triton

    values = FOLDER / "values.pt"
    recorded = torch.load(values, weights_only=True) if values.exists() else {"before": {}, "after": {}}
    torch.manual_seed(0)
    launch_arguments = {
        name: argument(name, spec, name not in UNALIGNED, torch) for name, spec in ARGUMENTS.items()
    }
    named_tensors = dict(tensors(launch_arguments.items()))
    for name, value in recorded["before"].items():
        if name in named_tensors:
            memory(named_tensors[name]).copy_(value)
    for name, first in recorded.get("same", {}).items():  # one tensor, passed twice
        if name in launch_arguments:
            launch_arguments[name] = launch_arguments[first]
    if hasattr(triton, "set_allocator"):
        triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    kernel[GRID](*launch_arguments.values())
    torch.cuda.synchronize()
    return all(
        [
            report(name, memory(value), recorded["after"].get(name), torch)
            for name, value in named_tensors.items()
        ]
    )


def report(name, value, wanted, torch):
    """Prints a tensor's hash, and how far it is from the recorded one; False if that is too far."""
    bits = value.view(torch.uint8)
    line = f"{name}: sha256 {hashlib.sha256(bits.cpu().numpy().tobytes()).hexdigest()[:16]}"
    close = same = wanted is None or torch.equal(bits.cpu(), wanted.view(torch.uint8))
    if not same:
        a, b = value.double(), wanted.to(value.device).double()
        close = torch.allclose(a, b, rtol=1e-2, atol=1e-3, equal_nan=True)
        line += f", differs by at most {(a - b).abs().nan_to_num().max():.3g} from the recorded one"
    print(line if wanted is None or not same else line + ", as recorded")
    return close


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launch", action="store_true", help="also launch the kernel on this machine's GPU")
    parser.add_argument("--dump", metavar="FOLDER", type=Path, help="write every stage into FOLDER")
    args = parser.parse_args()
    try:
        kernel, log = compile_kernel()
    except Exception as error:
        if not RECORDED["failure"]:
            raise
        same = type(error).__name__ == RECORDED["failure"]
        print(f"{type(error).__name__}: {error}\nrecorded: {RECORDED['failure']}")
        return 0 if same else 1
    if args.dump:
        args.dump.mkdir(parents=True, exist_ok=True)
        for stage, content in kernel.asm.items():
            content = content if isinstance(content, bytes) else str(content).encode()
            (args.dump / f"{NAME}.{stage}").write_bytes(content)
        (args.dump / f"{NAME}.log").write_text(log)
        (args.dump / f"{NAME}.json").write_text(json.dumps(kernel.metadata._asdict(), default=str))
    compiled_facts = facts(kernel.asm, log)
    for fact, value in compiled_facts.items():
        print(
            f"{fact}: {value}" + ("" if value == RECORDED.get(fact) else f", recorded: {RECORDED.get(fact)}")
        )
    same = compiled_facts["code"] == RECORDED["code"]
    print("same machine code as recorded" if same else "NOT the machine code that was recorded")
    if args.launch and ARGUMENTS is None:
        parser.error("how the program launched this variant is unknown: capture it with irscope run")
    return 0 if (not args.launch or launch(kernel)) and same else 1


if __name__ == "__main__":
    sys.exit(main())
