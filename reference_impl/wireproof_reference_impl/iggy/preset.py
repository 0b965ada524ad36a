"""Faults of the Iggy reference: which clauses their cases share, and how a fault is made.

A fault delivers wrongly when it sets what decides which stored messages a poll brings, how many
and in which order, or what is told of them over either transport (`lateness.DELIVERING`): each
such fault exists late, too, unless it shows in polls that find no message.
"""

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.iggy.lateness import late_settings
from wireproof_reference_impl.preset import CLAUSE, LATE, Preset
from wireproof_reference_impl.settings import Settings

BINARY = (
    "state.default state.codes state.delivered state.unknown-alone checksum.polynomial "
    "checksum.range checksum.when-stored message.layout message.places message.old-layout "
    "message.offset message.offset-sequence message.timestamp message.timestamp-unit message.id "
    "message.byte-order message.generated-id message.repeated-id message.length "
    "message.headers-length headers.delivered headers.none headers.kinds headers.other-kinds "
    "headers.block headers.limits headers.key-text headers.width json.same-as-binary send.layout "
    "send.order send.partitioning send.all-or-nothing send.limits poll.head poll.count "
    "poll.request poll.again poll.strategy-offset poll.strategy-timestamp poll.strategy-first "
    "poll.strategy-last poll.strategy-next poll.auto-commit poll.group frame.trailing "
    "disk.same-layout disk.index disk.time-index disk.names http.send http.unchecked"
)
"""Clauses of which some case reads a message polled over TCP."""

JSON = (
    "state.names checksum.json json.fields json.types json.id json.payload "
    "json.headers-null json.headers-object json.other-kinds json.headers-empty "
    "json.same-as-binary json.shape http.send http.poll http.unchecked poll.again"
)
"""Clauses of which some case reads a message polled over HTTP."""

ANSWERS = (
    "frame.request frame.length frame.command frame.identifier frame.truncated frame.malformed "
    "frame.resources frame.login headers.unknown-kind headers.repeated-key poll.empty "
    "poll.consumer poll.stored-offset send.limits state.unknown status.unknown status.taken "
    "status.refused status.invalid disk.offsets"
)
"""Clauses of which some case reads other answers over TCP."""

AGAIN = "iggy.poll.again"
"""The clause that a message told differently later breaks."""

DISK = "disk.same-layout disk.index disk.time-index disk.names"
"""Clauses of which some case reads a log."""


def fault(
    name: str,
    text: str,
    settings: Settings,
    *,
    way: str,
    breaks: str,
    may_break: str = "",
    kind: str = CLAUSE,
    finds_nothing: bool = False,
) -> Preset:
    """Return a fault; clauses are words of one string, without `iggy.`.

    One that delivers wrongly has a twin that does so only late. One that shows only where a poll
    `finds_nothing` has none: nothing was stored that could grow old.
    """
    broken = _clauses(breaks)
    others = tuple(each for each in _clauses(may_break) if each not in broken)
    late = None if finds_nothing else late_settings(settings)
    return Preset(name, kind, text, settings, broken, others, way, late)


def late_twin(preset: Preset) -> Preset | None:
    """Return the fault that tells rightly at first what this one tells wrongly at once."""
    if preset.late is None:
        return None
    return replace(
        preset,
        name=f"{preset.name}-late",
        text=f"3 s after a message was stored, and not before: {preset.text}",
        settings=preset.late,
        breaks=(AGAIN,),
        may_break=tuple(each for each in (*preset.breaks, *preset.may_break) if each != AGAIN),
        way=LATE,
        late=None,
    )


def number(name: str, change: Callable[[int], int]) -> Settings:
    """Return the setting of a choice that makes a number of a number."""
    return {name: change}


def _clauses(words: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"iggy.{word}" for word in words.split()))
