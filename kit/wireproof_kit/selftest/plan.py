"""The trials of a selftest: faults, variants and mixes of variants that the reference lists."""

import random
import shlex
import subprocess
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from wireproof_kit.errors import KitError, UsageFault
from wireproof_kit.runner.instance import Instance
from wireproof_kit.targets.interpreter import module_command
from wireproof_spec.protocol import Group, entry_point

FAULT = "fault"
PARSER = "parser"
VARIANT = "variant"
ALTERNATIVE = "alternative"
MIX = "mix"
CONDITION = "condition"
"""The way of a fault that is wrong in some circumstances only."""
LIST_WITHIN_S = 300.0
MIXES = 50
LEAST_MIXED, MOST_MIXED = 2, 6
SAMPLED_VARIANTS = 3


class Trial(msgspec.Struct, frozen=True):
    """One test of the kit: a broker with some switches on, and the clauses that these break.

    ``kind`` is fault, variant, alternative or mix; ``way`` in what way a fault is wrong;
    ``may_break`` are the clauses that it may turn red besides, from the lock file of the faults;
    ``not_with`` which variants a variant is never mixed with; ``lacks`` which capabilities an
    alternative lacks. Cases that must not fail are all run if ``every`` is true; otherwise one set
    of parameters of each case function, another one in each trial. ``candidates`` are faults
    limited to the same circumstances, tried in turn until one does something there.
    """

    name: str
    kind: str
    switches: tuple[str, ...]
    breaks: tuple[str, ...] = ()
    may_break: tuple[str, ...] = ()
    text: str = ""
    way: str = ""
    not_with: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    every: bool = True
    candidates: tuple[str, ...] = ()

    def options(self) -> list[str]:
        """Return the command line options of the reference that turn the switches on."""
        option = "--fault" if self.kind == FAULT else "--variant"
        return [word for name in self.switches for word in (option, name)]


class RedCase(msgspec.Struct, frozen=True):
    """A case that failed in a trial of the selftest, where it should not have failed."""

    case: str
    clause: str
    verdict: str
    observation: str
    reason: str


class TrialResult(msgspec.Struct, frozen=True):
    """The result of a trial: which cases failed, and whether they should have.

    ``red`` maps each failed clause to the first case that failed; ``survived`` are the clauses
    that the fault must break but no case found broken; ``spared`` counts cases not run since their
    clause had failed already. ``trouble`` says why the trial could not be run. ``idle`` is True if
    the fault was limited to circumstances (such as one partition) that no case brought about.
    ``shown`` are, for a legal variant, the readings that it follows and the accepted observations
    of must cases that it showed. ``lacking`` maps each capability that a legal variant lacks to
    the first case that was not run for this reason. ``first`` says how the trial ended wrongly
    beside others, before it was repeated alone; empty if it was not.
    """

    trial: Trial
    red: dict[str, str] = {}
    survived: tuple[str, ...] = ()
    unexpected: tuple[RedCase, ...] = ()
    cases: int = 0
    spared: int = 0
    seconds: float = 0.0
    trouble: str = ""
    idle: bool = False
    shown: tuple[str, ...] = ()
    lacking: dict[str, RedCase] = {}
    first: str = ""

    @property
    def verdict(self) -> str:
        """Return ``died``, ``survived``, ``lived``, ``unexpected``, ``alarm`` or ``trouble``."""
        if self.trouble:
            return "trouble"
        if self.trial.kind != FAULT:
            return "alarm" if self.unexpected else "lived"
        if self.survived:
            return "survived"
        return "unexpected" if self.unexpected else "died"

    @property
    def is_wrong(self) -> bool:
        """Return True if the kit judged wrongly, or the trial could not be run."""
        return self.verdict not in ("died", "lived")

    def describe(self) -> str:
        """Return the verdict with the clauses or cases that it is about, in one line."""
        about = (*self.survived, *(each.case for each in self.unexpected), self.trouble)
        return f"{self.verdict}: {', '.join(filter(None, about))}"


def list_trials(protocol: str, kind: str, *, of_client: bool = False) -> tuple[Trial, ...]:
    """Return the faults or permitted variants that the reference lists, as trials.

    Faults of its parser are left out, since the fuzzer has to find them. ``of_client``: those of
    the example client.

    Raises:
        KitError: the reference does not list them.
    """
    listed = _query_reference(protocol, f"--list-{kind}s", of_client=of_client)
    lines = (line for line in listed.splitlines() if line.split("\t")[1] != PARSER)
    return tuple(_trial(line, kind) for line in lines)


def find_lock(protocol: str, *, of_client: bool) -> Path:
    """Return the path of the lock file, which says what faults turn red besides their clauses.

    Raises:
        KitError: the reference does not tell it.
    """
    return Path(_query_reference(protocol, "--lock-file", of_client=of_client).strip())


def _query_reference(protocol: str, option: str, *, of_client: bool) -> str:
    """Return what the reference broker or the example client prints for an option."""
    command = module_command("wireproof", "serve", protocol, option)
    if of_client:
        command = module_command(entry_point(Group.CLIENTS, protocol).module, option)
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIST_WITHIN_S, check=False
    )
    if done.returncode:
        raise KitError(f"`{shlex.join(command[2:])}` failed: {done.stderr.strip()}")
    return done.stdout


def random_mixes(variants: Sequence[Trial], *, seed: int, count: int = MIXES) -> tuple[Trial, ...]:
    """Return ``count`` trials, each with a random mix of permitted variants of the reference."""
    source = random.Random(seed)
    return tuple(_mix(variants, source, number) for number in range(1, count + 1))


def joint_trials(alternatives: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return trials that turn on several alternatives each, as many as can be combined.

    An alternative that lacks a capability stays alone: it would hide cases from the others.
    """
    groups: list[list[Trial]] = []
    for each in (trial for trial in alternatives if not trial.lacks):
        fitting = (g for g in groups if not any(_are_apart(each, other) for other in g))
        group = next(fitting, None)
        if group is None:
            groups.append([each])
        else:
            group.append(each)
    joint = [group for group in groups if len(group) > 1]
    return tuple(_joint(group, number) for number, group in enumerate(joint, start=1))


def sample_trials(
    trials: Sequence[Trial], *, seed: int, clauses: Collection[str] | None = None
) -> tuple[Trial, ...]:
    """Return a sample: for each clause a fault that breaks it, and a few variants and mixes.

    ``clauses`` are those that need a fault; None means all that have one. A trial that is added
    to the others changes little of the sample.
    """

    def by_chance(trial: Trial) -> int:
        # A random shuffle would draw all anew for each new fault, and what the sample had shown
        # of the kit would be worth nothing for the next one.
        return zlib.crc32(f"{seed} {trial.name}".encode())

    faults = sorted((trial for trial in trials if trial.kind == FAULT), key=by_chance)
    broken = {clause for fault in faults for clause in fault.breaks}
    if clauses is not None:
        broken.intersection_update(clauses)
    kept: set[str] = set()
    while broken:
        best = max(faults, key=lambda fault: len(broken.intersection(fault.breaks)))
        kept.add(best.name)
        broken -= set(best.breaks)
    for kind in (VARIANT, ALTERNATIVE, MIX):
        drawn = sorted((trial for trial in trials if trial.kind == kind), key=by_chance)
        kept.update(trial.name for trial in drawn[:SAMPLED_VARIANTS])
    return tuple(trial for trial in trials if trial.name in kept)


def select_trials(
    trials: Sequence[Trial], ids: Collection[str], instances: Sequence[Instance]
) -> tuple[Trial, ...]:
    """Return the trials selected by ids: names of trials, or prefixes of clause or case ids.

    Raises:
        UsageFault: an id selects nothing.
    """
    if not ids:
        return tuple(trials)
    kept: set[str] = set()
    for id in ids:
        clauses = {item.clause.id for item in instances if item.is_selected_by(id)}
        found = {t.name for t in trials if t.name == id or clauses.intersection(t.breaks)}
        if not found:
            raise UsageFault(
                f"{id!r} selects no fault and no variant{_near(id, trials, instances)}"
            )
        kept |= found
    return tuple(trial for trial in trials if trial.name in kept)


def _near(id: str, trials: Sequence[Trial], instances: Sequence[Instance]) -> str:
    """Return the most similar id of the same kind: a clause, a case or a trial."""
    import difflib

    if "." in id:
        known = {item.clause.id for item in instances}
    elif "/" in id:
        known = {item.id for item in instances}
    else:
        known = {trial.name for trial in trials}
    near = difflib.get_close_matches(id, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else " (see `wireproof selftest --help`)"


def _mix(variants: Sequence[Trial], source: random.Random, number: int) -> Trial:
    wanted = source.randint(LEAST_MIXED, MOST_MIXED)
    names = tuple(_compatible(source.sample(variants, len(variants)), wanted))
    return Trial(f"mix-{number:02}", MIX, names, text=" + ".join(names))


def _compatible(shuffled: Sequence[Trial], wanted: int) -> Iterator[str]:
    taken: list[Trial] = []
    for variant in shuffled:
        if len(taken) == wanted:
            return
        if not any(_are_apart(variant, other) for other in taken):
            taken.append(variant)
            yield variant.name


def _joint(group: Sequence[Trial], number: int) -> Trial:
    names = tuple(each.name for each in group)
    return Trial(f"together-{number:02}", ALTERNATIVE, names, text=" + ".join(names))


def _are_apart(one: Trial, other: Trial) -> bool:
    return one.name in other.not_with or other.name in one.not_with


def _trial(line: str, kind: str) -> Trial:
    name, listed, clauses, text, last = line.split("\t")
    kind = ALTERNATIVE if listed == ALTERNATIVE else kind
    words = [word for word in clauses.split(",") if word]
    return Trial(
        name,
        kind,
        (name,),
        breaks=tuple(word for word in words if not word.endswith("?") and kind == FAULT),
        may_break=tuple(word.removesuffix("?") for word in words if word.endswith("?")),
        text=text,
        way=last if kind == FAULT else "",
        not_with=tuple(last.split(",")) if kind != FAULT and last else (),
        lacks=() if kind == FAULT else tuple(words),
    )
