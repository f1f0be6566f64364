"""What torch.compile's Inductor generates: kernels, the graph nodes they came from, their output code, times."""

from irscope.capturing.record.inductor.hooks import annotated_inductor, recorded_inductor

__all__ = ["annotated_inductor", "recorded_inductor"]
