"""The same variants under several versions of Triton and ptxas, each in an environment of its own."""
