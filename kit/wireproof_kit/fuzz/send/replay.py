"""Sends many cases again as a campaign did: in batches, with held ones open beside them."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Final

from wireproof_kit.fuzz.campaign.batches import BATCH
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.generate.held_cases import HOLD_S
from wireproof_kit.fuzz.oracle.rules import DEAD
from wireproof_kit.fuzz.send import pump
from wireproof_kit.fuzz.send.engine import SILENCES, Engine
from wireproof_kit.fuzz.triage.anomaly import Anomaly

POLL_S: Final = 0.2


def replay(
    engine: Engine,
    cases: Sequence[Case],
    *,
    watch: bool,
    wait_s: float,
    is_over: Callable[[], bool],
) -> list[Anomaly]:
    """Send cases until the target dies, then wait `wait_s`; return the last batch's anomalies.

    If the target dies while nothing is sent, the batch of the anomaly is empty.
    """
    # On a busy machine three answers are late soon; then the sixtieth case was never sent.
    engine.is_brief, engine.most_silences = True, math.inf
    try:
        return _replay(engine, cases, watch=watch, wait_s=wait_s, is_over=is_over)
    finally:
        engine.is_brief, engine.most_silences = False, SILENCES
        engine.close()


def _replay(
    engine: Engine,
    cases: Sequence[Case],
    *,
    watch: bool,
    wait_s: float,
    is_over: Callable[[], bool],
) -> list[Anomaly]:
    for start in range(0, len(cases), BATCH):
        ready = engine.sort_batch(cases[start : start + BATCH], watch=watch)
        found = engine.perform_sorted(ready, patient=False, meanwhile=iter(()))
        if _is_dead(found) or is_over():
            return found
    held_s = HOLD_S + POLL_S if any(case.is_held for case in cases) else 0.0
    deadline = time.monotonic() + max(wait_s, held_s)
    while time.monotonic() < deadline and not is_over():
        pump.move_bytes((), POLL_S)
        found = engine.perform((), watch=False, patient=False)
        if _is_dead(found):
            return found
    return []


def _is_dead(found: Sequence[Anomaly]) -> bool:
    return any(each.trouble.violated == DEAD for each in found)
