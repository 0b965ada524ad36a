"""Overrides that change how a command is refused."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.overrides import Original, Override, around

When = Callable[[bytes, str], bool]
"""Whether a refusal is meant, given the first word of the command and the error code."""


def code_refusals(code_of: Callable[[bytes, str], str]) -> Override:
    """Return an override that changes the error codes with which commands are refused."""

    def report(original: Original, connection: Connection, code: str, text: str | None) -> None:
        original(connection, code_of(connection.command, code), text)

    return around(Connection, "report", report)


def answered_with_a_response(when: When) -> Override:
    """Return an override that sends some refusals in a response frame, not an error frame."""

    def report(original: Original, connection: Connection, code: str, text: str | None) -> None:
        if not when(connection.command, code):
            original(connection, code, text)
        else:
            said = code if text is None else f"{code} {text}"
            connection.respond(said.encode("utf-8", "surrogateescape"))

    return around(Connection, "report", report)


def ended_without_a_word(when: When) -> Override:
    """Return an override that closes the connection without an answer for some refusals."""

    def report(original: Original, connection: Connection, code: str, text: str | None) -> None:
        if when(connection.command, code):
            connection.drop()
        else:
            original(connection, code, text)

    return around(Connection, "report", report)
