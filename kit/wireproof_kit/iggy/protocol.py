"""What the kit knows of Iggy."""

from pathlib import Path
from typing import TYPE_CHECKING

from wireproof_kit.protocols import KitPart
from wireproof_kit.targets.session import Session, SessionOptions
from wireproof_kit.targets.target import USUAL_KEYS, Target

if TYPE_CHECKING:
    from wireproof_kit.fuzz.driver import FuzzSession, FuzzSessionOptions


def _open_session(target: Target, options: SessionOptions) -> Session:
    from wireproof_kit.iggy.session import open_session

    return open_session(target, options)


def _open_fuzz_session(target: Target, options: "FuzzSessionOptions") -> "FuzzSession":
    from wireproof_kit.iggy.fuzz.fuzz_session import open_fuzz_session

    return open_fuzz_session(target, options)


KIT = KitPart(
    dissector=Path(__file__).parent / "pcap" / "wireproof-iggy.lua",
    open_session=_open_session,
    arguments=("server", "topic"),
    example="iggy://127.0.0.1:8090",
    target_keys={key: USUAL_KEYS[key] for key in ("http", "data", "control", "auth_env")},
    reference=("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--control", "127.0.0.1:0"),
    keys={"http": "http", "data": "data", "control": "control"},
    open_fuzz_session=_open_fuzz_session,
)
