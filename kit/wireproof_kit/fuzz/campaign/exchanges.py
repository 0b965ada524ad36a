"""Exchanges for findings: what cases send, planned, or recorded while it is sent once more."""

import time
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.fuzz.send.engine import Engine
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.step_notes import EXERCISE, RESTARTED


def planned_exchange(cases: Sequence[Case], enter: Callable[[str], Sequence[Step]]) -> Transcript:
    """Return a transcript of the bytes that cases would send, without sending them.

    ``enter`` returns the steps that bring a connection into a state.
    """
    transcript = Transcript()
    for case in cases:
        if _is_noted(case, transcript):
            continue
        names: dict[int, str] = {}
        for step in case.steps:
            if step.connection not in names:
                names[step.connection] = name = transcript.connection_label()
                transcript.add("open", name)
                for first in enter(case.state):
                    transcript.add("send", name, data=first.data)
            transcript.add("send", names[step.connection], data=step.data)
        for name in names.values():
            transcript.add("close", name, note="sending direction only")
    return transcript


def _is_noted(case: Case, transcript: Transcript) -> bool:
    """Note a case that sends nothing itself; return False for any other case."""
    if not (case.is_restart or case.exercise):
        return False
    transcript.add("note", "", note=RESTARTED if case.is_restart else EXERCISE + case.exercise)
    return True


RECORDINGS: Final = 3
"""How often cases are sent to record a transcript that shows the finding.

It showed in most of several runs before.
"""
NOT_SHOWN: Final = "the finding did not show in this run, which is recorded for its bytes only"

Recorded: TypeAlias = tuple[Transcript, set[str]]
"""The transcript of cases that were sent, and the rules that the target violated."""


def record_until_shown(
    record: Callable[[], Recorded], *, wanted: str | None, is_over: Callable[[], bool]
) -> Transcript:
    """Call ``record`` until a transcript shows the wanted rule violated, a few times at most.

    Return the last transcript, with a note if it does not show that.
    """
    transcript, shown = record()
    for _ in range(RECORDINGS - 1):
        if wanted is None or wanted in shown or is_over():
            break
        transcript, shown = record()
    if wanted is not None and wanted not in shown:
        transcript.add("note", "", note=NOT_SHOWN)
    return transcript


def record_once(
    cases: Sequence[Case],
    engine: Callable[[], Engine | None],
    restart: Callable[[Case], Sequence[Anomaly]],
    until: float,
    *,
    watched: bool = False,
) -> Recorded:
    """Send cases one by one until a time; return the transcript and the violated rules.

    Exercises of the kit's own clients take seconds, and are noted only.

    ``engine`` returns the engine that sends the next case: it changes at a ``restart`` of the
    target. `watched`: the cases use the names from which the kit receives messages.
    """
    transcript, shown = Transcript(), set[str]()
    for case in cases:
        sender = engine()
        if _is_noted(case, transcript):
            raised = restart(case) if case.is_restart else ()
            shown |= {each.trouble.violated for each in raised}
        elif sender is not None:
            if watched:
                case = sender.fuzz_session.oracle.use_watched_names(sender.renaming.case(case))
            found = sender.perform_one(case, transcript)
            shown |= {found.trouble.violated} if found is not None else set()
        if time.monotonic() > until:
            break
    return transcript, shown
