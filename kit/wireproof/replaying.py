"""Sending a recorded exchange again, and comparing what comes with what came."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from wireproof.replayer import Links, Replayer, replayer_of
from wireproof_kit.outgoing import Outgoing
from wireproof_kit.transcript import Part
from wireproof_reports.evidence import received_parts, recorded
from wireproof_spec.record import StepRecord

KINDS = ("receive", "response", "close")


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a repetition came out; ``changed`` are fields that differ from run to run anyway."""

    same: bool
    words: str
    changed: tuple[str, ...] = ()


def play(steps: Sequence[StepRecord], links: Links, replayer: Replayer) -> None:
    """Send again what was sent, take answers where answers came, end as it ended."""
    came: list[bytes] = []
    for step in steps:
        data = recorded(step)
        if replayer.is_beat(data):
            continue
        if step.kind == "receive":
            came.append(data)
        if step.kind == "send":
            data = replayer.renewed(data, came, _received(links))
        _act(step, data, links)


def _act(step: StepRecord, data: bytes, links: Links) -> None:
    if step.kind == "open":
        links.open(step.conn)
    elif step.kind == "send":
        links.send(step.conn, _outgoing(step, data))
    elif step.kind == "request":
        links.request(step.conn, data, step.note)
    elif step.kind == "receive":
        links.receive(step.conn)
    elif step.kind == "close":
        _end(step, links)


def _end(step: StepRecord, links: Links) -> None:
    if _by_target(step):
        links.receive(step.conn)
    elif "sending direction" in step.note:
        links.half_close(step.conn)
    else:
        links.close(step.conn)


def compare(
    before: Sequence[StepRecord], after: Sequence[StepRecord], protocol: str
) -> Comparison:
    """Compare answer by answer, connection by connection, field by field."""
    changed: dict[str, None] = {}
    replayer = replayer_of(protocol)
    for name in dict.fromkeys(step.conn for step in before):
        due, found = _answers(before, name, replayer), _answers(after, name, replayer)
        if not any(kind == "close" for kind, _ in due):
            # The kit ended it first; the target may have been about to.
            found = [answer for answer in found if answer[0] != "close"]
        for number, (old, new) in enumerate(zip(due, found, strict=False), 1):
            fields = _differing(old, new, _sent(before, name), protocol)
            if any(field not in replayer.volatile for field in fields):
                where = f"connection {name}, answer {number}"
                return Comparison(same=False, words=f"different: {where}: {', '.join(fields)}")
            changed.update(dict.fromkeys(fields))
        if len(due) != len(found):
            words = f"different: connection {name}: {len(found)} answers, {len(due)} recorded"
            return Comparison(same=False, words=words)
    words = f"as recorded, but for {', '.join(changed)}" if changed else "as recorded"
    return Comparison(same=True, words=words, changed=tuple(changed))


def _outgoing(step: StepRecord, data: bytes) -> Outgoing:
    return Outgoing(data, tuple(Part(*part) for part in step.parts), step.note)


def _received(links: Links) -> list[bytes]:
    return [step.data for step in links.transcript.steps() if step.kind == "receive"]


def _answers(
    steps: Sequence[StepRecord], name: str, replayer: Replayer
) -> list[tuple[str, bytes]]:
    """Return what came on a connection, with its end by the target, in the protocol's order."""
    answers = [
        (step.kind, recorded(step))
        for step in steps
        if step.conn == name and step.kind in KINDS and not replayer.is_beat(recorded(step))
        if step.kind != "close" or _by_target(step)
    ]
    return sorted(answers, key=lambda answer: replayer.rank(answer[1]))


def _by_target(step: StepRecord) -> bool:
    return step.note.startswith("by the target")


def _sent(steps: Sequence[StepRecord], name: str) -> list[bytes]:
    return [recorded(step) for step in steps if step.conn == name and step.kind == "send"]


def _differing(
    old: tuple[str, bytes], new: tuple[str, bytes], sent: Sequence[bytes], protocol: str
) -> list[str]:
    """Name the fields in which two answers differ."""
    if old == new:
        return []
    if old[0] != new[0]:
        return [f"{new[0]}, recorded {old[0]}"]
    if old[0] == "response":
        return _differing_http(old[1], new[1])
    namer = received_parts(protocol)
    parts = namer(old[1], sent)
    if [(p.offset, p.label) for p in parts] != [(p.offset, p.label) for p in namer(new[1], sent)]:
        return ["the frame's make-up"]
    cuts = [slice(part.offset, part.offset + part.length) for part in parts]
    named = [
        part.label for part, cut in zip(parts, cuts, strict=True) if old[1][cut] != new[1][cut]
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
    """Return the members of a JSON object, those of the wrapped one in its place."""
    try:
        value: object = json.loads(body)
    except ValueError:
        return {}
    members = cast(dict[str, object], value) if isinstance(value, dict) else {}
    inner = members.get("data")
    return cast(dict[str, object], inner) if isinstance(inner, dict) else members
