"""A front end that generates Triton: `@elementwise` turns an expression of `x` into a kernel.

@elementwise
def double(x): return 2 * x
"""

from irscope.model import Stage
from irscope.targets.frontends import Frontend

ELEMENTWISE = Frontend(
    "elementwise",
    stages=(Stage("elementwise", "python"),),
    package="irscope_example.elementwise",
    unwrap="irscope_example.elementwise:unwrap",
    sources="irscope_example.elementwise:sources",
)
