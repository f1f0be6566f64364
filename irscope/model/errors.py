"""The exceptions meant for a person: the command line prints one line and exits with 2."""


class UserError(Exception):
    """Wrong use or unreadable input: one line that names the thing, the problem and the remedy."""

    @property
    def command_line_text(self) -> str:
        """The line as the command line prints it."""
        return str(self)


class ArgumentError(UserError):
    """A UserError about one argument, which Python and the command line spell differently.

    `argument` is the Python name (max_variants); the command line prints the flag (--max-variants).
    """

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(f"{argument}: {problem}")
        self.argument, self.problem = argument, problem

    @property
    def command_line_text(self) -> str:
        """The line with the argument's flag."""
        return f"--{self.argument.replace('_', '-')}: {self.problem}"
