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


FORKS = """
from threading import Event, Thread
from irscope.compiling.processes.run_tool import run_tool
from irscope.compiling.processes.temporary_folders import temporary_folder

def make_folders():
    while not end.is_set():
        with temporary_folder("made-"):
            pass

end = Event()
threads = [Thread(target=make_folders, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(20):
    run_tool(["true"])
end.set()
for thread in threads:
    thread.join()
"""


def test_a_tool_starts_while_other_threads_make_folders():
    subprocess.run([sys.executable, "-c", FORKS], check=True, timeout=60)
