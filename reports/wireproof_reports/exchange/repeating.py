"""The command by which a recorded case is shown again."""

import re
import shlex
from functools import lru_cache
from typing import Literal
from urllib.parse import parse_qs

from wireproof_reports.exchange.protocol import report_part
from wireproof_spec.clauses.catalogue import is_way
from wireproof_spec.protocol import Group, find_registered
from wireproof_spec.record import CaseRecord, HeaderRecord, TargetRecord

Way = Literal["replay", "run", "hazardous", "client", "judge"]
"""``wireproof replay``; ``run``, or ``run --hazardous``; ``client``; or ``judge``."""

REFERENCE = "reference"
"""What stands in place of a URL when the embedded reference was judged."""
SENT = frozenset({"send", "request"})
"""Kinds of the steps that are sent to a target."""
_LOGINS = frozenset({"tls", "auth_env"})
"""Options whose files and secrets a bundle does not hold; a replay asks for them."""
_FIRST_IN = re.compile(r"first in (\S+)$")
"""How the note of a way ends: with the case that showed it first."""


def way_again(case: CaseRecord, target: TargetRecord) -> Way:
    """Return the command that shows a case of a target again without more than the bundle.

    ``wireproof replay`` refuses what it cannot send, so a case is run again where nothing was
    sent, or the case did more than its record holds, or the target has no single address, or is
    reached by what the bundle does not hold. Of a way of messages the case that showed it first is
    run again. Traffic of a proxy is judged again as recorded.
    """
    if target.is_traffic() or (is_way(case.case) and not _FIRST_IN.search(case.note)):
        return "judge"
    if target.is_client():
        return "client"
    if is_way(case.case):
        return "run"
    if case.hazard:
        return "hazardous"
    sendable, beyond_record = _replayable(target.protocol, target.url, target.given)
    kinds = [step.kind for step in case.transcript.steps if step.kind in SENT]
    is_whole = sendable.issuperset(kinds) and not case.case.startswith(beyond_record)
    return "replay" if kinds and is_whole else "run"


@lru_cache(maxsize=16)  # asked for each case of a bundle
def _replayable(
    protocol: str, url: str, given: tuple[str, ...]
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the kinds of steps that a replay sends by a recorded URL, without further options.

    Beside them stand the beginnings of cases that no replay repeats.
    """
    part = report_part(protocol)
    if protocol not in find_registered(Group.REPLAYERS):
        return frozenset(), part.beyond_record
    if url == REFERENCE:
        return SENT, part.beyond_record
    parts = TargetRecord(url, protocol).parts()
    if not parts.hostname or _LOGINS.intersection(given):
        return frozenset(), part.beyond_record
    beside = part.addresses & set(given) - parse_qs(parts.query).keys()
    return SENT - {"request"} if beside else SENT, part.beyond_record


def repeat_command(case: CaseRecord, header: HeaderRecord, bundle_name: str) -> str:
    """Return the command that shows a case again: it replays, runs or judges the case.

    Traffic that passed a proxy is not the kit's to send: it is judged again as recorded.
    """
    way = way_again(case, header.target)
    if way == "judge" and bundle_name:
        return f"wireproof judge {harmless(bundle_name)}"
    if way == "replay" and bundle_name:
        return f"wireproof replay {harmless(case.case)} --bundle {harmless(bundle_name)}"
    return run_again(case, header)


def run_again(case: CaseRecord, header: HeaderRecord) -> str:
    """Return the command that runs one case again, with the options of the recorded run.

    The case stands in the place of what the run selected, which would all run again beside it. In
    place of a way of messages stands the case that showed it first, and the clause: without it,
    the way would be shown, but not counted.
    """
    target, words = _target_words(header.target), _command_words(header)
    options: list[str] = []
    if words[: len(target)] == target:
        options = words[len(target) :]
        options = options[_count_selected(options, header) :]
    if "-k" in options:  # with a value; it could leave the case out
        at = options.index("-k")
        options = options[:at] + options[at + 2 :]
    if case.hazard and not header.target.is_client() and "--hazardous" not in options:
        options = [*options, "--hazardous"]
    first = _FIRST_IN.search(case.note) if is_way(case.case) else None
    chosen = [first[1], case.clause] if first is not None else [case.case]
    return " ".join(map(quote, [*target, *chosen, *options]))


def _command_words(header: HeaderRecord) -> list[str]:
    """Return the words of the recorded command; none if no shell would take it."""
    try:
        return shlex.split(header.command)
    except ValueError:
        return []


def _count_selected(words: list[str], header: HeaderRecord) -> int:
    """Return how many words at the beginning select cases: ids, or a reference's protocol."""
    for selected in (list(header.selection), [header.target.protocol]):
        if selected and words[: len(selected)] == selected:
            return len(selected)
    return 0


def _target_words(target: TargetRecord) -> list[str]:
    """Return the words with which the command begins that judges a target."""
    if target.is_client():
        command = target.url.partition(":")[2]
        return ["wireproof", "client", "--protocol", target.protocol, "--exec", command]
    return ["wireproof", "run", f"--{REFERENCE}" if target.url == REFERENCE else target.url]


def target_command(target: TargetRecord) -> str:
    """Return the command line that judges a target, without options or a selection."""
    return " ".join(map(quote, _target_words(target)))


def quote(text: str) -> str:
    """Return a word quoted for a shell; what cannot be printed is replaced."""
    return shlex.quote(text if text.isprintable() else harmless(text))


def harmless(name: str) -> str:
    """Return a name with every character replaced that needs quoting in a shell or a path."""
    return re.sub(r"[^\w./#@%+,:-]", "_", name)
