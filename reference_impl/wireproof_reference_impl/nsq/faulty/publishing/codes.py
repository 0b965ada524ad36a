"""Faults of the error codes of PUB_EXT: it uses its own codes instead of those of PUB."""

from collections.abc import Callable

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.faulty.errors import code_refusals, ended_without_a_word
from wireproof_reference_impl.nsq.faulty.ways import boundary, extra, missing, wrong_value
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.names import OK, PUB_EXT

Test = Callable[[bytes], bool]


def _codes(other: dict[str, str]) -> tuple[Override, ...]:
    """Return overrides under which PUB_EXT uses its own codes instead of those of PUB."""

    def code(command: bytes, own: str) -> str:
        return other.get(own, own) if command == PUB_EXT else own

    return (code_refusals(code),)


@wrong_value("publish.error-bad-topic")
def code_for_bad_topic_differs() -> Change:
    """PUB_EXT refuses an invalid topic name with the code of a missing topic, unlike PUB."""
    return _codes({error_codes.E_BAD_TOPIC: error_codes.E_TOPIC_NOT_EXIST})


@missing("publish.error-bad-topic", ended_without_a_word)
def code_for_bad_topic_missing(command: bytes, code: str) -> bool:
    """PUB_EXT to a topic of an illegal name closes the connection without an error."""
    return command == PUB_EXT and code == error_codes.E_BAD_TOPIC


@extra("publish.error-bad-topic", around(Connection, "report"))
def code_for_bad_topic_behind_ok(
    original: Original, connection: Connection, code: str, text: str | None
) -> None:
    """PUB_EXT to a topic of an illegal name is answered with OK before the error."""
    if connection.command == PUB_EXT and code == error_codes.E_BAD_TOPIC:
        connection.respond(OK)
    original(connection, code, text)


@wrong_value("publish.error-same-as-pub")
def code_for_no_topic_differs() -> Change:
    """PUB_EXT refuses a missing topic with the code of a failed publish, unlike PUB."""
    return _codes({error_codes.E_TOPIC_NOT_EXIST: error_codes.E_PUB_FAILED})


@boundary("publish.error-same-as-pub")
def code_for_bad_size_differs() -> Change:
    """PUB_EXT refuses invalid sizes and truncated bodies with another code than PUB."""
    return _codes({error_codes.E_BAD_MESSAGE: error_codes.E_BAD_BODY})


@missing("publish.error-same-as-pub", ended_without_a_word)
def code_for_no_topic_missing(command: bytes, code: str) -> bool:
    """PUB_EXT to a missing topic closes the connection without an error."""
    return command == PUB_EXT and code == error_codes.E_TOPIC_NOT_EXIST


@wrong_value("publish.error-same-as-pub")
def code_for_bad_header_unknown() -> Change:
    """A header that is not JSON is refused with an unknown error code."""
    return _codes({error_codes.E_INVALID_JSON_HEADER: "E_BAD_HEADER"})


FAULTS = list_faults(__name__)
