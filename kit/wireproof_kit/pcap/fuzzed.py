"""scapy's `fuzz()` as one more way to make frames: the same for the same number."""

import random
from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

from scapy.packet import NoPayload, Packet, fuzz

KIND = "scapy"
"""The kind of frames that are made so."""


def fuzzed(layer: Packet, number: int) -> bytes:
    """Return a layer's bytes with random values in all fields that it was not given.

    Lengths and counts stay true: to make those wrong is what mutations of frames are for.
    """
    with _drawing_from(number):
        return bytes(_settled(fuzz(layer)))


def _settled(layer: Packet) -> Packet:
    """Choose each random value once; scapy would choose anew each time that it looks at one."""
    chosen = next(iter(layer))
    for each in chosen.fields_desc:
        value = chosen.getfieldval(each.name)
        if isinstance(value, Packet):
            chosen.setfieldval(each.name, _settled(value))
        elif isinstance(value, list) and each.holds_packets:
            layers = cast(list[Packet], value)
            chosen.setfieldval(each.name, [_settled(item) for item in layers])
    if not isinstance(chosen.payload, NoPayload):
        inner = _settled(chosen.payload)
        chosen.remove_payload()
        chosen.add_payload(inner)
    return chosen


@contextmanager
def _drawing_from(number: int) -> Generator[None]:
    """Let the draws of `random`, which scapy uses, follow from a number; then as before."""
    before = random.getstate()
    random.seed(number)
    try:
        yield
    finally:
        random.setstate(before)
