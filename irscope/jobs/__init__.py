"""Jobs: each compiles a kernel under other versions, launches or commits, and asks the workspace about it."""
