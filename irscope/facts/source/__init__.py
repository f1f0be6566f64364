"""Where a stage comes from in the Python of its kernel, and which lines of two sources correspond."""
