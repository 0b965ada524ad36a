"""Faults of a client that alters what it is given, or tells its user of another publish."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

import json
from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client.core import answers, commands, retry
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.connection import State
from wireproof_reference_impl.nsq.client.core.effects import Failure, Receipt
from wireproof_reference_impl.nsq.client.core.message import Message
from wireproof_reference_impl.nsq.client.core.producer import Job, Lane, Producer
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.faulty.clients.ways import (
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around

_SHORT = 1 << 16
Header = dict[str, str]


def _body(change: Callable[[bytes], bytes]) -> Override:
    """Publish another body than the user gave."""

    def call(original: Original, message: Publish) -> object:
        return original(replace(message, body=change(message.body)))

    return around(commands, "publish_body", call)


def _header(change: Callable[[Header], Header]) -> Override:
    """Publish another header than the user gave."""

    def call(original: Original, message: Publish) -> object:
        header = None if message.header is None else change(message.header)
        return original(replace(message, header=header))

    return around(commands, "header_of", call)


def _read(change: Callable[[Message], Message]) -> Override:
    """Read delivered messages in another way."""

    def call(original: Original, *args: object, **named: object) -> object:
        message = original(*args, **named)
        assert isinstance(message, Message)
        return change(message)

    return around(subscriptions, "read_message", call)


@missing("client-publish.unaltered", _body)
def body_without_blanks(body: bytes) -> bytes:
    """Blanks and line ends around a body are not published."""
    return body.strip()


@wrong_value("client-publish.unaltered", _body)
def body_with_line_feeds(body: bytes) -> bytes:
    """Line ends in a body are published as line feeds."""
    return body.replace(b"\r\n", b"\n")


@boundary("client-publish.unaltered", _body)
def body_of_64_kib(body: bytes) -> bytes:
    """A body is cut after 65,535 bytes."""
    return body[: _SHORT - 1]


@wrong_value("client-publish.unaltered", _body)
def body_as_text(body: bytes) -> bytes:
    """A body is published as UTF-8 text."""
    return body.decode("utf-8", "replace").encode()


@wrong_value("ext.client-header.publish", _header)
def header_names_lowered(header: Header) -> Header:
    """Header names are published in small letters."""
    return {name.lower(): value for name, value in header.items()}


@missing("ext.client-header.publish", _header)
def header_empty_left_out(header: Header) -> Header:
    """A header name without a value is not published."""
    return {name: value for name, value in header.items() if value}


@boundary("ext.client-header.publish", around(commands, "publish_body"))
def header_counted_in_letters(original: Original, message: Publish) -> object:
    """The header length counts letters, of which some have several bytes."""
    body = original(message)
    if not isinstance(body, bytes) or not message.has_header:
        return body
    header = json.loads(commands.header_of(message))
    text = json.dumps(header, ensure_ascii=False)
    data = len(text).to_bytes(2, "big") + text.encode() + message.body
    return len(data).to_bytes(4, "big") + data


@condition("ext.client-header.publish", around(commands, "header_of"))
def header_not_escaped(original: Original, message: Publish) -> object:
    """Quotes and line feeds in header values are not escaped."""
    data = original(message)
    assert isinstance(data, bytes)
    header = json.loads(data)
    members = ",".join(f'"{name}":"{value}"' for name, value in header.items())
    return f"{{{members}}}".encode()


@condition("ext.client-header.tag", around(commands, "header_of"))
def tag_lost_beside_header(original: Original, message: Publish) -> object:
    """The tag of a message with a header is not published."""
    return original(replace(message, tag="") if message.header and message.tag else message)


@condition("ext.client-header.trace", around(commands, "header_of"))
def trace_lost_beside_tag(original: Original, message: Publish) -> object:
    """The trace id of a message with a tag is not published."""
    return original(replace(message, trace_id=None) if message.tag else message)


@condition("ext.client-header.receipt", around(answers, "read_answer"))
def receipt_of_header_wrong(original: Original, message: Publish, *args: object) -> object:
    """The user is told another internal id for a message with a header."""
    outcome = original(message, *args)
    if isinstance(outcome, Receipt) and outcome.internal_id is not None and message.has_header:
        return replace(outcome, internal_id=outcome.internal_id ^ (1 << 20))
    return outcome


@condition("client.wait-response client-publish.refusal-told", around(Producer, "settle"))
def unknown_error_is_success(
    original: Original, self: Producer, job: Job, outcome: Receipt | Failure
) -> None:
    """A refusal with a code that the client does not know is told as success."""
    is_unknown = isinstance(outcome, Failure) and outcome.code not in ("", *retry.TABLE)
    original(self, job, Receipt(0) if is_unknown else outcome)


def _give_up(original: Original, self: Lane) -> None:
    """Publish a message; if no answer comes in time, use the connection on."""
    before = self._current
    original(self)
    job = self._current
    if job is None or job is before or self._time_out is None:
        return
    self._time_out.cancel()

    def expire() -> None:
        self._current, job.is_under_way = None, False
        self._link.node.state = State.IDLE
        self._producer.settle(job, Failure("no answer in time"))
        self._pump()

    self._time_out = self._host.after(self._settings.publish_timeout_s, expire)


@condition("client.wait-response")
def late_answer_taken() -> Change:
    """The answer to a publish that was given up is taken for the answer to the next one."""
    return around(Lane, "_pump", _give_up)


@condition("client.handler", _read)
def body_again_cut(message: Message) -> Message:
    """The body of a message that comes again lacks its last byte."""
    return replace(message, body=message.body[:-1]) if message.attempts > 1 else message


@missing("client.handler", _read)
def body_read_without_blanks(message: Message) -> Message:
    """Blanks and line ends around a delivered body are left out."""
    return replace(message, body=message.body.strip())


@condition("ext.client.decode", _read)
def header_again_lost(message: Message) -> Message:
    """The header of a message that comes again is left out."""
    return replace(message, header=None) if message.attempts > 1 else message


@boundary("ext.client.decode", _read)
def header_of_two_names(message: Message) -> Message:
    """Of a header, the first two names are read."""
    header = message.header
    return message if header is None else replace(message, header=dict(list(header.items())[:2]))


@condition("client.handler-outcomes", around(Subscription, "_take_message"))
def every_third_unseen(original: Original, self: Subscription, data: bytes) -> None:
    """Every third message is finished, and its handler does not see it."""
    number = vars(self._consumer).get("taken", 0) + 1
    vars(self._consumer)["taken"] = number
    if number % 3:
        original(self, data)
    else:
        self._link.send(commands.finish(data[10:26]))


FAULTS = list_faults(__name__)
