"""How fast the fuzzer is beside its peers, on the reference with everything it checks switched on.

``python kit/bench/bench_fuzz.py`` runs all participants in turns against one reference: boofuzz
with its defaults and lean (in a virtual environment of its own, made on first use: it is
GPL-2.0-only and no part of the product), our property mode, our mutation mode in frame, a raw
sender of the same frames that reads the answers, our cases that cost a reconnect, and a raw sender
with a connection for each of the same. Every share of a processor is of one core.

``--find`` also measures the time to a finding over faults of the reference's parser.
"""

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from wireproof_kit.embedded import EmbeddedReference
from wireproof_kit.fuzz.arena import open_grounds, start_alone
from wireproof_kit.fuzz.case import Case, Whole
from wireproof_kit.fuzz.door import Choice, Generation, Grounds, GroundsOptions
from wireproof_kit.fuzz.engine import Engine
from wireproof_kit.fuzz.lane import is_pipeable
from wireproof_kit.fuzz.process import usage
from wireproof_kit.protocols import read_target

HOME = Path(__file__).parents[2]
BOOFUZZ = "boofuzz==0.4.2"
BOOFUZZ_VENV = HOME / ".cache" / "boofuzz"
SENDER = Path(__file__).with_name("boofuzz_sender.py")
FRAMES, STATES = ("PUB_EXT",), ("identified",)
BATCH = 256
DEPTH = 256
IN_FLIGHT = 4
"""Blocks of that depth which the raw sender has under way."""
FIND_S = 60
CHUNK = 262_144
GOALS = (
    ("property", "boofuzz", 10.0),
    ("mutation", "raw", 0.5),
    ("reconnecting", "raw-connect", 0.6),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Cases sent in so many seconds, and the shares of a core of both sides."""

    cases: int
    seconds: float
    client: float
    target: float

    @property
    def rate(self) -> float:
        """Return cases in a second."""
        return self.cases / self.seconds


@dataclass(slots=True)
class Bench:
    """A reference, open for fuzzing."""

    running: EmbeddedReference
    grounds: Grounds
    seconds: float
    python: Path
    _starts: dict[str, int] = field(default_factory=dict)

    def measure(self, name: str) -> Measured:
        """Run one participant for a while."""
        participants: dict[str, Callable[[], Measured]] = {
            "boofuzz": lambda: self._boofuzz("default"),
            "boofuzz-lean": lambda: self._boofuzz("lean"),
            "property": lambda: self._ours(Choice(1, FRAMES, STATES, drawn=True), "any"),
            "mutation": lambda: self._ours(Choice(1, FRAMES, STATES), "in frame"),
            "raw": self._raw,
            "reconnecting": lambda: self._ours(Choice(1, FRAMES, STATES), "single"),
            "raw-connect": self._raw_connect,
        }
        return participants[name]()

    def _timed(self, work: Callable[[], int]) -> Measured:
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

    def _ours(self, choice: Choice, which: str) -> Measured:
        """Generate, send, judge; health is asked after every batch, deliveries at one in four."""
        generation = self.grounds.generation(choice)
        generation.case(0)
        engine = Engine(self.grounds, generation)
        start = self._starts.get(which, 0)

        def work() -> int:
            deadline = time.monotonic() + self.seconds
            cases = chosen(self.grounds, generation, which, start)
            done, batches = 0, 0
            upcoming = [next(cases) for _ in range(BATCH)]
            while time.monotonic() < deadline:
                batch, upcoming = upcoming, []

                def prepare(into: list[Case] = upcoming) -> None:
                    into.extend(next(cases) for _ in range(BATCH))

                found = engine.perform(batch, watch=batches % 4 == 0, meanwhile=prepare)
                assert not found, found[0].trouble
                done += len(batch)
                batches += 1
            self._starts[which] = start + 4 * done
            return done

        try:
            return self._timed(work)
        finally:
            engine.close()

    def _frames(self, which: str, count: int) -> tuple[bytes, list[bytes]]:
        """Return what opens a connection, and frames made beforehand."""
        generation = self.grounds.generation(Choice(1, FRAMES, STATES))
        entry = b"".join(step.data for step in generation.enter(STATES[0]))
        cases = chosen(self.grounds, generation, which, 0)
        return entry, [next(cases).steps[0].data for _ in range(count)]

    def _raw(self) -> Measured:
        """Send frames made beforehand over one connection, and read as many answers."""
        entry, made = self._frames("in frame", 8 * BATCH)
        blocks = [b"".join(made[at : at + DEPTH]) for at in range(0, len(made), DEPTH)]

        def work() -> int:
            deadline = time.monotonic() + self.seconds
            room = threading.Semaphore(IN_FLIGHT)
            done = sent = 0
            with self._connected() as sock:
                sock.sendall(entry)
                answers = Answers(sock)
                answers.take(1)

                def send() -> None:
                    nonlocal sent
                    while time.monotonic() < deadline:
                        room.acquire()
                        sock.sendall(blocks[sent % len(blocks)])
                        sent += 1

                sender = threading.Thread(target=send)
                sender.start()
                while sender.is_alive() or done < sent:
                    if done == sent:
                        time.sleep(0.0005)
                        continue
                    answers.take(DEPTH)
                    done += 1
                    room.release()
                sender.join()
            return done * DEPTH

        return self._timed(work)

    def _raw_connect(self) -> Measured:
        """Send one frame made beforehand on each connection, and read its answer."""
        entry, made = self._frames("single", 4 * BATCH)

        def work() -> int:
            deadline = time.monotonic() + self.seconds
            done = 0
            while time.monotonic() < deadline:
                for data in made:
                    with self._connected() as sock:
                        sock.sendall(entry + data)
                        Answers(sock).take(2)
                    done += 1
            return done

        return self._timed(work)

    def _connected(self) -> socket.socket:
        target = read_target(self.running.url)
        sock = socket.create_connection((target.host, target.port), 5)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def _boofuzz(self, mode: str) -> Measured:
        topic = self.grounds.names["extended"]
        pid = self.running.process.pid
        before = usage(pid)
        told = boofuzz(self.python, mode, self.running.url, topic, self.seconds)
        after = usage(pid)
        assert before is not None
        assert after is not None
        seconds = told["seconds"]
        target = (after.cpu_s - before.cpu_s) / seconds
        return Measured(int(told["cases"]), seconds, told["cpu_s"] / seconds, target)


def chosen(grounds: Grounds, generation: Generation, which: str, start: int) -> Iterator[Case]:
    """Return cases in frame, or single ones that are owed an answer, sent in one write; or all."""
    entry = b"".join(step.data for step in generation.enter(STATES[0]))
    for case in generation.cases(start):
        if which == "any":
            yield case
            continue
        if len(case.steps) != 1 or not isinstance(case.steps[0].manner, Whole):
            continue
        expected = grounds.referee.expect(case, entry, case.steps[0].data)
        piped = case.delimited and is_pipeable(case, expected)
        owed = bool(expected.owed) and not expected.owed[0].optional
        if piped if which == "in frame" else owed and not piped and not expected.waits:
            yield case


@dataclass(slots=True)
class Answers:
    """Takes frames off a socket."""

    sock: socket.socket
    rest: bytes = b""

    def take(self, count: int) -> None:
        """Read so many frames, or to the end."""
        data, at = self.rest, 0
        while count:
            end = at + 4 + int.from_bytes(data[at : at + 4], "big")
            if len(data) - at >= 4 and end <= len(data):
                at = end
                count -= 1
                continue
            piece = self.sock.recv(CHUNK)
            if not piece:
                break
            data, at = data[at:] + piece, 0
        self.rest = data[at:]


def boofuzz(python: Path, mode: str, url: str, topic: str, seconds: float) -> dict[str, float]:
    """Run boofuzz as a process of its own."""
    target = read_target(url)
    arguments = [mode, target.host, str(target.port), topic, "1000000", str(seconds)]
    with tempfile.TemporaryDirectory() as folder:  # it keeps a data base where it runs
        done = subprocess.run(
            [str(python), str(SENDER), *arguments],
            capture_output=True,
            check=False,
            timeout=300,
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


def find(python: Path, faults: Sequence[str]) -> bool:
    """Compare the time to a finding; True when ours takes at most a tenth in the middle."""
    ours: list[float] = []
    theirs: list[float] = []
    for fault in faults:
        ours.append(_ours_finds(fault))
        theirs.append(_theirs_find(python, fault))
        print(
            f"  {fault:<44} ours {ours[-1]:6.1f} s   boofuzz lean {theirs[-1]:6.1f} s", flush=True
        )
    ratio = median(ours) / median(theirs)
    print(f"time to finding: median {median(ours):.1f} s, boofuzz {median(theirs):.1f} s")
    print(f"  ratio {ratio:.2f}, at most 0.10 is due (not found in {FIND_S} s counts as that)")
    return ratio <= 0.1


def _ours_finds(fault: str) -> float:
    command = [sys.executable, "-m", "wireproof", "fuzz", "--reference", "nsq", "--json", "-x"]
    command += ["--no-shrink", "--time", str(FIND_S), "--seed", "1", *_few()]
    command += ["--bundle", "out/bench-fuzz.jsonl"]
    command += ["--reference-option=--fault", f"--reference-option={fault}"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=FIND_S + 90)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    times = [each["at_s"] for each in events if each["event"] == "finding"]
    return float(min(times, default=FIND_S))


def _few() -> list[str]:
    return ["--frames", *FRAMES, "--states", "magic-sent"]


def _theirs_find(python: Path, fault: str) -> float:
    running = start_alone("nsq", ("--fault", fault))
    try:
        grounds = open_grounds(read_target(running.url), GroundsOptions("boo"))
        topic = grounds.names["extended"]
        found = boofuzz(python, "find", running.url, topic, FIND_S).get("found_s")
        grounds.health.close()
        return FIND_S if found is None else float(found)
    finally:
        running.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, compare with the goals; 0 when all are met."""
    parser = argparse.ArgumentParser(description="The fuzzer beside its peers.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each participant")
    parser.add_argument("--without-boofuzz", action="store_true")
    parser.add_argument("--find", nargs="*", metavar="FAULT", help="default: all of the parser")
    options = parser.parse_args(argv)
    python = Path() if options.without_boofuzz else boofuzz_python()
    names = ["property", "mutation", "raw", "reconnecting", "raw-connect"]
    names = names if options.without_boofuzz else ["boofuzz", "boofuzz-lean", *names]
    running = start_alone("nsq")
    try:
        grounds = open_grounds(read_target(running.url), GroundsOptions("bench"))
        bench = Bench(running, grounds, options.seconds, python)
        rounds: dict[str, list[Measured]] = {name: [] for name in names}
        for _ in range(options.rounds):
            for name in names:
                rounds[name].append(bench.measure(name))
    finally:
        running.close()
    met = _tell(rounds)
    if options.find is not None and not options.without_boofuzz:
        met = find(python, options.find or _faults()) and met
    return 0 if met else 1


def _tell(rounds: dict[str, list[Measured]]) -> bool:
    print(f"{'':<14}{'cases/s':>10}{'client':>9}{'target':>9}   shares of one core, medians")
    rates: dict[str, float] = {}
    for name, each in rounds.items():
        rates[name] = median(one.rate for one in each)
        client = median(one.client for one in each)
        target = median(one.target for one in each)
        print(f"{name:<14}{rates[name]:>10.0f}{client:>9.2f}{target:>9.2f}")
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


def _faults() -> list[str]:
    command = [sys.executable, "-m", "wireproof", "serve", "nsq", "--list-faults"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in lines.splitlines()]
    return [row[0] for row in rows if row[1] == "parser"]


if __name__ == "__main__":
    sys.exit(main())
