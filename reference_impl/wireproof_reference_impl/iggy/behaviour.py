"""The behaviour table: every choice of the server, with the published text's as the default.

The core looks here and nowhere else; generations, dialects, faults and variants are other
values of it. Where a choice is a function, the default stands in the core beside what it
decides for.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from wireproof_reference_impl.iggy.core import (
    bodies,
    defaults,
    framing,
    message,
    messages,
    strategy,
    tagged_bodies,
)
from wireproof_reference_impl.iggy.core.checks import LIMITS, SendLimits
from wireproof_reference_impl.iggy.core.client import client_id
from wireproof_reference_impl.iggy.core.commands import published, tagged
from wireproof_reference_impl.iggy.core.connection import Handler
from wireproof_reference_impl.iggy.core.header import Headers
from wireproof_reference_impl.iggy.core.message import Message, Sent
from wireproof_reference_impl.iggy.core.messages import Polled
from wireproof_reference_impl.iggy.core.requests import (
    Partitioning,
)
from wireproof_reference_impl.iggy.core.status import Refusal
from wireproof_reference_impl.iggy.core.topic import Topic
from wireproof_reference_impl.iggy.http.exchange import (
    Framing,
    HeaderFields,
    Reason,
    as_they_are,
    counted,
    no_reason,
)
from wireproof_reference_impl.iggy.options import DEPLOYED, PUBLISHED, TAGGED
from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.settings import Settings, changed
from wireproof_spec.iggy.limits import (
    MAX_PAYLOADS_SIZE,
    TAGGED_MAX_HEADER_VALUES_SIZE,
    TAGGED_MAX_PAYLOADS_SIZE,
)
from wireproof_spec.iggy.names import stored_name


class FramingBehaviour(Struct, frozen=True):
    """Frames over TCP: which commands there are, and what becomes of what is none.

    `unreadable` answers a frame that cannot be read, or ends the connection with None; the
    connection `goes_on` after such an answer, or not. `without_login` are the codes of what
    anybody may do.
    """

    commands: Mapping[int, Handler] = field(default_factory=lambda: published.COMMANDS)
    without_login: frozenset[int] = frozenset(published.COMMANDS)
    unreadable: Callable[[Refusal], Refusal | None] = framing.ends
    goes_on: bool = True
    client_id: Callable[[str], int] = client_id


class StoreBehaviour(Struct, frozen=True):
    """What is made of a message that was sent; `new_id` is made of a random one.

    A message is kept even if its id `repeats` that of another one in the partition, or not.
    """

    timestamp: Callable[[int], int] = defaults.same_number
    new_id: Callable[[int], int] = defaults.same_number
    repeats: bool = True
    headers: Callable[[Headers | None], Headers | None] = defaults.same_headers
    choose: Callable[[Topic, Partitioning], int] = messages.chosen_partition
    limits: SendLimits = LIMITS
    name: Callable[[str], str] = stored_name


class PollBehaviour(Struct, frozen=True):
    """Which messages a poll finds.

    `starts` gives the offset where each strategy begins; a message that is not `is_known` is an
    error; `stored` is what is answered about a stored offset. Bytes behind the fields of a poll
    over TCP are ignored if it `takes_trailing`, else refused.
    """

    starts: Mapping[int, strategy.Start] = field(default_factory=lambda: strategy.STARTS)
    is_known: Callable[[Message], bool] = defaults.has_state
    delivered: Callable[[list[Message]], list[Message]] = defaults.all_messages
    stored: Callable[[int | None], int | None] = defaults.same_offset
    takes_trailing: bool = True


class MessageBehaviour(Struct, frozen=True):
    """What polled messages look like over TCP."""

    head: Callable[[Polled], bytes] = bodies.count_head
    layout: Callable[[Message], bytes] = message.record


class DiskBehaviour(Struct, frozen=True):
    """How messages are written to the log."""

    record: Callable[[Message], bytes] = message.record
    segment_size: Callable[[int], int] = defaults.same_number


class JsonBehaviour(Struct, frozen=True):
    """What polled messages look like in JSON."""

    message: Callable[[Message], Mapping[str, object]] = defaults.message_object
    polled: Callable[[Polled, Sequence[object]], object] = defaults.bare_array
    encode: Callable[[object], bytes] = compact_json


class HttpBehaviour(Struct, frozen=True):
    """What HTTP takes, how it refuses, and what stands in front of a body.

    `sent` checks a message beyond what its JSON says; `fields` makes the header fields of every
    answer of those that tell length and type; `framing` tells where a body ends. Connections
    stay open after an answer if it `keeps_open`.
    """

    most_body_bytes: int = 4 * MAX_PAYLOADS_SIZE
    sent: Callable[[Sent], None] = defaults.check_as_over_tcp
    error: Callable[[Refusal], Mapping[str, object]] = defaults.error_object
    fields: Callable[[HeaderFields], HeaderFields] = as_they_are
    framing: Framing = counted
    keeps_open: bool = True
    reason: Reason = no_reason


class Pacing(Struct, frozen=True):
    """How the sockets are written to; `delay_ms` is asked each time."""

    delay_ms: Callable[[], int] = defaults.no_delay
    pieces: Callable[[bytes], Sequence[bytes]] = defaults.one_piece

    @property
    def flush_delay_ms(self) -> int:
        """Return how late what there is to say is written this time."""
        return self.delay_ms()


class Behaviour(Struct, frozen=True):
    """Everything a server can do in more than one way."""

    framing: FramingBehaviour = field(default_factory=FramingBehaviour)
    store: StoreBehaviour = field(default_factory=StoreBehaviour)
    poll: PollBehaviour = field(default_factory=PollBehaviour)
    message: MessageBehaviour = field(default_factory=MessageBehaviour)
    disk: DiskBehaviour = field(default_factory=DiskBehaviour)
    json: JsonBehaviour = field(default_factory=JsonBehaviour)
    http: HttpBehaviour = field(default_factory=HttpBehaviour)
    pacing: Pacing = field(default_factory=Pacing)


TAGGED_SETTINGS: Settings = {
    "framing.commands": tagged.COMMANDS,
    "framing.without_login": tagged.WITHOUT_LOGIN,
    "framing.unreadable": framing.refused,
    "store.choose": messages.tagged_partition,
    "store.limits": SendLimits(TAGGED_MAX_PAYLOADS_SIZE, TAGGED_MAX_HEADER_VALUES_SIZE),
    "store.name": defaults.same_text,
    "message.head": tagged_bodies.partition_offset_count_head,
    "json.polled": tagged_bodies.polled_object,
}
"""What the tagged generation does where it parts from the published one."""

DEPLOYED_MOST_BODY_BYTES = 2 * 1024 * 1024
"""The default of the measured server's HTTP library."""

DEPLOYED_SETTINGS: Settings = {
    "poll.starts": {**strategy.STARTS, **strategy.DEPLOYED_STARTS},
    "http.sent": defaults.unchecked,
    "http.most_body_bytes": DEPLOYED_MOST_BODY_BYTES,
}
"""What the measured server does where it parts from a sane reading of the published text."""

_GENERATIONS: Mapping[str, Settings] = {PUBLISHED: {}, TAGGED: TAGGED_SETTINGS}
_DIALECTS: Mapping[str, Settings] = {PUBLISHED: {}, DEPLOYED: DEPLOYED_SETTINGS}


def of_dialect(generation: str, dialect: str) -> Behaviour:
    """Return what a generation and a dialect do, with nothing wrong or otherwise on purpose."""
    return changed(changed(Behaviour(), _GENERATIONS[generation]), _DIALECTS[dialect])
