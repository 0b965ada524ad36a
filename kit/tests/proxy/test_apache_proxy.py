"""Traffic of generation apache that passes: recordings of a real server, and of its clients."""

import json
from importlib.resources import files

import pytest
from apache_requests import login, poll, send

from wireproof_kit.clients.events import Malformed
from wireproof_kit.iggy.clients.apache import answers, log
from wireproof_kit.iggy.clients.apache.law import LAW
from wireproof_kit.iggy.clients.script import Batches
from wireproof_kit.iggy.proxy.apache import OF_CLIENTS, OF_SERVERS, ApacheWatcher
from wireproof_kit.iggy.proxy.part import IggyWatcher
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.proxy.events import Undecoded
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.frames import NEED_MORE, FrameReader, Request, decode_request

GOLDEN = files("wireproof_spec.iggy.golden").joinpath("iggy-apache-tcp.jsonl")
ROWS = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]
UNLIKE = {
    "header-byte-0": "its first bytes are a length, as of a client of an earlier generation",
    "header-release-nonzero": "the server repeats the release that the client must not send",
}
WHOLE = {
    row["scenario"]: row["steps"]
    for row in ROWS
    if row["scenario"] not in UNLIKE
    and all("hex" in step for step in row["steps"] if step["dir"] in ("c2s", "s2c"))
}


def request_of(data: bytes) -> Request:
    """Return the request in some bytes."""
    reader = FrameReader(1 << 20)
    reader.feed(data)
    frame = reader.next_frame()
    assert frame is not NEED_MORE
    return decode_request(frame)


def pass_on(
    watcher: IggyWatcher | ApacheWatcher, data: bytes, *, by_client: bool
) -> list[Finding]:
    """Return what bytes that pass show."""
    return [
        finding
        for event in watcher.decode(0.0, data, by_client=by_client)
        for finding in watcher.see(event)
    ]


@pytest.mark.parametrize("name", WHOLE)
def test_a_real_server_breaks_nothing(name: str) -> None:
    watchers: dict[str, IggyWatcher] = {}
    found: list[Finding] = []
    for step in WHOLE[name]:
        if step["dir"] in ("c2s", "s2c"):
            watcher = watchers.setdefault(step["conn"], IggyWatcher("tcp.1"))
            data = bytes.fromhex(step["hex"])
            found += pass_on(watcher, data, by_client=step["dir"] == "c2s")
    assert {each.clause for each in found} <= {*OF_CLIENTS, *OF_SERVERS}
    assert [each for each in found if each.value and each.clause in OF_SERVERS] == []


def test_both_sides_of_a_connection_are_judged() -> None:
    watcher = IggyWatcher("tcp.1")
    entered, polled = login(), poll(5, request=3)
    found = pass_on(watcher, entered, by_client=True)
    reply = answers.reply(request_of(entered), answers.logged_in(OWN, 21))
    found += pass_on(watcher, reply, by_client=False)
    found += pass_on(watcher, polled[:100], by_client=True)
    found += pass_on(watcher, polled[100:] + send(request=4), by_client=True)
    body = answers.polled(OWN, Batches(log.BATCHES[:1]))
    found += pass_on(watcher, answers.reply(request_of(polled), body), by_client=False)
    assert [each for each in found if each.value] == []
    shown = {each.clause for each in found}
    assert {f"{LAW}session", f"{LAW}checksums", "iggy.apache.message.checksum"} <= shown


def test_a_damaged_batch_and_a_wrong_session_deviate() -> None:
    watcher = IggyWatcher("tcp.1")
    pass_on(watcher, login(), by_client=True)
    reply = answers.reply(request_of(login()), answers.logged_in(OWN, 5))
    pass_on(watcher, reply, by_client=False)
    found = pass_on(watcher, poll(5), by_client=True)
    assert {each.clause for each in found if each.value} == {f"{LAW}session"}
    body = answers.polled(OWN, Batches(log.BATCHES[:1], "payload"))
    found = pass_on(watcher, answers.reply(request_of(poll(5)), body), by_client=False)
    assert {each.clause for each in found if each.value} == {"iggy.apache.message.checksum"}


def test_bytes_that_are_no_frame_end_the_judging_of_a_connection() -> None:
    watcher = ApacheWatcher("tcp.1")
    broken = login()[:48] + bytes(4)
    events = list(watcher.decode(0.0, broken + bytes(300), by_client=True))
    assert [type(each) for each in events] == [Malformed]
    assert list(watcher.decode(0.0, poll(), by_client=True)) == []
    watcher = ApacheWatcher("tcp.1")
    assert [type(each) for each in watcher.decode(0.0, bytes(300), by_client=False)] == [Undecoded]
