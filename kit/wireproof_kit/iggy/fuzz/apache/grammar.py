"""The grammar from which fuzz cases for servers of generation apache are generated."""

from typing import Final

from wireproof_kit.fuzz.case import Frame, Step
from wireproof_kit.fuzz.generate.grammar import Grammar
from wireproof_kit.iggy.fuzz.apache import frames
from wireproof_kit.iggy.fuzz.apache.frames import ENTERED, FRESH, TCP
from wireproof_kit.iggy.fuzz.names import CASES_PREFIX, Names
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.bodies.places import StreamRequest, TopicRequest
from wireproof_spec.iggy.apache.bodies.request_shapes import OF_OPERATIONS
from wireproof_spec.iggy.apache.bodies.resources import MAX_PARTITIONS, CreateStream, CreateTopic
from wireproof_spec.iggy.apache.frames import encode_request, make_request
from wireproof_spec.iggy.apache.header import HEADER_SIZE, SIZE_AT, RequestHeader
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.wire_error import WireError

OPERATION_AT: Final = 176
PING: Final = encode_request(
    make_request(
        RequestHeader(
            client=1,
            request=1,
            session=1,
            operation=operations.NON_REPLICATED,
            code=operations.PING,
        )
    )
)
LIMITS = {
    "partitions_count": (MAX_PARTITIONS + 1,),
    "header.size": ((64 << 20), (64 << 20) + 1),
}


def is_delimited(kind: str, data: bytes) -> bool:
    """Return True if the bytes are exactly one complete request."""
    return len(data) >= HEADER_SIZE and (
        int.from_bytes(data[SIZE_AT : SIZE_AT + 4], "little") == len(data)
    )


class Hazards:
    """Recognises requests that may change what the kit did not create."""

    def __init__(self, there: Names) -> None:
        self._scratch = (there.scratch_id, there.scratch)

    def is_hazardous(self, kind: str, data: bytes) -> bool:
        """Return True if a request may change anything but the streams of the campaign.

        Operations of servers alone are among them: they may end the service of a real one.
        """
        if len(data) <= HEADER_SIZE:
            operation = data[OPERATION_AT] if len(data) > OPERATION_AT else 0
            return operation in operations.INTERNAL
        operation = data[OPERATION_AT]
        if operation in operations.INTERNAL or operation in operations.USERS:
            return True
        if operation not in operations.METADATA:
            return False
        schema = OF_OPERATIONS.get(operation)
        if schema is None:
            return True
        try:
            value = decode(schema, data[HEADER_SIZE:])
        except WireError as error:
            return error.field == "end"
        return self._is_beyond(value)

    def _is_beyond(self, value: object) -> bool:
        match value:
            case CreateStream(name=name):
                return not name.startswith(CASES_PREFIX)
            case CreateTopic(stream=stream, partitions_count=count):
                return count > MAX_PARTITIONS or not self._is_scratch(stream)
            case StreamRequest(stream=stream) | TopicRequest(stream=stream):
                return not self._is_scratch(stream)
            case _:
                return False

    def _is_scratch(self, stream: Identifier) -> bool:
        return stream.number == self._scratch[0] or stream.name == self._scratch[1]


def moves(state: str, frame: Frame) -> str | None:
    """Return the connection's state after a valid request; a logout may end it."""
    if frame.kind == operations.OPERATIONS[operations.LOGOUT]:
        return None
    return ENTERED if frame.kind == "login" else state


def grammar(there: Names) -> Grammar:
    """Return the requests that can be sent to a server with these streams and topics.

    The kit logs in on each connection whose state is ``entered``; a ping follows.
    """
    return Grammar(
        kinds=tuple(frames.kinds(there)),
        states={TCP: (FRESH, ENTERED)},
        entry={FRESH: (), ENTERED: (Step(PING, label="login, ping"),)},
        talking=TCP,
        is_delimited=is_delimited,
        is_hazardous=Hazards(there).is_hazardous,
        moves=moves,
        limits=LIMITS,
    )
