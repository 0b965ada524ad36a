"""Probes of an Iggy target: its capabilities, and its readings of the published text.

Each docstring lists the words it can return; ``unavailable`` if the probe cannot get what it
needs.
"""

from collections.abc import Callable, Mapping

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.observe.observations import (
    MISSING,
    observe,
    observe_http,
    observe_unread,
    state_text,
)
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.iggy.wire.http import is_success
from wireproof_kit.iggy.wire.login import log_in
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import PUSH
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.consumer_groups import GroupRequest
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import STRING
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.states import POISONED

UNAVAILABLE = "unavailable"
NO_STATE = 2
PAYLOAD = b"wp probe"
MESSAGE = SentMessage(1, (), PAYLOAD)
HEADERS_LENGTH_AT = 37
HEADERS_AT = 41
GROUP = 1

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
    found = any(PAYLOAD[:-1] in segment.log for segment in segments)
    return observed("ok" if found else MISSING)


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
    told = server.ask_offset(topic)
    return observed("ok") if isinstance(told, Done) else observe(told)


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
    told = [
        int.from_bytes(seen.raw[HEADERS_LENGTH_AT:HEADERS_AT], "little") for seen in polled.seen
    ]
    return observed("length:right" if sizes == told and len(told) == 2 else "length:wrong")


def poll_head(server: Server) -> Observation:
    """Poll a message to learn which fields stand before the messages in a poll's response.

    Return ``head:count``, ``head:partition-offset-count``, ``head:none``, or what was
    answered if it cannot be read.
    """
    polled = server.sent_and_polled(server.new_topic(), MESSAGE)
    return observe_unread(polled) or observed(f"head:{polled.head}")


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
    messages = server.poll_until(topic, 1).messages
    return messages[0].offset if messages else 0


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
    "iggy-unknown-state": unknown_state,
}
