"""Sends a recorded exchange again, and compares the answers with the recorded ones."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from wireproof.replaying.protocol_replay import Link, Links, Replayer, replayer_of
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Part
from wireproof_reports.exchange.annotation import read_bytes
from wireproof_reports.exchange.evidence import received_parts
from wireproof_spec.step_notes import IN_TLS
from wireproof_spec.step_record import StepRecord

KINDS = ("receive", "response", "close")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing a repetition with the record; ``changed``: fields that varied."""

    same: bool
    words: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Answer:
    """A received answer, and all bytes sent before it on its connection.

    ``number`` counts what came on the connection, as a reader of the exchange does.
    """

    kind: str
    data: bytes
    sent: tuple[bytes, ...]
    number: int


def play(steps: Sequence[StepRecord], links: Links[Link], replayer: Replayer) -> None:
    """Send the recorded bytes of a case again, and receive the answers, on new connections."""
    came: list[bytes] = []
    for step in steps:
        data = read_bytes(step)
        if replayer.is_beat(data):
            continue
        if step.kind == "receive":
            came.append(data)
        if step.kind == "send":
            data = replayer.renewed(data, came, _receive_all(links))
        _act(step, data, links)


def _act(step: StepRecord, data: bytes, links: Links[Link]) -> None:
    if step.kind == "open":
        links.open(step.conn)
    elif step.kind == "send":
        links.send(step.conn, _make_outgoing(step, data))
    elif step.kind == "request":
        links.request(step.conn, data, step.note)
    elif step.kind == "receive":
        links.receive(step.conn)
    elif step.kind == "close":
        _end(step, links)
    elif step.note.startswith(IN_TLS):
        links.secure(step.conn)


def _end(step: StepRecord, links: Links[Link]) -> None:
    if _by_target(step):
        links.receive(step.conn)
    elif "sending direction" in step.note:
        links.half_close(step.conn)
    else:
        links.close(step.conn)


def compare(
    before: Sequence[StepRecord], after: Sequence[StepRecord], protocol: str
) -> Comparison:
    """Compare recorded with received answers, connection by connection and field by field."""
    changed: dict[str, None] = {}
    replayer = replayer_of(protocol)
    for name in dict.fromkeys(step.conn for step in before):
        due, found = _answers(before, name, replayer), _answers(after, name, replayer)
        if not any(answer.kind == "close" for answer in due):
            # The kit ended it first; the target may have been about to.
            found = [answer for answer in found if answer.kind != "close"]
        for old, new in zip(due, found, strict=False):
            fields = _find_differing(old, new, protocol)
            if any(_last_name(field) not in replayer.volatile for field in fields):
                was = f", recorded as answer {old.number}" if old.number != new.number else ""
                where = f"connection {name}, answer {new.number}{was}"
                return Comparison(same=False, words=f"different: {where}: {', '.join(fields)}")
            changed.update(dict.fromkeys(fields))
        if len(due) != len(found):
            words = f"different: connection {name}: {len(found)} answers, {len(due)} recorded"
            return Comparison(same=False, words=words)
    words = f"as recorded, but for {', '.join(changed)}" if changed else "as recorded"
    return Comparison(same=True, words=words, changed=tuple(changed))


def _make_outgoing(step: StepRecord, data: bytes) -> Outgoing:
    return Outgoing(data, tuple(Part(*part) for part in step.parts), step.note)


def _receive_all(links: Links[Link]) -> list[bytes]:
    return [step.data for step in links.transcript.steps() if step.kind == "receive"]


def _answers(steps: Sequence[StepRecord], name: str, replayer: Replayer) -> list[_Answer]:
    """Return the answers on a connection and its close by the target, in the protocol's order."""
    sent: list[bytes] = []
    answers: list[_Answer] = []
    number = 0
    for step in steps:
        data = read_bytes(step)
        number += step.conn == name and step.kind in KINDS
        if step.conn != name or replayer.is_beat(data):
            continue
        if step.kind == "send":
            sent.append(data)
        elif step.kind in KINDS and (step.kind != "close" or _by_target(step)):
            settled = replayer.settled(data, sent)
            answers.append(_Answer(step.kind, settled, tuple(sent), number))
    return sorted(answers, key=lambda answer: replayer.rank(answer.data))


def _by_target(step: StepRecord) -> bool:
    return step.note.startswith("by the target")


def _last_name(field: str) -> str:
    return field.rpartition(".")[2]


def _find_differing(old: _Answer, new: _Answer, protocol: str) -> list[str]:
    """Return the names of the fields in which two answers differ."""
    if old.kind != new.kind:
        return [f"{new.kind}, recorded {old.kind}"]
    if old.data == new.data:
        return []
    if old.kind == "response":
        return _differing_http(old.data, new.data)
    namer = received_parts(protocol)
    parts, others = namer(old.data, old.sent), namer(new.data, old.sent)
    if [(p.offset, p.label) for p in parts] != [(p.offset, p.label) for p in others]:
        return ["the frame's make-up"]
    cuts = [slice(part.offset, part.offset + part.length) for part in parts]
    named = [
        part.label for part, cut in zip(parts, cuts, strict=True) if old.data[cut] != new.data[cut]
    ]
    return named or ["length"]


def _differing_http(old: bytes, new: bytes) -> list[str]:
    """Compare status and body; header fields such as Date are the server's own affair."""
    fields: list[str] = []
    if old.split(b"\r\n")[0] != new.split(b"\r\n")[0]:
        fields.append("status line")
    return fields + _differing_bodies(old.partition(b"\r\n\r\n")[2], new.partition(b"\r\n\r\n")[2])


def _differing_bodies(old: bytes, new: bytes) -> list[str]:
    if old == new:
        return []
    one, other = _members(old), _members(new)
    if not one or one.keys() != other.keys():
        return ["body"]
    return [name for name in one if one[name] != other[name]]


def _members(body: bytes) -> dict[str, object]:
    """Return the members of a JSON document by their paths, a wrapped one in its place."""
    try:
        value: object = json.loads(body)
    except ValueError:
        return {}
    return dict(_leaves(_unwrap(value), ""))


def _unwrap(value: object) -> object:
    if not isinstance(value, dict):
        return value
    members = cast(dict[str, object], value)
    return members.get("data", members)


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, member in cast(dict[str, object], value).items():
            yield from _leaves(member, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        for number, item in enumerate(cast(list[object], value)):
            yield from _leaves(item, f"{path}[{number}]")
    else:
        yield path, value
