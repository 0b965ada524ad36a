"""Prove the fuzzer: it finds each fault of a reference's parser, with every seed, in time.

``python kit/bench/fuzz_proof.py`` runs one campaign for each fault of kind `parser` and each seed,
as many at a time as there are cores. A campaign ends at its first confirmed finding. The finding
is sent again to a faulty and to a correct reference: it must show on the first only. With
``--legal`` the correct references and every variant must yield nothing. With ``--mixed`` up to ten
compatible variants are on at once, so that few campaigns give each its time. Results are kept in
``out/fuzz-proof``: ``--resume`` continues there, and repeats campaigns with a wrong result.
``--part 2/5`` takes the second fifth of the campaigns.
"""

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import fuzz_causes
import msgspec
from fuzz_causes import CLIENT, client_command
from fuzz_trials import (
    CORRECT,
    FOUND,
    NOTHING_FOUND,
    PLACE,
    TOGETHER,
    UNSURE,
    CampaignResult,
    Trial,
)

from wireproof_kit.errors import KitError
from wireproof_kit.selftest.plan import VARIANT, list_trials
from wireproof_kit.selftest.plan import Trial as Variant

PROTOCOLS = ("nsq", "iggy", f"nsq{CLIENT}", f"iggy{CLIENT}")
SEEDS = (1, 2, 3)
TIME_S = 60
GRACE_S = 90
MOST_TOGETHER = 10
USUAL_S = 15.0
"""Seconds that a campaign takes until its fault is found, start and end included, as measured."""
KEPT = PLACE / "outcomes.jsonl"
SAMPLE = {
    "nsq": ("parser-size-magnitude", "parser-trace-buffer-shared"),
    "iggy": ("parser-ones-lost", "parser-poll-nothing-closes-another"),
    f"nsq{CLIENT}": (
        "parser-client-dies-inside-place",
        "parser-client-gives-back-another",
        "parser-client-waits-for-huge-frame",
    ),
    f"iggy{CLIENT}": ("parser-client-dies-of-headers", "parser-client-reads-low-byte"),
}
SAMPLE_S = 20
CLIENT_FACTOR = 3
"""A client is started again and again: its faults have so many times as long in a sample."""
LONG_S = 180
LONG = (
    "parser-beat-closing-halts",
    "parser-cut-sixty-halt",
    "parser-split-at-feed-halts",
    "parser-trace-buffer-shared",
    "parser-stored-nul-keeps-down",
)
"""Faults that need time, a past, a combination, a neighbour or a restart: each campaign has
`LONG_S`."""
SAMPLE_LEGAL_S = 20


@dataclass(slots=True)
class Keeper:
    """Keeps outcomes in a file, one a line."""

    path: Path

    def begin(self, *, resume: bool) -> dict[Trial, CampaignResult]:
        """Return the right results of earlier trials if they are resumed, else none."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not resume:
            self.path.write_bytes(b"")
            return {}
        lines = self.path.read_bytes().splitlines() if self.path.exists() else []
        kept = [msgspec.json.decode(line, type=CampaignResult) for line in lines]
        return {each.trial: each for each in kept if each.is_right}

    def keep(self, outcome: CampaignResult) -> None:
        """Keep one more."""
        with self.path.open("ab") as file:
            file.write(msgspec.json.encode(outcome) + b"\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the selected trials; return 0 if every result is right, 130 if interrupted."""
    options = _options(argv)
    trials = list(_trials(options))
    keeper = Keeper(options.kept)
    done = keeper.begin(resume=options.resume)
    outcomes = {trial: done[trial] for trial in trials if trial in done}
    todo = [trial for trial in trials if trial not in outcomes]
    _announce(todo, len(outcomes), options.n)
    for trial in todo:
        if len(trial.switches) > 1:
            print(f"{trial.name}: {', '.join(trial.switches)}", flush=True)
    started = time.monotonic()
    pool = ThreadPoolExecutor(options.n)
    try:
        for outcome in pool.map(_run_until_sure, todo):
            outcomes[outcome.trial] = outcome
            keeper.keep(outcome)
            _tell(outcome)
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        print(f"interrupted after {len(outcomes)} of {len(trials)}; --resume goes on")
        return 130
    _conclude(list(outcomes.values()))
    print(f"{len(todo)} campaigns in {time.monotonic() - started:.0f} s")
    return 0 if all(each.is_right for each in outcomes.values()) else 1


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Prove the fuzzer on faults of parsers.")
    parser.add_argument("names", nargs="*", help="faults or variants; default: all")
    parser.add_argument("--protocol", choices=PROTOCOLS, action="append")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--time", type=int, default=TIME_S, metavar="SEC", help="of a campaign")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("-n", type=int, default=cores, help="campaigns at a time; default: cores")
    parser.add_argument("--sample", action="store_true", help="a few faults, one seed")
    parser.add_argument("--legal", action="store_true", help="correct references and variants")
    parser.add_argument("--mixed", action="store_true", help="variants that go together at once")
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="K/N", help="of all trials")
    parser.add_argument("--resume", action="store_true", help="go on where the last one ended")
    parser.add_argument("--kept", type=Path, default=KEPT, metavar="FILE", help="of outcomes")
    return parser.parse_args(argv)


def _part(text: str) -> tuple[int, int]:
    number, mark, of = text.partition("/")
    if not (mark and number.isdigit() and of.isdigit() and 0 < int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"{text!r}: expected such as 2/5")
    return int(number), int(of)


def _trials(options: argparse.Namespace) -> Iterator[Trial]:
    number, of = options.part
    for place, trial in enumerate(_all_trials(options)):
        if place % of == number - 1:
            yield trial


def _all_trials(options: argparse.Namespace) -> Iterator[Trial]:
    is_short = options.sample or options.legal
    seeds = options.seed or (SEEDS[:1] if is_short else SEEDS)
    time_s = min(options.time, SAMPLE_S) if options.sample else options.time
    for seed in seeds:
        for protocol in options.protocol or PROTOCOLS:
            for kind, preset in _presets(protocol, options):
                is_brief = options.sample and kind == CORRECT
                is_long = preset in LONG and not options.sample
                most_s = SAMPLE_LEGAL_S if is_brief else max(time_s, LONG_S) if is_long else time_s
                if options.sample and protocol.endswith(CLIENT) and not is_brief:
                    most_s *= CLIENT_FACTOR
                yield Trial(protocol, kind, preset, seed, most_s)


def _presets(protocol: str, options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    if options.legal or options.sample:
        names = options.names or [CORRECT]
        yield from ((CORRECT, name) for name in names if name == CORRECT)
    if options.legal:
        variants = [variant for variant in _variants(protocol) if _is_asked(variant.name, options)]
        together = (
            _together(variants) if options.mixed else ([variant.name] for variant in variants)
        )
        yield from ((VARIANT, TOGETHER.join(names)) for names in together)
    else:
        faults = SAMPLE[protocol] if options.sample else _faults(protocol)
        yield from (("fault", name) for name in faults if _is_asked(name, options))


def _variants(protocol: str) -> Sequence[Variant]:
    is_client = protocol.endswith(CLIENT)
    return list_trials(protocol.removesuffix(CLIENT), VARIANT, of_client=is_client)


def _together(variants: Sequence[Variant]) -> Iterator[list[str]]:
    """Share variants out among as few mixes as they go into."""
    mixes: list[list[Variant]] = []
    for variant in variants:
        fitting = (
            mix
            for mix in mixes
            if len(mix) < MOST_TOGETHER and not any(_are_apart(variant, each) for each in mix)
        )
        mix = next(fitting, None)
        if mix is None:
            mixes.append(mix := [])
        mix.append(variant)
    yield from ([each.name for each in mix] for mix in mixes)


def _are_apart(one: Variant, other: Variant) -> bool:
    return one.name in other.not_with or other.name in one.not_with


def _is_asked(name: str, options: argparse.Namespace) -> bool:
    return not options.names or name in options.names


def _faults(protocol: str) -> list[str]:
    command = [sys.executable, "-m", "wireproof", "serve", protocol, "--list-faults"]
    if protocol.endswith(CLIENT):
        command = shlex.split(client_command(protocol, ["--list-faults"]))
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in lines.splitlines()]
    return [row[0] for row in rows if row[1] == "parser"]


def _target(trial: Trial) -> list[str]:
    if trial.protocol.endswith(CLIENT):
        protocol = trial.protocol.removesuffix(CLIENT)
        return ["--protocol", protocol, "--exec", client_command(trial.protocol, trial.extra)]
    return [
        *("--reference", trial.protocol),
        *(f"--reference-option={each}" for each in trial.extra),
    ]


def _run_until_sure(trial: Trial) -> CampaignResult:
    """Run a campaign; once more if its fault was not found or not confirmed.

    A race shows by chance: beside other campaigns `parser-trace-buffer-shared` took 16 s of 20.
    """
    result = _run_trial(trial)
    is_open = trial.due == FOUND and result.code in (NOTHING_FOUND, UNSURE)
    return _run_trial(trial) if is_open else result


def _run_trial(trial: Trial) -> CampaignResult:
    command = [sys.executable, "-m", "wireproof", "fuzz", *_target(trial)]
    command += ["--json", "-x", "--no-shrink", "--time", str(trial.time_s)]
    command += ["--seed", str(trial.seed), "--bundle", str(trial.bundle)]
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=trial.time_s + GRACE_S, check=False
        )
    except subprocess.TimeoutExpired:
        wall_s = time.monotonic() - started
        return CampaignResult(
            trial, 2, trial.time_s, "the campaign did not end in its time", 0, wall_s
        )
    wall_s = time.monotonic() - started
    events = [msgspec.json.decode(line) for line in done.stdout.splitlines()]
    findings = [event for event in events if event["event"] == "finding"]
    executed = events[-1].get("executed", 0) if events else 0
    if not findings:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        said += events[-1].get("failures", []) if events else []
        what = said[-1] if said and done.returncode not in (0, 1) else "nothing"
        code = done.returncode
        if code == UNSURE and events and events[-1]["gaps"]:
            # Beside other campaigns little is sent. That is said, and is no false finding.
            code, what = NOTHING_FOUND, events[-1]["gaps"][0]
        return CampaignResult(trial, code, trial.time_s, what, executed, wall_s)
    first = max(findings, key=lambda each: each["shown"] > 0 and not each["unconfirmed"])
    what = f"{first['violated']}: {first['frame']} {first['field']}: {first['mutation']}"
    if first["unconfirmed"]:
        return CampaignResult(
            trial, UNSURE, first["at_s"], f"{first['unconfirmed']}: {what}", 0, wall_s
        )
    return CampaignResult(
        trial,
        done.returncode,
        first["at_s"],
        what,
        executed,
        wall_s,
        _doubt(trial, done.returncode),
    )


def _doubt(trial: Trial, code: int) -> str:
    """Return why the fault did not cause the finding; empty if it did, or if none is expected."""
    if trial.due != FOUND or code != FOUND:
        return ""
    try:
        findings = fuzz_causes.list_confirmed(trial.bundle)
        return fuzz_causes.doubt(findings, trial.extra, fuzz_causes.shows_on(trial.protocol))
    except KitError as error:
        return f"it could not be sent again: {error}"


def _announce(todo: Sequence[Trial], kept: int, pool: int) -> None:
    most_s = sum(each.time_s for each in todo) / pool
    usual_s = sum(min(USUAL_S, t.time_s) if t.due == FOUND else t.time_s for t in todo) / pool
    before = f", {kept} came out right before" if kept else ""
    print(
        f"{len(todo)} campaigns, {pool} at a time{before}: about {usual_s / 60:.0f} min, "
        f"at most {most_s / 60:.0f} min",
        flush=True,
    )


def _tell(outcome: CampaignResult) -> None:
    word = "right" if outcome.is_right else "WRONG"
    trial = outcome.trial
    what = f"{outcome.doubt}: {outcome.what}" if outcome.doubt else outcome.what
    print(
        f"{word}  {trial.name:<48} seed {trial.seed}  exit {outcome.code}  "
        f"{outcome.at_s:6.1f} s  {outcome.executed:>6} cases  {what[:110]}",
        flush=True,
    )


def _conclude(outcomes: Sequence[CampaignResult]) -> None:
    """Print the table: a line for each fault or variant, its seeds side by side."""
    seeds = sorted({outcome.trial.seed for outcome in outcomes})
    print(f"\n{'seconds to the finding':<48}" + "".join(f"{f'seed {n}':>9}" for n in seeds))
    for name in dict.fromkeys(outcome.trial.name for outcome in outcomes):
        cells = {outcome.trial.seed: outcome for outcome in outcomes if outcome.trial.name == name}
        row = "".join(f"{_cell(cells.get(seed)):>9}" for seed in seeds)
        what = next((cell.what for cell in cells.values() if cell.what != "nothing"), "")
        print(f"{name:<48}{row}   {what[:60]}")
    faults = [outcome for outcome in outcomes if outcome.trial.due == FOUND]
    if faults:
        times = [fault.at_s for fault in faults if fault.is_right]
        middle = f", median {median(times):.1f} s, longest {max(times):.1f} s" if times else ""
        print(f"found {len(times)} of {len(faults)} faults, each seed counted{middle}")
    legal = [outcome for outcome in outcomes if outcome.trial.due == NOTHING_FOUND]
    if legal:
        quiet = sum(each.is_right for each in legal)
        cases = sum(each.executed for each in legal)
        print(f"nothing found in {quiet} of {len(legal)} legal campaigns, {cases} cases")


def _cell(outcome: CampaignResult | None) -> str:
    if outcome is None:
        return "-"
    if outcome.trial.due == FOUND:
        missed = "DOUBTED" if outcome.doubt else "MISSED"
        return f"{outcome.at_s:.1f}" if outcome.is_right else missed
    return "nothing" if outcome.is_right else f"exit {outcome.code}"


if __name__ == "__main__":
    sys.exit(main())
