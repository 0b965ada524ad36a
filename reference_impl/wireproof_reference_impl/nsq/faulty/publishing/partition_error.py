"""Faults of the errors with which SUB and PUB are refused."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.core.commands import publish, sized, subscribe
from wireproof_reference_impl.nsq.core.commands.sized import Refuse
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.states import Event, State
from wireproof_reference_impl.nsq.delivery import subscribe_rules
from wireproof_reference_impl.nsq.faulty.errors import (
    When,
    answered_with_a_response,
    code_refusals,
    ended_without_a_word,
)
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.refusal import EndOfStream, Refusal
from wireproof_reference_impl.nsq.wire.words import show
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.nsq.error_codes import (
    E_BAD_CHANNEL,
    E_BAD_MESSAGE,
    E_BAD_PARTITION,
    E_BAD_PROTOCOL,
    E_BAD_TOPIC,
    E_INVALID,
    E_PUB_FAILED,
    E_TOPIC_NOT_EXIST,
)
from wireproof_spec.nsq.names import MPUB, PUB, SUB, is_valid_name


def _change_code(command: bytes, code: str, said: str) -> tuple[Override, ...]:
    """Return overrides that change the code with which one command is refused."""

    def error_code(name: bytes, found: str) -> str:
        return said if name == command and found == code else found

    return (code_refusals(error_code),)


def _is(command: bytes, code: str) -> When:
    return lambda name, found: name == command and found == code


def _long_too(name: str) -> bool:
    return is_valid_name(name) or is_valid_name(name[:64])


@condition("smart.partition.required", around(publish, "needs_partition"))
def pub_partition_optional_on_ext_topics(
    original: Original, connection: Connection, words: Sequence[bytes]
) -> bool:
    """PUB without a partition is accepted on ext topics."""
    topic = connection.node.topics.get(show(words[1]))
    return bool(original(connection, words)) and (topic is None or not topic.extend)


@wrong_value("smart.partition.pub-invalid")
def pub_invalid_other_code() -> Change:
    """PUB with a word missing, or with a partition that is no number, is refused with
    E_BAD_PROTOCOL.
    """
    return _change_code(PUB, E_INVALID, E_BAD_PROTOCOL)


@missing(
    "smart.partition.pub-invalid smart.partition.required smart.partition.pub-wrong-partition"
)
def pub_invalid_without_a_word() -> Change:
    """PUB with a word missing, or with a partition that is no number, ends the connection
    without a word.
    """
    return ended_without_a_word(_is(PUB, E_INVALID))


@wrong_value(
    "smart.partition.pub-invalid smart.partition.required smart.partition.pub-wrong-partition"
)
def pub_invalid_as_a_response() -> Change:
    """PUB with a word missing, or with a partition that is no number, is refused with a
    response frame.
    """
    return answered_with_a_response(_is(PUB, E_INVALID))


@wrong_value("smart.partition.pub-bad-topic")
def pub_bad_topic_other_code() -> Change:
    """PUB to a topic of an illegal name is refused with E_INVALID."""
    return _change_code(PUB, E_BAD_TOPIC, E_INVALID)


@missing("smart.partition.pub-bad-topic")
def pub_bad_topic_without_a_word() -> Change:
    """PUB to a topic of an illegal name ends the connection without a word."""
    return ended_without_a_word(_is(PUB, E_BAD_TOPIC))


@wrong_value("smart.partition.pub-bad-topic")
def pub_bad_topic_as_a_response() -> Change:
    """PUB to a topic of an illegal name is refused with a response frame."""
    return answered_with_a_response(_is(PUB, E_BAD_TOPIC))


@condition("smart.partition.topic-not-exist smart.cluster.elsewhere")
def batch_topic_not_exist_other_code() -> Change:
    """MPUB to a topic or partition that a node does not have is refused with E_PUB_FAILED."""
    return _change_code(MPUB, E_TOPIC_NOT_EXIST, E_PUB_FAILED)


def _invalid_twice(frame_type: int, data: bytes) -> bytes:
    sent = packed.frame(frame_type, data)
    return sent * 2 if data.startswith(E_INVALID.encode() + b" ") else sent


def _unless_invalid(command: bytes, code: str, fatal: bool) -> bool:
    return fatal and code != E_INVALID


@missing("smart.partition.sub-again", around(Connection, "move"))
def sub_again_accepted(original: Original, connection: Connection, event: Event) -> None:
    """A second SUB on a connection is accepted."""
    if event is not Event.SUB or connection.state is not State.SUBSCRIBED:
        original(connection, event)


@extra("smart.partition.pub-invalid smart.partition.sub-invalid smart.partition.sub-again")
def invalid_said_twice() -> Change:
    """E_INVALID is sent twice and the connection stays open."""
    return {"output.frame": _invalid_twice, "output.fatal": _unless_invalid}


@boundary("smart.partition.pub-bad-topic")
def pub_long_names_taken() -> Change:
    """PUB accepts topic names of more than 64 letters."""
    return replace_function(publish, "is_valid_name", _long_too)


@wrong_value("smart.partition.pub-bad-message")
def pub_bad_message_other_code() -> Change:
    """PUB with a size that cannot be, or cut, is refused with E_BAD_PROTOCOL."""
    return _change_code(PUB, E_BAD_MESSAGE, E_BAD_PROTOCOL)


@wrong_value("smart.partition.pub-bad-message")
def pub_bad_message_as_a_response() -> Change:
    """PUB with a size that cannot be, or cut, is refused with a response frame."""
    return answered_with_a_response(_is(PUB, E_BAD_MESSAGE))


@boundary("smart.partition.pub-bad-message", around(sized, "check_size"))
def pub_negative_size_taken(
    original: Original, size: int, *, limit: int, invalid: Refuse, too_big: Refuse
) -> None:
    """A PUB with a negative size is accepted as an empty message."""
    if size >= 0:
        original(size, limit=limit, invalid=invalid, too_big=too_big)


@missing("smart.partition.pub-bad-message", around(publish, "read_body"))
def pub_cut_filled_up(
    original: Callable[..., sized.Bytes], connection: Connection, size: int
) -> sized.Bytes:
    """PUB cut off by the end of the stream is accepted as a message of zeros."""
    try:
        return (yield from original(connection, size))
    except Refusal as refusal:
        if connection.command != PUB or not isinstance(refusal.__cause__, EndOfStream):
            raise
        return bytes(size)


@wrong_value("smart.partition.topic-not-exist smart.partition.names")
def pub_topic_not_exist_other_code() -> Change:
    """PUB to a topic that does not exist is refused with E_PUB_FAILED."""
    return _change_code(PUB, E_TOPIC_NOT_EXIST, E_PUB_FAILED)


@missing("smart.partition.topic-not-exist smart.partition.names")
def pub_topic_not_exist_without_a_word() -> Change:
    """PUB to a topic that does not exist ends the connection without a word."""
    return ended_without_a_word(_is(PUB, E_TOPIC_NOT_EXIST))


@wrong_value("smart.partition.topic-not-exist smart.partition.names")
def pub_topic_not_exist_as_a_response() -> Change:
    """PUB to a topic that does not exist is refused with a response frame."""
    return answered_with_a_response(_is(PUB, E_TOPIC_NOT_EXIST))


@wrong_value("smart.partition.sub-invalid")
def sub_invalid_other_code() -> Change:
    """SUB with a word missing, or a second one, is refused with E_BAD_PROTOCOL."""
    return _change_code(SUB, E_INVALID, E_BAD_PROTOCOL)


@missing("smart.partition.sub-invalid")
def sub_invalid_without_a_word() -> Change:
    """SUB with a word missing, or a second one, ends the connection without a word."""
    return ended_without_a_word(_is(SUB, E_INVALID))


@wrong_value("smart.partition.sub-invalid smart.partition.sub-again")
def sub_invalid_as_a_response() -> Change:
    """SUB with a word missing, or a second one, is refused with a response frame."""
    return answered_with_a_response(_is(SUB, E_INVALID))


@wrong_value("smart.partition.sub-bad-topic")
def sub_bad_topic_other_code() -> Change:
    """SUB to a topic of an illegal name is refused with E_BAD_CHANNEL."""
    return _change_code(SUB, E_BAD_TOPIC, E_BAD_CHANNEL)


@missing("smart.partition.sub-bad-topic")
def sub_bad_topic_without_a_word() -> Change:
    """SUB to a topic of an illegal name ends the connection without a word."""
    return ended_without_a_word(_is(SUB, E_BAD_TOPIC))


@wrong_value("smart.partition.sub-bad-topic")
def sub_bad_topic_as_a_response() -> Change:
    """SUB to a topic of an illegal name is refused with a response frame."""
    return answered_with_a_response(_is(SUB, E_BAD_TOPIC))


@boundary("smart.partition.sub-bad-topic")
def sub_long_topic_names_taken() -> Change:
    """SUB accepts topic names of more than 64 letters."""
    return replace_function(subscribe_rules, "is_topic_name", _long_too)


@wrong_value("smart.partition.sub-bad-channel")
def sub_bad_channel_other_code() -> Change:
    """SUB to a channel of an illegal name is refused with E_BAD_TOPIC."""
    return _change_code(SUB, E_BAD_CHANNEL, E_BAD_TOPIC)


@missing("smart.partition.sub-bad-channel")
def sub_bad_channel_without_a_word() -> Change:
    """SUB to a channel of an illegal name ends the connection without a word."""
    return ended_without_a_word(_is(SUB, E_BAD_CHANNEL))


@wrong_value("smart.partition.sub-bad-channel")
def sub_bad_channel_as_a_response() -> Change:
    """SUB to a channel of an illegal name is refused with a response frame."""
    return answered_with_a_response(_is(SUB, E_BAD_CHANNEL))


@condition("smart.partition.subscribe-blank", around(subscribe, "_check_words"))
def sub_blank_at_the_end_refused(
    original: Original, connection: Connection, words: Sequence[bytes]
) -> None:
    """SUB with a blank at the end of its line is refused."""
    if not words[-1]:
        raise Refusal(E_INVALID, "SUB has a blank at the end")
    original(connection, words)


@condition(
    "smart.partition.sub-bad-channel smart.order.command-refused",
    replace_function(subscribe_rules, "is_channel_name"),
)
def sub_any_channel_letter(name: str) -> bool:
    """SUB and SUB_ORDER accept channel names with any characters."""
    return is_valid_name(name) or (0 < len(name) <= 64)


@wrong_value("smart.partition.sub-missing")
def sub_missing_other_code() -> Change:
    """SUB to a topic or partition that does not exist is refused with E_BAD_CHANNEL."""
    return _change_code(SUB, E_TOPIC_NOT_EXIST, E_BAD_CHANNEL)


@missing("smart.partition.sub-missing")
def sub_missing_without_a_word() -> Change:
    """SUB to a topic or partition that does not exist ends the connection without a word."""
    return ended_without_a_word(_is(SUB, E_TOPIC_NOT_EXIST))


@wrong_value("smart.partition.sub-missing")
def sub_missing_as_a_response() -> Change:
    """SUB to a topic or partition that does not exist is refused with a response frame."""
    return answered_with_a_response(_is(SUB, E_TOPIC_NOT_EXIST))


@condition("smart.partition.sub-missing")
def sub_bad_partition_other_code() -> Change:
    """SUB to a partition that is no number is refused with E_BAD_CHANNEL."""
    return _change_code(SUB, E_BAD_PARTITION, E_BAD_CHANNEL)


FAULTS = list_faults(__name__)
