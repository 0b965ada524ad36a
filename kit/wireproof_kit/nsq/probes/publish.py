"""Probes of what a target answers. Each docstring says what it can return.

Answer and state are the answer and the state of the connection after it, such as
``error:E_BAD_BODY,closed`` or ``ok,open``.
"""

from dataclasses import replace

from wireproof_kit.nsq.observe.observations import observe, observe_http
from wireproof_kit.nsq.probes.context import ProbeContext
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.http import HttpAnswer, Query
from wireproof_kit.observation import Observation, observed
from wireproof_spec.nsq import names

HEADER = {"k": "v"}


def trace_empty(bench: ProbeContext) -> Observation:
    """Publish with an empty trace id; return answer and state (``ok,open``)."""
    topic = bench.topic("ext_topic")
    body = bench.broker.unique_body()
    return bench.ask(topic, frames.pub_ext(topic, {names.TRACE_ID: ""}, body))


def pub_bad_topic(bench: ProbeContext) -> Observation:
    """Publish to a topic with an invalid name; return answer and state (``ok,open``)."""
    topic = bench.topic("plain_topic", "ext_topic")
    body = bench.broker.unique_body()
    return bench.ask(topic, frames.pub(topic, body, topic_name="wp_bad!name"))


def pub_bad_size(bench: ProbeContext) -> Observation:
    """Publish with size -1; return answer and state (``ok,open``)."""
    topic = bench.topic("plain_topic", "ext_topic")
    return bench.ask(topic, frames.pub(topic, b"", size=-1))


def ext_error_codes(bench: ProbeContext) -> Observation:
    """Publish with a header that is not JSON; return answer and state (``ok,open``).

    If that is accepted, publish with letters as trace id, and then on a topic without the extend
    feature, until one is refused.
    """
    ext, plain = bench.topic("ext_topic"), bench.topic("plain_topic", "ext_topic")
    seen = observed("ok")
    for topic, header in ((ext, b"{"), (ext, {names.TRACE_ID: "abc"}), (plain, {"k": "v"})):
        frame = frames.pub_ext(topic, header, bench.broker.unique_body())
        seen = bench.ask(topic, frame)
        if not seen.value.startswith("ok"):
            return seen
    return seen


def sub_error_codes(bench: ProbeContext) -> Observation:
    """Subscribe to a topic that does not exist; return answer and state (``ok,open``)."""
    topic = bench.topic("plain_topic", "ext_topic")
    missing = bench.pool.next_name()
    seen = bench.ask(topic, frames.subscribe(topic, topic.channel(), topic_name=missing))
    if seen.value.startswith("ok"):  # some brokers make a topic of any name on the way
        bench.pool.adopt(replace(topic, name=missing))
    return seen


def pub_partition(bench: ProbeContext) -> Observation:
    """Publish without a partition; return answer and state (``ok,open``)."""
    topic = bench.topic("plain_topic", "ext_topic")
    return bench.ask(topic, frames.pub(topic, bench.broker.unique_body(), partition=None))


def header_value(bench: ProbeContext) -> Observation:
    """Publish with a number as a header value; return answer and state (``ok,open``)."""
    topic = bench.topic("ext_topic")
    body = bench.broker.unique_body()
    return bench.ask(topic, frames.pub_ext(topic, b'{"k":1}', body))


def http_quotes(bench: ProbeContext) -> Observation:
    """POST /pub_ext with a header in single quotes: ``http:refused`` or ``http:STATUS,CODE``."""
    answer = _pub_ext(bench, {"ext": "{'k1':'v1'}"})
    seen = observe_http(answer)
    return observed("http:refused", note=seen.value) if answer.status >= 400 else seen


def http_ok(bench: ProbeContext) -> Observation:
    """POST /pub_ext: ``bare`` for OK, ``quoted`` for "OK", else ``http:STATUS,CODE``."""
    answer = _pub_ext(bench, {"ext": '{"k":"v"}'})
    words = {b"OK": "bare", b'"OK"': "quoted"}
    word = words.get(answer.body.strip()) if answer.status == 200 else None
    return observed(word) if word else observe_http(answer)


def http_trace_envelope(bench: ProbeContext) -> Observation:
    """POST /pub_ext with a trace id, and see whether the response is in an envelope.

    Return ``bare``, ``wrapped``, or ``http:STATUS,CODE``.
    """
    answer = _pub_ext(bench, {"ext": '{"##trace_id":"7"}'})
    if answer.word != "trace":
        return observe_http(answer)
    return observed("wrapped" if answer.is_wrapped else "bare")


def order_command(bench: ProbeContext) -> Observation:
    """Subscribe in order by both names of the command: ``SUB_ORDER,ok`` or ``SUB_ORDERED,ok``.

    If neither works: ``neither,`` and the answer, such as ``error:CODE``.
    """
    topic = bench.topic("fresh_ordered_topic", "plain_topic")
    seen = "silence"
    for command in (names.SUB_ORDER, names.SUB_ORDERED):
        with bench.broker.connect(topic=topic) as client:
            answer = client.ask(frames.subscribe(topic, topic.channel(), command=command))
        seen = observe(answer).value
        if seen == "ok":
            return observed(f"{command.decode()},ok")
    return observed(f"neither,{seen}")


def order_is_must(bench: ProbeContext) -> Observation:
    """Subscribe with SUB to an ordered topic; return answer and state (``ok,open``)."""
    topic = bench.topic("fresh_ordered_topic")
    return bench.ask(topic, frames.subscribe(topic, topic.channel()))


def _pub_ext(bench: ProbeContext, query: Query) -> HttpAnswer:
    topic = bench.topic("ext_topic")
    whole = {"topic": topic.name, "partition": topic.partition, **query}
    client = bench.broker.http.at(topic.http_address)
    return client.request("POST", "/pub_ext", query=whole, body=bench.broker.unique_body())
