"""The behaviour table: every choice of the server, with the published text's as the default.

Generations, dialects and variants are other values of it, and so are some faults; what only a
fault does is an override of the core (`faulty/`).
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from wireproof_reference_impl.iggy import defaults
from wireproof_reference_impl.iggy.options import PUBLISHED
from wireproof_reference_impl.iggy.streams import partitioning, strategy
from wireproof_reference_impl.iggy.streams.client import client_id
from wireproof_reference_impl.iggy.streams.log_behaviour import LogBehaviour
from wireproof_reference_impl.iggy.streams.topic import Topic
from wireproof_reference_impl.iggy.wire import framing, message, message_json, polled
from wireproof_reference_impl.iggy.wire.checks import LIMITS, SendLimits
from wireproof_reference_impl.iggy.wire.exchange import (
    Framing,
    HeaderFields,
    Reason,
    as_they_are,
    count_body,
    no_reason,
)
from wireproof_reference_impl.iggy.wire.message import Message, Sent
from wireproof_reference_impl.iggy.wire.polled import Polled, StoredOffset
from wireproof_reference_impl.iggy.wire.requests import Partitioning
from wireproof_reference_impl.iggy.wire.status import Refusal
from wireproof_reference_impl.json_text import compact_json
from wireproof_spec.iggy.limits import (
    MAX_PAYLOADS_SIZE,
)
from wireproof_spec.iggy.names import stored_name


class FramingBehaviour(Struct, frozen=True):
    """Choices of the Iggy server for frames over TCP, such as the response to malformed ones.

    `unreadable` returns the response to a malformed frame, or None to close the connection. The
    connection `goes_on` after such a response, or not.
    """

    generation: str = PUBLISHED
    unreadable: Callable[[Refusal], Refusal | None] = framing.ends
    goes_on: bool = True
    client_id: Callable[[str], int] = client_id


class StoreBehaviour(Struct, frozen=True):
    """Choices for send requests: the partition, the size limits, and how names are stored."""

    choose: Callable[[Topic, Partitioning], int] = partitioning.chosen_partition
    limits: SendLimits = LIMITS
    name: Callable[[str], str] = stored_name


class PollBehaviour(Struct, frozen=True):
    """Choices for polls: which messages a poll finds.

    `starts` gives the offset where each strategy begins. `stored` gives the reported value of a
    stored offset. Bytes after the fields of a poll over TCP are ignored if `takes_trailing`, else
    refused.
    """

    starts: Mapping[int, strategy.Start] = field(default_factory=lambda: strategy.STARTS)
    delivered: Callable[[list[Message]], list[Message]] = defaults.all_messages
    stored: Callable[[int | None], int | None] = defaults.same_offset
    takes_trailing: bool = True


class MessageBehaviour(Struct, frozen=True):
    """Choices for the layout of poll responses over TCP."""

    head: Callable[[Polled], bytes] = polled.count_head
    layout: Callable[[Message], bytes] = message.record


class JsonBehaviour(Struct, frozen=True):
    """Choices for the JSON of poll responses over HTTP."""

    message: Callable[[Message], Mapping[str, object]] = message_json.message_object
    polled: Callable[[Polled, Sequence[object]], object] = polled.bare_array
    stored_offset: Callable[[StoredOffset], object] = message_json.short_offset
    encode: Callable[[object], bytes] = compact_json


class HttpBehaviour(Struct, frozen=True):
    """Choices for HTTP: which requests are accepted, how others are refused, response headers.

    `sent` checks a message beyond its JSON; `fields` makes the headers of every response from
    those for type and length; `framing` marks the end of a body. Connections stay open after a
    response if it `keeps_open`.
    """

    most_body_bytes: int = 4 * MAX_PAYLOADS_SIZE
    sent: Callable[[Sent], None] = message_json.check_as_over_tcp
    error: Callable[[Refusal], Mapping[str, object]] = message_json.error_object
    fields: Callable[[HeaderFields], HeaderFields] = as_they_are
    framing: Framing = count_body
    keeps_open: bool = True
    reason: Reason = no_reason


class Pacing(Struct, frozen=True):
    """How output is written to sockets: when and in which pieces; `delay_ms` is per write."""

    delay_ms: Callable[[], int] = defaults.no_delay
    pieces: Callable[[bytes], Sequence[bytes]] = defaults.one_piece

    @property
    def flush_delay_ms(self) -> int:
        """Return by how many milliseconds the next write is delayed."""
        return self.delay_ms()


class Behaviour(Struct, frozen=True):
    """All choices of the Iggy server that dialects, variants and faults may change."""

    framing: FramingBehaviour = field(default_factory=FramingBehaviour)
    store: StoreBehaviour = field(default_factory=StoreBehaviour)
    poll: PollBehaviour = field(default_factory=PollBehaviour)
    message: MessageBehaviour = field(default_factory=MessageBehaviour)
    log: LogBehaviour = field(default_factory=LogBehaviour)
    json: JsonBehaviour = field(default_factory=JsonBehaviour)
    http: HttpBehaviour = field(default_factory=HttpBehaviour)
    pacing: Pacing = field(default_factory=Pacing)
