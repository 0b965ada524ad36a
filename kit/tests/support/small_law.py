"""A small law of its own, and records under it, for tests of the judge and its neighbours."""

import msgspec

from wireproof_kit.verdicts.judge import JudgeContext
from wireproof_spec.clauses.catalogue import (
    Capability,
    Catalogue,
    Clause,
    Decision,
    Group,
    Law,
    Option,
)
from wireproof_spec.record import (
    BindingRecord,
    CaseRecord,
    ClaimRecord,
    HeaderRecord,
    TargetRecord,
)

CAPABILITY = Capability("ext", "ext topics", "ext", ("ok",), ("error:*",))
DECISION = Decision(
    "spelling",
    "two spellings",
    ("t",),
    "spelling",
    (Option("published", "p", ("P",)), Option("deployed", "d", ("D",), ("a real peer",))),
)
LAW = Law(
    "p/i/case",
    "sends",
    "expects",
    accept=("ok,*",),
    undecided=("odd",),
    reading={"spelling": {"published": ("error:P,*",), "deployed": ("error:D,*",)}},
)
CLAUSE = Clause(
    id="t.i.clause",
    level="must",
    origin="text",
    role="broker",
    since=1,
    section="s",
    words=("w",),
    law="l",
    observed="o",
    status="tested",
    needs=("ext",),
    case=(LAW,),
)
CATALOGUE = Catalogue(
    "p", {"t": 1}, (Group("t.i", "0", "T", (CLAUSE,)),), (DECISION,), (CAPABILITY,)
)


def bench(
    bound: str | None = "published", *, seen: str = "P", reading: str = "any"
) -> JudgeContext:
    claims = {"ext": ClaimRecord(state="shown", observation="ok")}
    bindings = {"spelling": BindingRecord(reading=bound, observation=seen)}
    choice = {"any": "any", "published": "published", "deployed": "deployed"}[reading]
    return JudgeContext(CATALOGUE, claims, bindings, choice)  # type: ignore[arg-type] # one of the three


def record(value: str, **changes: object) -> CaseRecord:
    fields: dict[str, object] = {
        "case": "p/i/case/x",
        "case_hash": "0",
        "clause": "t.i.clause",
        "level": "must",
        "title": "t",
        "observation": value,
        "verdict": "error",
        "reason": "",
        **changes,
    }
    return CaseRecord(**fields)  # type: ignore[arg-type] # the names are the record's own


def header(**changes: object) -> HeaderRecord:
    target = TargetRecord("nsq://h:1", "p")
    made = HeaderRecord(1, "0", {"t": 1}, 7, target, {}, {}, {}, selection=())
    return msgspec.structs.replace(made, **changes)
