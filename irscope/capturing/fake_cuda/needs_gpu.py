"""The end of a program that asks for what only a GPU could give."""


class NeedsGpuError(BaseException):
    """Raised where a program asks for a value that no kernel has computed.

    No Exception: the program's own handlers are not for it.
    """

    def __init__(self, asks: str = "asks for a value that is not computed without a GPU") -> None:
        super().__init__(asks)
