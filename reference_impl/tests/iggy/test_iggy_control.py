"""The control: every state and damaged payloads can be met."""

from pathlib import Path

import pytest
from iggy_bench import Bench, polling, sending, sent

from wireproof_spec.decoding import decode
from wireproof_spec.iggy import commands, statuses
from wireproof_spec.iggy.bodies.poll_messages import POLLED_MESSAGES
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.states import STATES

WHERE = "/control/message?stream=s&topic=1&partition=1&offset=0"


def filled(data: Path | None = None) -> Bench:
    bench = Bench(data=data)
    bench.with_topic().ok(commands.SEND_MESSAGES, sending(sent(b"payload"), sent(b"other")))
    return bench


def first(bench: Bench) -> Message:
    body = bench.connect().ok(commands.POLL_MESSAGES, polling(count=1))
    return decode(POLLED_MESSAGES, body).messages[0]


@pytest.mark.parametrize(("code", "name"), STATES.items())
def test_every_state_is_delivered(code: int, name: str, tmp_path: Path) -> None:
    bench = filled(tmp_path)

    assert bench.control("POST", f"{WHERE}&state={name}").status == 200

    assert first(bench).state == code
    assert first(Bench(data=tmp_path)).state == code
    told = bench.http("GET", "/streams/1/topics/1/messages?count=1").json
    assert isinstance(told, list)
    assert told[0]["state"] == name


def test_an_unknown_state_is_an_error() -> None:
    bench = filled()
    told = bench.control("POST", f"{WHERE}&state=2").json
    assert isinstance(told, dict)
    assert (told["state"], told["state_code"]) == (2, 2)

    client = bench.connect()
    assert client.status(commands.POLL_MESSAGES, polling()) == statuses.INVALID_COMMAND
    assert bench.http("GET", "/streams/1/topics/1/messages").status == 400
    body = client.ok(commands.POLL_MESSAGES, polling(value=1))
    assert [each.payload for each in decode(POLLED_MESSAGES, body).messages] == [b"other"]


def test_a_bit_of_the_payload_is_turned_over(tmp_path: Path) -> None:
    bench = filled(tmp_path)

    bench.control("POST", f"{WHERE}&flip=9")

    for found in (first(bench), first(Bench(data=tmp_path))):
        assert found.payload == b"pcyload"
        assert found.checksum == payload_checksum(b"payload")
    bench.control("POST", f"{WHERE}&flip=9")
    assert first(bench).payload == b"payload"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (WHERE, "'state' or 'flip'"),
        (f"{WHERE}&state=gone", "'gone'"),
        (f"{WHERE}&state=256", "'256'"),
        (f"{WHERE}&flip=56", "no bit 56"),
        (f"{WHERE}&flip=x", "'x'"),
        ("/control/message?stream=1&topic=1&partition=1&offset=2&flip=0", "there are 2"),
        ("/control/message?stream=1&topic=1&partition=2&offset=0&flip=0", "Partition with ID: 2"),
        ("/control/message?stream=9&topic=1&partition=1&offset=0&flip=0", "Stream with ID: 9"),
        ("/control/message?topic=1&partition=1&offset=0&flip=0", "'stream'"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(path: str, said: str) -> None:
    answer = filled().control("POST", path)
    assert answer.status == 400
    assert said in answer.body.decode()
