"""What a killed process leaves: no temporary folder, and no process that looks up local keys."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from irscope.compiling.processes.temporary_folders import temporary_folder

WAITS = """
import sys, time
from pathlib import Path
from irscope.compiling.processes.temporary_folders import temporary_folder

with temporary_folder("removed-"):
    pass
with temporary_folder("left-") as folder:
    Path(folder, "a", "b").mkdir(parents=True)
    Path(folder, "a", "file").write_text("some")
    print(folder, flush=True)
    time.sleep(3600)
"""
LOOKS_UP = """
from irscope.compiling.toolchain.local_keys import local_keys

local_keys(["cuda:90"])
"""
# In place of triton: says its process, and never ends.
ENDLESS = """
import os, time
from pathlib import Path

Path(os.environ["STARTED"] + ".part").write_text(str(os.getpid()))
os.rename(os.environ["STARTED"] + ".part", os.environ["STARTED"])
time.sleep(3600)
"""


def wait_for(condition) -> bool:
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_process_leaves_no_temporary_folder(tmp_path: Path, number: int):
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS], env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().decode().strip())
    assert (folder / "a" / "file").exists()
    process.send_signal(number)
    process.communicate()
    assert wait_for(lambda: not any(tmp_path.iterdir()))


def test_a_forked_process_leaves_the_folder_to_its_parent():
    with temporary_folder("irscope-") as folder:
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        time.sleep(0.2)
        assert Path(folder).is_dir()
    assert not Path(folder).exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the children of a killed process")
def test_the_lookup_of_local_keys_ends_with_irscope(tmp_path: Path):
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text(ENDLESS)
    started = tmp_path / "started"
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from irscope.compiling.toolchain.local_keys import local_keys; local_keys(['cuda:90'])",
        ],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "STARTED": str(started)},
    )
    assert wait_for(started.exists)
    lookup = Path(f"/proc/{started.read_text()}")
    assert lookup.exists()
    process.kill()
    process.wait()
    assert wait_for(lambda: not lookup.exists() or "\nState:\tZ" in (lookup / "status").read_text())


FORKS_WHILE_A_THREAD_WRITES = """
import os, signal, threading, time
from irscope.compiling.processes.temporary_folders import _keeper

_keeper.tell(b"+", "/first")
keeper = _keeper._process.pid
os.kill(keeper, signal.SIGSTOP)  # so that a write blocks as soon as the pipe is full
written = []

def write():
    for number in range(200):
        _keeper.tell(b"+", f"/{'x' * 1000}{number}")
        written.append(number)

threading.Thread(target=write, daemon=True).start()
last = -1
while last != len(written):
    last = len(written)
    time.sleep(0.5)
assert last < 200, "the pipe is full"
if child := os.fork():
    for _ in range(100):
        if os.waitpid(child, os.WNOHANG)[0]:
            print("ended")
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
os.kill(keeper, signal.SIGCONT)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform == "darwin", reason="the size of a pipe differs")
def test_a_process_that_is_forked_while_a_thread_names_a_folder_does_not_wait() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS_WHILE_A_THREAD_WRITES],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "ended\n", done.stderr
