"""What the kit knows of Iggy."""

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
    from wireproof_spec.fuzz_record import FindingRecord
    from wireproof_spec.step_record import TranscriptRecord


def _open_session(target: Target, options: SessionOptions) -> Session:
    if target.is_client():
        from wireproof_kit.clients.session import open_client
        from wireproof_kit.iggy.clients.client import clients_of

        return open_client(clients_of(target.generation), target, options)
    from wireproof_kit.iggy.apache.greeting import is_apache

    if is_apache(target):
        from wireproof_kit.iggy.apache.session import open_apache_session

        return open_apache_session(target, options)
    from wireproof_kit.iggy.session import open_session

    return open_session(target, options)


def _open_fuzz_session(target: Target, options: "FuzzSessionOptions") -> "FuzzSession":
    from wireproof_kit.iggy.apache.greeting import is_apache

    if is_apache(target):
        from wireproof_kit.iggy.fuzz.apache.fuzz_session import open_apache_fuzz_session

        return open_apache_fuzz_session(target, options)
    from wireproof_kit.iggy.fuzz.fuzz_session import open_fuzz_session

    return open_fuzz_session(target, options)


def _open_client_fuzz_session(
    target: Target, timeout_s: float | None, is_cut: "Callable[[], bool]"
) -> "ClientFuzzSession | None":
    from wireproof_kit.fuzz.clients.session import open_fuzzed_client
    from wireproof_kit.iggy.clients.fuzz.part import make_part

    return open_fuzzed_client(make_part(), target, timeout_s, is_cut)


def _check_fuzz_choice(choice: "Choice", is_client: bool) -> None:
    from wireproof_kit.fuzz.generate.case_sources import check_choice

    if is_client:
        from wireproof_kit.iggy.clients.fuzz import frames
        from wireproof_spec.iggy.generation import GENERATIONS

        check_choice(frames.grammar(GENERATIONS), choice)
        return
    from wireproof_kit import pcap
    from wireproof_kit.iggy.fuzz.grammar import grammar
    from wireproof_kit.iggy.fuzz.names import Names

    check_choice(
        grammar(Names(1, "wp_a", 1, "wp_b", 1, 2, "wp_c"), scapy=pcap.is_installed()), choice
    )


def _write_program_script(finding: "FindingRecord", url: str) -> str:
    from wireproof_kit.iggy.clients.fuzz.reproduce import write_script

    return write_script(finding, url)


def _check_client_driver(command: str) -> "Iterator[Finding]":
    from wireproof_kit.iggy.clients.check import check_client_driver

    return check_client_driver(command)


def _recorded_arguments(transcript: "TranscriptRecord") -> "Mapping[str, object]":
    from wireproof_kit.clients.client import recorded_client
    from wireproof_kit.iggy.clients.client import IGGY_CLIENTS

    return {"client": recorded_client(IGGY_CLIENTS, transcript)}


def _proxy() -> "ProxyPart":
    from wireproof_kit.iggy.proxy.part import make_part

    return make_part()


def _tell_course(transcript: "TranscriptRecord") -> "Iterator[CourseLine]":
    from wireproof_kit.iggy.clients.course import tell

    return tell(transcript)


def _count_creations(kinds: "Counter[str]") -> dict[str, int]:
    return {"stream": int(bool(kinds)), "topic": kinds["topic"] + kinds["apache_topic"]}


# Not imported: what is known of a protocol imports nothing of it. A test compares the two.
_GENERATIONS = ("published", "tagged", "apache")

KIT = KitPart(
    dissector=Path(__file__).parent / "pcap" / "wireproof-iggy.lua",
    open_session=_open_session,
    arguments=("server", "topic", "client", "apache", "apache_topic"),
    needs={
        "server": "framed",
        "topic": "framed",
        "apache": "apache",
        "apache_topic": "apache",
    },
    example="iggy://127.0.0.1:8090",
    schemes=("iggy", "iggy+client"),
    target_keys={
        **{key: USUAL_KEYS[key] for key in ("http", "data", "control", "auth_env")},
        "generation": TargetKey(
            "choice", "The generation of an Iggy server; default: found out.", _GENERATIONS
        ),
    },
    reference=("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--control", "127.0.0.1:0"),
    keys={"http": "http", "data": "data", "control": "control"},
    unfit={"tagged": ("--data",), "apache": ("--control",)},
    open_fuzz_session=_open_fuzz_session,
    open_client_fuzz_session=_open_client_fuzz_session,
    check_fuzz_choice=_check_fuzz_choice,
    write_program_script=_write_program_script,
    check_client_driver=_check_client_driver,
    recorded_arguments=_recorded_arguments,
    tell_course=_tell_course,
    proxy=_proxy,
    count_creations=_count_creations,
)
