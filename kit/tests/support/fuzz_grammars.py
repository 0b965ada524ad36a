"""Both grammars with names, and frames drawn of every kind, for the tests of fuzzing."""

from functools import cache

from check_each import check_each

from wireproof_kit.fuzz.case import Frame
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.generate.values import Drawer
from wireproof_kit.iggy.fuzz import grammar as iggy
from wireproof_kit.iggy.fuzz.names import Names as IggyNames
from wireproof_kit.nsq.fuzz import grammar as nsq
from wireproof_kit.nsq.fuzz.names import Names as NsqNames

NSQ_NAMES = NsqNames("wp_topic_ext", "wp_topic_plain")
IGGY_NAMES = IggyNames(1, "wp_stream", 1, "wp_topic", 7, 9, "wp_scratch", partitions=2)

NSQ = nsq.grammar(NSQ_NAMES)
IGGY = iggy.grammar(IGGY_NAMES)
GRAMMARS: dict[str, Grammar] = {"nsq": NSQ, "iggy": IGGY}

KINDS = [(name, kind) for name, grammar in GRAMMARS.items() for kind in grammar.kinds]
Row = tuple[str, Kind]
EACH_KIND = check_each(KINDS, lambda row: f"{row[0]} {row[1].name}")
FRAMES = 6


@cache
def frames(kind: Kind) -> tuple[Frame, ...]:
    """Draw some frames of a kind, the same in all tests."""
    drawer = Drawer(kind.strategy)
    return tuple(drawer.draw(number) for number in range(FRAMES))


def of_protocol(name: str, interface: str) -> list[Kind]:
    """Return a protocol's kinds of one interface."""
    return [kind for kind in GRAMMARS[name].kinds if kind.interface == interface]
