"""How fast the shapes that brokers and clients see most are, generated and through construct.

    python spec/bench/bench_shapes.py

Times are of the thread's processor, medians over the rounds; both ways in turn in one run.
"""

from functools import partial
from typing import Any

from bench_codec import HEADER, read_rounds
from paired import timed_in_turn

from wireproof_spec.decoding import Schema, decode, encode
from wireproof_spec.grammar import interpreted
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.poll_messages import POLLED_MESSAGES, PolledMessages
from wireproof_spec.iggy.bodies.send_messages import SEND_MESSAGES, SendMessages, SentMessage
from wireproof_spec.iggy.frame import REQUEST, RESPONSE, Request, Response
from wireproof_spec.iggy.header_kinds import RAW
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import Message as IggyMessage
from wireproof_spec.nsq.acknowledge import FINISH, Finish
from wireproof_spec.nsq.command import COMMAND_LINE, CommandLine
from wireproof_spec.nsq.disk import DISK_RECORD, DiskRecord
from wireproof_spec.nsq.frame import SERVER_FRAME, ServerFrame
from wireproof_spec.nsq.message import Extend, Message
from wireproof_spec.nsq.names import EXT_INDICATOR
from wireproof_spec.nsq.publish import MPUB_EXT_BODY, PUB_EXT_BODY, MpubExtBody, PubExtBody

BODY = bytes(100)
NOW_NS = 1_700_000_000 * 10**9
STORED = Message(NOW_NS, 1, 7, 8, Extend(4, HEADER), None, None, BODY)
HEADERS = (Header("trace", RAW, b"0123456789abcdef"),)
SENT = SentMessage(1 << 100, HEADERS, BODY)
POLLED = IggyMessage(1, 1, NOW_NS // 1000, 1 << 100, 0xDEADBEEF, HEADERS, BODY)
SHAPES: dict[str, tuple[Schema[Any], object]] = {
    "OK frame": (SERVER_FRAME, ServerFrame(0, b"OK")),
    "PUB_EXT line": (COMMAND_LINE, CommandLine(b"PUB_EXT", (b"orders", b"0"))),
    "PUB_EXT body": (PUB_EXT_BODY, PubExtBody(HEADER, BODY)),
    "MPUB_EXT body of 50": (MPUB_EXT_BODY, MpubExtBody((PubExtBody(HEADER, BODY),) * 50)),
    "FIN": (FINISH, Finish(bytes(16))),
    "disk record": (DISK_RECORD, DiskRecord(STORED, EXT_INDICATOR)),
    "Iggy request": (REQUEST, Request(101, BODY)),
    "Iggy response": (RESPONSE, Response(0, BODY)),
    "send_messages, 10 with a header": (
        SEND_MESSAGES,
        SendMessages(numeric(1), numeric(1), partition_id(1), (SENT,) * 10),
    ),
    "polled messages, 10 with a header": (
        POLLED_MESSAGES,
        PolledMessages(None, None, (POLLED,) * 10),
    ),
}
WAYS = {
    "decode": "decode(schema, data)",
    "parse": "parse(data)",
    "encode": "encode(schema, value)",
    "build": "build(value)",
}


def main() -> None:
    """Measure and print."""
    rounds = read_rounds("Time the shapes seen most.")
    print(f"{'':35}{'decode':>10}{'construct':>12}{'encode':>14}{'construct':>12}")
    for name, (schema, value) in SHAPES.items():
        names = {
            "schema": schema,
            "value": value,
            "data": encode(schema, value),
            "decode": decode,
            "encode": encode,
            "parse": partial(interpreted.parse, schema.shape, schema.clause),
            "build": partial(interpreted.build, schema.shape, schema.clause),
        }
        if eval(WAYS["decode"], names) != value:
            raise SystemExit(f"{name} does not come back")
        timed = timed_in_turn(WAYS, names, rounds=rounds)
        print(f"{name:35}", end="")
        for quick, slow in (("decode", "parse"), ("encode", "build")):
            ratio = timed[slow].over(timed[quick])
            print(f"{timed[quick].ns:7,.0f} ns{ratio:6.1f} times as long", end="")
        print()


if __name__ == "__main__":
    main()
