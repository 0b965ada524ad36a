"""How fast generated codecs are, side by side with `struct` code written by hand and construct.

    python spec/bench/bench_codec.py

The ext message with a JSON header of 60 bytes and a body of 100 bytes or 1 KiB. All ways of a row
are timed in turn in one run, so that a busy machine is unfair to none; times are of the thread's
processor, ratios are medians over the rounds. Ends with 1 when a ratio misses its goal.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import handwritten
import plain_construct
from msgspec.structs import astuple
from paired import ROUNDS, Timed, timed_in_turn

from wireproof_spec.codec import generate_decoder, generate_encoder
from wireproof_spec.decoding import decode, encode
from wireproof_spec.grammar import interpreted
from wireproof_spec.nsq.message import Extend, Message, message_schema

EXT = message_schema(extend=True, ordered=False)
HEADER = b'{"##client_dispatch_tag":"blue","##trace_id":"0123456789ab"}'
BODIES = (100, 1024)
MOST_OVER_HAND, MOST_OVER_HAND_TUPLE, LEAST_UNDER_CONSTRUCT = 1.1, 1.2, 20.0

GENERATED, HAND, PLAIN = "generated", "by hand", "construct's own words"
DECODERS = {
    GENERATED: "decode(EXT, data)",
    HAND: "handwritten.decode_object(data)",
    "generated, tuples": "to_tuple(data)",
    "by hand, tuples": "handwritten.decode_tuple(data)",
    "construct, our words": "parse(data)",
    PLAIN: "plain_construct.decode(data)",
}
ENCODERS = {
    GENERATED: "encode(EXT, message)",
    HAND: "handwritten.encode_object(message)",
    "by hand, asking no types": "handwritten.encode_trusting(message)",
    "generated, tuples": "of_tuple(parts)",
    "by hand, tuples": "handwritten.encode_tuple(parts)",
    "construct, our words": "build(message)",
    PLAIN: "plain_construct.encode(message)",
}


@dataclass(frozen=True, slots=True)
class Goal:
    """Two ways and what the first may take of the second's time; None: told, not held to it."""

    subject: str
    anchor: str
    most: float | None


GOALS = (
    Goal(GENERATED, HAND, MOST_OVER_HAND),
    Goal("generated, tuples", "by hand, tuples", MOST_OVER_HAND_TUPLE),
    Goal(GENERATED, PLAIN, 1 / LEAST_UNDER_CONSTRUCT),
    Goal(GENERATED, "construct, our words", None),
    Goal(GENERATED, "by hand, asking no types", None),
)


def main() -> int:
    """Measure, print, and return the exit code."""
    rounds = read_rounds("Time generated codecs.")
    missed = 0
    for size in BODIES:
        names = _names(size)
        for action, ways in (("decode", DECODERS), ("encode", ENCODERS)):
            timed = timed_in_turn(ways, names, rounds=rounds)
            total = len(encode(EXT, _message(size)))
            print(f"{action} an ext message, body of {size} bytes, {total} in all")
            for line in _times(timed, total):
                print(line)
            missed += sum(_report(timed, goal) for goal in GOALS if goal.anchor in timed)
            print()
    return 1 if missed else 0


def read_rounds(about: str) -> int:
    """Return how many rounds the command line asks for."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds (%(default)s)")
    return int(parser.parse_args().rounds)


def _message(size: int) -> Message:
    extend = Extend(4, HEADER)
    return Message(1_700_000_000 * 10**9, 1, 81_985_529_216, 7, extend, None, None, bytes(size))


def _names(size: int) -> Mapping[str, object]:
    """Return what the statements name, after asking whether all ways do the same."""
    message = _message(size)
    data = encode(EXT, message)
    parts = tuple(astuple(each) if isinstance(each, Extend) else each for each in astuple(message))
    names = {
        "EXT": EXT,
        "message": message,
        "data": data,
        "parts": parts,
        "decode": decode,
        "encode": encode,
        "handwritten": handwritten,
        "plain_construct": plain_construct,
        "parse": partial(interpreted.parse, EXT.shape, EXT.clause),
        "build": partial(interpreted.build, EXT.shape, EXT.clause),
        "to_tuple": generate_decoder(EXT.shape, EXT.clause, name=EXT.name, as_tuples=True),
        "of_tuple": generate_encoder(EXT.shape, name=EXT.name, as_tuples=True),
    }
    for way, text in DECODERS.items():
        found = eval(text, names)
        wanted = parts if "tuples" in way else message
        if found != wanted:
            raise SystemExit(f"{way} decodes to {found}")
    for way, text in ENCODERS.items():
        if eval(text, names) != data:
            raise SystemExit(f"{way} encodes otherwise")
    return names


def _times(timed: Mapping[str, Timed], size: int) -> Iterator[str]:
    for name, each in timed.items():
        rate = size * 1e3 / each.ns
        yield f"  {name:25}{each.ns:7.0f} ns{1e9 / each.ns:11,.0f}/s{rate:7,.0f} MB/s"


def _report(timed: Mapping[str, Timed], goal: Goal) -> bool:
    """Print a ratio; return whether it misses its goal."""
    ratio = timed[goal.subject].over(timed[goal.anchor])
    missed = goal.most is not None and ratio > goal.most
    said = f"{goal.subject} / {goal.anchor}: {_ratio(ratio)}"
    if goal.most is not None:
        said += f"   goal {_ratio(goal.most)}: {'MISSED' if missed else 'kept'}"
    print(f"  {said}")
    return missed


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio > 0.1 else f"1/{1 / ratio:.1f}"


if __name__ == "__main__":
    sys.exit(main())
