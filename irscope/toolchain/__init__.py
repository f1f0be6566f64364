"""Everything that touches Triton or nvdisasm: loading kernels, signatures, compiling, pass instrumentation."""
