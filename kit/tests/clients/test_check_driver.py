"""`wireproof client --check-driver`: one sentence for each rule that a driver breaks."""

import sys
from pathlib import Path

import pytest

from wireproof.main import main

pytestmark = [pytest.mark.process]

TOY = Path(__file__).parents[1] / "support" / "toy_nsq_client.py"
RULES = (
    "greets first, and is opened",
    "answers an operation it does not know with unsupported",
    "answers close and ends with exit code 0",
    "produce publishes the message, and answers with what the user is told",
    "consume subscribes, writes an event for each message, and finishes it",
)
LIES = {
    "greets-late": (0, 'expected {"hello": "wireproof-driver", …} as the first line'),
    "knows-all": (1, 'expected {"id": 2, "unsupported": "wireproof-no-such-operation"}'),
    "ends-badly": (2, "it ended with exit code 3"),
    "publishes-nothing": (3, "it answered ok, but nothing was published to the node"),
    "tells-words": (3, "/partition: expected type 'integer', found '0'"),
    "tells-nothing": (4, "a message was delivered, and no event message was written"),
    "tells-numbers": (4, "/internal_id: expected type 'string', found 1"),
    "keeps-messages": (4, "the handler is to process the message, and no FIN was sent"),
}


def check(capsys: pytest.CaptureFixture[str], wrong: str = "") -> tuple[int, list[str]]:
    """Check the toy client as a driver; return the exit code and the lines that are printed."""
    code = main(["client", "--check-driver", f"{sys.executable} {TOY} {wrong}".strip()])
    printed = capsys.readouterr()
    assert printed.err == ""
    return code, printed.out.splitlines()


def test_a_driver_that_keeps_to_the_protocol_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(capsys) == (0, [f"ok   {rule}" for rule in RULES])


@pytest.mark.parametrize("wrong", LIES)
def test_a_driver_that_lies_is_told_in_one_sentence(
    wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    number, told = LIES[wrong]

    code, lines = check(capsys, wrong)

    assert code == 1
    (failed,) = [line for line in lines if not line.startswith("ok ")]
    assert failed.startswith(f"FAIL {RULES[number]}: ")
    assert told in failed


def test_a_command_that_cannot_be_started_is_no_driver(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["client", "--check-driver", "no-such-program-here"]) == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert "no-such-program-here" in line
