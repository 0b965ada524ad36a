"""Topics over HTTP are answered as nsqlookupd was recorded to answer."""

from check_each import check_each
from nsq_bench import Bench

from wireproof_reference_impl.nsq.options import DEPLOYED
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.golden import HttpExchange

PATHS = ("/topic/creat", "/topic/meta/update", "/topic/delete")
SERVER = "youzan nsqlookupd"
PLACEMENT = "one node holds everything"
STORAGE = "how topics are kept on disk cannot be set"
FOLLOWER = "there is no other nsqlookupd"

LEFT_OUT = {
    "create/replicator=3": PLACEMENT,
    "create/partitions-exceed-nodes-x-replicas": PLACEMENT,
    "create/suggestload=-1x": PLACEMENT,
    "create/suggestload=10001": PLACEMENT,
    "create/syncdisk=abc": STORAGE,
    "create/retention=abc": STORAGE,
    "create/on-follower": FOLLOWER,
    "upgradeext/on-follower": FOLLOWER,
    "meta-update/replicator=abc": PLACEMENT,
    "meta-update/syncdisk=abc": STORAGE,
    "meta-update/syncdisk=4001": STORAGE,
    "meta-update/retention=61": STORAGE,
    "meta-update/retention=abc": STORAGE,
    "delete/on-follower": FOLLOWER,
}
KNOWN = {
    "create/again-same-meta": "plain1",
    "create/again-other-meta": "plain1",
    "upgradeext/plain-to-ext": "plain1",
    "upgradeext/false-does-not-downgrade": "plain1",
    "upgradeext/value-1": "plain2",
    "delete/single-partition": "unk1",
    "delete/ok": "unk1",
}
"""The topic that existed when the row was recorded."""

EXCHANGES = [
    each
    for each in golden.nsqlookupd_http()
    if each.server == SERVER and each.path.startswith(PATHS)
]


@check_each([each for each in EXCHANGES if each.name not in LEFT_OUT], lambda each: each.name)
def test_exchange_is_repeated(exchange: HttpExchange) -> None:
    bench = Bench(dialect=DEPLOYED)
    if exchange.name in KNOWN:
        bench.topic(KNOWN[exchange.name], extend=False)
    head = f"{exchange.method} {exchange.path} HTTP/1.1\r\nHost: x\r\n"
    head += f"Content-Length: {len(exchange.request_body)}\r\n\r\n"
    answer = bench.http(head.encode() + exchange.request_body)
    status, _, rest = answer.removeprefix(b"HTTP/1.1 ").partition(b" ")

    assert int(status) == exchange.status
    assert rest.partition(b"\r\n\r\n")[2] == exchange.response_body


def test_rows_named_here_exist() -> None:
    names = {each.name for each in EXCHANGES}
    assert set(LEFT_OUT) <= names
    assert set(KNOWN) <= names
