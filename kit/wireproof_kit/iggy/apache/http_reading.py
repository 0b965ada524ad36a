"""What a case sends and polls over HTTP, judged as far as it is about messages in JSON.

No page shows the bodies: "it exposes the same operations as JSON REST endpoints". So what is
polled here is held against what was sent and against what is polled over TCP, at clauses about
JSON alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from wireproof_kit.clients.http_requests import HttpRequest, HttpRequests, NotHttp
from wireproof_kit.iggy.apache import json_messages
from wireproof_kit.iggy.apache.asked import OfConsumer, Sent
from wireproof_kit.iggy.apache.json_messages import JsonMessage
from wireproof_kit.iggy.apache.known import Known, way_of
from wireproof_kit.iggy.apache.partitions import Before, commit, judge_told
from wireproof_kit.iggy.apache.rules import LAW, Content, hold
from wireproof_kit.iggy.wire.http import JsonObject, JsonPolled, is_success, json_polled
from wireproof_kit.ledger.entries import Entry, Fate
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.wire.http import TransferResult, read_response
from wireproof_kit.wire.transcript import Step
from wireproof_spec import strict_json
from wireproof_spec.iggy.apache.bodies.messages import (
    QUORUM,
    ConsumerOffset,
    GetConsumerOffset,
    PollMessages,
    StoreConsumerOffset,
)
from wireproof_spec.iggy.apache.bodies.places import one_partition
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import Identifier, make_named, numeric
from wireproof_spec.iggy.kinds import (
    AUTO_COMMIT,
    CONSUMER_KIND,
    MESSAGES_KEY,
    PARTITION_ID,
    STRATEGIES,
)
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

HTTP, POLLED = "http", "http-poll"
"""In the way of a message: sent over HTTP, and polled over HTTP."""
_PLACE: Final = re.compile("/streams/([^/]+)/topics/([^/]+)/(messages|consumer-offsets)")
_STRATEGIES: Final = {name: code for code, name in STRATEGIES.items()}
_ABSENT: Final = 404


@dataclass(slots=True)
class _Asked:
    """A request that waits for its response: one of a consumer, or messages to send."""

    request: HttpRequest
    body: OfConsumer | None = None
    before: Before | None = None
    sent: Sequence[Sent] = ()


class HttpReader:
    """Reads the HTTP requests of one run of a case, and judges the responses."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._asked: dict[str, _Asked] = {}

    def request(self, step: Step) -> None:
        """Read the step of a request."""
        try:
            (request,) = HttpRequests().feed(step.data)
        except (NotHttp, ValueError):
            self._known.are_all_known = False
            return
        self._asked[step.connection] = asked = _Asked(request)
        place = _PLACE.fullmatch(request.path)
        if place and request.method == "POST":
            asked.sent = self._take(place[2], request.body)
            self._known.are_all_known &= bool(asked.sent)
        elif request.method in ("POST", "DELETE"):
            self._known.forget_topics()
        elif place:
            asked.body = _read_of_consumer(request, place)
            if asked.body is not None:
                asked.before = self._known.before(asked.body, over_http=True)

    def _take(self, topic: str, body: bytes) -> Sequence[Sent]:
        try:
            document = strict_json.read(body)
        except WireError:
            return ()
        found = None if document.faults else json_messages.read_sent(document.value)
        if found is None:
            return ()
        how, frames = found
        number = int.from_bytes(how.value, "little") if how.kind == PARTITION_ID else None
        together = len(frames)
        way = {HTTP: True, "batch": together > 1, "other-partition": bool(number)}
        unusual = frozenset(name for name, has in way.items() if has)
        key = how.value if how.kind == MESSAGES_KEY else b""
        entries = [
            Entry(
                Content(frame, None, number, together, key=key),
                self._known.topic(_identifier(topic)),
                self._known.at,
                unusual,
            )
            for frame in frames
        ]
        self._known.keep(self._known.topic(_identifier(topic)), entries)
        return entries

    def response(self, step: Step) -> None:
        """Read the step of a response."""
        asked = self._asked.pop(step.connection, None)
        if asked is None:
            return
        answer = read_response(step.data, asked.request.method)
        fate = Fate.REFUSED if 400 <= answer.status < 500 else Fate.POSSIBLE
        for entry in asked.sent:
            entry.settle(Fate.ACCEPTED if is_success(answer) else fate, self._known.at)
        if isinstance(asked.body, PollMessages):
            self._judge_poll(asked.body, asked.before, json_polled(answer))
        elif isinstance(asked.body, StoreConsumerOffset) and asked.before is not None:
            may_be = frozenset({asked.body.offset}) if is_success(answer) else frozenset[int]()
            asked.before.stored.settle(asked.before, may_be)
        elif isinstance(asked.body, GetConsumerOffset) and asked.before is not None:
            self._judge_told(asked.body, asked.before, answer)

    def _judge_told(
        self, asked: GetConsumerOffset, before: Before, answer: TransferResult
    ) -> None:
        value = answer.json.value if answer.json is not None else None
        given = value if isinstance(value, dict) else {}
        fields = [given.get(name) for name in ("partition_id", "current_offset", "stored_offset")]
        numbers = [field for field in fields if isinstance(field, int)]
        told = ConsumerOffset(*numbers) if len(numbers) == len(fields) else None
        # What is neither an offset nor the answer that there is none decides nothing here.
        if answer.status == _ABSENT or (is_success(answer) and told is not None):
            number = asked.partition.partition_id
            way = {POLLED, "other-partition"} if number else {POLLED}
            found = judge_told(number, before, told if is_success(answer) else None)
            self._known.add((_of_json(each, "json.offset") for each in found), way)

    def _judge_poll(self, poll: PollMessages, before: Before | None, found: JsonPolled) -> None:
        is_polled = is_success(found.answer)
        if not is_polled or not found.is_readable:
            _settle(poll, before, None)
            if is_polled:
                self._known.add([Finding(f"{LAW}json.shape", "shape:lacking")], {POLLED})
            return
        way = frozenset(way_of(poll)) | {POLLED}
        messages = [json_messages.read_object(each) for each in found.objects]
        for each, message in zip(found.objects, messages, strict=True):
            self._known.add(json_messages.judge_form(each), way)
            if message is not None:
                self._judge_message(poll, each, message, way)
        read = [each for each in messages if each is not None]
        if len(read) < len(messages):
            _settle(poll, before, None)
            return
        self._known.add(_judge_head(poll, found, read), way)
        if before is not None:
            self._judge_strategy(poll, before, found, read, way)

    def _judge_strategy(
        self,
        poll: PollMessages,
        before: Before,
        found: JsonPolled,
        messages: Sequence[JsonMessage],
        way: frozenset[str],
    ) -> None:
        partition = self._known.partition(
            self._known.topic(poll.topic), poll.partition.partition_id
        )
        offsets = [message.offset for message in messages]
        first_us = messages[0].timestamp if messages else 0
        current = _member(found, "current_offset")
        if isinstance(current, int) and not self._known.has_odd_deltas:
            shown = partition.judge_answer(poll, before, offsets, current, first_us)
            self._known.add((_of_json(each) for each in shown), way)
        _settle(poll, before, offsets)

    def _judge_message(
        self, poll: PollMessages, found: JsonObject, message: JsonMessage, way: frozenset[str]
    ) -> None:
        topic, number = self._known.topic(poll.topic), poll.partition.partition_id
        self._known.add(json_messages.judge_values(found, message), way)
        partition = self._known.partition(topic, number)
        if not self._known.has_odd_deltas:
            way |= {"again"} if message.offset in partition.shown else frozenset()
            self._known.add(partition.judge_shown(message), way)
        sent = message.id, message.payload
        placed = self._known.judge_place(topic, number, *sent)
        self._known.add((_of_json(each) for each in placed), way)
        entries = self._known.find(topic, number, *sent)

        def judge(content: Content) -> Iterator[Finding]:
            yield from json_messages.judge_sent(message, content.frame, content.origin_us)
            yield from json_messages.judge_parts(message, content.frame)

        self._known.judge_best(entries, judge, way)


def _of_json(finding: Finding, clause: str = "json.poll") -> Finding:
    """Return what a rule about requests over TCP shows of one over HTTP."""
    return Finding(f"{LAW}{clause}", finding.value, finding.note, finding.difference)


def _member(found: JsonPolled, name: str) -> JsonValue:
    value = found.answer.json.value if found.answer.json is not None else None
    return value.get(name) if isinstance(value, dict) else None


def _judge_head(
    poll: PollMessages, found: JsonPolled, messages: Sequence[JsonMessage]
) -> Iterator[Finding]:
    """Judge what stands beside the messages of a poll, and in which order they are."""
    dues = {"partition_id": poll.partition.partition_id, "count": len(messages)}
    for name, due in dues.items():
        value = _member(found, name)
        yield hold("json.poll", value == due, f"head:{name}", f"{value} in place of {due}")
    is_few = len(messages) <= poll.count
    yield hold("json.poll", is_few, "count:more", f"{len(messages)} in place of {poll.count}")
    pairs = pairwise(message.offset for message in messages)
    yield hold("json.poll", all(one < other for one, other in pairs), "offsets:other")


def _settle(poll: PollMessages, before: Before | None, offsets: Sequence[int] | None) -> None:
    """Follow what a poll may have stored; ``offsets`` is None if it is not known what came."""
    if before is None:
        return
    if offsets is not None:
        commit(poll, before, offsets)
    elif poll.auto_commit:
        before.stored.settle(before, frozenset())


def _read_of_consumer(request: HttpRequest, place: re.Match[str]) -> OfConsumer | None:
    """Return what a request asks for a consumer; None if no text says what that is."""
    stream, topic, kind = place[1], place[2], place[3]
    where = _identifier(stream), _identifier(topic)
    given: Mapping[str, JsonValue] = {name: each[0] for name, each in request.query.items()}
    try:
        if request.method == "PUT":
            value = strict_json.read(request.body).value
            given = value if isinstance(value, dict) else {}
        who = Consumer(CONSUMER_KIND, _identifier(str(given["consumer_id"])))
        partition = one_partition(_number(given["partition_id"]))
        if request.method == "PUT":
            offset = _number(given["offset"])
            return StoreConsumerOffset(who, *where, partition, offset, QUORUM)
        if kind != "messages":
            return GetConsumerOffset(who, *where, partition)
        return PollMessages(
            who,
            *where,
            partition,
            _STRATEGIES[str(given["kind"])],
            _number(given.get("value", 0)),
            _number(given["count"]),
            AUTO_COMMIT if given.get("auto_commit") == "true" else 0,
        )
    except (KeyError, ValueError, WireError):
        return None


def _number(value: JsonValue) -> int:
    if isinstance(value, int | str):
        return int(value)
    raise ValueError(value)


def _identifier(word: str) -> Identifier:
    """Return the identifier that a segment of a path or a parameter of a query spells."""
    return numeric(int(word)) if word.isdecimal() else make_named(unquote(word))
