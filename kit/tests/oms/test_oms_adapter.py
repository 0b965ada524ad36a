"""Adapters that work and adapters that do not: neither hangs, crashes or greens the kit."""

import sys
from pathlib import Path

import pytest
from cli_process import wireproof

from wireproof.main import main
from wireproof_kit.oms.adapter import link

EXAMPLE = Path(__file__).parents[3] / "examples" / "adapters" / "in_memory.py"
pytestmark = [pytest.mark.process, pytest.mark.long]

ANSWER = "def answer(id, op, **members):\n"
BROKEN = {
    "exits": ("if op == 'send': import os; os._exit(3)", "it ended with exit code 3"),
    "stderr": (
        "if op == 'send': import os; print('no broker', file=sys.stderr, flush=True); os._exit(1)",
        "it wrote: no broker",
    ),
    "garbage": ("if op == 'send': print('{', flush=True)", "no JSON"),
    "types": ("if op == 'receive': return write({'id': id, 'ok': {'messages': 1}})", "/messages"),
    "other-id": ("id += op == 'send'", "which is not open"),
    "floods": (
        "if op == 'send': [write({'event': 'x'}) for _ in range(10100)]",
        "more than 10000 events",
    ),
    "partial": (
        "if op == 'send': import os; os.write(1, b'{\"id\": 4, \"o'); os._exit(0)",
        "closed its standard output",
    ),
    "endless": (
        "if op == 'send': import os; [os.write(1, b'x' * 65536) for _ in range(80)]",
        "bytes in a line",
    ),
    "twice": (
        "if op == 'create_destination': write({'id': id, 'ok': {}})",
        "which is not open",
    ),
    "no-utf8": (
        'if op == \'send\': import os; os.write(1, b\'{"id": 4, "ok": "\\xff"}\\n\')',
        "invalid utf8",
    ),
    "unknown": (
        "if op not in OPERATIONS: return write({'id': id, 'ok': {}})",
        'expected the answer "unsupported"',
    ),
}


def changed(folder: Path, line: str, *, counting: int = 0) -> str:
    """Return the command of the example with a line before each answer, after so many of them."""
    text = EXAMPLE.read_text("utf-8")
    assert text.count(ANSWER) == 1
    head = f"    seen.append(op)\n    if len(seen) > {counting}:\n        "
    text = text.replace(ANSWER, f"seen = []\n\n\n{ANSWER}{head}{line}\n")
    program = folder / "adapter.py"
    program.write_text(text, "utf-8")
    return f"{sys.executable} {program}"


def test_the_example_is_judged_and_conforms() -> None:
    done = wireproof(
        "run", "-v", f"oms+exec:{sys.executable} {EXAMPLE}", "oms/store", "oms/message"
    )
    assert done.code == 0, done.out + done.err
    assert "oms/store/timestamp-unit" in done.out
    assert "needs the attribute storeHost" in done.out


def test_the_example_keeps_every_rule_of_the_protocol() -> None:
    done = wireproof("adapter", "check", f"{sys.executable} {EXAMPLE}")
    assert done.code == 0, done.out
    assert len(done.out.splitlines()) == 10


@pytest.mark.parametrize(("line", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_adapter_is_refused_in_one_sentence(
    tmp_path: Path, line: str, words: str
) -> None:
    command = changed(tmp_path, line)
    assert words in wireproof("run", f"oms+exec:{command}").refused()
    done = wireproof("adapter", "check", command)
    assert done.code == 1
    assert any(row.startswith("FAIL") for row in done.out.splitlines())


def test_an_adapter_that_ends_in_the_middle_of_a_run_is_not_green(tmp_path: Path) -> None:
    command = changed(tmp_path, "import os; os._exit(1)", counting=40)
    done = wireproof("run", f"oms+exec:{command}", "oms/round-trip", "oms/store")
    assert done.code == 1, done.out + done.err
    assert "Traceback" not in done.out + done.err


def test_a_claimed_attribute_that_is_dropped_fails(tmp_path: Path) -> None:
    line = "members.get('message', {'message': {'extensionHeader': {}}})['message']"
    command = changed(tmp_path, f"{line}['extensionHeader'].pop('traceId', None)")
    done = wireproof("run", f"oms+exec:{command}", "oms/round-trip")
    assert done.code == 1, done.out + done.err
    assert "FAIL" in done.out
    assert "oms/round-trip/trace-id" in done.out


def test_an_adapter_that_stops_answering_is_not_green(tmp_path: Path) -> None:
    command = changed(tmp_path, "return threading.Event().wait()", counting=40)
    done = wireproof("run", f"oms+exec:{command}", "oms/round-trip/trace-id", "oms/store/host")
    assert done.code == 3, done.out + done.err
    assert "no answer to" in done.out
    assert "Traceback" not in done.out + done.err


def test_an_adapter_that_never_greets_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command waits half a minute for a greeting, so the time-out is another one here."""
    monkeypatch.setattr(link, "START_WITHIN_S", 0.5)
    program = tmp_path / "silent.py"
    program.write_text("import sys; sys.stdin.read()", "utf-8")
    assert main(["run", f"oms+exec:{sys.executable} {program}"]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "no greeting within 0.5 s" in told


def test_a_system_that_refuses_a_priority_is_judged_and_fails(tmp_path: Path) -> None:
    line = (
        "if op == 'send' and members['message']['message'].get('extensionHeader', {})"
        ".get('priority') == 7: return write({'id': id, 'error': {'message': 'not 7'}})"
    )
    command = changed(tmp_path, line)
    program = tmp_path / "adapter.py"
    program.write_text(program.read_text("utf-8").replace('"nack"]', '"nack", "priority"]'))
    done = wireproof("run", f"oms+exec:{command}", "oms/priority/range", "oms/message/header")
    assert done.code == 1, done.out + done.err
    failed = done.out.count("FAIL oms/priority/range/7")  # once more for the second group
    assert failed == done.out.count("FAIL oms/") == 2


@pytest.mark.parametrize(("reading", "code"), [("any", 0), ("published", 1)])
def test_a_system_that_takes_expire_time_for_a_duration_follows_a_reading(
    tmp_path: Path, reading: str, code: int
) -> None:
    reference = f"{sys.executable} -m wireproof serve oms --stdio --variant expires-from-birth"
    done = wireproof(
        *("run", f"oms+exec:{reference}", "oms/expire", "--reading", reading), cwd=tmp_path
    )
    assert done.code == code, done.out + done.err


REFUSING_SEND = (
    "if op == 'send' and {}: return write({{'id': id, 'error': {{'message': 'refused'}}}})"
)


def test_a_system_that_refuses_an_empty_extension_header_fails_that_clause_alone(
    tmp_path: Path,
) -> None:
    is_empty = "members['message']['message'].get('extensionHeader') == {}"
    command = changed(tmp_path, REFUSING_SEND.format(is_empty))
    groups = ("oms/extension-header", "oms/store", "oms/round-trip")
    done = wireproof("run", f"oms+exec:{command}", *groups)
    assert done.code == 1, done.out + done.err
    assert "FAIL oms/extension-header/subset/several/none" in done.out
    assert done.out.count("FAIL oms/") == 1


def test_a_system_that_refuses_every_message_cannot_be_judged(tmp_path: Path) -> None:
    command = changed(tmp_path, REFUSING_SEND.format("True"))
    told = wireproof("run", f"oms+exec:{command}").refused()
    assert "refuses the first message: error refused" in told
