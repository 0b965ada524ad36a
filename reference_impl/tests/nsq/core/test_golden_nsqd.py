"""What a real youzan nsqd was recorded to do, the deployed dialect does too."""

import json
import re

import h11
from check_each import check_each
from nsq_bench import Bench, Client

from wireproof_reference_impl.nsq.options import DEPLOYED
from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.golden import HttpExchange, Scenario, Step, Varying

LIMITS = Limits(message=204800, body=512000)
"""As the peer was recorded."""

LEFT_OUT = {
    "crash/pub_ext_header_len_65534": "the peer died",
    "crash/pub_ext_header_len_65535_plain_topic_garbage": "the peer died",
    "identify/deflate_level_7": "compression is not offered",
    "identify/snappy": "compression is not offered",
    "mpub_ext/bad_json_second": "the peer lost step; the reference reads on behind the batch",
    "deliver/output_buffer_timeout_minus1": "the peer kept a message in its buffer",
}

OTHER_SERVERS = {
    "cluster": "several nodes, replicas and nsqlookupd: see test_golden_cluster",
    "standalone+auth": "an authorisation server",
    "standalone+tls": "TLS is not offered",
}

REPLAYED = [each for each in golden.nsqd_tcp() if each.server == "standalone"]
EXCHANGES = [each for each in golden.nsqd_http() if each.server == "standalone" and each.whole]


def bench(scenario: Scenario | HttpExchange) -> Bench:
    bench = Bench(dialect=DEPLOYED, limits=LIMITS)
    for each in scenario.setup:
        number = each["partition"]
        assert isinstance(number, int)
        bench.node.create(
            str(each["create_topic"]),
            range(number, number + 1),
            extend=bool(each["ext"]),
            ordered=bool(each["ordered"]),
        )
    return bench


def masked(data: bytes, varies: tuple[Varying, ...]) -> bytes:
    for each in varies:
        data = data[: each.offset] + bytes(each.length) + data[each.offset + each.length :]
    return data


def sent(client: Client, step: Step) -> None:
    data = step.data
    for each in step.varies:
        data = data[: each.offset] + client.last_id + data[each.offset + each.length :]
    if data:
        client.send(data)
    elif "half-closes" in step.note:
        client.half_close()
    elif "closes" in step.note:
        client.close()


def came(client: Client, step: Step) -> None:
    if not step.data:
        seconds = re.search(r"within ([0-9.]+) s", step.note)
        assert client.frame(within=float(seconds[1]) if seconds else 0.5) is None
        return
    expected = step.data
    while expected:
        frame = client.frame(heartbeats=step.text == "_heartbeat_")
        assert frame is not None, f"missing {step.text or expected!r}"
        length = 8 + len(frame.data)
        found = (length - 4).to_bytes(4) + frame.frame_type.to_bytes(4) + frame.data
        varies = tuple(each for each in step.varies if each.offset < length)
        assert masked(found, varies) == masked(expected[:length], varies)
        expected = expected[length:]


@check_each(
    [each for each in REPLAYED if each.name not in LEFT_OUT], lambda scenario: scenario.name
)
def test_scenario_is_repeated(scenario: Scenario) -> None:
    deployed = bench(scenario)
    clients: dict[str, Client] = {}
    for step in scenario.steps:
        if step.connection not in clients:
            clients[step.connection] = deployed.connect(magic=False)
        client = clients[step.connection]
        (sent if step.direction == "send" else came)(client, step)
    assert {name: client.closed for name, client in clients.items()} == scenario.closed


HTTP_LEFT_OUT = {
    "mpub/empty_body": "the peer hung",
    "mpub/only_newlines": "the peer hung",
    "mpub/bad_partition": "what the peer answered is not JSON",
}


def request_of(exchange: HttpExchange) -> bytes:
    if exchange.raw_request:
        return exchange.raw_request
    headers = {"Host": "x", "Content-Length": str(len(exchange.request_body))}
    headers |= exchange.request_headers
    lines = [f"{exchange.method} {exchange.path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + exchange.request_body


def answer_of(data: bytes) -> tuple[int, dict[str, str], bytes]:
    reader = h11.Connection(h11.CLIENT)
    reader.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    reader.send(h11.EndOfMessage())
    reader.receive_data(data)
    response = reader.next_event()
    assert isinstance(response, h11.Response)
    body = reader.next_event()
    headers = {name.decode(): value.decode() for name, value in response.headers}
    return response.status_code, headers, body.data if isinstance(body, h11.Data) else b""


def without(body: bytes, varies: tuple[str, ...]) -> object:
    if not varies:
        return body
    fields = json.loads(body)
    fields = fields.get("data", fields)
    return {name: value for name, value in fields.items() if name not in varies}


@check_each([each for each in EXCHANGES if each.name not in HTTP_LEFT_OUT], lambda each: each.name)
def test_exchange_is_repeated(exchange: HttpExchange) -> None:
    deployed = bench(exchange)
    data = deployed.http(request_of(exchange), end=bool(exchange.raw_request))
    status, headers, body = answer_of(data)
    assert status == exchange.status
    assert without(body, exchange.varies) == without(exchange.response_body, exchange.varies)
    expected = {name.lower(): value for name, value in exchange.response_headers.items()}
    for name in ("content-type", "x-nsq-content-type"):
        assert headers.get(name) == expected.get(name)


@check_each([each for each in EXCHANGES if each.stored], lambda each: each.name)
def test_exchange_stores_the_same(exchange: HttpExchange) -> None:
    deployed = bench(exchange)
    topic = str(exchange.setup[0]["create_topic"])
    deployed.http(request_of(exchange))
    consumer = deployed.consumer(topic)
    for stored in exchange.stored:
        message = consumer.message(extend=True)
        assert message.trace_id == stored["trace_id"]
        assert message.body.hex() == stored["body_hex"]
        assert message.extend is not None
        assert message.extend.version == stored["ext_ver"]
        header = message.extend.data
        assert (None if header is None else header.decode()) == stored["ext"]


def test_scenarios_left_out_exist() -> None:
    servers = {each.server for each in golden.nsqd_tcp()}
    servers |= {each.server for each in golden.nsqd_http()}
    assert servers == {"standalone", *OTHER_SERVERS}
    assert set(LEFT_OUT) <= {each.name for each in REPLAYED}
    assert set(HTTP_LEFT_OUT) <= {each.name for each in EXCHANGES}
