"""Finds the version, layer and pass of the compiler, or the commit, that made a kernel worse."""
