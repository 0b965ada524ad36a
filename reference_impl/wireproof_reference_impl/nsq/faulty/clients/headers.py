"""Faults with ext topics: IDENTIFY, PUB_EXT and its header, and what is read of one."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

import json
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client.core import answers, commands, lookups
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.commands import Identity, Publish
from wireproof_reference_impl.nsq.client.core.connection import NodeConnection, State
from wireproof_reference_impl.nsq.client.core.effects import Failure
from wireproof_reference_impl.nsq.client.core.message import BadMessage, Message
from wireproof_reference_impl.nsq.client.core.producer import Producer
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.client.core.topology import Topology
from wireproof_reference_impl.nsq.faulty.clients.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.nsq import names

Header = Mapping[str, object]
_ID_AT, _VERSION_AT, _LENGTH_AT = 10, 26, 27


def _extended(test: Callable[[bytes], bool]) -> Override:
    def call(original: Original, body: bytes) -> object:
        read = original(body)
        assert isinstance(read, Topology)
        return replace(read, extend_support=test(body))

    return around(lookups, "read_lookup", call)


def _identity(change: Callable[[Identity], Identity]) -> Override:
    def call(original: Original, *args: object, **named: object) -> object:
        identity = original(*args, **named)
        assert isinstance(identity, Identity)
        return change(identity)

    return around(subscriptions, "identity_of", call)


def _header(change: Callable[[Header], object]) -> Override:
    def call(original: Original, publish: Publish) -> bytes:
        header = original(publish)
        assert isinstance(header, bytes)
        return json.dumps(change(json.loads(header))).encode()

    return around(commands, "header_of", call)


def _revalued(name: str, change: Callable[[object], object]) -> Callable[[Header], object]:
    return lambda header: {n: change(v) if n == name else v for n, v in header.items()}


def _line(change: Callable[[str, int | None], tuple[str, int | None]]) -> Override:
    """Change topic and partition of PUB_EXT."""

    def call(
        original: Original,
        self: NodeConnection,
        topic: str,
        partition: int | None,
        publish: Publish,
    ) -> object:
        if publish.has_header:
            topic, partition = change(topic, partition)
        return original(self, topic, partition, publish)

    return around(NodeConnection, "publish", call)


def _read(change: Callable[[Message], Message]) -> Override:
    def call(original: Original, data: bytes, **named: object) -> object:
        read = original(data, **named)
        assert isinstance(read, Message)
        return change(read)

    return around(subscriptions, "read_message", call)


def _find_other_fault(original: Original, publish: Publish) -> object:
    header = {name: v for name, v in (publish.header or {}).items() if names.is_header_name(name)}
    return original(replace(publish, header=header if publish.header else None))


_ALL_NAMES_ALLOWED = around(answers, "find_fault", _find_other_fault)
"""The override under which header names of the user may have any letters."""


@extra("ext.client-header.identify-plain", _extended)
def identify_extend_always(body: bytes) -> bool:
    """A consumer of any topic says extend_support."""
    return True


@condition("ext.client-header.identify-plain", _extended)
def identify_extend_if_named(body: bytes) -> bool:
    """A consumer says extend_support wherever the lookup has that name, whatever its value."""
    return names.EXTEND_SUPPORT.encode() in body


def _plain(identity: Identity) -> bytes:
    return commands.identify(replace(identity, extend_support=False))[len(names.MAGIC) :]


@wrong_value("ext.client.identify", around(Subscription, "handle_ready"))
def identify_twice(original: Original, self: Subscription) -> None:
    """A consumer of an ext topic says IDENTIFY twice, the second time without extend_support."""
    identity = self.identity()
    if identity.extend_support:
        self._extend = False
        self._link.send(_plain(identity))
        handle = self.handle_event

        def pass_over(event: object) -> None:
            vars(self)["handle_event"] = handle  # for one event
            self._link.node.state = State.SUBSCRIBING
            del event

        vars(self)["handle_event"] = pass_over  # for one event
    original(self)


@condition("ext.client.identify", around(Subscription, "handle_ready"))
def identify_first_connection_only(original: Original, self: Subscription) -> None:
    """Only the first connection to an ext topic says extend_support."""
    if self._extend:
        self._extend = False
        self._link._drop()
        self._link.open()
        return
    original(self)


@missing("ext.client-header.desired-tag", _identity)
def tag_undesired(identity: Identity) -> Identity:
    """IDENTIFY does not name the tag that the user desires."""
    return replace(identity, desired_tag="")


@wrong_value("ext.client-header.desired-tag", _identity)
def tag_desired_small(identity: Identity) -> Identity:
    """IDENTIFY names the desired tag in small letters."""
    return replace(identity, desired_tag=identity.desired_tag.lower())


@missing("ext.client-header.publish", _line)
def header_partition_unnamed(topic: str, partition: int | None) -> tuple[str, int | None]:
    """PUB_EXT names no partition."""
    return (topic, None)


@wrong_value("ext.client-header.publish", _line)
def header_topic_capital(topic: str, partition: int | None) -> tuple[str, int | None]:
    """PUB_EXT names the topic in capital letters."""
    return (topic.upper(), partition)


@boundary("ext.client-header.publish", around(commands, "publish_body"))
def header_length_counts_itself(original: Original, publish: Publish) -> object:
    """The header length of PUB_EXT counts its own two bytes."""
    body = original(publish)
    assert isinstance(body, bytes)
    if not publish.has_header:
        return body
    length = int.from_bytes(body[4:6], "big") + 2
    return body[:4] + length.to_bytes(2, "big") + body[6:]


@wrong_value("ext.client-header.publish", _header)
def header_capital(header: Header) -> object:
    """Values of the header are sent in capital letters."""
    return {
        name: value.upper() if isinstance(value, str) and not name.startswith("##") else value
        for name, value in header.items()
    }


@wrong_value("ext.client-header.publish", _header)
def header_in_list(header: Header) -> object:
    """The header is sent in a list."""
    return [header]


def _renamed(old: str, new: str) -> Callable[[Header], object]:
    return lambda header: {new if name == old else name: value for name, value in header.items()}


@wrong_value("ext.client-header.tag")
def tag_name_plain() -> Change:
    """The tag is sent without ## before its name."""
    return _header(_renamed(names.CLIENT_DISPATCH_TAG, "client_dispatch_tag"))


@wrong_value("ext.client-header.tag")
def tag_in_list() -> Change:
    """The tag is sent in a list."""
    return _header(_revalued(names.CLIENT_DISPATCH_TAG, lambda value: [value]))


@wrong_value("ext.client-header.trace")
def header_trace_number() -> Change:
    """The trace id stands in the header as a number."""
    return _header(_revalued(names.TRACE_ID, lambda value: int(str(value))))


@wrong_value("ext.client-header.trace")
def header_trace_hex() -> Change:
    """The trace id stands in the header in hexadecimal digits."""
    return _header(_revalued(names.TRACE_ID, lambda value: f"{int(str(value)):x}"))


@missing("ext.client-header.receipt", around(answers, "read_answer"))
def bare_ok_refused(original: Original, publish: Publish, *args: object) -> object:
    """A bare OK to PUB_EXT is taken for a failure."""
    read = original(publish, *args)
    return read if not publish.has_header or publish.trace_id is not None else Failure("no trace")


@missing("ext.client-header.receipt", around(answers, "read_answer"))
def traced_ok_refused(
    original: Original, publish: Publish, partition: object, data: bytes
) -> object:
    """An answer with a trace id to PUB_EXT is taken for a failure."""
    if publish.has_header and publish.trace_id is not None and data != names.OK:
        return Failure("not OK")
    return original(publish, partition, data)


@missing("ext.client-header.reserved", around(answers, "find_fault"))
def reserved_allowed(original: Original, publish: Publish) -> object:
    """Header names of the user may begin with ##."""
    return original(replace(publish, header=None, tag=""))


@missing("ext.client-header.legal")
def illegal_names_allowed() -> Change:
    """Header names of the user may have any letters."""
    return _ALL_NAMES_ALLOWED


@wrong_value("ext.client-header.legal", around(Producer, "publish"), also=(_ALL_NAMES_ALLOWED,))
def illegal_names_escaped(
    original: Original, self: Producer, ticket: int, publish: Publish
) -> None:
    """Header names of the user are sent with percent signs in the place of blanks."""
    header = {name.replace(" ", "%20"): value for name, value in (publish.header or {}).items()}
    original(self, ticket, replace(publish, header=header if publish.header else None))


@wrong_value("ext.client-header.reserved", around(Producer, "publish"))
def reserved_stripped(original: Original, self: Producer, ticket: int, publish: Publish) -> None:
    """## at the beginning of the user's header names is left out."""
    header = {name.lstrip("#"): value for name, value in (publish.header or {}).items()}
    original(self, ticket, replace(publish, header=header if publish.header else None))


@missing("ext.client.decode", _read)
def header_untold(read: Message) -> Message:
    """The handler is not given the header."""
    return replace(read, header=None)


@wrong_value("ext.client.decode", _read)
def header_told_capital(read: Message) -> Message:
    """The handler is given the values of the header in capital letters."""
    header = {name: str(value).upper() for name, value in (read.header or {}).items()}
    return replace(read, header=header or None)


@condition("ext.client.decode", around(subscriptions, "read_message"))
def version_in_body(original: Original, data: bytes, *, extend: bool, ordered: bool) -> Message:
    """The body of a message without a header begins with the version of its ext part."""
    read = original(data, extend=extend, ordered=ordered)
    assert isinstance(read, Message)
    has_none = extend and read.header is None and not read.tag
    return replace(read, body=b"\x00" + read.body) if has_none else read


@boundary("ext.client.decode", around(subscriptions, "read_message"))
def header_length_signed(
    original: Original, data: bytes, *, extend: bool, ordered: bool
) -> object:
    """The length of a header is read as a number with a sign."""
    if extend and len(data) > _LENGTH_AT and data[_LENGTH_AT] >> 7 and data[_VERSION_AT]:
        raise BadMessage("a header of a negative length", data[_ID_AT:_VERSION_AT])
    return original(data, extend=extend, ordered=ordered)


@condition("ext.client.decode", _read)
def tag_shifts_body(read: Message) -> Message:
    """The body after a bare tag begins one byte too early."""
    return replace(read, body=b"\x00" + read.body) if read.tag else read


FAULTS = list_faults(__name__)
