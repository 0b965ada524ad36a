"""Adapters whose answers are drawn: no answer crashes the kit, hangs it, or makes a run green.

The example adapter answers, over HTTP or on its standard output as far as the kit can tell; its
answers are changed on the way. Silence takes no time here.
"""

import io
import json
import runpy
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from waits import Stopwatch

from wireproof_kit.drivers import driver
from wireproof_kit.drivers.child import Sink, Stream
from wireproof_kit.drivers.driver import Driver
from wireproof_kit.drivers.output import Kept
from wireproof_kit.errors import TargetSilent, TargetUnreachable, UsageFault
from wireproof_kit.oms.adapter import link
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.engine import Engine
from wireproof_kit.runner.request import RunOptions
from wireproof_kit.runner.run import Run, RunPlan
from wireproof_kit.wire.http import TransferResult, make_failed
from wireproof_spec.record import CaseRecord

pytestmark = pytest.mark.long

EXAMPLE = Path(__file__).parents[3] / "examples" / "adapters" / "in_memory.py"
CASES = (
    "oms/store/timestamp",
    "oms/store/timestamp-unit",
    "oms/message/message-id-assigned/set",
    "oms/message/born-timestamp-assigned/one",
    "oms/message/destination-received",
    "oms/message/body-restored/every-byte-none",
    "oms/message/qos-default/told",
    "oms/round-trip/trace-id/long",
    "oms/round-trip/trace-id-again",
    "oms/round-trip/claimed/store-timestamp",
    "oms/delivery-count/grows",
    "oms/delivery-count/base",
)
DOCUMENT_CASES = ("oms/message/header", "oms/extension-header/number", "oms/document/printable")
MEETING = 16
"""The requests with which a run begins, up to the message that is judged as a document."""
ENDS_WITHIN_S = 60.0
"""A run of these cases takes 3 s when nothing arrives; the machine may be busy."""

Answer = dict[str, object]
Lie = Callable[[int, str, Answer], TransferResult]


@dataclass
class LyingPool:
    """What stands for the connections to an adapter: `lie` makes the answer to each request."""

    lie: Lie
    asked: int = 0

    def __post_init__(self) -> None:
        with patch("sys.stdin", io.StringIO("")), redirect_stdout(io.StringIO()) as greeting:
            self._example = runpy.run_path(str(EXAMPLE))
        self._greeting = json.loads(greeting.getvalue())

    def transfer(self, data: bytes, *, seconds: float, method: str) -> TransferResult:
        request = json.loads(data.partition(b"\r\n\r\n")[2])
        self.asked += 1
        return self.lie(self.asked, request["op"], self.answer(**request))

    def close(self) -> None:
        pass

    @property
    def greeting(self) -> Answer:
        return dict(self._greeting)

    def answer(self, id: int, op: str, **members: object) -> Answer:
        operations = {"hello": lambda: self._greeting, **self._example["OPERATIONS"]}
        if op not in operations:
            return {"id": id, "unsupported": op}
        try:
            return {"id": id, "ok": operations[op](**members) or {}}
        except (KeyError, TypeError) as error:
            return {"id": id, "error": {"message": repr(error)}}


@dataclass
class LyingChild:
    """What stands for the process of an adapter: `lie` makes the bytes for each answer."""

    honest: LyingPool
    lie: Callable[[int, bytes], bytes]
    sink: Sink
    command: str = "liar"
    written: int = 0
    kept: Mapping[Stream, Kept] = field(
        default_factory=lambda: {"stdout": Kept(), "stderr": Kept()}
    )

    def write(self, data: bytes) -> None:
        self.say(self.honest.answer(**json.loads(data)))

    def say(self, answer: Answer) -> None:
        self.written += 1
        told = self.lie(self.written, json.dumps(answer).encode() + b"\n")
        if told:
            self.sink("stdout", told)
        if told.endswith(ENDING):
            self.sink("stdout", b"")

    def exit_code(self) -> int | None:
        return None

    def last_words(self) -> str:
        return "it still runs"

    def wait(self, within: float) -> None:
        pass

    def end(self, *, within: float = 0) -> None:
        pass


ENDING = b"<end>"
"""Behind what a process writes last."""


def response(answer: object) -> TransferResult:
    return TransferResult(200, (), json.dumps(answer).encode())


def judge_liar(lie: Lie, *ids: str, patience_s: float = 0.2) -> list[CaseRecord]:
    """Judge the adapter; a run that cannot begin raises what ends it with exit code 2."""
    pool = LyingPool(lie)
    # The server lives on whatever it answers: a dead one would excuse the cases after it.
    with patch.multiple(link, ConnectionPool=lambda _: pool, accepts=lambda _: True):
        return judge("oms+http://127.0.0.1:1", ids, patience_s)


def judge(url: str, ids: Sequence[str], patience_s: float) -> list[CaseRecord]:
    run = Run.open(RunPlan(url=url, timeout=patience_s))
    engine = Engine(run.session, run.bench, RunOptions(repeats=2))
    try:
        return [engine.run(each) for each in collect("oms") if each.id in ids]
    finally:
        engine.close()
        run.close()


def judge_lines(
    lie: Callable[[int, bytes], bytes], *ids: str, patience_s: float = 0.2
) -> list[CaseRecord]:
    """Judge the adapter as a process; an answer that is not there is not waited for."""
    honest = LyingPool(lambda number, op, answer: response(answer))
    usual = Driver.answer

    def start(words: Sequence[str], *, environment: object, sink: Sink) -> LyingChild:
        child = LyingChild(honest, lie, sink)
        child.say(honest.greeting)
        return child

    def answer(self: Driver, number: int, op: str, *, within: float) -> object:
        return usual(self, number, op, within=min(within, patience_s))

    with patch.object(driver, "start", start), patch.object(Driver, "answer", answer):
        return judge("oms+exec:liar", ids, patience_s)


def test_an_honest_adapter_passes() -> None:
    records = judge_liar(lambda number, op, answer: response(answer), *CASES)
    assert [each.case for each in records if each.verdict not in ("pass", "reading")] == []
    assert len(records) == len(CASES)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=6), below, max_size=3)
    ),
    max_leaves=6,
)
WHOLE = (
    st.sampled_from(
        [
            *(make_failed(how) for how in ("silence", "closed", "nonsense", "unreachable")),
            TransferResult(500, (), b"{}"),
            TransferResult(200, (), b""),
            TransferResult(200, (), b"[" * 100_000),
            TransferResult(200, (), b'{"id": 1, "id": 2, "ok": {}}'),
            TransferResult(200, (), b'{"event": "x"}'),
        ]
    )
    | st.binary(max_size=30).map(lambda body: TransferResult(200, (), body))
    | JSON.map(response)
)


@st.composite
def changes(draw: st.DrawFn) -> Callable[[object], object]:
    """Draw a function that replaces or drops something at a drawn depth of a JSON value."""
    turns = draw(st.lists(st.integers(0, 9), min_size=1, max_size=7))
    new, drops = draw(JSON), draw(st.booleans())

    def change(value: object, depth: int = 0) -> object:
        if depth == len(turns) or not isinstance(value, dict | list) or not value:
            return new
        names = list(value) if isinstance(value, dict) else list(range(len(value)))
        name = names[turns[depth] % len(names)]
        copy = dict(value) if isinstance(value, dict) else dict(enumerate(value))
        if drops and depth == len(turns) - 1:
            del copy[name]
        else:
            copy[name] = change(copy[name], depth + 1)
        return copy if isinstance(value, dict) else list(copy.values())

    return change


@given(
    first=st.integers(1, 60),
    lasts=st.booleans(),
    op=st.sampled_from(["", "send", "receive", "ack", "nack", "clock", "hello"]),
    kind=WHOLE | changes(),
)
@settings(max_examples=60, deadline=None)
@pytest.mark.slow
def test_no_answer_crashes_or_hangs_the_kit(
    first: int, *, lasts: bool, op: str, kind: TransferResult | Callable[[object], object]
) -> None:
    lied = 0

    def lie(number: int, asked: str, answer: Answer) -> TransferResult:
        nonlocal lied
        if number < first or (op and asked != op) or (lied and not lasts):
            return response(answer)
        lied += 1
        return kind if isinstance(kind, TransferResult) else response(kind(answer))

    watch = Stopwatch()
    try:
        records = judge_liar(lie, *CASES, *DOCUMENT_CASES, patience_s=0.05)
    except (TargetUnreachable, TargetSilent, UsageFault):
        records = []  # exit code 2, with the exception's sentence
    assert {each.case: each.note for each in records if each.verdict == "error"} == {}
    assert watch.seconds() < ENDS_WITHIN_S


EMPTY: Mapping[str, Callable[[str, Answer], TransferResult]] = {
    "ok-of-nothing": lambda op, answer: response({**answer, "ok": {}}),
    "no-messages": lambda op, answer: response(
        {**answer, "ok": {"messages": []}} if op == "receive" else answer
    ),
    "error": lambda op, answer: response({"id": answer["id"], "error": {"message": "no"}}),
    "unsupported": lambda op, answer: response({"id": answer["id"], "unsupported": op}),
    "silence": lambda op, answer: make_failed("silence"),
    "closed": lambda op, answer: make_failed("closed"),
    "other-id": lambda op, answer: response({**answer, "id": 10**6}),
}


@pytest.mark.slow
@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
def test_an_adapter_that_only_answers_passes_nothing(
    empty: Callable[[str, Answer], TransferResult],
) -> None:
    def lie(number: int, op: str, answer: Answer) -> TransferResult:
        return response(answer) if number <= MEETING else empty(op, answer)

    records = judge_liar(lie, *CASES)
    assert len(records) == len(CASES)
    passed = [each.case for each in records if each.verdict in ("pass", "reading")]
    assert passed == []


def test_an_honest_adapter_passes_as_a_process() -> None:
    records = judge_lines(lambda number, line: line, *CASES)
    assert [each.case for each in records if each.verdict not in ("pass", "reading")] == []
    assert len(records) == len(CASES)


LINES: Mapping[str, Callable[[bytes], bytes]] = {
    "silence": lambda line: b"",
    "end": lambda line: ENDING,
    "end-inside": lambda line: line[: len(line) // 2] + ENDING,
    "half": lambda line: line[: len(line) // 2],
    "endless": lambda line: b"x" * (5 << 20),
    "twice": lambda line: line * 2,
    "together": lambda line: line[:-1] * 2 + b"\n",
    "no-utf8": lambda line: b'{"id":1,"ok":{"a":"\xff\xfe"}}\n',
    "blank": lambda line: b"\n",
    "control": lambda line: b"\x00\x1b[2J\n",
    "deep": lambda line: b"[" * 100_000 + b"\n",
    "log": lambda line: b"INFO started\n" + line,
    "events": lambda line: b'{"event":"x"}\n' * 10_100 + line,
    "greeting": lambda line: line + b'{"hello":"wireproof-driver","versions":[1],"name":"x"}\n',
    "version": lambda line: line.replace(b'"versions": [1]', b'"versions": [2]'),
    "huge-id": lambda line: line.replace(b'"id": ', b'"id": 1' + b"0" * 400),
    "huge-number": lambda line: line.replace(b"1", b"1e999"),
    "fraction": lambda line: line.replace(b'"id": ', b'"id": 0.'),
    "unknown-field": lambda line: line[:-2] + b', "wp": [null]}\n',
    "both": lambda line: line[:-2] + b', "error": {"message": "no"}}\n',
}
"""What a process may write instead of a line."""


LineChange = Callable[[bytes], bytes]


def write_instead(new: bytes) -> LineChange:
    return lambda line: new


def change_line(change: Callable[[object], object]) -> LineChange:
    return lambda line: json.dumps(change(json.loads(line))).encode() + b"\n"


@given(
    first=st.integers(1, 60),
    lasts=st.booleans(),
    change=st.sampled_from([*LINES.values()])
    | st.binary(max_size=30).map(write_instead)
    | changes().map(change_line),
)
@settings(max_examples=60, deadline=None)
@pytest.mark.slow
def test_no_line_crashes_or_hangs_the_kit(
    first: int, *, lasts: bool, change: Callable[[bytes], bytes]
) -> None:
    lied = 0

    def lie(number: int, line: bytes) -> bytes:
        nonlocal lied
        if number < first or (lied and not lasts):
            return line
        lied += 1
        return change(line)

    watch = Stopwatch()
    try:
        records = judge_lines(lie, *CASES, *DOCUMENT_CASES, patience_s=0.05)
    except (TargetUnreachable, TargetSilent, UsageFault):
        records = []  # exit code 2, with the exception's sentence
    assert {each.case: each.note for each in records if each.verdict == "error"} == {}
    assert watch.seconds() < ENDS_WITHIN_S


@pytest.mark.slow
@pytest.mark.parametrize("name", ["silence", "end", "end-inside", "half", "blank", "deep", "log"])
def test_a_process_that_writes_no_answers_passes_nothing(name: str) -> None:
    records = judge_lines(
        lambda number, line: line if number <= MEETING else LINES[name](line), *CASES
    )
    assert len(records) == len(CASES)
    assert [each.case for each in records if each.verdict in ("pass", "reading")] == []


@pytest.mark.parametrize(
    ("received", "more"), [(b"", "$"), (b"garbage", "; 7 bytes came that complete none$")]
)
def test_a_greeting_that_never_comes_is_told_from_garbage(
    received: bytes, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = LyingPool(lambda asked, op, answer: make_failed("silence", received))
    monkeypatch.setattr(link, "ConnectionPool", lambda address: pool)
    with pytest.raises(TargetSilent, match=f"^x: no answer to hello within .* s{more}"):
        link.HttpLink(("127.0.0.1", 1), name="x")
