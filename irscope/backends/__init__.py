"""What each GPU vendor's toolchain leaves, and how to read it: one module per backend."""
