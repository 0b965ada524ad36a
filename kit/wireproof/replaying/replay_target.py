"""The target on which an exchange is repeated."""

import contextlib
import secrets
import shlex
from collections.abc import Generator
from dataclasses import dataclass
from urllib.parse import parse_qs

from wireproof.options.confirmation import confirm_addresses, confirm_command
from wireproof.options.global_options import manner
from wireproof.options.target_choice import REFERENCE, Pairs
from wireproof.replaying.protocol_replay import Occasion, Replayer, Round, Steps, replayer_of
from wireproof.view.output import echo
from wireproof.view.style import flow_pieces
from wireproof_kit.bundle.file import Bundle
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import read_target, refuse_without_reference
from wireproof_kit.runner.collect import collect
from wireproof_kit.targets.embedded import start_reference
from wireproof_kit.targets.opening import open_session
from wireproof_kit.targets.session import SessionOptions, keeps_to_loopback
from wireproof_kit.targets.target import Target, command_in, option_of
from wireproof_spec.record import CaseRecord
from wireproof_spec.step_notes import IN_TLS

_OF_THE_USER = {
    "auth_env": "the secret in",
    "cert": "your certificate",
    "key": "a proof of your key",
}
"""What a recorded URL would send of the user's own, by its key."""


@dataclass(frozen=True, slots=True)
class ReplaySetup:
    """What a replay needs: the recorded case and steps, the target, and the prepared repetitions.

    The answers in ``steps`` are the expected ones.
    """

    case: CaseRecord
    steps: Steps
    protocol: str
    target: Target
    rounds: tuple[Round, ...]
    replayer: Replayer


def choose_url(bundle: Bundle, to: str | None, keys: Pairs) -> str:
    """Return the URL that was given, or else the recorded one.

    A bundle may be somebody else's: the user must allow the command of a recorded URL and its
    addresses, and name the secret that it would send.

    Raises:
        UsageFault: the user has not done so.
    """
    recorded = bundle.header.target.url
    if to is not None:
        return to
    if command := command_in(recorded):
        confirm_command(command, bundle.path.name, f"give --to {shlex.quote(recorded)}")
    for key, values in parse_qs(bundle.header.target.parts().query).items():
        if key in _OF_THE_USER and key not in dict(keys):
            raise UsageFault(
                f"{bundle.path.name}: {recorded} is sent {_OF_THE_USER[key]} {values[-1]}; give "
                f"{option_of(key)} {shlex.quote(values[-1])} to send it"
            )
    _confirm_recorded(bundle, recorded)
    return recorded


def _confirm_recorded(bundle: Bundle, url: str) -> None:
    """Ask before an address is contacted that the user never named; loopback has services, too."""
    if url == REFERENCE or command_in(url):
        return
    try:
        target = read_target(url)
    except UsageFault:  # it is refused later
        return
    confirm_addresses(url, target.list_addresses(), bundle.path)


@contextlib.contextmanager
def open_scene(
    bundle: Bundle,
    case: CaseRecord,
    to: str | None,
    keys: Pairs,
    *,
    times: int,
    as_recorded: bool,
    hazardous: bool,
) -> Generator[ReplaySetup]:
    """Open the target, prepare every repetition of a case, and close everything at the end."""
    protocol = bundle.header.target.protocol
    replayer = replayer_of(protocol)
    url = choose_url(bundle, to, keys)
    with contextlib.ExitStack() as stack:
        if url == REFERENCE:
            refuse_without_reference(protocol)
            reference = start_reference(protocol)
            stack.callback(reference.close)
            url = reference.url
        target = read_target(url, keys)
        _refuse(case, target, protocol, hazardous=hazardous)
        arguments = None if as_recorded else _arguments(case, protocol, replayer)
        if not (manner().json or manner().quiet):
            for line in flow_pieces("replay", [case.case, f"to {target.url}"]):
                echo(line)
        options = SessionOptions(seed=bundle.header.seed, run_token=secrets.token_hex(4))
        session = open_session(target, options)
        stack.callback(session.close)
        if case.hazard and not hazardous and not keeps_to_loopback(session):
            raise _hazard(case, f"a node that the servers of {target.url} name")
        arranged = replayer.arrange(Occasion(case, arguments, target, session, times))
        yield ReplaySetup(case, arranged.steps, protocol, target, arranged.rounds, replayer)


def _refuse(case: CaseRecord, target: Target, protocol: str, *, hazardous: bool) -> None:
    if target.protocol != protocol:
        raise UsageFault(f"{target.url}: expected a target of protocol {protocol}")
    if not target.host:
        raise UsageFault(
            f"{target.url}: replaying needs one node; expected {protocol}://HOST:PORT"
        )
    was_in_tls = any(step.note.startswith(IN_TLS) for step in case.transcript.steps)
    if was_in_tls and not target.tls:
        raise UsageFault(
            f"{case.case} was recorded in TLS; give --tls, and --cacert as for the run"
        )
    if target.tls and not was_in_tls:
        raise UsageFault(f"{case.case} was recorded without TLS; leave out --tls")
    if case.hazard and not (target.is_loopback() or hazardous):
        raise _hazard(case, target.url)


def _hazard(case: CaseRecord, what: str) -> UsageFault:
    return UsageFault(f"{case.case} may kill {what}; give --hazardous to send it")


def _arguments(case: CaseRecord, protocol: str, replayer: Replayer) -> tuple[str, ...]:
    """Return what the case takes, as this kit knows it."""
    instance = next((item for item in collect(protocol) if item.id == case.case), None)
    if instance is None:
        raise UsageFault(f"{case.case} is no case of this kit; replay it with --as-recorded")
    for name in instance.arguments:
        why = replayer.not_replayed.get(name)
        if why is not None:
            raise UsageFault(
                f"{case.case} {why}, which the record does not hold; run the case again instead: "
                f"wireproof run URL {case.case}"
            )
    return instance.arguments
