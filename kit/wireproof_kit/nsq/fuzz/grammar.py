"""The grammar from which fuzz cases for NSQ are generated."""

from collections.abc import Iterator, Mapping

from wireproof_kit.fuzz.case import EXERCISES
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.generate.mutations import IN_QUERY
from wireproof_kit.fuzz.generate.traps.json_members import Members, special_members
from wireproof_kit.fuzz.generate.traps.text_traps import Traps, instead, make_append_trap
from wireproof_kit.nsq.fuzz import extents, frames, http, states
from wireproof_kit.nsq.fuzz.names import Names
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.command import command_line

_SUFFIX = {"only the suffix": instead(b"#ephemeral")}

TRAPS: Traps = {
    "text": _SUFFIX,
    "fixed": _SUFFIX,
    "body": {"like a command": instead(b"\n" + command_line(names.NOP))},
    IN_QUERY: {"more parameters": make_append_trap(b"&topic=&topic=x")},
}


def _texts_about(size: int) -> tuple[bytes, ...]:
    return tuple(b'"%b"' % (b"a" * each) for each in (size, size + 1))


def _around(*numbers: int) -> tuple[bytes, ...]:
    return tuple(b"%d" % each for number in numbers for each in (number, number + 1))


_HEADER_MEMBERS = special_members(
    "nsq/ext-header",
    {
        names.TRACE_ID: (
            *(b'"0"', b'"-1"', b'"18446744073709551615"', b'"18446744073709551616"'),
        ),
        names.CLIENT_DISPATCH_TAG: _texts_about(limits.MAX_DESIRED_TAG_SIZE),
    },
)
_IDENTITY_MEMBERS = special_members(
    "nsq/identify-request",
    {
        "output_buffer_size": _around(limits.MAX_OUTPUT_BUFFER_SIZE),
        "msg_timeout": _around(limits.MSG_TIMEOUT_MS),
        "deflate_level": (b"1", *_around(limits.MAX_DEFLATE_LEVEL), b"9", b"10"),
    },
)
MEMBERS: Mapping[str, Members] = {
    "IDENTIFY": _IDENTITY_MEMBERS,
    **dict.fromkeys(("PUB_EXT", "MPUB_EXT", "POST /pub_ext"), _HEADER_MEMBERS),
}
"""Special values for the members of JSON documents, by frame kind."""

_MESSAGE = (limits.MAX_MSG_SIZE, limits.MAX_MSG_SIZE + 1)
_BODY = (limits.MAX_BODY_SIZE, limits.MAX_BODY_SIZE + 1)
_HEADER = (limits.MAX_JSON_HEADER_SIZE, limits.MAX_JSON_HEADER_SIZE + 1)
_COUNT = limits.max_mpub_count(limits.MAX_BODY_SIZE)

LIMITS = {
    "size": (*_MESSAGE, *_BODY),
    "messages[].size": _MESSAGE,
    "header_length": _HEADER,
    "messages[].header_length": _HEADER,
    "count": (_COUNT, _COUNT + 1, limits.MAX_RDY_COUNT, limits.MAX_RDY_COUNT + 1),
    "topic_partition": (limits.MAX_PARTITION, limits.MAX_PARTITION + 1),
    "timeout_ms": (limits.MAX_REQ_TIMEOUT_MS, limits.MAX_REQ_TIMEOUT_MS + 1),
}


def grammar(there: Names, *, scapy: bool = False) -> Grammar:
    """Return the requests that can be sent to a broker with these topics and channels.

    With `scapy`, include frames by its `fuzz()`; they need the optional dependency ``pcap``.
    """
    return Grammar(
        kinds=(*frames.kinds(there), *http.kinds(there), *(_by_scapy(there) if scapy else ())),
        states={frames.TCP: states.TCP_STATES, states.HTTP: (states.HTTP,)},
        entry=states.entry(there),
        talking=frames.TCP,
        is_delimited=extents.is_delimited,
        is_hazardous=extents.is_hazardous,
        moves=states.Moves(there).moves,
        limits=LIMITS,
        traps=TRAPS,
        beating=states.BEATING,
        exercises=EXERCISES,
        members=MEMBERS,
    )


def _by_scapy(there: Names) -> Iterator[Kind]:
    from wireproof_kit.nsq.pcap.fuzzed import kinds

    return kinds(there)
