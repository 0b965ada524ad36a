"""Compare the speed of the fuzzer with other senders, on the reference with all its checks.

``python kit/bench/bench_fuzz.py`` runs all participants in turn against one reference:

- boofuzz, with its defaults and lean. It has its own virtual environment, made on first use: it is
  GPL-2.0-only and no part of the product.
- our property mode, and our mutation mode with cases that stay in frame;
- a raw sender of the same frames, which reads the answers;
- our cases that need a new connection, and a raw sender of these with a connection for each.

The cases are chosen beforehand. Our fuzzer makes each of them again from seed and index; the raw
senders have the bytes. A share of a processor is a share of one core. With its defaults boofuzz
reads no answers, which spares it the waiting; all other senders read and judge every answer.
``--find`` measures the time to a finding instead: `fuzz_find`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count, cycle, islice
from pathlib import Path
from statistics import median

import fuzz_senders
from fuzz_find import Sought, find

from wireproof_kit.fuzz.campaign.batches import BATCH, PIECE, WATCHED, Meanwhile
from wireproof_kit.fuzz.campaign.target import open_fuzz_session, start_alone
from wireproof_kit.fuzz.case import Case, Whole
from wireproof_kit.fuzz.driver import Choice, FuzzSession, FuzzSessionOptions, Generation
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.send.batch_order import SortedBatch
from wireproof_kit.fuzz.send.engine import Engine
from wireproof_kit.fuzz.send.pipeline import is_pipeable
from wireproof_kit.protocols import read_target
from wireproof_kit.targets.embedded import EmbeddedReference
from wireproof_kit.targets.process import usage
from wireproof_kit.wire.address import Address

HOME = Path(__file__).parents[2]
BOOFUZZ = "boofuzz==0.4.2"
BOOFUZZ_VENV = HOME / ".cache" / "boofuzz"
SENDER = Path(__file__).with_name("boofuzz_sender.py")
FRAMES, STATES = ("PUB_EXT",), ("identified",)
EPOCHS = 3
"""So many sets of seed frames the picked cases are made from, each as many as in a campaign."""
GOALS = (
    ("property", "boofuzz", 10.0),
    ("mutation", "raw", 0.5),
    ("reconnecting", "raw-connect", 0.6),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Cases sent in a time, and the shares of a core that both sides used."""

    cases: int
    seconds: float
    client: float
    target: float

    @property
    def rate(self) -> float:
        """Return the cases per second."""
        return self.cases / self.seconds


@dataclass(frozen=True, slots=True)
class Picked:
    """The chosen cases: their numbers, their frames, and the bytes that open their connection."""

    indices: Sequence[int]
    entry: bytes
    frames: Sequence[bytes]


@dataclass(slots=True)
class Bench:
    """A reference, open for fuzzing."""

    running: EmbeddedReference
    fuzz_session: FuzzSession
    seconds: float
    python: Path
    _drawn: Iterator[int] = field(default_factory=count)
    _picked: dict[bool, Picked] = field(default_factory=dict[bool, Picked])

    def measure(self, name: str) -> Measured:
        """Run one participant for a while."""
        participants: dict[str, Callable[[], Measured]] = {
            "boofuzz": lambda: self._boofuzz("default"),
            "boofuzz-lean": lambda: self._boofuzz("lean"),
            "property": lambda: self._ours(Choice(1, FRAMES, STATES, drawn=True), self._drawn),
            "mutation": lambda: self._send_mutated(piped=True),
            "raw": lambda: self._raw(fuzz_senders.send_pipelined, piped=True),
            "reconnecting": lambda: self._send_mutated(piped=False),
            "raw-connect": lambda: self._raw(fuzz_senders.send_reconnecting, piped=False),
        }
        return participants[name]()

    def _time_work(self, work: Callable[[], int]) -> Measured:
        pid = self.running.process.pid
        before = usage(pid)
        cpu, started = time.process_time(), time.monotonic()
        cases = work()
        seconds = time.monotonic() - started
        after = usage(pid)
        assert before is not None
        assert after is not None
        client = (time.process_time() - cpu) / seconds
        return Measured(cases, seconds, client, (after.cpu_s - before.cpu_s) / seconds)

    def _send_mutated(self, *, piped: bool) -> Measured:
        return self._ours(Choice(1, FRAMES, STATES), cycle(self.pick_cases(piped=piped).indices))

    def _ours(self, choice: Choice, indices: Iterator[int]) -> Measured:
        """Generate, send and judge cases.

        Health is checked after every batch, deliveries in one of `WATCHED` batches.
        """
        generation = self.fuzz_session.generation(choice)
        generation.case(0)
        engine = Engine(self.fuzz_session, generation)

        def work() -> int:
            deadline = time.monotonic() + self.seconds
            following = engine.sort_batch((), watch=True)
            making = _make_batch(generation, following, indices)
            done, batches = 0, 1
            while time.monotonic() < deadline:
                for _ in making:
                    pass
                batch, following = following, engine.sort_batch((), watch=batches % WATCHED == 0)
                making = _make_batch(generation, following, indices)
                found = engine.perform_sorted(batch, patient=False, meanwhile=making)
                assert not found, found[0].trouble
                done += len(batch.batch)
                batches += 1
            return done

        try:
            return self._time_work(work)
        finally:
            engine.close()

    def _raw(self, send: fuzz_senders.Send, *, piped: bool) -> Measured:
        target, picked = read_target(self.running.url), self.pick_cases(piped=piped)
        address = (target.host, target.port)
        return self._time_work(lambda: send(address, picked.entry, picked.frames, self.seconds))

    def pick_cases(self, *, piped: bool) -> Picked:
        """Return the cases in frame, or those that cost a reconnect, that are to be sent."""
        if piped not in self._picked:
            generation = self.fuzz_session.generation(Choice(1, FRAMES, STATES))
            assert isinstance(generation, Generator), "nothing is drawn"
            entry = b"".join(step.data for step in generation.enter(STATES[0]))
            found: list[Case] = []
            for epoch in range(EPOCHS):
                all_of_it = islice(generation.cases(epoch * generation.epoch), generation.epoch)
                fit = [case for case in all_of_it if self._fits(case, entry, piped=piped)]
                found += islice(cycle(fit), generation.epoch // BATCH * BATCH)
            indices, frames = zip(
                *((each.index, each.steps[0].data) for each in found), strict=True
            )
            self._picked[piped] = Picked(indices, entry, frames)
        return self._picked[piped]

    def _fits(self, case: Case, entry: bytes, *, piped: bool) -> bool:
        """Return whether a case is one write with one answer, and stays in frame as wanted."""
        if len(case.steps) != 1 or not isinstance(case.steps[0].style, Whole):
            return False
        expected = self.fuzz_session.oracle.expect(case, entry, case.steps[0].data)
        is_one = len(expected.owed) == 1 and not expected.owed[0].optional
        in_frame = case.delimited and is_pipeable(case, expected)
        return is_one and not expected.waits and in_frame == piped

    def _boofuzz(self, mode: str) -> Measured:
        topic = self.fuzz_session.names["extended"]
        pid = self.running.process.pid
        before = usage(pid)
        target = read_target(self.running.url)
        told = boofuzz(self.python, mode, (target.host, target.port), self.seconds, topic=topic)
        after = usage(pid)
        assert before is not None
        assert after is not None
        seconds = told["seconds"]
        share = (after.cpu_s - before.cpu_s) / seconds
        return Measured(int(told["cases"]), seconds, told["cpu_s"] / seconds, share)


def _make_batch(generation: Generation, batch: SortedBatch, indices: Iterator[int]) -> Meanwhile:
    """Make the cases of a batch, piece by piece."""
    for number, index in enumerate(islice(indices, BATCH)):
        batch.add(generation.case(index))
        if number % PIECE == PIECE - 1:
            yield


def boofuzz(
    python: Path,
    mode: str,
    address: Address,
    seconds: float,
    *,
    topic: str = "",
    task: bytes = b"",
) -> dict[str, float]:
    """Run boofuzz in a new process."""
    arguments = [mode, address[0], str(address[1]), topic, "1000000", str(seconds)]
    with tempfile.TemporaryDirectory() as folder:  # it keeps a data base where it runs
        done = subprocess.run(
            [str(python), str(SENDER), *arguments],
            input=task,
            capture_output=True,
            check=False,
            timeout=seconds + 120,
            cwd=folder,
        )
    if done.returncode:
        raise SystemExit(f"boofuzz failed: {done.stderr.decode()[-500:]}")
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def boofuzz_python() -> Path:
    """Return the interpreter that has boofuzz, made on first use."""
    python = BOOFUZZ_VENV / "bin" / "python"
    if not (BOOFUZZ_VENV / ".ready").exists():
        venv.create(BOOFUZZ_VENV, with_pip=True, clear=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", BOOFUZZ], check=True)
        (BOOFUZZ_VENV / ".ready").touch()
    return python


def _found_by_boofuzz(
    python: Path, address: Address, seconds: float, task: bytes
) -> dict[str, float]:
    return boofuzz(python, "find", address, seconds, task=task)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, compare with the goals; 0 when all are met."""
    parser = argparse.ArgumentParser(description="The fuzzer beside its peers.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each participant")
    parser.add_argument("--without-boofuzz", action="store_true")
    parser.add_argument("--find", nargs="*", metavar="FAULT", help="default: all of the parser")
    options = parser.parse_args(argv)
    python = Path() if options.without_boofuzz else boofuzz_python()
    if options.find is not None:
        chosen = [fault for fault in faults() if not options.find or fault.fault in options.find]
        if not chosen:
            parser.error(f"--find: no fault of a parser is called {' or '.join(options.find)}")
        return 0 if find(chosen, partial(_found_by_boofuzz, python)) else 1
    names = ["property", "mutation", "raw", "reconnecting", "raw-connect"]
    names = names if options.without_boofuzz else ["boofuzz", "boofuzz-lean", *names]
    running = start_alone("nsq")
    try:
        fuzz_session = open_fuzz_session(read_target(running.url), FuzzSessionOptions("bench"))
        bench = Bench(running, fuzz_session, options.seconds, python)
        rounds: dict[str, list[Measured]] = {name: [] for name in names}
        for _ in range(options.rounds):
            for name in names:
                rounds[name].append(bench.measure(name))
    finally:
        running.close()
    return 0 if _report(rounds) else 1


_SIDES: tuple[Callable[[Measured], float], ...] = (
    lambda one: one.client,
    lambda one: one.target,
)


def _report(rounds: dict[str, list[Measured]]) -> bool:
    heads = f"{'cases/s':>10}{'client':>9}{'target':>9}{'client us':>11}{'target us':>11}"
    print(f"{'':<14}{heads}   shares of one core, time on it for a case; medians")
    rates: dict[str, float] = {}
    for name, each in rounds.items():
        rates[name] = median(one.rate for one in each)
        client = median(one.client for one in each)
        target = median(one.target for one in each)
        shares = f"{client:>9.2f}{target:>9.2f}"
        each_us = [1e6 * median(f(one) / one.rate for one in each) for f in _SIDES]
        print(f"{name:<14}{rates[name]:>10.0f}{shares}{each_us[0]:>11.1f}{each_us[1]:>11.1f}")
    met = True
    for ours, anchor, least in GOALS:
        if anchor not in rates:
            continue
        ratio = median(
            one.rate / other.rate for one, other in zip(rounds[ours], rounds[anchor], strict=True)
        )
        word = "met" if ratio >= least else "MISSED"
        met = met and ratio >= least
        print(f"{word}: {ours} is {ratio:.2f} x {anchor}, at least {least:g} is due")
    return met


def faults() -> list[Sought]:
    """Return the faults of every parser."""
    found: list[Sought] = []
    for protocol in ("nsq", "iggy"):
        command = [sys.executable, "-m", "wireproof", "serve", protocol, "--list-faults"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rows = [line.split("\t") for line in lines.splitlines()]
        found += [Sought(protocol, row[0]) for row in rows if row[1] == "parser"]
    return found


if __name__ == "__main__":
    sys.exit(main())
