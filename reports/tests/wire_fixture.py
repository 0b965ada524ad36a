"""Bytes of one exchange, written by hand: frames, labelled parts, steps with times."""

import json
import struct
from collections.abc import Iterable

from wireproof_spec.record import StepRecord, TranscriptRecord, packed

Piece = tuple[bytes, str] | tuple[bytes, str, bool]

TOPIC = b"wp_9f2c_4"


def server_frame(frame_type: int, data: bytes) -> bytes:
    return struct.pack(">II", 4 + len(data), frame_type) + data


def ok() -> bytes:
    return server_frame(0, b"OK")


def error(text: str) -> bytes:
    return server_frame(1, text.encode())


def trace_response(
    internal_id: int, trace_id: int, offset: int, size: int, order: str = ">"
) -> bytes:
    return server_frame(
        0, b"OK" + struct.pack(f"{order}QQQI", internal_id, trace_id, offset, size)
    )


def message(internal_id: int, header: bytes | None, body: bytes, *, attempts: int = 1) -> bytes:
    head = struct.pack(">qHQQ", 1_780_000_000_000_000_000, attempts, internal_id, 0)
    extend = b"" if header is None else struct.pack(">BH", 4, len(header)) + header
    return server_frame(2, head + extend + body)


def pub_ext(
    header: bytes, body: bytes, *, length: int | None = None, wrong: str = ""
) -> list[Piece]:
    declared = len(header) if length is None else length
    size = 2 + len(header) + len(body)
    return [
        (b"PUB_EXT " + TOPIC + b" 0\n", "command line"),
        (struct.pack(">i", size), f"size = {size}"),
        (struct.pack(">H", declared), f"header_length = {declared}", wrong == "header_length"),
        (header, "json_header", wrong == "json_header"),
        (body, "body"),
    ]


class Exchange:
    """Steps in order, each a little later than the one before."""

    def __init__(self) -> None:
        self.steps: list[StepRecord] = []
        self.clock = 40

    def add(self, kind: str, conn: str, data: bytes = b"", **more: object) -> "Exchange":
        self.clock += 130 + 7 * len(self.steps)
        step = StepRecord(
            at_us=self.clock,
            conn=conn,
            kind=kind,
            length=len(data),
            **packed(data),
            **more,  # type: ignore[arg-type]  # parts and note, given by the two words below
        )
        self.steps.append(step)
        return self

    def open(self, conn: str = "A", **identify: object) -> "Exchange":
        fields = json.dumps(identify, separators=(",", ":")).encode()
        self.add("open", conn, note="127.0.0.1:4150").send([(b"  V2", "magic")], conn)
        pieces: list[Piece] = [
            (b"IDENTIFY\n", "command line"),
            (struct.pack(">i", len(fields)), f"size = {len(fields)}"),
            (fields, "json"),
        ]
        return self.send(pieces, conn, note="IDENTIFY").receive(ok(), conn)

    def send(self, pieces: Iterable[Piece], conn: str = "A", note: str = "") -> "Exchange":
        data, parts = b"", []
        for piece in pieces:
            parts.append((len(data), len(piece[0]), piece[1], len(piece) == 3 and piece[2]))
            data += piece[0]
        return self.add("send", conn, data, parts=tuple(parts), note=note)

    def receive(self, data: bytes, conn: str = "A", note: str = "") -> "Exchange":
        return self.add("receive", conn, data, note=note)

    def close(self, conn: str = "A", note: str = "") -> "Exchange":
        return self.add("close", conn, note=note)

    def http(self, request: bytes, response: bytes) -> "Exchange":
        return self.add("request", "H", request).add("response", "H", response)

    def record(self) -> TranscriptRecord:
        return TranscriptRecord(steps=tuple(self.steps))
