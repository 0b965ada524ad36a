"""``wireproof replay``: repeat one recorded exchange and compare."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from wireproof.fuzzing.replay import Repetition, find_finding, replay_finding
from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.target_choice import given_keys, key_options
from wireproof.replaying.find_case import locate
from wireproof.replaying.protocol_replay import Round
from wireproof.replaying.replay_target import ReplaySetup, open_scene
from wireproof.replaying.resend import Comparison, compare, play
from wireproof.view.exchange import whole_exchange
from wireproof.view.output import echo
from wireproof.view.style import wrap_after_heading
from wireproof_kit.runner.records import transcript_record
from wireproof_spec.step_record import TranscriptRecord

EXAMPLES = (
    (
        "wireproof replay 9f31c2aa0b17",
        "send the failure with this signature in the newest bundle in out/",
    ),
    (
        "wireproof replay nsq/publish/header-json/cut --bundle run.jsonl",
        "send the case with this id in the bundle",
    ),
    (
        "wireproof replay 9f31c2aa0b17 --to nsq://127.0.0.1:4150 --times 5",
        "send it to another broker, five times",
    ),
    ("wireproof replay 9f31c2aa0b17 --to reference", "send it to the embedded reference broker"),
)


@click.command(
    "replay",
    cls=Command,
    examples=EXAMPLES,
    params=[*key_options("address", "servers", "flag", "file", "text")],
)
@click.argument("what", metavar="FILE|ID")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Bundle that holds ID; default: the newest in out/.",
)
@click.option(
    "--times",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of rounds.",
)
@click.option("--to", metavar="URL", help="Another target, or `reference`.")
@click.option(
    "--restart",
    metavar="CMD",
    help="Command that restarts the target, for a finding that needs a restart.",
)
@click.option(
    "--pid",
    type=click.IntRange(1),
    metavar="PID",
    help="The target's process, for a finding of memory or open files.",
)
@click.option("--as-recorded", is_flag=True, help="Use the recorded names; create nothing.")
@click.option("--hazardous", is_flag=True, help="Allow exchanges that may crash a remote target.")
def replay(
    what: str,
    bundle: Path | None,
    *,
    times: int,
    to: str | None,
    restart: str | None,
    pid: int | None,
    as_recorded: bool,
    hazardous: bool,
) -> int:
    """Send the recorded bytes of one case again and compare the answers.

    Names are replaced by fresh ones and ids by those that the target assigns now; all other
    bytes are sent as recorded. Exit code: 0 if the answers of every round are as recorded, 1 if
    not. A finding of the fuzzer is sent again and judged: 0 if it shows every time. The id of a
    way stands for the first case that showed it broken.
    """
    fuzzed = find_finding(what, bundle)
    if fuzzed is not None:
        repetition = Repetition(*fuzzed, to, given_keys(), times, hazardous, restart, pid)
        return replay_finding(repetition)
    found, case = locate(what, bundle)
    opened = open_scene(
        found,
        case,
        to,
        given_keys(),
        times=times,
        as_recorded=as_recorded,
        hazardous=hazardous,
    )
    with opened as scene:
        return _rounds(scene)


def _rounds(scene: ReplaySetup) -> int:
    said = manner()
    results: list[tuple[Comparison, TranscriptRecord]] = []
    if not (said.json or said.quiet):
        _tell_opening(scene)
    for number, each in enumerate(scene.rounds, 1):
        result = _one_round(scene, each)
        results.append(result)
        if not (said.json or said.quiet):
            _tell_round(number, result, scene)
    same = sum(comparison.same for comparison, _ in results)
    if said.json:
        echo(json.dumps(_plain(scene, results), indent=2))
    else:
        echo(f"{same} of {len(results)} rounds as recorded")
    return 0 if same == len(results) else 1


def _one_round(scene: ReplaySetup, each: Round) -> tuple[Comparison, TranscriptRecord]:
    try:
        play(each.steps, each.links, scene.replayer)
    finally:
        each.links.close_all()
    transcript = transcript_record(each.links.transcript)
    compared = compare(scene.steps, transcript.steps, scene.protocol)
    return compared, transcript


def _tell_opening(scene: ReplaySetup) -> None:
    for line in wrap_after_heading("recorded", f"{scene.case.verdict}: {scene.case.reason}"):
        echo(line)
    made = [f"{old.decode()} is {new.decode()}" for old, new in scene.rounds[0].names.items()]
    for line in wrap_after_heading("names", ", ".join(made)) if made else []:
        echo(line)


def _tell_round(
    number: int, result: tuple[Comparison, TranscriptRecord], scene: ReplaySetup
) -> None:
    """Print the result of a round, with the exchange for the first and for deviating rounds."""
    comparison, transcript = result
    all_bytes = manner().verbose > 1
    if number == 1 or not comparison.same or manner().verbose:
        for line in whole_exchange(transcript, scene.protocol, all_bytes=all_bytes):
            echo(line)
    if not comparison.same:
        echo("  what was recorded:")
        before = TranscriptRecord(scene.steps)
        for line in whole_exchange(before, scene.protocol, all_bytes=all_bytes):
            echo(line)
    echo(f"round {number}  {comparison.words}")


def _plain(
    scene: ReplaySetup, results: Sequence[tuple[Comparison, TranscriptRecord]]
) -> dict[str, object]:
    import msgspec

    return {
        "case": scene.case.case,
        "target": scene.target.url,
        "same": sum(comparison.same for comparison, _ in results),
        "rounds": [
            {
                "same": comparison.same,
                "words": comparison.words,
                "changed": comparison.changed,
                "transcript": msgspec.to_builtins(transcript),
            }
            for comparison, transcript in results
        ],
    }
