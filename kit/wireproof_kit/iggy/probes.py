"""Probes of an Iggy target: its capabilities, and its readings of the published text.

Each docstring lists the words it can return; ``unavailable`` if the probe cannot get what it
needs.
"""

from collections.abc import Callable, Mapping

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.binding import create_in_form
from wireproof_kit.iggy.forms import SHORT, TEXT, StoredOffsetForm
from wireproof_kit.iggy.observe.observations import (
    MISSING,
    observe,
    observe_http,
    observe_unread,
    state_text,
)
from wireproof_kit.iggy.observe.polled import HEAD_SIZES, Polled, recognize_polled
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.iggy.wire.http import is_success
from wireproof_kit.iggy.wire.login import log_in
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import ANSWER, PUSH
from wireproof_kit.wire.waiting import until
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.command_shapes import Nothing
from wireproof_spec.iggy.bodies.consumer_groups import GroupRequest
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import STRING
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.states import POISONED

NO_STATE = 2
PAYLOAD = b"wp probe"
MESSAGE = SentMessage(1, (), PAYLOAD)
HEADERS_LENGTH_AT = 37
HEADERS_AT = 41
GROUP = 1
_OFFSET_FORMS: Mapping[int, StoredOffsetForm] = {20: TEXT, 12: SHORT}
"""The forms of the answer about a stored offset, by their size in bytes."""

Probe = Callable[[Server], Observation]


def poll(server: Server) -> Observation:
    """Send and poll a message: ``ok``, ``missing`` (no payload), or ``error:STATUS``.

    A server that answers both requests is judged; cases check whether the answers are right.
    """
    topic = server.new_topic()
    sent = server.send(topic, MESSAGE, wait=PUSH)
    if not isinstance(sent, Done):
        return observe(sent)
    polled = server.poll_until(topic, 1)
    if isinstance(polled.answer, Done):
        return observed("ok" if PAYLOAD[:-1] in polled.answer.body else MISSING)
    return observe(polled.answer)


def http(server: Server) -> Observation:
    """Send and poll a message over HTTP: ``ok``, or ``http:STATUS,CODE``."""
    topic = server.new_topic()
    posted = server.post(topic, MESSAGE)
    if not is_success(posted):
        return observe_http(posted)
    answer = server.get(topic).answer
    return observed("ok") if is_success(answer) else observe_http(answer)


def disk(server: Server) -> Observation:
    """Send a message and look for its payload in the data directory: ``ok`` or ``missing``."""
    stored = server.disk
    topic = server.new_topic()
    server.send_accepted(topic, MESSAGE)
    segments = stored.wait_for(topic, PAYLOAD[:-1])
    is_stored = any(PAYLOAD[:-1] in segment.log for segment in segments)
    return observed("ok" if is_stored else MISSING)


def control(server: Server) -> Observation:
    """Set the state of a message over the control API: ``ok``, or ``http:STATUS,CODE``."""
    api = server.control
    topic = server.new_topic()
    server.send_accepted(topic, MESSAGE)
    answer = api.set_state(topic, _first_offset(server, topic), POISONED)
    return observed("ok") if is_success(answer) else observe_http(answer)


def groups(server: Server) -> Observation:
    """Create a consumer group and join it: ``ok``, or an answer such as ``error:STATUS``."""
    topic = server.new_topic()
    with server.connect() as client:
        for code in (commands.CREATE_CONSUMER_GROUP, commands.JOIN_CONSUMER_GROUP):
            try:
                outgoing = server.request(code, GroupRequest(topic.stream.id, topic.id, GROUP))
            except LookupError as error:
                raise ArrangementFailed(str(error)) from error
            answer = client.ask(outgoing, PUSH)
            if not isinstance(answer, Done):
                return observe(answer)
    return observed("ok")


def offsets(server: Server) -> Observation:
    """Store a consumer's offset and ask for it: ``ok``, or an answer such as ``error:STATUS``."""
    topic = server.new_topic()
    server.send_accepted(topic, MESSAGE)
    stored = server.store_offset(topic, _first_offset(server, topic))
    if not isinstance(stored, Done):
        return observe(stored)
    answer = server.ask_offset(topic)
    return observed("ok") if isinstance(answer, Done) else observe(answer)


def login(server: Server) -> Observation:
    """Log in with name and password: ``ok``, or an answer such as ``error:STATUS``."""
    with server.connect(enter=False) as client:
        return observe(log_in(client, server.access.login.credentials, PUSH))


def headers_length(server: Server) -> Observation:
    """Poll messages with and without headers, and check the headers' length field.

    Return ``length:right``, ``length:wrong``, or what was answered if it cannot be read.
    """
    topic = server.new_topic()
    header = Header("k", STRING, b"value")
    polled = server.sent_and_polled(topic, MESSAGE, SentMessage(2, (header,), PAYLOAD))
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    sizes = [len(seen.raw) - HEADERS_AT - 4 - len(seen.message.payload) for seen in polled.seen]
    lengths = [
        int.from_bytes(seen.raw[HEADERS_LENGTH_AT:HEADERS_AT], "little") for seen in polled.seen
    ]
    return observed("length:right" if sizes == lengths and len(lengths) == 2 else "length:wrong")


def poll_head(server: Server) -> Observation:
    """Poll a message and an empty partition to learn what stands before polled messages.

    The head is the one under which the message fills the response, if the empty response is as
    long as that head. A server that refuses to poll an empty partition is polled twice.

    Return ``head:count``, ``head:partition-offset-count``, ``head:none``, the same with
    ``,empty:SIZE`` if the empty response contradicts it, ``missing`` without a message, or what
    was answered if it cannot be read.
    """
    topic = server.new_topic()
    empty = server.client.ask(server.poll_request(topic))
    server.send_accepted(topic, MESSAGE)
    polled = _recognize(server, topic)
    if not isinstance(empty, Done):
        empty, again = polled.answer, _recognize(server, topic)
        agrees = polled.head == again.head
    else:
        agrees = polled.head is not None and len(empty.body) == HEAD_SIZES[polled.head]
    unread = observe_unread(polled)
    if unread is not None or not polled.seen:
        return unread or observed(MISSING)
    if agrees:
        return observed(f"head:{polled.head}")
    return observed(
        f"head:{polled.head},empty:{len(empty.body) if isinstance(empty, Done) else 0}"
    )


def _recognize(server: Server, topic: Topic) -> Polled:
    """Poll until there is a message under some head, or patience ends."""

    def look() -> Polled | None:
        polled = recognize_polled(server.client.ask(server.poll_request(topic)))
        return polled if polled.seen or not polled.is_readable else None

    found = until(look, seconds=server.client.seconds(ANSWER), every=0.02)
    return found or recognize_polled(server.client.ask(server.poll_request(topic)))


def create_form(server: Server) -> Observation:
    """Create a stream in the form that was bound, and look for it by its name.

    Return ``form:NAME``, with ``,not-found`` if the request was accepted and misread; otherwise
    what was answered, with the form that was sent in the note.
    """
    form = server.access.forms.create
    created = create_in_form(server, form)
    if created.is_accepted:
        server.will_delete(created.stream)
        return observed(f"form:{form}{created.seen.removeprefix('ok')}")
    return observed(created.seen, note=f"create_stream was sent in the form {form}")


def response_length(server: Server) -> Observation:
    """List the streams and ping, to check how the length of a response was bound.

    Return ``length:payload`` or ``length:with-status``, or what was answered if it cannot be read.
    """
    with server.connect() as client:
        answer = client.ask(server.request(commands.GET_STREAMS, Nothing()))
        state = client.goes_on()
    if not isinstance(answer, Done) or state != "open":
        return observe(answer, then=state)
    return observed(
        "length:with-status" if server.access.forms.counts_status else "length:payload"
    )


def stored_offset(server: Server) -> Observation:
    """Store two offsets and ask for each, to learn the form of the answer by its size.

    Return ``offset:text`` or ``offset:short`` if both answers have that size, ``offset:size-SIZE``
    otherwise, or what was answered.
    """
    topic = server.new_topic()
    server.send_accepted(topic, MESSAGE, SentMessage(2, (), PAYLOAD))
    sizes: list[int] = []
    for offset in _offsets(server, topic, 2):
        stored = server.store_offset(topic, offset)
        answer = server.ask_offset(topic) if isinstance(stored, Done) else stored
        if not isinstance(answer, Done):
            return observe(answer)
        sizes.append(len(answer.body))
    if len(sizes) == 2 and sizes[0] == sizes[1] and sizes[0] in _OFFSET_FORMS:
        return observed(f"offset:{_OFFSET_FORMS[sizes[0]]}")
    return observed(f"offset:size-{'-'.join(map(str, sizes))}")


def _offsets(server: Server, topic: Topic, count: int) -> list[int]:
    """Return the offsets of the first messages, as far as they can be polled."""
    return [message.offset for message in server.poll_until(topic, count).messages[:count]]


def unknown_state(server: Server) -> Observation:
    """Set a message's state to an undefined number, and poll the message.

    Return ``state:as-set``, ``state:NAME`` for another state, ``missing``, or what
    was answered if it cannot be read.
    """
    api = server.control
    topic = server.new_topic()
    server.send_accepted(topic, MESSAGE)
    _must_set(api.is_set(topic, _first_offset(server, topic), NO_STATE), topic)
    polled = server.poll(topic)
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    if not polled.messages:
        return observed(MISSING)
    state = polled.messages[0].state
    return observed("state:as-set" if state == NO_STATE else f"state:{state_text(state)}")


def _first_offset(server: Server, topic: Topic) -> int:
    """Return the offset of the first message; 0 if it cannot be polled."""
    return next(iter(_offsets(server, topic, 1)), 0)


def _must_set(done: bool, topic: Topic) -> None:
    if not done:
        raise ArrangementFailed(f"the state of a message of {topic.name} could not be set")


CAPABILITY_PROBES: Mapping[str, Probe] = {
    "poll": poll,
    "http": http,
    "disk": disk,
    "control": control,
    "groups": groups,
    "offsets": offsets,
    "login": login,
}

READING_PROBES: Mapping[str, Probe] = {
    "iggy-headers-length": headers_length,
    "iggy-poll-head": poll_head,
    "iggy-response-length": response_length,
    "iggy-create-form": create_form,
    "iggy-stored-offset": stored_offset,
    "iggy-unknown-state": unknown_state,
}
