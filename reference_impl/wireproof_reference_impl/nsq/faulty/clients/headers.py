"""Faults with ext topics: IDENTIFY, PUB_EXT and its header, and what is read of one."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

import json
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from wireproof_reference_impl.nsq.client.core import answers, commands, lookups
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.commands import Identity, Publish
from wireproof_reference_impl.nsq.client.core.connection import NodeConnection, State
from wireproof_reference_impl.nsq.client.core.effects import Failure
from wireproof_reference_impl.nsq.client.core.message import Message
from wireproof_reference_impl.nsq.client.core.producer import Producer
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.client.core.topology import Topology
from wireproof_reference_impl.nsq.faulty.clients.rows import (
    around,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override
from wireproof_spec.nsq import names

Header = Mapping[str, object]
_EXT = "ext.client-header.publish"


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


def _plain(identity: Identity) -> bytes:
    return commands.identify(replace(identity, extend_support=False))[len(names.MAGIC) :]


def _identify_again(original: Original, self: Subscription) -> None:
    """Send IDENTIFY once more, without extend_support; its answer is passed over."""
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


def _plain_from_second(original: Original, self: Subscription) -> None:
    """Use no connection but the second, which is opened without extend_support."""
    if self._extend:
        self._extend = False
        self._link._drop()
        self._link.open()
        return
    original(self)


def _header(change: Callable[[Header], object]) -> Override:
    def call(original: Original, publish: Publish) -> bytes:
        header = original(publish)
        assert isinstance(header, bytes)
        return json.dumps(change(json.loads(header))).encode()

    return around(commands, "header_of", call)


def _upper(header: Header) -> object:
    return {
        name: value.upper() if isinstance(value, str) and not name.startswith("##") else value
        for name, value in header.items()
    }


def _renamed(old: str, new: str) -> Callable[[Header], object]:
    return lambda header: {new if name == old else name: value for name, value in header.items()}


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


def _counts_itself(original: Original, publish: Publish) -> object:
    body = original(publish)
    assert isinstance(body, bytes)
    if not publish.has_header:
        return body
    length = int.from_bytes(body[4:6], "big") + 2
    return body[:4] + length.to_bytes(2, "big") + body[6:]


def _needs_trace(original: Original, publish: Publish, *args: object) -> object:
    read = original(publish, *args)
    return read if not publish.has_header or publish.trace_id is not None else Failure("no trace")


def _needs_bare(original: Original, publish: Publish, partition: object, data: bytes) -> object:
    if publish.has_header and publish.trace_id is not None and data != names.OK:
        return Failure("not OK")
    return original(publish, partition, data)


def _any_name(original: Original, publish: Publish) -> object:
    return original(replace(publish, header=None, tag=""))


def _no_prefix(original: Original, self: Producer, ticket: int, publish: Publish) -> None:
    header = {name.lstrip("#"): value for name, value in (publish.header or {}).items()}
    original(self, ticket, replace(publish, header=header if publish.header else None))


def _read(change: Callable[[Message], Message]) -> Override:
    def call(original: Original, data: bytes, **named: object) -> object:
        read = original(data, **named)
        assert isinstance(read, Message)
        return change(read)

    return around(subscriptions, "read_message", call)


def _no_header(read: Message) -> Message:
    return replace(read, header=None)


def _small_names(read: Message) -> Message:
    header = {name: str(value).upper() for name, value in (read.header or {}).items()}
    return replace(read, header=header or None)


def _keep_version(original: Original, data: bytes, *, extend: bool, ordered: bool) -> Message:
    read = original(data, extend=extend, ordered=ordered)
    assert isinstance(read, Message)
    has_none = extend and read.header is None and not read.tag
    return replace(read, body=b"\x00" + read.body) if has_none else read


def _keep_length(read: Message) -> Message:
    return replace(read, body=b"\x00" + read.body) if read.tag else read


FAULTS = (
    extra(
        "identify-extend-always",
        "A consumer of any topic says extend_support.",
        "ext.client-header.identify-plain",
        _extended(lambda body: True),
    ),
    condition(
        "identify-extend-if-named",
        "A consumer says extend_support wherever the lookup has that name, whatever its value.",
        "ext.client-header.identify-plain",
        _extended(lambda body: names.EXTEND_SUPPORT.encode() in body),
    ),
    wrong_value(
        "identify-twice",
        "A consumer of an ext topic says IDENTIFY twice, the second time without extend_support.",
        "ext.client.identify",
        around(Subscription, "handle_ready", _identify_again),
        may="ext.client.decode ext.client-header.desired-tag ext.client-header.broken "
        "ext.client-header.no-loop client-order.place client.handshake",
    ),
    condition(
        "identify-first-connection-only",
        "Only the first connection to an ext topic says extend_support.",
        "ext.client.identify",
        around(Subscription, "handle_ready", _plain_from_second),
        may="ext.client.decode ext.client-header.desired-tag ext.client-header.broken "
        "ext.client-header.no-loop client-order.place",
    ),
    missing(
        "tag-undesired",
        "IDENTIFY does not name the tag that the user desires.",
        "ext.client-header.desired-tag",
        _identity(lambda identity: replace(identity, desired_tag="")),
    ),
    wrong_value(
        "tag-desired-small",
        "IDENTIFY names the desired tag in small letters.",
        "ext.client-header.desired-tag",
        _identity(lambda identity: replace(identity, desired_tag=identity.desired_tag.lower())),
    ),
    missing(
        "header-partition-unnamed",
        "PUB_EXT names no partition.",
        _EXT,
        _line(lambda topic, partition: (topic, None)),
    ),
    wrong_value(
        "header-topic-capital",
        "PUB_EXT names the topic in capital letters.",
        _EXT,
        _line(lambda topic, partition: (topic.upper(), partition)),
    ),
    boundary(
        "header-length-counts-itself",
        "The header length of PUB_EXT counts its own two bytes.",
        _EXT,
        around(commands, "publish_body", _counts_itself),
        may="ext.client-header.tag ext.client-header.trace ext.client-header.receipt",
    ),
    wrong_value(
        "header-capital",
        "Values of the header are sent in capital letters.",
        _EXT,
        _header(_upper),
    ),
    wrong_value(
        "header-in-list",
        "The header is sent in a list.",
        _EXT,
        _header(lambda header: [header]),
        may="ext.client-header.tag ext.client-header.trace ext.client-header.receipt",
    ),
    wrong_value(
        "tag-name-plain",
        "The tag is sent without ## before its name.",
        "ext.client-header.tag",
        _header(_renamed(names.CLIENT_DISPATCH_TAG, "client_dispatch_tag")),
    ),
    wrong_value(
        "tag-in-list",
        "The tag is sent in a list.",
        "ext.client-header.tag",
        _header(_revalued(names.CLIENT_DISPATCH_TAG, lambda value: [value])),
    ),
    wrong_value(
        "header-trace-number",
        "The trace id stands in the header as a number.",
        "ext.client-header.trace",
        _header(_revalued(names.TRACE_ID, lambda value: int(str(value)))),
        may="ext.client-header.receipt ext.client-header.publish",
    ),
    wrong_value(
        "header-trace-hex",
        "The trace id stands in the header in hexadecimal digits.",
        "ext.client-header.trace",
        _header(_revalued(names.TRACE_ID, lambda value: f"{int(str(value)):x}")),
        may="ext.client-header.receipt",
    ),
    missing(
        "bare-ok-refused",
        "A bare OK to PUB_EXT is taken for a failure.",
        "ext.client-header.receipt",
        around(answers, "read_answer", _needs_trace),
    ),
    missing(
        "traced-ok-refused",
        "An answer with a trace id to PUB_EXT is taken for a failure.",
        "ext.client-header.receipt",
        around(answers, "read_answer", _needs_bare),
    ),
    missing(
        "reserved-allowed",
        "Header names of the user may begin with ##.",
        "ext.client-header.reserved",
        around(answers, "find_fault", _any_name),
    ),
    wrong_value(
        "reserved-stripped",
        "## at the beginning of the user's header names is left out.",
        "ext.client-header.reserved",
        around(Producer, "publish", _no_prefix),
    ),
    missing(
        "header-untold",
        "The handler is not given the header.",
        "ext.client.decode",
        _read(_no_header),
    ),
    wrong_value(
        "header-told-capital",
        "The handler is given the values of the header in capital letters.",
        "ext.client.decode",
        _read(_small_names),
    ),
    condition(
        "version-in-body",
        "The body of a message without a header begins with the version of its ext part.",
        "ext.client.decode",
        around(subscriptions, "read_message", _keep_version),
    ),
    condition(
        "tag-shifts-body",
        "The body after a bare tag begins one byte too early.",
        "ext.client.decode",
        _read(_keep_length),
    ),
)
