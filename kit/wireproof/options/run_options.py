"""The options of ``wireproof run``, as its help lists them."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click

from wireproof.options.target_choice import key_options
from wireproof_kit.verdicts.judge import ReadingChoice
from wireproof_spec.catalogue import LEVELS

_FILE = click.Path(path_type=Path)


def run_options() -> Iterator[click.Option]:
    """Return the options in the order of the help."""
    yield click.Option(["--reference"], is_flag=True, help="Judge the embedded reference.")
    yield from _judging_options()
    yield from _selecting_options()
    yield from _target_options()
    yield from _course_options()
    yield from _file_options()


def _judging_options() -> Iterator[click.Option]:
    levels, readings = click.Choice(LEVELS), click.Choice(get_args(ReadingChoice))
    yield click.Option(["--profile"], type=levels, help="Levels that count; default must.")
    yield click.Option(["--reading"], type=readings, help="Readings that count; default any.")
    yield click.Option(
        ["--spec-rev"], type=click.IntRange(1), metavar="N", help="Only clauses known then."
    )
    yield click.Option(["--baseline"], type=_FILE, metavar="FILE", help="Known deviations.")
    yield click.Option(["--allow-unstable"], is_flag=True, help="Undecided cases do not count.")


def _selecting_options() -> Iterator[click.Option]:
    yield click.Option(["-k", "expression"], metavar="EXPR", help="Cases by words, as in pytest.")
    yield click.Option(["--exclude"], multiple=True, metavar="ID", help="Leave out; repeatable.")
    yield click.Option(["--lf", "last_failed"], is_flag=True, help="What failed last time.")
    yield click.Option(["--dry-run"], is_flag=True, help="List what would run; talk to nobody.")


def _target_options() -> Iterator[click.Option]:
    yield from key_options()
    yield click.Option(
        ["--topic"], multiple=True, metavar="KIND=NAME", help="Use it, create none of that kind."
    )
    yield click.Option(
        ["--claim"],
        multiple=True,
        metavar="NAME=true|false|probe",
        help="What the target claims; repeatable.",
    )
    yield click.Option(["--restart"], metavar="CMD", help="Brings a dead target back.")
    yield click.Option(["--hazardous"], is_flag=True, help="Hazards off loopback too.")


def _course_options() -> Iterator[click.Option]:
    yield click.Option(
        ["--timeout"], metavar="auto|SEC", callback=_timeout, help="Patience; default measured."
    )
    seconds = click.FloatRange(min=0, min_open=True)
    yield click.Option(
        ["--case-timeout"], type=seconds, metavar="SEC", help="Ends a case that takes longer."
    )
    yield click.Option(
        ["-n", "waiters"], type=click.IntRange(1), metavar="N", help="Cases that wait at once."
    )
    yield click.Option(["-x", "stop_at_first"], is_flag=True, help="Stop at the first failure.")
    yield click.Option(["--maxfail"], type=click.IntRange(1), metavar="N", help="… at the N-th.")
    yield click.Option(
        ["--repeat-failed"], type=click.IntRange(1), metavar="K", help="Runs of a failing case."
    )
    yield click.Option(
        ["--seed"], type=click.IntRange(0), metavar="N", help="Of names, bodies and order."
    )


def _file_options() -> Iterator[click.Option]:
    yield click.Option(
        ["--bundle"], type=_FILE, metavar="FILE", help="Default out/run-TIME.jsonl."
    )
    yield click.Option(["--html"], type=_FILE, metavar="FILE", help="Also write this page.")
    yield click.Option(["--junit"], type=_FILE, metavar="FILE", help="Also write JUnit XML.")
    yield click.Option(["--allure"], type=_FILE, metavar="DIR", help="Also write Allure results.")
    yield click.Option(["--pcap"], type=_FILE, metavar="DIR", help="Captures of what fails.")
    yield click.Option(["--pcap-all"], type=_FILE, metavar="DIR", help="Captures of all cases.")


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
