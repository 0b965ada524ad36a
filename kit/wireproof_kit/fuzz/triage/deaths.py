"""The finding for deaths of the target that no case explains."""

from collections.abc import Sequence
from typing import Final

from wireproof_kit.fuzz.campaign.target_history import Death
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.fuzz.oracle.rules import DEAD
from wireproof_kit.fuzz.triage.finding import Finding, Signature
from wireproof_kit.wire.transcript import Transcript

NOT_ATTRIBUTED: Final = Signature(DEAD, NOTHING_SENT, "not attributed", DEAD)
WHY: Final = "not attributed to a case"
MOST_CAUSES: Final = 64
MOST_SHOWN: Final = 4


def likely_causes(deaths: Sequence[Death]) -> tuple[Case, ...]:
    """Return the cases whose connections were open when the target last died."""
    return deaths[-1].suspects[-MOST_CAUSES:]


def finding_of_deaths(deaths: Sequence[Death], seed: int, exchange: Transcript) -> Finding:
    """Return one finding for all deaths that no case explains; confirmed if there are several."""
    return Finding(
        NOT_ATTRIBUTED,
        Trouble(DEAD, describe_deaths(deaths)),
        seed,
        likely_causes(deaths),
        len(deaths) if len(deaths) > 1 else 0,
        len(deaths),
        exchange,
        deaths[0].at_s,
        seen=len(deaths),
        unconfirmed=WHY,
        log=deaths[-1].words,
    )


def describe_deaths(deaths: Sequence[Death]) -> str:
    """Return how often and when the target died, and what its deaths have in common."""
    times = describe_times([death.at_s for death in deaths])
    up = _range([death.up_s for death in deaths])
    cases = _range([float(death.cases) for death in deaths])
    since = f"each {up} s and {cases} cases after its start"
    common = frozenset[tuple[str, str]].intersection(*(death.traffic for death in deaths))
    shown = ", ".join(f"{frame} in {state}" for state, frame in sorted(common)[:MOST_SHOWN])
    what = f"open in all: {shown}" if shown else "no frame was open in all of them"
    return f"died {times}; not yet attributed; {since}; {what}"


def describe_times(seconds: Sequence[float]) -> str:
    """Return how often something happened, and how many seconds into the campaign."""
    times = "once" if len(seconds) == 1 else f"{len(seconds)} times"
    when = ", ".join(f"{at:.0f}" for at in seconds[:MOST_SHOWN])
    more = " …" if len(seconds) > MOST_SHOWN else ""
    return f"{times} (at {when}{more} s)"


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low} to {high}"
