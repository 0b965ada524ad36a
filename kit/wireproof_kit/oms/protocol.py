"""What the kit knows of OpenMessaging: documents, and systems behind adapters."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from wireproof_kit.protocols import KitPart
from wireproof_kit.targets.session import Session, SessionOptions
from wireproof_kit.targets.target import Target

if TYPE_CHECKING:
    from wireproof_kit.drivers.check import Finding


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


KIT = KitPart(
    open_session=_open_session,
    arguments=("capture", "document_name", "system"),
    example="oms+file:messages.jsonl",
    schemes=("oms+file", "oms+exec", "oms+http"),
    reference=("--http", "127.0.0.1:0"),
    needs={"system": "adapter"},
    several={"document_name": _document_names},
    check_adapter=_check_adapter,
)
