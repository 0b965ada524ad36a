"""Frames made by scapy's fuzz(): the same for the same number, sound, and read alike by both."""

import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import pytest
from fuzz_grammars import IGGY_NAMES, NSQ_NAMES
from scapy.packet import Packet

from wireproof_kit.fuzz.case import Frame
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.generate.grammar import Grammar
from wireproof_kit.iggy.fuzz.grammar import grammar as iggy_grammar
from wireproof_kit.iggy.pcap import fuzzed as iggy
from wireproof_kit.nsq.fuzz.grammar import grammar as nsq_grammar
from wireproof_kit.nsq.pcap import fuzzed as nsq
from wireproof_kit.nsq.pcap.commands import PublishExtended, read_command
from wireproof_kit.pcap.fuzzed import KIND, fill_randomly

GRAMMARS: dict[str, Grammar] = {
    "nsq": nsq_grammar(NSQ_NAMES, scapy=True),
    "iggy": iggy_grammar(IGGY_NAMES, scapy=True),
}
EACH = pytest.mark.parametrize("protocol", GRAMMARS)


def made(protocol: str, number: int) -> Iterator[Frame]:
    """Yield a frame of each layer that is offered."""
    layers: Iterator[Packet]
    frame: Callable[[Packet, int], Frame]
    if protocol == "nsq":
        layers, frame = nsq.layers(NSQ_NAMES), nsq.frame
    else:
        layers, frame = iggy.layers(IGGY_NAMES), iggy.frame
    return map(partial(frame, number=number), layers)


@EACH
def test_the_same_number_makes_the_same_frame(protocol: str) -> None:
    random.seed(1)
    before = random.getstate()
    assert list(made(protocol, 5)) == list(made(protocol, 5))
    assert random.getstate() == before
    assert [each.data for each in made(protocol, 5)] != [each.data for each in made(protocol, 6)]


@pytest.mark.slow
@EACH
def test_fields_cover_the_frame_without_gaps(protocol: str) -> None:
    for number in range(20):
        for frame in made(protocol, number):
            starts = [field.start for field in frame.fields]
            ends = [field.end for field in frame.fields]
            assert starts == [0, *ends[:-1]]
            assert ends[-1] == len(frame.data)
            assert not GRAMMARS[protocol].is_hazardous(frame.kind, frame.data)


def test_lengths_stay_true() -> None:
    for number in range(200):
        data = fill_randomly(PublishExtended(topic=b"t"), number)
        layer, behind = read_command(data)
        assert behind == b""
        assert layer.content.header_length == len(layer.content.json_header)


@EACH
def test_they_are_one_kind_among_the_others(protocol: str) -> None:
    generator = Generator(GRAMMARS[protocol], 3, frames=[KIND])
    cases = list(islice(generator.cases(), 300))

    assert {case.frame_kind for case in cases if case.state != ""} >= {KIND}
    assert len({case.mutation for case in cases}) > 10
    assert cases == list(islice(Generator(GRAMMARS[protocol], 3, frames=[KIND]).cases(), 300))
