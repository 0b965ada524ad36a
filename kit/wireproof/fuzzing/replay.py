"""Repeating a finding of the fuzzer: its cases sent again and judged, on fresh connections."""

import json
from dataclasses import dataclass
from pathlib import Path

from wireproof.options.global_options import manner
from wireproof.options.target_choice import REFERENCE
from wireproof.replaying.find_case import SHORTEST_SIGNATURE, newest_bundle
from wireproof.replaying.replay_target import choose_url
from wireproof.view.exchange import whole_exchange
from wireproof.view.output import echo
from wireproof_kit.bundle.file import Bundle, read_bundle
from wireproof_kit.errors import KitError, UsageFault
from wireproof_kit.fuzz.campaign.workers import TargetChoice
from wireproof_kit.fuzz.case import RESTART
from wireproof_kit.fuzz.oracle.rules import FILES, MEMORY
from wireproof_kit.fuzz.triage.confirm import Repetitions, repeat_finding
from wireproof_kit.protocols import find_off_loopback, read_target
from wireproof_kit.runner.records import transcript_record
from wireproof_kit.targets.process import find_process
from wireproof_kit.targets.target import ROLE
from wireproof_spec.fuzz_record import FindingRecord

MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Repetition:
    """The settings for sending a finding again: which one, to what target, and how often."""

    bundle: Bundle
    finding: FindingRecord
    to: str | None
    keys: tuple[tuple[str, str], ...]
    times: int
    hazardous: bool
    restart: str | None = None
    pid: int | None = None


def find_finding(what: str, bundle: Path | None) -> tuple[Bundle, FindingRecord] | None:
    """Return the fuzz finding whose id begins with `what`, with its bundle; None if there is none.

    Raises:
        UsageFault: several findings match.
    """
    path = Path(what)
    if path.is_file():
        found = read_bundle(path)
        alike = () if found.cases else found.findings
    elif len(what) < SHORTEST_SIGNATURE:
        return None
    else:
        found = read_bundle(bundle or newest_bundle())
        alike = tuple(finding for finding in found.findings if finding.id.startswith(what))
    if len(alike) > 1:
        named = ", ".join(each.id for each in alike[:MOST_NAMED])
        more = ", …" * (len(alike) > MOST_NAMED)
        raise UsageFault(f"{what}: expected one finding, found {len(alike)}: {named}{more}")
    return (found, alike[0]) if alike else None


def replay_finding(repetition: Repetition) -> int:
    """Send the cases of a fuzz finding again; return 0 if it shows every time, else 1."""
    done = repeat_finding(_place(repetition), repetition.finding, repetition.times)
    return _report(repetition, done)


def _place(repetition: Repetition) -> TargetChoice:
    header = repetition.bundle.header
    url = choose_url(repetition.bundle, repetition.to, repetition.keys)
    role = header.target.fingerprint.get(ROLE)
    keys = (*repetition.keys, *([(ROLE, role)] if role and url == header.target.url else []))
    token = f"f{header.seed}"
    if url == REFERENCE:
        return TargetChoice(protocol=header.target.protocol, token=token)
    target = read_target(url, keys)
    if target.protocol != header.target.protocol:
        raise UsageFault(f"{url}: expected a target of protocol {header.target.protocol}")
    if not repetition.hazardous and (far := find_off_loopback(target)):
        raise UsageFault(
            f"finding {repetition.finding.id} may kill {far}; give --hazardous to send it"
        )
    finding = repetition.finding
    if repetition.restart is None and any(case.field == RESTART for case in finding.cases):
        raise UsageFault(f"finding {finding.id} restarts the target; give --restart CMD to do so")
    if repetition.pid is not None:
        find_process(repetition.pid)
    elif finding.violated in (FILES, MEMORY):
        kept = "open files" if finding.violated == FILES else "memory"
        raise UsageFault(
            f"finding {finding.id} is about the {kept} of the target's process: "
            "give the id of that process on this machine with --pid PID"
        )
    return TargetChoice(
        url=url, keys=keys, token=token, restart=repetition.restart, pid=repetition.pid
    )


def _report(repetition: Repetition, done: Repetitions) -> int:
    finding, shown = repetition.finding, done.shown
    count = sum(shown)
    if not shown:
        raise KitError(f"finding {finding.id} could not be sent")
    if manner().json:
        told = {"finding": finding.id, "violated": finding.violated, "died": done.died}
        echo(json.dumps({**told, "shown": count, "runs": len(shown)}, indent=2))
    else:
        case = finding.cases[-1]
        echo(f"replay   {finding.id}  {finding.violated}  {case.frame} {case.field}")
        if not manner().quiet:
            protocol = repetition.bundle.header.target.protocol
            record = transcript_record(done.transcript)
            for line in whole_exchange(record, protocol, all_bytes=manner().verbose > 1):
                echo(line)
        more = "; the target is dead" if done.died else ""
        if not count:
            more = f"{more}; the finding no longer shows against this target"
        echo(f"the finding showed in {count} of {len(shown)} replays{more}")
    return 0 if count == len(shown) else 1
