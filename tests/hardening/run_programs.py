"""Programs of odd behavior: `irscope run` must be as plain Python is, to the last byte and the exit code."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.hardening.leftovers import nothing_left

_LONGEST = 120
# So often a program runs again without irscope if its outcome differs.
_AGAIN = 4
# Independent pieces of programs; each prints what a program can see.
PIECES: dict[str, str] = {
    "arguments": "print(sys.argv, __name__, __file__, __spec__, __package__, __doc__)",
    "path": "print([entry for entry in sys.path if 'lib' not in entry and entry != ROOT])",
    "flags": "print(sys.flags, sys.dont_write_bytecode, sys.warnoptions, sys._xoptions)",
    "main": "import __main__; print(__main__ is sys.modules['__main__'], sorted(vars(__main__)))",
    "loader": "print(type(__loader__).__name__, __loader__.get_filename('__main__') == __file__)",
    "modules": "print([name for name in ('torch', 'triton', 'numpy', 'rich') if name in sys.modules])",
    "descriptor": "print(os.open(os.devnull, os.O_RDONLY), os.dup(1), os.pipe())",
    "close_range": "os.closerange(3, 65536); print(os.open(os.devnull, os.O_RDONLY))",
    "close_each": "import contextlib\nfor fd in range(3, 1100):\n    with contextlib.suppress(OSError): os.close(fd)\nprint('closed')",
    "children": "try:\n    print(os.wait())\nexcept ChildProcessError as error:\n    print(repr(error))",
    "threads": "import threading; print(threading.active_count(), threading.main_thread().name)",
    "thread_prints": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()",
    "thread_raises": "import threading; failing = threading.Thread(target=lambda: 1 / 0, name='T'); failing.start(); failing.join()",
    "daemon_thread": "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "at_exit": "import atexit; atexit.register(print, 'first'); atexit.register(print, 'second')",
    "at_exit_raises": "import atexit; atexit.register(lambda: 1 / 0)",
    "destructor": "class Dies:\n    def __del__(self): print('deleted')\nkept = Dies()",
    "stdin": "print(repr(sys.stdin.read()), sys.stdin.isatty())",
    "input": "print(repr(input('? ')))",
    "stderr": "print('to stderr', file=sys.stderr)",
    "unflushed": "sys.stdout.write('no newline')",
    "bytes": "sys.stdout.flush(); os.write(1, bytes(range(256)))",
    "big": "print('x' * 300000)",
    "surrogate": "print('\\udc80'.encode('utf-8', 'surrogatepass'))",
    "encoding": "print(sys.stdout.encoding, sys.stdout.errors, sys.stderr.errors, sys.getfilesystemencoding())",
    "folder": "os.chdir('/'); print(os.getcwd())",
    "environment": "print({k: v for k, v in sorted(os.environ.items()) if k.startswith('PYTHON') and k != 'PYTHONPATH'})",
    "subprocess": "import subprocess; print(subprocess.run([sys.executable, '-c', 'import sys; print(sys.argv, sys.path[0]); sys.exit(3)', 'x'], text=True, capture_output=True).stdout)",
    "subprocess_module": "import subprocess; print(subprocess.run([sys.executable, '-c', 'import sys; print(sorted(m for m in sys.modules if \"irscope\" not in m and \"sitecustomize\" != m and m != \"__future__\"))'], text=True, capture_output=True).stdout)",
    "fork": "pid = os.fork()\nif not pid:\n    print('child', flush=True); os._exit(4)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
    "spawn": "import multiprocessing as mp\nif __name__ == '__main__':\n    with mp.get_context('spawn').Pool(1) as pool: print(pool.map(abs, [-1, -2]))",
    "forkserver": "import multiprocessing as mp\nif __name__ == '__main__':\n    with mp.get_context('forkserver').Pool(1) as pool: print(pool.map(len, ['ab']))",
    "fork_pool": "import multiprocessing as mp\nwith mp.get_context('fork').Pool(1) as pool: print(pool.map(len, ['abc']))",
    "pickle": "import pickle\nclass Point: pass\nprint(pickle.dumps(Point())[-30:], type(pickle.loads(pickle.dumps(Point()))))",
    "handlers": "import signal; print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGPIPE), signal.getsignal(signal.SIGCHLD), signal.pthread_sigmask(0, []))",
    "alarm": "import signal, time; signal.signal(signal.SIGALRM, lambda *_: print('alarm')); signal.setitimer(signal.ITIMER_REAL, 0.05); time.sleep(0.2)",
    "warns": "import warnings; warnings.warn('careful', stacklevel=1)",
    "fault_handler": "import faulthandler; print(faulthandler.is_enabled()); faulthandler.enable(); print(faulthandler.is_enabled())",
    "hook": "sys.excepthook = lambda *given: print('hook', given[0].__name__)",
    "trace": "print(sys.gettrace(), sys.getprofile(), sys.getrecursionlimit(), sys.getswitchinterval())",
    "stack": "import inspect; print(len(inspect.stack()) if False else sys._getframe().f_code.co_name)",
    "source": "import inspect; print(inspect.getsource(sys.modules['__main__'])[:30])",
    "limits": "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE))",
    "group": "print(os.getpgrp() == os.getpgid(os.getppid()), os.getsid(0) == os.getsid(os.getppid()))",
    "annotations": "x: int = 3\nprint(__annotations__)",
    "recursion": "def deep(n): return n and deep(n - 1)\ntry:\n    deep(10 ** 6)\nexcept RecursionError as error:\n    print(error)",
    "exec": "exec(compile('print(__name__)', 'inner', 'exec'))",
    "asyncio": "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    return 5\nprint(asyncio.run(main()))",
    "logging": "import logging; logging.basicConfig(level=logging.INFO); logging.info('logged')",
    "imports": "import glob, random, json, tempfile, dataclasses, sqlite3, typing, queue, pickle, base64; print(glob.__file__)",
}  # fmt: skip
# The last statement of a program.
ENDS: dict[str, str] = {
    "falls off": "",
    "exit": "sys.exit()",
    "exit 3": "sys.exit(3)",
    "exit -1": "sys.exit(-1)",
    "exit 256": "sys.exit(256)",
    "exit huge": "sys.exit(2 ** 70)",
    "exit large": "sys.exit(2 ** 32 + 7)",
    "exit true": "sys.exit(True)",
    "exit text": "sys.exit('bye')",
    "exit tuple": "sys.exit((1, 'two'))",
    "exit float": "sys.exit(2.5)",
    "exit empty": "sys.exit('')",
    "exit mute": "class Mute:\n    def __str__(self): raise ValueError\nsys.exit(Mute())",
    "quit": "quit(5)",
    "os_exit": "sys.stdout.flush(); os._exit(9)",
    "raises": "1 / 0",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('second') from error",
    "function": "def f(n):\n    return 1 / n\nf(0)",
    "interrupt": "raise KeyboardInterrupt",
    "group": "raise BaseException('base')",
    "syntax": "compile('a b', 'inner.py', 'exec')",
    "sigterm": "import signal; sys.stdout.flush(); os.kill(os.getpid(), signal.SIGTERM)",
    "sigkill": "sys.stdout.flush(); os.kill(os.getpid(), 9)",
    "abort": "sys.stdout.flush(); os.abort()",
    "closed stdout": "sys.stdout.close()",
    "closed stderr": "sys.stderr.close(); 1 / 0",
    "no stderr": "sys.stderr = None; sys.exit('lost')",
    "generator exit": "raise GeneratorExit",
    "exec": "sys.stdout.flush(); os.execv(sys.executable, [sys.executable, '-c', 'print(7)'])",
    "bad syntax": "if True print(1)",
    "thread and raise": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()\nraise RuntimeError('now')",
    "daemonizes": "sys.stdout.flush()\nif os.fork():\n    os._exit(0)\nos.setsid()\nos.closerange(0, 1024)",
}  # fmt: skip
# Modules next to the script that shadow the standard library's, or what irscope imports.
SHADOWS = (
    "glob", "random", "typing", "json", "zstandard", "rich", "queue", "pickle", "signal", "tempfile", "struct",
    "dataclasses", "sqlite3", "socket", "base64", "shutil", "inspect", "numbers", "fcntl", "resource", "rapidfuzz",
    "platformdirs", "pygments", "select", "string", "copy", "types", "subprocess", "pathlib", "logging",
)  # fmt: skip
_CLOSING, _MULTIPROCESSING = {"close_range", "close_each"}, {"spawn", "forkserver", "fork_pool"}
# irscope's messages, and its frames in what faulthandler prints, which nothing can hide.
_OWN_LINES = re.compile(
    r"^(irscope: .*|  File \".*/irscope/(capturing|toolchain)/.*, line \d+ in \w+|  File \".*/irscope/compiling/processes/child_process.py\", line \d+ in <module>)\n",
    re.MULTILINE,
)


def as_plain_python(rng: random.Random, folder: Path) -> None:
    """Runs a random program with and without irscope."""
    pieces = rng.sample(sorted(PIECES), rng.randrange(1, 5))
    if _CLOSING & set(pieces):  # multiprocessing deadlocks without its descriptors
        pieces = [name for name in pieces if name not in _MULTIPROCESSING]
    end = rng.choice(sorted(ENDS))
    shadows = rng.sample(SHADOWS, rng.choice((0, 0, 1, 2)))
    if "types" in shadows:  # threading needs it, which irscope has imported and a process has only once
        shadows.remove("types")
    how = rng.choice(("script", "script", "module", "code", "path"))
    flags = rng.choice(((), (), (), ("-W", "error"), ("-O",), ("-X", "dev"), ("-s",), ("-u",)))
    given = rng.choice(("", "one line\n", "a\nb\n"))
    check_program(pieces, end, shadows, how, flags, given, folder)


def check_program(
    pieces: list[str],
    end: str,
    shadows: list[str],
    how: str,
    flags: tuple[str, ...],
    given: str,
    folder: Path,
) -> None:
    """Compares stdout, stderr and the exit code of a program under irscope with those of plain Python."""
    project = folder / "project"
    project.mkdir()
    root = str(Path(__file__).parents[2])
    text = "\n".join(
        ["import os, sys", f"ROOT = {root!r}", *(PIECES[name] for name in pieces), ENDS[end], ""]
    )
    (project / "program.py").write_text(text)
    for name in shadows:
        (project / f"{name}.py").write_text(f"print('the {name} of the program')\n")
    words = {
        "script": ["program.py"], "module": ["-m", "program"], "code": ["-c", text.replace("__file__", "'-c'")],
        "path": [str(project / "program.py")],
    }[how]  # fmt: skip
    if how == "code" and {"loader", "source", "spawn", "forkserver"} & set(pieces):
        return
    place = project if how != "path" else folder
    with nothing_left(folder) as environment:
        environment["PYTHONPATH"] = root
        try:
            plain = _outcome([sys.executable, *flags, *words, "an argument"], place, environment, given, 20)
        except subprocess.TimeoutExpired:  # it deadlocks without irscope too
            for left in (folder / "tmp").iterdir():
                shutil.rmtree(left, ignore_errors=True)
            return
        if "Could not import runpy module" in plain[1]:  # no program could run as a module here
            return
        options = ["--target", "cuda:90", "-o", str(folder / "program.irscope")]
        irscope = [sys.executable, *flags, str(_starter(folder)), "run", *options, *words, "an argument"]
        run = _outcome(irscope, place, environment, given)
        for _ in range(_AGAIN):  # its threads may be faster or slower
            if run == plain:
                break
            plain = _outcome([sys.executable, *flags, *words, "an argument"], place, environment, given)
    assert run == plain, (pieces, end, shadows, how, flags, given)


def _starter(folder: Path) -> Path:
    """Runs irscope as the `irscope` script of an installation does."""
    path = folder / "bin" / "irscope"
    path.parent.mkdir()
    path.write_text("import sys\nfrom irscope.cli.main import main\nsys.exit(main())\n")
    return path


def _outcome(
    command: list[str], folder: Path, environment: dict[str, str], given: str, seconds: float = _LONGEST
) -> tuple[bytes, str, int]:
    """stdout, stderr without irscope's lines, and the exit code as a shell sees it."""
    done = subprocess.run(
        command, cwd=folder, env=environment, input=given.encode(), capture_output=True, timeout=seconds,
        check=False,
    )  # fmt: skip
    error = _OWN_LINES.sub("", done.stderr.decode(errors="replace"))
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    output = re.sub(rb"0x[0-9a-f]{6,}", b"*", done.stdout)
    return output, re.sub(r"0x[0-9a-f]+|refcount : \d+", "*", error), code
