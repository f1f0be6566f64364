"""A worker process: takes requests and jobs from a pipe, answers with plans and pieces of outcomes.

`pool.py` starts it as `python -m irscope.capturing.compile.worker FD`; FD is one end of a socket pair. Its
stdout and stderr are a file that the parent reads, because the compiler prints there.
"""

from __future__ import annotations

import re
import sys
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from irscope.capturing.compile.request import Job, SweepRequest
from irscope.model import Failure, Target, UserError


def main(descriptor: int) -> None:
    """Serves the pipe until the parent closes it."""
    pipe = Connection(descriptor)
    prepare()
    from irscope.toolchain.compiler import StageMemory

    memory = StageMemory()
    with pipe:
        while True:
            try:
                task = pipe.recv()
            except EOFError:
                return
            try:
                _serve(task, memory, pipe)
            except BrokenPipeError:
                return


def _serve(task: SweepRequest | Job, memory: Any, pipe: Connection) -> None:
    from irscope.capturing.compile.plan import make_plan
    from irscope.toolchain.compiler import compile_job

    target = task.targets[0] if isinstance(task, SweepRequest) else task.target
    _pose_as(target)

    def work() -> None:
        if isinstance(task, SweepRequest):
            pipe.send(("plan", "", make_plan(task)))
        else:
            compile_job(task, memory, lambda *piece: pipe.send(piece))
            pipe.send(("done", "", None))

    attempt(work, pipe)


def attempt(work: Callable[[], None], pipe: Connection) -> None:
    """Does `work`; what it raises goes over the pipe. Raises BrokenPipeError where nobody listens."""
    try:
        work()
    except UserError as error:
        pipe.send(("wrong", "", str(error)))
    except BrokenPipeError:
        raise
    except BaseException as error:  # the compiler and user code raise anything at all
        pipe.send(("raised", "", failure_of(error)))
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise


def failure_of(error: BaseException) -> Failure:
    """What a variant keeps of the exception that ended its compilation."""
    return Failure(type(error).__name__, _summary(error), _message(error))


def _summary(error: BaseException) -> str:
    """The one line of an error that tells most.

    A CompilationError quotes the kernel first and says what is wrong last, or in its cause; PTXASError
    quotes the ptxas log.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" ^")]
    if re.match(r"at \d+:\d+:", str(error)):
        return _summary(error.__cause__) if error.__cause__ else lines[-1]
    told = next((line for line in lines[1:] if re.search(r"\b(error|fatal)\b", line)), "")
    return ": ".join(part for part in ((lines or [type(error).__name__])[0], told) if part)


def _message(error: BaseException) -> str:
    """Everything the error and its causes say, and where it was raised."""
    words = [str(error) or type(error).__name__]
    cause = error.__cause__
    while cause is not None:
        words.append(f"{type(cause).__name__}: {cause}")
        cause = cause.__cause__
    trace = "".join(traceback.format_tb(error.__traceback__)[-3:])
    return "\n".join([*words, "", "Traceback (innermost calls):", trace]).rstrip()


def prepare() -> None:
    """What every compilation here needs, set before triton is imported."""
    # 3.9 warns that this default will change. Setting the variable would silence it too, but it is part
    # of the cache key, and the user's own runs would no longer find what we compiled.
    warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION is unset")
    from triton import knobs

    from irscope.toolchain.triton_key import remember_triton_key

    remember_triton_key()
    knobs.nvidia.dump_ptxas_log = True


def _pose_as(target: Target) -> None:
    from triton.runtime import driver

    from irscope.toolchain.stub_driver import StandInDriver

    driver.set_active(StandInDriver(target))


if __name__ == "__main__":
    main(int(sys.argv[1]))
