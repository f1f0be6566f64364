"""Checks on a machine with a GPU that a capture made without it has the same variants and stages.

    python -m tools.calibration.gpu_agreement [samples/matmul.py ...]

Runs each script twice, on the GPU and with --target, each with an empty Triton cache, and compares
specializations, configs and the bytes of every stage. Exits with 1 if anything differs.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from irscope.model import Variant
from irscope.store.reader import CaptureReader

SAMPLES = Path(__file__).parents[2] / "samples"
DEFAULT = ("matmul", "layer_norm", "fused_softmax", "vector_add", "heuristics", "persistent_matmul")


def capture(script: Path, folder: Path, name: str, *options: str) -> dict[tuple[str, ...], Variant]:
    """The variants of one run by kernel, specialization and config."""
    path = folder / f"{script.stem}.{name}.irscope"
    cache = folder / f"{script.stem}.{name}.cache"
    done = subprocess.run(
        [sys.executable, "-m", "irscope", "run", "-o", path, *options, script],
        env=os.environ | {"TRITON_CACHE_DIR": str(cache)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    print(f"  {name}: exit code {done.returncode}; {(done.stderr.strip().splitlines() or ['nothing'])[-1]}")
    with CaptureReader(path) as opened:
        return {(v.kernel.name, str(v.specialization), str(v.config)): v for v in opened.variants()}


def main(scripts: list[Path]) -> int:
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for script in scripts:
            print(script)
            gpu = capture(script, Path(folder), "gpu")
            target = str(next(iter(gpu.values())).target)
            cpu = capture(script, Path(folder), "cpu", "--target", target)
            for title, only in (("GPU", gpu.keys() - cpu.keys()), (target, cpu.keys() - gpu.keys())):
                differing += len(only)
                for key in sorted(only):
                    print(f"  only on {title}: {' '.join(key)}")
            both = gpu.keys() & cpu.keys()
            stages: dict[str, int] = {}
            for key in both:
                for stage, artifact in gpu[key].artifacts.items():
                    other = cpu[key].artifacts.get(stage)
                    same = other is not None and other.digest == artifact.digest
                    stages[stage] = stages.get(stage, 0) + same
                    differing += not same
            print(f"  {len(both)} variants in both; byte-identical:", stages, flush=True)
            timed = [b for v in gpu.values() for b in v.benchmarks]
            launched = sum(bool(v.launches) for v in gpu.values())
            chosen = sum(benchmark.chosen for benchmark in timed)
            print(f"  on the GPU: {len(timed)} times, {chosen} chosen, {launched} launched", flush=True)
    print("equal" if not differing else f"{differing} differences")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main([Path(word) for word in sys.argv[1:]] or [SAMPLES / f"{name}.py" for name in DEFAULT]))
