"""What real clients do not simply pass, and what of it docs/peers/nsq-clients.md explains."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import CaseRecord

PAGE = Path(__file__).resolve().parents[3] / "docs" / "peers" / "nsq-clients.md"


class Row(NamedTuple):
    """A row of the page: some cases, their level, and the clients that do not pass them."""

    cases: tuple[str, ...]
    level: str
    clients: tuple[str, ...]


def read_rows() -> Iterator[Row]:
    """Yield the rows of the page's tables of cases."""
    for line in PAGE.read_text().splitlines():
        if line.startswith("| `nsq/client-"):
            cases, level, clients, *_ = (cell.strip() for cell in line.split("|")[1:-1])
            names = tuple(cases.replace("`", "").split(", "))
            yield Row(names, level, tuple(clients.split(", ")))


def find_level(case: str) -> str:
    """Return the level of a case's clause in the catalogue; a recording may have an older one."""
    found = load_catalogue("nsq").find_law(case)
    return found[0].level if found else ""


def list_to_explain(cases: Iterable[CaseRecord]) -> set[str]:
    """Return the cases that fail, depend on a reading, or need a word that the driver lacks.

    Left out are cases about what a client cannot do at all; the page explains these as one.
    """
    return {
        each.case
        for each in cases
        if each.verdict in ("fail", "reading") or each.observation == "unsupported"
    }


def read_explained(client: str) -> set[str]:
    """Return the cases that the page explains for this client."""
    return {case for row in read_rows() if client in row.clients for case in row.cases}
