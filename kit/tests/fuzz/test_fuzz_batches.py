"""Which cases a worker sends, in which order: the same for ever, for the same seed."""

import hashlib
from collections.abc import Iterator

import pytest
from hypothesis import strategies as st

from wireproof_kit.fuzz.campaign.batches import BATCH, PIECE, QUIET, WATCHED, Batches
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.case import Case, Field, Frame, Step
from wireproof_kit.fuzz.driver import AnswerReader, Choice, Expectation, Sentinel
from wireproof_kit.fuzz.generate.conversations import CONVERSATION
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind, always
from wireproof_kit.fuzz.generate.traps.text_traps import instead
from wireproof_kit.fuzz.send.batch_order import Sorter

PUT = Frame(
    "PUT",
    b'PUT a\n\0\0\0\x0f\0\x09{"k":"v"}body',
    (
        Field("name", 0, 3, "fixed"),
        Field("blank", 3, 4, "line"),
        Field("word", 4, 5, "text"),
        Field("end", 5, 6, "line"),
        Field("size", 6, 10, "length", (10, 25), "big"),
        Field("header_length", 10, 12, "length", (12, 21), "big", ("size",)),
        Field("header", 12, 21, "json", measured_by=("size", "header_length")),
        Field("body", 21, 25, "body", measured_by=("size",)),
    ),
)
ASK = Frame("ASK", b"ASK 7\n", (Field("line", 0, 4, "fixed"), Field("number", 4, 6, "number")))
GRAMMAR = Grammar(
    kinds=(
        Kind("PUT", "tcp", st.just(PUT), ("open", "named"), always),
        Kind("ASK", "tcp", st.just(ASK), ("named",)),
    ),
    states={"tcp": ("open", "named")},
    entry={"open": (), "named": (Step(b"I AM\n"),)},
    talking="tcp",
    is_delimited=lambda kind, data: data.endswith(b"\n") or data == PUT.data,
    is_hazardous=lambda kind, data: b"\0" in data[:6],
    moves=lambda state, frame: "named" if frame.kind == "PUT" else None,
    limits={"size": (100, 101)},
    traps={"body": {"like a question": instead(ASK.data)}},
)
"""Its frames are always the same, whatever version of Hypothesis draws them."""
EVER = "8f159ec1253c4eddb0fe736cc97d99050ad2c76ef876ff2bc1772792a905c53b"


class Silent:
    """Owes nothing, so that every case is sorted in one way."""

    login = None

    def is_pushed(self, kind: str) -> bool:
        return False

    def reply_to_unrequested(self, answer: object) -> bytes:
        return b""

    def address(self, case: Case) -> tuple[str, int]:
        raise AssertionError("nothing is sent")

    def reader(self, case: Case) -> AnswerReader:
        raise AssertionError("nothing is read")

    def expect(self, case: Case | None, before: bytes, data: bytes) -> Expectation:
        return Expectation(())

    def sentinel(self, case: Case, number: int) -> Sentinel | None:
        return None

    def flaw_of(self, case: Case) -> str:
        return ""

    def use_watched_names(self, case: Case) -> Case:
        return case

    def body_of(self, stored: bytes) -> bytes:
        return stored


def batches(**plan: object) -> Batches:
    made = Batches(WorkerPlan(Choice(7), **plan))  # type: ignore[arg-type]  # each test names its own
    made.generation = Generator(GRAMMAR, 7)
    return made


def made_by(worker: Batches, count: int) -> Iterator[tuple[int, list[Case]]]:
    """Yield the first so many batches of a worker: their numbers and what is sent of them."""
    assert worker.generation is not None
    sorter = Sorter(Silent(), worker.generation)
    for batch in range(worker.first, worker.first + count * worker.step, worker.step):
        made = worker.begin(batch, sorter)
        for _ in worker.make(made):
            pass
        kept = worker.drop_blocked(made, sorter)
        assert kept is not None
        yield batch, kept.batch


def told(cases: list[Case]) -> bytes:
    return b"".join(
        b"%d %b %b %b\n"
        % (
            case.index,
            f"{case.state} {case.frame_kind} {case.field} {case.mutation}".encode(),
            b" ".join(step.data for step in case.steps),
            repr([(step.style, step.connection) for step in case.steps]).encode(),
        )
        for case in cases
    )


def test_the_cases_of_a_seed_are_those_they_have_always_been() -> None:
    """With another digest, a seed that somebody noted down means other cases than it did.

    Whoever means that to be so writes the new one here.
    """
    made = dict(made_by(batches(), 12))
    digest = hashlib.sha256(b"".join(map(told, made.values()))).hexdigest()

    kinds = {case.frame_kind for cases in made.values() for case in cases}
    assert kinds == {"PUT", "ASK", CONVERSATION}
    assert digest == EVER


def test_batches_are_sent_in_the_order_of_their_cases() -> None:
    for batch, cases in made_by(batches(), 3):
        first = batch * BATCH
        assert [case.index for case in cases] == list(range(first, first + BATCH))


def test_workers_share_the_batches_and_resuming_begins_further_on() -> None:
    one = [batch for batch, _ in made_by(batches(first=5), 6)]
    workers = [made_by(batches(first=5, worker=number, workers=3), 2) for number in range(3)]
    shared = {batch: cases for worker in workers for batch, cases in worker}

    assert one == [5, 6, 7, 8, 9, 10] == sorted(shared)
    alone = dict(made_by(batches(), 11))
    assert all(alone[batch] == cases for batch, cases in shared.items())


def test_no_case_is_made_behind_the_last_that_is_wanted() -> None:
    worker = batches(cases=BATCH + 3)
    ((_, whole), (_, rest)) = made_by(worker, 2)

    assert (len(whole), len(rest)) == (BATCH, 3)
    assert not worker.is_behind(1)
    assert worker.is_behind(2)


def test_a_batch_is_made_in_pieces() -> None:
    worker = batches()
    made = worker.begin(0, None)
    for number, _ in enumerate(worker.make(made), 1):
        assert len(made.cases) == number * PIECE
    assert len(made.cases) == BATCH


@pytest.mark.parametrize("workers", [1, 3])
def test_some_batches_are_watched_and_others_are_quiet(workers: int) -> None:
    worker = batches(workers=workers, worker=workers - 1)
    assert worker.generation is not None
    sorter = Sorter(Silent(), worker.generation)
    own = range(worker.first, worker.first + 16 * workers, workers)
    ready = [worker.begin(batch, sorter).ready for batch in own]

    assert [each is not None and each.is_watched for each in ready] == [
        number % WATCHED == 0 for number in range(16)
    ]
    assert [worker.is_quiet(batch) for batch in own] == [n % QUIET == 1 for n in range(16)]


def test_what_may_touch_what_is_not_ours_is_left_out_and_counted() -> None:
    bold, careful = batches(), batches(hazardous=False)
    everything = [case for _, cases in made_by(bold, 12) for case in cases]
    harmless = [case for _, cases in made_by(careful, 12) for case in cases]

    assert bold.left_out == 0
    assert harmless == [case for case in everything if not case.hazardous]
    assert careful.left_out == len(everything) - len(harmless) > 0
    assert careful.skipped == 0
    assert careful.coverage.cases == len(harmless)


def test_what_was_found_to_cost_much_since_it_was_made_is_skipped() -> None:
    worker = batches()
    assert worker.generation is not None
    sorter = Sorter(Silent(), worker.generation)
    made = worker.begin(0, sorter)
    for _ in worker.make(made):
        pass
    fatal = made.cases[0]
    worker.blocklist.add(fatal)

    kept = worker.drop_blocked(made, sorter)

    alike = (fatal.frame_kind, fatal.field, fatal.mutation)
    assert kept is not None
    assert worker.skipped == BATCH - len(kept.batch) > 0
    assert all((each.frame_kind, each.field, each.mutation) != alike for each in kept.batch)
