"""What a user asks of a run, typed: the command line and the pytest plug-in both make one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from wireproof_kit.errors import UsageFault
from wireproof_kit.runner.repeats import MOST_REPEATS
from wireproof_kit.runner.run import RunPlan
from wireproof_kit.targets.process import TargetProcess
from wireproof_spec.clauses.origin import BINDING, Binding

LONGEST_S = 86400
CASE_TIMEOUT_S = 120.0
CLIENTS_AT_ONCE = 6
"""Cases of a client that may wait at once by default: each starts a process of its own."""
_CLAIMS = {"true": True, "false": False, "yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How the engine runs cases; times are in seconds.

    ``repeats`` is the number of runs of a failing case; with 1, a failure that was seen once
    counts. ``most_repeats`` limits the further runs of all cases together. ``waiters`` is the
    number of cases that may wait at once. ``restart`` starts a dead target again, and returns
    whether that succeeded; ``process`` is the target's process, if the user named it. After
    ``hurry_after`` overdue failures, or earlier, the kit waits as briefly as it can: a target that
    answers nothing would keep the kit waiting for hours. A ``patient`` run never does so.
    ``transcripts``: records keep the bytes sent and received.
    """

    repeats: int = 5
    most_repeats: int = MOST_REPEATS
    hurry_after: int = 40
    patient: bool = False
    waiters: int = 16
    case_timeout_s: float = CASE_TIMEOUT_S
    restart: Callable[[], bool] | None = None
    process: TargetProcess | None = None
    transcripts: bool = True


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a user asks a run to do: the selection, the options and the outputs.

    ``maxfail`` is the number of failures that end the run. ``baseline`` is the deviations file.
    ``bundle`` is the file to write. With ``allow_unstable``, undecided and unstable cases do not
    affect the exit code.
    """

    plan: RunPlan
    engine: RunOptions = field(default_factory=RunOptions)
    maxfail: int | None = None
    baseline: Path | None = None
    bundle: Path | None = None
    allow_unstable: bool = False


def read_claims(items: Iterable[str]) -> dict[str, bool]:
    """Return the claims in texts NAME=true|false|probe; ``probe`` means no claim.

    Raises:
        UsageFault: a text has another form.
    """
    claims: dict[str, bool] = {}
    for item in items:
        name, value = _pair("--claim", item, "NAME=true|false|probe")
        if value in _CLAIMS:
            claims[name] = _CLAIMS[value]
        elif value != "probe":
            raise UsageFault(f"--claim {item!r}: expected true, false or probe; found {value!r}")
    return claims


def read_origins(text: str | None, where: str = "--origin") -> tuple[Binding, ...]:
    """Return the origins in a text such as ``text,base``; None means all.

    A failed must clause counts only if its origin is among them.

    Raises:
        UsageFault: the text names no origin, or one that a must cannot have.
    """
    names = BINDING if text is None else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in BINDING:
            raise UsageFault(
                f"{where} {text!r}: expected {', '.join(BINDING)} or some of them, separated by "
                f"commas; found {name!r}"
            )
    return tuple(name for name in BINDING if name in names)


def read_topics(items: Iterable[str]) -> dict[str, str]:
    """Return topic names by kind from texts KIND=NAME.

    Raises:
        UsageFault: a text has another form.
    """
    return dict(_pair("--topic", item, "KIND=NAME") for item in items)


def check_seconds(option: str, value: float | None) -> float | None:
    """Return the seconds given with an option, or None.

    Raises:
        UsageFault: the seconds are not more than 0 and less than a day.
    """
    if value is not None and not 0 < value < LONGEST_S:
        raise UsageFault(
            f"{option} '{value:g}': expected more than 0 and less than {LONGEST_S} seconds"
        )
    return value


def _pair(option: str, item: str, form: str) -> tuple[str, str]:
    name, equals, value = item.partition("=")
    if not (name and equals and value):
        raise UsageFault(f"{option} {item!r}: expected {form}")
    return name, value
