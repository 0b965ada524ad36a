"""Parser faults of the example Iggy client, for fuzzing to find by broken answers."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from contextlib import suppress

from wireproof_reference_impl.client_faults import constant, die
from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.client.core import messages, operations, tcp
from wireproof_reference_impl.iggy.client.core.calls import Unreadable
from wireproof_reference_impl.iggy.client.core.http import HttpTransport
from wireproof_reference_impl.iggy.client.core.tcp import TcpTransport
from wireproof_reference_impl.iggy.faulty.clients.ways import parser_fault
from wireproof_reference_impl.overrides import Original, around
from wireproof_spec.iggy.frame import RESPONSE_HEAD_SIZE, Response

_LENGTH = slice(4, 8)
_BELIEVED = 5 << 27
_kept: list[bytearray] = []
_broken: list[str] = []


@parser_fault(around(messages, "read_body"))
def dies_of_headers(original: Original, body: bytes, generation: object) -> object:
    """The process dies at a message over TCP whose headers do not end where they should."""
    try:
        return original(body, generation)
    except Unreadable as error:
        if "headers" in str(error):
            die()
        raise


@parser_fault(around(messages, "read_object"), also=(constant(operations, "matches", value=True),))
def gives_zeros(original: Original, value: dict[str, object]) -> object:
    """A payload in JSON that cannot be read is given as zeros."""
    with suppress(Unreadable):
        return original(value)
    return original({**value, "payload": "AAAA"})


@parser_fault(around(tcp, "check_status"))
def reads_low_byte(original: Original, response: Response) -> None:
    """Of a status over TCP only the lowest byte is read, so that 256 is success."""
    original(Response(response.status & 0xFF, response.body))


@parser_fault(around(TcpTransport, "receive"))
def believes_length(original: Original, self: TcpTransport, data: bytes) -> object:
    """Over TCP as much memory is taken as an answer of more than 640 MiB announces."""
    length = int.from_bytes(data[_LENGTH], "little") if len(data) >= RESPONSE_HEAD_SIZE else 0
    if length > _BELIEVED and not _kept:
        _kept.append(bytearray(b"\1") * _BELIEVED)
    return original(self, data)


@parser_fault(around(HttpTransport, "receive"))
def reads_on_in_body(original: Original, self: HttpTransport, data: bytes) -> object:
    """Over HTTP the end of a connection inside a body is read again and again."""
    return original(self, data) if data or not self._body else None


@parser_fault(around(messages, "read_body"))
def stays_broken(original: Original, body: bytes, generation: object) -> object:
    """After a body over TCP that cannot be read, none can be read any more."""
    if _broken:
        raise Unreadable("a body before this one could not be read")
    try:
        return original(body, generation)
    except Unreadable as error:
        _broken.append(str(error))
        raise


FAULTS = list_faults(__name__)
