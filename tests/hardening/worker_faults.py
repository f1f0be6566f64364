"""Kernel files whose import or variants misbehave in a process of the compiler, among innocent variants."""

from __future__ import annotations

import random
from pathlib import Path

from irscope.compiling.messages import SweepRequest
from irscope.compiling.sweep import compile_plan, planned
from irscope.model import Target, UserError
from irscope.store import CaptureReader, CaptureWriter
from tests.hardening.leftovers import nothing_left

# Statements that must fail the variant, and the kinds of failure that may name them.
FATAL: dict[str, tuple[str, set[str]]] = {
    "exit": ("raise SystemExit(3)", {"SystemExit"}),
    "interrupt": ("raise KeyboardInterrupt", {"KeyboardInterrupt"}),
    "generator": ("raise GeneratorExit", {"GeneratorExit"}),
    "memory": ("raise MemoryError", {"MemoryError"}),
    "allocates": (
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 33, -1)); bytearray(1 << 40)",
        {"MemoryError"},
    ),
    "hard_limit": (
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 31,) * 2); bytearray(1 << 40)",
        {"MemoryError"},
    ),
    "recursion": ("misbehave(specialization)", {"RecursionError"}),
    "no_text": ("raise Mute", {"Mute"}),
    "os_exit": ("os._exit(0)", {"exited"}),
    "os_exit7": ("os._exit(7)", {"exited"}),
    "abort": ("os.abort()", {"aborted"}),
    "segfault": ("ctypes.string_at(0)", {"aborted"}),
    "stack": ("faulthandler._stack_overflow()", {"aborted"}),
    "killed": ("os.kill(os.getpid(), 9)", {"aborted"}),
    "real_time": ("os.kill(os.getpid(), signal.SIGRTMIN + 3)", {"aborted"}),
    "closes_all": ("os.closerange(0, 4096)", {"exited", "aborted", "OSError"}),
    "heuristic": ("pass", {"UserError"}),
}
# Statements that may fail their variant, but no other one.
DISTURBING: dict[str, str] = {
    "closes": "sys.stdout.close(); sys.stderr.close(); os.close(1); os.close(2)",
    "folder": "os.chdir('/')",
    "umask": "os.umask(0o777)",
    "environment": "os.environ.clear()",
    "variable": "os.environ['TRITON_DEFAULT_FP_FUSION'] = '0'",
    "handlers": "signal.signal(signal.SIGCHLD, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "alarm": "signal.alarm(1)",
    "prints": "os.write(1, b'error: printed' + b'x' * 5_000_000)",
    "prints_100_mb": "[os.write(2, b'printed' * 150_000) for _ in range(100)]",
    "thread": "threading.Thread(target=time.sleep, args=(3600,)).start()",
    "late_exit": "threading.Timer(0.01, os._exit, (5,)).start()",
    "fork": "os.fork()",
    "fork_sleeps": "os.fork() or time.sleep(3600)",
    "daemon": "os.fork() or (os.setsid(), os.fork() or time.sleep(3600), os._exit(0))",
    "shell": "os.system('sleep 3600 &')",
    "at_exit": "atexit.register(time.sleep, 3600)",
    "streams": "sys.stdout = sys.stderr = None",
    "recursion_limit": "sys.setrecursionlimit(50)",
}
# Faults of the import of the file that harm no variant.
AT_IMPORT = ("folder", "umask", "handlers", "prints", "thread", "fork", "fork_sleeps", "daemon", "shell", "at_exit",
             "closes", "streams", "variable")  # fmt: skip

_FILE = """
import atexit, ctypes, faulthandler, os, resource, signal, sys, threading, time
import triton
import triton.language as tl

class Mute(Exception):
    def __str__(self):
        raise SystemExit("no text")

def misbehave(specialization):
    how = specialization.constants["HOW"]
    if False: pass
{branches}
    return "kernel"

def heuristic(args):
    if args["HOW"] == "heuristic":
        raise SystemExit("in a heuristic")
    return 1

{at_import}

@triton.heuristics({{"ONE": heuristic}})
@triton.jit(repr=misbehave)
def kernel(x, HOW: tl.constexpr, ONE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets) + ONE)
"""


def kernel_file(at_import: list[str]) -> str:
    """A kernel whose constexpr HOW says how its compilation misbehaves; `at_import` says how its import does."""
    statements = {name: code for name, (code, _) in FATAL.items()} | DISTURBING
    branches = "\n".join(f"    elif how == {name!r}: {code}" for name, code in statements.items())
    return _FILE.format(branches=branches, at_import="\n".join(DISTURBING[name] for name in at_import))


def survived(rng: random.Random, folder: Path) -> None:
    """Compiles a random mix; each innocent variant is captured, each fatal one is named, nothing is left."""
    fatal = rng.sample(sorted(FATAL), rng.randrange(1, 4))
    disturbing = rng.sample(sorted(DISTURBING), rng.randrange(3))
    at_import = rng.sample(AT_IMPORT, rng.randrange(3))
    innocent = [f"fine{number}" for number in range(3)]
    how = [*fatal, *disturbing, *innocent]
    rng.shuffle(how)
    check_mix(how, at_import, folder, workers=rng.randrange(1, 3))


def check_mix(how: list[str], at_import: list[str], folder: Path, workers: int) -> None:
    """Compiles a variant per entry of `how`."""
    file, path = folder / "kernels.py", folder / "mix.irscope"
    file.write_text(kernel_file(at_import))
    target = Target("cuda", "90", 32)
    request = SweepRequest(file, "kernel", "*fp32:16", {"BLOCK": 64}, {"HOW": tuple(how)}, (target,))
    with nothing_left(folder):
        try:
            with planned(request, workers, seconds=300) as (plan, pool), CaptureWriter.create(path) as writer:
                compile_plan(plan, pool, writer, "campaign", 300, lambda *_: None)
        except UserError as error:
            raise AssertionError(f"{how} {at_import}: {error}") from error
    with CaptureReader(path) as capture:
        failures = {variant.config.get("HOW"): variant.failure for variant in capture.variants()}
    assert set(failures) == set(how)
    for name, failure in failures.items():
        if name in FATAL:
            assert failure is not None and failure.kind in FATAL[name][1], (name, failure)
            assert not failure.summary.startswith(f"{failure.kind}:"), failure
        elif name not in DISTURBING:
            assert failure is None, (name, how, at_import, failure)
