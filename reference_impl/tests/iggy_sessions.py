"""Sessions with the Iggy reference, whole or odd, as all that is said in them and left behind."""

import struct
from collections.abc import Sequence
from pathlib import Path

from iggy_bench import PLACE, Bench, frame, polling, sending, sent, u32, u64

from wireproof_reference_impl.iggy.presets import overrides
from wireproof_reference_impl.overrides import applied
from wireproof_spec.iggy import commands

TOPIC_PATH = "/streams/1/topics/1"
MOST_PAYLOADS = 10 * 1024 * 1024
Names = Sequence[str]
CONSUMERS = (b"\x01" + u32(1), b"\x01" + u32(2))


def transcript(folder: Path, *faults: str, variants: Names = ()) -> list[object]:
    """Return all that sessions say and leave behind: what is right, and what is not."""
    with applied(overrides(faults)):
        return [
            *usual(folder / "usual", faults, variants),
            *odd_frames(faults, variants),
            *odd_messages(faults, variants),
            *offsets(folder / "offsets", faults, variants),
            *over_http(faults, variants),
        ]


def usual(folder: Path, faults: Names, variants: Names) -> list[object]:
    """Return all that a session says and leaves behind: every kind of message, every way."""
    bench = Bench(faults=faults, variants=variants, data=folder)
    client = bench.with_topic()
    keys = [b"%02d" % each for each in range(17)]
    headers = b"".join(u32(2) + key + b"\x01" + u32(2) + b"v" + key[:1] for key in keys)
    typed = u32(1) + b"b\x03" + u32(1) + b"\1" + u32(1) + b"u\x0c" + u32(8) + bytes(range(8))
    numbers = (1, 1 << 64, (1 << 128) - 1, (1 << 53) + 1, 0)
    payloads = (b"\xff\xfe?\xfb", b"x" * 5000, b"y" * 65536, b"one", b"orders_data_2")
    blocks = (b"", headers, typed, b"", typed)
    for number, payload, block in zip(numbers, payloads, blocks, strict=True):
        client.ok(commands.SEND_MESSAGES, sending(sent(payload, number=number, headers=block)))
    said: list[object] = []
    for strategy, value in ((1, 0), (1, 2), (2, 0), (3, 0), (4, 0), (5, 0)):
        request = polling(strategy=strategy, value=value, count=2, commit=True)
        said += [client.ask(commands.POLL_MESSAGES, request) for _ in range(2)]
    said.append(bench.http("GET", f"{TOPIC_PATH}/messages").body)
    for offset, change in enumerate(("poisoned", "unavailable", "marked_for_deletion")):
        where = f"/control/message?stream=1&topic=1&partition=1&offset={offset}"
        bench.control("POST", f"{where}&state={change}")
    bench.control("POST", "/control/message?stream=1&topic=1&partition=1&offset=3&flip=0")
    said.append(client.ask(commands.POLL_MESSAGES, polling()))
    said.append(client.ask(commands.GET_STREAM, b"\x01\x04" + u32(99)))
    said.append(bench.http("GET", f"{TOPIC_PATH}/messages").body)
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    said += [each.read_bytes() for each in files]
    client.send(frame(999))
    return [*said, client.take()]


def odd_frames(faults: Names, variants: Names) -> list[object]:
    """Return what is answered to frames that are together, short, great, or of nothing known."""
    bench = Bench(faults=faults, variants=variants)
    bench.with_topic(partitions=3)
    ping, absent = frame(commands.PING), frame(commands.GET_STREAM, b"\x01\x04" + u32(99))
    return [
        _alone(bench, data)
        for data in (
            ping + absent,
            bytes(4),
            frame(999),
            frame(commands.GET_STREAM, b"\x09\x04" + u32(1)),
            frame(commands.POLL_MESSAGES, polling()[:-1]),
            frame(commands.POLL_MESSAGES, polling() + b"\0"),
            frame(commands.GET_TOPIC, PLACE),
            frame(commands.CREATE_STREAM, u32(5) + b"a/b"),
            frame(commands.SEND_MESSAGES, sending(sent(bytes(MOST_PAYLOADS)))),
        )
    ]


def odd_messages(faults: Names, variants: Names) -> list[object]:
    """Return what is polled of messages that are alike, great, or not as they must be."""
    bench = Bench(faults=faults, variants=variants)
    client = bench.with_topic(partitions=3)
    said: list[object] = [client.ask(commands.POLL_MESSAGES, polling())]
    blocks = (
        _header(b"KEY", 2, b"v"),
        _header(b"k" * 255, 1, b"v"),
        _header(b"float", 15, bytes(8)),
        _header(b"wide", 3, b"\1" * 7),
        _header(b"unknown", 16, b"v"),
        _header(b"twice", 2, b"1") + _header(b"twice", 2, b"2"),
    )
    requests = [sending(sent(b"payload", headers=block)) for block in blocks]
    requests.append(sending(sent(b"whole"), sent(b"cut")[:-1]))
    requests += [sending(sent(b"payload", number=number)) for number in (7, 7, 0, 0)]
    requests += [sending(sent(key), partitioning=b"\x03\x01" + key) for key in (b"a", b"b", b"c")]
    said += [_alone(bench, frame(commands.SEND_MESSAGES, each)) for each in requests]
    return said + [
        client.ask(commands.POLL_MESSAGES, polling(partition=partition, count=30))
        for partition in (1, 2, 3)
    ]


def offsets(folder: Path, faults: Names, variants: Names) -> list[object]:
    """Return what is told of stored offsets, of groups, and of messages in unknown states."""
    bench = Bench(faults=faults, variants=variants, data=folder)
    client = bench.with_topic()
    client.ok(commands.SEND_MESSAGES, sending(*(sent(b"%d" % each) for each in range(5))))
    said: list[object] = [client.ask(commands.POLL_MESSAGES, polling(strategy=3, value=2))]
    partitions = [who + PLACE + u32(1) for who in CONSUMERS]
    for offset, each in enumerate(partitions, 2):
        client.ok(commands.STORE_CONSUMER_OFFSET, each + u64(offset))
    said += [client.ask(commands.GET_CONSUMER_OFFSET, each) for each in partitions]
    said.append(bench.http("GET", f"{TOPIC_PATH}/consumer-offsets?id=1").body)
    group = PLACE + u32(7)
    said += [client.ask(commands.CREATE_CONSUMER_GROUP, group)]
    said += [client.ask(commands.JOIN_CONSUMER_GROUP, group)]
    request = polling(strategy=5, consumer=b"\x02" + u32(7))
    said.append(client.ask(commands.POLL_MESSAGES, request))
    where = "/control/message?stream=1&topic=1&partition=1"
    for offset, state in ((0, 0), (2, 99)):
        bench.control("POST", f"{where}&offset={offset}&state={state}")
    polls = [polling(value=offset, count=1) for offset in range(3)]
    said += [client.ask(commands.POLL_MESSAGES, each) for each in polls]
    names = sorted(each.relative_to(folder) for each in folder.rglob("*") if each.is_file())
    return [*said, *names]


def over_http(faults: Names, variants: Names) -> list[object]:
    """Return what is answered over HTTP to what is right, too much, wrong, or not there."""
    bench = Bench(faults=faults, variants=variants)
    bench.with_topic()
    said: list[object] = [bench.http("GET", f"{TOPIC_PATH}/messages")]
    right: dict[str, object] = {"payload": "YQ=="}
    bodies: tuple[list[dict[str, object]], ...] = (
        [right] * 12,
        [{**right, "id": 1 << 64}],
        [{**right, "headers": {}}],
        [right, {"payload": ""}],
        [{"payload": "!"}],
    )
    where = {"kind": "partition_id", "value": "AQAAAA=="}
    said += [
        bench.http("POST", f"{TOPIC_PATH}/messages", {"partitioning": where, "messages": each})
        for each in bodies
    ]
    queries = ("", "?count=100", "?partition_id=9")
    return said + [bench.http("GET", f"{TOPIC_PATH}/messages{each}") for each in queries]


def _alone(bench: Bench, data: bytes) -> object:
    """Send bytes on a connection of their own; return what is answered, and whether it ended."""
    client = bench.connect()
    client.send(data)
    return client.take(), client.closed


def _header(key: bytes, kind: int, value: bytes) -> bytes:
    return u32(len(key)) + key + struct.pack("<BI", kind, len(value)) + value
