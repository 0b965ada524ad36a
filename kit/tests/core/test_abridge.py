"""Exchanges that are too long for the reader of a bundle are written shorter."""

import random
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from small_law import header, record

from wireproof_kit.bundle.abridge import MOST, ROOM, SMALL_ROOM, Abridger, shorten_header
from wireproof_kit.bundle.file import BundleWriter, read_bundle
from wireproof_spec.record import BindingRecord, CaseRecord, ClaimRecord, FooterRecord
from wireproof_spec.step_record import StepRecord, TranscriptRecord, pack_bytes

FOOTER = FooterRecord({"pass": 1}, (), {"clauses": 1}, 0, "s")
NOISE = random.Random(1).randbytes(1 << 20)


def received(at_us: int, data: bytes) -> StepRecord:
    return StepRecord(at_us, "A", "receive", length=len(data), **pack_bytes(data))


def flooded(steps: int, size: int, *evidence: int) -> CaseRecord:
    """Return a record whose exchange has so many steps of so many bytes that do not compress."""
    data = (NOISE * (size // len(NOISE) + 1))[:size]
    exchange = TranscriptRecord(tuple(received(number, data) for number in range(steps)))
    return msgspec.structs.replace(
        record("ok,open"), transcript=exchange, evidence=tuple(evidence)
    )


def test_an_exchange_of_usual_length_is_kept_whole() -> None:
    case = flooded(1000, 2000, 3)
    assert Abridger().shorten(case) is case


def test_a_flood_keeps_its_beginning_its_end_and_its_evidence() -> None:
    case = flooded(40_000, 500, 20_000, 39_999)
    steps = (shorter := Abridger().shorten(case)).transcript.steps
    assert [step.at_us for step in steps[:3]] == [0, 1, 2]
    assert [step.at_us for step in steps[-3:]] == [39_997, 39_998, 39_999]
    assert [steps[number].at_us for number in shorter.evidence] == [20_000, 39_999]
    notes = [step for step in steps if step.kind == "note"]
    assert len(notes) == 2
    assert all("steps with" in step.note and "left out" in step.note for step in notes)


def test_a_single_step_that_is_too_long_is_cut() -> None:
    case = flooded(1, 12 << 20, 0)
    (step,) = (shorter := Abridger().shorten(case)).transcript.steps
    assert shorter.evidence == (0,)
    assert step.data() == NOISE[: step.length]
    assert f"the first {step.length} of {12 << 20} bytes" in step.note


def test_a_step_that_is_too_long_and_damaged_is_cut_to_nothing() -> None:
    (step,) = flooded(1, 12 << 20, 0).transcript.steps
    damaged = msgspec.structs.replace(step, deflate="AAAA" * (4 << 20))
    case = msgspec.structs.replace(record("ok,open"), transcript=TranscriptRecord((damaged,)))

    assert Abridger().shorten(case).transcript.steps[0].data() == b""


def test_a_bundle_of_floods_is_read_again(tmp_path: Path) -> None:
    writer = BundleWriter(tmp_path / "run.jsonl", header())
    many, long = flooded(18_000, 20, 17_999), flooded(300, 100_000)
    for flood in (*[many] * 15, long, long):
        writer.add(flood)
    writer.close(FOOTER)
    assert len(read_bundle(tmp_path / "run.jsonl").cases) == 17


def test_a_header_whose_probes_were_flooded_is_read_again(tmp_path: Path) -> None:
    exchange = TranscriptRecord(
        tuple(
            msgspec.structs.replace(received(number, b"x" * 9), parts=((0, 4, "size", False),) * 9)
            for number in range(6000)
        )
    )
    claims = {str(n): ClaimRecord("absent", "silence", False, exchange) for n in range(20)}
    readings = {str(n): BindingRecord(None, "silence", exchange) for n in range(20)}
    flooded_header = header(claims=claims, readings=readings)
    usual = {"0": ClaimRecord("shown", "ok", False, TranscriptRecord(exchange.steps[:100]))}
    assert shorten_header(header(claims=usual)).claims == usual

    BundleWriter(tmp_path / "run.jsonl", flooded_header).close(FOOTER)

    read = read_bundle(tmp_path / "run.jsonl").header
    assert all(probe.transcript.steps[0].at_us == 0 for probe in read.claims.values())
    assert all(probe.transcript.steps[-1].at_us == 5999 for probe in read.readings.values())


@given(
    st.lists(st.sampled_from([0, 10, 5000, 200_000]), min_size=1, max_size=60),
    st.data(),
    st.booleans(),
)
def test_what_is_kept_is_what_was_there(
    sizes: list[int], data: st.DataObject, is_late: bool
) -> None:
    steps = tuple(received(number, NOISE[:size]) for number, size in enumerate(sizes))
    evidence = tuple(data.draw(st.lists(st.sampled_from(range(len(steps))), max_size=3)))
    case = msgspec.structs.replace(
        record("ok,open"), transcript=TranscriptRecord(steps), evidence=evidence
    )
    shorter = Abridger(MOST if is_late else 0).shorten(case)
    for step in shorter.transcript.steps:
        if step.kind != "note":
            assert steps[step.at_us].data().startswith(step.data())
    kept = [shorter.transcript.steps[number].at_us for number in shorter.evidence]
    assert kept == [each for each in evidence if each in kept]
    size = len(msgspec.json.encode(shorter))
    assert size < (SMALL_ROOM if is_late else ROOM) + 2000
