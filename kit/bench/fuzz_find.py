"""How long it takes until a fault of the reference's parser is found: ours beside lean boofuzz.

Both sides have the same frames, one of every kind over TCP, and both take the kinds in turns: by
itself boofuzz would send thousands of the first before it comes to the second. boofuzz looks
after every case whether a fresh connection's publish is answered, and has a reference of its own
for each fault; what it finds counts at once. Ours counts when it is confirmed, and has a minute
for each. Only faults that frames over TCP can show are looked for: boofuzz is given no others.

What is due is a ratio of medians. Ours is known first; whatever boofuzz finds later than ten times
that is as good as never, and when more than half of the faults are on one side of it, the rest
can change nothing: so it is given no more time than that, and no more faults.
"""

import json
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from wireproof_kit.fuzz.arena import ReferenceArena, open_grounds, start_alone
from wireproof_kit.fuzz.campaign import Campaign
from wireproof_kit.fuzz.door import Choice, Grounds, GroundsOptions
from wireproof_kit.fuzz.drawing import Drawer
from wireproof_kit.fuzz.generator import Generator
from wireproof_kit.fuzz.grammar import Grammar, Kind
from wireproof_kit.fuzz.plan import Plan
from wireproof_kit.fuzz.repeating import Deaf
from wireproof_kit.nsq.fuzz.grammar import grammar
from wireproof_kit.nsq.fuzz.names import Names
from wireproof_kit.protocols import read_target

OURS_S = 60.0
"""Seconds that ours has for a fault; not found counts as that."""
DUE = 0.1
MARGIN_S = 1.0
SEED = 1

Boofuzz = Callable[[str, str, float, bytes], dict[str, float]]
"""Runs boofuzz on a URL and a topic for so many seconds, with frames; returns what it told."""


@dataclass(frozen=True, slots=True)
class Found:
    """Seconds until something was found, or given up; the shares of a core of both sides."""

    at_s: float
    client: float
    target: float


def find(faults: Sequence[str], boofuzz: Boofuzz) -> bool:
    """Compare the times to a finding; True when ours takes at most a tenth in the middle."""
    ours = [_told("ours", fault, _ours(fault)) for fault in faults]
    middle = median(ours)
    most_s = middle / DUE + MARGIN_S
    print(f"ours: median {middle:.1f} s; boofuzz has {most_s:.0f} s for each fault", flush=True)
    theirs: list[float] = []
    for fault in faults:
        theirs.append(_told("boofuzz", fault, _theirs(fault, boofuzz, most_s), most_s))
        met = decided(middle, theirs, len(faults))
        if met is not None:
            break
    else:
        met = middle <= DUE * median(theirs)
    word = "met" if met else "MISSED"
    late = sum(each >= middle / DUE for each in theirs)
    print(
        f"{word}: lean boofuzz took ten times our median or longer for {late} of {len(theirs)} "
        f"faults ({len(faults)} in all); its median is to be at least that"
    )
    return met


def decided(middle: float, theirs: Sequence[float], faults: int) -> bool | None:
    """Tell whether their median over all faults is late enough; None while it may be either."""
    late = sum(each >= middle / DUE for each in theirs)
    if late > faults // 2:
        return True
    return False if len(theirs) - late > faults // 2 else None


def kinds(there: Grammar) -> list[Kind]:
    """Return the kinds that both sides have: all over TCP."""
    return [each for each in there.kinds if each.interface == there.talking]


def _told(who: str, fault: str, found: Found, most_s: float = OURS_S) -> float:
    late = "" if found.at_s < most_s else ", given up"
    shares = f"client {found.client:.2f}, target {found.target:.2f} of a core"
    print(f"  {who:<8}{fault:<42}{found.at_s:6.1f} s   {shares}{late}", flush=True)
    return found.at_s


def _ours(fault: str) -> Found:
    """Find a fault as `wireproof fuzz` does, in this process, so that both sides are measured."""
    arena = ReferenceArena("nsq", GroundsOptions(f"f{SEED}"), ("--fault", fault))
    frames = tuple(each.name for each in kinds(grammar(Names("wp_extended", "wp_plain"))))
    plan = Plan(Choice(SEED, frames), time_s=OURS_S, stop_at_first=True, shrink=False)
    campaign = Campaign(plan, arena, Deaf())
    started, cpu, children = time.monotonic(), time.process_time(), _of_children()
    try:
        campaign.run()
    finally:
        arena.close()
    seconds = time.monotonic() - started
    findings = campaign.findings.by_id.values()
    times = [each.at_s for each in findings if each.is_confirmed and not each.unconfirmed]
    client = (time.process_time() - cpu) / seconds
    return Found(min((OURS_S, *times)), client, (_of_children() - children) / seconds)


def _theirs(fault: str, boofuzz: Boofuzz, most_s: float) -> Found:
    children = _of_children()
    running = start_alone("nsq", ("--fault", fault))
    try:
        grounds = open_grounds(read_target(running.url), GroundsOptions("boo"))
        topic, frames = grounds.names["extended"], _drawn_frames(grounds)
        grounds.health.close()
        told = boofuzz(running.url, topic, most_s, frames)
    finally:
        running.close()
    found, seconds = told.get("found_s"), told["seconds"]
    target = (_of_children() - children - told["whole_cpu_s"]) / seconds
    return Found(most_s if found is None else found, told["cpu_s"] / seconds, target)


def _of_children() -> float:
    """Return the processor time of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _drawn_frames(grounds: Grounds) -> bytes:
    """Return a frame of every kind over TCP, as JSON, in a state in which it is in order."""
    generation = grounds.generation(Choice(SEED))
    assert isinstance(generation, Generator), "nothing is drawn"
    told: list[dict[str, object]] = []
    for kind in kinds(generation.grammar):
        frame = Drawer(kind.strategy).draw(SEED)
        parts = [
            {**asdict(each), "data": frame.data[each.start : each.end].hex()}
            for each in frame.fields
        ]
        entry = b"".join(step.data for step in generation.grammar.entry[kind.states[0]])
        told.append({"kind": kind.name, "entry": entry.hex(), "fields": parts})
    return json.dumps(told).encode()
