"""Parser faults of the example Iggy client, for fuzzing to find by broken answers."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from contextlib import suppress

from wireproof_reference_impl.client_faults import parser_fault
from wireproof_reference_impl.iggy.client.core import messages, operations, tcp
from wireproof_reference_impl.iggy.client.core.calls import Unreadable
from wireproof_reference_impl.iggy.client.core.http import HttpTransport
from wireproof_reference_impl.iggy.client.core.tcp import TcpTransport
from wireproof_reference_impl.iggy.faulty.clients.rows import around, constant, die
from wireproof_reference_impl.overrides import Original
from wireproof_spec.iggy.frame import RESPONSE_HEAD_SIZE, Response

_LENGTH = slice(4, 8)
_BELIEVED = 5 << 27
_kept: list[bytearray] = []
_broken: list[str] = []


def _die_of_headers(original: Original, body: bytes, generation: object) -> object:
    try:
        return original(body, generation)
    except Unreadable as error:
        if "headers" in str(error):
            die()
        raise


def _give_zeros(original: Original, value: dict[str, object]) -> object:
    with suppress(Unreadable):
        return original(value)
    return original({**value, "payload": "AAAA"})


def _low_byte(original: Original, response: Response) -> None:
    original(Response(response.status & 0xFF, response.body))


def _believe(original: Original, self: TcpTransport, data: bytes) -> object:
    length = int.from_bytes(data[_LENGTH], "little") if len(data) >= RESPONSE_HEAD_SIZE else 0
    if length > _BELIEVED and not _kept:
        _kept.append(bytearray(b"\1") * _BELIEVED)
    return original(self, data)


def _stay_broken(original: Original, body: bytes, generation: object) -> object:
    if _broken:
        raise Unreadable("a body before this one could not be read")
    try:
        return original(body, generation)
    except Unreadable as error:
        _broken.append(str(error))
        raise


def _read_on(original: Original, self: HttpTransport, data: bytes) -> object:
    return original(self, data) if data or not self._body else None


FAULTS = (
    parser_fault(
        "dies-of-headers",
        "The process dies at a message over TCP whose headers do not end where they should.",
        around(messages, "read_body", _die_of_headers),
    ),
    parser_fault(
        "gives-zeros",
        "A payload in JSON that cannot be read is given as zeros.",
        around(messages, "read_object", _give_zeros),
        constant(operations, "matches", value=True),
    ),
    parser_fault(
        "reads-low-byte",
        "Of a status over TCP only the lowest byte is read, so that 256 is success.",
        around(tcp, "check_status", _low_byte),
    ),
    parser_fault(
        "believes-length",
        "Over TCP as much memory is taken as an answer of more than 640 MiB announces.",
        around(TcpTransport, "receive", _believe),
    ),
    parser_fault(
        "reads-on-in-body",
        "Over HTTP the end of a connection inside a body is read again and again.",
        around(HttpTransport, "receive", _read_on),
    ),
    parser_fault(
        "stays-broken",
        "After a body over TCP that cannot be read, none can be read any more.",
        around(messages, "read_body", _stay_broken),
    ),
)
