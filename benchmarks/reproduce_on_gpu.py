"""Launches reproducers of libraries' kernels on a GPU, and compares their results with the libraries' own.

    python benchmarks/reproduce_on_gpu.py CORPUS [--only WORD] [--output FOLDER] [--target cuda:90]

Each program below calls public functions of a library in CORPUS under `irscope run --values`, which keeps
the values of the tensors before and after the first launch of each kernel. Every kernel is then reproduced:
its reproduce.py --launch runs in a process without the library, and the machine code and the tensors must be
those of the library's launch. With --target, nothing is launched: a rehearsal without a GPU.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irscope.model import UserError, Variant
from irscope.reproducing.writing import reproduce
from irscope.store import CaptureReader

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
START = """
import os
import sys
import types

import torch
import torch.nn.functional as F

torch.manual_seed(0)


def package(name):
    # Without its __init__.py, which imports CUDA extensions.
    module = types.ModuleType(name)
    folders = (os.path.join(path, name) for path in sys.path)
    module.__path__ = [folder for folder in folders if os.path.isdir(folder)]
    sys.modules[name] = module


def randn(*shape, dtype=torch.bfloat16, grad=True):
    return torch.randn(*shape, device="cuda", dtype=dtype, requires_grad=grad)


"""
# Library -> the import path in its folder, and programs.
PROGRAMS: dict[str, tuple[str, dict[str, str]]] = {
    "Liger-Kernel": (
        "src",
        {
            "norms": """
from liger_kernel.ops.layer_norm import LigerLayerNormFunction
from liger_kernel.ops.rms_norm import LigerRMSNormFunction
from liger_kernel.ops.group_norm import LigerGroupNormFunction

x, weight, bias = randn(4, 128, 1024), randn(1024), randn(1024)
LigerRMSNormFunction.apply(x, weight, 1e-6).sum().backward()
LigerLayerNormFunction.apply(x, weight, bias, 1e-6).sum().backward()
LigerGroupNormFunction.apply(randn(4, 32, 256), randn(32), randn(32), 32, 8, 1e-6).sum().backward()
""",
            "activations": """
from liger_kernel.ops.geglu import LigerGELUMulFunction
from liger_kernel.ops.rope import LigerRopeFunction
from liger_kernel.ops.swiglu import LigerSiLUMulFunction

LigerSiLUMulFunction.apply(randn(2, 64, 4096), randn(2, 64, 4096)).sum().backward()
LigerGELUMulFunction.apply(randn(2, 64, 4096), randn(2, 64, 4096)).sum().backward()
q, k = randn(2, 8, 128, 64, dtype=torch.float32), randn(2, 4, 128, 64, dtype=torch.float32)
cos, sin = torch.randn(1, 128, 64, device="cuda"), torch.randn(1, 128, 64, device="cuda")
q_out, k_out = LigerRopeFunction.apply(q, k, cos, sin)
(q_out.sum() + k_out.sum()).backward()
""",
            "losses": """
from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction
from liger_kernel.ops.jsd import LigerJSDFunction
from liger_kernel.ops.kl_div import LigerKLDivLossFunction
from liger_kernel.ops.tvd import LigerTVDLossFunction

logits = randn(256, 8000, dtype=torch.float32)
target = torch.randint(0, 8000, (256,), device="cuda")
for call in (
    lambda: LigerCrossEntropyFunction.apply(logits * 1, target, None, -100)[0],
    lambda: LigerJSDFunction.apply(logits.log_softmax(-1), logits.detach().log_softmax(-1).flip(0)),
    lambda: LigerKLDivLossFunction.apply(logits.log_softmax(-1), logits.detach().softmax(-1).flip(0)),
    lambda: LigerTVDLossFunction.apply(logits.softmax(-1), logits.detach().softmax(-1).flip(0)),
):
    call().sum().backward()
""",
        },
    ),
    "flash-linear-attention": (
        "",
        {
            "retention and gla": """
from fla.ops.gla import chunk_gla
from fla.ops.retention import chunk_retention

q, k, v = (randn(1, 256, 4, 64) for _ in range(3))
chunk_retention(q, k, v)[0].sum().backward()
g = F.logsigmoid(torch.randn(1, 256, 4, 64, device="cuda")).requires_grad_()
chunk_gla(q, k, v, g)[0].sum().backward()
""",
            "delta rule": """
from fla.ops.delta_rule import chunk_delta_rule

q, k, v = (randn(1, 256, 4, 64) for _ in range(3))
beta = torch.rand(1, 256, 4, device="cuda", dtype=torch.bfloat16, requires_grad=True)
chunk_delta_rule(q, F.normalize(k, dim=-1), v, beta)[0].sum().backward()
""",
        },
    ),
    "attorch": (
        "",
        {
            "layers": """
import attorch

model = torch.nn.Sequential(
    attorch.Conv2d(16, 32, 3, padding=1), attorch.BatchNorm2d(32), attorch.GELU(), torch.nn.Flatten(),
    attorch.Linear(32 * 16 * 16, 256, act_func="relu"), attorch.LayerNorm(256), attorch.Dropout(0.1),
    attorch.Linear(256, 10),
).cuda()
x = randn(8, 16, 16, 16, dtype=torch.float32)
attorch.CrossEntropyLoss()(model(x), torch.randint(0, 10, (8,), device="cuda")).backward()
""",
        },
    ),
    "FlagAttention": (
        "src",
        {
            "flash attention": """
from flag_attn import flash_attention

q, k, v = (randn(1, 4, 256, 64, dtype=torch.float16) for _ in range(3))
flash_attention(q, k, v, causal=True).sum().backward()
""",
        },
    ),
    "flash-attention": (
        "",
        {
            "norm, rotary and cross entropy": """
package("flash_attn")
from flash_attn.ops.triton.cross_entropy import cross_entropy_loss
from flash_attn.ops.triton.layer_norm import layer_norm_fn
from flash_attn.ops.triton.rotary import apply_rotary

x = randn(256, 1024)
weight, bias = torch.ones(1024, device="cuda", requires_grad=True), randn(1024, dtype=torch.float32)
layer_norm_fn(x, weight, bias, residual=x, prenorm=True)[0].sum().backward()
cos, sin = torch.randn(128, 32, device="cuda"), torch.randn(128, 32, device="cuda")
apply_rotary(torch.randn(2, 128, 4, 64, device="cuda"), cos, sin)
losses, _ = cross_entropy_loss(randn(256, 5000), torch.randint(0, 5000, (256,), device="cuda"))
losses.sum().backward()
""",
        },
    ),
    "mamba": (
        "",
        {
            "state-space scan": """
package("mamba_ssm")
from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined

x, dt = randn(1, 512, 8, 64), torch.rand(1, 512, 8, device="cuda").requires_grad_()
A, D = -torch.rand(8, device="cuda").requires_grad_(), torch.randn(8, device="cuda", requires_grad=True)
B, C = randn(1, 512, 1, 64), randn(1, 512, 1, 64)
mamba_chunk_scan_combined(x, dt, A, B, C, chunk_size=128, D=D, dt_softplus=True).sum().backward()
""",
        },
    ),
    "torch": (
        "",
        {
            "torch.compile": """
@torch.compile
def block(x, w, b):
    h = F.gelu(x @ w + b)
    return F.layer_norm(h, h.shape[-1:]).softmax(-1).sum(0), h.argmax(-1), h.cumsum(0)


block(randn(256, 512, dtype=torch.float32, grad=False), randn(512, 512, dtype=torch.float32, grad=False),
      randn(512, dtype=torch.float32, grad=False))
""",
        },
    ),
}
OUR_SAMPLES = ("vector_add", "layer_norm", "heuristics", "seeded_dropout", "gluon_copy", "persistent_matmul")


@dataclass(frozen=True)
class Launched:
    """A kernel's reproducer: "equal", "close", or what went wrong, and what the script printed last."""

    source: str
    kernel: str
    outcome: str
    line: str = ""


def main() -> None:
    """Captures, reproduces, launches, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--target", default="")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--seconds", type=float, default=600.0, help="for everything; then print what is done"
    )
    parser.add_argument("--program-seconds", type=float, default=300.0, help="for each program")
    args = parser.parse_args()
    started = time.monotonic()
    results: list[Launched] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.output or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        pool, launches = ThreadPoolExecutor(args.jobs), ThreadPoolExecutor(args.jobs)
        programs = [each for each in all_programs(args.corpus) if chosen(each[0], args.only)]
        pending: set[Future[Any]] = {
            pool.submit(capture, *each, folder, args.target, args.program_seconds) for each in programs
        }
        while pending and time.monotonic() - started < args.seconds:
            done, pending = wait(pending, timeout=1.0, return_when=FIRST_COMPLETED)
            for each in done:
                found = each.result()
                if isinstance(found, Launched):
                    results.append(found)
                    line = f"{found.outcome:12} {found.source}: {found.kernel} {found.line}"
                    print(f"{time.monotonic() - started:4.0f} s {line}", flush=True)
                    continue
                for task in kernels(*found):
                    pending.add(launches.submit(launched, *task, folder, bool(args.target)))
        print(summary(results), f"{time.monotonic() - started:.0f} s", f"{len(pending)} not done", sep="; ")
        sys.stdout.flush()
        os._exit(0)


def chosen(source: str, words: Sequence[str]) -> bool:
    """Whether a program is one of those asked for."""
    return not words or any(word in source for word in words)


def all_programs(corpus: Path) -> list[tuple[str, Path | None, str]]:
    """Name, import path and text of each program."""
    found: list[tuple[str, Path | None, str]] = []
    for library, (path, texts) in PROGRAMS.items():
        found += [
            (f"{library}: {name}", corpus / library / path, START + text) for name, text in texts.items()
        ]
    found += [(f"samples: {name}", None, (SAMPLES / f"{name}.py").read_text()) for name in OUR_SAMPLES]
    return found


def capture(
    source: str, path: Path | None, text: str, folder: Path, target: str, seconds: float
) -> tuple[str, Path]:
    """Runs a program with its values; one that takes too long leaves the kernels that it launched so far."""
    name = source.replace(": ", "-").replace(" ", "_").replace(",", "")
    script, made = folder / f"{name}.py", folder / f"{name}.irscope"
    paths = [] if path is None else [str(path)]
    script.write_text(text)
    before = os.environ.get("PYTHONPATH", "")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*paths, *([before] if before else [])])}
    command = [sys.executable, "-m", "irscope", "run", "--values", "--force", "-o", str(made)]
    command += [*(["--target", target] if target else []), str(script)]
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        print(f"{source}: stopped after {seconds:g} s", flush=True)
        return source, made
    last = " | ".join(done.stderr.strip().splitlines()[-3:]) if done.returncode else ""
    print(f"{source}: captured in {time.monotonic() - started:.0f} s {last}", flush=True)
    return source, made


def kernels(source: str, path: Path) -> list[tuple[str, Path, Variant]]:
    """The first launched variant of each kernel of a capture."""
    if not path.exists():
        return []
    found: dict[str, Variant] = {}
    with CaptureReader(path) as reader:
        for variant in reader.variants():
            if variant.failure is None and "values" in reader.attached(variant):
                found.setdefault(variant.kernel.name, variant)
    return [(source, path, variant) for variant in found.values()]


def launched(source: str, path: Path, variant: Variant, folder: Path, rehearsal: bool) -> Launched:
    """Reproduces and launches one kernel."""
    place = (source, variant.kernel.name)
    made = folder / "repro" / f"{path.stem}-{variant.id}"
    try:
        reproducer = reproduce(path, variant, made, force=True, check=rehearsal)
    except UserError as error:
        return Launched(*place, "NOT WRITTEN", str(error))
    if rehearsal:  # else the launch compares the machine code
        return Launched(*place, "equal code" if reproducer.equal else "OTHER CODE", reproducer.outcome)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, str(made / "reproduce.py"), "--launch"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, timeout=60
        )
    except subprocess.TimeoutExpired:
        return Launched(*place, "HANGS")
    return Launched(*place, *outcome(done))


def outcome(done: subprocess.CompletedProcess[str]) -> tuple[str, str]:
    """The outcome of a reproducer in a word or two, and the lines of its output that explain it."""
    lines = [line for line in done.stdout.splitlines() if "sha256" in line]
    far = [line for line in lines if "differs" in line]
    last = (done.stderr or done.stdout).strip()[-200:]
    found = ("close" if far else "equal", "; ".join(far)[:200])
    if "same machine code as recorded" not in done.stdout:
        found = ("OTHER CODE", last)
    elif done.returncode:
        found = ("OTHER RESULT" if far else "FAILED", "; ".join(far)[:200] or last)
    elif not far and not any("as recorded" in line for line in lines):
        found = ("no result", "; ".join(lines)[:200])
    return found


def summary(results: Sequence[Launched]) -> str:
    """The totals."""
    outcomes = Counter(result.outcome for result in results)
    good = [result for result in results if result.outcome in ("equal", "close")]
    libraries = {result.source.partition(":")[0] for result in good} - {"samples"}
    of_libraries = sum(not result.source.startswith("samples") for result in good)
    return (
        f"{len(good)} of {len(results)} reproducers give the recorded results "
        f"({of_libraries} of {len(libraries)} libraries): {dict(outcomes)}"
    )


if __name__ == "__main__":
    main()
