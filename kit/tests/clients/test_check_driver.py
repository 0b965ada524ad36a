"""`wireproof client --check-driver`: one sentence for each rule that a driver breaks."""

import json
import sys
from pathlib import Path

import pytest

from wireproof.main import main
from wireproof_kit.nsq.clients.check import check_client_driver

pytestmark = [pytest.mark.process]

TOY = Path(__file__).parents[1] / "support" / "toy_nsq_client.py"
RULES = (
    "greets first, and is opened",
    "answers an operation it does not know with unsupported",
    "answers a request that has a member it does not know with unsupported",
    "answers close and ends with exit code 0",
    "produce publishes the message, and answers with what the user is told",
    "consume subscribes, writes an event for each message, and finishes it",
)
LIES = {
    "greets-late": (0, 'expected {"hello": "wireproof-driver", …} as the first line'),
    "knows-all": (
        1,
        'expected {"id": 2, "unsupported": "wireproof-no-such-operation"}; found {"id": 2, "ok": ',
    ),
    "takes-all": (
        2,
        'expected {"id": 3, "unsupported": "wireproof-no-such-member"}; found {"id": 3, "ok": ',
    ),
    "ends-badly": (3, "it ended with exit code 3"),
    "closes-twice": (3, "behind the answer to close, it answers request "),
    "publishes-nothing": (4, "it answered ok, but nothing was published to the node"),
    "tells-words": (4, "/partition: expected type 'integer', found '0'"),
    "tells-nothing": (5, "a message was delivered, and no event message was written"),
    "tells-numbers": (5, "/internal_id: expected type 'string', found 1"),
    "keeps-messages": (5, "the handler is to process the message, and no FIN was sent"),
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


GREETING = '{"hello": "wireproof-driver", "versions": [1], "name": "toy", "operations": []}'
CONSUMER = """
import json, sys
print(%r, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    known = asked["op"] in ("open", "close")
    told = {"ok": {}} if known else {"unsupported": asked["op"]}
    print(json.dumps({"id": asked["id"], **told}), flush=True)
"""


def findings_of(program: Path, greeting: str) -> list[str]:
    program.write_text(CONSUMER % greeting)
    found = check_client_driver(f"{sys.executable} {program}")
    return [f"{each.rule}: {each.wrong or each.lacks}" for each in found]


def test_a_driver_may_lack_one_operation_of_its_client_but_not_all(tmp_path: Path) -> None:
    *_, produce, consume, none = findings_of(tmp_path / "driver.py", GREETING)

    assert produce == f"{RULES[4]}: produce is unsupported"
    assert consume == f"{RULES[5]}: consume is unsupported"
    assert none.endswith("client: produce is unsupported, consume is unsupported")


def test_a_greeting_without_versions_is_told_to_lack_them(tmp_path: Path) -> None:
    greeting = GREETING.replace('"versions": [1], ', "")

    (told,) = findings_of(tmp_path / "driver.py", greeting)

    assert "hello: expected 'versions', found " in told


@pytest.mark.parametrize(
    ("beside", "named"),
    [(("--exec", "true"), "--exec"), (("--html", "x.html"), "--html"), (("nsq/client",), "ids")],
)
def test_what_a_check_would_ignore_is_refused(
    beside: tuple[str, ...], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["client", "--check-driver", "true", *beside]) == 2

    assert f"leave out {named}" in capsys.readouterr().err.replace("the ids", "ids")


def test_the_findings_of_a_check_are_events(capsys: pytest.CaptureFixture[str]) -> None:
    command = f"{sys.executable} {TOY} ends-badly"
    code = main(["client", "--check-driver", command, "--json"])

    *rules, verdict = map(json.loads, capsys.readouterr().out.splitlines())
    assert [each["rule"] for each in rules if each["wrong"]] == [RULES[3]]
    assert verdict == {"event": "verdict", "exit": code} == {"event": "verdict", "exit": 1}
    assert main(["client", "--check-driver", command, "-q"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("FAIL ")


def test_a_command_that_cannot_be_started_is_no_driver(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["client", "--check-driver", "no-such-program-here"]) == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert "no-such-program-here" in line


def test_an_error_without_a_text_is_told_as_one(tmp_path: Path) -> None:
    program = tmp_path / "driver.py"
    program.write_text(
        CONSUMER.replace('{"ok": {}} if known', '{"error": {"message": " "}} if known') % GREETING
    )

    (told,) = check_client_driver(f"{sys.executable} {program}")

    assert told.wrong.endswith("cannot begin: an error without a text")
