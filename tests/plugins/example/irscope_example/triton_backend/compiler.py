"""Triton's half of the backend. It borrows AMD's passes."""

import re

from triton import knobs
from triton.backends.amd import compiler as amd
from triton.backends.compiler import BaseBackend, GPUTarget


class ExampleBackend(BaseBackend):
    """Compiles for `example:x1` and `example:x2`."""

    supports_native_tensor_specialization = False

    @staticmethod
    def supports_target(target):
        return target.backend == "example"

    def __init__(self, target):
        super().__init__(target)
        self.binary_ext = "exbin"
        self._amd = amd.HIPBackend(GPUTarget("hip", {"x1": "gfx942", "x2": "gfx950"}[target.arch], 64))

    def hash(self):
        return f"example 1.0 {self.target} {self._amd.hash()}"

    def parse_options(self, options):
        return self._amd.parse_options(options)

    def add_stages(self, stages, options, language):
        borrowed, hook = {}, knobs.runtime.add_stages_inspection_hook
        with knobs.runtime.scope():
            knobs.runtime.add_stages_inspection_hook = None
            self._amd.add_stages(borrowed, options, language)
        for name in ("ttir", "ttgir", "llir"):
            stages[name] = borrowed[name]
        stages["exasm"] = lambda source, metadata: _assembly(borrowed["amdgcn"](source, metadata))
        stages["exbin"] = lambda source, metadata: b"EXAMPLE\0" + source.encode()
        if hook is not None:  # as Triton's own backends do: irscope records the stages through it
            hook(self, stages, options, language, None)

    def load_dialects(self, context):
        self._amd.load_dialects(context)

    def get_codegen_implementation(self, options):
        return self._amd.get_codegen_implementation(options)

    def get_module_map(self):
        return self._amd.get_module_map()

    def pack_metadata(self, metadata):
        return self._amd.pack_metadata(metadata)


def _assembly(amdgcn):
    """The instructions of AMD's assembly without comments and directives."""
    registers = re.search(r"\.vgpr_count:\s+(\d+)", amdgcn)[1]
    lines = (line.partition(";")[0].rstrip() for line in amdgcn.split("\n"))
    kept = [line for line in lines if re.match(r"\t[a-z]|\.LBB", line)]
    return "\n".join([f".registers {registers}", *kept]) + "\n"
