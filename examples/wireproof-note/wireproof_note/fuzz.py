"""Fuzzing: frames drawn from the grammar, and what the server owes for any bytes."""

from collections.abc import Iterator, Sequence
from functools import partial

from hypothesis import strategies as st

from wireproof_kit.fuzz import driver
from wireproof_kit.fuzz.campaign.session import OpenTarget
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.generate import field_map
from wireproof_kit.fuzz.generate.case_sources import make_generation
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind, always
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.transcript import Transcript
from wireproof_note.frame import FRAME, NAMES, STORE, Frame
from wireproof_note.session import NoteSession

TEXTS = st.binary(min_size=1, max_size=100)
STORES = TEXTS.map(lambda text: field_map.frame("STORE", FRAME, Frame(STORE, text)))
GRAMMAR = Grammar(
    kinds=(Kind("STORE", "tcp", STORES, ("open",), always),),
    states={"tcp": ("open",)},
    entry={"open": ()},
    talking="tcp",
    is_delimited=lambda kind, data: not _split(data)[1],
    is_hazardous=lambda kind, data: False,
    moves=lambda kind, frame: "open",
    limits={},
)


def _split(data: bytes) -> tuple[list[bytes], bytes]:
    """Return the whole frames without their sizes, and the bytes behind them."""
    frames: list[bytes] = []
    while len(data) >= 2 and len(data) >= (end := 2 + int.from_bytes(data[:2], "big")):
        frames.append(data[2:end])
        data = data[end:]
    return frames, data


def _list_owed(frames: list[bytes]) -> Iterator[driver.Owed]:
    for data in frames:
        right = data[:1] == bytes([STORE]) and len(data) > 1
        kinds = frozenset({"STORED" if right else "REFUSED"})
        yield driver.Owed(kinds, success=kinds if right else frozenset(), echo=data[1:] * right)


class Answers:
    """Decodes the answers in what the server sends on one connection."""

    fault = ""
    pending = b""

    def feed(self, data: bytes) -> Sequence[driver.Answer]:
        """Process received bytes; return the answers that are complete now."""
        frames, self.pending = _split(self.pending + data)
        return [
            driver.Answer(NAMES.get(int.from_bytes(frame[:1]), "?"), frame) for frame in frames
        ]


class NoteOracle(driver.Oracle):
    """Tells the fuzzer how a correct server answers, for any bytes."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address

    def address(self, case: Case) -> tuple[str, int]:
        """Return the host and port to which a case is sent."""
        return self._address

    def reader(self, case: Case) -> Answers:
        """Return a decoder of answers for a new connection."""
        return Answers()

    def expect(self, case: Case | None, before: bytes, data: bytes) -> driver.Expectation:
        """Return the answer that is expected to each complete frame of sent bytes."""
        frames, rest = _split(data)
        return driver.Expectation(tuple(_list_owed(frames)), waits=bool(rest))

    def sentinel(self, case: Case, number: int) -> driver.Sentinel | None:
        """Return a frame with a unique answer, which shows that earlier answers have come."""
        text = b"sentinel %d" % number
        data = field_map.frame("STORE", FRAME, Frame(STORE, text)).data
        return driver.Sentinel(data, lambda answer: text in answer.data)


class Neighbour(driver.Health):
    """The connection of another client, which a fuzz case must not disturb."""

    def __init__(self, session: NoteSession) -> None:
        self._notebook = session.notebook(Transcript())

    def check(self, *, patient: bool = True) -> driver.Trouble | None:
        """Store a text over the other client's connection; return what went wrong, or None."""
        seen = self._notebook.store(b"neighbour").value
        return None if seen == "stored" else driver.Trouble("bystander", f"a neighbour saw {seen}")

    def close(self) -> None:
        """Close the connection."""
        self._notebook.close()


def open_fuzz_session(target: Target, options: driver.FuzzSessionOptions) -> OpenTarget:
    """Open a target for the fuzzer, with what the fuzzer needs of this protocol."""
    known = SessionOptions(0, options.token, options.timeout_s, patience=options.patience)
    session = NoteSession(target, known)
    oracle, health = NoteOracle(session.address), Neighbour(session)
    generate = partial(make_generation, GRAMMAR)
    return OpenTarget(session, oracle, health, {}, generate, lambda leave: None)
