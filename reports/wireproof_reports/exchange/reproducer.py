"""Three ways to reproduce a failure: a command, hex for a socket, and a Python script."""

import base64
import re
import shlex
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs

import jinja2

from wireproof_reports.exchange.evidence import read_bytes
from wireproof_reports.exchange.protocol import Act, Plan, report_part
from wireproof_spec.record import CaseRecord, FindingRecord, HeaderRecord, StepRecord, TargetRecord
from wireproof_spec.step_notes import ACKNOWLEDGED, EXERCISE, IN_TLS, RESTARTED

LONG_RUN = 40
LONGEST_SOURCE = 1600
PIECE = 64
INDENT = "\n        "

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


REFERENCE = "reference"
"""What stands in place of a URL when the embedded reference was judged."""
PATIENCE_S = 10
SHORTEST_WAIT_US = 15_000
"""A pause between two sends that may be what matters: without it they arrive together."""
_BESIDE = ("neighbour", "delivery", "round-trip")
"""Rules of the fuzzer whose violation shows on other connections than those of the case."""
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
    """Three ways to reproduce a case: a wireproof command, the raw bytes, a Python script."""

    command: str
    streams: tuple[Stream, ...]
    address: str
    file: str
    script: str


def reproducer(case: CaseRecord, header: HeaderRecord, bundle_name: str) -> Reproducer:
    """Return a command, the raw bytes and a script, each of which reproduces a case."""
    file = f"reproduce-{case.case_hash}.py"
    return Reproducer(
        command=repeat_command(case, header, bundle_name),
        streams=tuple(_streams(case.transcript.steps)),
        address=_split_address(_address(header, case)) or "HOST PORT",
        file=_harmless(file),
        script=script(case, header),
    )


def repeat_command(case: CaseRecord, header: HeaderRecord, bundle_name: str) -> str:
    """Return the command that replays a case's exchange, or runs the case if nothing was sent."""
    has_sent = any(step.kind in ("send", "request") for step in case.transcript.steps)
    if header.target.is_client() or not has_sent or not bundle_name:
        return f"wireproof run {named_target(header)} {_quote(case.case)}"
    return f"wireproof replay {_harmless(case.case)} --bundle {_harmless(bundle_name)}"


def named_target(header: HeaderRecord) -> str:
    """Return the target of a run as command-line argument: its URL, or ``--reference``."""
    url = header.target.url
    return f"--{REFERENCE}" if url == REFERENCE else _quote(url)


def script(case: CaseRecord, header: HeaderRecord, finding: FindingRecord | None = None) -> str:
    """Return a Python script that repeats a case's exchange with the standard library alone.

    All text from the bundle is written as literals, so that none of it can become code. A case
    may be a ``finding`` of the fuzzer.
    """
    plan = _make_plan(_acts(case, header), header.target, finding)
    steps = [_source(act) for act in plan.acts]
    due = [literal(body) for body in plan.due]
    restarts = any(act.kind == "restart" for act in plan.acts)
    modules = ["re", "socket", "sys", "time"]
    modules += ["base64", "zlib"] if any("zlib." in text for text in (*steps, *due)) else []
    modules += ["os", "ssl"] if plan.login else []
    modules += ["threading"] if plan.exercises else []
    modules += ["shlex", "subprocess"] if restarts else []
    return _TEMPLATE.render(
        file=_harmless(f"reproduce-{case.case_hash}.py"),
        imports=sorted(modules),
        case=repr(case.case),
        clause=repr(case.clause),
        observation=repr(case.observation),
        accepted=repr(" | ".join(case.accepted)),
        target=repr(_address(header, case)),
        names=repr(list(plan.names)),
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
        restarts=restarts,
        hazard=case.hazard,
        steps=steps,
    )


def _acts(case: CaseRecord, header: HeaderRecord) -> Iterator[Act]:
    opened: set[str] = set()
    target = _address(header, case)
    before_us = 0
    for step in case.transcript.steps:
        waited_us, before_us = step.at_us - before_us, step.at_us
        if waited_us >= SHORTEST_WAIT_US and _is_ours(step):
            yield Act(step.conn, "wait", f"{waited_us / 1_000_000:.2f}")
        if step.kind == "open":
            opened.add(step.conn)
            yield Act(step.conn, "open", _other_address(step.note, target))
            continue
        if step.conn not in opened and step.kind in ("send", "request"):
            opened.add(step.conn)
            place = (
                _http_address(header, target, read_bytes(step)) if step.kind == "request" else ""
            )
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
    if step.kind == "note" and step.note == ACKNOWLEDGED:
        return Act("", "due", read_bytes(step))
    if step.kind == "note" and step.note == RESTARTED:
        return Act("target", "restart")
    if step.kind == "note" and step.note.startswith(EXERCISE):
        return Act(step.note.removeprefix(EXERCISE), "exercise")
    kinds = {"send": "send", "request": "send", "receive": "receive", "response": "response"}
    if step.kind in kinds:
        return Act(step.conn, kinds[step.kind], read_bytes(step))
    if step.kind != "close":
        return None
    return Act(step.conn, "close", "target" if step.note.startswith("by the target") else "")


def _make_plan(acts: Iterator[Act], target: TargetRecord, finding: FindingRecord | None) -> Plan:
    every = tuple(acts)
    plan = Plan(
        tuple(act for act in every if act.kind != "due"),
        secured=frozenset(act for key, act in _LOGINS.items() if key in target.given),
        arranged=finding.names if finding else {},
        is_beside=finding is not None and finding.violated in _BESIDE,
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


def _address(header: HeaderRecord, case: CaseRecord) -> str:
    """Return HOST:PORT of the target: from its URL, else from the first opened connection."""
    given = header.target.parts().netloc.rpartition("@")[2]
    opened = [step.note for step in case.transcript.steps if step.kind == "open"]
    return given or (opened[0] if opened and _is_address(opened[0]) else "")


def _split_address(address: str) -> str:
    """Return HOST PORT, as programs for sockets take them."""
    host, _, port = address.rpartition(":")
    return f"{host.strip('[]')} {port}" if host else ""


def _http_address(header: HeaderRecord, target: str, request: bytes) -> str:
    """Return HOST:PORT for a request: the `http` key, its Host header, or the usual port."""
    given = parse_qs(header.target.parts().query).get("http", [""])[0]
    named = re.search(rb"(?i)\r\nhost: *([^\r\n]+)", request)
    for address in (given.rpartition("//")[2], named[1].decode("latin-1") if named else ""):
        if _is_address(address):
            return address
    host, _, port = target.rpartition(":")
    behind = report_part(header.target.protocol).http_behind
    return f"{host}:{int(port) + behind}" if port.isdecimal() and behind is not None else ""


def _other_address(note: str, target: str) -> str:
    """Return the address of a connection to another port than the target's own, else nothing."""
    own = target.rpartition(":")[2]
    return note if _is_address(note) and note.rpartition(":")[2] != own else ""


def _is_address(text: str) -> bool:
    return re.fullmatch(r"[\w.\[\]:-]+:\d{1,5}", text) is not None


def _quote(text: str) -> str:
    """Return a word quoted for a shell."""
    return shlex.quote(text if text.isprintable() else _harmless(text))


def _harmless(name: str) -> str:
    """Return a name with every character replaced that needs quoting in a shell or a path."""
    return re.sub(r"[^\w./#@%+,:-]", "_", name)


_TEMPLATE = jinja2.Environment(
    loader=jinja2.PackageLoader("wireproof_reports"),
    autoescape=False,  # Python source; all that is inserted went through repr
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
).get_template("reproducer.py.jinja")
