"""The history of a package's kernels: their recorded launches, compiled at each commit of its repository."""
