"""Adapts a recorded NSQ exchange for another run: topics, message ids, heartbeats."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from wireproof_reports.exchange.protocol import Act, Plan
from wireproof_spec.nsq import error_codes, names

HEAD = 8
MESSAGE_ID = slice(HEAD + 10, HEAD + 26)
MESSAGE = b"\0\0\0\2"

_TOPIC = re.compile(
    rb"(?:M?PUB(?:_TRACE|_EXT)?|SUB(?:_ORDERED|_ORDER|_ADVANCED)?) (wp_[.\w-]{1,61})"
    rb"|[?&]topic=(wp_[.\w-]{1,61})"
)
"""A command may follow a body, so it need not begin a line."""
_PLACE = re.compile(
    rb"M?PUB(?:_TRACE|_EXT)? (?P<topic>wp_[.\w-]{1,61}) (?P<partition>\d{1,4})\b"
    rb"|SUB(?:_ORDERED|_ORDER|_ADVANCED)? (?P<read>wp_[.\w-]{1,61}) [.\w#-]+ (?P<of>\d{1,4})\b"
)
_QUERY = re.compile(rb"[?&](topic|partition)=([.\w-]{1,64})")
_ERROR = b"\0\0\0\1"
_FIRST = 0
_OWN = b"wp_exercise"
"""The topic for what clients of the fuzzer did by themselves."""
_NEIGHBOUR = b"wp_neighbour"
"""The topic of clients that use nothing of the case."""
_AUTH = names.AUTH + b"\n"
_ACKNOWLEDGING = (names.FIN + b" ", names.REQ + b" ", names.TOUCH + b" ")
_EXTENDING = (b"PUB_EXT ", b"/pub_ext?", b'"extend_support":true')
_NOT_EXTENDED = (
    error_codes.E_EXT_NOT_SUPPORT.encode(),
    error_codes.E_SUB_EXTEND_FORBIDDON.encode(),
)


def make_replayable(plan: Plan) -> Plan:
    """Return a script's plan with replaceable topic names and with message ids of the new run."""
    adapted = map(_without_secret, _with_live_ids(_without_heartbeats(plan.acts)))
    acts = tuple(replace(act, data=_OWN) if act.kind == "exercise" else act for act in adapted)
    topics = _topics(acts)
    exercises = any(act.kind == "exercise" for act in acts)
    beside = plan.is_beside and not exercises
    topics = (*topics, _NEIGHBOUR) if beside else topics
    secured = plan.secured if exercises or beside else frozenset[str]()
    secured |= {act.kind for act in acts} & {"secure", "secret"}
    opening = b"" if secured else names.MAGIC
    create = opening + names.INTERNAL_CREATE_TOPIC + b" %s %d %s\n"
    return replace(
        plan,
        acts=acts,
        names=topics,
        create=tuple(
            create % (topic, partition, _kind(acts, topic))
            for topic in topics
            for partition in _partitions(plan, topic)
        ),
        reader="nsq/reader.py.jinja",
        probe=names.MAGIC + names.IDENTIFY + b"\n" + (2).to_bytes(4) + b"{}",
        secured=secured,
        login="nsq/login.py.jinja" if secured else "",
        exercises="nsq/exercises.py.jinja" if exercises else "",
        bystanders="nsq/bystanders.py.jinja" if beside else "",
        watched=_watched(topics) if beside else (),
    )


def _watched(topics: Sequence[bytes]) -> tuple[tuple[bytes, ...], ...]:
    """Return the topics to consume from; the last one, of no case, also in order."""
    *others, last = topics
    return (*((topic,) for topic in others), (last, names.SUB_ORDERED, names.SUB_ORDER))


def _without_secret(act: Act) -> Act:
    """Return an act for whoever knows the secret if AUTH was sent, which is recorded masked."""
    data = _bytes(act, "send")
    secret = data[len(_AUTH) + 4 :]
    is_masked = data.startswith(_AUTH) and secret and not secret.strip(b"*")
    return replace(act, kind="secret", data=b"") if is_masked else act


def _topics(acts: Sequence[Act]) -> tuple[bytes, ...]:
    found: dict[bytes, None] = {}
    for act in acts:
        for match in _TOPIC.finditer(_bytes(act, "send")):
            found[match[1] or match[2]] = None
        if act.kind == "exercise":
            found[_OWN] = None
    return tuple(found)


def _partitions(plan: Plan, topic: bytes) -> list[int]:
    """Return the partitions of a topic to create: the first, and those that were used.

    A partition was there if a command for it was not refused. Where a case expects no refusal,
    each partition that it names was there: that it was refused may be what the case shows.
    """
    found = {_FIRST}
    for at, act in enumerate(plan.acts):
        used = [number for name, number in _places(_bytes(act, "send")) if name == topic]
        if used and (not plan.may_be_refused or _is_taken(plan.acts[at + 1 :], act.connection)):
            found.update(used)
    return sorted(found)


def _places(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield each topic and partition that sent bytes name."""
    for match in _PLACE.finditer(data):
        yield match["topic"] or match["read"], int(match["partition"] or match["of"])
    query = dict(_QUERY.findall(data.partition(b"\r\n")[0]))
    if query.get(b"partition", b"").isdigit():
        yield query.get(b"topic", b""), int(query[b"partition"])


def _is_taken(later: Sequence[Act], connection: str) -> bool:
    """Return True if what a connection received next is no error."""
    said = (each.data for each in later if each.connection == connection)
    answer = next((data for data in said if isinstance(data, bytes) and data), b"")
    is_http = answer.startswith(b"HTTP/")
    return answer.split(b" ")[1:2] == [b"200"] if is_http else answer[4:HEAD] != _ERROR


def _kind(acts: Sequence[Act], topic: bytes) -> bytes:
    """Guess from the connections that name a topic whether it was extended: true or false."""
    about = {act.connection for act in acts if _bytes(act, "send").find(topic) >= 0}
    own = [act for act in acts if act.connection in about]
    if any(_bytes(act, "receive")[HEAD:].startswith(_NOT_EXTENDED) for act in own):
        return b"false"
    sent = [_bytes(act, "send").replace(b'": ', b'":') for act in own]
    return b"true" if any(word in data for data in sent for word in _EXTENDING) else b"false"


def _bytes(act: Act, kind: str) -> bytes:
    return act.data if act.kind == kind and isinstance(act.data, bytes) else b""


def _without_heartbeats(acts: Sequence[Act]) -> Iterator[Act]:
    beating: set[str] = set()
    for act in acts:
        if act.kind == "receive" and _is_heartbeat(act):
            beating.add(act.connection)
            continue
        if act.data == names.NOP + b"\n" and act.connection in beating:
            beating.remove(act.connection)
            continue
        yield act


def _is_heartbeat(act: Act) -> bool:
    return isinstance(act.data, bytes) and act.data[HEAD:] == names.HEARTBEAT


def _with_live_ids(acts: Iterator[Act]) -> Iterator[Act]:
    came: dict[bytes, int] = {}
    count = 0
    for act in acts:
        data = act.data
        if isinstance(data, bytes) and act.kind == "receive" and data[4:HEAD] == MESSAGE:
            came[data[MESSAGE_ID]] = count
            count += 1
        if isinstance(data, bytes) and act.kind == "send" and data.startswith(_ACKNOWLEDGING):
            start = data.index(b" ") + 1
            number = came.get(data[start : start + 16])
            if number is not None:
                yield replace(act, data=(data[:start], number, data[start + 16 :]))
                continue
        yield act
