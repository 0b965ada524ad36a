"""What passes a proxy, as lines for people or as JSON lines, and what that showed in the end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import IO, Any, Literal

import msgspec

from wireproof.view.events import write_event
from wireproof.view.output import write_lines
from wireproof.view.style import Style
from wireproof_kit.clients.events import Event
from wireproof_kit.proxy.events import Listening, Unreached
from wireproof_kit.proxy.observer import Observer
from wireproof_kit.proxy.tally import Entry
from wireproof_kit.proxy.tap import Tap
from wireproof_kit.wire.transcript import Step
from wireproof_reports.wording import count_noun
from wireproof_spec.wire_error import WireError

PASSING_SCHEMA: dict[str, Any] = {
    "title": "PassingEvent",
    "description": "What passed on a connection; its other members depend on the event. Bytes "
    "are two members: NAME_hex, in hex digits and perhaps cut, and NAME_length.",
    "type": "object",
    "properties": {
        "event": {"type": "string", "not": {"enum": ["deviation", "verdict"]}},
        "at": {"type": "number", "description": "Seconds since the start of the proxy."},
        "conn": {"type": "string"},
    },
    "required": ["event", "at", "conn"],
}
"""The JSON Schema of the events that a protocol defines."""
MOST_BYTES = 1 << 12
"""Bytes of a field that stand in a JSON line, in hex digits; ours."""
Tell = Callable[[Event], str | None]


class ClauseSeen(msgspec.Struct, frozen=True):
    """How traffic kept or violated a clause; ``conn`` and ``what`` are of its first violation."""

    clause: str
    level: str
    role: str
    case: str
    verdict: Literal["deviates", "conforms"]
    conforms: int
    deviates: int
    conn: str
    what: str


class DeviationEvent(ClauseSeen, frozen=True, tag_field="event", tag="deviation"):
    """Traffic violated a clause for the first time."""


class TrafficEvent(msgspec.Struct, frozen=True, tag_field="event", tag="verdict"):
    """The end of a proxy: what passed, and the clauses that this showed or did not show."""

    exit: int
    clauses: list[ClauseSeen]
    not_seen: list[str]
    connections: int
    events: int
    bytes_from_clients: int
    bytes_from_servers: int
    not_decoded: int
    not_observed_bytes: int
    faults: list[str]


class LinePassing:
    """Shows the traffic of a proxy as a line for each event.

    With ``quiet`` there are lines only for addresses and deviations.
    """

    def __init__(self, out: IO[str], tell: Tell, style: Style, *, quiet: bool) -> None:
        self._out = out
        self._tell = tell
        self._style = style
        self._quiet = quiet

    def step(self, step: Step) -> None:
        """Do nothing with passing bytes: only events are shown."""

    def event(self, event: Event) -> None:
        """Write the line of an event, such as a command, if it has one."""
        if isinstance(event, Listening):
            line = f"{event.conn:<9}{event.address} stands before {event.upstream}"
            write_lines(self._out, [line])
        elif isinstance(event, Unreached):
            write_lines(self._out, [f"{event.conn:<9}{event.text}"])
        elif not self._quiet and (text := self._tell(event)) is not None:
            write_lines(self._out, [f"{event.at:9.3f} s  {text}"])

    def deviation(self, entry: Entry) -> None:
        """Write at once that traffic violated a clause for the first time."""
        head = self._style.paint("DEVIATES", "bad")
        write_lines(self._out, [f"{head} {_name(entry)}  {entry.conn}: {entry.what}"])

    def end(self, observer: Observer, tap: Tap, unseen: Sequence[str], exit_code: int) -> None:
        """Write the summary of a proxy: what passed, and the verdict on each clause."""
        write_lines(self._out, ["", *_summary(observer, tap, self._style)])
        if unseen:
            write_lines(self._out, [f"not seen {count_noun(len(unseen), 'clause')}"])
        write_lines(self._out, [f"{_conclusion(observer):<68}exit {exit_code}"])


class JsonPassing:
    """Shows the traffic of a proxy as JSON objects: events, deviations, and the result."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def step(self, step: Step) -> None:
        """Do nothing with passing bytes: only events are shown."""

    def event(self, event: Event) -> None:
        """Write an event, such as a command, as a JSON object."""
        shown: dict[str, object] = {"event": type(event).__name__.lower()}
        for field in fields(event):
            shown |= _plain(field.name, getattr(event, field.name))
        write_event(self._out, shown)

    def deviation(self, entry: Entry) -> None:
        """Write as a JSON object that traffic violated a clause for the first time."""
        write_event(self._out, DeviationEvent(**_judged(entry)))

    def end(self, observer: Observer, tap: Tap, unseen: Sequence[str], exit_code: int) -> None:
        """Write the result of a proxy as a JSON object."""
        traffic = observer.traffic
        write_event(
            self._out,
            TrafficEvent(
                exit=exit_code,
                clauses=[ClauseSeen(**_judged(entry)) for entry in observer.tally.entries()],
                not_seen=list(unseen),
                connections=traffic.connections,
                events=traffic.events,
                bytes_from_clients=traffic.bytes_sent,
                bytes_from_servers=traffic.bytes_received,
                not_decoded=traffic.undecoded,
                not_observed_bytes=tap.lost_bytes,
                faults=list(observer.faults),
            ),
        )


def _summary(observer: Observer, tap: Tap, style: Style) -> Iterator[str]:
    traffic = observer.traffic
    yield (
        f"passed   {count_noun(traffic.connections, 'connection')}, "
        f"{count_noun(traffic.events, 'event')}, {traffic.bytes_sent} bytes from clients, "
        f"{traffic.bytes_received} from servers"
    )
    if traffic.undecoded:
        yield (
            f"doubt    {count_noun(traffic.undecoded, 'connection')} not decoded to the end; "
            f"{tap.lost_bytes} bytes not observed"
        )
    yield from (f"fault    {fault}" for fault in observer.faults)
    for entry in observer.tally.entries():
        if entry.deviates:
            times = f"{entry.deviates} of {entry.conforms + entry.deviates}"
            verdict = f"{style.paint('DEVIATES', 'bad')} {times}"
            yield f"{_name(entry):<60}{verdict}"
            yield f"         {entry.conn}: {entry.what}"
        else:
            yield f"{_name(entry):<60}conforms {entry.conforms}"


def _conclusion(observer: Observer) -> str:
    entries = observer.tally.entries()
    if not entries:
        return "nothing passed that shows anything of a clause"
    deviating = sum(bool(entry.deviates) for entry in entries)
    return f"{count_noun(deviating, 'clause')} of {len(entries)} seen deviate"


def _name(entry: Entry) -> str:
    return f"{entry.clause.side:<9}{entry.clause.level.upper():<9}{entry.clause.id}"


def _judged(entry: Entry) -> dict[str, Any]:
    return {
        "clause": entry.clause.id,
        "level": entry.clause.level,
        "role": entry.clause.role,
        "case": entry.case,
        "verdict": "deviates" if entry.deviates else "conforms",
        "conforms": entry.conforms,
        "deviates": entry.deviates,
        "conn": entry.conn,
        "what": entry.what,
    }


def _plain(name: str, value: object) -> Mapping[str, object]:
    """Return a field of an event as members of a JSON object."""
    if isinstance(value, bytes):
        return {f"{name}_hex": value[:MOST_BYTES].hex(), f"{name}_length": len(value)}
    return {name: str(value) if isinstance(value, WireError) else value}
