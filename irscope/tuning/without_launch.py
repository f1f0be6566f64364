"""`irscope.fits(kernel, configs, ...)`: which configs can be launched, asked before any launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from irscope.backends import device_of
from irscope.capturing.compile.plan import plan_for
from irscope.capturing.messages import SweepRequest
from irscope.model import Target, UserError
from irscope.toolchain.compiler import source_of
from irscope.toolchain.kernels import unwrap
from irscope.toolchain.stub_driver import gpu_target
from irscope.tuning.autotuner_call import call_with, unwrapped
from irscope.tuning.candidates import Candidate, candidates_of
from irscope.tuning.fits import fitting, limit_of_device
from irscope.tuning.pruned import Pruned, pruned_or_all


def fitting_configs(
    kernel: Any,
    configs: Sequence[Any],
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    signature: str | None,
    target: Target | None,
    processes: int | None,
    seconds: float,
) -> list[Any]:
    """The `triton.Config`s of `configs` that can be launched with these arguments or this signature.

    `target` of None is the current device. Raises UserError if the arguments do not fit the kernel.
    """
    gpu = _current_target() if target is None else gpu_target(target)
    if signature is not None:
        if arguments or named:
            raise UserError("give fits either the arguments of a launch or a signature")
        candidates = _candidates_of_signature(kernel, configs, signature, gpu, target)
    else:
        candidates = candidates_of(call_with(kernel, arguments, named, gpu), configs)
    device = device_of(target) if target is not None else None
    most_shared = limit_of_device() if target is None else device.block_shared if device else None
    name = unwrapped(kernel)[0].__name__

    def prune() -> tuple[str, Pruned]:
        return name, fitting(candidates, most_shared, processes, seconds)

    return pruned_or_all("fits", configs, prune)


def _candidates_of_signature(
    kernel: Any, configs: Sequence[Any], signature: str, gpu: Any, target: Target | None
) -> list[Candidate]:
    """The candidates of a kernel that is compiled for a signature in Triton's ahead-of-time notation."""
    from triton.runtime.autotuner import autotune

    from irscope.capturing.record.requested_config import requested_target

    function, heuristics = unwrapped(kernel)
    decorated: Any = function
    for values in reversed(heuristics):
        from triton.runtime.autotuner import heuristics as with_heuristics

        decorated = with_heuristics(dict(values))(decorated)
    found = []
    for number, config in enumerate(configs):
        one = unwrap(autotune([config], key=[])(decorated))
        if one is None:
            raise UserError(f"{kernel!r} is not a @triton.jit function")
        file = Path(function.fn.__code__.co_filename)
        where = target or requested_target(gpu)
        plan = plan_for(one, SweepRequest(file, function.fn.__name__, signature, {}, {}, (where,)))
        for job in plan.jobs[:1]:
            if job.problem:
                raise UserError(job.problem)
            source, options = source_of(one, job)
            found.append(Candidate(number, config, source, options, gpu, None))
    return found


def _current_target() -> Any:
    from triton.runtime import driver

    try:
        return driver.active.get_current_target()
    except RuntimeError as error:
        raise UserError(f"there is no GPU: name a target, such as target='cuda:90' ({error})") from error
