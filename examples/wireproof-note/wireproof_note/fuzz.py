"""Fuzzing: frames drawn from the grammar, and what the server owes for any bytes."""

from collections.abc import Collection, Iterator, Sequence

from hypothesis import strategies as st

from wireproof_kit.fuzz.campaign.session import OpenTarget
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import (
    Answer,
    End,
    Expectation,
    FuzzSessionOptions,
    Health,
    Oracle,
    Owed,
    Sentinel,
    Trouble,
)
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


def _owed(frames: list[bytes]) -> Iterator[Owed]:
    for data in frames:
        right = data[:1] == bytes([STORE]) and len(data) > 1
        kinds = frozenset({"STORED" if right else "REFUSED"})
        yield Owed(kinds, success=kinds if right else frozenset(), echo=data[1:] * right)


class Answers:
    """Answers out of what the server sends."""

    fault = ""
    pending = b""

    def feed(self, data: bytes) -> Sequence[Answer]:
        """Take bytes; return the answers that are whole now."""
        frames, self.pending = _split(self.pending + data)
        return [Answer(NAMES.get(each[:1][0], "?") if each else "?", each) for each in frames]


class NoteOracle(Oracle):
    """What a server owes for any bytes."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address

    def address(self, case: Case) -> tuple[str, int]:
        """Return where a case goes."""
        return self._address

    def reader(self, case: Case) -> Answers:
        """Return a reader for a new connection."""
        return Answers()

    def expect(self, case: Case | None, before: bytes, data: bytes) -> Expectation:
        """Return what each whole frame is owed."""
        frames, rest = _split(data)
        return Expectation(tuple(_owed(frames)), waits=bool(rest))

    def is_pushed(self, kind: str) -> bool:
        """Return False: nothing comes unasked."""
        return False

    def reply_to_unrequested(self, answer: Answer) -> bytes:
        """Return nothing to send."""
        return b""

    def sentinel(self, case: Case, number: int) -> Sentinel | None:
        """Return a frame whose answer has a text that no other answer has."""
        text = b"sentinel %d" % number
        data = field_map.frame("STORE", FRAME, Frame(STORE, text)).data
        return Sentinel(data, lambda answer: text in answer.data)

    def use_watched_names(self, case: Case) -> Case:
        """Return the case as it is: nothing is delivered later."""
        return case


class Neighbour(Health):
    """Another client, which must notice nothing."""

    def __init__(self, session: NoteSession) -> None:
        self._notebook = session.notebook(Transcript())

    def check(self, *, patient: bool = True) -> Trouble | None:
        """Store a text on the connection of the other client."""
        seen = self._notebook.store(b"neighbour")
        return None if seen == "stored" else Trouble("bystander", f"another client saw {seen}")

    def find_lingering(self, ends: Collection[End]) -> Collection[End]:
        """Return nothing: a server does not list its connections."""
        return ()

    def close(self) -> None:
        """End the connection."""
        self._notebook.close()


def open_fuzz_session(target: Target, options: FuzzSessionOptions) -> OpenTarget:
    """Open a target for the fuzzer."""
    session = NoteSession(
        target, SessionOptions(0, options.token, options.timeout_s, patience=options.patience)
    )
    oracle, health = NoteOracle(session.address), Neighbour(session)
    return OpenTarget(
        session,
        oracle,
        health,
        {},
        lambda choice: make_generation(GRAMMAR, choice),
        lambda leave: None,
    )
