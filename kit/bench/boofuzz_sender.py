"""boofuzz with the frame that ours are compared with; run by its own interpreter, never imported.

``python boofuzz_sender.py default|lean|find HOST PORT TOPIC CASES SECONDS`` prints one JSON line:
cases, seconds and processor time. With ``find`` it is given frames of ours on standard input, with
their fields, takes them in turns, and tells also after how many seconds something was wrong: the
target is dead, or a publish on a fresh connection is not answered as it was before.
"""

import json
import os
import socket
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import TypedDict

from boofuzz import (  # type: ignore[import-not-found]  # in a virtual environment of its own
    BitField,
    Block,
    Bytes,
    Delim,
    Request,
    Session,
    Size,
    Static,
    String,
    Target,
    TCPSocketConnection,
)

PATIENCE_S = 2.0
_NUMBERS = ("length", "count", "number", "enumerator")


def request(topic: str) -> Request:
    """Return PUB_EXT with its sizes, header and body, the sizes fuzzed too."""
    header = Block(
        "header",
        children=(
            Static("open", default_value='{"k":"'),
            String("value", default_value="v"),
            Static("close", default_value='"}'),
        ),
    )
    body = Block(
        "message",
        children=(
            Size("header_length", block_name="header", length=2, endian=">", fuzzable=True),
            header,
            Bytes("body", default_value=b"body", max_len=200),
        ),
    )
    return Request(
        "PUB_EXT",
        children=(
            Static("line", default_value=f"  V2PUB_EXT {topic} 0\n"),
            Size("size", block_name="message", length=4, endian=">", fuzzable=True),
            body,
        ),
    )


class HexField(TypedDict):
    """A field of a frame, with its bytes in hex."""

    path: str
    start: int
    end: int
    role: str
    covers: list[int] | None
    order: str | None
    data: str


class Frame(TypedDict):
    """A frame, with the bytes in hex that open a connection for it."""

    kind: str
    entry: str
    fields: list[HexField]


class Task(TypedDict):
    """Frames, and publishes in hex, one of which is answered by what begins so."""

    frames: list[Frame]
    publishes: list[str]
    begins: str


Span = tuple[int, int]


def requests(frames: list[Frame]) -> list[Request]:
    """Return a request for each of our frames, preceded by the bytes that open its connection."""
    made = []
    for number, frame in enumerate(frames):
        fields = frame["fields"]
        spans = {span for field in fields if (span := _find_measured(field)) is not None}
        parts = _parts(fields, sorted(spans, key=lambda span: (span[0], -span[1])))
        entry = Static("entry", default_value=bytes.fromhex(frame["entry"]))
        made.append(Request(f"{frame['kind']}-{number}", children=(entry, *parts)))
    return made


def _find_measured(field: HexField) -> Span | None:
    """Return what a length measures; None for any other field."""
    if field["role"] != "length" or not field["covers"]:
        return None
    start, end = field["covers"]
    return start, end


def _parts(fields: list[HexField], spans: list[Span]) -> list[object]:
    """Return primitives for fields; fields that a length measures form a block."""
    parts: list[object] = []
    at = 0
    while at < len(fields):
        start = fields[at]["start"]
        span = next((each for each in spans if each[0] == start), None)
        if span is None:
            parts.append(_primitive(fields[at]))
            at += 1
            continue
        inside = [field for field in fields[at:] if field["end"] <= span[1]]
        others = [each for each in spans if each != span]
        parts.append(Block(f"span-{span[0]}-{span[1]}", children=tuple(_parts(inside, others))))
        at += len(inside)
    return parts


def _primitive(field: HexField) -> object:
    data, role = bytes.fromhex(field["data"]), field["role"]
    name = f"{field['start']}-{field['end']}-{field['path'].replace('.', '-')}"
    endian = "<" if field["order"] == "little" else ">"
    span = _find_measured(field)
    if span is not None:
        start, end = span
        block = f"span-{start}-{end}"
        if not field["order"]:
            return Size(name, block, output_format="ascii", offset=int(data) - (end - start))
        more = int.from_bytes(data, "little" if endian == "<" else "big") - (end - start)
        return Size(name, block, length=len(data), endian=endian, offset=more)
    if role in _NUMBERS and field["order"]:
        number = int.from_bytes(data, "little" if endian == "<" else "big")
        return BitField(name, default_value=number, width=8 * len(data), endian=endian)
    if role == "fixed":
        return Static(name, default_value=data)
    if role == "body" or not data.isascii():
        return Bytes(name, default_value=data)
    return (Delim if role == "line" else String)(name, default_value=data.decode())


class Look:
    """Publishes on a fresh connection, and reads how the answer begins."""

    def __init__(self, address: tuple[str, int], task: Task) -> None:
        self._address = address
        self._begins = bytes.fromhex(task["begins"])
        publishes = map(bytes.fromhex, task["publishes"])
        self._publish = next(publish for publish in publishes if self._is_answered(publish))

    def is_well(self) -> bool:
        """Return whether a publish is answered."""
        return self._is_answered(self._publish)

    def _is_answered(self, publish: bytes) -> bool:
        deadline = time.monotonic() + PATIENCE_S
        answer = b""
        try:
            with socket.create_connection(self._address, PATIENCE_S) as sock:
                sock.sendall(publish)
                while len(answer) < len(self._begins):
                    sock.settimeout(max(0.001, deadline - time.monotonic()))
                    piece = sock.recv(len(self._begins) - len(answer))
                    if not piece:
                        return False
                    answer += piece
        except OSError:
            return False
        return answer == self._begins


def in_turns(session: Session) -> Iterator[object]:
    """Yield one mutation of each request in turn, until no request has any left.

    By default boofuzz reaches a request only after all mutations of the requests before it.
    """
    paths = [list(path) for path in session._iterate_protocol_message_paths()]
    waiting = deque((path, session._generate_n_mutations_for_path(path, 1)) for path in paths)
    while waiting:
        path, mutations = waiting.popleft()
        mutation = next(mutations, None)
        if mutation is not None:
            session.fuzz_node = session.nodes[path[-1].dst]
            waiting.append((path, mutations))
            yield mutation


def _run(session: Session, *, in_turn: bool) -> bool:
    """Run boofuzz without its output; return whether boofuzz itself failed."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    shown = os.dup(1)
    os.dup2(nowhere, 1)
    try:
        if in_turn:
            session._main_fuzz_loop(in_turns(session))
        else:
            session.fuzz()
    except (KeyboardInterrupt, SystemExit):
        return False
    except Exception:  # a target that is gone ends boofuzz in many ways
        return True
    finally:
        os.dup2(shown, 1)
    return False


def main() -> None:
    """Run boofuzz as the arguments say."""
    mode, host, port, topic, cases, seconds = sys.argv[1:]
    started = time.monotonic()
    cpu = time.process_time()
    found_s = None
    lean = mode != "default"
    more: dict[str, object] = {"fuzz_loggers": [], "web_port": None} if lean else {}
    finds = mode == "find"
    task: Task = json.load(sys.stdin) if finds else {"frames": [], "publishes": [], "begins": ""}
    look = Look((host, int(port)), task) if finds else None
    connection = TCPSocketConnection(host, int(port), recv_timeout=PATIENCE_S)
    session = Session(
        target=Target(connection=connection),
        index_start=1,
        index_end=int(cases),
        keep_web_open=False,
        receive_data_after_fuzz=False,  # it would wait for answers, and make nothing of them
        restart_threshold=1 if finds else 1_000_000,  # one that is dead is what is looked for
        restart_sleep_time=0,
        crash_threshold_request=1_000_000,
        crash_threshold_element=1_000_000,
        **more,
    )
    for each in requests(task["frames"]) if finds else [request(topic)]:
        session.connect(each)
    count = 0

    def after(target, fuzz_data_logger, session, *args, **kwargs):  # type: ignore[no-untyped-def]
        nonlocal count, found_s
        count += 1
        if look is not None and not look.is_well():
            found_s = time.monotonic() - started
            raise KeyboardInterrupt
        if time.monotonic() - started > float(seconds):
            raise KeyboardInterrupt

    session.register_post_test_case_callback(after)
    is_cut = _run(session, in_turn=finds)
    if look is not None and found_s is None and (is_cut or not look.is_well()):
        found_s = time.monotonic() - started  # it died behind the last look at it
    told: dict[str, float] = {"cases": count, "seconds": time.monotonic() - started}
    told |= {"cpu_s": time.process_time() - cpu, "whole_cpu_s": time.process_time()}
    print(json.dumps({**told, "found_s": found_s}))


if __name__ == "__main__":
    main()
