"""Exceptions for commands that the broker refuses."""


class Refusal(Exception):
    """Raised to refuse a command with an error code; a fatal refusal closes the connection.

    A space follows the code even if the text is empty; a text of None leaves out both.
    """

    def __init__(self, code: str, text: str | None = "", *, fatal: bool = True) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text
        self.fatal = fatal


class EndOfStream(Exception):
    """Raised if the client stopped sending inside a frame; carries the bytes that arrived."""

    def __init__(self, data: bytes) -> None:
        super().__init__(len(data))
        self.data = data


class Silence(Exception):
    """Raised to close a connection without an answer."""
