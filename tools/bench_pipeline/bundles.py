"""Bundles for the benchmark: like those of real runs in what a case holds, each its own."""

import hashlib
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import (
    CaseRecord,
    FooterRecord,
    HeaderRecord,
    RepeatsRecord,
    TargetRecord,
)
from wireproof_spec.step_record import StepRecord, TranscriptRecord

CASES = 800
DAYS = 30
FIRST_DAY = datetime(2026, 10, 1, tzinfo=UTC)
VENDORS = ("nsqd", "acme", "other")


def write_bundles(folder: Path, count: int, cases: int = CASES, first: int = 0) -> int:
    """Write the missing ones of `count` bundles; return the number of results in all of them.

    Bundles with different numbers differ; ``first`` is the number of the first one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = list(_case_lines(cases))
    for number in range(first, first + count):
        path = folder / f"{number:05d}.jsonl"
        if not path.exists():
            new = path.with_name("new")
            new.write_bytes(_bundle(number, lines))
            new.rename(path)
    return count * cases


def _bundle(number: int, lines: list[list[bytes]]) -> bytes:
    chance = random.Random(number)
    started = FIRST_DAY + timedelta(days=number % DAYS, seconds=chance.randrange(86_400))
    header = HeaderRecord(
        format=1,
        kit="0.1.0",
        spec={"ext": 1},
        seed=number,
        target=TargetRecord(
            url="nsq://127.0.0.1:4150",
            protocol="nsq",
            fingerprint={"version": f"1.{number % 5}.0"},
        ),
        claims={},
        readings={},
        patience={"answer": 1.0},
        started=started.isoformat(),
    )
    chosen = [both[chance.random() < 0.05] for both in lines]
    whole = b"".join([msgspec.json.encode(header) + b"\n", *chosen])
    footer = FooterRecord(
        verdicts={},
        groups=(),
        coverage={},
        exit=1,
        statement="",
        sha256=hashlib.sha256(whole).hexdigest(),
    )
    return whole + msgspec.json.encode(footer) + b"\n"


def _case_lines(cases: int) -> Iterator[list[bytes]]:
    """Return each case's line when it passes, and when it fails."""
    clauses = [clause for clause in load_catalogue("nsq").clauses() if clause.status == "tested"]
    for number in range(cases):
        clause = clauses[number % len(clauses)]
        yield [_line(number, clause.id, clause.level, verdict) for verdict in ("pass", "fail")]


def _line(number: int, clause: str, level: str, verdict: str) -> bytes:
    chance = random.Random(f"{number} {verdict}")
    steps = [_step(chance, kind) for _ in range(6) for kind in ("send", "receive")]
    record = CaseRecord(
        case=f"nsq/interface-{number % 12}/case-{number:04d}",
        case_hash=f"{number:012x}",
        clause=clause,
        level=level,
        title="A frame of the benchmark is answered as the published text says.",
        observation="ok,open" if verdict == "pass" else "error:E_BAD_BODY,closed",
        verdict="pass" if verdict == "pass" else "fail",
        reason="as the text says" if verdict == "pass" else "no outcome of the accept set",
        accepted=("ok,open", "ok,closed"),
        signature="" if verdict == "pass" else f"{number:012x}",
        repeats=RepeatsRecord(runs=1, same=1) if verdict == "pass" else RepeatsRecord(5, 5),
        duration_us=chance.randrange(100, 90_000),
        transcript=TranscriptRecord(tuple(steps)),
    )
    return msgspec.json.encode(record) + b"\n"


def _step(chance: random.Random, kind: str) -> StepRecord:
    data = b"PUB_EXT topic\n" + chance.randbytes(90)
    parts = (
        (0, 14, "command = PUB_EXT", False),
        (14, 4, f"size = {chance.randrange(999)}", False),
        (18, 2, "header_length = 9", False),
        (20, 84, "body = …", False),
    )
    return StepRecord(
        chance.randrange(10**6), "A", kind, hex=data.hex(), length=len(data), parts=parts
    )
