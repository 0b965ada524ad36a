"""``wireproof replay`` for NSQ: it creates the topics again, and connects to their leaders."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import cast

from wireproof.replaying.protocol_replay import (
    Arrangement,
    Frames,
    Links,
    Occasion,
    Replayer,
    Round,
    Steps,
)
from wireproof.replaying.rename import rename_steps
from wireproof_kit.errors import TargetUnreachable, UsageFault
from wireproof_kit.nsq.broker import connect_socket
from wireproof_kit.nsq.services import lookup_addresses
from wireproof_kit.nsq.topics.topic import Address, Topic
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.nsq.wire.http import HttpClient
from wireproof_kit.nsq.wire.login import Login, login_of
from wireproof_kit.runner.patience import PUSH, Patience
from wireproof_kit.targets.session import Session
from wireproof_kit.wire.http import address_of
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Transcript
from wireproof_reports.exchange.annotation import read_bytes
from wireproof_spec.nsq import names
from wireproof_spec.step_record import StepRecord

TYPE = slice(4, 8)
MESSAGE = b"\0\0\0\2"
MESSAGE_ID = slice(18, 34)
TAIL = 16
ACKNOWLEDGING = (names.FIN + b" ", names.REQ + b" ", names.TOUCH + b" ")

NO_LOGIN = Login()
AUTH = names.AUTH + b"\n"

NOWHERE: Mapping[str, Topic] = MappingProxyType({})

VOLATILE = frozenset({"timestamp_ns", "internal_id", "disk_queue_offset", "id", "queue_offset"})
"""Fields that differ from run to run, as `received_parts` and HTTP answers name them."""

FRESH = {
    "ext_topic": "fresh_ext_topic",
    "plain_topic": "fresh_plain_topic",
    "shared_partitioned_topic": "partitioned_topic",
    "shared_partitioned_ext_topic": "partitioned_ext_topic",
    "shared_partitioned_ordered_topic": "partitioned_ordered_topic",
    "shared_replicated_topic": "replicated_topic",
}
"""Arguments that name a shared topic, and those that name one of its own kind."""

NEW_NAME = "new_topic_name"

NOT_REPLAYED = {
    "upgradable_topic": "has its topic upgraded",
    "cluster": "breaks the cluster",
    "movable_topic": "moves a leader",
    "movable_ordered_topic": "moves a leader",
}
"""Arguments with which a case does what its record does not hold, and what that is."""

LOOKUP_PATHS = ("/lookup", "/listlookup", "/nodes", "/topics", "/channels", "/info")
"""Where only lookup servers answer; what changes topics may be for either kind of server."""

_TOPIC_NAME = re.compile(rb"\bwp_(?!channel)[0-9a-z]+_\d+\b")


class NodeLinks(Links[Connection]):
    """The connections to an NSQ node in one replay of a case, by their names in the record."""

    def __init__(
        self,
        address: Address,
        http: Address | None,
        patience: Patience,
        *,
        lookup: Address | None = None,
        homes: Mapping[str, Topic] = NOWHERE,
        login: Login = NO_LOGIN,
    ) -> None:
        super().__init__()
        self._login = login
        self._address = address
        self._http = http
        self._lookup = lookup
        self._homes = homes
        self._patience = patience

    def connect(self, name: str) -> Connection:
        """Return a new connection to the node.

        Raises:
            TargetUnreachable: nothing accepts the connection.
        """
        home = self._homes.get(name)
        address = home.address if home else self._address
        return Connection(
            connect_socket(address),
            transcript=self.transcript,
            patience=self._patience,
            address=address,
        )

    def request(self, name: str, data: bytes, what: str) -> None:
        """Send a recorded HTTP request on a new connection, and receive the answer."""
        home = self._homes.get(name)
        address = home.http_address if home and home.http_address else self._http
        if _is_for_lookup(data) or (self._lookup and not home):
            address = self._lookup or address
        if address is None:
            raise TargetUnreachable("the exchange has HTTP requests; give --http HOST:PORT")
        seconds = self._patience.seconds(PUSH)
        HttpClient(address, transcript=self.transcript, seconds=seconds).send(data, what=what)

    def send(self, name: str, outgoing: Outgoing) -> None:
        """Send recorded bytes unchanged, except for the AUTH secret, which is not recorded."""
        secret = self._login.secret
        if name in self.links and secret is not None and outgoing.data.startswith(AUTH):
            self.links[name].show_secret(secret)
        else:
            super().send(name, outgoing)

    def secure(self, name: str) -> None:
        """Switch a connection to TLS after the node's answer that permits TLS."""
        context = self._login.context
        if name in self.links and context is not None:
            self._login.switch_to_tls(self.links[name], context, PUSH)

    def receive(self, name: str) -> None:
        """Receive the next frame on a connection, or record that none came."""
        if name in self.links:
            self.links[name].receive(PUSH)

    def half_close(self, name: str) -> None:
        """Close the sending direction of a connection."""
        if name in self.links:
            self.links[name].half_close()


def is_beat(data: bytes) -> bool:
    """Return True if these bytes are a heartbeat, or the NOP that answers one."""
    return data[8:] == names.HEARTBEAT or data == names.NOP + b"\n"


def message_ids(frames: Sequence[bytes]) -> list[bytes]:
    """Return the message ids of the message frames among received frames, in order."""
    return [frame[MESSAGE_ID] for frame in frames if frame[TYPE] == MESSAGE]


def message_key(frame: bytes) -> bytes:
    """Return a sort key for a message frame that ignores time and id; empty for other frames.

    Messages may come in any order, and before or after the answers to commands.
    """
    return b"\1" + frame[MESSAGE_ID.stop :] if frame[TYPE] == MESSAGE else b""


def with_ids(data: bytes, ids: Mapping[bytes, bytes]) -> bytes:
    """Return the bytes of a command with recorded message ids replaced by present ones."""
    if not data.startswith(ACKNOWLEDGING):
        return data
    start = data.index(b" ") + 1
    recorded = data[start : start + 16]
    return data[:start] + ids.get(recorded, recorded) + data[start + 16 :]


def own_steps(steps: Sequence[StepRecord]) -> tuple[StepRecord, ...]:
    """Return the steps without others' messages on a shared topic, and without their FINs."""
    pairs = [(step, read_bytes(step)) for step in steps]
    sent = b"".join(data for step, data in pairs if step.kind in ("send", "request"))
    foreign = {
        data[MESSAGE_ID]
        for step, data in pairs
        if step.kind == "receive" and data[TYPE] == MESSAGE and data[-TAIL:] not in sent
    }
    return tuple(step for step, data in pairs if not _is_about(data, foreign))


def _is_about(data: bytes, ids: Set[bytes]) -> bool:
    if data.startswith(ACKNOWLEDGING):
        start = data.index(b" ") + 1
        return data[start : start + 16] in ids
    return data[TYPE] == MESSAGE and data[MESSAGE_ID] in ids


def _is_for_lookup(request: bytes) -> bool:
    target = request.split(b" ", 2)[1:2]
    return bool(target) and target[0].partition(b"?")[0].decode("latin-1") in LOOKUP_PATHS


def home_of(stream: bytes, topics: Iterable[Topic]) -> Topic | None:
    """Return the topic, with the partition, that commands or an HTTP request are about.

    What concerns no partition of a topic (a lookup, a creation) gives None.
    """
    for topic in topics:
        name = re.escape(topic.name.encode())
        found = re.search(rb"[ =]" + name + rb"(?:&partition=| (?:\S+ )?)(\d+)\b", stream)
        places = {place.partition for place in topic.places}
        if found and int(found[1]) in places:
            return topic.at(int(found[1]))
        if re.search(rb"[ =]" + name + rb"\b", stream) and not _is_for_lookup(stream):
            return topic
    return None


def topic_names(sent: Sequence[bytes]) -> list[bytes]:
    """Return the names of the kit's own topics in sent bytes, in order of first appearance."""
    found = (name for data in sent for name in _TOPIC_NAME.findall(data))
    return list(dict.fromkeys(found))


Topics = Mapping[bytes, Topic | str]


def replayer() -> Replayer:
    """Return the functions that replay a recorded exchange with an NSQ node and lookup server."""
    return Replayer(arrange, _renew, is_beat, message_key, VOLATILE, NOT_REPLAYED)


def arrange(occasion: Occasion) -> Arrangement:
    """Return the rounds of a replay; each round has new topics of the kinds that the case takes.

    Raises:
        UsageFault: the record names more topics than the case takes, or fewer.
    """
    steps = occasion.case.transcript.steps
    if occasion.arguments is None:
        topics: tuple[Topics, ...] = tuple(dict[bytes, Topic]() for _ in range(occasion.times))
    else:
        topics = _fresh_topics(occasion, occasion.arguments)
        steps = own_steps(steps) if FRESH.keys() & set(occasion.arguments) else steps
    return Arrangement(steps, tuple(_round(steps, topic, occasion) for topic in topics))


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
    """Return connections that are not open yet, each to the node that leads the topic it uses."""
    target = occasion.target
    http = address_of(target.http) if target.http else (target.host, target.port + 1)
    lookup = next(iter(lookup_addresses(target)), None)
    streams: dict[str, bytes] = defaultdict(bytes)
    for step in steps:
        if step.kind in ("send", "request"):
            streams[step.conn] += read_bytes(step)
    homes = {name: home_of(stream, made) for name, stream in streams.items()}
    known = {name: home for name, home in homes.items() if home is not None}
    login = login_of(target)
    if login.secret is None and any(AUTH in stream for stream in streams.values()):
        raise UsageFault(f"{occasion.case.case} was recorded with AUTH; give --auth-env VAR")
    address = (target.host, target.port)
    patience = occasion.session.patience
    return NodeLinks(address, http, patience, lookup=lookup, homes=known, login=login)


def _fresh_topics(occasion: Occasion, arguments: Sequence[str]) -> tuple[Topics, ...]:
    """Make the topics, in the order in which they were named."""
    case, session, times = occasion.case, occasion.session, occasion.times
    sent = [read_bytes(step) for step in case.transcript.steps if step.kind in ("send", "request")]
    old = topic_names(sent)
    if not old:  # such as a publish to an illegal name: nothing is to be renamed
        return tuple(dict[bytes, Topic]() for _ in range(times))
    wanted = [FRESH.get(name, name) for name in arguments if _is_topic(name)]
    if len(wanted) != len(old):
        told = b", ".join(old).decode()
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
