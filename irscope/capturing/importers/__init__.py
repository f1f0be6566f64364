"""Reading what an earlier run left: Triton's cache, dump folders, tritonparse traces. Needs no triton."""
