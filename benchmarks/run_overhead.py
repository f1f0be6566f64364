"""What recording costs on a GPU: the same program alone and under `irscope run`, in turns.

    python benchmarks/run_overhead.py [ROUNDS]

The program times its own compilations (24 of a matmul, an empty cache each time) and 20,000 launches that
compile nothing.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import itertools, json, sys, time
import torch, triton, triton.language as tl
sys.path.insert(0, {samples!r})
from matmul import matmul_kernel

kernel = matmul_kernel.fn
a = torch.randn((512, 512), device="cuda", dtype=torch.float16)
c = torch.empty_like(a)
configs = list(itertools.product((32, 64, 128), (32, 64), (32, 64), (4, 8)))


def launch(m, n, k, warps):
    kernel[(triton.cdiv(512, m) * triton.cdiv(512, n),)](
        a, a, c, 512, 512, 512, 512, 1, 512, 1, 512, 1,
        BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, GROUP_M=8, num_warps=warps)


launch(16, 16, 16, 4)  # what is paid once: the driver, hashing libtriton
torch.cuda.synchronize()
begin = time.perf_counter(), time.process_time()
for config in configs:
    launch(*config)
torch.cuda.synchronize()
compiled = time.perf_counter() - begin[0], time.process_time() - begin[1]
time.sleep(3)  # whoever writes the capture has done so
first = configs[0]
for _ in range(1000):
    launch(*first)
torch.cuda.synchronize()
begin = time.perf_counter()
for _ in range(20000):
    launch(*first)
launched = (time.perf_counter() - begin) / 20000
torch.cuda.synchronize()
print(json.dumps([*compiled, launched * 1e6]))
"""


def once(script: Path, folder: Path, recorded: bool) -> list[float]:
    """Compile time (wall and CPU, seconds) and microseconds a launch."""
    words = ["-m", "irscope", "run", "--force", "-o", str(folder / "x.irscope")] if recorded else []
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, *words, script], env=os.environ | {"TRITON_CACHE_DIR": cache},
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "program.py")
        script.write_text(PROGRAM.format(samples=str(Path(__file__).resolve().parent.parent / "samples")))
        times: dict[bool, list[list[float]]] = {False: [], True: []}
        for _ in range(rounds):
            for recorded in (False, True):
                times[recorded].append(once(script, Path(folder), recorded))
    for index, what in enumerate(("24 compilations, s wall", "24 compilations, s CPU", "a launch, us")):
        alone, under = (statistics.median(row[index] for row in times[r]) for r in (False, True))
        lowest = [min(row[index] for row in times[r]) for r in (False, True)]
        print(
            f"{what}: median {alone:.3f} alone, {under:.3f} recorded ({under / alone - 1:+.2%}); "
            f"least {lowest[0]:.3f}, {lowest[1]:.3f} ({lowest[1] / lowest[0] - 1:+.2%})"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
