"""One session with one NSQ target: topics, brokers for cases, probes, patience."""

import contextlib
import itertools
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from wireproof_kit.decoding.json_text import json_object
from wireproof_kit.errors import ArrangementFailed, KitError, TargetSilent, TargetUnreachable
from wireproof_kit.nsq import patience
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.cluster import Cluster
from wireproof_kit.nsq.greeting import GREETING_SECONDS, Greeting, greet, greet_target
from wireproof_kit.nsq.ledger.ledger import NsqLedger
from wireproof_kit.nsq.lookup.discovery import DISCOVERY_SECONDS, check_servers, discover
from wireproof_kit.nsq.lookup.reach import Reach
from wireproof_kit.nsq.lookup.servers import LookupClient, home_of
from wireproof_kit.nsq.probes.context import UNAVAILABLE, ProbeContext
from wireproof_kit.nsq.probes.context import Probe as ProbeFunction
from wireproof_kit.nsq.probes.tables import CAPABILITY_PROBES, READING_PROBES
from wireproof_kit.nsq.services import (
    control_client,
    http_address,
    list_hosts,
    lookup_addresses,
    lookup_client,
    move_to_node,
)
from wireproof_kit.nsq.topics.bodies import Bodies
from wireproof_kit.nsq.topics.channels import ChannelSweeper
from wireproof_kit.nsq.topics.pool import TopicPool
from wireproof_kit.nsq.topics.sources import KINDS, ReachableServices, TopicMaker, check_given
from wireproof_kit.nsq.topics.topic import Address, Topic
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.nsq.wire.http import HttpClient
from wireproof_kit.nsq.wire.login import Login, login_of
from wireproof_kit.observation import observed
from wireproof_kit.runner.patience import Patience, in_hurry
from wireproof_kit.targets.session import Control, Probe, SessionOptions, control_round_trip
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import is_loopback
from wireproof_kit.wire.connection import accepts
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.nsq import names

BROKER = "broker"
LOOKUP = "lookup"
CLUSTER = "cluster"
NEW_TOPIC_NAME = "new_topic_name"
HTTP_SECONDS = 5.0
# A repeat of a failing case needs a fresh topic, which a cluster takes up to 90 s to make.
CLUSTER_SPARES = 4
PROBE_TOPICS = (
    "ext_topic",
    "plain_topic",
    "fresh_ext_topic",
    "other_fresh_ext_topic",
    "fresh_ordered_topic",
    "fresh_ordered_ext_topic",
    "upgradable_topic",
    "partitioned_topic",
    "replicated_topic",
)


class NsqSession:
    """An open session with an NSQ target; thread-safe."""

    def __init__(
        self, target: Target, options: SessionOptions, greeting: Greeting, login: Login
    ) -> None:
        self._login = login
        self.address: Address = (target.host, target.port)
        self.patience = patience.BEFORE_MEASURING
        if options.timeout is not None:
            self.patience = patience.make_fixed(options.timeout)
        elif options.patience is not None:
            self.patience = options.patience
        self._probe_patience = self.patience
        self._measuring = threading.Lock()
        self._is_measured = options.timeout is not None or options.patience is not None
        self._options = options
        self._greeting = greeting
        self._data: Path | None = target.data
        self._http = http_address(target)
        self._hosts = list_hosts(target)
        self._lookup = lookup_client(target)
        self._control = control_client(target)
        self._maker = TopicMaker(
            self._surroundings(), run_token=options.run_token, given=options.topics
        )
        self._pool = TopicPool(self._maker)
        self._sweeper = ChannelSweeper()
        self._readings: dict[str, str | None] = {}
        self._probed: dict[str, Probe] = {}
        self._probe_topics: dict[str, Topic] = {}
        self._cases = itertools.count(1)

    def begin(self, kinds: Counter[str]) -> None:
        """Start to create topics if that takes long, as in a cluster."""
        if self._lookup is not None:
            self._pool.prepare(kinds + Counter(PROBE_TOPICS), spares=CLUSTER_SPARES)

    def probe_capability(self, name: str) -> Probe:
        """Find out by a probe (a short exchange) whether the target has a capability."""
        return self._probe(name, CAPABILITY_PROBES)

    def probe_reading(self, name: str) -> Probe:
        """Find out by a probe which reading of an ambiguous text the target follows."""
        probe = self._probe(name, READING_PROBES)
        self._probed[name] = probe
        return probe

    def bind(self, readings: Mapping[str, str | None]) -> None:
        """Store which reading of each ambiguous text the target follows, for this run's cases."""
        self._readings.update(readings)

    def prepare(self, kinds: Counter[str]) -> None:
        """Create the topics that the selected cases need, then measure the time limits."""
        self.make_topics(kinds)
        self._measure()

    def make_topics(self, kinds: Counter[str]) -> None:
        """Create topics; ``kinds`` counts how many of each kind."""
        self._pool.prepare(kinds, spares=CLUSTER_SPARES if self._lookup else 0)
        self._pool.settle()

    def make_shared_again(self) -> None:
        """Have topics made again, unless lookup servers keep them while a broker restarts."""
        if self._lookup is None:
            self._pool.forget()

    def measure_beside(self, kind: str) -> None:
        """Measure answers now, and deliveries from a further topic of a kind in a thread.

        Until these are measured, the time limits are those of the slowest known target.
        """
        if self._is_measured:
            return
        self.patience = patience.make_assumed(self._measure_answers())
        topic = self._pool.take(kind)

        def run() -> None:
            with contextlib.suppress(KitError, OSError):  # cases may kill the target meanwhile
                self._measure(topic)

        threading.Thread(target=run, daemon=True).start()

    def arguments(self, names: Sequence[str], transcript: Transcript) -> dict[str, object]:
        """Return the kit objects that a case asks for by argument name, new for one run of it.

        The broker's address is that of the node which leads the case's topics.
        """
        topics = {name: self._pool.take(name) for name in names if name in KINDS}
        arguments: dict[str, object] = dict(topics)
        if BROKER in names:
            arguments[BROKER] = self._broker(transcript, tuple(topics.values()))
        if LOOKUP in names:
            arguments[LOOKUP] = self._lookup_for(transcript)
        if CLUSTER in names:
            arguments[CLUSTER] = self._cluster(transcript)
        if NEW_TOPIC_NAME in names:
            arguments[NEW_TOPIC_NAME] = self._new_topic_name()
        missing = [name for name in names if name not in arguments]
        if missing:
            raise KitError(f"the kit has no object called {missing[0]}")
        return arguments

    def release(self, arguments: Mapping[str, object]) -> None:
        """Close the connections that a case left open, and delete its channels."""
        for argument in arguments.values():
            if isinstance(argument, Broker):
                self._close(argument)
            elif isinstance(argument, Cluster):
                argument.close()

    def control(self) -> Control:
        """Measure a round trip on a new connection, to see if the target still answers."""

        def trip(seconds: float) -> float:
            return greet(self.address, seconds=seconds, login=self._login).seconds

        return control_round_trip(trip, self.patience)

    def is_alive(self) -> bool:
        """Return True if the target accepts a connection now."""
        return accepts(self.address)

    def keeps_to_loopback(self) -> bool:
        """Return True if all nodes are on loopback; then only such are contacted from now on."""
        is_here = all(map(is_loopback, self._hosts))
        return is_here and (self._lookup is None or self._lookup.confine_to_loopback())

    def fingerprint(self) -> dict[str, str]:
        """Return what the target reports about itself in its response to IDENTIFY."""
        said = json_object(self._greeting.data)
        if not said:
            return {"identify": self._greeting.data[:40].decode("utf-8", "replace")}
        return {key: str(value) for key, value in sorted(said.items())}

    def open_ledger(self) -> NsqLedger:
        """Return what judges the messages of all cases of a run."""
        return NsqLedger(self._pool.find)

    def close(self) -> None:
        """Delete the topics of this run if the target allows it."""
        if self._lookup is not None:
            self._lookup.given_up.set()
        self._pool.close(leave=self._options.passing)
        if self._lookup is not None:
            self._lookup.close()

    def left_behind(self) -> list[str]:
        """Return the topics that the target keeps, once the session is closed."""
        return [f"topic {name}" for name in self._pool.left]

    def _probe(self, name: str, table: Mapping[str, ProbeFunction]) -> Probe:
        transcript = Transcript()
        function = table.get(name)
        if function is None:
            return Probe(observed(UNAVAILABLE, note=f"there is no probe {name}"), transcript)
        self._pool.prepare(Counter(self._unused_probe_topics()))
        self._pool.settle()  # a topic that is late says nothing about the target
        self._measure()  # a target that delivers nothing would hold up probe after probe
        if self._lookup is not None:
            self._lookup.check_hope()
        topics = tuple(self._probe_topics.values())
        broker = self._broker(transcript, topics, patience=self._probe_patience)
        cluster = self._cluster(transcript)
        bench = ProbeContext(broker, self._pool, self._lookup, cluster, self._probe_topics)
        try:
            observation = function(bench)
        except (ArrangementFailed, TargetUnreachable, TargetSilent) as error:
            observation = observed(UNAVAILABLE, note=str(error))
            if isinstance(error, ArrangementFailed) and error.transcript is not None:
                transcript.extend(error.transcript)
        finally:
            cluster.close()
            self._close(broker)
        return Probe(observation, transcript)

    def _unused_probe_topics(self) -> dict[str, int]:
        return {name: 1 for name in PROBE_TOPICS if name not in self._probe_topics}

    def _broker(
        self,
        transcript: Transcript,
        topics: Sequence[Topic] = (),
        *,
        patience: Patience | None = None,
    ) -> Broker:
        bodies = Bodies(f"{self._options.run_token}:{self._options.seed}:{next(self._cases)}")
        home = home_of(self.address, topics)
        http_address = next((t.http_address for t in topics if t.http_address), self._http)
        return Broker(
            home,
            transcript=transcript,
            patience=self._without_cluster(patience or self.patience),
            bodies=bodies,
            http=self._http_client(transcript, http_address),
            data=self._data,
            order_command=self._order_command,
            length_always=self._length_always,
            offset_first=self._offset_first,
            upgrade=lambda topic: self._maker.upgrade(topic, transcript),
            seed=self._options.seed,
            login=self._login,
        )

    def _without_cluster(self, limits: Patience) -> Patience:
        """Return the patience for a target whose nodes, if any, have nothing to agree on."""
        return limits if self._lookup is not None else replace(limits, settling=None)

    def _lookup_for(self, transcript: Transcript) -> LookupClient:
        if self._lookup is None:
            raise ArrangementFailed("no lookup server of the target is known; give --lookupd")
        return self._lookup.record_to(transcript)

    def _cluster(self, transcript: Transcript) -> Cluster:
        return Cluster(
            lookup=self._lookup,
            control=self._control,
            transcript=transcript,
            patience=self.patience,
        )

    def _new_topic_name(self) -> str:
        """Return the name of a topic for the case to create; it is deleted at the end."""
        name = self._pool.next_name()
        self._pool.adopt(self._maker.future(name))
        return name

    def _close(self, broker: Broker) -> None:
        broker.close()
        http = self._http_client(Transcript(), self._http)
        if http is None or self._options.passing:
            return
        for channel, topic in broker.channels.items():
            self._sweeper.delete(http, topic, channel)

    def _http_client(self, transcript: Transcript, address: Address | None) -> HttpClient | None:
        seconds = in_hurry(self._options.timeout or HTTP_SECONDS)
        return HttpClient(address, transcript=transcript, seconds=seconds) if address else None

    def _surroundings(self) -> ReachableServices:
        return ReachableServices(
            address=self.address,
            connect=self._connect,
            http=self._http_client(Transcript(), self._http),
            lookup=self._lookup,
        )

    def _connect(self, transcript: Transcript) -> Connection:
        return Broker(
            self.address,
            transcript=transcript,
            patience=patience.BEFORE_MEASURING,
            bodies=Bodies(""),
            login=self._login,
        ).connect(identify=None)

    def _order_command(self) -> str:
        """Return the name of the ordered SUB command that the target supports."""
        published = names.SUB_ORDER.decode()
        if "order-command" in self._readings:
            return published if self._readings["order-command"] == "published" else _DEPLOYED
        if "order-command" not in self._probed:
            self.probe_reading("order-command")
        seen = self._probed["order-command"].observation.value
        return published if seen.startswith(f"{published},") else _DEPLOYED

    def _length_always(self) -> bool:
        return self._readings.get("no-ext-layout") == "published"

    def _offset_first(self) -> bool:
        return self._readings.get("order-ext-place") == "offset-first"

    def _measure(self, topic: Topic | None = None) -> None:
        """Measure patience once, with a topic of the pool unless one is given."""
        with self._measuring:
            if self._is_measured:
                return
            self._is_measured = True
            broker = self._broker(Transcript())
            try:
                self.patience, self._probe_patience = patience.measure_or_assume(
                    broker, lambda: topic or self._any_topic(), answer=self._measure_answers()
                )
            finally:
                self._close(broker)

    def _measure_answers(self) -> float:
        return patience.answer_seconds(self._round_trip, self._greeting.seconds)

    def _any_topic(self) -> Topic:
        try:
            return self._pool.take("plain_topic")
        except ArrangementFailed:
            return self._pool.take("ext_topic")

    def _round_trip(self) -> float:
        try:
            return greet(self.address, login=self._login).seconds
        except (TargetUnreachable, TargetSilent):
            return GREETING_SECONDS


_DEPLOYED = names.SUB_ORDERED.decode()


def open_session(target: Target, options: SessionOptions) -> NsqSession:
    """Open a session with a target, found through lookup servers if it has no address.

    Raises:
        TargetUnreachable: the target accepts no connection.
        ArrangementFailed: the lookup servers name no node, or are no lookup servers.
        TargetSilent: the target accepts connections, but does not speak NSQ within seconds, or
            rejects the login.
        UsageFault: what the user gave for TLS or AUTH cannot be used, or a topic that the user
            named.
    """
    check_given(options.topics)
    login = login_of(target)
    servers = lookup_addresses(target)
    if target.host:
        greeting = greet_target(target, login)
        if servers:
            check_servers(servers)
        return NsqSession(target, options, greeting, login)
    nodes = discover(servers, reach=Reach(list_hosts(target)))
    *others, last = (move_to_node(target, node) for node in nodes)
    late = time.monotonic() + DISCOVERY_SECONDS
    for here in itertools.takewhile(lambda _: time.monotonic() < late, others):
        with contextlib.suppress(TargetUnreachable):
            return NsqSession(here, options, greet_target(here, login), login)
    return NsqSession(last, options, greet_target(last, login), login)
