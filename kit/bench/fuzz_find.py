"""Measure how long our fuzzer and lean boofuzz take to find a fault of the reference's parser.

Both have the same frames, one of every kind that the interface of the fault accepts (TCP or HTTP),
and both take the kinds in turn: by default boofuzz would send thousands of cases of the first kind
before the second one. boofuzz checks after every case that a publish is answered on a new
connection. It has its own reference for each fault, and a finding counts at once. Our finding
counts when it is confirmed; our fuzzer has a minute for each fault.

The goal is a ratio of medians. Our times are measured first. A boofuzz time above ten times our
median counts as never, and boofuzz stops there. Once more than half of the faults are on one side
of that limit, the other faults cannot change the result, and are left out. boofuzz and its target
need less than a core, so as many boofuzz trials run at once as there are cores. Two at once each
send three quarters of what one sends alone, so each gets half as much time again. Our trials run
alone.
"""

import json
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from statistics import median

from wireproof_kit.fuzz.campaign.campaign import Campaign
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.progress import SilentListener
from wireproof_kit.fuzz.campaign.target import ReferenceTarget, open_fuzz_session, start_alone
from wireproof_kit.fuzz.case import Frame
from wireproof_kit.fuzz.driver import Choice, FuzzSession, FuzzSessionOptions
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.generate.values import Drawer
from wireproof_kit.protocols import read_target
from wireproof_kit.targets.process import usage
from wireproof_kit.wire.address import Address

OURS_S = 60.0
"""Seconds that ours has for a fault; not found counts as that."""
DUE = 0.1
SHARED = 1.5
"""How much more time is given to who is not alone."""
MARGIN_S = 1.0
SEED = 1

Boofuzz = Callable[[Address, float, bytes], dict[str, float]]
"""Runs boofuzz on an address for so many seconds, with its task; returns what it told."""

PUBLISHES = {
    ("nsq", "tcp"): ("PUB", "0000000600000000" + b"OK".hex()),
    ("nsq", "http"): ("POST /pub", b"HTTP/1.1 200".hex()),
    ("iggy", "tcp"): ("send_messages", "00" * 8),
    ("iggy", "http"): ("POST /streams/{s}/topics/{t}/messages", b"HTTP/1.1 201".hex()),
}
"""By protocol and way in: the kind of frame that publishes, and how an answer to it begins."""
TRIES = 100


@dataclass(frozen=True, slots=True)
class Sought:
    """A fault of a parser, and the way in that shows it."""

    protocol: str
    fault: str

    @property
    def interface(self) -> str:
        """Return the way in."""
        return "http" if self.fault.startswith("parser-http-") else "tcp"


@dataclass(frozen=True, slots=True)
class Found:
    """Seconds until something was found, or given up; the shares of a core of both sides."""

    at_s: float
    client: float
    target: float


def find(faults: Sequence[Sought], boofuzz: Boofuzz) -> bool:
    """Compare the times to a finding; True when ours takes at most a tenth in the middle."""
    ours = [_report("ours", fault, _ours(fault)) for fault in faults]
    middle = median(ours)
    workers = min(os.cpu_count() or 1, len(faults))
    late_s = middle / DUE * (SHARED if workers > 1 else 1.0)
    most_s = late_s + MARGIN_S
    given = f"boofuzz has {most_s:.0f} s for each fault, {workers} at a time"
    print(f"ours: median {middle:.1f} s; {given}", flush=True)
    theirs: list[float] = []
    with ThreadPoolExecutor(workers) as trials:
        found = trials.map(lambda fault: _theirs(fault, boofuzz, most_s), faults)
        for fault, each in zip(faults, found, strict=True):
            theirs.append(_report("boofuzz", fault, each, most_s))
            met = decide_lateness(late_s, theirs, len(faults))
            if met is not None:
                trials.shutdown(wait=False, cancel_futures=True)
                break
        else:
            met = late_s <= median(theirs)
    word = "met" if met else "MISSED"
    late = sum(their >= late_s for their in theirs)
    print(
        f"{word}: lean boofuzz took {late_s:.0f} s or longer for {late} of {len(theirs)} faults "
        f"({len(faults)} in all); its median is to be at least that, ten times ours"
    )
    return met


def decide_lateness(late_s: float, theirs: Sequence[float], faults: int) -> bool | None:
    """Return whether the median of their times is late enough; None while that is undecided."""
    late = sum(their >= late_s for their in theirs)
    if late > faults // 2:
        return True
    return False if len(theirs) - late > faults // 2 else None


def kinds(there: Grammar, interface: str) -> list[Kind]:
    """Return the kinds that both sides have: all on a way in."""
    return [kind for kind in there.kinds if kind.interface == interface]


def _report(who: str, sought: Sought, found: Found, most_s: float = OURS_S) -> float:
    late = "" if found.at_s < most_s else ", given up"
    shares = f"client {found.client:.2f}, target {found.target:.2f} of a core"
    name = f"{sought.protocol} {sought.fault}"
    print(f"  {who:<8}{name:<42}{found.at_s:6.1f} s   {shares}{late}", flush=True)
    return found.at_s


def _ours(sought: Sought) -> Found:
    """Find a fault as `wireproof fuzz` does, in this process, so that both sides are measured."""
    extra = ("--fault", sought.fault)
    fuzz_target = ReferenceTarget(sought.protocol, FuzzSessionOptions(f"f{SEED}"), extra)
    frames = _names(sought.protocol, sought.interface)
    plan = WorkerPlan(Choice(SEED, frames), time_s=OURS_S, stop_at_first=True, shrink=False)
    campaign = Campaign(plan=plan, fuzz_target=fuzz_target, listener=SilentListener())
    started, cpu, children = time.monotonic(), time.process_time(), _of_children()
    try:
        campaign.run()
    finally:
        fuzz_target.close()
    seconds = time.monotonic() - started
    findings = campaign.findings.by_id.values()
    times = [
        finding.at_s for finding in findings if finding.is_confirmed and not finding.unconfirmed
    ]
    client = (time.process_time() - cpu) / seconds
    return Found(min((OURS_S, *times)), client, (_of_children() - children) / seconds)


_DRAWING = threading.Lock()
"""Frames are drawn by one thread at a time."""


def _theirs(sought: Sought, boofuzz: Boofuzz, most_s: float) -> Found:
    running = start_alone(sought.protocol, ("--fault", sought.fault))
    try:
        with _DRAWING:
            fuzz_session = open_fuzz_session(read_target(running.url), FuzzSessionOptions("boo"))
            fuzz_session.health.close()
            where, given = address(fuzz_session, sought), task(fuzz_session, sought)
        before = usage(running.process.pid)
        told = boofuzz(where, most_s, given)
        after = usage(running.process.pid)
    finally:
        running.close()
    found, seconds = told.get("found_s"), told["seconds"]
    target = (after.cpu_s - before.cpu_s) / seconds if before and after else 0.0
    return Found(most_s if found is None else found, told["cpu_s"] / seconds, target)


@cache
def _names(protocol: str, interface: str) -> tuple[str, ...]:
    """Return the names of the kinds on a way in."""
    with _open_reference(protocol) as fuzz_session:
        return tuple(kind.name for kind in kinds(_grammar(fuzz_session), interface))


@contextmanager
def _open_reference(protocol: str) -> Iterator[FuzzSession]:
    """Start a reference for the caller alone."""
    running = start_alone(protocol)
    try:
        fuzz_session = open_fuzz_session(read_target(running.url), FuzzSessionOptions("boo"))
        fuzz_session.health.close()
        yield fuzz_session
    finally:
        running.close()


def _of_children() -> float:
    """Return the processor time of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def address(fuzz_session: FuzzSession, sought: Sought) -> Address:
    """Return where the frames go."""
    frames = tuple(kind.name for kind in kinds(_grammar(fuzz_session), sought.interface))
    return fuzz_session.oracle.address(fuzz_session.generation(Choice(SEED, frames)).case(0))


def task(fuzz_session: FuzzSession, sought: Sought) -> bytes:
    """Return the input of boofuzz as JSON: its frames, and how to check the target.

    There is one frame of every kind of the interface, with what comes first on its connection.
    """
    there = _grammar(fuzz_session)
    told: list[dict[str, object]] = []
    for kind in kinds(there, sought.interface):
        frame = Drawer(kind.strategy).draw(SEED)
        parts = [
            {**asdict(field), "data": frame.data[field.start : field.end].hex()}
            for field in frame.fields
        ]
        told.append({"kind": kind.name, "entry": _entry(there, kind).hex(), "fields": parts})
    name, begins = PUBLISHES[sought.protocol, sought.interface]
    publish = next(each for each in there.kinds if each.name == name)
    sent = [(_entry(there, publish) + each.data).hex() for each in _draw_frames(publish)]
    return json.dumps({"frames": told, "publishes": sent, "begins": begins}).encode()


def _draw_frames(kind: Kind) -> list[Frame]:
    """Draw valid frames of a kind; a server may refuse some for the names in them."""
    drawer = Drawer(kind.strategy)
    return [drawer.draw(seed) for seed in range(TRIES)]


def _entry(there: Grammar, kind: Kind) -> bytes:
    return b"".join(step.data for step in there.entry[kind.states[0]])


def _grammar(fuzz_session: FuzzSession) -> Grammar:
    generation = fuzz_session.generation(Choice(SEED))
    assert isinstance(generation, Generator), "nothing is drawn"
    return generation.grammar
