"""A run against a client: right ones pass, and each thing done wrong turns its own cases red."""

import sys
from pathlib import Path
from shlex import quote

import msgspec
import pytest

from wireproof_kit.clients.again import observe_again
from wireproof_kit.errors import TargetUnreachable, UsageFault
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.request import RunOptions, RunRequest
from wireproof_kit.runner.run import RunPlan
from wireproof_kit.runner.run_cases import RunRecords, run_cases

pytestmark = [pytest.mark.process, pytest.mark.long]

TOY = Path(__file__).parents[1] / "support" / "toy_nsq_client.py"
RIGHT = (
    "nsq/client-connection/handshake",
    "nsq/client-connection/heartbeat/consumer",
    "nsq/client-connection/identify",
    "nsq/client-consume/id",
    "nsq/client-lookup/access",
    "nsq/client-lookup/dead/refused",
    "nsq/client-lookup/merge",
    "nsq/client-publish/no-retry/E_BAD_MESSAGE",
    "nsq/client-publish/refresh/E_FAILED_ON_NOT_LEADER",
    "nsq/client-subscribe",
)
WRONG = {
    "deaf": ("nsq/client-connection/heartbeat/consumer", "silent"),
    "no-metainfo": ("nsq/client-lookup/access/producer", "access:w,no-metainfo"),
    "retries": ("nsq/client-publish/no-retry/E_BAD_MESSAGE", "again"),
    "gives-up": ("nsq/client-publish/refresh/E_FAILED_ON_NOT_LEADER", "gave-up"),
    "early-ready": ("nsq/client-subscribe/ready", "before-ok"),
    "keeps-quiet": ("nsq/client-subscribe/error/told/E_INVALID", "not-told"),
    "cuts-ids": ("nsq/client-consume/id/line-feed", "other"),
    "hot": ("nsq/client-lookup/dead/refused", "hot"),
    "trusting": ("nsq/client-connection/identify/error", "used"),
    "fragile": ("nsq/client-robust/frame/short-message", "ended:7"),
}


def judge(command: str, *selection: str, role: str | None = None) -> RunRecords:
    plan = RunPlan(
        url=f"nsq+client:{command}",
        keys=(("role", role),) if role else (),
        selection=selection,
        profile="observed",
    )
    request = RunRequest(plan=plan, engine=RunOptions(repeats=1, waiters=3))
    return run_cases(request, collect("nsq"), [], is_stopped=lambda: False)


def toy(wrong: str = "") -> str:
    return f"{sys.executable} {TOY} {wrong}".strip()


def test_a_right_client_passes_and_its_log_shows_the_same_again() -> None:
    records = judge(toy(), *RIGHT)

    seen = {record.case: (record.verdict, record.observation) for record in records.cases}
    others = {case: told for case, told in seen.items() if told[0] != "pass"}
    assert others == {
        "nsq/client-subscribe/command": ("unsupported", "unavailable"),
        # The toy never asks for a leader that has moved.
        "nsq/client-subscribe/moved/as-without-text": ("unsupported", "unsupported"),
    }
    again = tuple(observe_again(records.cases, collect("nsq")))
    assert [msgspec.structs.astuple(each) for each in again] == [
        msgspec.structs.astuple(each) for each in records.cases
    ]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_a_client_does_wrong_is_seen(wrong: str) -> None:
    case, expected = WRONG[wrong]

    records = {record.case: record for record in judge(toy(wrong), case).cases}

    # A busy machine leaves undecided what its slowness may have caused.
    verdict = "inconclusive" if records[case].control == "slow" else "fail"
    assert (records[case].observation, records[case].verdict) == (expected, verdict)


def test_what_a_driver_has_no_word_for_is_unsupported() -> None:
    lacking = (
        *(f"nsq/client-consume/handler/{word}" for word in ("again", "fails", "touches")),
        "nsq/client-order",
        "nsq/client-shard",
        "nsq/client-trace",
    )
    records = {record.case: record for record in judge(toy(), *lacking).cases}

    verdicts = {case: record.verdict for case, record in records.items()}
    assert {"nsq/client-consume/handler/touches/plain", "nsq/client-trace/grammar"} < set(verdicts)
    assert set(verdicts.values()) == {"unsupported"}


def test_a_client_that_gets_no_processor_is_undecided() -> None:
    """A round trip within the kit is prompt all the while: it is not the kit that starves."""
    case = "nsq/client-connection/heartbeat/consumer"

    records = {record.case: record for record in judge(toy("starved"), case).cases}

    assert (records[case].verdict, records[case].control) == ("inconclusive", "slow")


GREETING = """{"hello": "wireproof-driver", "versions": [1], "name": "toy", "operations": []}"""
UNABLE = """{"id": 1, "unsupported": "settings"}"""
ONE_SHOT = """
import os, socket, struct
host, port = os.environ["WIREPROOF_NSQD"].split(":")
with socket.create_connection((host, int(port))) as node:
    node.sendall(b"  V2")
    for number in range(10):
        line = f"PUB {os.environ['WIREPROOF_TOPIC']} 0\\n".encode()
        node.sendall(line + struct.pack(">i", 1) + b"%d" % number)
        node.recv(100)
"""


def test_a_producer_whose_messages_run_out_cannot_be_judged(tmp_path: Path) -> None:
    program = tmp_path / "one_shot.py"
    program.write_text(ONE_SHOT)

    with pytest.raises(TargetUnreachable, match="must publish until it is ended"):
        judge(f"{sys.executable} {program}", role="producer")


def test_a_role_that_is_not_asked_for_is_unsupported() -> None:
    records = judge(toy(), "nsq/client-connection/heartbeat", role="consumer")

    verdicts = {record.case: record.verdict for record in records.cases}
    assert verdicts["nsq/client-connection/heartbeat/consumer"] == "pass"
    assert verdicts["nsq/client-connection/heartbeat/producer"] == "unsupported"
    assert records.header.target.role == "client"
    assert records.footer.exit == 0


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "sh -c 'echo no config >&2; exit 3'",
            "exit code 3 before it connected; it wrote: no con",
        ),
        ("true", "exit code 0 before it connected"),
    ],
)
def test_a_client_that_ends_at_once_is_told_with_its_last_words(command: str, told: str) -> None:
    with pytest.raises(TargetUnreachable, match=told):
        judge(command)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("sleep 1000", "did not connect to the addresses"),
        (
            "sh -c 'echo; echo \"> start\"; sleep 1000'",
            'no greeting, "> start".*try `wireproof client --check-driver`',
        ),
        ("yes", 'wrote more than the kit keeps, and did not connect.*no greeting, "y"'),
        (
            "sh -c " + quote(f"echo {quote(GREETING)}; sleep 1000"),
            "greeted as a driver, did not answer open, .*try `wireproof client --check-driver`",
        ),
        (
            "sh -c " + quote(f"echo {quote(GREETING)}; read x; echo {quote(UNABLE)}; sleep 1000"),
            "does not support 'settings' of the request open, did not answer produce",
        ),
    ],
)
def test_a_client_that_never_connects_is_told(command: str, told: str) -> None:
    # `yes` ends its run itself, by what it writes; the others do nothing, however long.
    plan = RunPlan(url=f"nsq+client:{command}", timeout=60.0 if command == "yes" else 0.5)
    with pytest.raises(TargetUnreachable, match=told):
        run_cases(RunRequest(plan=plan), collect("nsq"), [], is_stopped=lambda: False)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("./no-such-client", "cannot be started"),
        ("client {topc}", "{topc} is unknown"),
        ("client 'open", "no command line"),
    ],
)
def test_a_command_that_cannot_be_started_is_the_users_fault(command: str, told: str) -> None:
    with pytest.raises(UsageFault, match=told):
        judge(command)


def test_the_toy_knows_every_way_of_being_wrong() -> None:
    text = TOY.read_text(encoding="utf-8")
    assert [wrong for wrong in WRONG if f'"{wrong}"' not in text] == []
