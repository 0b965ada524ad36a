"""Which fields of which frames a bundle's cases sent."""

import bundle_fixture as made
import msgspec
import pytest

from wireproof_reports.pipeline.bundles.incoming import VALUES_KEPT, Grammar, frame_of
from wireproof_spec.step_record import StepRecord, TranscriptRecord, pack_bytes


def step(data: bytes, *labels: str, kind: str = "send", is_wrong: bool = False) -> StepRecord:
    parts = tuple((0, 1, label, is_wrong) for label in labels)
    return StepRecord(0, "A", kind, length=len(data), parts=parts, **pack_bytes(data))


def counted(*steps: StepRecord) -> dict[tuple[object, ...], tuple[object, ...]]:
    grammar = Grammar()
    record = made.case("x/y", "ext.publish.header-json", "", "ok")
    grammar.add(msgspec.structs.replace(record, transcript=TranscriptRecord(steps)))
    return {
        (row["frame"], row["field"], row["way"]): (row["sent"], row["values"])
        for row in grammar.rows()
    }


def test_fields_are_counted_by_the_way_they_were_sent() -> None:
    sent = counted(
        step(b"PUB_EXT t\n", "size = 4", "json_header = {}"),
        step(b"PUB_EXT t\n", "size = 5", "json_header = {} (cut)"),
        step(b"PUB_EXT t\n", "size = 4", is_wrong=True),
        step(b"OK", "size = 6", kind="receive"),
    )

    assert sent == {
        ("PUB_EXT", "size", "whole"): (2, 2),
        ("PUB_EXT", "json_header", "whole"): (1, 1),
        ("PUB_EXT", "json_header", "cut"): (1, 1),
        ("PUB_EXT", "size", "wrong"): (1, 1),
    }


def test_members_of_a_list_are_one_field() -> None:
    sent = counted(
        step(b"\0", "code = 101 (send_messages)", "messages[0].id = 7"),
        step(b"\0", "code = 101 (send_messages)", "messages[12].id = 8"),
    )

    assert sent["send_messages", "messages[].id", "whole"] == (2, 2)


def test_values_are_told_apart_up_to_a_bound() -> None:
    sent = counted(*(step(b"FIN x\n", f"id = {n}") for n in range(VALUES_KEPT + 50)))

    assert sent["FIN", "id", "whole"] == (VALUES_KEPT + 50, VALUES_KEPT)


@pytest.mark.parametrize(
    ("data", "labels", "frame"),
    [
        (b"IDENTIFY\n\0\0\0\x02{}", (), "IDENTIFY"),
        (b"POST /topic/create?topic=x HTTP/1.1\r\n", (), "POST /topic/create"),
        (b"GET / HTTP/1.1\r\n", (), "GET /"),
        (b"  V2", (), ""),
        (b"\0\1\2", (), ""),
        (b"", (), ""),
        (b"\0", ("code = 1 (ping)",), "ping"),
        (b"PUB " + b"a" * 5000 + b"\n", (), "PUB"),
    ],
)
def test_a_frame_is_named_by_its_code_or_its_first_words(
    data: bytes, labels: tuple[str, ...], frame: str
) -> None:
    assert frame_of(step(data, *labels)) == frame
