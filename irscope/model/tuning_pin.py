"""Pins: the config that an autotuner chose for one tuning key, and the measurements that it chose by."""

from __future__ import annotations

import hashlib

from irscope.model.config import Config
from irscope.model.records import frozen
from irscope.model.variant import Tuning


@frozen
class Pin:
    """The config to use for one tuning key of a kernel.

    `source` is `source_digest` of the kernel when it was measured, `target` that of the measurement;
    `timings` are the medians in ms by config, fastest first. `triton` and `torch` are versions.
    """

    kernel: str
    source: str
    target: str
    config: Config
    tuning: Tuning
    timings: tuple[tuple[Config, float], ...]
    triton: str = ""
    torch: str = ""

    @property
    def name(self) -> tuple[str, str, str, str]:
        """Return the launches and the GPU model that it is for; two pins with the same name conflict."""
        return *self.launches, self.tuning.device

    @property
    def launches(self) -> tuple[str, str, str]:
        """Return the launches that it is for; a folder can have one pin for them, whatever the GPU."""
        return self.kernel, self.target, self.tuning.key

    @property
    def milliseconds(self) -> float | None:
        """Return the median of the pinned config, or None if it was not measured."""
        return dict(self.timings).get(self.config)


def source_digest(text: str) -> str:
    """Return the start of the sha256 of a kernel's text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
