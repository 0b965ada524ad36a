"""Where an exchange is repeated: the target, and topics like those of the record."""

import contextlib
import secrets
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import cast

from wireproof.collection import collect
from wireproof.nsq.link import FRESH, UPGRADABLE, Links, own_steps, topic_names
from wireproof.renaming import Names
from wireproof.targets import REFERENCE, Keys
from wireproof_kit.bundle import Bundle
from wireproof_kit.embedded import start_reference
from wireproof_kit.errors import UsageFault
from wireproof_kit.nsq.topics import Topic
from wireproof_kit.patience import Patience
from wireproof_kit.protocols import PROTOCOLS, session_opener
from wireproof_kit.session import Session, SessionOptions
from wireproof_kit.target import Target, parse_target, with_key
from wireproof_kit.transcript import IN_TLS, Transcript
from wireproof_reports.evidence import recorded
from wireproof_spec.record import CaseRecord, StepRecord


@dataclass(frozen=True, slots=True)
class Scene:
    """What is repeated and where; ``names`` are the topics made for each round."""

    case: CaseRecord
    steps: tuple[StepRecord, ...]
    protocol: str
    target: Target
    patience: Patience
    names: tuple[Names, ...]

    def links(self) -> Links:
        """Return connections yet to be opened, with a transcript of their own."""
        target = self.target
        host, _, port = (target.http or f"{target.host}:{target.port + 1}").rpartition(":")
        http = (host.strip("[]"), int(port))
        return Links((target.host, target.port), http, self.patience)


@contextlib.contextmanager
def open_scene(
    bundle: Bundle,
    case: CaseRecord,
    to: str | None,
    keys: Keys,
    *,
    times: int,
    as_recorded: bool,
    hazardous: bool,
) -> Generator[Scene]:
    """Open the target, with fresh topics for every round; all of it ends with the block."""
    protocol = bundle.header.target.protocol
    url = to or bundle.header.target.url
    with contextlib.ExitStack() as stack:
        if url == REFERENCE:
            reference = start_reference(protocol)
            stack.callback(reference.close)
            url = reference.url
        target = _with_keys(parse_target(url, tuple(PROTOCOLS)), keys)
        if not target.host:
            raise UsageFault(f"{url}: replaying needs one node; expected nsq://HOST:PORT")
        if target.protocol != protocol:
            raise UsageFault(f"{url}: expected a target of protocol {protocol}")
        if any(step.note.startswith(IN_TLS) for step in case.transcript.steps):
            raise UsageFault(
                f"{case.case} was recorded in TLS, which a replay does not speak; run the case "
                f"again instead: wireproof run URL {case.case} --tls"
            )
        if case.hazard and not (target.is_loopback() or hazardous):
            raise UsageFault(f"{case.case} may kill {target.url}; give --hazardous to send it")
        options = SessionOptions(seed=bundle.header.seed, run_token=secrets.token_hex(4))
        session = session_opener(protocol)(target, options)
        stack.callback(session.close)
        names: tuple[Names, ...] = tuple(dict[bytes, bytes]() for _ in range(times))
        steps = case.transcript.steps
        if not as_recorded:
            arguments = _arguments(case)
            names = _fresh_names(case, arguments, session, times)
            steps = own_steps(steps) if FRESH.keys() & set(arguments) else steps
        yield Scene(case, steps, protocol, target, session.patience, names)


def _with_keys(target: Target, keys: Keys) -> Target:
    if keys.http:
        target = with_key(target, "http", keys.http)
    for address in keys.lookupd:
        target = with_key(target, "lookupd", address)
    return target


def _arguments(case: CaseRecord) -> tuple[str, ...]:
    """Return what the case takes, as this kit knows it."""
    instance = next((item for item in collect() if item.id == case.case), None)
    if instance is None:
        raise UsageFault(f"{case.case} is no case of this kit; replay it with --as-recorded")
    if UPGRADABLE in instance.arguments:
        raise UsageFault(
            f"{case.case} has its topic upgraded, which the record does not hold; run the case "
            f"again instead: wireproof run URL {case.case}"
        )
    return instance.arguments


def _fresh_names(
    case: CaseRecord, arguments: Sequence[str], session: Session, times: int
) -> tuple[Names, ...]:
    """Make topics of the kinds that the case takes, in the order in which they were named."""
    sent = [recorded(step) for step in case.transcript.steps if step.kind in ("send", "request")]
    old = topic_names(sent)
    wanted = [FRESH.get(name, name) for name in arguments if name.endswith("topic")]
    if len(wanted) != len(old):
        told = b", ".join(old).decode() or "none"
        raise UsageFault(
            f"{case.case} takes {len(wanted)} topics, but {len(old)} names were sent ({told}); "
            "replay it with --as-recorded"
        )
    session.prepare(Counter({name: count * times for name, count in Counter(wanted).items()}))
    return tuple(_one_set(old, wanted, session) for _ in range(times))


def _one_set(old: Sequence[bytes], wanted: Sequence[str], session: Session) -> Names:
    topics = [cast(Topic, session.arguments((name,), Transcript())[name]) for name in wanted]
    return {name: topic.name.encode() for name, topic in zip(old, topics, strict=True)}
