"""What a producer's user is told of a publish: success only if a node has accepted it."""

from collections import deque
from collections.abc import Iterator

from wireproof_kit.clients.events import Answered, Event
from wireproof_kit.clients.story import Story
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.clients.bodies import messages_of
from wireproof_kit.nsq.clients.driver_requests import PRODUCE
from wireproof_kit.nsq.clients.events import PUBLISHES, Commanded, Sent
from wireproof_kit.nsq.proxy.node_state import ANSWERED
from wireproof_kit.observation import Difference
from wireproof_kit.proxy.checks import shown
from wireproof_spec.decoding import decode
from wireproof_spec.driver.lines import Answer, Result, from_base64
from wireproof_spec.nsq import names
from wireproof_spec.nsq.error_codes import OUT_OF_TURN
from wireproof_spec.nsq.frame import FRAME_TYPE_ERROR, FRAME_TYPE_MESSAGE, error_code
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse
from wireproof_spec.wire_error import WireError

WAIT, RECEIPT = "smart.client.wait-response", "smart.client-trace.receipt"
EXT_RECEIPT = "ext.client-header.receipt"


class AnswerChecks:
    """Finds for each answer of a node the publish that it answers: they come in one order."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._open: dict[str, deque[Commanded]] = {}
        """The commands of each connection that no node has answered yet, in order."""
        self._left: set[str] = set()
        self._refused: dict[bytes, bytes] = {}
        """The messages that were refused, with the error."""
        self._accepted: set[bytes] = set()
        self._places: dict[bytes, list[tuple[str, TraceResponse]]] = {}
        """Where nodes have put a message, with the clause about what its user is told of it."""

    def leave(self, conn: str) -> None:
        """Stop judging a connection: the case sent frames on it that answer no command."""
        self._left.add(conn)

    def see(self, event: Event) -> Iterator[Finding]:
        """Yield what the user is told of a publish, and what the nodes had answered until then."""
        if isinstance(event, Commanded) and event.name in ANSWERED:
            self._open.setdefault(event.conn, deque()).append(event)
        elif isinstance(event, Sent) and event.frame_type != FRAME_TYPE_MESSAGE:
            self._match(event)
        elif isinstance(event, Answered) and event.op == PRODUCE and not self._left:
            yield from self._told(event.answer)

    def _match(self, event: Sent) -> None:
        is_error = event.frame_type == FRAME_TYPE_ERROR
        if event.data == names.HEARTBEAT or (is_error and error_code(event.data) in OUT_OF_TURN):
            return
        waiting = self._open.get(event.conn)
        if not waiting:
            self._left.add(event.conn)
            return
        command = waiting.popleft()
        for body in messages_of(command) if command.name in PUBLISHES else ():
            if event.data.startswith(names.OK) and not is_error:
                self._accepted.add(body)
                self._note_place(command, body, event.data)
            else:
                self._refused[body] = event.data

    def _note_place(self, command: Commanded, body: bytes, data: bytes) -> None:
        clause = EXT_RECEIPT if command.name == names.PUB_EXT.decode() else RECEIPT
        try:
            place = clause, decode(TRACE_RESPONSE, data)
        except WireError:
            return  # OK alone
        self._places.setdefault(body, []).append(place)

    def _told(self, told: Answer) -> Iterator[Finding]:
        if not isinstance(told, Result):
            return
        body = from_base64(str(self._story.requests[told.id]["body"]))
        if body in self._accepted:
            yield shown(WAIT)
            yield from self._receipt(told, self._places.get(body, []))
            return
        error = self._refused.get(body)
        how = "no node has answered" if error is None else f"was refused with {error[:80]!r}"
        yield shown(WAIT, f"the user is told of success of a publish that {how}")

    def _receipt(self, told: Result, places: list[tuple[str, TraceResponse]]) -> Iterator[Finding]:
        """Compare the place of a message that the user is told with those in nodes' answers."""
        dues = [_fields(each) for _, each in places]
        found = [(name, told.fields[name]) for name in _NAMES if name in told.fields]
        if not (dues and found):
            return
        wrong = next((name for name, value in found if value not in [d[name] for d in dues]), "")
        difference = Difference(wrong, None, str(dues[-1].get(wrong)), str(told.fields.get(wrong)))
        what = f"the user is told another {wrong} than the node answered" if wrong else ""
        yield shown(places[-1][0], what, difference if wrong else None)


_NAMES = ("internal_id", "trace_id", "offset", "size")


def _fields(place: TraceResponse) -> dict[str, object]:
    """Return the place of a message as a driver tells it."""
    return {
        "internal_id": str(place.internal_id),
        "trace_id": str(place.trace_id),
        "offset": str(place.disk_queue_offset),
        "size": place.disk_queue_data_size,
    }
