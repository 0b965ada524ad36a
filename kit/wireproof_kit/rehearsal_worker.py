"""A process that rehearses: a trial a line on stdin, what it showed a line on stdout."""

import gc
import os
import signal
import sys
import time
from types import FrameType

import msgspec

from wireproof_kit.collecting import collect
from wireproof_kit.errors import KitError
from wireproof_kit.history import LIGHT, PROFILE
from wireproof_kit.instance import Instance
from wireproof_kit.rehearsal import rehearse
from wireproof_kit.rehearsal_nursery import Nursery
from wireproof_kit.rehearsal_trials import FAULT, Shown, Trial

ENDED = 143
USUAL = "ci"
SELDOM = 50_000


def main(protocol: str) -> None:
    """Rehearse until stdin ends; whoever started this process decides when it is over."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what a case may print is no answer
    instances = collect(protocol)
    gc.freeze()  # what is there now stays: looking through it again and again costs a tenth
    gc.set_threshold(SELDOM)
    with Nursery(protocol) as nursery:
        for line in sys.stdin.buffer:
            trial = msgspec.json.decode(line, type=Trial)
            shown = _rehearsed(trial, protocol, instances, nursery=nursery)
            try:
                out.write(msgspec.json.encode(shown) + b"\n")
            except BrokenPipeError:
                return  # nobody wants to know any more


def _end(number: int, frame: FrameType | None) -> None:
    """End in order: whatever was started is ended too."""
    sys.exit(ENDED)


def _rehearsed(
    trial: Trial, protocol: str, instances: tuple[Instance, ...], *, nursery: Nursery
) -> Shown:
    os.environ[PROFILE] = USUAL if trial.kind == FAULT else LIGHT
    started = time.monotonic()
    try:
        with nursery.reference(trial.options()) as url:
            shown = rehearse(trial, url, protocol, instances)
    except KitError as error:
        shown = Shown(trial, trouble=str(error))
    return msgspec.structs.replace(shown, seconds=round(time.monotonic() - started, 2))


if __name__ == "__main__":
    main(sys.argv[1])
