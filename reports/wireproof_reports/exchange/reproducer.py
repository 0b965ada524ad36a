"""What reproduces a failure: a command and, of a broker, hex for a socket and a Python script."""

import base64
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jinja2

from wireproof_reports.exchange.addresses import HTTP, Addresses, addresses_of, split_address
from wireproof_reports.exchange.annotation import read_bytes
from wireproof_reports.exchange.protocol import Act, Plan, report_part
from wireproof_reports.exchange.repeating import harmless, repeat_command
from wireproof_spec.fuzz_record import FindingRecord
from wireproof_spec.growth import ROUNDS, least_growth, repetitions
from wireproof_spec.record import CaseRecord, HeaderRecord, TargetRecord
from wireproof_spec.step_notes import ACKNOWLEDGED, EXERCISE, IN_TLS, LOGIN, RESTARTED
from wireproof_spec.step_record import StepRecord

LONG_RUN = 40
LONGEST_SOURCE = 1600
PIECE = 64
INDENT = "\n        "

_REFUSED = re.compile(r"E_|error|closed|40\d|refused")
"""How an observation begins if a target refused a request."""

_RUN = re.compile(rb"(.)\1{%d,}" % (LONG_RUN - 1), re.DOTALL)


def literal(data: bytes) -> str:
    """Return a Python expression that yields the bytes; it may use `zlib` and `base64`."""
    terms = list(_terms(data)) or ["b''"]
    if sum(map(len, terms)) > LONGEST_SOURCE:
        return _deflate(data)
    whole = f"{INDENT}+ ".join(terms)
    return f"({INDENT}{whole}{INDENT[:-4]})" if INDENT in whole else whole


def _terms(data: bytes) -> Iterator[str]:
    end = 0
    for run in _RUN.finditer(data):
        if run.start() > end:
            yield _pieces(data[end : run.start()])
        yield f"{run[1]!r} * {len(run[0])}"
        end = run.end()
    if end < len(data):
        yield _pieces(data[end:])


def _pieces(data: bytes) -> str:
    starts = range(0, len(data), PIECE)
    return INDENT.join(repr(data[start : start + PIECE]) for start in starts)


def _deflate(data: bytes) -> str:
    packed = base64.b64encode(zlib.compress(data, 9)).decode()
    return f"zlib.decompress(base64.b64decode({packed!r}))"


PATIENCE_S = 10
SHORTEST_WAIT_US = 15_000
"""A pause between two sends that may be what matters: without it they arrive together."""
_LOGINS = {"tls": "secure", "auth_env": "secret"}
"""What connections do first where these options of the target are given."""
LONGEST_HEX = 4096
"""Bytes; a longer stream is left to the script."""


@dataclass(frozen=True, slots=True)
class Stream:
    """All bytes that a case sent on one connection; ``hex`` is empty if there are too many."""

    connection: str
    size: int
    hex: str


@dataclass(frozen=True, slots=True)
class Reproducer:
    """What reproduces a case: a wireproof command, the raw bytes, a Python script.

    ``streams`` and ``script`` are empty if sending the bytes again would reproduce nothing.
    """

    command: str
    streams: tuple[Stream, ...]
    address: str
    file: str
    script: str


def reproducer(case: CaseRecord, header: HeaderRecord, bundle_name: str) -> Reproducer:
    """Return what reproduces a case: a command and, of a broker, its bytes and a script.

    What a client sent to the peers of the kit was its own: sent to a server, it would not show
    how the client fails.
    """
    is_client = header.target.is_client()
    return Reproducer(
        command=repeat_command(case, header, bundle_name),
        streams=() if is_client else tuple(_streams(case.transcript.steps)),
        address=split_address(addresses_of(header, case).target) or "HOST PORT",
        file=harmless(f"reproduce-{case.case_hash}.py"),
        script="" if is_client else script(case, header),
    )


def script(case: CaseRecord, header: HeaderRecord, finding: FindingRecord | None = None) -> str:
    """Return a Python script that repeats a case's exchange with the standard library alone.

    All text from the bundle is written as literals, so that none of it can become code. A case
    may be a ``finding`` of the fuzzer.
    """
    addresses = addresses_of(header, case, finding)
    plan = _make_plan(_acts(case, addresses), header.target, finding, case.accepted)
    steps = [_source(act) for act in plan.acts]
    due = [literal(body) for body in plan.due]
    restarts = any(act.kind == "restart" for act in plan.acts)
    modules = ["re", "secrets", "socket", "sys", "time", *plan.modules]
    modules += ["base64", "zlib"] if any("zlib." in text for text in (*steps, *due)) else []
    modules += ["os", "ssl"] if plan.login else []
    modules += ["threading"] if plan.exercises else []
    modules += ["contextlib", "glob", "os"] if plan.grows else []
    modules += ["shlex", "subprocess"] if restarts else []
    return _TEMPLATE.render(
        file=harmless(f"reproduce-{case.case_hash}.py"),
        imports=sorted(set(modules)),
        case=repr(case.case),
        clause=repr(case.clause),
        observation=repr(case.observation),
        accepted=repr(" | ".join(case.accepted)),
        target=repr(addresses.target),
        http=repr(addresses.http) if any(act.data == HTTP for act in plan.acts) else "",
        http_behind=repr(report_part(header.target.protocol).http_behind),
        names=repr(list(plan.names)),
        numbers=repr(list(plan.numbers)) if plan.numbers else "",
        create=repr(list(plan.create)),
        patience=PATIENCE_S,
        reader=plan.reader,
        probe=literal(plan.probe),
        login=plan.login,
        logins=repr(sorted(plan.secured)),
        exercises=plan.exercises,
        bystanders=plan.bystanders,
        watched=repr(list(plan.watched)),
        due=due,
        listing=literal(plan.listing) if plan.listing else "",
        grows=plan.grows,
        growth=_growth(finding) if finding and plan.grows else {},
        restarts=restarts,
        hazard=case.hazard,
        steps=steps,
    )


def _growth(finding: FindingRecord) -> dict[str, int]:
    """Return how often cases are repeated in how many rounds, and what each must grow by."""
    sizes = [[sent.length for sent in case.sent] for case in finding.cases]
    least = least_growth(sizes) if finding.violated == "memory" else 1
    return {"times": repetitions(len(sizes)), "rounds": ROUNDS, "least": least}


def _acts(case: CaseRecord, addresses: Addresses) -> Iterator[Act]:
    opened: set[str] = set()
    before_us = 0
    for step in case.transcript.steps:
        waited_us, before_us = step.at_us - before_us, step.at_us
        if waited_us >= SHORTEST_WAIT_US and _is_ours(step):
            yield Act(step.conn, "wait", f"{waited_us / 1_000_000:.2f}")
        if step.kind == "open":
            opened.add(step.conn)
            yield Act(step.conn, "open", addresses.of_connection(step.note))
            continue
        if step.conn not in opened and step.kind in ("send", "request"):
            opened.add(step.conn)
            is_request = step.kind == "request"
            place = addresses.of_request(read_bytes(step)) if is_request else ""
            yield Act(step.conn, "open", place)
        act = _act(step)
        if act is not None:
            yield act
        if step.kind == "response":
            opened.discard(step.conn)


def _is_ours(step: StepRecord) -> bool:
    """Return True if the kit chose when this step happened."""
    return step.kind in ("send", "request") or "sending direction" in step.note


def _act(step: StepRecord) -> Act | None:
    if step.kind == "close" and "sending direction" in step.note:
        return Act(step.conn, "end sending")
    if step.note.startswith(IN_TLS):
        return Act(step.conn, "secure")
    if step.kind == "note":
        return _noted_act(step)
    kinds = {"send": "send", "request": "send", "receive": "receive", "response": "response"}
    if step.kind in kinds:
        return Act(step.conn, kinds[step.kind], read_bytes(step))
    if step.kind != "close":
        return None
    return Act(step.conn, "close", "target" if step.note.startswith("by the target") else "")


def _noted_act(step: StepRecord) -> Act | None:
    """Return what a script does in the place of a note."""
    if step.note.startswith(LOGIN):
        return Act(step.conn, "secret")
    if step.note == ACKNOWLEDGED:
        return Act("", "due", read_bytes(step))
    if step.note == RESTARTED:
        return Act("target", "restart")
    if step.note.startswith(EXERCISE):
        return Act(step.note.removeprefix(EXERCISE), "exercise")
    return None


def _make_plan(
    acts: Iterator[Act],
    target: TargetRecord,
    finding: FindingRecord | None,
    accepted: Sequence[str],
) -> Plan:
    every = tuple(acts)
    plan = Plan(
        tuple(act for act in every if act.kind != "due"),
        secured=frozenset(act for key, act in _LOGINS.items() if key in target.given),
        arranged=finding.names if finding else {},
        violated=finding.violated if finding else "",
        may_be_refused=finding is not None or any(map(_REFUSED.match, accepted)),
        due=tuple(act.data for act in every if act.kind == "due" and isinstance(act.data, bytes)),
    )
    planner = report_part(target.protocol).plan
    return planner(plan) if planner else plan


def _source(act: Act) -> str:
    data = act.data
    if isinstance(data, tuple):
        pieces = [str(p) if isinstance(p, int) else literal(p) for p in data]
        shown = f"[{', '.join(pieces)}]"
    else:
        shown = repr(data) if isinstance(data, str) else literal(data)
    return f"({act.connection!r}, {act.kind!r}, {shown})"


def _streams(steps: Sequence[StepRecord]) -> Iterator[Stream]:
    sent: dict[str, bytearray] = {}
    for step in steps:
        if step.kind in ("send", "request"):
            sent.setdefault(step.conn, bytearray()).extend(read_bytes(step))
    for connection, data in sent.items():
        shown = data.hex() if len(data) <= LONGEST_HEX else ""
        yield Stream(connection, len(data), shown)


_TEMPLATE = jinja2.Environment(
    loader=jinja2.PackageLoader("wireproof_reports"),
    autoescape=False,  # Python source; all that is inserted went through repr
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
).get_template("reproducer.py.jinja")
