"""Prove the fuzzer: each fault of a reference's parser is found, with every seed, in its time.

``python kit/bench/fuzz_proof.py`` runs one campaign for each fault of kind `parser` and seed, some
at a time, each stopped as soon as something is confirmed. Then the correct references, and with
``--legal`` every variant, must yield nothing.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

import msgspec

PROTOCOLS = ("nsq", "iggy")
SEEDS = (1, 2, 3)
TIME_S = 60
GRACE_S = 90
FOUND, NOTHING_FOUND = 1, 0
SAMPLE = {
    "nsq": ("parser-size-magnitude", "parser-unknown-hoards", "parser-size-least-closes-another"),
    "iggy": ("parser-ones-lost", "parser-poll-nothing-closes-another"),
}
SAMPLE_S = 25
SAMPLE_LEGAL_S = 10


@dataclass(frozen=True, slots=True)
class Trial:
    """One campaign: against which reference, how long, and what is due."""

    protocol: str
    preset: tuple[str, str] | None
    seed: int
    time_s: int

    @property
    def name(self) -> str:
        """Name it in a table."""
        preset = " ".join(self.preset) if self.preset else "correct"
        return f"{self.protocol} {preset}"

    @property
    def due(self) -> int:
        """Return the exit code that is due."""
        return FOUND if self.preset and self.preset[0] == "fault" else NOTHING_FOUND


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a trial: exit code, seconds to the first finding, what it was, cases sent."""

    trial: Trial
    code: int
    at_s: float
    what: str
    executed: int
    wall_s: float

    @property
    def is_right(self) -> bool:
        """Tell whether it is as it should be."""
        return self.code == self.trial.due


def main(argv: Sequence[str] | None = None) -> int:
    """Run the trials asked for; 0 when all came out right."""
    options = _options(argv)
    trials = list(_trials(options))
    started = time.monotonic()
    with ThreadPoolExecutor(options.n) as crew:
        outcomes = []
        for outcome in crew.map(_tried, trials):
            outcomes.append(outcome)
            _tell(outcome)
    wrong = [each for each in outcomes if not each.is_right]
    times = [each.at_s for each in outcomes if each.trial.due == FOUND and each.is_right]
    faults = sum(each.trial.due == FOUND for each in outcomes)
    middle = f", median {median(times):.1f} s, longest {max(times):.1f} s" if times else ""
    print(f"faults found {len(times)} of {faults}{middle}")
    legal = [each for each in outcomes if each.trial.due == NOTHING_FOUND]
    if legal:
        quiet = sum(each.is_right for each in legal)
        print(f"nothing found in {quiet} of {len(legal)} legal campaigns")
    print(f"{len(outcomes)} campaigns in {time.monotonic() - started:.0f} s")
    return 1 if wrong else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Prove the fuzzer on faults of parsers.")
    parser.add_argument("names", nargs="*", help="faults or variants; default: all faults")
    parser.add_argument("--protocol", choices=PROTOCOLS, action="append")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--time", type=int, default=TIME_S, metavar="SEC")
    parser.add_argument("-n", type=int, default=2, help="campaigns at a time")
    parser.add_argument("--sample", action="store_true", help="a few faults, one seed")
    parser.add_argument("--legal", action="store_true", help="correct references and variants")
    return parser.parse_args(argv)


def _trials(options: argparse.Namespace) -> Iterator[Trial]:
    seeds = options.seed or (SEEDS[:1] if options.sample else SEEDS)
    time_s = min(options.time, SAMPLE_S) if options.sample else options.time
    for seed in seeds:
        for protocol in options.protocol or PROTOCOLS:
            for preset in _presets(protocol, options):
                is_short = options.sample and preset is None
                yield Trial(protocol, preset, seed, SAMPLE_LEGAL_S if is_short else time_s)


def _presets(protocol: str, options: argparse.Namespace) -> Iterator[tuple[str, str] | None]:
    if options.legal:
        variants = _listed(protocol, "variants")
        if not options.names:
            yield None
        yield from (("variant", name) for name in variants if _is_asked(name, options))
        return
    faults = SAMPLE[protocol] if options.sample else _listed(protocol, "faults")
    yield from (("fault", name) for name in faults if _is_asked(name, options))
    if options.sample:
        yield None


def _is_asked(name: str, options: argparse.Namespace) -> bool:
    return not options.names or name in options.names


def _listed(protocol: str, what: str) -> list[str]:
    command = [sys.executable, "-m", "wireproof", "serve", protocol, f"--list-{what}"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in lines.splitlines()]
    return [row[0] for row in rows if what == "variants" or row[1] == "parser"]


def _tried(trial: Trial) -> Outcome:
    extra = [f"--{trial.preset[0]}", trial.preset[1]] if trial.preset else []
    command = [sys.executable, "-m", "wireproof", "fuzz", "--reference", trial.protocol]
    command += ["--json", "-x", "--no-shrink", "--time", str(trial.time_s)]
    command += ["--seed", str(trial.seed), "--bundle", _bundle(trial)]
    command += [f"--reference-option={each}" for each in extra]
    started = time.monotonic()
    done = subprocess.run(
        command, capture_output=True, timeout=trial.time_s + GRACE_S, check=False
    )
    wall_s = time.monotonic() - started
    events = [msgspec.json.decode(line) for line in done.stdout.splitlines()]
    findings = [each for each in events if each["event"] == "finding"]
    executed = events[-1].get("executed", 0) if events else 0
    if not findings:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        what = said[-1] if said and done.returncode not in (0, 1) else "nothing"
        return Outcome(trial, done.returncode, trial.time_s, what, executed, wall_s)
    first = findings[0]
    what = f"{first['violated']}: {first['frame']} {first['field']}, {first['words']}"
    return Outcome(trial, done.returncode, first["at_s"], what, executed, wall_s)


def _bundle(trial: Trial) -> str:
    preset = "-".join(trial.preset) if trial.preset else "correct"
    return f"out/fuzz-proof/{trial.protocol}-{preset}-{trial.seed}.jsonl"


def _tell(outcome: Outcome) -> None:
    word = "right" if outcome.is_right else "WRONG"
    trial = outcome.trial
    print(
        f"{word}  {trial.name:<50} seed {trial.seed}  exit {outcome.code}  "
        f"{outcome.at_s:6.1f} s  {outcome.executed:>6} cases  {outcome.what[:110]}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
