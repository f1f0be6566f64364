"""The capture file: one SQLite file of kernels, variants and their artifacts."""

from irscope.store.names import find_variant, variant_names
from irscope.store.reader import Capture
from irscope.store.writer import CaptureWriter, NewVariant

__all__ = ["Capture", "CaptureWriter", "NewVariant", "find_variant", "variant_names"]
