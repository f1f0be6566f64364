"""Records what torch.compile's Inductor generates: kernels, their graph nodes and output code, and times."""

from irscope.recording.inductor.hooks import recorded_inductor

__all__ = ["recorded_inductor"]
