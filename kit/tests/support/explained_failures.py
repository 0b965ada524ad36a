"""What real clients do not simply pass, and what of it a page of docs/peers/ explains."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import CaseRecord

PEERS = Path(__file__).resolve().parents[3] / "docs" / "peers"
PAGE = PEERS / "nsq-clients.md"
SDKS_PAGE = PEERS / "iggy-sdks.md"
FIRST_CELLS = ("| `nsq/client-", "| `iggy/apache/client-")


class Row(NamedTuple):
    """A row of the page: some cases, their level, and the clients that do not pass them."""

    cases: tuple[str, ...]
    level: str
    clients: tuple[str, ...]


def read_rows(page: Path = PAGE) -> Iterator[Row]:
    """Yield the rows of a page's tables of cases."""
    for line in page.read_text().splitlines():
        if line.startswith(FIRST_CELLS):
            cases, level, clients, *_ = (cell.strip() for cell in line.split("|")[1:-1])
            names = tuple(cases.replace("`", "").split(", "))
            yield Row(names, level, tuple(clients.split(", ")))


def find_level(case: str) -> str:
    """Return the level of a case's clause in the catalogue; a recording may have an older one."""
    found = load_catalogue(case.partition("/")[0]).find_law(case)
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


def read_explained(client: str, page: Path = PAGE) -> set[str]:
    """Return the cases that a page explains for this client."""
    return {case for row in read_rows(page) if client in row.clients for case in row.cases}
