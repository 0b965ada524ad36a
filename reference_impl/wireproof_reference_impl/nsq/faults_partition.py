"""Faults of partitions, and of the errors that SUB and PUB are refused with."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core import packed
from wireproof_reference_impl.nsq.core.frame_reading import Size, judge_size
from wireproof_reference_impl.nsq.core.landing import Landing
from wireproof_reference_impl.nsq.core.message import Stored
from wireproof_reference_impl.nsq.core.refusal import Manner
from wireproof_reference_impl.nsq.core.upgrading import TopicKind
from wireproof_reference_impl.nsq.preset import (
    BOUNDARY,
    CONDITION,
    EXTRA,
    MISSING,
    TRACED,
    WRONG_VALUE,
    Preset,
    fault,
)
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
from wireproof_spec.nsq.names import MPUB, OK, PUB, SUB, is_valid_name

Lands = Callable[[Landing], int]


def _landing(lands: Lands) -> Settings:
    """Return settings under which publishes land there; one node holds all partitions."""
    return {"cluster.together": True, "publish.lands": lands}


def _stray(name: str, text: str, lands: Lands, *, breaks: str, way: str) -> Preset:
    """Return a fault that lets messages stray, and late ones as well."""
    return fault(
        name,
        text,
        breaks=breaks,
        may_break=_TRACED_STRAYED if breaks == _TRACE else _STRAYED,
        settings=_landing(lands),
        way=way,
        delivers_wrongly=True,
        late={"cluster.together": True, "publish.strays": lands},
    )


def _first(landing: Landing) -> int:
    return 0


def _every_fourth_next_door(landing: Landing) -> int:
    return landing.partition ^ (landing.stored % 4 == 3)


def _batches_first(landing: Landing) -> int:
    return 0 if len(landing.entries) > 1 else landing.partition


def _traced(landing: Landing) -> bool:
    return any(entry.trace_id for entry in landing.entries)


def _traced_first(landing: Landing) -> int:
    return 0 if _traced(landing) else landing.partition


def _traced_last(landing: Landing) -> int:
    return 1 if _traced(landing) else landing.partition


def _odd_trace_ids_next_door(landing: Landing) -> int:
    return landing.partition ^ (landing.entries[0].trace_id % 2)


def _always_first(partition: int) -> int:
    return 0


def _line_feed_above_200(stored: Stored) -> bytes:
    return OK + b"\n" if stored.size > 200 else OK


def _coded(command: bytes, code: str, said: str) -> Settings:
    """Return settings under which one command is refused with another code."""

    def error_code(name: bytes, found: str) -> str:
        return said if name == command and found == code else found

    return {"output.error_code": error_code}


def _mannered(command: bytes, code: str, manner: Manner) -> Settings:
    """Return settings under which one refusal of a command shows otherwise."""

    def shown(name: bytes, found: str) -> Manner:
        return manner if name == command and found == code else Manner.SAID

    return {"output.manner": shown}


def _invalid_twice(frame_type: int, data: bytes) -> bytes:
    sent = packed.frame(frame_type, data)
    return sent * 2 if data.startswith(E_INVALID.encode() + b" ") else sent


def _unless_invalid(command: bytes, code: str, fatal: bool) -> bool:
    return fatal and code != E_INVALID


def _long_too(name: str) -> bool:
    return is_valid_name(name) or is_valid_name(name[:64])


def _any_letter(name: str) -> bool:
    return is_valid_name(name) or (0 < len(name) <= 64)


def _zero_taken(size: int, limit: int) -> Size:
    return judge_size(size, limit) if size else Size.FINE


def _last_byte_lost_above_4096(data: bytes) -> bytes:
    return data[:-1] if len(data) > 4096 else data


def _leading_blanks_lost(data: bytes) -> bytes:
    return data.lstrip(b"\n\r ") or data


def _only_on_plain(topic: TopicKind | None) -> bool:
    return topic is None or not topic.extend


def _short_names(name: str) -> bool:
    return is_valid_name(name) and len(name) < 64


def _lasting_names(name: str) -> bool:
    return is_valid_name(name) and "#" not in name


_OWN = "smart.partition.own-messages"
_TRACE = "smart.trace.partition"
_ORDER = "smart.order.partition"
_SUBSCRIBE = "smart.partition.subscribe"
_PUBLISH = "smart.partition.publish"
_STRAYED = (
    f"{_OWN} {_TRACE} {_ORDER} {_SUBSCRIBE} {_PUBLISH} smart.partition.required "
    "smart.trace.layout smart.history.kept smart.history.order"
)
_TRACED_STRAYED = f"{_STRAYED} {TRACED} smart.trace.position"
_REFUSED = (
    "publish.error-same-as-pub smart.trace.errors smart.partition.pub-wrong-partition "
    "smart.partition.pub-failed smart.partition.required parser.size parser.truncated"
)


def _refused(
    name: str,
    command: bytes,
    code: str,
    clause: str,
    *,
    said: str,
    text: str,
    as_well: str = "",
) -> tuple[Preset, ...]:
    """Return the faults of one refusal: another code, no word, no error frame.

    Those without an error break the clauses `as_well` that ask for any error.
    """
    return (
        fault(
            f"{name}-other-code",
            f"{text} is refused with {said}",
            breaks=clause,
            may_break=_REFUSED,
            settings=_coded(command, code, said),
            way=WRONG_VALUE,
        ),
        fault(
            f"{name}-without-a-word",
            f"{text} ends the connection without a word",
            breaks=f"{clause} {as_well}",
            may_break=_REFUSED,
            settings=_mannered(command, code, Manner.CLOSED),
            way=MISSING,
        ),
        fault(
            f"{name}-as-a-response",
            f"{text} is refused with a response frame",
            breaks=f"{clause} {as_well}",
            may_break=_REFUSED,
            settings=_mannered(command, code, Manner.RESPONSE),
            way=WRONG_VALUE,
        ),
    )


FAULTS: tuple[Preset, ...] = (
    _stray(
        "partition-first-for-all",
        "whatever partition a publish names, the first gets it",
        _first,
        breaks=f"{_OWN} {_ORDER}",
        way=WRONG_VALUE,
    ),
    _stray(
        "partition-every-fourth-astray",
        "every fourth message of a partition goes to the one beside it",
        _every_fourth_next_door,
        breaks=_OWN,
        way=CONDITION,
    ),
    _stray(
        "partition-batches-to-the-first",
        "batches go to the first partition, whatever they name",
        _batches_first,
        breaks=_OWN,
        way=CONDITION,
    ),
    _stray(
        "partition-traced-to-the-first",
        "traced messages go to the first partition, whatever they name",
        _traced_first,
        breaks=_TRACE,
        way=WRONG_VALUE,
    ),
    _stray(
        "partition-traced-to-the-second",
        "traced messages go to the second partition, whatever they name",
        _traced_last,
        breaks=_TRACE,
        way=WRONG_VALUE,
    ),
    _stray(
        "partition-odd-trace-ids-astray",
        "messages with odd trace ids go to the partition beside the one they name",
        _odd_trace_ids_next_door,
        breaks=_TRACE,
        way=CONDITION,
    ),
    fault(
        "partition-subscribed-to-the-first",
        "a subscription is to the first partition, whatever it names",
        breaks=f"{_SUBSCRIBE} {_OWN} {_ORDER}",
        may_break=f"{_STRAYED} smart.partition.sub-missing",
        settings={"cluster.together": True, "subscribe.lands": _always_first},
        way=WRONG_VALUE,
    ),
    fault(
        "channel-of-64-letters-refused",
        "a channel of 64 letters is refused",
        breaks=_SUBSCRIBE,
        settings={"subscribe.channel_names": _short_names},
        way=BOUNDARY,
    ),
    fault(
        "channel-ephemeral-refused",
        "an ephemeral channel is refused",
        breaks=_SUBSCRIBE,
        may_break="consume.layout",
        settings={"subscribe.channel_names": _lasting_names},
        way=CONDITION,
    ),
    fault(
        "pub-last-byte-lost",
        "bodies of PUB above 4096 bytes lose their last byte",
        breaks=_PUBLISH,
        may_break="smart.order.layout smart.order.in-order smart.order.increasing "
        "consume.plain-topic",
        settings={"publish.plain_body": _last_byte_lost_above_4096},
        way=BOUNDARY,
    ),
    fault(
        "pub-leading-blanks-lost",
        "bodies of PUB lose blanks and line ends at their front",
        breaks=_PUBLISH,
        may_break="smart.order.layout consume.plain-topic",
        settings={"publish.plain_body": _leading_blanks_lost},
        way=CONDITION,
    ),
    fault(
        "pub-ok-with-line-feed",
        "PUB of more than 200 bytes is answered OK and a line feed",
        breaks=_PUBLISH,
        may_break="smart.partition.pub-failed",
        settings={"publish.plain_ok": _line_feed_above_200},
        way=EXTRA,
    ),
    fault(
        "pub-partition-optional-on-ext-topics",
        "on ext topics PUB needs no partition, on others it does",
        breaks="smart.partition.required",
        settings={"publish.needs_partition": _only_on_plain},
        way=CONDITION,
    ),
    *_refused(
        "pub-invalid",
        PUB,
        E_INVALID,
        "smart.partition.pub-invalid",
        said=E_BAD_PROTOCOL,
        text="PUB with a word missing, or with a partition that is no number,",
        as_well="smart.partition.required smart.partition.pub-wrong-partition",
    ),
    *_refused(
        "pub-bad-topic",
        PUB,
        E_BAD_TOPIC,
        "smart.partition.pub-bad-topic",
        said=E_INVALID,
        text="PUB to a topic of an illegal name",
    ),
    fault(
        "batch-topic-not-exist-other-code",
        "MPUB to a topic or partition that a node does not have is refused with E_PUB_FAILED",
        breaks="smart.partition.topic-not-exist smart.cluster.elsewhere",
        settings=_coded(MPUB, E_TOPIC_NOT_EXIST, E_PUB_FAILED),
        way=CONDITION,
    ),
    fault(
        "invalid-said-twice",
        "E_INVALID is said twice, and the connection goes on",
        breaks="smart.partition.pub-invalid smart.partition.sub-invalid",
        may_break=_REFUSED,
        settings={"output.frame": _invalid_twice, "output.fatal": _unless_invalid},
        way=EXTRA,
    ),
    fault(
        "pub-long-names-taken",
        "PUB takes topic names of more than 64 letters for legal ones",
        breaks="smart.partition.pub-bad-topic",
        may_break=_REFUSED,
        settings={"publish.topic_names": _long_too},
        way=BOUNDARY,
    ),
    *_refused(
        "pub-bad-message",
        PUB,
        E_BAD_MESSAGE,
        "smart.partition.pub-bad-message",
        said=E_BAD_BODY,
        text="PUB with a size that cannot be, or cut,",
    ),
    fault(
        "pub-size-zero-taken",
        "a message of no bytes is taken",
        breaks="smart.partition.pub-bad-message",
        may_break=f"{_REFUSED} parser.empty-body smart.trace.short",
        settings={"parser.size": _zero_taken},
        way=BOUNDARY,
    ),
    *_refused(
        "pub-topic-not-exist",
        PUB,
        E_TOPIC_NOT_EXIST,
        "smart.partition.topic-not-exist",
        said=E_PUB_FAILED,
        text="PUB to a topic that does not exist",
    ),
    *_refused(
        "sub-invalid",
        SUB,
        E_INVALID,
        "smart.partition.sub-invalid",
        said=E_BAD_PROTOCOL,
        text="SUB with a word missing, or a second one,",
    ),
    *_refused(
        "sub-bad-topic",
        SUB,
        E_BAD_TOPIC,
        "smart.partition.sub-bad-topic",
        said=E_BAD_CHANNEL,
        text="SUB to a topic of an illegal name",
    ),
    fault(
        "sub-long-topic-names-taken",
        "SUB takes topic names of more than 64 letters for legal ones",
        breaks="smart.partition.sub-bad-topic",
        settings={"subscribe.topic_names": _long_too},
        way=BOUNDARY,
    ),
    *_refused(
        "sub-bad-channel",
        SUB,
        E_BAD_CHANNEL,
        "smart.partition.sub-bad-channel",
        said=E_BAD_TOPIC,
        text="SUB to a channel of an illegal name",
    ),
    fault(
        "sub-any-channel-letter",
        "SUB takes channel names of any letters",
        breaks="smart.partition.sub-bad-channel",
        settings={"subscribe.channel_names": _any_letter},
        way=CONDITION,
    ),
    *_refused(
        "sub-missing",
        SUB,
        E_TOPIC_NOT_EXIST,
        "smart.partition.sub-missing",
        said=E_BAD_CHANNEL,
        text="SUB to a topic or partition that does not exist",
    ),
    fault(
        "sub-bad-partition-other-code",
        "SUB to a partition that is no number is refused with E_BAD_CHANNEL",
        breaks="smart.partition.sub-missing",
        settings=_coded(SUB, E_BAD_PARTITION, E_BAD_CHANNEL),
        way=CONDITION,
    ),
)
