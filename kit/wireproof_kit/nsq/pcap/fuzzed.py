"""NSQ frames made by scapy's `fuzz()`, for cases and for mutations of them."""

from collections.abc import Iterator
from typing import TypeVar

from hypothesis import strategies as st
from scapy.packet import Packet

from wireproof_kit.fuzz.case import Field, Frame
from wireproof_kit.fuzz.generate import field_map
from wireproof_kit.fuzz.generate.grammar import Kind
from wireproof_kit.nsq.fuzz.frames import TCP
from wireproof_kit.nsq.fuzz.names import Names
from wireproof_kit.nsq.fuzz.states import ALL
from wireproof_kit.nsq.pcap import commands
from wireproof_kit.pcap.fuzzed import KIND, fill_randomly
from wireproof_spec.nsq.command_reader import Command, CommandPart, CommandReader
from wireproof_spec.wire_error import WireError

T = TypeVar("T")
_NUMBERS = st.integers(0, 2**64 - 1)


def kinds(there: Names) -> Iterator[Kind]:
    """Yield the one kind of fuzz frame built by scapy: any command, with names on the target."""
    chosen = st.sampled_from(list(layers(there)))
    yield Kind(KIND, TCP, st.builds(lambda *drawn: frame(*drawn), chosen, _NUMBERS), ALL)


def frame(layer: Packet, number: int) -> Frame:
    """Return a command with random values, seeded by ``number``, and the offsets of its fields."""
    data = fill_randomly(layer, number)
    reader = CommandReader()
    reader.feed(data)
    try:
        found = reader.next_command()
    except WireError:
        found = None
    if not isinstance(found, Command) or reader.pending:
        return Frame(KIND, data, (Field("bytes", 0, len(data), "body"),))
    line = _map_fields(found.line)
    return field_map.join_frames(KIND, line, _map_fields(found.body)) if found.body else line


def _map_fields(part: CommandPart[T]) -> Frame:
    return Frame(KIND, part.data, field_map.fields_of(part.schema, part.data))


def layers(there: Names) -> Iterator[Packet]:
    """Yield command layers with names and codes set; all other fields are to get random values."""
    body, extended = commands.Published, commands.PublishedExtended
    for topic in (each.encode() for each in there.topics):
        yield commands.Publish(topic=topic)
        yield commands.PublishTraced(topic=topic)
        yield commands.PublishExtended(topic=topic)
        yield commands.PublishMany(topic=topic, content=commands.Batch(messages=[body()] * 2))
        batch = commands.ExtendedBatch(messages=[extended(), extended()])
        yield commands.PublishManyExtended(topic=topic, content=batch)
        for word in (b"SUB", b"SUB_ADVANCED", b"SUB_ORDERED"):
            yield commands.Subscribe(
                command_name=word, topic=topic, channel=there.channel.encode()
            )
    yield from (commands.Finish(), commands.Touch(), commands.Requeue(), commands.Ready())
    yield from (commands.Identify(), commands.Authenticate())
