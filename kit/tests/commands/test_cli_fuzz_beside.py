"""The scripts of findings that show on other connections than those of their cases."""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from finding_scripts import NOBODY, address, find, finding_of, header, run_script, write_script
from secured_broker import SECRET, VARIABLE, Papers, guarded, served

from wireproof_kit.fuzz.campaign.target import start_alone
from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.iggy.wire import requests
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage

pytestmark = [pytest.mark.process, pytest.mark.slow]


def end_mark(names: Mapping[str, str]) -> Case:
    """Publish a body that begins with four bytes of 0xff."""
    body = b"\xff" * 4 + b"end"
    data = f"PUB {names['extended']} 0\n".encode() + len(body).to_bytes(4) + body
    return Case(0, "identified", "PUB", "body", "all ones", (Step(data),), delimited=True)


def bad_channel(names: Mapping[str, str]) -> Case:
    """Subscribe to a channel with an invalid name."""
    data = f"SUB {names['extended']} no!channel 0\n".encode()
    return Case(0, "identified", "SUB", "channel", "text", (Step(data),), delimited=True)


def ones(names: Mapping[str, str]) -> Case:
    """Send a message of ones."""
    stream, topic = (numeric(int(names[each])) for each in ("stream_id", "topic_id"))
    message = SentMessage(0, (), b"\xff" * 9)
    sent = SendMessages(stream, topic, partition_id(1), (message,))
    data = requests.request(commands.SEND_MESSAGES, sent).data
    return Case(0, "greeted", "send_messages", "payload", "ones", (Step(data),), delimited=True)


def poll_nothing(names: Mapping[str, str]) -> Case:
    """Poll for 0 messages twice: first the fault closes a connection that set the streams up."""
    stream, topic = (numeric(int(names[each])) for each in ("stream_id", "topic_id"))
    poll = PollMessages(Consumer(1, 1), stream, topic, 1, 1, 0, 0, 0)
    data = requests.request(commands.POLL_MESSAGES, poll).data
    steps = (Step(data), Step(data))
    return Case(0, "greeted", "poll_messages", "count", "0", steps, delimited=True)


def twins(names: Mapping[str, str]) -> Case:
    """Publish two equal messages at once, on a connection that identified nothing."""
    batch = (2).to_bytes(4) + ((4).to_bytes(4) + b"twin") * 2
    data = f"MPUB {names['extended']} 0\n".encode() + len(batch).to_bytes(4) + batch
    return Case(0, "magic-sent", "MPUB", "messages[]", "doubled", (Step(data),), delimited=True)


@pytest.mark.parametrize(
    ("protocol", "fault", "violated", "make"),
    [
        ("nsq", "parser-body-end-mark-lost", "delivery", end_mark),
        ("nsq", "parser-batch-twins-lost", "delivery", twins),
        ("nsq", "parser-bad-channel-closes-another", "neighbour", bad_channel),
        ("iggy", "parser-ones-lost", "delivery", ones),
        ("iggy", "parser-poll-nothing-closes-another", "neighbour", poll_nothing),
    ],
)
def test_a_script_plays_the_clients_that_are_disturbed(
    protocol: str,
    fault: str,
    violated: str,
    make: Callable[[Mapping[str, str]], Case],
    tmp_path: Path,
) -> None:
    with closing(start_alone(protocol, ("--fault", fault))) as faulty:
        script = write_script(tmp_path, find(faulty.url, violated, make), header(faulty.url))
        again = run_script(script)  # its topics and streams are those of the campaign
    with closing(start_alone(protocol, ("--fault", fault))) as fresh:
        of_the_faulty = run_script(script, address(fresh.url))
    with closing(start_alone(protocol)) as right:
        of_the_right = run_script(script, address(right.url))

    assert again.returncode == 0, again.stdout + again.stderr
    assert of_the_faulty.returncode == 0, of_the_faulty.stdout + of_the_faulty.stderr
    assert of_the_right.returncode == 1, of_the_right.stdout + of_the_right.stderr
    assert run_script(script, NOBODY).returncode == 2


@pytest.mark.parametrize("fault", ["order-put-back-overtaken", "order-put-back-lost"])
def test_the_clients_return_messages_that_must_come_again_in_order(
    fault: str, tmp_path: Path
) -> None:
    finding = finding_of([bad_channel({"extended": "wp_f1"})], "neighbour")
    with closing(start_alone("nsq", ("--fault", fault))) as faulty:
        script = write_script(tmp_path, finding, header(faulty.url))
        of_the_faulty = run_script(script)
    with closing(start_alone("nsq")) as right:
        of_the_right = run_script(script, address(right.url))

    assert of_the_faulty.returncode == 0, of_the_faulty.stdout + of_the_faulty.stderr
    assert of_the_right.returncode == 1, of_the_right.stdout + of_the_right.stderr


def test_the_clients_log_in_where_the_target_demands_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)
    papers = Papers(tmp_path)
    keys = (("tls", "true"), ("cacert", str(papers.authority)), ("auth_env", VARIABLE))
    login = ("--cacert", str(papers.authority), "--auth-env", VARIABLE)
    with served(*guarded(papers), "--fault", "parser-body-end-mark-lost") as url:
        finding = find(url, "delivery", end_mark, keys)
        script = write_script(tmp_path, finding, header(url, *(key for key, _ in keys)))
        of_the_faulty = run_script(script, *login)
    with served(*guarded(papers)) as url:
        of_the_right = run_script(script, address(url), *login)

    assert of_the_faulty.returncode == 0, of_the_faulty.stdout + of_the_faulty.stderr
    assert of_the_right.returncode == 1, of_the_right.stdout + of_the_right.stderr
