"""The options of ``wireproof run``, as its help lists them."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click

from wireproof.options.target_choice import key_options
from wireproof_kit.runner.request import CLIENTS_AT_ONCE, RunOptions, read_origins
from wireproof_spec.clauses.catalogue import LEVELS
from wireproof_spec.clauses.origin import BINDING
from wireproof_spec.record import ReadingChoice

_FILE = click.Path(path_type=Path)


def run_options() -> Iterator[click.Option]:
    """Yield the options of ``wireproof run`` in the order of its help."""
    yield click.Option(["--reference"], is_flag=True, help="Judge the embedded reference broker.")
    yield from _judging_options()
    yield from _selecting_options()
    yield from _target_options()
    yield from _course_options(
        "Seconds to wait for an answer; default auto.", at_once=RunOptions().waiters
    )
    yield from _file_options()


def client_options() -> Iterator[click.Option]:
    """Yield those options of ``wireproof run`` that also apply when a client is judged."""
    yield from _judging_options()
    yield from _selecting_options()
    yield _claim_option()
    yield from _course_options(
        "Seconds that the client may take to connect (default 30), and that a case may take at "
        "least (default 6 to 15, up to fourfold on a busy machine).",
        at_once=CLIENTS_AT_ONCE,
    )
    yield from _file_options()


FAILURES_ONLY_HELP = "Print lines only for failures that count and for undecided cases."
ORIGINS_HELP = f"Count only musts of these origins: {', '.join(BINDING)}, separated by commas"


def _judging_options() -> Iterator[click.Option]:
    levels, readings = click.Choice(LEVELS), click.Choice(get_args(ReadingChoice))
    yield click.Option(
        ["--profile"], type=levels, help="Failures up to this level count; default must."
    )
    yield click.Option(
        ["--origin"], metavar="ORIGINS", callback=_origins, help=f"{ORIGINS_HELP}; default all."
    )
    yield click.Option(
        ["--reading"], type=readings, help="Accept this reading of the text; default any."
    )
    yield click.Option(
        ["--spec-rev"],
        type=click.IntRange(1),
        metavar="N",
        help="Only clauses of revision N or earlier.",
    )
    yield click.Option(
        ["--baseline"], type=_FILE, metavar="FILE", help="File of known deviations."
    )
    yield click.Option(
        ["--allow-unstable"], is_flag=True, help="Ignore undecided and unstable cases."
    )


def _selecting_options() -> Iterator[click.Option]:
    yield click.Option(
        ["-k", "expression"], metavar="EXPR", help="Only cases that match, as in pytest."
    )
    yield click.Option(
        ["--exclude"], multiple=True, metavar="ID", help="Leave these cases out; repeatable."
    )
    yield click.Option(
        ["--lf", "last_failed"], is_flag=True, help="Only cases that failed last time."
    )
    yield click.Option(["--dry-run"], is_flag=True, help="List the cases; connect to nothing.")


def _target_options() -> Iterator[click.Option]:
    yield from key_options()
    yield click.Option(
        ["--plan", "is_plan"],
        is_flag=True,
        help="Say what a run would create, send and endanger; connect to nothing.",
    )
    yield click.Option(
        ["--topic"],
        multiple=True,
        metavar="KIND=NAME",
        help="Use this topic; create none of its kind.",
    )
    yield _claim_option()
    yield click.Option(
        ["--pid"],
        type=click.IntRange(1),
        metavar="PID",
        help="The broker's process: its end is a crash, though another may follow at once.",
    )
    yield click.Option(
        ["--restart"],
        metavar="CMD",
        help="Command that starts a dead target again at its address, and returns with 0.",
    )
    yield click.Option(["--hazardous"], is_flag=True, help="Allow crash cases on remote targets.")


def _claim_option() -> click.Option:
    return click.Option(
        ["--claim"],
        multiple=True,
        metavar="NAME=true|false|probe",
        help="Declare a capability; repeatable.",
    )


def _course_options(waits: str, *, at_once: int) -> Iterator[click.Option]:
    yield click.Option(
        ["--timeout"],
        metavar="auto|SEC",
        callback=_timeout,
        help=waits,
    )
    seconds = click.FloatRange(min=0, min_open=True)
    yield click.Option(
        ["--case-timeout"], type=seconds, metavar="SEC", help="Give a case up after this time."
    )
    yield click.Option(
        ["-n", "waiters"],
        type=click.IntRange(1),
        metavar="N",
        help=f"Number of cases that may wait at once; default {at_once}.",
    )
    yield click.Option(["-x", "stop_at_first"], is_flag=True, help="Stop at the first failure.")
    yield click.Option(
        ["--maxfail"], type=click.IntRange(1), metavar="N", help="Stop at the N-th failure."
    )
    yield click.Option(
        ["--repeat-failed"],
        type=click.IntRange(1),
        metavar="K",
        help="Run a failing case K times in all, default 5; with 1 a failure seen once counts.",
    )
    yield click.Option(
        ["--seed"],
        type=click.IntRange(0),
        metavar="N",
        help="Seed of names and bodies; default random.",
    )


def _file_options() -> Iterator[click.Option]:
    yield click.Option(["--failures-only"], is_flag=True, help=FAILURES_ONLY_HELP)
    yield click.Option(
        ["--bundle"], type=_FILE, metavar="FILE", help="Bundle; default out/run-TIME.jsonl."
    )
    yield click.Option(["--html"], type=_FILE, metavar="FILE", help="Also write an HTML page.")
    yield click.Option(["--junit"], type=_FILE, metavar="FILE", help="Also write JUnit XML.")
    yield click.Option(
        ["--badge"], type=_FILE, metavar="FILE", help="Also write a badge as SVG and JSON."
    )
    yield click.Option(["--allure"], type=_FILE, metavar="DIR", help="Also write Allure results.")
    yield click.Option(
        ["--pcap"], type=_FILE, metavar="DIR", help="Write a capture of each failing case."
    )
    yield click.Option(
        ["--pcap-all"], type=_FILE, metavar="DIR", help="Write a capture of every case."
    )


def _origins(context: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse a wrong value before anything runs, also where nothing will."""
    read_origins(value)
    return value


def _timeout(context: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None or value == "auto":
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise click.BadParameter(f"{value!r} is neither auto nor seconds", context, param)
    return seconds
