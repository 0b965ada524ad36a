"""What the kit knows of OpenMessaging: documents, and systems behind adapters."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import KitPart
from wireproof_kit.targets.session import Session, SessionOptions
from wireproof_kit.targets.target import Target

if TYPE_CHECKING:
    from wireproof_kit.drivers.check import Finding
    from wireproof_kit.fuzz.driver import Choice, ClientFuzzSession, FuzzSessionOptions
    from wireproof_spec.fuzz_record import FindingRecord


def _open_session(target: Target, options: SessionOptions) -> Session:
    if target.path is None:
        from wireproof_kit.oms.adapter.session import open_session as open_adapter

        return open_adapter(target, options)
    from wireproof_kit.oms.session import open_session

    return open_session(target, options)


def _document_names(target: Target) -> Sequence[str]:
    from wireproof_kit.oms.captured import document_names

    return document_names(target)


def _check_adapter(command: str) -> "Iterator[Finding]":
    from wireproof_kit.oms.adapter.check import check_adapter

    return check_adapter(command)


def _open_fuzz_session(
    target: Target, options: "FuzzSessionOptions", restart: Callable[[], bool] | None
) -> "ClientFuzzSession":
    from wireproof_kit.oms.fuzz.session import open_adapter_session

    if target.path is not None:
        raise UsageFault(f"{target.url}: documents cannot be fuzzed; give an adapter")
    return open_adapter_session(target, options, restart)


def _check_fuzz_choice(choice: "Choice", is_client: bool) -> None:
    from wireproof_kit.fuzz.generate.case_sources import check_choice
    from wireproof_kit.oms.fuzz.frames import whole_grammar

    check_choice(whole_grammar(), choice)


def _write_script(finding: "FindingRecord", target: str) -> str:
    from wireproof_kit.oms.fuzz.reproduce import write_script

    return write_script(finding, target)


KIT = KitPart(
    open_session=_open_session,
    arguments=("capture", "document_name", "system"),
    example="oms+file:messages.jsonl",
    schemes=("oms+file", "oms+exec", "oms+http"),
    reference=("--http", "127.0.0.1:0"),
    needs={"system": "adapter"},
    several={"document_name": _document_names},
    open_adapter_fuzz_session=_open_fuzz_session,
    check_fuzz_choice=_check_fuzz_choice,
    adapter_reference=("--stdio",),
    write_program_script=_write_script,
    check_adapter=_check_adapter,
)
