"""Documents with the verdicts they must get; see `PROVENANCE.md`."""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, NotRequired, TypedDict

from wireproof_spec.oms.names import Kind

Verdict = Literal["valid", "invalid", "ambiguous"]


@dataclass(frozen=True, slots=True)
class GoldenDocument:
    """An example document: its text, the rule that decides it, and its effect in a server.

    `born` is the bornTimestamp for an extension header alone. `role` says who could have written
    the document. `effect` is the result in a conforming server.
    """

    id: str
    kind: Kind
    role: str
    born: int | None
    data: bytes
    verdict: Verdict
    rule: str
    why: str
    effect: dict[str, str | int | bool]


class _Row(TypedDict):
    id: str
    kind: str
    role: str
    born: NotRequired[int]
    doc: NotRequired[object]
    raw: NotRequired[str]
    verdict: Verdict
    rule: str
    why: str
    effect: NotRequired[dict[str, str | int | bool]]


@cache
def documents() -> tuple[GoldenDocument, ...]:
    """Return all example documents, in the order of the file."""
    text = (resources.files(__name__) / "documents.jsonl").read_text("utf-8")
    return tuple(_document(json.loads(line)) for line in text.splitlines())


def _document(row: _Row) -> GoldenDocument:
    text = row["raw"] if "raw" in row else json.dumps(row.get("doc"))
    return GoldenDocument(
        id=row["id"],
        kind=Kind(row["kind"]),
        role=row["role"],
        born=row.get("born"),
        data=text.encode(),
        verdict=row["verdict"],
        rule=row["rule"],
        why=row["why"],
        effect=row.get("effect", {}),
    )
