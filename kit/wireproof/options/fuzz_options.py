"""The options of ``wireproof fuzz``, as its help lists them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

import click

from wireproof.options.target_choice import key_options
from wireproof_kit.protocols import list_with_fuzzing
from wireproof_kit.targets.target import ROLES

SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


class FuzzOptions(TypedDict):
    """The options of ``wireproof fuzz``, by parameter name; the target is not among them."""

    reference: str | None
    command: str | None
    role: str | None
    protocol: str
    time_s: float | None
    cases: int | None
    seed: int | None
    workers: int
    frames: tuple[str, ...]
    exclude_frames: tuple[str, ...]
    states: tuple[str, ...]
    pid: int | None
    restart: str | None
    log: Path | None
    log_command: str | None
    corpus: Path | None
    baseline: Path | None
    bundle: Path | None
    hazardous: bool
    timeout: float | None
    stop_at_first: bool
    no_shrink: bool
    drawn: bool
    reference_option: tuple[str, ...]


def fuzz_options() -> Iterator[click.Option]:
    """Yield the options of ``wireproof fuzz`` in the order of its help."""
    file = click.Path(path_type=Path)
    known = click.Choice(list_with_fuzzing())
    yield click.Option(
        ["--reference"],
        is_flag=False,
        flag_value=known.choices[0],
        type=known,
        help="Fuzz the embedded reference broker.",
    )
    yield click.Option(["--exec", "command"], metavar="CMD", help="Command that starts a client.")
    yield click.Option(["--role"], type=click.Choice(ROLES), help="Client's role; default both.")
    default = known.choices[0]
    told = f"Client's protocol; default {default}."
    yield click.Option(["--protocol"], default=default, type=known, help=told)
    yield click.Option(
        ["--time", "time_s"],
        callback=_time,
        metavar="SEC|5m",
        help="Start no case after this time; default 60 s. Measurements before the first case "
        "count too; for a client or adapter they also stop then, for a broker they run to their "
        "end.",
    )
    count = click.IntRange(1)
    yield click.Option(["--cases"], type=count, metavar="N", help="Stop after N cases.")
    yield click.Option(
        ["--seed"], type=click.IntRange(0), metavar="N", help="Seed of all cases; default random."
    )
    yield click.Option(
        ["-n", "workers"],
        type=click.IntRange(1, 26),
        default=1,
        metavar="N",
        help="Number of processes; default 1.",
    )
    yield click.Option(
        ["--frames"],
        multiple=True,
        metavar="KIND",
        help="Only frame kinds with this prefix; repeatable.",
    )
    yield click.Option(
        ["--exclude-frames"],
        multiple=True,
        metavar="KIND",
        help="No frame kinds with this prefix; repeatable.",
    )
    yield click.Option(
        ["--states"],
        multiple=True,
        metavar="STATE",
        help="Only this connection state; repeatable.",
    )
    yield click.Option(["--drawn"], is_flag=True, help="Generate cases with Hypothesis; slower.")
    yield click.Option(
        ["--pid"], type=count, metavar="PID", help="Watch memory and open files of this process."
    )
    yield click.Option(["--restart"], metavar="CMD", help="Command that restarts the target.")
    yield click.Option(
        ["--log"], type=file, metavar="FILE", help="The target's log; quoted when it dies."
    )
    yield click.Option(
        ["--log-command"],
        metavar="CMD",
        help="Command that prints the target's log while it runs.",
    )
    yield click.Option(
        ["--corpus"],
        type=file,
        metavar="DIR",
        help="Folder for findings and progress; resumes from it.",
    )
    yield click.Option(["--baseline"], type=file, metavar="FILE", help="File of known findings.")
    yield click.Option(
        ["--bundle"], type=file, metavar="FILE", help="Bundle; default out/run-TIME-fuzz.jsonl."
    )
    yield click.Option(
        ["--hazardous"],
        is_flag=True,
        help="Allow remote targets, and frames that may change existing data.",
    )
    seconds = click.FloatRange(min=0, min_open=True)
    yield click.Option(
        ["--timeout"],
        type=seconds,
        metavar="SEC",
        help="Seconds to wait for an answer; default measured.",
    )
    yield click.Option(["-x", "stop_at_first"], is_flag=True, help="Stop at the first finding.")
    yield click.Option(["--no-shrink"], is_flag=True, help="Do not minimize findings.")
    yield click.Option(
        ["--reference-option"],
        multiple=True,
        metavar="'OPTION [VALUE]'",
        help="Option of `serve` for the reference, with its value; repeatable.",
    )
    yield from key_options("address", "flag", "file", "text")


def _time(context: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", value)
    if found is None or not float(found[1]):
        raise click.BadParameter(f"{value!r}: expected seconds, or e.g. 5m", context, param)
    return float(found[1]) * SECONDS[found[2]]
