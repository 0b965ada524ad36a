"""What the kit knows of the protocol; the functions import the rest when they are called."""

from wireproof_kit.fuzz.driver import FuzzSession, FuzzSessionOptions
from wireproof_kit.protocols import KitPart
from wireproof_kit.targets.session import Session, SessionOptions
from wireproof_kit.targets.target import Target


def _open_session(target: Target, options: SessionOptions) -> Session:
    from wireproof_note.session import NoteSession

    return NoteSession(target, options)


def _open_fuzz_session(target: Target, options: FuzzSessionOptions) -> FuzzSession:
    from wireproof_note.fuzz import open_fuzz_session

    return open_fuzz_session(target, options)


KIT = KitPart(
    open_session=_open_session,
    arguments=("notebook",),
    example="note://127.0.0.1:7070",
    reference=("--tcp", "127.0.0.1:0"),
    open_fuzz_session=_open_fuzz_session,
)
