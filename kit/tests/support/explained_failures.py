"""The failures of real clients, and those that docs/peers/nsq-clients.md explains."""

from collections.abc import Iterable
from pathlib import Path

from wireproof_spec.record import CaseRecord

PAGE = Path(__file__).resolve().parents[3] / "docs" / "peers" / "nsq-clients.md"
COUNTED = ("must", "should")


def list_failures(cases: Iterable[CaseRecord]) -> set[str]:
    """Return the cases that fail at level must or should."""
    return {each.case for each in cases if each.verdict == "fail" and each.level in COUNTED}


def read_explained(client: str) -> set[str]:
    """Return the cases that the page says this client fails."""
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in PAGE.read_text().splitlines()
        if line.startswith("| `nsq/client-")
    ]
    return {
        case
        for ids, _, clients, *_ in rows
        if client in clients.split(", ")
        for case in ids.replace("`", "").split(", ")
    }
