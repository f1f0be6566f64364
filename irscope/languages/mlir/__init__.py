"""Triton's MLIR dialects: parser, types, locations, layouts and values."""
