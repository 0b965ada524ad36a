"""The comparison with boofuzz ends as soon as no further fault can change what comes of it."""

import json
import socket
import sys
from pathlib import Path
from statistics import median

import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench"
sys.path.append(str(BENCH))
import bench_fuzz  # noqa: E402  # the bench is no package
import fuzz_find  # noqa: E402

from wireproof_kit.fuzz.campaign.target import open_fuzz_session, start_alone  # noqa: E402
from wireproof_kit.fuzz.driver import FuzzSessionOptions  # noqa: E402
from wireproof_kit.protocols import read_target  # noqa: E402

LATE, SOON = 50.0, 3.0
OVER_HTTP = ("GET /", "POST /", "PUT /", "DELETE /")


@pytest.mark.parametrize("faults", [1, 2, 5, 6])
def test_more_than_half_decide(faults: int) -> None:
    needed = faults // 2 + 1
    assert fuzz_find.decide_lateness(50.0, [LATE] * needed, faults) is True
    assert fuzz_find.decide_lateness(50.0, [LATE] * (needed - 1), faults) is None
    assert fuzz_find.decide_lateness(50.0, [SOON] * needed, faults) is False
    assert fuzz_find.decide_lateness(50.0, [SOON] * (needed - 1), faults) is None


@pytest.mark.parametrize("late", range(8))
def test_what_is_decided_is_what_all_would_have_come_to(late: int) -> None:
    theirs = [LATE] * late + [SOON] * (7 - late)
    decisions = [fuzz_find.decide_lateness(50.0, theirs[:count], 7) for count in range(8)]

    (decision,) = {each for each in decisions if each is not None}
    assert decision == (median(theirs) >= 50.0)


def test_half_on_either_side_decide_nothing_before_all_are_known() -> None:
    assert fuzz_find.decide_lateness(50.0, [LATE, SOON, LATE, SOON], 4) is None


@pytest.mark.process
def test_there_is_a_publish_on_every_way_in_that_shows_a_fault() -> None:
    assert {(each.protocol, each.interface) for each in bench_fuzz.faults()} == set(
        fuzz_find.PUBLISHES
    )


@pytest.mark.process
@pytest.mark.parametrize(
    "sought",
    [
        fuzz_find.Sought("nsq", "parser-size-low-bits"),
        fuzz_find.Sought("nsq", "parser-http-nul-halts"),
        fuzz_find.Sought("iggy", "parser-ones-lost"),
        fuzz_find.Sought("iggy", "parser-http-padding-zeros"),
    ],
)
def test_boofuzz_is_given_every_frame_of_the_way_in_and_a_publish_that_is_answered(
    sought: fuzz_find.Sought,
) -> None:
    running = start_alone(sought.protocol)
    try:
        fuzz_session = open_fuzz_session(read_target(running.url), FuzzSessionOptions("t"))
        task = json.loads(fuzz_find.task(fuzz_session, sought))
        address = fuzz_find.address(fuzz_session, sought)
        begins = bytes.fromhex(task["begins"])
        answers = (_answer(address, bytes.fromhex(each), begins) for each in task["publishes"])
        assert any(answer == begins for answer in answers)
        fuzz_session.close()
    finally:
        running.close()

    names = {frame["kind"] for frame in task["frames"]}
    assert fuzz_find.PUBLISHES[sought.protocol, sought.interface][0] in names
    assert all(name.startswith(OVER_HTTP) == (sought.interface == "http") for name in names)


def _answer(address: tuple[str, int], publish: bytes, begins: bytes) -> bytes:
    with socket.create_connection(address) as sock, sock.makefile("rb") as answers:
        sock.sendall(publish)
        return answers.read(len(begins))
