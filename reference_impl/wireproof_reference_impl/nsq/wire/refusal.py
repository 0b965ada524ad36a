"""Exceptions for commands that the broker refuses."""


class Refusal(Exception):
    """A command is refused with an error code; a fatal one ends the connection.

    The code is followed by a space even when the text is empty; None leaves both out.
    """

    def __init__(self, code: str, text: str | None = "", *, fatal: bool = True) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text
        self.fatal = fatal


class EndOfStream(Exception):
    """The peer stopped sending inside a frame; carries what came of it."""

    def __init__(self, data: bytes) -> None:
        super().__init__(len(data))
        self.data = data


class Silence(Exception):
    """The connection ends without a word."""
