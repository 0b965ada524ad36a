"""Faults of the errors with which SUB and PUB are refused."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.core.commands import publish, sized, subscribe
from wireproof_reference_impl.nsq.core.commands.sized import Refuse
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.delivery import subscribe_rules
from wireproof_reference_impl.nsq.faulty.errors import (
    When,
    answered_with_a_response,
    code_refusals,
    ended_without_a_word,
)
from wireproof_reference_impl.nsq.preset import (
    Preset,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.nsq.wire.words import show
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.nsq.error_codes import (
    E_BAD_BODY,
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


def _invalid_twice(frame_type: int, data: bytes) -> bytes:
    sent = packed.frame(frame_type, data)
    return sent * 2 if data.startswith(E_INVALID.encode() + b" ") else sent


def _unless_invalid(command: bytes, code: str, fatal: bool) -> bool:
    return fatal and code != E_INVALID


def _long_too(name: str) -> bool:
    return is_valid_name(name) or is_valid_name(name[:64])


def _any_letter(name: str) -> bool:
    return is_valid_name(name) or (0 < len(name) <= 64)


def _negative_taken(
    original: Original, size: int, *, limit: int, invalid: Refuse, too_big: Refuse
) -> None:
    if size >= 0:
        original(size, limit=limit, invalid=invalid, too_big=too_big)


def _no_blank_at_the_end(
    original: Original, connection: Connection, words: Sequence[bytes]
) -> None:
    if not words[-1]:
        raise Refusal(E_INVALID, "SUB has a blank at the end")
    original(connection, words)


def _only_on_plain(original: Original, connection: Connection, words: Sequence[bytes]) -> bool:
    topic = connection.node.topics.get(show(words[1]))
    return bool(original(connection, words)) and (topic is None or not topic.extend)


_REFUSED = (
    "publish.error-same-as-pub smart.trace.errors smart.partition.pub-wrong-partition "
    "smart.partition.pub-failed smart.partition.pub-empty smart.partition.required parser.size "
    "parser.truncated"
)


def _make_refusal_faults(
    name: str,
    command: bytes,
    code: str,
    clause: str,
    *,
    said: str,
    text: str,
    as_well: str = "",
) -> tuple[Preset, ...]:
    """Return three faults of one refusal: another code, no code, no error frame.

    The faults without an error also break the clauses `as_well`, which require some error.
    """
    return (
        wrong_value(
            f"{name}-other-code",
            f"{text} is refused with {said}",
            breaks=clause,
            may_break=_REFUSED,
            overrides=_change_code(command, code, said),
        ),
        missing(
            f"{name}-without-a-word",
            f"{text} ends the connection without a word",
            breaks=f"{clause} {as_well}",
            may_break=_REFUSED,
            overrides=(ended_without_a_word(_is(command, code)),),
        ),
        wrong_value(
            f"{name}-as-a-response",
            f"{text} is refused with a response frame",
            breaks=f"{clause} {as_well}",
            may_break=_REFUSED,
            overrides=(answered_with_a_response(_is(command, code)),),
        ),
    )


FAULTS: tuple[Preset, ...] = (
    condition(
        "pub-partition-optional-on-ext-topics",
        "PUB without a partition is accepted on ext topics",
        breaks="smart.partition.required",
        overrides=(around(publish, "needs_partition", _only_on_plain),),
    ),
    *_make_refusal_faults(
        "pub-invalid",
        PUB,
        E_INVALID,
        "smart.partition.pub-invalid",
        said=E_BAD_PROTOCOL,
        text="PUB with a word missing, or with a partition that is no number,",
        as_well="smart.partition.required smart.partition.pub-wrong-partition",
    ),
    *_make_refusal_faults(
        "pub-bad-topic",
        PUB,
        E_BAD_TOPIC,
        "smart.partition.pub-bad-topic",
        said=E_INVALID,
        text="PUB to a topic of an illegal name",
    ),
    condition(
        "batch-topic-not-exist-other-code",
        "MPUB to a topic or partition that a node does not have is refused with E_PUB_FAILED",
        breaks="smart.partition.topic-not-exist smart.cluster.elsewhere",
        overrides=_change_code(MPUB, E_TOPIC_NOT_EXIST, E_PUB_FAILED),
    ),
    extra(
        "invalid-said-twice",
        "E_INVALID is sent twice and the connection stays open",
        breaks="smart.partition.pub-invalid smart.partition.sub-invalid",
        may_break=_REFUSED,
        settings={"output.frame": _invalid_twice, "output.fatal": _unless_invalid},
    ),
    boundary(
        "pub-long-names-taken",
        "PUB accepts topic names of more than 64 letters",
        breaks="smart.partition.pub-bad-topic",
        may_break=_REFUSED,
        overrides=(replace_function(publish, "is_valid_name", _long_too),),
    ),
    *_make_refusal_faults(
        "pub-bad-message",
        PUB,
        E_BAD_MESSAGE,
        "smart.partition.pub-bad-message",
        said=E_BAD_BODY,
        text="PUB with a size that cannot be, or cut,",
    ),
    boundary(
        "pub-negative-size-taken",
        "a PUB with a negative size is accepted as an empty message",
        breaks="smart.partition.pub-bad-message",
        may_break=f"{_REFUSED} parser.empty-body smart.trace.short smart.partition.pub-empty",
        overrides=(around(sized, "check_size", _negative_taken),),
    ),
    *_make_refusal_faults(
        "pub-topic-not-exist",
        PUB,
        E_TOPIC_NOT_EXIST,
        "smart.partition.topic-not-exist",
        said=E_PUB_FAILED,
        text="PUB to a topic that does not exist",
    ),
    *_make_refusal_faults(
        "sub-invalid",
        SUB,
        E_INVALID,
        "smart.partition.sub-invalid",
        said=E_BAD_PROTOCOL,
        text="SUB with a word missing, or a second one,",
    ),
    *_make_refusal_faults(
        "sub-bad-topic",
        SUB,
        E_BAD_TOPIC,
        "smart.partition.sub-bad-topic",
        said=E_BAD_CHANNEL,
        text="SUB to a topic of an illegal name",
    ),
    boundary(
        "sub-long-topic-names-taken",
        "SUB accepts topic names of more than 64 letters",
        breaks="smart.partition.sub-bad-topic",
        overrides=(replace_function(subscribe_rules, "is_topic_name", _long_too),),
    ),
    *_make_refusal_faults(
        "sub-bad-channel",
        SUB,
        E_BAD_CHANNEL,
        "smart.partition.sub-bad-channel",
        said=E_BAD_TOPIC,
        text="SUB to a channel of an illegal name",
    ),
    condition(
        "sub-blank-at-the-end-refused",
        "SUB with a blank at the end of its line is refused",
        breaks="smart.partition.subscribe-blank",
        overrides=(around(subscribe, "_check_words", _no_blank_at_the_end),),
    ),
    condition(
        "sub-any-channel-letter",
        "SUB and SUB_ORDER accept channel names with any characters",
        breaks="smart.partition.sub-bad-channel smart.order.command-refused",
        overrides=(replace_function(subscribe_rules, "is_channel_name", _any_letter),),
    ),
    *_make_refusal_faults(
        "sub-missing",
        SUB,
        E_TOPIC_NOT_EXIST,
        "smart.partition.sub-missing",
        said=E_BAD_CHANNEL,
        text="SUB to a topic or partition that does not exist",
    ),
    condition(
        "sub-bad-partition-other-code",
        "SUB to a partition that is no number is refused with E_BAD_CHANNEL",
        breaks="smart.partition.sub-missing",
        overrides=_change_code(SUB, E_BAD_PARTITION, E_BAD_CHANNEL),
    ),
)
