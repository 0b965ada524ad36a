"""Publishes messages in the way that a row of the table of ways names."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

from wireproof_kit.covering_array import Row
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe, observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.answers import Answer, Response
from wireproof_kit.nsq.wire.http import Query
from wireproof_kit.observation import Observation
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.nsq.names import TRACE_ID

BATCH = 3
TRACE = 0x8102030405060708
"""The trace id of the first two messages; each two have the next one."""
Header = Mapping[str, str]


def names_no_partition(row: Row) -> bool:
    """Return True if no text says that the publish of a row has a partition."""
    is_bare_post = row["command"] == "http" and row["header"] == "no-header"
    return row["command"] in ("batch", "lines") or is_bare_post


def publish(
    broker: Broker, topic: Topic, bodies: Sequence[bytes], row: Row, header: Header | None
) -> Observation | None:
    """Publish as a row says; return the first answer with which the broker refuses, if any."""
    is_traced = row["trace"] == "traced"
    traces = [TRACE + number // 2 if is_traced else None for number in range(len(bodies))]
    headers = [
        None if header is None else _header(header, number, trace_id)
        for number, trace_id in enumerate(traces)
    ]
    if row["command"] in ("http", "lines"):
        return _first(_posts(broker, topic, bodies, row, headers))
    if row["command"] == "batch":
        with broker.connect(topic=topic) as publisher:
            answers = [publisher.ask(frames.mpub(topic, bodies))]
    elif row["command"] == "at-once":
        commands = [pub(topic, *each) for each in zip(bodies, headers, traces, strict=True)]
        answers = _ask_at_once(broker, topic, commands)
    else:
        answers = [
            broker.publish(topic, body, own, trace_id=trace_id)
            for body, own, trace_id in zip(bodies, headers, traces, strict=True)
        ]
    return _first(None if isinstance(answer, Response) else observe(answer) for answer in answers)


def _header(header: Header, number: int, trace_id: int | None) -> dict[str, str]:
    """Return the header of one of several messages; no two are the same."""
    trace = {} if trace_id is None else {TRACE_ID: str(trace_id)}
    return {**header, "number": str(number), **trace}


def _first(refusals: Iterator[Observation | None]) -> Observation | None:
    return next((refusal for refusal in refusals if refusal is not None), None)


def pub(topic: Topic, body: bytes, header: Header | None, trace_id: int | None = None) -> Outgoing:
    """Return the command that publishes a message with a header, a trace id, or neither."""
    if header is not None:
        return frames.pub_ext(topic, header, body)
    if trace_id is not None:
        return frames.pub_trace(topic, trace_id, body)
    return frames.pub(topic, body)


def _ask_at_once(broker: Broker, topic: Topic, commands: Sequence[Outgoing]) -> list[Answer]:
    """Send each command on a connection of its own before any answer is read."""
    with ExitStack() as stack:
        publishers = [stack.enter_context(broker.connect(topic=topic)) for _ in commands]
        for publisher, command in zip(publishers, commands, strict=True):
            publisher.send(command)
        return [publisher.receive() for publisher in publishers]


def _posts(
    broker: Broker,
    topic: Topic,
    bodies: Sequence[bytes],
    row: Row,
    headers: Sequence[Header | None],
) -> Iterator[Observation | None]:
    http = broker.http.at(topic.http_address)
    query: Query = {"topic": topic.name, "partition": topic.partition}
    if row["command"] == "lines":
        answer = http.request("POST", "/mpub", query=query, body=b"\n".join(bodies))
        yield None if answer.status == 200 else observe_http(answer)
        return
    for body, header in zip(bodies, headers, strict=True):
        own = query if header is None else {**query, "ext": frames.header_bytes(header)}
        path = "/pub" if header is None else "/pub_ext"
        answer = http.request("POST", path, query=own, body=body)
        yield None if answer.status == 200 else observe_http(answer)
