"""irscope: what the Triton compiler made of a kernel under each config, and what differs between two."""

__version__ = "0.1.0"
