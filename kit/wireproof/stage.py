"""Where an exchange is repeated: the target, and topics like those of the record."""

import contextlib
import secrets
from collections import Counter, defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from wireproof.collection import collect
from wireproof.nsq.link import (
    FRESH,
    NEW_NAME,
    NOT_REPLAYED,
    Links,
    home_of,
    own_steps,
    topic_names,
)
from wireproof.renaming import Names, rename_steps
from wireproof.targets import REFERENCE, Keys
from wireproof_kit.bundle import Bundle
from wireproof_kit.embedded import start_reference
from wireproof_kit.errors import UsageFault
from wireproof_kit.nsq.topics import Address, Topic
from wireproof_kit.patience import Patience
from wireproof_kit.protocols import schemes, session_opener
from wireproof_kit.session import Session, SessionOptions
from wireproof_kit.target import Target, parse_target, with_key
from wireproof_kit.transcript import IN_TLS, Transcript
from wireproof_reports.evidence import recorded
from wireproof_spec.record import CaseRecord, StepRecord

Topics = Mapping[bytes, Topic | str]


@dataclass(frozen=True, slots=True)
class Scene:
    """What is repeated and where; ``topics`` are those made for each round, by old name."""

    case: CaseRecord
    steps: tuple[StepRecord, ...]
    protocol: str
    target: Target
    patience: Patience
    topics: tuple[Topics, ...]

    def names(self, number: int) -> Names:
        """Return what topics are called in a round, by the names they had."""
        return {
            old: (new.name if isinstance(new, Topic) else new).encode()
            for old, new in self.topics[number].items()
        }

    def steps_of(self, number: int) -> tuple[StepRecord, ...]:
        """Return the steps of a round, with the names of its topics."""
        return rename_steps(self.steps, self.names(number))

    def links(self, number: int) -> Links:
        """Return connections yet to be opened, each to the node that leads what it is about."""
        target = self.target
        http = _address(target.http or f"{target.host}:{target.port + 1}")
        lookup = _address(target.lookupd[0]) if target.lookupd else None
        made = [topic for topic in self.topics[number].values() if isinstance(topic, Topic)]
        streams: dict[str, bytes] = defaultdict(bytes)
        for step in self.steps_of(number):
            if step.kind in ("send", "request"):
                streams[step.conn] += recorded(step)
        homes = {name: home_of(stream, made) for name, stream in streams.items()}
        known = {name: home for name, home in homes.items() if home is not None}
        address = (target.host, target.port)
        return Links(address, http, self.patience, lookup=lookup, homes=known)


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
        target = _with_keys(parse_target(url, schemes()), keys)
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
        topics: tuple[Topics, ...] = tuple(dict[bytes, Topic | str]() for _ in range(times))
        steps = case.transcript.steps
        if not as_recorded:
            arguments = _arguments(case)
            topics = _fresh_topics(case, arguments, session, times)
            steps = own_steps(steps) if FRESH.keys() & set(arguments) else steps
        yield Scene(case, steps, protocol, target, session.patience, topics)


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
    for name in instance.arguments:
        if name in NOT_REPLAYED:
            raise UsageFault(
                f"{case.case} {NOT_REPLAYED[name]}, which the record does not hold; run the case "
                f"again instead: wireproof run URL {case.case}"
            )
    return instance.arguments


def _fresh_topics(
    case: CaseRecord, arguments: Sequence[str], session: Session, times: int
) -> tuple[Topics, ...]:
    """Make topics of the kinds that the case takes, in the order in which they were named."""
    sent = [recorded(step) for step in case.transcript.steps if step.kind in ("send", "request")]
    old = topic_names(sent)
    wanted = [FRESH.get(name, name) for name in arguments if _is_topic(name)]
    if len(wanted) != len(old):
        told = b", ".join(old).decode() or "none"
        raise UsageFault(
            f"{case.case} takes {len(wanted)} topics, but {len(old)} names were sent ({told}); "
            "replay it with --as-recorded"
        )
    session.prepare(Counter({name: count * times for name, count in Counter(wanted).items()}))
    return tuple(_one_set(old, wanted, session) for _ in range(times))


def _one_set(old: Sequence[bytes], wanted: Sequence[str], session: Session) -> Topics:
    topics = [session.arguments((name,), Transcript())[name] for name in wanted]
    return dict(zip(old, cast(list[Topic | str], topics), strict=True))


def _is_topic(argument: str) -> bool:
    return argument.endswith("topic") or argument == NEW_NAME


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)
