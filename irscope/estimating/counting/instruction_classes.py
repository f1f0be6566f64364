"""Classes of PTX instructions by the unit of the GPU that executes them."""

from __future__ import annotations

from functools import lru_cache

_BY_MNEMONIC = {
    **dict.fromkeys(("bra", "brx", "ret", "exit", "call", "trap"), "branch"),
    **dict.fromkeys(("bar", "barrier", "mbarrier", "fence", "membar"), "barrier"),
    **dict.fromkeys(("ex2", "lg2", "sin", "cos", "rcp", "sqrt", "rsqrt", "tanh"), "special function"),
    **dict.fromkeys(("mma", "wmma", "wgmma", "tcgen05"), "matrix"),
    **dict.fromkeys(("shfl", "redux", "vote", "match", "elect"), "warp"),
    **dict.fromkeys(("ldmatrix", "stmatrix"), "shared"),
    **dict.fromkeys(("atom", "red"), "atomic"),
    **dict.fromkeys(("setp", "selp", "slct"), "select"),
    "mov": "move",
    "cvt": "conversion",
    "cvta": "move",
    "cp": "copy",
}
_SPACES = ("global", "shared", "local", "param", "const")
CLASSES = tuple(dict.fromkeys((*_BY_MNEMONIC.values(), *_SPACES, "float", "integer")))


@lru_cache(maxsize=4096)
def class_of(opcode: str) -> str:
    """The class of an opcode: "float", "integer", "global", "shared", "special function", ...

    A division of floats that is not exact is a special function: it uses the reciprocal.
    """
    parts = opcode.split(".")
    known = _BY_MNEMONIC.get(parts[0])
    if (
        parts[:2] == ["wgmma", "mma_async"]
        or parts[:2] == ["tcgen05", "mma"]
        or known not in ("matrix", None)
    ):
        return known or "matrix"
    if known == "matrix":
        return "matrix" if parts[0] in ("mma", "wmma") else "barrier"
    if parts[0] in ("ld", "st"):
        spaces = [part.partition("::")[0] for part in parts]
        return next((space for space in _SPACES if space in spaces), "global")
    if parts[-1].startswith(("f", "bf")):
        return "special function" if parts[0] == "div" else "float"
    return "integer"
