"""Which version, layer and pass of the compiler, or which commit, made a kernel worse."""
