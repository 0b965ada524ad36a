"""How to reach a target: the addresses a user gave and the facts found at the first contact."""

from dataclasses import dataclass
from pathlib import Path

from wireproof_kit.iggy.forms import Forms
from wireproof_kit.iggy.identifiers import Identifiers
from wireproof_kit.iggy.wire.login import Login
from wireproof_kit.wire.address import Address


@dataclass(frozen=True, slots=True)
class Access:
    """How the cases of a run reach the target: addresses, login, names and the data directory.

    ``forms`` are those in which the target speaks.
    """

    address: Address
    login: Login
    identifiers: Identifiers
    forms: Forms
    http: Address | None = None
    control: Address | None = None
    control_token: str = ""
    data: Path | None = None
    http_seconds: float = 5.0
