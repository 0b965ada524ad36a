"""Who a bundle is about, and how versions sort."""

import itertools
from pathlib import Path

import bundle_fixture as made
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wireproof_reports.pipeline.bundles.incoming import read_in
from wireproof_reports.pipeline.target import vendor, version, version_key
from wireproof_spec.record import TargetRecord
from wireproof_spec.step_record import TranscriptRecord

ASCENDING = [
    ["0.3.7-HA.1.5.7", "0.3.7-HA.1.10.0", "0.3.7-HA.1.13.0"],
    ["1.0.0-alpha", "1.0.0-beta2", "1.0.0-rc1", "1.0.0-rc10", "1.0.0", "1.0.0.1", "1.0.1"],
    ["", "1", "1.2", "1.9.3", "1.10", "2.0.0.dev1", "2.0.0", "10"],
    ["v2-snapshot", "v2", "v2-hotfix", "v10"],
    ["1.0", "1.00000000000000000001", "1.340282366920938463463374607431768211455"],
]


@pytest.mark.parametrize("versions", ASCENDING, ids=lambda versions: versions[-1])
def test_versions_sort_by_their_numbers(versions: list[str]) -> None:
    for earlier, later in itertools.pairwise(versions):
        assert version_key(earlier) < version_key(later), (earlier, later)


@given(st.lists(st.integers(0, 2**70), min_size=1), st.lists(st.integers(0, 2**70), min_size=1))
def test_numbers_compare_by_value(one: list[int], other: list[int]) -> None:
    first, second = (version_key(".".join(map(str, numbers))) for numbers in (one, other))
    assert (first < second) == (one < other)


@pytest.mark.parametrize(
    ("protocol", "fingerprint", "told"),
    [
        ("nsq", {"version": "0.3.7-HA.1.13.0"}, ("youzan nsqd", "0.3.7-HA.1.13.0")),
        ("nsq", {"version": "0.1.0-wireproof"}, ("wireproof reference", "0.1.0-wireproof")),
        ("nsq", {"version": "1.3.0"}, ("nsqd", "1.3.0")),
        ("nsq", {}, ("nsqd", "")),
        ("iggy", {"name": "Iggy", "generation": "published"}, ("iggy", "published")),
        ("oms", {"name": "3 documents in 1 file"}, ("oms", "")),
    ],
)
def test_maker_and_version_are_told_by_the_fingerprint(
    protocol: str, fingerprint: dict[str, str], told: tuple[str, str]
) -> None:
    target = TargetRecord(url="x://y", protocol=protocol, fingerprint=fingerprint)

    assert (vendor(target), version(target)) == told


@pytest.mark.parametrize(
    ("protocol", "fingerprint", "told"),
    [
        ("nsq", {"version": "0.3.7-HA.1.13.0"}, ("youzan nsqd", "0.3.7-HA.1.13.0")),
        ("nsq", {"version": "1.3.0"}, ("Acme", "1.3.0")),
        ("nsq", {}, ("Acme", "2.1")),
        ("iggy", {"generation": "published"}, ("Acme", "published")),
        ("oms", {"name": "3 documents in 1 file"}, ("Acme", "2.1")),
    ],
)
def test_names_of_the_user_stand_where_the_fingerprint_tells_none(
    protocol: str, fingerprint: dict[str, str], told: tuple[str, str]
) -> None:
    target = TargetRecord(url="x://y", protocol=protocol, fingerprint=fingerprint)

    assert (vendor(target, "Acme"), version(target, "2.1")) == told


@pytest.mark.parametrize(
    ("name", "otherwise", "told"),
    [("pynsq", "", "pynsq"), ("pynsq", "Acme", "pynsq"), ("", "Acme", "Acme"), ("", "", "nsqd")],
)
def test_clients_of_one_protocol_have_names_of_their_own(
    name: str, otherwise: str, told: str
) -> None:
    """Their versions would share a column if all were called by the protocol's broker."""
    fingerprint = {"version": "1.0.2", **({"name": name} if name else {})}
    target = TargetRecord("nsq+client:./c", "nsq", fingerprint, role="client")

    assert vendor(target, otherwise) == told


@pytest.mark.parametrize(
    ("target", "kind", "again"),
    [
        (TargetRecord("nsq://127.0.0.1:4150", "nsq"), "broker", {"replay", "run"}),
        (TargetRecord("nsq+client:./consume", "nsq", role="client"), "client", {"client"}),
        (TargetRecord("nsq://127.0.0.1:4150", "nsq", role="proxy"), "proxy", {"judge"}),
        (TargetRecord("nsq+exec:./adapter", "nsq"), "adapter", {"run"}),
        (TargetRecord("reference", "oms"), "adapter", set()),
        (TargetRecord("oms+file:captured", "oms"), "document", set()),
    ],
)
def test_what_was_judged_is_told_and_how_to_see_a_case_again(
    tmp_path: Path, target: TargetRecord, kind: str, again: set[str]
) -> None:
    silent = msgspec.structs.replace(next(made.passes()), transcript=TranscriptRecord())
    cases = [next(made.failures()), silent] if target.protocol == "nsq" else []
    path = made.write_bundle(tmp_path / "b.jsonl", cases, first=made.header(target=target))

    with path.open("rb") as file:
        rows = read_in(path.name, file).rows

    assert [run["target_role"] for run in rows["runs"]] == [kind]
    assert {row["again"] for row in rows["results"]} == again
