"""Corners: a fault that is wrong in some circumstances only, and correct everywhere else.

Real bugs break a rule in one partition, over one path or for the second client. `make_cornered`
makes such a fault of any other fault. Each override and rule of it checks at each call whether the
circumstances are those of the corner. If they are not, or are unknown, the core does its work.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from wireproof_reference_impl.addresses import BadOption
from wireproof_reference_impl.nsq.behaviour import Behaviour
from wireproof_reference_impl.nsq.faulty.circumstances import NOTES, Circumstances, is_note
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.overrides import Original, Override
from wireproof_reference_impl.preset import Preset

SEPARATOR = "@"
BETWEEN = "+"
ENTERED = "corner-entered"
"""The file in the data directory that says that some call was in the corner."""

Holds = Callable[[Circumstances], bool | None]

_LARGE_BODY = 60_000
_SMALL_BODY = 2
_LARGE_HEADER = 4_000
_MANY = 9
_HALF = 1 << 32


def _partition(wanted: Callable[[int], bool]) -> Holds:
    def holds(now: Circumstances) -> bool | None:
        partition = now.partition
        return None if partition is None else wanted(partition.number)

    return holds


def _topic(*, extend: bool, upgraded: bool = False) -> Holds:
    def holds(now: Circumstances) -> bool | None:
        topic = now.topic
        if topic is None:
            return None
        return (topic.extend, topic.extend and not topic.born_extend) == (extend, upgraded)

    return holds


def _path(wanted: str) -> Holds:
    return lambda now: None if now.path is None else now.path == wanted


def _is_traced(wanted: bool) -> Holds:
    return lambda now: None if now.trace_id is None else (now.trace_id != 0) is wanted


def _client(wanted: Callable[[int], bool]) -> Holds:
    return lambda now: None if now.client is None else wanted(now.client)


def _delivery(wanted: str) -> Holds:
    return lambda now: None if now.delivery is None else now.delivery == wanted


def _entry(wanted: Callable[[NewMessage], bool]) -> Holds:
    return lambda now: None if now.entry is None else wanted(now.entry)


def _blank_ends(body: bytes) -> bool:
    return body != body.strip()


def _upper_names(entry: NewMessage) -> bool:
    names = (entry.header or b"").split(b'":')
    return any(name.rpartition(b'"')[2] != name.rpartition(b'"')[2].lower() for name in names)


def _upper_tag(entry: NewMessage) -> bool:
    return entry.tag is not None and entry.tag != entry.tag.lower()


def _blank_tag(entry: NewMessage) -> bool:
    return entry.tag is not None and entry.tag != entry.tag.strip()


def _trace(wanted: Callable[[int], bool]) -> Holds:
    return lambda now: None if now.trace_id is None else wanted(now.trace_id)


def _equal_halves(trace_id: int) -> bool:
    high, low = divmod(trace_id, _HALF)
    return bool(high) and high == low


CORNERS: dict[str, Holds] = {
    "partition=zero": _partition(lambda number: number == 0),
    "partition=last": _partition(lambda number: number > 0),
    "partition=third": _partition(lambda number: number > 1),
    "path=tcp": _path("tcp"),
    "path=http": _path("http"),
    "trace=traced": _is_traced(True),
    "trace=untraced": _is_traced(False),
    "topic=plain": _topic(extend=False),
    "topic=ext": _topic(extend=True),
    "topic=upgraded": _topic(extend=True, upgraded=True),
    "client=first": _client(lambda ordinal: ordinal == 1),
    "client=second": _client(lambda ordinal: ordinal == 2),
    "client=later": _client(lambda ordinal: ordinal > 2),
    "delivery=first": _delivery("first"),
    "delivery=requeued": _delivery("requeued"),
    "delivery=timed-out": _delivery("timed-out"),
    "delivery=next-client": _delivery("next-client"),
    "value=body-small": _entry(lambda entry: len(entry.body) <= _SMALL_BODY),
    "value=body-large": _entry(lambda entry: len(entry.body) >= _LARGE_BODY),
    "value=body-blank-ends": _entry(lambda entry: _blank_ends(entry.body)),
    "value=header-large": _entry(lambda entry: len(entry.header or b"") >= _LARGE_HEADER),
    "value=names-upper-case": _entry(_upper_names),
    "value=tag-upper-case": _entry(_upper_tag),
    "value=tag-blank-ends": _entry(_blank_tag),
    "value=trace-equal-halves": _trace(_equal_halves),
    "value=trace-top-bit": _trace(lambda trace_id: trace_id >> 63 == 1),
    "number=one": lambda now: None if now.number is None else now.number == 0,
    "number=many": lambda now: None if now.number is None else now.number >= _MANY,
    "clients=one": lambda now: None if now.clients is None else now.clients == 1,
    "clients=several": lambda now: None if now.clients is None else now.clients > 1,
    "connection=again": lambda now: now.is_again,
}
"""When a corner is entered, by `dimension=value`; None where the circumstances do not tell."""

_reported: list[Path] = []


def make_cornered(preset: Preset, corner: str) -> Preset:
    """Return the fault that is wrong only where all of `dimension=value+…` holds.

    Raises:
        BadOption: a corner that is not known.
    """
    words = corner.split(BETWEEN)
    for word in words:
        if word not in CORNERS:
            raise BadOption(f"no corner is called {word!r}; known are {', '.join(CORNERS)}")
    holds = [CORNERS[word] for word in words]
    changed = {
        name: _apply_rule(name, rule, holds) if callable(rule) else rule
        for name, rule in preset.settings.items()
    }
    overrides = tuple(_overridden(each, holds) for each in preset.overrides)
    name = f"{preset.name}{SEPARATOR}{corner}"
    return replace(preset, name=name, settings=changed, overrides=(*NOTES, *overrides))


def report_to(folder: Path | None) -> None:
    """Report in a folder, by an empty file, that the corner was entered."""
    _reported[:] = [] if folder is None else [folder / ENTERED]


def _is_inside(holds: Sequence[Holds], arguments: Sequence[object]) -> bool:
    now = Circumstances(arguments)
    inside = all(each(now) for each in holds)
    if inside and _reported:
        _reported.pop().touch()
    return inside


def _overridden(override: Override, holds: Sequence[Holds]) -> Override:
    if is_note(override):
        return override

    def wrap(original: Original) -> Callable[..., object]:
        wrong = override.wrap(original)

        def call(*arguments: object, **named: object) -> object:
            inside = _is_inside(holds, (*arguments, *named.values()))
            return (wrong if inside else original)(*arguments, **named)

        return call

    return replace(override, wrap=wrap)


def _apply_rule(name: str, wrong: Callable[..., object], holds: Sequence[Holds]) -> object:
    """Return a rule of the behaviour table that is the given one in the corner only."""
    group, _, own = name.partition(".")
    right = getattr(getattr(Behaviour(), group), own)

    def call(*arguments: object, **named: object) -> object:
        inside = _is_inside(holds, (*arguments, *named.values()))
        return (wrong if inside else right)(*arguments, **named)

    return call
