"""The exercise of granted values: what it finds in references with a fault, and in legal ones."""

import time
from contextlib import closing

import pytest

from wireproof_kit.fuzz.campaign.target import open_fuzz_session, start_alone
from wireproof_kit.fuzz.case import GRANTED
from wireproof_kit.fuzz.driver import FuzzSessionOptions, Trouble
from wireproof_kit.fuzz.oracle.rules import NEIGHBOUR, REDELIVERY
from wireproof_kit.nsq.fuzz.exercises.held import Published
from wireproof_kit.protocols import read_target

pytestmark = [pytest.mark.long, pytest.mark.process]
LONG_S = 600.0
FOUND = [
    ("ready-allows-one-more", NEIGHBOUR, "4 messages came to a client of RDY 3"),
    ("ready-grows-with-the-channel", NEIGHBOUR, "4 messages came to a client of RDY 3"),
    ("finish-by-anybody", NEIGHBOUR, ""),
    # It is refused what it holds, or gets no more in its place: what comes first shows.
    ("put-back-by-anybody", f"{NEIGHBOUR} {REDELIVERY}", ""),
    ("finish-the-oldest-only", REDELIVERY, "and gets no more"),
    ("leave-loses-messages", REDELIVERY, "does not come to the next client"),
    ("id-low-half-zero", NEIGHBOUR, "another trace id"),
    ("timeout-in-another-unit", NEIGHBOUR, "is answered 0.1 s"),
    ("heartbeat-never", NEIGHBOUR, "no heartbeat came"),
]


def tried(*extra: str) -> Trouble | None:
    with closing(start_alone("nsq", extra)) as running:
        options = FuzzSessionOptions("granted")
        session = open_fuzz_session(read_target(running.url), options)
        with closing(session):
            return session.health.exercise(GRANTED, time.monotonic() + LONG_S)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "violated", "words"), FOUND, ids=[each[0] for each in FOUND])
def test_a_broker_that_does_not_do_what_it_grants_is_found(
    fault: str, violated: str, words: str
) -> None:
    trouble = tried("--fault", fault)

    assert trouble is not None
    assert trouble.violated in violated.split()
    assert words in trouble.words


@pytest.mark.slow
def test_nothing_is_found_in_a_correct_broker() -> None:
    assert tried() is None


def message(body: bytes, internal: int, trace: int) -> bytes:
    content = bytes(10) + internal.to_bytes(8) + trace.to_bytes(8) + body
    return (4 + len(content)).to_bytes(4) + (2).to_bytes(4) + content


def test_a_message_is_compared_with_its_publish_and_the_answer() -> None:
    sent = Published({b"a": (5).to_bytes(8)}, {b"a": (7).to_bytes(8)})

    assert sent.compare(message(b"a", 7, 5)) == ""
    assert "trace id" in sent.compare(message(b"a", 7, 6))
    assert "internal id" in sent.compare(message(b"a", 8, 5))
    assert "nobody published" in sent.compare(message(b"b", 7, 5))
    assert Published({b"a": (5).to_bytes(8)}).compare(message(b"a", 8, 0)) == ""
