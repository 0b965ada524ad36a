"""Judge the example client again and again on a busy machine: no verdict may ever differ.

python tools/flips.py [--runs N] [--sample] [--ids PREFIX …]
                      [--exec CMD [--protocol PROTOCOL] | --reference PROTOCOL]

With --exec it is a client of yours that is judged, with --reference the reference broker of a
protocol.

While the runs go on, one process for each processor counts as fast as it can. A case whose
observation differs from that of the first run that decided it is printed; then the exit code is 1.
What a run leaves undecided, since the machine was too busy, is counted beside that.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from busy import busy_processors

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.processes.client_forks import ClientForkServer
from wireproof_kit.verdicts.judge import UNDECIDED
from wireproof_spec.record import CaseRecord, SeenRecord

RUNS = 20
SAMPLE_RUNS = 3
SAMPLE = ("nsq/client-publish", "nsq/client-lookup/dead", "nsq/client-connection/heartbeat")
TITLE = "Judge the example client again and again on a busy machine."


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Judge the example client again and again on a busy machine."
    )
    parser.add_argument("--runs", type=int)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--ids", nargs="*", default=[])
    judged = parser.add_mutually_exclusive_group()
    judged.add_argument("--reference", choices=("nsq", "iggy", "oms"))
    judged.add_argument("--exec", dest="command", metavar="CMD")
    parser.add_argument("--protocol", choices=("nsq", "iggy"), default="nsq")
    given = parser.parse_args()
    # A terminated run, too, must end the processes that keep the processors busy.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    runs = given.runs or (SAMPLE_RUNS if given.sample else RUNS)
    with tempfile.TemporaryDirectory() as folder:

        def judge_again(words: Sequence[str], ids: Sequence[str]) -> int:
            bundles = Path(folder)
            return compare(runs, lambda number: judge(words, ids, bundles / f"{number}.jsonl"))

        if given.reference:
            with busy_processors():
                return judge_again(("run", "--reference"), given.ids or [given.reference])
        ids = given.ids or (SAMPLE if given.sample and given.protocol == "nsq" else ())
        if given.command:
            client = ("client", "--protocol", given.protocol, "--exec", given.command)
            with busy_processors():
                return judge_again(client, ids)
        with (
            ClientForkServer("nsq", folder) as server,
            server.reference() as url,
            busy_processors(),
        ):
            return judge_again(("client", "--exec", url.partition(":")[2]), ids)


def compare(runs: int, judge_once: Callable[[int], dict[str, str | None]]) -> int:
    """Judge `runs` times, print what differs from the first time, and return the exit code."""
    first: dict[str, str] = {}
    flips = undecided = 0
    for number in range(1, runs + 1):
        started = time.monotonic()
        found = judge_once(number)
        decided = {case: told for case, told in found.items() if told is not None}
        first = decided | first
        changed = [case for case, told in decided.items() if told != first[case]]
        flips += len(changed)
        undecided += len(found) - len(decided)
        for case in changed:
            print(f"FLIP {case}: {first[case]} before, {decided[case]} in run {number}")
        seconds = time.monotonic() - started
        told = f"{len(changed)} flips, {len(found) - len(decided)} undecided, {seconds:.0f} s"
        print(f"run {number}: {len(found)} cases, {told}", flush=True)
    print(f"{runs} runs, {flips} flips, {undecided} undecided")
    return 1 if flips else 0


def judge(words: Sequence[str], ids: Sequence[str], bundle: Path) -> dict[str, str | None]:
    """Run the cases with a command; return what was decided of each by id, None for nothing."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "wireproof", "-q", *words, *ids),
            *("--profile", "observed", "--bundle", str(bundle)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"the run ended with exit code {done.returncode}: {done.stderr}")
    cases = read_bundle(bundle).cases
    return {each.case: describe(each) for each in cases}


def describe(case: CaseRecord) -> str | None:
    """Return verdict and observation of a case; None if it, or a repeat of it, is undecided."""
    is_open = any(each.control == "slow" or is_inconclusive(each) for each in case.list_seen())
    if case.verdict == "inconclusive" or (case.verdict == "unstable" and is_open):
        return None
    return f"{case.verdict} ({case.observation})"


def is_inconclusive(seen: SeenRecord) -> bool:
    return seen.value.partition(":")[0] == UNDECIDED


if __name__ == "__main__":
    raise SystemExit(main())
