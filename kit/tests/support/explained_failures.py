"""The failures of real clients, and those that docs/peers/nsq-clients.md explains."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import CaseRecord

PAGE = Path(__file__).resolve().parents[3] / "docs" / "peers" / "nsq-clients.md"
COUNTED = ("must", "should")


class Row(NamedTuple):
    """A row of the page: some cases, their level, and the clients that fail them."""

    cases: tuple[str, ...]
    level: str
    clients: tuple[str, ...]


def read_rows() -> Iterator[Row]:
    """Yield the rows of the page's table of failures."""
    for line in PAGE.read_text().splitlines():
        if line.startswith("| `nsq/client-"):
            cases, level, clients, *_ = (cell.strip() for cell in line.split("|")[1:-1])
            names = tuple(cases.replace("`", "").split(", "))
            yield Row(names, level, tuple(clients.split(", ")))


def find_level(case: str) -> str:
    """Return the level of a case's clause in the catalogue; a recording may have an older one."""
    clause = load_catalogue("nsq").clause_of(case)
    return clause.level if clause else ""


def list_failures(cases: Iterable[CaseRecord]) -> set[str]:
    """Return the cases that fail at level must or should."""
    return {
        each.case for each in cases if each.verdict == "fail" and find_level(each.case) in COUNTED
    }


def read_explained(client: str) -> set[str]:
    """Return the cases that the page says this client fails."""
    return {case for row in read_rows() if client in row.clients for case in row.cases}
