"""What the kit knows of NSQ."""

from pathlib import Path
from typing import TYPE_CHECKING

from wireproof_kit.protocols import KitPart
from wireproof_kit.targets.session import Session, SessionOptions
from wireproof_kit.targets.target import USUAL_KEYS, Target, TargetKey

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator, Mapping

    from wireproof_kit.clients.course import CourseLine
    from wireproof_kit.drivers.check import Finding
    from wireproof_kit.fuzz.driver import (
        Choice,
        ClientFuzzSession,
        FuzzSession,
        FuzzSessionOptions,
    )
    from wireproof_kit.proxy.part import ProxyPart
    from wireproof_kit.wire.address import Address
    from wireproof_spec.fuzz_record import FindingRecord
    from wireproof_spec.step_record import TranscriptRecord


def _open_session(target: Target, options: SessionOptions) -> Session:
    if target.is_client():
        from wireproof_kit.clients.session import open_client
        from wireproof_kit.nsq.clients.client import NSQ_CLIENTS

        return open_client(NSQ_CLIENTS, target, options)
    from wireproof_kit.nsq.session import open_session

    return open_session(target, options)


def _find_nodes(target: Target) -> "list[Address]":
    from wireproof_kit.nsq.lookup.discovery import discover
    from wireproof_kit.nsq.lookup.reach import Reach
    from wireproof_kit.nsq.services import list_hosts, lookup_addresses

    nodes = discover(lookup_addresses(target), reach=Reach(list_hosts(target)))
    return [node.address for node in nodes]


def _open_fuzz_session(target: Target, options: "FuzzSessionOptions") -> "FuzzSession":
    from wireproof_kit.nsq.fuzz.fuzz_session import open_fuzz_session

    return open_fuzz_session(target, options)


def _open_client_fuzz_session(
    target: Target, timeout_s: float | None, is_cut: "Callable[[], bool]"
) -> "ClientFuzzSession | None":
    from wireproof_kit.fuzz.clients.session import open_fuzzed_client
    from wireproof_kit.nsq.clients.fuzz.part import make_part

    return open_fuzzed_client(make_part(), target, timeout_s, is_cut)


def _check_fuzz_choice(choice: "Choice", is_client: bool) -> None:
    from wireproof_kit.fuzz.generate.case_sources import check_choice

    if is_client:
        from wireproof_kit.nsq.clients.fuzz import frames

        check_choice(frames.grammar(), choice)
        return
    from wireproof_kit import pcap
    from wireproof_kit.nsq.fuzz.grammar import grammar
    from wireproof_kit.nsq.fuzz.names import Names

    check_choice(grammar(Names("wp_a", "wp_b"), scapy=pcap.is_installed()), choice)


def _write_program_script(finding: "FindingRecord", url: str) -> str:
    from wireproof_kit.nsq.clients.fuzz.reproduce import write_script

    return write_script(finding, url)


def _check_client_driver(command: str) -> "Iterator[Finding]":
    from wireproof_kit.nsq.clients.check import check_client_driver

    return check_client_driver(command)


def _recorded_arguments(transcript: "TranscriptRecord") -> "Mapping[str, object]":
    from wireproof_kit.clients.client import recorded_client
    from wireproof_kit.nsq.clients.client import NSQ_CLIENTS

    return {"client": recorded_client(NSQ_CLIENTS, transcript)}


def _proxy() -> "ProxyPart":
    from wireproof_kit.nsq.proxy.part import make_part

    return make_part()


def _tell_course(transcript: "TranscriptRecord") -> "Iterator[CourseLine]":
    from wireproof_kit.nsq.clients.course import tell

    return tell(transcript)


def _count_creations(kinds: "Counter[str]") -> dict[str, int]:
    from wireproof_kit.nsq.topics.sources import KINDS

    own = {name: count for name, count in kinds.items() if name in KINDS}
    return {"topic": sum(1 if KINDS[name].shared else count for name, count in own.items())}


KIT = KitPart(
    dissector=Path(__file__).parent / "pcap" / "wireproof-nsq.lua",
    open_session=_open_session,
    find_nodes=_find_nodes,
    count_creations=_count_creations,
    arguments=(
        "broker",
        "ext_topic",
        "plain_topic",
        "fresh_ext_topic",
        "other_fresh_ext_topic",
        "fresh_plain_topic",
        "fresh_ordered_topic",
        "fresh_ordered_ext_topic",
        "upgradable_topic",
        "shared_partitioned_topic",
        "shared_partitioned_ext_topic",
        "shared_partitioned_ordered_topic",
        "shared_replicated_topic",
        "partitioned_topic",
        "partitioned_ext_topic",
        "partitioned_ordered_topic",
        "replicated_topic",
        "replicated_ext_topic",
        "wide_topic",
        "wide_ext_topic",
        "wide_upgraded_topic",
        "fresh_wide_topic",
        "fresh_wide_ext_topic",
        "fresh_wide_upgraded_topic",
        "fresh_wide_ordered_topic",
        "fresh_wide_ordered_ext_topic",
        "wide_ordered_topic",
        "wide_ordered_ext_topic",
        "movable_topic",
        "movable_ordered_topic",
        "new_topic_name",
        "lookup",
        "cluster",
        "client",
    ),
    example="nsq://127.0.0.1:4150",
    schemes=("nsq", "nsq+client"),
    target_keys={
        "http": USUAL_KEYS["http"],
        "lookupd": TargetKey("servers", "An nsqlookupd; repeatable."),
        **USUAL_KEYS,
    },
    reference=(
        *("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--control", "127.0.0.1:0"),
        *("--nodes", "2", "--lookupds", "2"),
    ),
    needs={
        "shared_partitioned_topic": "partition",
        "shared_partitioned_ext_topic": "partition",
        "shared_partitioned_ordered_topic": "partition",
        "partitioned_topic": "partition",
        "partitioned_ext_topic": "partition",
        "partitioned_ordered_topic": "partition",
        "shared_replicated_topic": "replica",
        "replicated_topic": "replica",
        "replicated_ext_topic": "replica",
        "movable_topic": "replica",
        "movable_ordered_topic": "replica",
    },
    keys={"http": "http", "data": "data", "lookupd": "lookupd_http", "control": "control"},
    open_fuzz_session=_open_fuzz_session,
    open_client_fuzz_session=_open_client_fuzz_session,
    check_fuzz_choice=_check_fuzz_choice,
    write_program_script=_write_program_script,
    check_client_driver=_check_client_driver,
    recorded_arguments=_recorded_arguments,
    tell_course=_tell_course,
    proxy=_proxy,
)
