"""Judge right targets again and again in bad circumstances, and wrong ones once.

python tools/flips.py [--runs N] [--ids PREFIX …] [--sample] [--busy N] [--files N] [--line]
    [--exec CMD [--protocol PROTOCOL] | --reference PROTOCOL | --faults N | --all]

The target is the example client, with --exec a client of yours, with --reference the reference
server of a protocol. The circumstances are processes that count as fast as they can (--busy, two
if nothing else is given), a low limit of open files for the kit (--files), and a way to the server
of 300 ms on which one piece in fifty is lost to a reset (--line).

Printed are flips (cases whose observation differs from that of the first run that decided it),
must cases that failed, and cases left undecided. The exit code is 1 if there is a flip or a must
failure, or if more than one case in fifty is undecided.

--faults N judges drawn faults of the references that are red when nothing else runs. None may end
with exit code 0, and nine of ten must end with 1; the others with 3, naming the clause.

--all does what the page docs/selftest.md shows: every target, in all circumstances.
"""

import argparse
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from busy import ROOT, busy_processors

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.processes.client_forks import ClientForkServer
from wireproof_kit.processes.forked_broker import BrokerForkServer
from wireproof_kit.protocols import read_target
from wireproof_kit.selftest.plan import FAULT, Trial, list_trials
from wireproof_kit.verdicts.judge import UNDECIDED
from wireproof_spec.record import CaseRecord, SeenRecord

RUNS = 20
SAMPLE_RUNS = 3
SAMPLE = ("nsq/client-publish", "nsq/client-lookup/dead", "nsq/client-connection/heartbeat")
MOST_UNDECIDED = 0.02
LEAST_RED = 0.9
REFERENCES = ("nsq", "iggy", "oms")
DELAY_S, RESETS = 0.3, 0.02


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Busy processes, the most files that the kit may open (0: no limit), and a bad line."""

    busy: int = 0
    files: int = 0
    line: bool = False

    def __str__(self) -> str:
        words = [f"{self.busy} busy processes" if self.busy else "a quiet machine"]
        words += [f"at most {self.files} open files"] if self.files else []
        return ", ".join([*words, *(["a bad line"] if self.line else [])])


@dataclass(frozen=True, slots=True)
class Target:
    """What is judged: a reference by its protocol, or the client that a command starts.

    An empty command is the example client.
    """

    protocol: str
    is_client: bool = False
    command: str = ""

    def __str__(self) -> str:
        return f"{self.protocol}{' client' if self.is_client else ''} {self.command}".strip()


LOAD = Circumstances(busy=30)
LOW, LOWER, LINE = Circumstances(files=512), Circumstances(files=256), Circumstances(line=True)
ALL = (
    *((Target(name), LOAD, runs) for name, runs in (("nsq", 6), ("iggy", 6), ("oms", 3))),
    *((Target(name, is_client=True), LOAD, 2) for name in ("nsq", "iggy")),
    *((Target(name), where, 2) for name in ("nsq", "iggy") for where in (LOW, LOWER, LINE)),
)
"""Who is judged, in which circumstances, how often."""
FAULTS_IN = (LOAD, LOWER, LINE)


def main() -> int:
    """Judge what the command line names; return the exit code."""
    given = read_arguments()
    # A terminated run, too, must end the processes that keep the processors busy.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        if given.all:
            codes = [judge_often(*each, (), Path(folder)) for each in ALL]
            return max(*codes, *(judge_faults(40, where, Path(folder)) for where in FAULTS_IN))
        where = Circumstances(given.busy, given.files, given.line)
        if where == Circumstances():
            where = Circumstances(busy=2)
        if given.faults:
            return judge_faults(given.faults, where, Path(folder))
        protocol = given.reference or given.protocol
        target = Target(protocol, not given.reference, given.command or "")
        is_sampled = given.sample and target == Target("nsq", is_client=True)
        ids = given.ids or (SAMPLE if is_sampled else ())
        runs = given.runs or (SAMPLE_RUNS if given.sample else RUNS)
        return judge_often(target, where, runs, ids, Path(folder))


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    title = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--ids", nargs="*", default=[])
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--files", type=int, default=0)
    parser.add_argument("--line", action="store_true")
    judged = parser.add_mutually_exclusive_group()
    judged.add_argument("--reference", choices=REFERENCES)
    judged.add_argument("--exec", dest="command", metavar="CMD")
    judged.add_argument("--faults", type=int, metavar="N")
    judged.add_argument("--all", action="store_true")
    parser.add_argument("--protocol", choices=("nsq", "iggy"), default="nsq")
    return parser.parse_args()


def judge_often(
    target: Target, where: Circumstances, runs: int, ids: Sequence[str], folder: Path
) -> int:
    """Judge a right target so many times; print what differs or failed, and return 1 for that."""
    print(f"{target}: {where}", flush=True)
    first: dict[str, str] = {}
    counts = Counter[str]()
    with words_for(target, where, folder) as words, busy_processors(where.busy):
        for number in range(1, runs + 1):
            started = time.monotonic()
            _, cases = judge([*words, *(ids or [target.protocol])], where, folder)
            decided = {case.case: told for case in cases if (told := describe(case)) is not None}
            first = decided | first
            now = Counter(cases=len(cases), undecided=len(cases) - len(decided))
            for case in cases:
                told = decided.get(case.case, first.get(case.case, ""))
                if told != first.get(case.case, ""):
                    now["flips"] += 1
                    print(f"FLIP {case.case}: {first[case.case]} before, {told} in run {number}")
                if case.level == "must" and case.verdict in ("fail", "error"):
                    now["must failures"] += 1
                    print(f"FAIL {case.case}: {case.observation}: {case.reason}")
            counts += now
            print(f"run {number}: {tell(now)}, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{runs} runs: {tell(counts)}")
    is_open = counts["undecided"] > MOST_UNDECIDED * counts["cases"]
    return int(bool(counts["flips"] or counts["must failures"] or is_open))


def tell(counts: Counter[str]) -> str:
    """Return counts as a list of words."""
    names = ("cases", "flips", "must failures", "undecided")
    return ", ".join(f"{counts[name]} {name}" for name in names)


def judge_faults(count: int, where: Circumstances, folder: Path) -> int:
    """Judge drawn faults that are red on a quiet machine; return 1 if one is called right."""
    print(f"{count} faults: {where}", flush=True)
    source = random.Random(1)
    drawn = [(name, trial) for name in REFERENCES for trial in list_trials(name, FAULT)]
    source.shuffle(drawn)
    codes = Counter[int]()
    for protocol, trial in drawn:
        if codes.total() == count:
            break
        if judge_fault(protocol, trial, Circumstances(), folder) != 1:
            continue
        with busy_processors(where.busy):
            code = judge_fault(protocol, trial, where, folder)
        codes[code] += 1
        if code != 1:
            print(f"exit {code}: {protocol} {trial.name}", flush=True)
    print(
        f"{count} faults: " + ", ".join(f"{n} ended with exit {code}" for code, n in codes.items())
    )
    return int(codes[1] < LEAST_RED * count or codes[1] + codes[3] < count)


def judge_fault(protocol: str, trial: Trial, where: Circumstances, folder: Path) -> int:
    """Judge the clauses that a fault breaks; return the exit code, or -3 for an unnamed clause."""
    with (
        BrokerForkServer(protocol) as server,
        server.reference(trial.options()) as url,
        way_to(url, where) as reached,
    ):
        code, cases = judge(["run", reached, *trial.breaks], where, folder)
    is_named = any(case.clause in trial.breaks and describe(case) is None for case in cases)
    return -3 if code == 3 and not is_named else code


@contextmanager
def words_for(target: Target, where: Circumstances, folder: Path) -> Iterator[list[str]]:
    """Yield the words of the command that judges a target in these circumstances."""
    with ExitStack() as running:
        if not target.is_client and not where.line:
            yield ["run", "--reference"]
        elif not target.is_client:
            server = running.enter_context(BrokerForkServer(target.protocol))
            url = running.enter_context(server.reference(()))
            yield ["run", running.enter_context(way_to(url, where))]
        else:
            command = target.command
            if not command:
                clients = ClientForkServer(target.protocol, str(folder))
                running.enter_context(clients)
                command = running.enter_context(clients.reference()).partition(":")[2]
            yield ["client", "--protocol", target.protocol, "--exec", command]


@contextmanager
def way_to(url: str, where: Circumstances) -> Iterator[str]:
    """Yield a URL that leads to a server, over a bad line if that is among the circumstances."""
    target = read_target(url)
    if not where.line or not target.port:
        yield url
        return
    sys.path.append(str(ROOT / "kit" / "tests" / "support"))
    from bad_line import BadLine  # belongs to the tests

    line = BadLine((target.host, target.port), delay_s=DELAY_S, resets=RESETS, seed=1)
    try:
        yield url.replace(f":{target.port}", f":{line.port}", 1)
    finally:
        line.close()


def judge(
    words: Sequence[str], where: Circumstances, folder: Path
) -> tuple[int, tuple[CaseRecord, ...]]:
    """Run a command of the kit; return its exit code and the cases of its bundle."""

    def limit() -> None:
        if where.files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (where.files, where.files))

    bundle = folder / "run.jsonl"
    bundle.unlink(missing_ok=True)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "wireproof", "-q", *words),
            *("--profile", "observed", "--bundle", str(bundle)),
        ],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"the run ended with exit code {done.returncode}: {done.stderr}")
    return done.returncode, read_bundle(bundle).cases


def describe(case: CaseRecord) -> str | None:
    """Return verdict and observation of a case; None if it, or a repeat of it, is undecided."""
    is_open = any(each.control == "slow" or is_inconclusive(each) for each in case.list_seen())
    if case.verdict == "inconclusive" or (case.verdict == "unstable" and is_open):
        return None
    return f"{case.verdict} ({case.observation})"


def is_inconclusive(seen: SeenRecord) -> bool:
    """Return True if a run of a case decided nothing."""
    return seen.value.partition(":")[0] == UNDECIDED


if __name__ == "__main__":
    raise SystemExit(main())
