"""Everything that touches Triton or nvdisasm: kernels, signatures, compiling, pass instrumentation."""
