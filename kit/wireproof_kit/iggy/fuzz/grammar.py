"""The grammar from which fuzz cases for Iggy are generated."""

from collections.abc import Iterator

from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.iggy.fuzz import frames, http, states
from wireproof_kit.iggy.fuzz.extents import Hazards, is_delimited
from wireproof_kit.iggy.fuzz.names import Names
from wireproof_kit.iggy.fuzz.traps import TRAPS
from wireproof_spec.iggy import limits

LIMITS = {
    "messages[].length": (limits.MAX_PAYLOADS_SIZE, limits.MAX_PAYLOADS_SIZE + 1),
    "messages[].headers.length": (limits.MAX_HEADER_VALUES_SIZE,),
    "messages[].headers[].key_length": (limits.MAX_KEY_SIZE, limits.MAX_KEY_SIZE + 1),
    "messages[].headers[].value_length": (limits.MAX_VALUE_SIZE, limits.MAX_VALUE_SIZE + 1),
    "partitions_count": (limits.MAX_PARTITIONS + 1,),
    "count": (limits.MAX_PARTITIONS + 1,),
}


def grammar(there: Names, *, scapy: bool = False) -> Grammar:
    """Return the kinds of requests that can be sent to a server with these names.

    With `scapy` also those that its `fuzz()` makes; they need the extra ``pcap``.
    """
    return Grammar(
        kinds=(*frames.kinds(there), *http.kinds(there), *(_by_scapy(there) if scapy else ())),
        states={frames.TCP: states.ALL, states.HTTP: (states.HTTP,)},
        entry=states.entry(there),
        talking=frames.TCP,
        is_delimited=is_delimited,
        is_hazardous=Hazards(there).is_hazardous,
        moves=states.moves,
        limits=LIMITS,
        traps=TRAPS,
    )


def _by_scapy(there: Names) -> Iterator[Kind]:
    from wireproof_kit.iggy.pcap.fuzzed import kinds

    return kinds(there)
