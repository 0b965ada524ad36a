"""Transcripts of Iggy cases as a right server would cause them, to be broken by tests."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wireproof_kit.iggy.forms import Forms
from wireproof_kit.iggy.ledger.ledger import IggyLedger
from wireproof_kit.iggy.topics import Stream, Topic
from wireproof_kit.iggy.wire import payloads, requests
from wireproof_kit.iggy.wire.http import headers_object, messages_body
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.wire.http import request_bytes
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Step, Transcript
from wireproof_spec.decoding import encode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.command_shapes import Payload
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.consumer_offsets import (
    CONSUMER_OFFSET,
    ConsumerOffset,
    GetConsumerOffset,
    StoreConsumerOffset,
)
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.poll_messages import POLLED_MESSAGES, PolledMessages
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage
from wireproof_spec.iggy.bodies.topics import TopicRequest
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.frame import response
from wireproof_spec.iggy.header_kinds import STRING, UINT8, UINT64
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.states import AVAILABLE, state_name

ADDRESS = ("127.0.0.1", 80)
TOPIC = Topic(Stream(7, "wp_stream"), 1, "wp_topic_1", 3)
CONSUMER_PLACE = (Consumer(1, 1), TOPIC.stream.id, TOPIC.id, 1)
START_US = 1_700_000_000_000_000
GENERATED = 1 << 127
TEXT, NUMBER = Header("name", STRING, b"value"), Header("number", UINT64, bytes(8))
SMALL = Header("small", UINT8, b"\x01")
SENT = SentMessage(5, (TEXT, NUMBER), b"payload")
PLAIN = SentMessage(6, (), b"another")


def stored(sent: SentMessage, offset: int = 0) -> Message:
    """Return a message as a right server stores it; for id 0 with a generated id."""
    return Message(
        offset,
        AVAILABLE,
        START_US + offset,
        sent.id or GENERATED + offset,
        payload_checksum(sent.payload),
        sent.headers,
        sent.payload,
    )


def as_object(message: Message) -> dict[str, object]:
    """Return a message as JSON."""
    return {
        "offset": message.offset,
        "state": state_name(message.state or 0),
        "timestamp": message.timestamp,
        "id": message.id,
        "checksum": message.checksum,
        "headers": headers_object(message.headers) or None,
        "payload": base64.b64encode(message.payload).decode(),
    }


def http_answer(status: int, body: bytes = b"") -> bytes:
    """Return the bytes of an HTTP response."""
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


@dataclass
class Recording:
    """The transcript of one case, with a topic of three partitions that it created."""

    transcript: Transcript = field(default_factory=Transcript)

    def __post_init__(self) -> None:
        self.ask(commands.CREATE_TOPIC, payloads.topic_to_create(TOPIC, "commit"))

    def ask(self, code: int, payload: Payload, body: bytes = b"", status: int = 0) -> None:
        """Record a request and its response."""
        self.exchange(requests.request(code, payload), response(status, body))

    def exchange(self, request: Outgoing, answer: bytes = b"") -> None:
        """Record a request, and if there is one its answer, on the connection of the case."""
        self.transcript.add("send", "A", data=request.data, parts=request.parts)
        if answer:
            self.transcript.add("receive", "A", data=answer)

    def sending(self, *messages: SentMessage, partition: int = 1) -> SendMessages:
        """Return the payload that sends messages to a partition."""
        return SendMessages(TOPIC.stream.id, TOPIC.id, partition_id(partition), messages)

    def send(self, *messages: SentMessage, partition: int = 1, status: int = 0) -> None:
        """Record that messages were sent over TCP."""
        self.ask(commands.SEND_MESSAGES, self.sending(*messages, partition=partition), b"", status)

    def poll(self, *messages: Message, polling: Polling | None = None) -> None:
        """Record that a poll over TCP returned messages."""
        body = encode(POLLED_MESSAGES, PolledMessages(None, None, messages))
        self.poll_bytes(body, polling or Polling())

    def poll_bytes(self, body: bytes, polling: Polling) -> None:
        """Record that a poll over TCP returned a body."""
        payload = payloads.poll_payload(TOPIC, polling, "published")
        self.ask(commands.POLL_MESSAGES, payload, body)

    def store(self, offset: int) -> None:
        """Record that consumer 1 stored an offset."""
        self.ask(commands.STORE_CONSUMER_OFFSET, StoreConsumerOffset(*CONSUMER_PLACE, offset))

    def tell_stored(self, offset: int) -> None:
        """Record that consumer 1 was told its stored offset."""
        body = encode(CONSUMER_OFFSET, ConsumerOffset(1, offset))
        self.ask(commands.GET_CONSUMER_OFFSET, GetConsumerOffset(*CONSUMER_PLACE), body)

    def create_again(self) -> None:
        """Record that the topic was deleted and created again."""
        self.ask(commands.DELETE_TOPIC, TopicRequest(TOPIC.stream.id, TOPIC.id))
        self.ask(commands.CREATE_TOPIC, payloads.topic_to_create(TOPIC, "commit"))

    def post(self, *messages: SentMessage | Mapping[str, object], status: int = 201) -> None:
        """Record that messages were sent over HTTP."""
        body = json.dumps(messages_body(messages, partition_id(1))).encode()
        self.http("POST", f"{TOPIC.path}/messages", body, http_answer(status))

    def get(self, *objects: Mapping[str, object]) -> None:
        """Record that a poll over HTTP returned messages."""
        target = f"{TOPIC.path}/messages?partition_id=1&kind=offset&value=0&count=100"
        self.http("GET", target, b"", http_answer(200, json.dumps(objects).encode()))

    def control(self, change: str, status: int = 200) -> None:
        """Record a change of the message with offset 0 through the control API."""
        target = f"/control/message?stream=7&topic=1&partition=1&offset=0&{change}"
        self.http("POST", target, b"", http_answer(status))

    def http(self, method: str, target: str, body: bytes, answer: bytes) -> None:
        """Record an HTTP request and its response."""
        name = self.transcript.connection_label() + "h"
        data = request_bytes(method, target, ADDRESS, body=body)
        self.transcript.add("request", name, data=data)
        self.transcript.add("response", name, data=answer)

    def steps(self) -> Sequence[Step]:
        """Return the steps recorded so far."""
        return self.transcript.steps()

    def conclude(self) -> IggyLedger:
        """Return a ledger that has read and judged the case."""
        ledger = IggyLedger(Forms())
        ledger.read("iggy/case", self.steps())
        ledger.conclude()
        return ledger

    def broken(self) -> dict[str, str]:
        """Return the observation of each clause that the ledger says is broken."""
        outcomes = self.conclude().outcomes
        return {each.clause: each.finding.value for each in outcomes if each.finding is not None}

    def kept(self) -> set[str]:
        """Return the clauses that the ledger says are kept at least once."""
        return {each.clause for each in self.conclude().outcomes if each.kept}
