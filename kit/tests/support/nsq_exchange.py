"""A transcript of NSQ in which a broker does what a test says."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import msgspec

from wireproof_kit.ledger.outcomes import Outcome
from wireproof_kit.nsq.ledger.ledger import NsqLedger
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.wire.http import path_with_query, request_bytes
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Step, Transcript
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.frame import message_frame, response_frame
from wireproof_spec.nsq.message import Extend, Message, message_schema

ADDRESS = ("127.0.0.1", 4150)
EXT = Topic("wp_ext", 0, extend=True, ordered=False, shared=False, address=ADDRESS)
PLAIN = replace(EXT, name="wp_plain", extend=False)
ORDERED = replace(PLAIN, name="wp_ordered", ordered=True)
ELSEWHERE = replace(PLAIN, name="wp_elsewhere")
BODY = b"wp:0123456789:1;"
HEADER = {"k": "v"}


class Exchange:
    """Writes the transcript of a case in which a broker does what the test says."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self._consumers = itertools.count(1)
        self._pauses: list[tuple[int, int]] = []
        self._topics = {topic.name: topic for topic in (EXT, PLAIN, ORDERED)}

    def publish(
        self,
        topic: Topic = EXT,
        body: bytes = BODY,
        header: Mapping[str, str] | bytes | None = HEADER,
        *,
        trace_id: int | None = None,
        answer: bytes | None = None,
    ) -> None:
        """Publish by TCP; the broker answers OK unless ``answer`` is another frame."""
        self._topics[topic.name] = topic
        if trace_id is not None:
            command = frames.pub_trace(topic, trace_id, body)
        elif header is not None and topic.extend:
            command = frames.pub_ext(topic, header, body)
        else:
            command = frames.pub(topic, body)
        self.send("P", command)
        if answer is None:
            answer = response_frame(b"OK")
        self.receive("P", answer)

    def post(
        self,
        body: bytes = BODY,
        ext: str = '{"k":"v"}',
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """Publish with a header by HTTP; the broker answers OK."""
        query: dict[str, str | int] = {"topic": EXT.name, "partition": 0, "ext": ext}
        self.request("/pub_ext", query, body, headers)

    def subscribe(
        self,
        topic: Topic = EXT,
        *,
        tag: str = "",
        channel: str = "c",
        ready: int = 5,
        timeout_ms: int | None = None,
        command: str = "",
        identity: Mapping[str, object] = MappingProxyType({}),
    ) -> str:
        """Subscribe a new client; return the name of its connection."""
        conn = f"C{next(self._consumers)}"
        fields: dict[str, object] = {"desired_tag": tag} if tag else {}
        fields |= {"msg_timeout": timeout_ms} if timeout_ms is not None else {}
        fields |= {"extend_support": topic.extend, **identity}
        self.send(conn, frames.identify(**fields))
        self.receive(conn, response_frame(b"OK"))
        word = command or ("SUB_ORDER" if topic.ordered else "SUB")
        self.send(conn, frames.subscribe(topic, channel, command=word))
        self.receive(conn, response_frame(b"OK"))
        self.send(conn, frames.rdy(ready))
        return conn

    def deliver(
        self, conn: str, topic: Topic = EXT, changes: Mapping[str, object] = MappingProxyType({})
    ) -> bytes:
        """Deliver a message, changed from what was published; return its id."""
        data = json.dumps(HEADER, separators=(",", ":")).encode()
        extend = Extend(4, data) if topic.extend else None
        offset, size = (0, 42) if topic.ordered else (None, None)
        right = Message(1_700_000_000_000_000_000, 1, 7, 0, extend, offset, size, BODY)
        message = msgspec.structs.replace(right, **changes)
        schema = message_schema(extend=topic.extend, ordered=topic.ordered)
        self.receive(conn, message_frame(encode(schema, message)))
        return message.message_id

    def send(self, conn: str, outgoing: Outgoing) -> None:
        """Send a command; the magic comes before the first one."""
        if not any(step.connection == conn for step in self.transcript.steps()):
            self.transcript.add("open", conn)
            self.transcript.add("send", conn, data=frames.magic().data)
        self.transcript.add("send", conn, data=outgoing.data, parts=outgoing.parts)

    def receive(self, conn: str, data: bytes) -> None:
        """Receive a frame."""
        self.transcript.add("receive", conn, data=data)

    def ask(self, conn: str) -> None:
        """Publish on a consumer's connection: the answer shows that what came before was read."""
        self.send(conn, frames.pub(ELSEWHERE, b"asked"))
        self.receive(conn, response_frame(b"OK"))

    def request(
        self,
        path: str,
        query: Mapping[str, str | int],
        body: bytes = b"",
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """Send an HTTP request, answered with OK."""
        target = path_with_query(path, query)
        request = request_bytes("POST", target, ADDRESS, headers=headers, body=body)
        self.transcript.add("request", "H", data=request)
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"
        self.transcript.add("response", "H", data=answer)

    def close(self, conn: str) -> None:
        """Close a connection."""
        self.transcript.add("close", conn, note="by the kit")

    def pause(self, ms: int) -> None:
        """Let time pass before the next step."""
        self._pauses.append((self.transcript.count, ms * 1000))

    def outcomes(self) -> list[Outcome]:
        """Return what the ledger concludes."""
        ledger = NsqLedger(self._topics.get)
        ledger.read("nsq/case", self._timed_steps())
        return list(ledger.conclude())

    def _timed_steps(self) -> Iterator[Step]:
        for number, step in enumerate(self.transcript.steps()):
            passed_us = sum(us for first, us in self._pauses if first <= number)
            yield replace(step, at_us=step.at_us + passed_us)

    def broken(self) -> dict[str, str]:
        """Return the broken clauses, each with the observation of its first breach."""
        return {each.clause: each.finding.value for each in self.outcomes() if each.finding}


def header(**names: object) -> Extend:
    return Extend(4, json.dumps(names).encode())
