"""Opens a session with a target, and refuses what a package opens that is no whole session.

A type checker finds a method that a `Session` lacks, and not every author runs one. So what a run
needs is checked here once: in the middle of a run, a missing method looks like a dead target.
"""

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from inspect import getmembers, isfunction
from typing import Never, TypeVar

from wireproof_kit.errors import TargetUnreachable, UsageFault
from wireproof_kit.protocols import kit_part
from wireproof_kit.runner.patience import Patience
from wireproof_kit.targets.session import REQUIRED, Control, Session, SessionOptions
from wireproof_kit.targets.target import Target, option_of
from wireproof_kit.wire.address import split_address
from wireproof_kit.wire.connection import accepts
from wireproof_spec.protocol import Group, leave_out, left_out, package_of

T = TypeVar("T")
NEEDED = "which every session needs (docs/your-protocol.md, section 4)"


def open_session(target: Target, options: SessionOptions) -> Session:
    """Open a session with a target, by the part that its protocol registers.

    Raises:
        KitError: the target cannot be reached, or does not answer in its protocol.
        UsageFault: the package of the protocol opens no whole session; it is left out then.
    """
    opened = kit_part(target.protocol).open_session
    session = reach(target, lambda: opened(target, options))
    if package_of(Group.KIT, target.protocol) is not None:
        if missing := _list_missing(session):
            _refuse(target.protocol, session, f"lacks {_join(missing)}, {NEEDED}")
        _check_returned(target.protocol, session)
    return session


def reach(target: Target, opened: Callable[[], T]) -> T:
    """Return what a function opens on a target.

    Raises:
        TargetUnreachable: a connection that the function makes by itself is refused.
    """
    try:
        return opened()
    except (ConnectionError, TimeoutError, socket.gaierror) as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise TargetUnreachable(f"cannot reach {target.url} ({reason.lower()})") from error


def check_beside(target: Target) -> None:
    """Check that the addresses which the user gave beside a target's main one accept connections.

    A capability with a dead address looks like one that the target does not have. Of the servers
    that know the nodes, whoever asks them needs only one.

    Raises:
        TargetUnreachable: one of them does not.
    """
    for key, address in target.addresses():
        if key not in target.servers and not accepts(split_address(address)):
            raise TargetUnreachable(
                f"{option_of(key)} {address}: nothing accepts connections there; give the right "
                f"address, or leave {option_of(key)} out"
            )


def check_patience(protocol: str, session: object, read: Callable[[], object]) -> None:
    """Refuse an opened session of a package that has no time limits.

    Raises:
        UsageFault: ``read`` returns something else than a `Patience`, or fails.
    """
    found: object = None
    with suppress(AttributeError):
        found = read()
    if not isinstance(found, Patience) and package_of(Group.KIT, protocol) is not None:
        _refuse(protocol, session, f"lacks patience, {NEEDED}")


def _list_missing(session: Session) -> list[str]:
    """Return the members of `Session` that an opened one lacks."""
    missing = [
        f"{name}()"
        for name, default in getmembers(Session, isfunction)
        if not name.startswith("_") and _is_missing(session, name, default)
    ]
    is_timed = isinstance(getattr(session, "patience", None), Patience)
    return missing if is_timed else [*missing, "patience"]


def _is_missing(session: Session, name: str, default: object) -> bool:
    found: object = getattr(session, name, None)
    is_default = getattr(found, "__func__", None) is default
    return not callable(found) or (is_default and name in REQUIRED)


def _check_returned(protocol: str, session: Session) -> None:
    """Refuse a session whose answers on the target's life are none: nothing counts as dead."""
    calls: dict[str, tuple[Callable[[], object], type]] = {
        "control": (session.control, Control),
        "is_alive": (session.is_alive, bool),
    }
    for name, (call, kind) in calls.items():
        found = call()
        if not isinstance(found, kind):
            what = f"returns {found!r} from {name}(), which is no {kind.__name__}"
            _refuse(protocol, session, what)
    # A target may die between two calls, but not twice behind an answer.
    if all(session.control().state == "prompt" and not session.is_alive() for _ in range(2)):
        what = "returns False from is_alive() of a target that has just answered control()"
        _refuse(protocol, session, what)


def _refuse(protocol: str, session: object, what: str) -> Never:
    package = package_of(Group.KIT, protocol) or protocol
    kind = type(session)
    leave_out(protocol, package, f"class {kind.__name__} of {kind.__module__} {what}")
    with suppress(Exception):  # it may be broken in any way
        getattr(session, "close", lambda: None)()
    raise UsageFault(f"protocol {protocol!r} cannot be used: {left_out()[protocol]}")


def _join(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
