"""What ``wireproof replay`` must know of NSQ: topics made anew, and whom what is sent concerns."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import cast

from wireproof.nsq.link import (
    FRESH,
    NEW_NAME,
    NOT_REPLAYED,
    VOLATILE,
    NodeLinks,
    home_of,
    is_beat,
    message_ids,
    message_key,
    own_steps,
    topic_names,
    with_ids,
)
from wireproof.replaying.protocol_replay import (
    Arrangement,
    Frames,
    Occasion,
    Replayer,
    Round,
    Steps,
)
from wireproof.replaying.rename import rename_steps
from wireproof_kit.errors import UsageFault
from wireproof_kit.nsq.services import lookup_addresses
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.targets.session import Session
from wireproof_kit.wire.http import address_of
from wireproof_kit.wire.transcript import Transcript
from wireproof_reports.exchange.evidence import read_bytes

Topics = Mapping[bytes, Topic | str]


def replayer() -> Replayer:
    """Return what repeats an exchange with a node, and with the lookup server it asked."""
    return Replayer(arrange, _renew, is_beat, message_key, VOLATILE, NOT_REPLAYED)


def arrange(occasion: Occasion) -> Arrangement:
    """Make topics of the kinds that the case takes, for every round its own.

    Raises:
        UsageFault: the record names more topics than the case takes, or fewer.
    """
    steps = occasion.case.transcript.steps
    if occasion.arguments is None:
        topics: tuple[Topics, ...] = tuple(dict[bytes, Topic]() for _ in range(occasion.times))
    else:
        topics = _fresh_topics(occasion, occasion.arguments)
        steps = own_steps(steps) if FRESH.keys() & set(occasion.arguments) else steps
    return Arrangement(steps, tuple(_round(steps, each, occasion) for each in topics))


def _renew(data: bytes, recorded: Frames, came: Frames) -> bytes:
    """Acknowledge the message that came now in the place of the recorded one."""
    return with_ids(data, dict(zip(message_ids(recorded), message_ids(came), strict=False)))


def _round(steps: Steps, topics: Topics, occasion: Occasion) -> Round:
    names = {
        old: (new.name if isinstance(new, Topic) else new).encode() for old, new in topics.items()
    }
    renamed = rename_steps(steps, names)
    made = [topic for topic in topics.values() if isinstance(topic, Topic)]
    return Round(renamed, names, _links(renamed, made, occasion))


def _links(steps: Steps, made: Sequence[Topic], occasion: Occasion) -> NodeLinks:
    """Return connections yet to be opened, each to the node that leads what it is about."""
    target = occasion.target
    http = address_of(target.http or f"{target.host}:{target.port + 1}")
    lookup = next(iter(lookup_addresses(target)), None)
    streams: dict[str, bytes] = defaultdict(bytes)
    for step in steps:
        if step.kind in ("send", "request"):
            streams[step.conn] += read_bytes(step)
    homes = {name: home_of(stream, made) for name, stream in streams.items()}
    known = {name: home for name, home in homes.items() if home is not None}
    address = (target.host, target.port)
    return NodeLinks(address, http, occasion.session.patience, lookup=lookup, homes=known)


def _fresh_topics(occasion: Occasion, arguments: Sequence[str]) -> tuple[Topics, ...]:
    """Make the topics, in the order in which they were named."""
    case, session, times = occasion.case, occasion.session, occasion.times
    sent = [read_bytes(step) for step in case.transcript.steps if step.kind in ("send", "request")]
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
