"""Iggy requests made by scapy's `fuzz()`, for cases and for mutations of them."""

from collections.abc import Iterator

from hypothesis import strategies as st
from scapy.packet import Packet

from wireproof_kit.fuzz.case import Frame
from wireproof_kit.fuzz.generate import field_map
from wireproof_kit.fuzz.generate.grammar import Kind
from wireproof_kit.iggy.fuzz.frames import TCP
from wireproof_kit.iggy.fuzz.names import Names
from wireproof_kit.iggy.fuzz.states import ALL
from wireproof_kit.iggy.pcap import messages, parts, requests
from wireproof_kit.pcap.fuzzed import KIND, fill_randomly
from wireproof_spec.iggy.bodies.command_shapes import payload_schema
from wireproof_spec.iggy.frame import REQUEST

_NUMBERS = st.integers(0, 2**64 - 1)
_HARMLESS = (1, 10, 20, 21, 22, 120, 200, 201, 300, 301, 600, 601)
"""Codes of commands that only return information, whatever they name."""


def kinds(there: Names) -> Iterator[Kind]:
    """Yield the one kind of fuzz frame built by scapy: random requests to send, poll or query."""
    chosen = st.sampled_from(list(layers(there)))
    yield Kind(KIND, TCP, st.builds(lambda *drawn: frame(*drawn), chosen, _NUMBERS), ALL)


def frame(layer: Packet, number: int) -> Frame:
    """Return a request with random values, seeded by ``number``, and the offsets of its fields."""
    data = fill_randomly(layer, number)
    outer = Frame(KIND, data, field_map.fields_of(REQUEST, data))
    payload = data[8:]
    schema = payload_schema(int.from_bytes(data[4:8], "little"))
    inner = Frame(KIND, payload, field_map.fields_of(schema, payload))
    return field_map.nest_frame(KIND, outer, "payload", inner)


def layers(there: Names) -> Iterator[Packet]:
    """Yield request layers with names and codes set; all other fields are to get random values."""
    stream, topic = _numeric(there.stream_id), _numeric(there.topic_id)
    where = requests.Partitioning(kind=2, value=(1).to_bytes(4, "little"))
    sent = [messages.SentMessage(headers=[parts.Header()]), messages.SentMessage()]
    send = requests.SendMessages(stream=stream, topic=topic, messages=sent)
    yield requests.Request(code=101) / send
    send = requests.SendMessages(stream=stream, topic=topic, partitioning=where, messages=sent)
    yield requests.Request(code=101) / send
    poll = requests.PollMessages(stream=stream, topic=topic, auto_commit=0)
    yield requests.Request(code=100) / poll
    for code in _HARMLESS:
        yield requests.Request(code=code) / requests.COMMANDS[code][1]()


def _numeric(number: int) -> Packet:
    return parts.Identifier(kind=1, value=number.to_bytes(4, "little"))
